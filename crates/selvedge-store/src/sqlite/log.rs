//! When the write-ahead log is folded into the database. SQLite by itself does it whenever the last
//! connection closes: syncs that somebody waits for, a log that the next program has to make anew,
//! with more of them. Here the log outlives the program, and is folded in at the end of one that
//! leaves a long log behind. (A program that goes on for very long has its commits do it, every
//! 1,000 pages, as is SQLite's default.)

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::StoreError;

/// Bytes of a long log. Whoever opens the journal first reads all of it, at some 2 ms a megabyte.
pub(super) const LONG_LOG_BYTES: u64 = 512 * 1024;

/// Sets up a connection: closing it leaves the log as it is.
pub(super) fn keep_log_on_close(db: &Connection) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

/// Folds a long log in, if nobody else is at it: called when nobody waits any more. What cannot be
/// done now is left to the next one; what is in the log is as durable as what is in the database.
pub(super) fn checkpoint_if_long(db: &Connection) {
    let Some(path) = db.path() else { return };
    if fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > LONG_LOG_BYTES) {
        let _ = db.busy_timeout(Duration::ZERO);
        // Emptied, not just copied: a log that is read again from its beginning would be taken for
        // one that still has to be copied, and grow from program to program.
        let _ = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}
