//! The journal in one SQLite file: WAL, `synchronous=FULL`, every write in an immediate
//! transaction, so that several programs may use it at once and each commit costs one sync of the
//! log. A [`SqliteJournal`] belongs to one thread; another thread, or process, opens its own.

mod events;
mod open;
mod runs;
mod schema;
mod text;

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use selvedge_core::model::{Envelope, RunId};

use crate::error::StoreError;
use crate::journal::{Appended, Journal, RunFilter, in_sequence};
use crate::run_name::{Found, RunName};
use crate::summary::RunSummary;

/// A journal in a file `journal.db`.
#[derive(Debug)]
pub struct SqliteJournal {
    db: Connection,
}

impl SqliteJournal {
    /// Opens the journal of a state directory, and makes both, for this user alone, if need be.
    pub fn open(state_directory: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            db: open::to_write(state_directory)?,
        })
    }

    /// Opens the journal only to look at it: nothing is made, and a journal of an older format is
    /// left to whoever writes next ([`StoreError::Missing`] where there is none).
    pub fn open_to_read(state_directory: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            db: open::to_read(state_directory)?,
        })
    }

    /// A transaction that holds the write lock from its beginning: one that upgraded later could
    /// find that what it read is no longer so.
    fn begin(&self) -> Result<Transaction<'_>, StoreError> {
        Ok(Transaction::new_unchecked(
            &self.db,
            TransactionBehavior::Immediate,
        )?)
    }
}

impl Journal for SqliteJournal {
    fn append(
        &self,
        run: RunId,
        expected_seq: u64,
        events: &[Envelope],
    ) -> Result<Appended, StoreError> {
        in_sequence(run, expected_seq, events)?;
        let encoded = events::encode(events)?;
        let transaction = self.begin()?;
        let actual_seq = events::last_seq(&transaction, run)?;
        if actual_seq != expected_seq {
            return Ok(Appended::Fenced { actual_seq });
        }
        events::insert(&transaction, &encoded)?;
        if let Some(summary) = summarise(&transaction, run, expected_seq, events)? {
            runs::put(&transaction, &summary)?;
        }
        transaction.commit()?;
        Ok(Appended::Committed)
    }

    fn page(&self, run: RunId, after_seq: u64, limit: usize) -> Result<Vec<Envelope>, StoreError> {
        events::page(&self.db, run, after_seq, limit)
    }

    fn runs(
        &self,
        filter: &RunFilter,
        limit: usize,
        before: Option<RunId>,
    ) -> Result<Vec<RunSummary>, StoreError> {
        runs::list(&self.db, filter, limit, before)
    }

    fn summary(&self, run: RunId) -> Result<Option<RunSummary>, StoreError> {
        runs::get(&self.db, run)
    }

    fn find(&self, name: &str) -> Result<Found, StoreError> {
        Ok(Found::among(match RunName::parse(name) {
            None => Vec::new(),
            Some(RunName::Newest) => runs::newest(&self.db)?.into_iter().collect(),
            Some(RunName::Fragment(digits)) => {
                runs::with_fragment(&self.db, &digits, Found::CANDIDATES)?
            }
        }))
    }

    fn rebuild(&self) -> Result<(), StoreError> {
        let transaction = self.begin()?;
        transaction.execute("DELETE FROM run", [])?;
        for run in events::runs(&transaction)? {
            if let Some(summary) = fold(&transaction, run)? {
                runs::put(&transaction, &summary)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

/// The run's summary with the events that were just inserted after `expected_seq`.
fn summarise(
    db: &Connection,
    run: RunId,
    expected_seq: u64,
    events: &[Envelope],
) -> Result<Option<RunSummary>, StoreError> {
    let (mut summary, rest) = match events.split_first() {
        Some((first, rest)) if expected_seq == 0 => (RunSummary::begin(first), rest),
        _ => match runs::get(db, run)? {
            Some(summary) if summary.last_seq == expected_seq => (summary, events),
            // Derived data that is missing or behind is made anew, not trusted.
            _ => return fold(db, run),
        },
    };
    for envelope in rest {
        summary.follow(envelope);
    }
    Ok(Some(summary))
}

/// The run's summary from all of its events.
fn fold(db: &Connection, run: RunId) -> Result<Option<RunSummary>, StoreError> {
    let mut summary: Option<RunSummary> = None;
    events::each(db, run, |envelope| match &mut summary {
        None => summary = Some(RunSummary::begin(&envelope)),
        Some(summary) => summary.follow(&envelope),
    })?;
    Ok(summary)
}
