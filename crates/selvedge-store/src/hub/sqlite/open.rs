//! Opens the file: permissions, the lock for a single hub, connection settings, and migrations, counted by
//! `user_version`. A released migration is never edited.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, Transaction, TransactionBehavior};

use crate::hub::error::HubStoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_hub.sql"),
    include_str!("migrations/002_verdicts.sql"),
    include_str!("migrations/003_access.sql"),
    include_str!("migrations/004_webhooks.sql"),
    include_str!("migrations/005_audit.sql"),
    include_str!("migrations/006_retries.sql"),
    include_str!("migrations/007_people.sql"),
    include_str!("migrations/008_projects.sql"),
    include_str!("migrations/009_objects.sql"),
    include_str!("migrations/010_held_tasks.sql"),
];
/// Pages in the log after which a commit triggers a checkpoint.
const CHECKPOINT_PAGES: u32 = 16_000;

/// The lock that only one hub can hold.
#[derive(Debug)]
pub(super) struct SingleHubLock(File);

impl Drop for SingleHubLock {
    fn drop(&mut self) {
        // Closing the file is not enough: a newly forked child shares it until it executes its program.
        let _ = self.0.unlock();
    }
}

/// Acquires the lock.
pub(super) fn lock_for_one_hub(path: &Path) -> Result<SingleHubLock, HubStoreError> {
    let with_path =
        |error: io::Error| HubStoreError::Unavailable(format!("{}: {error}", path.display()));
    if let Some(directory) = path.parent().filter(|path| !path.as_os_str().is_empty()) {
        let mut make = DirBuilder::new();
        make.recursive(true).mode(0o700);
        make.create(directory).map_err(with_path)?;
    }
    let lock = path.with_extension("lock");
    let mut options = OpenOptions::new();
    options.create(true).write(true).truncate(false).mode(0o600);
    let file = options.open(&lock).map_err(with_path)?;
    file.try_lock()
        .map_err(|_| HubStoreError::InUse(path.display().to_string()))?;
    Ok(SingleHubLock(file))
}

pub(super) fn open_for_writing(path: &Path) -> Result<Connection, HubStoreError> {
    let db = Connection::open(path)?;
    fs::set_permissions(path, Permissions::from_mode(0o600))
        .map_err(|error| HubStoreError::Unavailable(error.to_string()))?;
    prepare(&db)?;
    db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;")?;
    db.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    migrate(&db)?;
    Ok(db)
}

pub(super) fn open_for_reading(path: &Path) -> Result<Connection, HubStoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    prepare(&db)?;
    db.execute_batch("PRAGMA query_only = ON;")?;
    // Only the writer runs checkpoints.
    db.pragma_update(None, "wal_autocheckpoint", 0)?;
    Ok(db)
}

fn prepare(db: &Connection) -> Result<(), HubStoreError> {
    db.busy_timeout(Duration::from_secs(10))?;
    db.set_prepared_statement_cache_capacity(64);
    // Otherwise a query is planned again whenever a value differs that its plan might depend on.
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    db.execute_batch(
        "PRAGMA foreign_keys = ON; PRAGMA fullfsync = ON; PRAGMA cache_size = -32000;",
    )?;
    Ok(())
}

fn migrate(db: &Connection) -> Result<(), HubStoreError> {
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let found: usize = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let supported = MIGRATIONS.len();
    if found > supported {
        return Err(HubStoreError::Newer { found, supported });
    }
    for migration in MIGRATIONS.iter().skip(found) {
        transaction.execute_batch(migration)?;
    }
    if found < supported {
        transaction.pragma_update(None, "user_version", supported)?;
    }
    Ok(transaction.commit()?)
}
