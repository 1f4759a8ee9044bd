//! Agents that speak the Agent Client Protocol over standard input and output, with a new session
//! for every attempt. The official library implements the protocol; the agent's output is also read
//! separately, stored, and parsed into a session state like the records of any other program. The
//! agent may ask for permissions and files, and gets access only to the workspace.

mod command_paths;
mod conversation;
mod known_program;
mod model;
mod policy;
mod transport;
mod updates;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use jiff::Zoned;
use selvedge_core::model::{SessionOutcome, SessionStatus};
use tokio_util::sync::CancellationToken;

use super::attempt::{AttemptContext, FinishedSession, SessionRunner, SessionTry};
use super::final_message::{detect_cannot_satisfy, output_tail};
use super::jsonl::{self, ParsedSession, lock_parser};
use super::program::{self, LaunchSpec};
use super::retry::Backoff;
use super::{Agent, SessionRequest, env, usage_limit};
use crate::activity::Progress;
use crate::process::{EndReason, SessionExit, StderrMode, StdinSource, StopSignal};

use self::conversation::{AcpConversation, ConversationEnd};
use self::known_program::KnownProgram;
use self::transport::AcpTransport;
use self::updates::AcpUpdateParser;

/// Time that an agent gets to exit by itself after the conversation has ended.
const EXIT_GRACE: Duration = Duration::from_secs(2);

/// An agent that speaks the Agent Client Protocol.
#[derive(Debug, Clone, Copy, Default)]
pub struct AcpAgent;

impl Agent for AcpAgent {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        let runner = AcpSessionRunner {
            program: KnownProgram::recognize(&request.agent.program),
            request,
            progress,
            cancel,
        };
        let attempt = AttemptContext {
            request,
            progress,
            cancel,
            backoff: Backoff::default(),
            started: Instant::now(),
        };
        async move { detect_cannot_satisfy(attempt.run(&runner).await) }.boxed()
    }
}

/// Runs the sessions of one attempt.
struct AcpSessionRunner<'a> {
    program: KnownProgram,
    request: &'a SessionRequest,
    progress: &'a dyn Progress,
    cancel: &'a CancellationToken,
}

impl SessionRunner for AcpSessionRunner<'_> {
    fn run_session(&self, session: SessionTry) -> BoxFuture<'_, FinishedSession> {
        async move {
            if let Err(error) = self.program.prepare(self.request, session.allowance) {
                let folder = &self.request.run_dir;
                return FinishedSession::last(program::write_error_outcome(folder, &error));
            }
            let ended = run_session(self, session).await;
            self.program.remove_prepared(self.request);
            ended
        }
        .boxed()
    }
}

async fn run_session(runner: &AcpSessionRunner<'_>, session: SessionTry) -> FinishedSession {
    let AcpSessionRunner {
        program: known,
        request,
        progress,
        cancel,
    } = *runner;
    let mut environment =
        env::with_run_vars(env::agent_env(&request.agent, &env::host_env()), request);
    if let Err(error) = known.set_environment(request, session.allowance, &mut environment) {
        let outcome = SessionOutcome::failed(SessionStatus::Failed, error.to_string());
        return FinishedSession::last(outcome);
    }
    let wire = match AcpTransport::create(request) {
        Ok(wire) => wire,
        Err(outcome) => return FinishedSession::last(*outcome),
    };
    let conversation = match AcpConversation::new(request, session.cap, cancel) {
        Ok(conversation) => conversation,
        Err(outcome) => return FinishedSession::last(*outcome),
    };
    let launch = LaunchSpec {
        argv: known.command_line(request),
        env: environment,
        stdin: StdinSource::File(wire.path().to_owned()),
        streams: StderrMode::Separate,
        stop: StopSignal::Terminate,
        wall: session.wall,
        writable_paths: known.written_paths(request),
        is_task_command: true,
        retry: session.retry,
    };
    let reading = Arc::new(Mutex::new(ParsedSession::<AcpUpdateParser>::default()));
    let (sending, receiving, messages) = wire.into_parts();
    let reader = |activities| transport::parse_output(Arc::clone(&reading), messages, activities);
    let (stop, gone) = (CancellationToken::new(), CancellationToken::new());
    let work = async {
        let ended = program::run_program(request, launch, reader, progress, &stop).await;
        gone.cancel();
        ended
    };
    let exchange = async {
        let exchange = conversation.run(sending, receiving).await;
        // Its input is closed now, which asks it to exit.
        let _ = tokio::time::timeout(EXIT_GRACE, gone.cancelled()).await;
        stop.cancel();
        exchange
    };
    let (ended, exchange) = futures_util::join!(work, exchange);
    let reading = lock_parser(&reading);
    let outcome = match ended {
        Ok(ended) => {
            let outcome = session_outcome(request, &reading, ended, exchange, cancel);
            detect_unanswered(known, outcome)
        }
        Err(outcome) => return FinishedSession::last(outcome),
    };
    // A session that was stopped by the user or a time limit is not retried.
    let is_retried = outcome.status == SessionStatus::Failed
        && outcome.usage_limit.is_none()
        && !known.retries_itself();
    FinishedSession {
        outcome,
        transient_api_failures: Some(&*reading)
            .filter(|_| is_retried)
            .and_then(jsonl::SessionParser::transient_api_failures),
    }
}

/// Some programs report a failure of the API as the text of a regular end. Those that report their
/// tokens have none then.
fn detect_unanswered(program: KnownProgram, outcome: SessionOutcome) -> SessionOutcome {
    let is_answered = outcome.usage.total() > 0 || !program.reports_tokens();
    if outcome.status != SessionStatus::Success || is_answered {
        return outcome;
    }
    let error = output_tail(&outcome.text);
    SessionOutcome {
        status: SessionStatus::Failed,
        usage_limit: usage_limit::parse_usage_limit(&error, &Zoned::now()),
        error: Some(format!("the model did not answer: {error}")),
        ..outcome
    }
}

/// The outcome of the session: from the agent's messages, unless the conversation was interrupted.
fn session_outcome(
    request: &SessionRequest,
    reading: &ParsedSession<AcpUpdateParser>,
    mut ended: SessionExit,
    exchange: ConversationEnd,
    cancel: &CancellationToken,
) -> SessionOutcome {
    if matches!(ended.reason, EndReason::Cancelled) && !cancel.is_cancelled() {
        // The session was over and the agent did not exit by itself: that implies nothing about the
        // work.
        ended.reason = EndReason::Exited(0);
        ended.stopped_at = None;
    }
    let by_itself = matches!(ended.reason, EndReason::Exited(0));
    let outcome = jsonl::session_outcome(request, reading, &ended);
    match exchange {
        ConversationEnd::OverBudget if outcome.status != SessionStatus::Infra => SessionOutcome {
            status: SessionStatus::Budget,
            error: Some("the cap on cost was reached".to_owned()),
            ..outcome
        },
        ConversationEnd::Failed(why) if by_itself && !reading.has_ended() => SessionOutcome {
            status: SessionStatus::Failed,
            error: Some(why),
            ..outcome
        },
        _ => outcome,
    }
}
