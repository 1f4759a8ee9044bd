//! The journal's contract. What every implementation must keep is written here, and tested once
//! for all of them by the contract suite.

use std::path::PathBuf;

use selvedge_core::model::{Envelope, RunId, TaskId};

use crate::error::StoreError;
use crate::run_name::RunMatch;
use crate::summary::RunSummary;

/// What became of an [`append`](Journal::append).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a fenced writer has lost the run and must stop"]
pub enum AppendOutcome {
    /// All events are durable.
    Committed,
    /// Nothing was written: the journal is not where the writer believes it to be, because another
    /// one has taken the run over.
    Fenced {
        /// The last event's sequence number, 0 when there is none.
        actual_seq: u64,
    },
}

/// Which runs a list shows; the default shows all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs in this directory.
    pub workspace: Option<PathBuf>,
    /// Only runs of this task.
    pub task: Option<TaskId>,
    /// Only runs that are over, or only those that are not.
    pub finished: Option<bool>,
}

/// The append-only log of all runs.
pub trait Journal {
    /// Appends events to a run, all of them or none, and returns once they are durable.
    /// `expected_seq` is the sequence number of the last event that the writer knows, 0 for none;
    /// the events must be numbered from there without gaps, and bear the run's id.
    fn append(
        &self,
        run: RunId,
        expected_seq: u64,
        events: &[Envelope],
    ) -> Result<AppendOutcome, StoreError>;

    /// At most `limit` of a run's events after `after_seq`, in order.
    fn page(&self, run: RunId, after_seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError>;

    /// At most `limit` runs, the newest first (by id: run ids are UUIDv7). `before` is the last
    /// run of the page before this one.
    fn runs(
        &self,
        filter: &RunFilter,
        limit: usize,
        before: Option<RunId>,
    ) -> Result<Vec<RunSummary>, StoreError>;

    /// The summary of one run.
    fn summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError>;

    /// Which run a person means: a whole id, at least four hexadecimal digits from its start or
    /// its end (hyphens and case do not matter), or `last` or `@` for the newest.
    fn find(&self, name: &str) -> Result<RunMatch, StoreError>;

    /// Makes all summaries anew from the events, which alone are the truth.
    fn rebuild(&self) -> Result<(), StoreError>;

    /// A run's events after `after_seq`, all at once.
    fn read(&self, run: RunId, after_seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.events(run, after_seq).collect()
    }

    /// A run's events after `after_seq`, a page at a time: for journals of any length. No lock is
    /// held between two pages, and events appended meanwhile are seen.
    fn events(&self, run: RunId, after_seq: u64) -> EventIter<'_, Self> {
        EventIter {
            journal: self,
            run,
            after_seq,
            page: Vec::new().into_iter(),
            is_done: false,
        }
    }
}

/// An iterator over a run's events; see [`Journal::events`]. It ends after its first error.
#[derive(Debug)]
pub struct EventIter<'a, J: ?Sized> {
    journal: &'a J,
    run: RunId,
    after_seq: u64,
    page: std::vec::IntoIter<Envelope>,
    is_done: bool,
}

/// Events read at once: enough to make the query's cost vanish, few enough to bound the memory.
const PAGE_EVENTS: usize = 128;

impl<J: Journal + ?Sized> Iterator for EventIter<'_, J> {
    type Item = Result<Envelope, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.page.len() == 0 && !self.is_done {
            match self.journal.page(self.run, self.after_seq, PAGE_EVENTS) {
                Ok(page) => {
                    self.is_done = page.len() < PAGE_EVENTS;
                    self.page = page.into_iter();
                }
                Err(error) => {
                    self.is_done = true;
                    return Some(Err(error));
                }
            }
        }
        let envelope = self.page.next()?;
        self.after_seq = envelope.seq;
        Some(Ok(envelope))
    }
}

/// Refuses events that do not follow `expected_seq`, or belong to another run.
pub(crate) fn check_sequence(
    run: RunId,
    expected_seq: u64,
    events: &[Envelope],
) -> Result<(), StoreError> {
    let mut last = expected_seq;
    for envelope in events {
        if envelope.run_id != run || last.checked_add(1) != Some(envelope.seq) {
            return Err(StoreError::OutOfSequence {
                run,
                seq: envelope.seq,
            });
        }
        last = envelope.seq;
    }
    Ok(())
}
