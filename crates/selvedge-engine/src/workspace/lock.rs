//! Locks a folder for one run. The kernel releases the lock when the process ends for any reason; the lock file
//! contains the holder's run id. The file is never removed, because then two processes could lock two files of the same
//! name. The folder itself is locked as well, for processes with another state directory, such as workers.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::WorkspaceError;

/// Maximum length of a run id in bytes.
const ID_LIMIT: u64 = 256;

/// Why a folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run holds the lock.
    #[error(
        "{} is in use by {}; wait for it, cancel it, or work in another folder",
        dir.display(), holder_name(run_id.as_deref())
    )]
    InUse {
        /// The run id that its process wrote; `None` if that process has another state directory.
        run_id: Option<String>,
        /// The canonical path of the folder.
        dir: PathBuf,
    },
    /// Locking failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// The lock of a folder, held until it is dropped.
#[derive(Debug)]
pub struct WorkspaceLock {
    file: File,
    folder: Option<File>,
}

impl WorkspaceLock {
    /// Locks `dir` for a run, by a file under `state_dir`.
    ///
    /// # Errors
    /// Another run holds the lock, or the file cannot be created.
    pub fn lock(state_dir: &Path, dir: &Path, run_id: &str) -> Result<Self, LockError> {
        let dir = super::canonical_dir(dir)?;
        let path = lock_path(state_dir, &dir);
        let to_error = |e| WorkspaceError::io("lock", &path, e);
        let mut file = open(&path).map_err(to_error)?;
        match file.try_lock() {
            Ok(()) => {
                let Ok(folder) = lock_folder(&dir) else {
                    return Err(LockError::InUse { run_id: None, dir });
                };
                write_id(&mut file, run_id).map_err(to_error)?;
                Ok(Self { file, folder })
            }
            Err(TryLockError::WouldBlock) => {
                let run_id = Some(read_id(&mut file).map_err(to_error)?);
                Err(LockError::InUse { run_id, dir })
            }
            Err(TryLockError::Error(e)) => Err(to_error(e).into()),
        }
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // A stale run id would be misleading.
        let _ = self.file.set_len(0);
        // Closing the file is not enough: a child that was just forked shares it until it executes its program.
        let _ = self.file.unlock();
        let _ = self.folder.as_ref().map(File::unlock);
    }
}

/// Another process has locked the folder.
struct AlreadyLockedError;

/// Locks the folder itself. Returns `None` if the file system does not support it; then the lock file must suffice.
fn lock_folder(dir: &Path) -> Result<Option<File>, AlreadyLockedError> {
    let Ok(folder) = File::open(dir) else {
        return Ok(None);
    };
    match folder.try_lock() {
        Ok(()) => Ok(Some(folder)),
        Err(TryLockError::WouldBlock) => Err(AlreadyLockedError),
        Err(TryLockError::Error(_)) => Ok(None),
    }
}

fn holder_name(run_id: Option<&str>) -> String {
    run_id.map_or_else(
        || "another run with a different state directory".to_owned(),
        |run_id| format!("run {run_id}"),
    )
}

fn lock_path(state_dir: &Path, dir: &Path) -> PathBuf {
    state_dir
        .join("locks")
        .join(super::file_name_for(dir) + ".lock")
}

fn open(path: &Path) -> io::Result<File> {
    if let Some(locks) = path.parent() {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(locks)?;
    }
    OpenOptions::new()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .mode(0o600)
        .open(path)
}

fn write_id(file: &mut File, run_id: &str) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(run_id.as_bytes())
}

fn read_id(file: &mut File) -> io::Result<String> {
    let mut id = String::new();
    file.take(ID_LIMIT).read_to_string(&mut id)?;
    Ok(if id.is_empty() {
        "(starting)".to_owned()
    } else {
        id
    })
}
