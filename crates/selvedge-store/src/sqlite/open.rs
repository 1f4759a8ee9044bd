//! Opening the file: who may read it, and how each connection is set up.

use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::schema;
use crate::error::StoreError;

const FILE: &str = "journal.db";

/// How long one program waits for another's write. Each write is a few milliseconds; a program
/// that was stopped in the middle of one holds the others up, and this long is enough to notice.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens, or makes, the database.
pub(super) fn to_write(directory: &Path) -> Result<Connection, StoreError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)
        .map_err(|source| StoreError::opening(directory, source))?;
    let path = directory.join(FILE);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
    let db = connect(&path, flags)?;
    if schema::is_blank(&db)? {
        // By its name, never through a handle of our own: closing one would drop the locks that
        // this process's other connections hold on the file. The log inherits the permissions.
        fs::set_permissions(&path, Permissions::from_mode(0o600))
            .map_err(|source| StoreError::opening(&path, source))?;
    }
    schema::migrate(&db, &path)?;
    Ok(db)
}

/// Opens the database if there is one, so that nothing can be written through this connection.
pub(super) fn to_read(directory: &Path) -> Result<Connection, StoreError> {
    let path = directory.join(FILE);
    match path.try_exists() {
        Ok(true) => {}
        Ok(false) => return Err(StoreError::Missing { path }),
        Err(source) => return Err(StoreError::opening(path, source)),
    }
    let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if schema::is_current(&db, &path)? {
        return Ok(db);
    }
    // An older format, or a file that its maker has not filled yet: bring it up to date first.
    drop(to_write(directory)?);
    connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn connect(path: &PathBuf, flags: OpenFlags) -> Result<Connection, StoreError> {
    // A connection belongs to one thread, so it needs no mutex of its own.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(PATIENCE)?;
    db.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON; -- macOS, where a plain sync does not reach the disk",
    )?;
    Ok(db)
}
