//! Running a command for the model: under a supervisor like everything else, with a time limit,
//! bounded output, and nothing left of it afterwards.

use std::time::Duration;

use selvedge_core::model::{Processes, SessionOutcome, SessionStatus};

use super::super::clocks::{Clocks, Stopped};
use super::super::conversation::Call;
use super::arguments::Arguments;
use super::{Answer, Tools, head_and_tail};
use crate::agents::{env, program};
use crate::process::capture::Plan;
use crate::process::{self, Command, Ended, How, Limits, Session, Streams};

/// How long a command may take when the model does not say.
const DEFAULT_TIMEOUT: Duration = Duration::from_mins(2);
/// How long it may take at most.
const LONGEST_TIMEOUT: Duration = Duration::from_mins(10);

impl Tools<'_> {
    pub(super) async fn run_command(&mut self, call: &Call, clocks: &Clocks<'_>) -> Answer {
        let arguments = Arguments::of(call);
        let command_line = match arguments.needed_command() {
            Ok(command_line) => command_line,
            Err(missing) => return Answer::Failed(missing),
        };
        let asked = arguments.number("timeout_seconds").map(Duration::from_secs);
        let timeout = asked
            .unwrap_or(DEFAULT_TIMEOUT)
            .clamp(Duration::from_secs(1), LONGEST_TIMEOUT);
        let ended = match self.run(command_line, timeout, clocks).await {
            Ok(ended) => ended,
            Err(outcome) => return Answer::Over(Box::new(outcome)),
        };
        self.processes = Processes::both(self.processes, Some(ended.tree.processes()));
        self.tell(&ended, timeout, clocks)
    }

    async fn run(
        &self,
        command_line: &str,
        timeout: Duration,
        clocks: &Clocks<'_>,
    ) -> Result<Ended, SessionOutcome> {
        let request = self.request;
        let environment = env::with_run(env::for_agent(&request.agent, &env::ours()), request);
        let argv = ["sh", "-c", command_line].map(Into::into).to_vec();
        let command = Command {
            env: environment.into_iter().collect(),
            streams: Streams::Merged,
            lock: Some(request.lock.clone()),
            agent: Some(request.agent.kind),
            ..Command::new(argv, &request.workspace, &request.tag)
        };
        let limits = Limits {
            wall: Some(timeout.min(clocks.wall_left())),
            silence: None,
        };
        let prepared = Session::prepare(&request.supervisor, &command)
            .await
            .map_err(|error| SessionOutcome::failed(SessionStatus::Infra, error.to_string()))?;
        Ok(process::run(prepared, limits, Plan::default(), clocks.cancel()).await)
    }

    fn tell(&self, ended: &Ended, timeout: Duration, clocks: &Clocks<'_>) -> Answer {
        if let Some(error) = program::infrastructure(ended) {
            return Answer::Over(Box::new(SessionOutcome::failed(
                SessionStatus::Infra,
                error,
            )));
        }
        let output = head_and_tail(
            program::excerpt(&ended.stdout).trim_end(),
            self.answer_limit,
        );
        match &ended.how {
            How::Exited(0) => Answer::Done(format!("exit code 0\n{output}")),
            How::Exited(code) => Answer::Failed(format!("exit code {code}\n{output}")),
            How::Signalled(signal) => Answer::Failed(format!("ended by signal {signal}\n{output}")),
            How::Cancelled => Answer::Over(Box::new(clocks.outcome(Stopped::Cancelled))),
            _ if clocks.wall_left().is_zero() => {
                Answer::Over(Box::new(clocks.outcome(Stopped::TimedOut)))
            }
            _ => Answer::Failed(format!(
                "stopped: it did not end within {} seconds\n{output}",
                timeout.as_secs()
            )),
        }
    }
}
