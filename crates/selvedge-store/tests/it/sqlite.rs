//! The contract suite for SQLite in a temporary directory, and faults that only files can have.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use selvedge_core::model::{Envelope, Event, RunId, Timestamp};
use selvedge_store::{AppendOutcome, Journal, RunFilter, SqliteJournal, StoreError};
use tempfile::TempDir;

use crate::journal_contract::{JournalBackend, journal_contract};

/// A temporary state directory.
struct TempSqliteBackend(TempDir);

impl TempSqliteBackend {
    fn fresh() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("below/state")
    }

    /// Opens the database as any other program would.
    fn raw(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.state().join("journal.db")).unwrap()
    }
}

impl JournalBackend for TempSqliteBackend {
    type Journal = SqliteJournal;

    fn open(&self) -> SqliteJournal {
        SqliteJournal::open(&self.state()).unwrap()
    }
}

journal_contract!(TempSqliteBackend::fresh);

fn run() -> RunId {
    "0190163d-8694-739b-aea5-966c26f8ad91".parse().unwrap()
}

fn event(seq: u64) -> Envelope {
    Envelope {
        v: 1,
        run_id: run(),
        seq,
        at: Timestamp::UNIX_EPOCH,
        event: Event::Suspended,
    }
}

#[test]
fn journal_is_readable_by_its_owner_only() {
    let directory = TempSqliteBackend::fresh();
    let journal = directory.open();
    assert_eq!(
        journal.append(run(), 0, &[event(1)]).unwrap(),
        AppendOutcome::Committed
    );
    let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.state()), 0o700);
    for file in ["journal.db", "journal.db-wal", "journal.db-shm"] {
        assert_eq!(mode(directory.state().join(file)), 0o600, "{file}");
    }
}

#[test]
fn journal_of_later_format_is_rejected() {
    let directory = TempSqliteBackend::fresh();
    drop(directory.open());
    directory
        .raw()
        .pragma_update(None, "user_version", 99)
        .unwrap();
    for refused in [
        SqliteJournal::open(&directory.state()),
        SqliteJournal::open_to_read(&directory.state()),
    ] {
        let error = refused.unwrap_err();
        assert!(
            matches!(
                error,
                StoreError::Newer {
                    found: 99,
                    supported: 1,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(
            error.to_string().contains("use the release that wrote it"),
            "{error}"
        );
    }
}

#[test]
fn journal_that_is_not_a_database_is_damaged() {
    let directory = TempSqliteBackend::fresh();
    fs::create_dir_all(directory.state()).unwrap();
    fs::write(
        directory.state().join("journal.db"),
        "not a database, but long enough ".repeat(99),
    )
    .unwrap();
    let refused = SqliteJournal::open(&directory.state());
    assert!(
        matches!(refused, Err(StoreError::Damaged(_))),
        "{refused:?}"
    );
}

#[test]
fn schema_keeps_the_log_gapless_and_append_only() {
    let directory = TempSqliteBackend::fresh();
    let stored = [event(1), event(2)];
    let journal = directory.open();
    assert_eq!(
        journal.append(run(), 0, &stored).unwrap(),
        AppendOutcome::Committed
    );
    let raw = directory.raw();
    let insert = |seq: u64| {
        let sql = "INSERT INTO event VALUES (?1, ?2, 1, '1970-01-01T00:00:00Z', 'suspended', NULL)";
        raw.execute(sql, (run().to_string(), seq)).map(drop)
    };
    for seq in [0, 2, 4] {
        insert(seq).unwrap_err();
    }
    raw.execute("UPDATE event SET type = 'resumed'", [])
        .unwrap_err();
    raw.execute("DELETE FROM event WHERE seq = 2", [])
        .unwrap_err();
    assert_eq!(journal.read(run(), 0).unwrap(), stored);
    insert(3).unwrap();
}

#[test]
fn summary_row_is_rebuilt_by_the_next_append() {
    let directory = TempSqliteBackend::fresh();
    let journal = directory.open();
    assert_eq!(
        journal.append(run(), 0, &[event(1)]).unwrap(),
        AppendOutcome::Committed
    );
    let before = journal.summary(run()).unwrap().unwrap();
    directory.raw().execute("DELETE FROM run", []).unwrap();
    assert_eq!(
        journal.append(run(), 1, &[event(2)]).unwrap(),
        AppendOutcome::Committed
    );
    let after = journal.summary(run()).unwrap().unwrap();
    assert_eq!((after.last_seq, after.created_at), (2, before.created_at));
}

#[test]
fn journal_opened_for_reading_is_read_only() {
    let directory = TempSqliteBackend::fresh();
    let missing = SqliteJournal::open_to_read(&directory.state());
    assert!(
        matches!(missing, Err(StoreError::Missing { .. })),
        "{missing:?}"
    );
    assert!(!directory.state().exists());

    let writer = directory.open();
    assert_eq!(
        writer.append(run(), 0, &[event(1)]).unwrap(),
        AppendOutcome::Committed
    );
    let reader = SqliteJournal::open_to_read(&directory.state()).unwrap();
    let refused = reader.append(run(), 1, &[event(2)]);
    assert!(matches!(refused, Err(StoreError::ReadOnly)), "{refused:?}");
    assert_eq!(
        reader.runs(&RunFilter::default(), 10, None).unwrap().len(),
        1
    );

    drop(writer);
    let alone = SqliteJournal::open_to_read(&directory.state()).unwrap();
    assert_eq!(alone.read(run(), 0).unwrap(), [event(1)]);
}
