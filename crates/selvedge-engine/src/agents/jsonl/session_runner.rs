//! Runs one session of a program that prints records.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::SessionStatus;
use tokio_util::sync::CancellationToken;

use super::{AgentCli, SessionParser, lock_parser, parse_output, session_outcome};
use crate::activity::Progress;
use crate::agents::attempt::{FinishedSession, SessionRunner, SessionTry};
use crate::agents::program::{self, LaunchSpec};
use crate::agents::spend_limit;
use crate::agents::{SessionRequest, env};
use crate::process::{EndReason, StderrMode, StdinSource};

/// Runs the sessions of one attempt.
pub(super) struct JsonlSessionRunner<'a, P> {
    pub(super) program: &'a P,
    pub(super) request: &'a SessionRequest,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
}

impl<P: AgentCli> SessionRunner for JsonlSessionRunner<'_, P> {
    fn run_session(&self, session: SessionTry) -> BoxFuture<'_, FinishedSession> {
        self.run(session).boxed()
    }
}

impl<P: AgentCli> JsonlSessionRunner<'_, P> {
    async fn run(&self, session: SessionTry) -> FinishedSession {
        let SessionTry {
            allowance,
            cap,
            wall,
            retry,
        } = session;
        for (path, text) in self.program.files(self.request, allowance) {
            if let Err(error) = tokio::fs::write(&path, text).await {
                return FinishedSession::last(program::write_error_outcome(&path, &error));
            }
        }
        if let Err(error) = self.program.prepare(self.request, allowance) {
            let folder = &self.request.run_dir;
            return FinishedSession::last(program::write_error_outcome(folder, &error));
        }
        let environment = env::agent_env(&self.request.agent, &env::host_env());
        let mut environment = env::with_trace_context(environment, self.request);
        self.program
            .environment(self.request, allowance, &mut environment);
        let launch = LaunchSpec {
            argv: self.program.command_line(self.request, allowance),
            env: environment,
            stdin: StdinSource::File(program::prompt_path(self.request)),
            streams: StderrMode::Separate,
            stop: P::STOP,
            wall,
            writable_paths: self.program.written_paths(self.request),
            is_task_command: false,
            retry,
        };
        let reading = Arc::new(Mutex::new(P::Parser::default()));
        // Stopped by the user, or by a cap.
        let stop = self.cancel.child_token();
        let watch = {
            let (stop, request) = (stop.clone(), self.request.clone());
            move |reading: &P::Parser| {
                let (tokens, cost) = reading.usage_so_far(&request);
                if cap.exceeded_limit(tokens, cost).is_some() {
                    stop.cancel();
                }
            }
        };
        let reader = |activities| parse_output(Arc::clone(&reading), activities, watch);
        let ended = program::run_program(self.request, launch, reader, self.progress, &stop).await;
        self.program.remove_prepared(self.request);
        let reading = lock_parser(&reading);
        let (tokens, cost) = reading.usage_so_far(self.request);
        let by_cap = stop.is_cancelled() && !self.cancel.is_cancelled();
        let reached = cap.exceeded_limit(tokens, cost).filter(|_| by_cap);
        let ended = match ended {
            Err(outcome) => return FinishedSession::last(outcome),
            Ok(ended) => ended,
        };
        let mut outcome = session_outcome(self.request, &*reading, &ended);
        let by_limit =
            matches!(ended.reason, EndReason::Exited(code) if Some(code) == P::TURN_LIMIT_EXIT);
        if by_limit && outcome.status == SessionStatus::Failed {
            outcome.status = SessionStatus::TurnLimit;
        }
        outcome = spend_limit::mark_over_budget(outcome, reached);
        // A session that was stopped by the user or a time limit is not retried.
        let in_vain = match outcome.status {
            SessionStatus::Failed if outcome.usage_limit.is_none() => {
                reading.transient_api_failures()
            }
            _ => None,
        };
        FinishedSession {
            outcome,
            transient_api_failures: in_vain,
        }
    }
}
