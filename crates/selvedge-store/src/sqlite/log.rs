//! When the write-ahead log is folded into the database. SQLite would do it in the commit that
//! makes the log too long, and whenever the last connection closes: two more syncs in front of
//! somebody who waits, and a log to be made anew, with three, by the next program. Here the log
//! outlives the program, and is folded in at the end of one that leaves a long one behind.

use std::fs;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use crate::error::StoreError;

/// A log longer than this is folded in when its connection ends: reading it, which whoever comes
/// first has to, stays well under a millisecond.
const LONG: u64 = 512 * 1024;

/// The log of a connection that appends for very long is folded in by a commit after all, so that
/// neither it nor the next opening grows without bound: 16 MiB in pages of 4 KiB.
const TOO_LONG_PAGES: u32 = 4_096;

/// Sets up a connection.
pub(super) fn never_in_the_way(db: &Connection) -> Result<(), StoreError> {
    db.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    db.pragma_update(None, "wal_autocheckpoint", TOO_LONG_PAGES)?;
    Ok(db.pragma_update(None, "journal_size_limit", LONG)?)
}

/// Folds the log in if it is long and nobody else is at it: called when nobody waits any more.
/// What cannot be done now is left to the next one; the log is as durable as the database.
pub(super) fn fold_if_long(db: &Connection) {
    let Some(path) = db.path() else { return };
    if fs::metadata(format!("{path}-wal")).is_ok_and(|log| log.len() > LONG) {
        let _ = db.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}
