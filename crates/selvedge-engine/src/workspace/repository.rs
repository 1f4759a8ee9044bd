//! Finds the user's repository by searching a folder and its ancestors for `.git`. Its files are located to be read as
//! data (ignore rules, the list of tracked files); git does not have to trust them, and nothing writes to them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum size of a pointer file, which is one line.
const POINTER_LIMIT: u64 = 8 * 1024;
/// Maximum size of a repository's settings.
const SETTINGS_LIMIT: u64 = 1024 * 1024;

/// Hash function of a repository's objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ObjectFormat {
    Sha1,
    Sha256,
}

/// A repository with a work tree.
#[derive(Debug, Clone)]
pub(crate) struct Repository {
    root: PathBuf,
    git_dir: PathBuf,
}

impl Repository {
    /// Returns the innermost repository whose work tree contains `dir`.
    pub(crate) fn containing(dir: &Path) -> Option<Self> {
        dir.ancestors().find_map(Self::at)
    }

    /// Returns the repository whose work tree has the root `root`.
    pub(super) fn at(root: &Path) -> Option<Self> {
        let entry = root.join(".git");
        let kind = fs::metadata(&entry).ok()?;
        let git_dir = if kind.is_dir() {
            entry
        } else {
            pointed_to(&entry, b"gitdir: ", root)?
        };
        let is_complete = fs::symlink_metadata(git_dir.join("HEAD")).is_ok();
        is_complete.then(|| Self {
            root: root.to_owned(),
            git_dir,
        })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the git directory: `.git`, or the target of the `.git` file.
    pub(super) fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Returns the git directory that linked work trees share.
    pub(crate) fn common_git_dir(&self) -> PathBuf {
        pointed_to(&self.git_dir.join("commondir"), b"", &self.git_dir)
            .unwrap_or_else(|| self.git_dir.clone())
    }

    pub(crate) fn objects(&self) -> PathBuf {
        self.common_git_dir().join("objects")
    }

    /// Returns the format of object ids, which determines the format of the index. Only a single line of the settings
    /// is searched for; a wrong value only corrupts the repository's own list of tracked files.
    pub(super) fn object_format(&self) -> ObjectFormat {
        let settings = plain_file(self.common_git_dir().join("config"));
        let settings = settings.and_then(|file| read_start(&file, SETTINGS_LIMIT));
        let is_sha256 = |line: &[u8]| {
            let line = line.to_ascii_lowercase();
            line.trim_ascii().starts_with(b"objectformat") && line.trim_ascii().ends_with(b"sha256")
        };
        let settings = settings.unwrap_or_default();
        if settings.split(|byte| *byte == b'\n').any(is_sha256) {
            ObjectFormat::Sha256
        } else {
            ObjectFormat::Sha1
        }
    }

    /// Returns the index, which lists the tracked files, if it exists.
    pub(super) fn index(&self) -> Option<PathBuf> {
        plain_file(self.git_dir.join("index"))
    }

    /// Returns the file of ignore rules outside of the work tree, if it exists.
    pub(super) fn excludes(&self) -> Option<PathBuf> {
        plain_file(self.common_git_dir().join("info/exclude"))
    }
}

/// Returns the path if it is a plain file; opening a pipe would block.
pub(super) fn plain_file(path: PathBuf) -> Option<PathBuf> {
    fs::metadata(&path)
        .is_ok_and(|m| m.is_file())
        .then_some(path)
}

/// Returns the folder that a one-line file names after `prefix`, relative to `base`.
fn pointed_to(file: &Path, prefix: &[u8], base: &Path) -> Option<PathBuf> {
    let line = read_start(&plain_file(file.to_owned())?, POINTER_LIMIT)?;
    let target = line.strip_prefix(prefix)?.trim_ascii_end();
    let target = base.join(OsStr::from_bytes(target));
    target.is_dir().then_some(target)
}

fn read_start(file: &Path, limit: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(file)
        .ok()?
        .take(limit)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
