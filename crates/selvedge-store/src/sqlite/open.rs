//! Opens the file: permissions, creation, and the settings of each connection.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::{log, schema};
use crate::error::StoreError;

const FILE: &str = "journal.db";
/// Where a new database is prepared; any existing content was left by a program that was killed.
const NEW_FILE: &str = "journal.new";

/// How long one program waits for another's write. Each write takes a few milliseconds; a program that is
/// stopped during one blocks the others, and this timeout is long enough for a user to notice.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the database; creates it if it is missing.
pub(super) fn open_for_writing(directory: &Path) -> Result<Connection, StoreError> {
    let path = directory.join(FILE);
    if !exists(&path)? {
        create(directory).map_err(|error| match error {
            CreateError::Files(source) => StoreError::opening(directory, source),
            CreateError::Database(error) => error,
        })?;
    }
    let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema::migrate(&db, &path)?;
    Ok(db)
}

/// Opens an existing database read-only. One with an older format is migrated first.
pub(super) fn open_for_reading(directory: &Path) -> Result<Connection, StoreError> {
    let path = directory.join(FILE);
    if !exists(&path)? {
        return Err(StoreError::Missing { path });
    }
    let db = connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    if schema::is_current(&db, &path)? {
        return Ok(db);
    }
    drop((db, open_for_writing(directory)?));
    connect(&path, OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn exists(path: &Path) -> Result<bool, StoreError> {
    path.try_exists()
        .map_err(|source| StoreError::opening(path, source))
}

enum CreateError {
    Files(io::Error),
    Database(StoreError),
}

impl From<io::Error> for CreateError {
    fn from(error: io::Error) -> Self {
        Self::Files(error)
    }
}

impl From<StoreError> for CreateError {
    fn from(error: StoreError) -> Self {
        Self::Database(error)
    }
}

/// Creates the database in a separate folder and then moves it into place. No other program ever sees it
/// without its tables, in another journal mode, or readable by others; and only one of the syncs remains that
/// creating it in place would need.
fn create(directory: &Path) -> Result<(), CreateError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let held = File::open(directory)?;
    held.lock()?;
    let path = directory.join(FILE);
    if path.try_exists()? {
        return Ok(());
    }
    let draft_directory = directory.join(NEW_FILE);
    if draft_directory.try_exists()? {
        fs::remove_dir_all(&draft_directory)?;
    }
    DirBuilder::new().mode(0o700).create(&draft_directory)?;
    let draft = draft_directory.join(FILE);
    schema::write(&draft)?;
    fs::set_permissions(&draft, Permissions::from_mode(0o600))?;
    File::open(&draft)?.sync_all()?;
    fs::rename(&draft, &path)?;
    fs::remove_dir_all(&draft_directory)?;
    Ok(held.sync_all()?)
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    // A connection belongs to one thread, so it needs no mutex of its own.
    let db = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    db.busy_timeout(BUSY_TIMEOUT)?;
    db.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA synchronous = FULL;
         PRAGMA fullfsync = ON; -- macOS, where a plain sync does not reach the disk",
    )?;
    log::keep_log_on_close(&db)?;
    Ok(db)
}
