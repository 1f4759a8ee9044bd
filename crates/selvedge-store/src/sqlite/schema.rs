//! The format of the database: numbered migrations, counted by `user_version`. A migration that was
//! released is never edited; what comes next is a new file.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreError;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/001_journal.sql"),
    include_str!("migrations/002_plans.sql"),
];

/// Whether the database has the format that this program knows; a later one is an error.
pub(super) fn is_current(db: &Connection, path: &Path) -> Result<bool, StoreError> {
    let (found, known) = (version(db)?, MIGRATIONS.len());
    if found > known {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            known,
        });
    }
    Ok(found == known)
}

/// Brings the database up to the format that this program knows, whoever else does so meanwhile.
pub(super) fn migrate(db: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_current(db, path)? {
        return Ok(());
    }
    let transaction = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    // Asked again under the lock: another program may have been here first.
    let done = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    if done < MIGRATIONS.len() {
        transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    }
    Ok(transaction.commit()?)
}

/// Writes an empty database to a file that nobody else knows of yet, and does not sync it.
pub(super) fn write(path: &Path) -> Result<(), StoreError> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL;")?;
    migrate(&db, path)?;
    // Closing folds the log in, and says so if it cannot.
    db.close().map_err(|(_, error)| error.into())
}

fn version(db: &Connection) -> Result<usize, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
