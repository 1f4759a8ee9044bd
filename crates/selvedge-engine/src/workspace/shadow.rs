//! The shadow git directory: laid out by hand, so that no template, setting or old version of git has
//! a say in it, and readable by its owner only, because ignored files may hold secrets. It keeps
//! objects, a ref for each kept snapshot, and the inventory of the last one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::ids::SnapshotId;
use super::repository::ObjectFormat;

/// The ref that holds the last snapshot, so that the next one can build on it.
pub(super) const LATEST_REF: &str = "refs/latest/snapshot";
/// Refs of what restores replaced.
pub(super) const BACKUP_REFS: &str = "refs/replaced";
/// Refs of what callers keep.
const KEPT_REFS: &str = "refs/selvedge";

/// A git directory of our own.
#[derive(Debug, Clone)]
pub(super) struct ShadowRepository {
    dir: PathBuf,
}

/// Holding this is what allows writing to the shadow directory.
pub(super) struct ShadowLock(#[expect(dead_code, reason = "dropping it unlocks")] File);

impl ShadowRepository {
    /// Lays out what is missing under `dir`, which must lie outside `workspace` (canonical).
    pub(super) fn open(dir: &Path, workspace: &Path) -> Result<Self, WorkspaceError> {
        make_dir(dir)?;
        let dir = fs::canonicalize(dir).map_err(|e| WorkspaceError::io("find", dir, e))?;
        if dir.starts_with(workspace) {
            return Err(WorkspaceError::StateInsideWorkspace {
                shadow: dir,
                dir: workspace.to_owned(),
            });
        }
        init_git_dir(&dir, ObjectFormat::Sha256)?;
        let shadow = Self { dir };
        init_git_dir(&shadow.reader(ObjectFormat::Sha1), ObjectFormat::Sha1)?;
        init_git_dir(&shadow.reader(ObjectFormat::Sha256), ObjectFormat::Sha256)?;
        Ok(shadow)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// An empty git directory that reads another repository's index, which is laid out by its format.
    pub(super) fn reader(&self, format: ObjectFormat) -> PathBuf {
        self.dir.join(match format {
            ObjectFormat::Sha1 => "reader-sha1",
            ObjectFormat::Sha256 => "reader-sha256",
        })
    }

    pub(super) fn inventory(&self) -> PathBuf {
        self.dir.join("inventory")
    }

    /// Waits until nobody else writes here.
    pub(super) fn lock(&self) -> Result<ShadowLock, WorkspaceError> {
        let path = self.dir.join("writer.lock");
        let locked = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .and_then(|file| file.lock().map(|()| file));
        locked
            .map(ShadowLock)
            .map_err(|e| WorkspaceError::io("lock", &path, e))
    }

    /// Removes the lock that git leaves on a ref when it is killed. Whoever holds the directory is the
    /// only writer, so a lock that is there belongs to nobody.
    pub(super) fn break_stale_lock(&self, _held: &ShadowLock, reference: &str) {
        // A lock that is not there, the usual case, is no error; one that stays makes git say so.
        let _ = fs::remove_file(self.dir.join(format!("{reference}.lock")));
    }

    /// Points `reference` at a tree.
    pub(super) fn set_ref(
        &self,
        git: &GitProgram,
        held: &ShadowLock,
        reference: &str,
        tree: &SnapshotId,
    ) -> Result<(), WorkspaceError> {
        self.break_stale_lock(held, reference);
        let mut command = git.command(&self.dir, &self.dir);
        command.args(["update-ref", reference, tree.as_str()]);
        git::output_of(command, "keep a snapshot", &self.dir).map(drop)
    }

    /// Points `reference` at a tree that was stored under the same hold, so that nobody need be asked whether
    /// it is there. A ref is a file with a line in it; it is written where git would lock it, and then named.
    pub(super) fn name_stored(
        &self,
        held: &ShadowLock,
        reference: &str,
        tree: &SnapshotId,
    ) -> Result<(), WorkspaceError> {
        self.break_stale_lock(held, reference);
        let path = self.dir.join(reference);
        make_dir(path.parent().unwrap_or(&self.dir))?;
        let new = self.dir.join(format!("{reference}.lock"));
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&new)
            .and_then(|mut file| writeln!(file, "{tree}"))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|e| WorkspaceError::io("write", &path, e))
    }

    pub(super) fn backup_ref(tree: &SnapshotId) -> String {
        format!("{BACKUP_REFS}/{tree}")
    }

    pub(super) fn kept_ref(name: &str) -> Result<String, WorkspaceError> {
        let part_is_plain = |part: &str| {
            !part.is_empty()
                && !part.starts_with(['.', '-'])
                && !part.ends_with('.')
                && !part.contains("..")
                && Path::new(part)
                    .extension()
                    .is_none_or(|extension| extension != "lock")
                && part
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
        };
        if name.split('/').all(part_is_plain) {
            Ok(format!("{KEPT_REFS}/{name}"))
        } else {
            Err(WorkspaceError::InvalidName {
                name: name.to_owned(),
            })
        }
    }
}

/// Makes `dir` a git directory without a work tree. Doing it again changes nothing.
pub(crate) fn init_git_dir(dir: &Path, format: ObjectFormat) -> Result<(), WorkspaceError> {
    for part in ["", "objects", "refs"] {
        make_dir(&dir.join(part))?;
    }
    let (version, extension) = match format {
        ObjectFormat::Sha1 => (0, ""),
        ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectformat = sha256\n"),
    };
    let config =
        format!("[core]\n\trepositoryformatversion = {version}\n\tbare = true\n{extension}");
    write_if_missing(&dir.join("config"), config.as_bytes())?;
    write_if_missing(&dir.join("HEAD"), b"ref: refs/heads/none\n")
}

fn make_dir(dir: &Path) -> Result<(), WorkspaceError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
        .map_err(|e| WorkspaceError::io("make the folder", dir, e))
}

fn write_if_missing(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    if path.exists() {
        Ok(())
    } else {
        write_atomically(path, bytes)
    }
}

/// Writes a file so that it is there whole or not at all, even after a crash.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let broken = |e| WorkspaceError::io("write", path, e);
    let new = path.with_extension("new");
    match fs::remove_file(&new) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(broken(e)),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&new)
        .map_err(broken)?;
    file.write_all(bytes)
        .and_then(|()| fs::rename(&new, path))
        .map_err(broken)
}
