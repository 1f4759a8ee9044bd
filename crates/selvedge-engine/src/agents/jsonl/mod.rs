//! Agents that are programs and print JSON records, one per line: their common part. Each agent
//! defines two things in its own small file: how its program is started ([`AgentCli`]), and how its
//! records are parsed ([`EventParser`], which updates a [`SessionState`]; or its own
//! [`SessionParser`]). Everything else is shared: prompt and environment, parsing during the
//! session, fresh sessions after transient API failures, and the session's outcome.
//!
//! The input is untrusted and may be hostile: an unknown record is counted, a line that is too long
//! is not kept, and no part of it is used in a command.

mod lenient;
mod session_file;
mod session_runner;
mod session_state;
mod status;
mod tool;

#[cfg(test)]
pub(super) mod tests;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use selvedge_core::model::{MicroUsd, SessionOutcome};
use tokio_util::sync::CancellationToken;

pub(super) use lenient::{ErrorMessage, lenient};
pub(super) use session_file::{emit_line, read_session_file};
pub(super) use session_state::{
    EventParser, ParsedSession, SessionState, reported_or_estimated_cost,
};
pub(super) use status::resolve_status;
pub(super) use tool::{tool_call_from_input, tool_call_from_subject};

use self::session_runner::JsonlSessionRunner;
use super::attempt::AttemptContext;
pub(super) use super::attempt::SessionAllowance;
use super::final_message::detect_cannot_satisfy;
use super::program::{self, ActivitySender};
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::{Activity, Progress};
use crate::environment::EnvironmentMap;
use crate::process::capture::{LineSplitter, OutputConsumer, OutputLine};
use crate::process::{SessionExit, StopSignal};

/// Maximum bytes of a record that are parsed; the longest ones contain images.
const LINE_LIMIT: usize = 4 << 20;

/// A program: how it is started for a session.
pub(super) trait AgentCli: Default + Send + Sync + 'static {
    /// The parser of its records.
    type Parser: SessionParser;

    /// The signal that begins a stop.
    const STOP: StopSignal = StopSignal::Terminate;

    /// The exit code that reports that the turn limit was reached, if no record does.
    const TURN_LIMIT_EXIT: Option<i32> = None;

    /// Files that it needs in addition to its prompt, with their content.
    fn files(&self, _: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    /// Prepares what [`AgentCli::files`] cannot express, before the program starts.
    fn prepare(&self, _: &SessionRequest, _: SessionAllowance) -> io::Result<()> {
        Ok(())
    }

    /// Removes what [`AgentCli::prepare`] made, after the program has ended.
    fn remove_prepared(&self, _: &SessionRequest) {}

    /// Files and folders among these that the program writes itself.
    fn written_paths(&self, _: &SessionRequest) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Program and arguments. The prompt goes to standard input, where no length limit applies and
    /// no process list shows it.
    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String>;

    /// Adds variables that disable interaction and set limits. `environment` already contains the
    /// user's settings.
    fn environment(
        &self,
        _: &SessionRequest,
        _: SessionAllowance,
        _environment: &mut EnvironmentMap,
    ) {
    }
}

/// Parses a session's records.
pub(super) trait SessionParser: Default + Send + 'static {
    /// Parses one line; reports activity to `told`.
    fn parse_line(&mut self, line: &[u8], emit: &mut dyn FnMut(Activity));

    /// Counts a line that was too long to be kept.
    fn count_unknown(&mut self);

    /// The outcome of the session. `by_exit` is derived from the program's exit; `stopped_at` is
    /// when we stopped it.
    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome;

    /// Tokens and cost so far, if reported; compared with the caps.
    fn usage_so_far(&self, _: &SessionRequest) -> (u64, MicroUsd) {
        (0, MicroUsd(0))
    }

    /// Whether the session failed for a transient reason, so that a retry may help: the number of
    /// failed retries by the program itself.
    fn transient_api_failures(&self) -> Option<u32> {
        None
    }
}

/// A program that prints records, as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonlAgent<P> {
    program: P,
    backoff: Backoff,
}

impl<P: Default> JsonlAgent<P> {
    /// Sets the waits between retries.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self {
            program: P::default(),
            backoff,
        }
    }
}

impl<P: AgentCli> Agent for JsonlAgent<P> {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        let runner = JsonlSessionRunner {
            program: &self.program,
            request,
            progress,
            cancel,
        };
        let attempt = AttemptContext {
            request,
            progress,
            cancel,
            backoff: self.backoff,
            started: Instant::now(),
        };
        async move { detect_cannot_satisfy(attempt.run(&runner).await) }.boxed()
    }
}

/// The command of an agent's program: as configured, or its usual name.
pub(super) fn program_or_default(request: &SessionRequest, usual: &str) -> Vec<String> {
    match request.agent.program.as_slice() {
        [] => vec![usual.to_owned()],
        configured => configured.to_vec(),
    }
}

/// Whether one of these flags is configured by the user.
pub(super) fn has_flag(argv: &[String], flags: &[&str]) -> bool {
    let name = |word: &String| {
        word.split_once('=')
            .map_or(word.clone(), |it| it.0.to_owned())
    };
    argv.iter().any(|word| flags.contains(&name(word).as_str()))
}

/// Adds an option with its value, if it has one.
pub(super) fn push_option(argv: &mut Vec<String>, flag: &str, value: Option<impl ToString>) {
    if let Some(value) = value {
        argv.extend([flag.to_owned(), value.to_string()]);
    }
}

/// A consumer that parses the program's records into `reading` and reports activity; `watch` is
/// called with the parser after each record.
pub(super) fn parse_output<R: SessionParser>(
    reading: Arc<Mutex<R>>,
    activities: ActivitySender,
    watch: impl Fn(&R) + Send + 'static,
) -> impl OutputConsumer + 'static {
    LineSplitter::new(LINE_LIMIT, move |line: OutputLine<'_>| {
        let mut reading = lock_parser(&reading);
        if line.omitted > 0 {
            reading.count_unknown();
        } else {
            // Activity is lossy: it is dropped if the queue is full.
            reading.parse_line(line.bytes, &mut |activity| {
                drop(activities.try_send(activity));
            });
            watch(&reading);
        }
    })
}

/// The outcome of a session, from its records and the program's exit.
pub(super) fn session_outcome<R: SessionParser>(
    request: &SessionRequest,
    reading: &R,
    ended: &SessionExit,
) -> SessionOutcome {
    let by_exit = program::outcome_from_exit(request, ended);
    let outcome = reading.outcome(request, by_exit, ended.stopped_at);
    program::with_supervisor_data(outcome, ended)
}

pub(super) fn lock_parser<R>(reading: &Mutex<R>) -> MutexGuard<'_, R> {
    // A parser whose thread panicked has incomplete but not wrong data.
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}
