//! Agents that are programs and print JSON records, one a line: what they have in common. Each of
//! them brings two things in a small file of its own: how its program is started ([`AgentCli`]), and
//! what its records mean ([`EventParser`], folded into an [`SessionState`]; or a [`SessionParser`] of its own). All
//! else is here, once: prompt and environment, reading along, fresh sessions while the API is in
//! trouble, and what a session came to.
//!
//! What is read is foreign and may be hostile: a record that is not understood is counted, a line
//! that is too long is not kept, and nothing of it becomes part of a command.

mod attempt;
mod lenient;
mod session_file;
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

pub(super) use lenient::lenient;
pub(super) use session_file::{emit_line, read_session_file};
pub(super) use session_state::{EventParser, ParsedSession, SessionState};
pub(super) use status::resolve_status;
pub(super) use tool::{tool_call_from_input, tool_call_from_subject};

use self::attempt::AttemptRunner;
use super::env::EnvironmentMap;
use super::final_message::detect_cannot_satisfy;
use super::program::{self, ActivitySender};
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::{Activity, Progress};
use crate::process::capture::{LineSplitter, OutputConsumer, OutputLine};
use crate::process::{SessionExit, StopSignal};

/// Bytes of one record that are read; the longest hold images.
const LINE_LIMIT: usize = 4 << 20;

/// One program: how it is started for a session.
pub(super) trait AgentCli: Default + Send + Sync + 'static {
    /// What its records are read into.
    type Parser: SessionParser;

    /// How its end begins when it is stopped.
    const STOP: StopSignal = StopSignal::Terminate;

    /// The exit code by which it says that its limit on turns was reached, where no record does.
    const TURN_LIMIT_EXIT: Option<i32> = None;

    /// The files that it needs beside its prompt, and what is in them.
    fn files(&self, _: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    /// Prepares what [`AgentCli::files`] cannot express, before the program starts.
    fn prepare(&self, _: &SessionRequest, _: SessionAllowance) -> io::Result<()> {
        Ok(())
    }

    /// Removes what [`AgentCli::prepare`] made, after the program has ended.
    fn remove_prepared(&self, _: &SessionRequest) {}

    /// The files and folders among them that the program writes itself.
    fn written_paths(&self, _: &SessionRequest) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Program and arguments. The prompt goes to standard input, where no length limit applies and
    /// no process list shows it.
    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String>;

    /// Adds what keeps it quiet and bounded. What the user set stands in `environment` already.
    fn environment(
        &self,
        _: &SessionRequest,
        _: SessionAllowance,
        _environment: &mut EnvironmentMap,
    ) {
    }
}

/// What may differ between the sessions of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionAllowance {
    /// Turns that are left.
    pub(super) turns: Option<u32>,
    /// Money that is left.
    pub(super) cost: Option<MicroUsd>,
    /// How often the program itself may ask its API again.
    pub(super) retries: u32,
}

/// What is known of a session from its records.
pub(super) trait SessionParser: Default + Send + 'static {
    /// Takes one line; `told` hears what happens in it.
    fn parse_line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity));

    /// Takes a line that was too long to be kept.
    fn count_unknown(&mut self);

    /// What the session came to. `by_exit` is what the program's end says; `stopped_at` is when we
    /// broke it off.
    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome;

    /// Tokens and money so far, as far as they are told: what caps are held against.
    fn usage_so_far(&self, _: &SessionRequest) -> (u64, MicroUsd) {
        (0, MicroUsd(0))
    }

    /// Whether the session failed for a reason that may pass by itself, so that asking again helps:
    /// how often the program asked in vain.
    fn transient_api_failures(&self) -> Option<u32>;
}

/// A program that prints records, as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct JsonlAgent<P> {
    program: P,
    backoff: Backoff,
}

impl<P: Default> JsonlAgent<P> {
    /// With these waits between tries.
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
        AttemptRunner {
            program: &self.program,
            request,
            progress,
            cancel,
            backoff: self.backoff,
            started: Instant::now(),
        }
        .run()
        .map(detect_cannot_satisfy)
        .boxed()
    }
}

/// The words by which the program of an agent is started: the configured ones, or its usual name.
pub(super) fn program_or_default(request: &SessionRequest, usual: &str) -> Vec<String> {
    match request.agent.program.as_slice() {
        [] => vec![usual.to_owned()],
        configured => configured.to_vec(),
    }
}

/// Whether one of these flags is configured, so that the user took the matter into their own hands.
pub(super) fn has_flag(argv: &[String], flags: &[&str]) -> bool {
    let name = |word: &String| {
        word.split_once('=')
            .map_or(word.clone(), |it| it.0.to_owned())
    };
    argv.iter().any(|word| flags.contains(&name(word).as_str()))
}

/// A consumer that folds the program's records into `reading` and tells what happens in them; `watch`
/// looks at what is known after each.
pub(super) fn parse_output<R: SessionParser>(
    reading: Arc<Mutex<R>>,
    told: ActivitySender,
    watch: impl Fn(&R) + Send + 'static,
) -> impl OutputConsumer + 'static {
    LineSplitter::new(LINE_LIMIT, move |line: OutputLine<'_>| {
        let mut reading = lock_parser(&reading);
        if line.omitted > 0 {
            reading.count_unknown();
        } else {
            // Activity is lossy: what does not fit is dropped.
            reading.parse_line(line.bytes, &mut |activity| drop(told.try_send(activity)));
            watch(&reading);
        }
    })
}

/// What a session came to, by its records and by how the program ended.
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
    // A reader that panicked leaves a reading that is short, not wrong.
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}
