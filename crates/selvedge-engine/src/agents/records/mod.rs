//! Agents that are programs and print JSON records, one a line: what they have in common. Each of
//! them brings two things in a small file of its own: how its program is started ([`Program`]), and
//! what its records mean ([`Records`], folded into an [`Account`]; or a [`Reading`] of its own). All
//! else is here, once: prompt and environment, reading along, fresh sessions while the API is in
//! trouble, and what a session came to.
//!
//! What is read is foreign and may be hostile: a record that is not understood is counted, a line
//! that is too long is not kept, and nothing of it becomes part of a command.

mod account;
mod attempt;
mod lenient;
mod settle;
mod told;
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

pub(super) use account::{Account, Folded, Records};
pub(super) use lenient::lenient;
pub(super) use settle::settle;
pub(super) use told::{show, told_in};
pub(super) use tool::{call, call_of};

use self::attempt::Attempt;
use super::claim::heed_refusal;
use super::env::Environment;
use super::program::{self, Told};
use super::retry::Backoff;
use super::{Agent, SessionRequest};
use crate::activity::{Activity, Progress};
use crate::process::capture::{Consumer, Line, Lines};
use crate::process::{Ended, StopSignal};

/// Bytes of one record that are read; the longest hold images.
const LINE_LIMIT: usize = 4 << 20;

/// One program: how it is started for a session.
pub(super) trait Program: Default + Send + Sync + 'static {
    /// What its records are read into.
    type Reading: Reading;

    /// How its end begins when it is stopped.
    const STOP: StopSignal = StopSignal::Terminate;

    /// The exit code by which it says that its limit on turns was reached, where no record does.
    const TURN_LIMIT_EXIT: Option<i32> = None;

    /// The files that it needs beside its prompt, and what is in them.
    fn files(&self, _: &SessionRequest, _: Allowance) -> Vec<(PathBuf, String)> {
        Vec::new()
    }

    /// Prepares what [`Program::files`] cannot express, before the program starts.
    fn prepare(&self, _: &SessionRequest, _: Allowance) -> io::Result<()> {
        Ok(())
    }

    /// Removes what [`Program::prepare`] made, after the program has ended.
    fn clean_up(&self, _: &SessionRequest) {}

    /// The files and folders among them that the program writes itself.
    fn writes(&self, _: &SessionRequest) -> Vec<PathBuf> {
        Vec::new()
    }

    /// Program and arguments. The prompt goes to standard input, where no length limit applies and
    /// no process list shows it.
    fn command_line(&self, request: &SessionRequest, allowance: Allowance) -> Vec<String>;

    /// Adds what keeps it quiet and bounded. What the user set stands in `environment` already.
    fn environment(&self, _: &SessionRequest, _: Allowance, _environment: &mut Environment) {}
}

/// What may differ between the sessions of one attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    /// Turns that are left.
    pub(super) turns: Option<u32>,
    /// Money that is left.
    pub(super) cost: Option<MicroUsd>,
    /// How often the program itself may ask its API again.
    pub(super) retries: u32,
}

/// What is known of a session from its records.
pub(super) trait Reading: Default + Send + 'static {
    /// Takes one line; `told` hears what happens in it.
    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity));

    /// Takes a line that was too long to be kept.
    fn unknown(&mut self);

    /// What the session came to. `by_exit` is what the program's end says; `stopped_at` is when we
    /// broke it off.
    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome;

    /// Tokens and money so far, as far as they are told: what caps are held against.
    fn spent(&self, _: &SessionRequest) -> (u64, MicroUsd) {
        (0, MicroUsd(0))
    }

    /// Whether the session failed for a reason that may pass by itself, so that asking again helps:
    /// how often the program asked in vain.
    fn asked_in_vain(&self) -> Option<u32>;
}

/// A program that prints records, as an agent.
#[derive(Debug, Clone, Copy, Default)]
pub struct Recorded<P> {
    program: P,
    backoff: Backoff,
}

impl<P: Default> Recorded<P> {
    /// With these waits between tries.
    pub fn with_backoff(backoff: Backoff) -> Self {
        Self {
            program: P::default(),
            backoff,
        }
    }
}

impl<P: Program> Agent for Recorded<P> {
    fn run<'a>(
        &'a self,
        request: &'a SessionRequest,
        progress: &'a dyn Progress,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, SessionOutcome> {
        Attempt {
            program: &self.program,
            request,
            progress,
            cancel,
            backoff: self.backoff,
            started: Instant::now(),
        }
        .run()
        .map(heed_refusal)
        .boxed()
    }
}

/// The words by which the program of an agent is started: the configured ones, or its usual name.
pub(super) fn program_or(request: &SessionRequest, usual: &str) -> Vec<String> {
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
pub(super) fn read_along<R: Reading>(
    reading: Arc<Mutex<R>>,
    told: Told,
    watch: impl Fn(&R) + Send + 'static,
) -> impl Consumer + 'static {
    Lines::new(LINE_LIMIT, move |line: Line<'_>| {
        let mut reading = locked(&reading);
        if line.left_out > 0 {
            reading.unknown();
        } else {
            // Activity is lossy: what does not fit is dropped.
            reading.line(line.bytes, &mut |activity| drop(told.try_send(activity)));
            watch(&reading);
        }
    })
}

/// What a session came to, by its records and by how the program ended.
pub(super) fn conclude<R: Reading>(
    request: &SessionRequest,
    reading: &R,
    ended: &Ended,
) -> SessionOutcome {
    let by_exit = program::by_exit(request, ended);
    let outcome = reading.outcome(request, by_exit, ended.stopped_at);
    program::with_facts(outcome, ended)
}

pub(super) fn locked<R>(reading: &Mutex<R>) -> MutexGuard<'_, R> {
    // A reader that panicked leaves a reading that is short, not wrong.
    reading.lock().unwrap_or_else(PoisonError::into_inner)
}
