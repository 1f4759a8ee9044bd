//! The shadow git directory. It is created without git, so that no template, setting or old version of git affects it.
//! Only its owner can read it, because ignored files may contain secrets. It contains objects, a ref for each kept
//! snapshot, and the inventory of the last one.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use selvedge_core::model::TreeId;

use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::repository::ObjectFormat;

/// Ref of the last snapshot, which the next one is based on.
pub(super) const LATEST_REF: &str = "refs/latest/snapshot";
/// Prefix of the refs of backups that restores make.
const BACKUP_REFS: &str = "refs/replaced";
/// Prefix of the refs of kept snapshots.
const KEPT_REFS: &str = "refs/selvedge";

/// Maximum number of packs: git opens all of them whenever it starts, about 0.03 ms each.
const MAX_PACKS: usize = 40;

/// The git directory of a workspace's snapshots.
#[derive(Debug, Clone)]
pub(super) struct ShadowRepository {
    dir: PathBuf,
}

/// Permission to write to the shadow directory.
pub(super) struct ShadowLock(#[expect(dead_code, reason = "dropping it unlocks")] File);

impl ShadowRepository {
    /// Creates what is missing in `dir`, which must be outside `workspace` (canonical).
    pub(super) fn open(dir: &Path, workspace: &Path) -> Result<Self, WorkspaceError> {
        make_dir(dir)?;
        let dir = fs::canonicalize(dir).map_err(|e| WorkspaceError::io("find", dir, e))?;
        if dir.starts_with(workspace) {
            return Err(WorkspaceError::StateInsideWorkspace {
                shadow: dir,
                dir: workspace.to_owned(),
            });
        }
        let shadow = Self { dir };
        let git_dirs = [
            (shadow.dir.clone(), ObjectFormat::Sha256),
            (shadow.reader(ObjectFormat::Sha1), ObjectFormat::Sha1),
            (shadow.reader(ObjectFormat::Sha256), ObjectFormat::Sha256),
        ];
        if git_dirs.iter().any(|(dir, _)| !is_git_dir(dir)) {
            // Two processes may open a new workspace at once.
            let _lock = shadow.lock()?;
            for (dir, format) in git_dirs {
                init_git_dir(&dir, format)?;
            }
        }
        Ok(shadow)
    }

    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Returns an empty git directory for reading another repository's index, whose layout depends on its object
    /// format.
    pub(super) fn reader(&self, format: ObjectFormat) -> PathBuf {
        self.dir.join(match format {
            ObjectFormat::Sha1 => "reader-sha1",
            ObjectFormat::Sha256 => "reader-sha256",
        })
    }

    pub(super) fn inventory(&self) -> PathBuf {
        self.dir.join("inventory")
    }

    /// Waits for exclusive write access.
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

    /// Removes the lock file that git leaves on a ref when it is killed. The holder of `ShadowLock` is the only writer,
    /// so an existing lock file is stale.
    pub(super) fn break_stale_lock(&self, _lock: &ShadowLock, reference: &str) {
        // Usually there is no lock file. If it cannot be removed, git reports it.
        let _ = fs::remove_file(self.dir.join(format!("{reference}.lock")));
    }

    /// Combines small packs if there are many: each snapshot adds one. No object is lost, whether or not a ref needs it,
    /// and a process that reads a removed pack finds its objects in the new one. If it fails, the packs remain.
    pub(super) fn combine_packs(&self, git: &GitProgram, _lock: &ShadowLock) {
        let entries = fs::read_dir(self.dir.join("objects/pack")).into_iter();
        let names = entries.flatten().flatten().map(|entry| entry.file_name());
        let packs = names.filter(|name| Path::new(name).extension() == Some("pack".as_ref()));
        if packs.count() > MAX_PACKS {
            let mut command = git.command(&self.dir, &self.dir);
            command.args(["repack", "-d", "-n", "-q", "--geometric=2", "--window=0"]);
            let _ = git::output_of(command, "combine snapshots", &self.dir);
        }
    }

    /// Points a ref at a tree.
    pub(super) fn set_ref(
        &self,
        git: &GitProgram,
        lock: &ShadowLock,
        reference: &str,
        tree: &TreeId,
    ) -> Result<(), WorkspaceError> {
        self.break_stale_lock(lock, reference);
        let mut command = git.command(&self.dir, &self.dir);
        command.args(["update-ref", reference, tree.as_str()]);
        git::output_of(command, "store a snapshot", &self.dir).map(drop)
    }

    /// Points a ref at a tree that was stored under the same lock, so that git need not verify that it exists. A ref is
    /// a file with one line; it is written to git's lock file and renamed.
    pub(super) fn name_stored(
        &self,
        lock: &ShadowLock,
        reference: &str,
        tree: &TreeId,
    ) -> Result<(), WorkspaceError> {
        self.break_stale_lock(lock, reference);
        let path = self.dir.join(reference);
        make_dir(path.parent().unwrap_or(&self.dir))?;
        let lock_file = self.dir.join(format!("{reference}.lock"));
        OpenOptions::new()
            .create_new(true)
            .write(true)
            .mode(0o600)
            .open(&lock_file)
            .and_then(|mut file| writeln!(file, "{tree}"))
            .and_then(|()| fs::rename(&lock_file, &path))
            .map_err(|e| WorkspaceError::io("write", &path, e))
    }

    pub(super) fn backup_ref(tree: &TreeId) -> String {
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

/// Whether nothing is missing that `init_git_dir` creates.
fn is_git_dir(dir: &Path) -> bool {
    let mut parts = ["objects", "refs", "config", "HEAD"].iter();
    parts.all(|part| dir.join(part).exists())
}

/// Makes `dir` a bare git directory. Calling it again changes nothing.
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
        .map_err(|e| WorkspaceError::io("create the folder", dir, e))
}

fn write_if_missing(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    if path.exists() {
        Ok(())
    } else {
        write_atomically(path, bytes)
    }
}

/// Writes a file atomically, even if the process crashes.
pub(super) fn write_atomically(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    let to_error = |e| WorkspaceError::io("write", path, e);
    let temporary = path.with_extension("new");
    match fs::remove_file(&temporary) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(to_error(e)),
        _ => {}
    }
    let mut file = OpenOptions::new()
        .create_new(true)
        .write(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(to_error)?;
    file.write_all(bytes)
        .and_then(|()| fs::rename(&temporary, path))
        .map_err(to_error)
}
