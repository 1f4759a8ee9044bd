//! Runs a command for the model: under a supervisor, with a time limit, bounded output, and no
//! remaining processes afterwards.

use std::time::Duration;

use selvedge_core::model::{ProcessCleanup, SessionOutcome, SessionStatus};

use super::super::conversation::FunctionCall;
use super::super::timeouts::{SessionTimer, WaitError};
use super::arguments::ToolArguments;
use super::{ToolExecutor, ToolResult, head_and_tail};
use crate::agents::{env, program};
use crate::process::capture::CapturePlan;
use crate::process::{
    self, EndReason, Session, SessionCommand, SessionExit, SessionTimeouts, StderrMode,
};

/// Default time limit of a command.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// Maximum time limit of a command.
const LONGEST_TIMEOUT: Duration = Duration::from_mins(10);

impl ToolExecutor<'_> {
    pub(super) async fn run_command(
        &mut self,
        call: &FunctionCall,
        clocks: &SessionTimer<'_>,
    ) -> ToolResult {
        let arguments = ToolArguments::new(call);
        let command_line = match arguments.required_command() {
            Ok(command_line) => command_line,
            Err(error) => return ToolResult::Failed(error.to_string()),
        };
        let requested = arguments.number("timeout_seconds").map(Duration::from_secs);
        let timeout = requested
            .unwrap_or(DEFAULT_TIMEOUT)
            .clamp(Duration::from_secs(1), LONGEST_TIMEOUT);
        let ended = match self.run(command_line, timeout, clocks).await {
            Ok(ended) => ended,
            Err(outcome) => return ToolResult::SessionEnded(Box::new(outcome)),
        };
        self.processes =
            ProcessCleanup::merge_options(self.processes, Some(ended.tree.to_processes()));
        self.describe_result(&ended, timeout, clocks)
    }

    async fn run(
        &self,
        command_line: &str,
        timeout: Duration,
        clocks: &SessionTimer<'_>,
    ) -> Result<SessionExit, SessionOutcome> {
        let request = self.request;
        let environment =
            env::with_run_vars(env::agent_env(&request.agent, &env::host_env()), request);
        let argv = ["sh", "-c", command_line].map(Into::into).to_vec();
        let command = SessionCommand {
            env: environment.into_iter().collect(),
            streams: StderrMode::Merged,
            lock: Some(request.lock.clone()),
            agent: Some(request.agent.kind),
            ..SessionCommand::new(argv, &request.workspace, &request.tag)
        };
        let limits = SessionTimeouts {
            wall: Some(timeout.min(clocks.remaining_time())),
            idle: None,
        };
        let prepared = Session::prepare(&request.supervisor, &command)
            .await
            .map_err(|error| SessionOutcome::failed(SessionStatus::Infra, error.to_string()))?;
        Ok(process::run(
            prepared,
            limits,
            CapturePlan::default(),
            clocks.cancellation_token(),
        )
        .await)
    }

    fn describe_result(
        &self,
        ended: &SessionExit,
        timeout: Duration,
        clocks: &SessionTimer<'_>,
    ) -> ToolResult {
        if let Some(error) = program::infrastructure_error(ended) {
            return ToolResult::SessionEnded(Box::new(SessionOutcome::failed(
                SessionStatus::Infra,
                error,
            )));
        }
        let output = head_and_tail(
            program::excerpt(&ended.stdout).trim_end(),
            self.answer_limit,
        );
        match &ended.reason {
            EndReason::Exited(0) => ToolResult::Done(format!("exit code 0\n{output}")),
            EndReason::Exited(code) => ToolResult::Failed(format!("exit code {code}\n{output}")),
            EndReason::Signalled(signal) => {
                ToolResult::Failed(format!("ended by signal {signal}\n{output}"))
            }
            EndReason::Cancelled => {
                ToolResult::SessionEnded(Box::new(clocks.outcome_of(WaitError::Cancelled)))
            }
            _ if clocks.remaining_time().is_zero() => {
                ToolResult::SessionEnded(Box::new(clocks.outcome_of(WaitError::TimedOut)))
            }
            _ => ToolResult::Failed(format!(
                "stopped: it did not end within {} seconds\n{output}",
                timeout.as_secs()
            )),
        }
    }
}
