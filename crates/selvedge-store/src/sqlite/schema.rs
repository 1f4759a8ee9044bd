//! The format of the database: numbered migrations, counted by `user_version`. A migration that was
//! released is never edited; what comes next is a new file.

use std::path::Path;

use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::StoreError;

const MIGRATIONS: &[&str] = &[include_str!("migrations/001_journal.sql")];

/// Whether nothing was ever written to the database.
pub(super) fn is_blank(db: &Connection) -> Result<bool, StoreError> {
    Ok(version(db)? == 0)
}

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
    // Outside of any transaction, and remembered in the file.
    db.pragma_update(None, "journal_mode", "wal")?;
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

fn version(db: &Connection) -> Result<usize, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
