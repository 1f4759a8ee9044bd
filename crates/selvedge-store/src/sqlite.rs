//! The journal in one SQLite file: WAL, `synchronous=FULL`, every write in an immediate
//! transaction, so that several programs may use it at once and each commit costs one sync of the
//! log. A [`SqliteJournal`] belongs to one thread; another thread, or process, opens its own.

mod events;
mod log;
mod open;
mod runs;
mod schema;
mod text;

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use selvedge_core::model::{Envelope, RunId};

use crate::error::StoreError;
use crate::journal::{AppendOutcome, Journal, RunFilter, check_sequence};
use crate::run_name::{RunMatch, RunName};
use crate::summary::RunSummary;

/// A journal in a file `journal.db`.
#[derive(Debug)]
pub struct SqliteJournal {
    db: Connection,
}

impl SqliteJournal {
    /// Opens the journal of a state directory; creates both with access for this user only if they are
    /// missing.
    pub fn open(state_directory: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            db: open::open_for_writing(state_directory)?,
        })
    }

    /// Opens the journal read-only. Creates nothing ([`StoreError::Missing`] if there is no journal); only a
    /// journal of an older format is migrated first.
    pub fn open_to_read(state_directory: &Path) -> Result<Self, StoreError> {
        Ok(Self {
            db: open::open_for_reading(state_directory)?,
        })
    }
}

/// Begins a transaction that holds the write lock from its beginning: with a later upgrade, the data that it
/// read could already be outdated.
pub(crate) fn begin_immediate(db: &Connection) -> Result<Transaction<'_>, StoreError> {
    Ok(Transaction::new_unchecked(
        db,
        TransactionBehavior::Immediate,
    )?)
}

impl Drop for SqliteJournal {
    fn drop(&mut self) {
        log::checkpoint_if_long(&self.db);
    }
}

impl Journal for SqliteJournal {
    fn append(
        &self,
        run: RunId,
        expected_seq: u64,
        events: &[Envelope],
    ) -> Result<AppendOutcome, StoreError> {
        check_sequence(run, expected_seq, events)?;
        let encoded = events::encode(events)?;
        let transaction = begin_immediate(&self.db)?;
        let actual_seq = events::last_seq(&transaction, run)?;
        if actual_seq != expected_seq {
            return Ok(AppendOutcome::Fenced { actual_seq });
        }
        events::insert(&transaction, &encoded)?;
        if let Some(summary) = summarise(&transaction, run, expected_seq, events)? {
            runs::upsert(&transaction, &summary)?;
        }
        transaction.commit()?;
        Ok(AppendOutcome::Committed)
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

    fn find(&self, name: &str) -> Result<RunMatch, StoreError> {
        Ok(RunMatch::from_candidates(match RunName::parse(name) {
            None => Vec::new(),
            Some(RunName::Newest) => runs::newest(&self.db)?.into_iter().collect(),
            Some(RunName::Fragment { start, end }) => {
                runs::with_fragment(&self.db, &start, &end, RunMatch::MAX_CANDIDATES)?
            }
        }))
    }

    fn rebuild(&self) -> Result<(), StoreError> {
        let transaction = begin_immediate(&self.db)?;
        transaction.execute("DELETE FROM run", [])?;
        for run in events::runs(&transaction)? {
            if let Some(summary) = fold(&transaction, run)? {
                runs::upsert(&transaction, &summary)?;
            }
        }
        Ok(transaction.commit()?)
    }
}

/// The run's summary including the events that were just inserted after `expected_seq`.
fn summarise(
    db: &Connection,
    run: RunId,
    expected_seq: u64,
    events: &[Envelope],
) -> Result<Option<RunSummary>, StoreError> {
    let (mut summary, rest) = match events.split_first() {
        Some((first, rest)) if expected_seq == 0 => (RunSummary::from_first_event(first), rest),
        _ => match runs::get(db, run)? {
            Some(summary) if summary.last_seq == expected_seq => (summary, events),
            // A missing or outdated summary is recomputed.
            _ => return fold(db, run),
        },
    };
    for envelope in rest {
        summary.apply_event(envelope);
    }
    Ok(Some(summary))
}

/// The run's summary from all of its events.
fn fold(db: &Connection, run: RunId) -> Result<Option<RunSummary>, StoreError> {
    let mut summary: Option<RunSummary> = None;
    events::for_each_event(db, run, |envelope| match &mut summary {
        None => summary = Some(RunSummary::from_first_event(&envelope)),
        Some(summary) => summary.apply_event(&envelope),
    })?;
    Ok(summary)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use selvedge_core::model::{Event, Timestamp};

    use super::*;

    fn batch(from: u64, events: u64, text: &str) -> Vec<Envelope> {
        let run_id = "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap();
        let event = || Event::SuspendRequested {
            reason: text.to_owned(),
        };
        (from..from + events)
            .map(|seq| Envelope {
                v: 1,
                run_id,
                seq,
                at: Timestamp::UNIX_EPOCH,
                event: event(),
            })
            .collect()
    }

    #[test]
    fn append_is_synced_before_acknowledgement() {
        let directory = tempfile::tempdir().unwrap();
        // The second opening finds the database that the first one created.
        for _ in 0..2 {
            let journal = SqliteJournal::open(directory.path()).unwrap();
            let setting = |name: &str| -> String {
                let get = format!("SELECT CAST({name} AS TEXT) FROM pragma_{name}");
                journal.db.query_row(&get, [], |row| row.get(0)).unwrap()
            };
            assert_eq!(setting("journal_mode"), "wal");
            assert_eq!(setting("synchronous"), "2", "FULL: every commit is synced");
            assert_eq!(setting("foreign_keys"), "1");
        }
    }

    #[test]
    fn append_full_disk_loses_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let journal = SqliteJournal::open(directory.path()).unwrap();
        let small = batch(1, 1, "small");
        let run = small[0].run_id;
        assert_eq!(
            journal.append(run, 0, &small).unwrap(),
            AppendOutcome::Committed
        );
        let pages: i64 = journal
            .db
            .pragma_query_value(None, "page_count", |r| r.get(0))
            .unwrap();
        journal
            .db
            .pragma_update(None, "max_page_count", pages + 2)
            .unwrap();

        let large = batch(2, 3, &"large".repeat(9_999));
        let refused = journal.append(run, 1, &large);
        assert!(matches!(refused, Err(StoreError::DiskFull)), "{refused:?}");
        assert_eq!(journal.read(run, 0).unwrap(), small);

        journal
            .db
            .pragma_update(None, "max_page_count", i32::MAX)
            .unwrap();
        assert_eq!(
            journal.append(run, 1, &large).unwrap(),
            AppendOutcome::Committed
        );
    }

    #[test]
    fn log_file_is_kept_without_growing() {
        let directory = tempfile::tempdir().unwrap();
        let log = || {
            fs::metadata(directory.path().join("journal.db-wal"))
                .unwrap()
                .len()
        };
        let mut longest = 0;
        for seq in 1..40 {
            let journal = SqliteJournal::open(directory.path()).unwrap();
            let large = batch(seq, 1, &"x".repeat(64 * 1024));
            let run = large[0].run_id;
            assert_eq!(
                journal.append(run, seq - 1, &large).unwrap(),
                AppendOutcome::Committed
            );
            drop(journal);
            assert!(
                log() <= log::LONG_LOG_BYTES,
                "{} after {seq} programs",
                log()
            );
            longest = longest.max(log());
        }
        assert_ne!(longest, 0);
    }
}
