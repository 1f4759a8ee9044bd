//! The journal's contract. Its requirements for every implementation are documented here and tested by the
//! contract suite.

use std::path::PathBuf;

use selvedge_core::model::{Envelope, RunId, TaskId};

use crate::error::StoreError;
use crate::run_name::RunMatch;
use crate::summary::RunSummary;

/// The result of an [`append`](Journal::append).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a fenced writer has lost the run and must stop"]
pub enum AppendOutcome {
    /// All events are durable.
    Committed,
    /// Nothing was written: the journal does not end where the writer expects, because another writer has
    /// taken over the run.
    Fenced {
        /// The last event's sequence number, 0 when there is none.
        actual_seq: u64,
    },
}

/// A filter of a list of runs; the default shows all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunFilter {
    /// Only runs in this directory.
    pub workspace: Option<PathBuf>,
    /// Only runs of this task.
    pub task: Option<TaskId>,
    /// Only finished runs (`true`), or only others (`false`).
    pub finished: Option<bool>,
}

/// The append-only log of all runs.
pub trait Journal {
    /// Appends events to a run, all of them or none, and returns once they are durable. `expected_seq` is the
    /// sequence number of the last event that the writer knows, 0 for none. The events must have the run's id
    /// and be numbered from there without gaps.
    fn append(
        &self,
        run: RunId,
        expected_seq: u64,
        events: &[Envelope],
    ) -> Result<AppendOutcome, StoreError>;

    /// At most `limit` of a run's events after `after_seq`, in order.
    fn page(&self, run: RunId, after_seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError>;

    /// At most `limit` runs, newest first (by id: run ids are UUIDv7). `before` is the last run of the
    /// previous page.
    fn runs(
        &self,
        filter: &RunFilter,
        limit: usize,
        before: Option<RunId>,
    ) -> Result<Vec<RunSummary>, StoreError>;

    /// The summary of one run.
    fn summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError>;

    /// Finds a run by a name: its whole id, at least four hexadecimal digits from the id's start or end
    /// (hyphens and case do not matter), or `last` or `@` for the newest run.
    fn find(&self, name: &str) -> Result<RunMatch, StoreError>;

    /// Rebuilds all summaries from the events, which are the only source of truth.
    fn rebuild(&self) -> Result<(), StoreError>;

    /// A run's events after `after_seq`, all at once.
    fn read(&self, run: RunId, after_seq: u64) -> Result<Vec<Envelope>, StoreError> {
        self.events(run, after_seq).collect()
    }

    /// Reads a run's events after `after_seq` in pages, for journals of any length. No lock is held between
    /// pages, and events that are appended meanwhile are included.
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

/// Events per page: large enough that the cost of a query does not matter, small enough to bound the memory.
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
