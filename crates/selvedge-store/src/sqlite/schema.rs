//! The format of the database: numbered migrations, counted by `user_version`. A released migration is never
//! edited; changes are added as a new file.

use std::path::Path;

use rusqlite::Connection;

use super::begin_immediate;
use crate::error::StoreError;

const MIGRATIONS: &[&str] = &[include_str!("migrations/001_journal.sql")];

/// Whether the database has this program's format; a later format is an error.
pub(super) fn is_current(db: &Connection, path: &Path) -> Result<bool, StoreError> {
    let (found, supported) = (version(db)?, MIGRATIONS.len());
    if found > supported {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found,
            supported,
        });
    }
    Ok(found == supported)
}

/// Migrates the database to this program's format; other programs may do so at the same time.
pub(super) fn migrate(db: &Connection, path: &Path) -> Result<(), StoreError> {
    if is_current(db, path)? {
        return Ok(());
    }
    let transaction = begin_immediate(db)?;
    // Checked again under the lock: another program may have migrated it meanwhile.
    let done = version(&transaction)?;
    for migration in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(migration)?;
    }
    if done < MIGRATIONS.len() {
        transaction.pragma_update(None, "user_version", MIGRATIONS.len())?;
    }
    Ok(transaction.commit()?)
}

/// Writes an empty database to a file that no other program knows yet, without syncing it.
pub(super) fn write(path: &Path) -> Result<(), StoreError> {
    let db = Connection::open(path)?;
    db.execute_batch("PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL;")?;
    migrate(&db, path)?;
    // Closing runs a checkpoint and returns its error.
    db.close().map_err(|(_, error)| error.into())
}

fn version(db: &Connection) -> Result<usize, StoreError> {
    Ok(db.pragma_query_value(None, "user_version", |row| row.get(0))?)
}
