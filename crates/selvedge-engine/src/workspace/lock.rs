//! Keeping a second run out of a folder. The kernel holds the lock and lets go of it when the process
//! dies, however it dies; the file's content says who has it. The file itself is never removed:
//! removing it would let two processes lock two files of one name. The folder itself is locked besides:
//! whoever keeps such files elsewhere, as each worker does, sees that.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::WorkspaceError;

/// A run id is short; more than this is not one.
const ID_LIMIT: u64 = 256;

/// Why a folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another run has it.
    #[error(
        "{} is in use by {}; wait for it, cancel it, or work in another folder",
        dir.display(), holder_name(run_id.as_deref())
    )]
    InUse {
        /// The run, as it was written by its process; absent where that keeps its state elsewhere.
        run_id: Option<String>,
        /// The folder, canonical.
        dir: PathBuf,
    },
    /// The lock could not be tried.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

/// A folder that belongs to one run for as long as this lives.
#[derive(Debug)]
pub struct WorkspaceLock {
    file: File,
    folder: Option<File>,
}

impl WorkspaceLock {
    /// Locks `dir` for a run, by a file under `state_dir`.
    ///
    /// # Errors
    /// Another run has it, or the file cannot be made.
    pub fn lock(state_dir: &Path, dir: &Path, run_id: &str) -> Result<Self, LockError> {
        let dir = super::canonical_dir(dir)?;
        let path = lock_path(state_dir, &dir);
        let broken = |e| WorkspaceError::io("lock", &path, e);
        let mut file = open(&path).map_err(broken)?;
        match file.try_lock() {
            Ok(()) => {
                let Ok(folder) = lock_folder(&dir) else {
                    return Err(LockError::InUse { run_id: None, dir });
                };
                write_id(&mut file, run_id).map_err(broken)?;
                Ok(Self { file, folder })
            }
            Err(TryLockError::WouldBlock) => {
                let run_id = Some(read_id(&mut file).map_err(broken)?);
                Err(LockError::InUse { run_id, dir })
            }
            Err(TryLockError::Error(e)) => Err(broken(e).into()),
        }
    }
}

impl Drop for WorkspaceLock {
    fn drop(&mut self) {
        // A name left behind would only mislead a reader.
        let _ = self.file.set_len(0);
        // Closing the file is not enough: a child that was just forked shares it until it executes
        // its own program.
        let _ = self.file.unlock();
        let _ = self.folder.as_ref().map(File::unlock);
    }
}

/// Somebody else has locked it.
struct AlreadyLockedError;

/// Locks the folder itself. On file systems that cannot do that the file alone has to do.
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
        || "another run, whose state is kept elsewhere".to_owned(),
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
