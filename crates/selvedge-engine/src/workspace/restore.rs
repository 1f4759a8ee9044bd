//! Making the workspace equal to a snapshot. The bytes it holds now are stored and kept first, so a
//! restore can always be undone; what no snapshot covers is left alone; no link is ever followed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use super::Workspace;
use super::blobs::BlobReader;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::fingerprint::FileFingerprint;
use super::ids::SnapshotId;
use super::import::FileKind;
use super::inventory::StoredEntry;
use super::obstacles::{blocks_target, check_obstacles};
use super::relative::RelativePath;
use super::shadow::{ShadowLock, ShadowRepository};
use super::snapshot::DetailedSnapshot;
use super::store::file_kind;
use super::survey::Survey;
use super::target::{RestoreTarget, TargetFile};

/// The owner's bits that working in a folder takes.
const OWNER_ACCESS_BITS: u32 = 0o700;

/// What a restore did.
#[derive(Debug, Clone)]
pub struct RestoreOutcome {
    /// Files and links that were written or had their mode set, relative to the workspace.
    pub changed: Vec<PathBuf>,
    /// Files and links that were removed.
    pub removed: Vec<PathBuf>,
    /// A snapshot of what the workspace held before, kept until [`Workspace::forget_backups`].
    pub backup_tree: SnapshotId,
}

impl Workspace {
    /// Makes the workspace equal to the snapshot: everything it covers is put back, and files that
    /// snapshots cover and this one does not hold are removed. Caches, nested repositories' records
    /// and whatever else snapshots leave out stay as they are.
    ///
    /// # Errors
    /// The snapshot is unknown; something uncovered is in the way (nothing was changed then); or the
    /// file system refuses, in which case doing it again continues.
    pub fn restore(&self, tree: &SnapshotId) -> Result<RestoreOutcome, WorkspaceError> {
        let held = self.shadow.lock()?;
        let mut blobs = BlobReader::open(&self.git, &self.shadow)?;
        let target = self.restore_target(tree, &mut blobs)?;
        // Whatever is overwritten must be kept back, even what the rules would leave out.
        let always: HashSet<RelativePath> = target.files.keys().cloned().collect();
        let current = self.take_snapshot(&held, "before a restore", &always)?;
        self.backup(&held, &current.tree)?;
        check_obstacles(&self.dir, &current, &target)?;

        let anchor =
            DirHandle::open_root(&self.dir).map_err(|e| self.restore_error(Path::new(""), e))?;
        let mut restore = RestoreOperation {
            workspace: self,
            anchor,
            blobs,
            target,
            current,
            changed: Vec::new(),
            removed: Vec::new(),
        };
        restore.make_folders_writable()?;
        restore.remove_conflicts()?;
        restore.make_folders()?;
        restore.write_files()?;
        restore.remove_extraneous(&held)?;
        restore.apply_folder_permissions()?;
        let RestoreOperation {
            changed,
            removed,
            current,
            ..
        } = restore;
        Ok(RestoreOutcome {
            changed,
            removed,
            backup_tree: current.tree,
        })
    }

    /// Makes the workspace equal to the snapshot if it is not; says whether it was not. Cheap where
    /// nothing changed.
    ///
    /// # Errors
    /// Those of [`Workspace::snapshot`] and [`Workspace::restore`].
    pub fn ensure_tree(&self, tree: &SnapshotId) -> Result<bool, WorkspaceError> {
        let now = self.snapshot("before settling")?;
        if now.tree == *tree {
            return Ok(false);
        }
        self.restore(tree)?;
        Ok(true)
    }

    fn backup(&self, held: &ShadowLock, tree: &SnapshotId) -> Result<(), WorkspaceError> {
        self.shadow
            .set_ref(&self.git, held, &ShadowRepository::backup_ref(tree), tree)
    }

    fn restore_error(&self, path: &Path, error: io::Error) -> WorkspaceError {
        WorkspaceError::io("restore", &self.dir.join(path), error)
    }
}

/// A restore under way; its steps come in the order of the methods.
struct RestoreOperation<'a> {
    workspace: &'a Workspace,
    anchor: DirHandle,
    blobs: BlobReader,
    target: RestoreTarget,
    current: DetailedSnapshot,
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

impl RestoreOperation<'_> {
    /// Lets the owner work in folders that are read-only.
    fn make_folders_writable(&self) -> Result<(), WorkspaceError> {
        for (path, bits) in self
            .current
            .folders
            .iter()
            .filter(|(_, bits)| is_owner_restricted(**bits))
        {
            self.check_result(
                path,
                self.anchor.set_permissions(path, bits | OWNER_ACCESS_BITS),
            )?;
        }
        Ok(())
    }

    fn remove_conflicts(&mut self) -> Result<(), WorkspaceError> {
        for path in self
            .current
            .files
            .keys()
            .filter(|path| blocks_target(path, &self.target))
        {
            self.check_result(path, self.anchor.remove(path))?;
            self.removed.push(path.to_path_buf());
        }
        for path in self.current.folders.keys().rev() {
            let file_comes = path
                .ancestors()
                .any(|above| self.target.files.contains_key(above.as_os_str()));
            if file_comes {
                self.check_result(path, self.anchor.remove_empty(path).map(drop))?;
            }
        }
        Ok(())
    }

    fn make_folders(&self) -> Result<(), WorkspaceError> {
        let missing = self
            .target
            .folders
            .keys()
            .filter(|path| !self.current.folders.contains_key(*path));
        for path in missing {
            self.check_result(path, self.anchor.make_folder(path))?;
        }
        Ok(())
    }

    fn write_files(&mut self) -> Result<(), WorkspaceError> {
        for (path, wanted) in &self.target.files {
            let there = self.current.files.get(path);
            if there.is_some_and(|there| has_bytes(there, wanted)) {
                if there.is_some_and(|there| has_permissions(there, wanted)) {
                    continue;
                }
                self.check_result(path, self.anchor.set_permissions(path, wanted.permissions))?;
            } else {
                let written = write(&self.anchor, &mut self.blobs, path, wanted);
                self.check_result(path, written)?;
            }
            self.changed.push(path.to_path_buf());
        }
        Ok(())
    }

    /// Removes what the snapshot would have covered and does not hold. The rules that count are those
    /// of the snapshot: what it left out because it was ignored must stay, even if it was not ignored
    /// a moment ago. So ignore files that it does not hold go first, for as long as there are any;
    /// then the rules in force are its own.
    fn remove_extraneous(&mut self, held: &ShadowLock) -> Result<(), WorkspaceError> {
        if self.has_no_extraneous() {
            return Ok(());
        }
        loop {
            let mut extra = self
                .workspace
                .survey(self.target.manifest.rules, &HashSet::new())?;
            extra
                .files
                .retain(|path, _| !self.target.files.contains_key(path));
            extra
                .folders
                .retain(|path, _| !self.target.folders.contains_key(path));
            extra.empty.retain(|path| extra.folders.contains_key(path));
            self.backup_extraneous(held, &extra)?;
            let (rules, others): (BTreeMap<_, _>, _) = extra
                .files
                .into_iter()
                .partition(|(path, _)| path.ends_with(".gitignore"));
            if self.remove_files(rules)? == 0 {
                self.remove_files(others)?;
                return self.remove_folders(extra.folders.keys());
            }
        }
    }

    /// Keeps back what is to be removed and was hidden by rules that are no longer in force.
    fn backup_extraneous(
        &mut self,
        held: &ShadowLock,
        extra: &Survey,
    ) -> Result<(), WorkspaceError> {
        let DetailedSnapshot { files, folders, .. } = &self.current;
        let mut more = extra.clone();
        more.files.retain(|path, _| !files.contains_key(path));
        more.folders.retain(|path, _| !folders.contains_key(path));
        more.empty.retain(|path| more.folders.contains_key(path));
        if more.files.is_empty() && more.empty.is_empty() {
            return Ok(());
        }
        self.current = self
            .workspace
            .extend_snapshot(held, self.current.clone(), more)?;
        self.workspace.backup(held, &self.current.tree)
    }

    /// Removes files that were kept back, and says how many.
    fn remove_files(
        &mut self,
        files: BTreeMap<RelativePath, FileFingerprint>,
    ) -> Result<usize, WorkspaceError> {
        let before = self.removed.len();
        for (path, print) in files {
            // Invariant: nothing is removed but what was kept back, byte for byte.
            if self
                .current
                .files
                .get(&path)
                .is_some_and(|kept| kept.fingerprint.has_same_bytes(&print))
            {
                self.check_result(&path, self.anchor.remove(&path))?;
                self.removed.push(path.into_path());
            }
        }
        Ok(self.removed.len() - before)
    }

    /// Removes folders that the snapshot does not hold, once they are empty.
    fn remove_folders<'p>(
        &self,
        folders: impl DoubleEndedIterator<Item = &'p RelativePath>,
    ) -> Result<(), WorkspaceError> {
        for path in folders.rev() {
            self.check_result(path, self.anchor.remove_empty(path).map(drop))?;
        }
        Ok(())
    }

    /// Whether there is nothing in the workspace that the snapshot may not have.
    fn has_no_extraneous(&self) -> bool {
        let DetailedSnapshot {
            files,
            empty,
            excluded: left_out,
            ..
        } = &self.current;
        left_out.is_empty()
            && files
                .keys()
                .all(|path| self.target.files.contains_key(path))
            && empty
                .iter()
                .all(|path| self.target.folders.contains_key(path))
    }

    /// Gives every folder the bits it is to have, the innermost first.
    fn apply_folder_permissions(&self) -> Result<(), WorkspaceError> {
        let RestoreTarget { files, folders, .. } = &self.target;
        for (path, bits) in folders.iter().rev() {
            let is_right = |was: &u32| was == bits && !is_owner_restricted(*was);
            if !self.current.folders.get(path).is_some_and(is_right) {
                self.check_result(path, self.anchor.set_permissions(path, *bits))?;
            }
        }
        for (path, bits) in self
            .current
            .folders
            .iter()
            .rev()
            .filter(|(_, bits)| is_owner_restricted(**bits))
        {
            if !folders.contains_key(path) && !files.contains_key(path) {
                // It stays if something uncovered is in it; mostly it is gone.
                let _ = self.anchor.set_permissions(path, *bits);
            }
        }
        Ok(())
    }

    fn check_result(&self, path: &Path, result: io::Result<()>) -> Result<(), WorkspaceError> {
        result.map_err(|e| self.workspace.restore_error(path, e))
    }
}

fn is_owner_restricted(bits: u32) -> bool {
    bits & OWNER_ACCESS_BITS != OWNER_ACCESS_BITS
}

fn has_bytes(there: &StoredEntry, wanted: &TargetFile) -> bool {
    let is_link = |kind| kind == FileKind::Link;
    there.blob == wanted.blob && is_link(file_kind(&there.fingerprint)) == is_link(wanted.kind)
}

fn has_permissions(there: &StoredEntry, wanted: &TargetFile) -> bool {
    wanted.kind == FileKind::Link || there.fingerprint.permissions() == wanted.permissions
}

pub(super) fn write(
    anchor: &DirHandle,
    blobs: &mut BlobReader,
    path: &Path,
    wanted: &TargetFile,
) -> io::Result<()> {
    let blob = wanted.blob.to_string();
    if wanted.kind == FileKind::Link {
        let mut target = Vec::new();
        blobs.copy(&blob, &mut target)?;
        anchor.link(path, Path::new(&OsString::from_vec(target)))
    } else {
        anchor.write(path, wanted.permissions, |file| blobs.copy(&blob, file))
    }
}
