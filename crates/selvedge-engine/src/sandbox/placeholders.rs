//! Placeholders for missing files and folders that a session could create, and that would configure programs outside of
//! its sandbox. A mount needs a mount point, so an empty file or folder takes the missing one's place while sessions
//! run, read-only for them. Sessions share placeholders: each is recorded and locked, and removed after the last
//! session, or by a later run if that session was killed. A file that was written since is the user's and is kept.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rustix::fs::{Access, FlockOperation, OFlags, access, flock};
use serde::{Deserialize, Serialize};

use crate::process::SystemString;

/// The modification time of placeholders. Files of the user have another one.
const PLACEHOLDER_TIME: SystemTime = SystemTime::UNIX_EPOCH;

/// The folder with the records: one for all state directories of a user, because their sessions share placeholders. If it
/// cannot be created in the home, it is in the state directory.
pub(super) fn records_folder(home: Option<&Path>, state: &Path) -> PathBuf {
    let of_user = home.map(|home| home.join(".local/state/selvedge"));
    let is_usable = |folder: &PathBuf| {
        let existing = folder.ancestors().find(|it| it.exists());
        existing.is_some_and(|it| it.is_dir() && access(it, Access::WRITE_OK).is_ok())
    };
    let parent = of_user.filter(is_usable);
    parent.as_deref().unwrap_or(state).join("placeholders")
}

/// A missing path that must not be created.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct MissingPath {
    pub(crate) path: SystemString,
    pub(crate) is_folder: bool,
}

/// The placeholders of one session, which are removed on drop if no other session needs them.
#[derive(Debug, Default)]
pub(crate) struct Placeholders {
    held: Vec<Placeholder>,
}

#[derive(Debug)]
struct Placeholder {
    record: PathBuf,
    /// The record's file, locked (shared) by every session that needs the placeholder.
    lock: File,
}

impl Placeholders {
    /// Creates the missing ones. A path in a folder that this user cannot write to needs none.
    pub(crate) fn create(missing: &[MissingPath], records: &Path) -> io::Result<Self> {
        let mut placeholders = Self::default();
        if missing.is_empty() {
            return Ok(placeholders);
        }
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(records)?;
        for missing in missing {
            let path = PathBuf::from(&missing.path);
            placeholders.held.push(Placeholder::hold(&path, records)?);
            let created = if missing.is_folder {
                fs::DirBuilder::new().mode(0o700).create(&path)
            } else {
                create_file(&path)
            };
            match created {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) if is_unwritable(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(placeholders)
    }
}

impl Drop for Placeholders {
    fn drop(&mut self) {
        for placeholder in &self.held {
            // A later run removes it if this fails.
            let _ = placeholder.remove_if_unused();
        }
    }
}

impl Placeholder {
    /// Records and locks a placeholder, before it is created.
    fn hold(path: &Path, records: &Path) -> io::Result<Self> {
        let record = records.join(crate::workspace::file_name_for(path));
        loop {
            let mut lock = open_record(&record, true)?;
            flock(&lock, FlockOperation::LockShared)?;
            // Another session may have removed the record between opening and locking.
            if !is_linked(&lock, &record) {
                continue;
            }
            if lock.metadata()?.len() == 0 {
                lock.write_all(path.as_os_str().as_bytes())?;
            }
            return Ok(Self { record, lock });
        }
    }

    fn remove_if_unused(&self) -> io::Result<bool> {
        if flock(&self.lock, FlockOperation::NonBlockingLockExclusive).is_err()
            || !is_linked(&self.lock, &self.record)
        {
            return Ok(false);
        }
        let mut path = Vec::new();
        let mut reader = &self.lock;
        reader.rewind()?;
        reader.read_to_end(&mut path)?;
        let path = Path::new(std::ffi::OsStr::from_bytes(&path));
        remove_placeholder(path)?;
        fs::remove_file(&self.record)?;
        Ok(true)
    }
}

/// The names of all records.
pub(super) fn recorded_names(records: &Path) -> BTreeSet<OsString> {
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    entries.map(|entry| entry.file_name()).collect()
}

/// Removes the placeholders of killed sessions; returns their number.
pub(super) fn remove_abandoned_placeholders(records: &Path) -> usize {
    let entries = fs::read_dir(records).into_iter().flatten().flatten();
    let removed = entries.filter(|entry| {
        let record = entry.path();
        let lock = open_record(&record, false);
        lock.is_ok_and(|lock| {
            Placeholder { record, lock }
                .remove_if_unused()
                .unwrap_or(false)
        })
    });
    removed.count()
}

fn open_record(record: &Path, create: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .append(true)
        .create(create)
        .mode(0o600)
        .custom_flags(i32::try_from(OFlags::NOFOLLOW.bits()).unwrap_or_default())
        .open(record)
}

fn is_linked(lock: &File, record: &Path) -> bool {
    let found = fs::symlink_metadata(record).and_then(|at| Ok((at, lock.metadata()?)));
    found.is_ok_and(|(at, own)| (at.dev(), at.ino()) == (own.dev(), own.ino()))
}

/// The file that a program ignores as soon as a placeholder exists: cargo prefers the old name of its settings.
pub(super) fn preferred_over(path: &Path) -> Option<PathBuf> {
    (path.file_name() == Some("config".as_ref())).then(|| path.with_extension("toml"))
}

/// Content of a placeholder: the shortest one that the program accepts, or that of the file which it would hide.
fn content_for(path: &Path) -> Vec<u8> {
    if let Some(content) = preferred_over(path).and_then(|other| fs::read(other).ok()) {
        return content;
    }

    let extension = path.extension().unwrap_or_default();
    match extension.to_str() {
        Some("json") => b"{}".to_vec(),
        Some("xml") => {
            let root = path.file_stem().unwrap_or_default().to_string_lossy();
            format!("<{root}/>").into_bytes()
        }
        _ => Vec::new(),
    }
}

/// Creates a placeholder of a file.
pub(super) fn create_file(path: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(&content_for(path))?;
    file.set_modified(PLACEHOLDER_TIME)
}

/// Removes a placeholder, unless the user has replaced it.
fn remove_placeholder(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => fs::remove_dir(path),
        Ok(found) if found.is_file() => {
            // Writing to a file changes its time.
            if found.modified()? == PLACEHOLDER_TIME {
                fs::remove_file(path)
            } else {
                Ok(())
            }
        }
        _ => Ok(()),
    };
    match removed {
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
        other => other,
    }
}

fn is_unwritable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::NotFound
            | io::ErrorKind::NotADirectory
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(path: &Path, is_folder: bool) -> MissingPath {
        MissingPath {
            path: path.as_os_str().into(),
            is_folder,
        }
    }

    #[test]
    fn placeholders_are_removed_after_the_last_session() {
        let root = tempfile::tempdir().unwrap();
        let (file, folder) = (root.path().join("settings.json"), root.path().join("hooks"));
        let paths = [missing(&file, false), missing(&folder, true)];
        let records = root.path().join("records");
        let first = Placeholders::create(&paths, &records).unwrap();
        let second = Placeholders::create(&paths, &records).unwrap();
        drop(first);
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}");
        assert!(folder.is_dir());
        assert_eq!(remove_abandoned_placeholders(&records), 0);
        drop(second);
        assert!(!file.exists() && !folder.exists());
        assert_eq!(fs::read_dir(&records).unwrap().count(), 0);
    }

    #[test]
    fn records_of_all_state_directories_are_in_one_folder_of_the_home() {
        let root = tempfile::tempdir().unwrap();
        let (home, state) = (root.path().join("home"), root.path().join("state"));
        assert_eq!(
            records_folder(None, &state),
            state.join("placeholders"),
            "without a home"
        );
        fs::create_dir(&home).unwrap();
        let records = records_folder(Some(&home), &state);
        assert!(records.starts_with(&home));
        assert_eq!(
            records,
            records_folder(Some(&home), &root.path().join("other")),
            "another state directory"
        );
        fs::write(home.join(".local"), "no folder").unwrap();
        let records = records_folder(Some(&home), &state);
        assert_eq!(records, state.join("placeholders"), "an unusable home");
    }

    #[test]
    fn placeholders_with_content_of_the_user_are_kept() {
        let root = tempfile::tempdir().unwrap();
        let (file, folder) = (root.path().join("config.toml"), root.path().join("bin"));
        let paths = [missing(&file, false), missing(&folder, true)];
        let placeholders = Placeholders::create(&paths, &root.path().join("records")).unwrap();
        fs::write(&file, "[net]\n").unwrap();
        fs::write(folder.join("tool"), "").unwrap();
        drop(placeholders);
        assert_eq!(fs::read_to_string(&file).unwrap(), "[net]\n");
        assert!(folder.join("tool").exists());
    }

    /// Cargo would ignore `config.toml` as soon as `config` exists.
    #[test]
    fn placeholder_of_an_old_name_has_the_content_of_the_new_one() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join(".cargo");
        let (old, new) = (folder.join("config"), folder.join("config.toml"));
        fs::create_dir(&folder).unwrap();
        fs::write(&new, "[net]\n").unwrap();
        let placeholders =
            Placeholders::create(&[missing(&old, false)], &root.path().join("records"));
        assert_eq!(fs::read_to_string(&old).unwrap(), "[net]\n");
        fs::write(&new, "[build]\n").unwrap();
        drop(placeholders);
        assert!(!old.exists());
    }

    /// A killed supervisor releases its locks and does nothing else.
    #[test]
    fn placeholders_of_killed_sessions_are_removed_later() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("init.gradle");
        let records = root.path().join("records");
        let mut placeholders = Placeholders::create(&[missing(&file, false)], &records).unwrap();
        placeholders.held.clear();
        assert!(file.exists());
        assert_eq!(remove_abandoned_placeholders(&records), 1);
        assert!(!file.exists());
    }
}
