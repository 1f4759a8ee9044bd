//! Checkpoints of the write-ahead log. By default SQLite runs one whenever the last connection closes: the
//! caller waits for its syncs, and the next program has to create a new log, with further syncs. Here the log
//! outlives the program, and a program that leaves a long log runs a checkpoint at its end. (During a long
//! program, commits run one every 1,000 pages, as is SQLite's default.)

use std::fs;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::StoreError;

/// Minimum size of a long log in bytes. The first program to open the journal reads the whole log, at some 2
/// ms a megabyte.
pub(super) const LONG_LOG_BYTES: u64 = 512 * 1024;

/// Configures a connection to keep the log when it closes.
pub(super) fn keep_log_on_close(db: &Connection) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    Ok(())
}

/// Runs a checkpoint if the log is long and no other program is using the database; called when the user is
/// no longer waiting. On failure the next program does it; data in the log is as durable as in the database.
pub(super) fn checkpoint_if_long(db: &Connection) {
    let Some(path) = db.path() else { return };
    if fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > LONG_LOG_BYTES) {
        let _ = db.busy_timeout(Duration::ZERO);
        // Truncated, not just copied: a restarted log would be taken for one that still has to be copied, and
        // would grow from program to program.
        let _ = db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    }
}
