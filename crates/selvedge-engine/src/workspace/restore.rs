//! Makes a workspace equal to a snapshot. The current files are stored first, so a restore can be undone. Files that no
//! snapshot covers are not changed, and links are never followed.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use selvedge_core::model::TreeId;

use super::Workspace;
use super::blobs::BlobReader;
use super::dir_handle::DirHandle;
use super::error::WorkspaceError;
use super::exclusions::{CACHE_TAG, ExcludedPath, ExclusionReason};
use super::fingerprint::FileFingerprint;
use super::import::FileKind;
use super::inventory::StoredEntry;
use super::obstacles::{blocks_target, check_obstacles};
use super::relative::RelativePath;
use super::shadow::{ShadowLock, ShadowRepository};
use super::snapshot::DetailedSnapshot;
use super::store::file_kind;
use super::survey::Survey;
use super::target::{RestoreTarget, TargetFile};

/// Owner permissions that are needed to work in a folder.
pub(super) const OWNER_ACCESS_BITS: u32 = 0o700;

/// Result of a restore.
#[derive(Debug, Clone)]
pub struct RestoreOutcome {
    /// Files and links that were written or whose mode was set, relative to the workspace.
    pub changed: Vec<PathBuf>,
    /// Files and links that were removed.
    pub removed: Vec<PathBuf>,
    /// A snapshot of the workspace before the restore, which is kept.
    pub backup_tree: TreeId,
}

/// A workspace that was made equal to a snapshot.
pub(super) struct EnsuredTree {
    /// The files before.
    pub(super) before: DetailedSnapshot,
    /// What was changed, if they differed.
    pub(super) restored: Option<RestoreOutcome>,
}

impl Workspace {
    /// Makes the workspace equal to a snapshot: restores everything that it covers, and removes covered files that it
    /// does not have. Caches, `.git` directories of nested repositories and everything else that snapshots exclude are
    /// not changed.
    ///
    /// # Errors
    /// The snapshot is unknown; something uncovered is in the way (then nothing was changed); or the file system
    /// rejects a change, in which case another restore continues.
    pub fn restore(&self, tree: &TreeId) -> Result<RestoreOutcome, WorkspaceError> {
        let lock = self.shadow.lock()?;
        let (restored, _) = self.restore_from(&lock, tree, None)?;
        Ok(restored)
    }

    /// Restores a snapshot, and returns also the one of the files before. `current` is that snapshot, which is otherwise
    /// taken.
    fn restore_from(
        &self,
        lock: &ShadowLock,
        tree: &TreeId,
        current: Option<DetailedSnapshot>,
    ) -> Result<(RestoreOutcome, DetailedSnapshot), WorkspaceError> {
        let mut blobs = BlobReader::new(&self.git, &self.shadow);
        let target = self.restore_target(tree, &mut blobs)?;
        // Back up everything that is overwritten, even if the rules exclude it.
        let is_covered = |current: &DetailedSnapshot| {
            let others = target.files.keys();
            let mut others = others.filter(|path| !current.files.contains_key(*path));
            others.all(|path| self.dir.join(&**path).symlink_metadata().is_err())
        };
        let current = if let Some(current) = current.filter(is_covered) {
            current
        } else {
            let always: HashSet<RelativePath> = target.files.keys().cloned().collect();
            self.take_snapshot(lock, "before a restore", &always, None)?
        };
        self.backup(lock, &current.tree)?;
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
        restore.remove_extraneous(lock)?;
        restore.apply_folder_permissions()?;
        let RestoreOperation {
            changed,
            removed,
            current,
            ..
        } = restore;
        let outcome = RestoreOutcome {
            changed,
            removed,
            backup_tree: current.tree.clone(),
        };
        Ok((outcome, current))
    }

    /// Makes the workspace equal to the snapshot if it differs, and returns whether it differed. Cheap if nothing has
    /// changed.
    ///
    /// # Errors
    /// Those of [`Workspace::snapshot`] and [`Workspace::restore`].
    pub fn ensure_tree(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let ensured = self.ensure_surveyed_tree(tree, None)?;
        Ok(ensured.restored.is_some())
    }

    /// Does the same, and returns what was found and changed. `survey` is a survey of the current files, which is
    /// otherwise made.
    pub(super) fn ensure_surveyed_tree(
        &self,
        tree: &TreeId,
        survey: Option<Survey>,
    ) -> Result<EnsuredTree, WorkspaceError> {
        let lock = self.shadow.lock()?;
        let current = self.take_snapshot(&lock, "before a restore", &HashSet::new(), survey)?;
        let (restored, before) = if current.tree == *tree {
            (None, current)
        } else {
            let (restored, before) = self.restore_from(&lock, tree, Some(current))?;
            (Some(restored), before)
        };
        Ok(EnsuredTree { before, restored })
    }

    fn backup(&self, lock: &ShadowLock, tree: &TreeId) -> Result<(), WorkspaceError> {
        if self.is_disposable {
            return Ok(());
        }
        self.shadow
            .set_ref(&self.git, lock, &ShadowRepository::backup_ref(tree), tree)
    }

    fn restore_error(&self, path: &Path, error: io::Error) -> WorkspaceError {
        WorkspaceError::io("restore", &self.dir.join(path), error)
    }
}

/// A running restore; its steps are in the order of the methods.
struct RestoreOperation<'a> {
    workspace: &'a Workspace,
    anchor: DirHandle,
    blobs: BlobReader,
    target: Arc<RestoreTarget>,
    current: DetailedSnapshot,
    changed: Vec<PathBuf>,
    removed: Vec<PathBuf>,
}

impl RestoreOperation<'_> {
    /// Gives the owner full access to restricted folders.
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
            let is_file_in_target = path
                .ancestors()
                .any(|above| self.target.files.contains_key(above.as_os_str()));
            if is_file_in_target {
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
        let RestoreTarget { files, .. } = &*self.target;
        let current = &self.current.files;
        let written = files.iter().filter(|(path, wanted)| {
            let current = current.get(*path);
            !current.is_some_and(|current| has_bytes(current, wanted))
        });
        let names = written.map(|(_, wanted)| wanted.blob.to_string()).collect();
        let requested = self.blobs.request_all(names);
        self.check_result(Path::new(""), requested)?;
        for (path, wanted) in &self.target.files {
            let current = self.current.files.get(path);
            if current.is_some_and(|current| has_bytes(current, wanted)) {
                if current.is_some_and(|current| has_permissions(current, wanted)) {
                    continue;
                }
                self.check_result(path, self.anchor.set_permissions(path, wanted.permissions))?;
            } else {
                let written = write(&self.anchor, &mut self.blobs, path, wanted, None);
                self.check_result(path, written)?;
            }
            self.changed.push(path.to_path_buf());
        }
        Ok(())
    }

    /// Removes covered files that the snapshot does not have. The ignore rules of the snapshot decide: what it excluded
    /// as ignored must be kept, even if it was not ignored just before. Therefore ignore files that the snapshot does
    /// not have are removed first, repeatedly; after that its own rules apply.
    fn remove_extraneous(&mut self, lock: &ShadowLock) -> Result<(), WorkspaceError> {
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
            self.backup_extraneous(lock, &extra)?;
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

    /// Backs up files that are about to be removed and that were hidden by rules that no longer apply.
    fn backup_extraneous(
        &mut self,
        lock: &ShadowLock,
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
            .extend_snapshot(lock, self.current.clone(), more)?;
        self.workspace.backup(lock, &self.current.tree)
    }

    /// Removes files that were backed up, and returns their number.
    fn remove_files(
        &mut self,
        files: BTreeMap<RelativePath, FileFingerprint>,
    ) -> Result<usize, WorkspaceError> {
        let before = self.removed.len();
        for (path, fingerprint) in files {
            // Invariant: only files that were backed up byte for byte are removed.
            if self
                .current
                .files
                .get(&path)
                .is_some_and(|stored| stored.fingerprint.has_same_bytes(&fingerprint))
            {
                self.check_result(&path, self.anchor.remove(&path))?;
                self.removed.push(path.into_path());
            }
        }
        Ok(self.removed.len() - before)
    }

    /// Removes empty folders that the snapshot does not have.
    fn remove_folders<'p>(
        &self,
        folders: impl DoubleEndedIterator<Item = &'p RelativePath>,
    ) -> Result<(), WorkspaceError> {
        for path in folders.rev() {
            self.check_result(path, self.anchor.remove_empty(path).map(drop))?;
        }
        Ok(())
    }

    /// Returns whether the workspace covers nothing besides the target's files and folders: it did not before, and
    /// nothing that was restored changes what is excluded.
    fn has_no_extraneous(&self) -> bool {
        let DetailedSnapshot {
            files,
            empty,
            excluded,
            ..
        } = &self.current;
        let has_rules = |path: &PathBuf| path.ends_with(".gitignore") || path.ends_with(CACHE_TAG);
        let has_same_rules = self.target.manifest.rules == self.workspace.rules()
            && !self.changed.iter().chain(&self.removed).any(has_rules);
        let stays_excluded = |it: &ExcludedPath| match it.reason {
            // Permissions and the number of ignored files have changed.
            ExclusionReason::Unreadable | ExclusionReason::IgnoredTooMuch => false,
            _ => has_same_rules,
        };
        excluded.iter().all(stays_excluded)
            && files
                .keys()
                .all(|path| self.target.files.contains_key(path))
            && empty
                .iter()
                .all(|path| self.target.folders.contains_key(path))
    }

    /// Sets the permission bits of all folders, the innermost first.
    fn apply_folder_permissions(&self) -> Result<(), WorkspaceError> {
        let RestoreTarget { files, folders, .. } = &*self.target;
        for (path, bits) in folders.iter().rev() {
            let is_current =
                |current_bits: &u32| current_bits == bits && !is_owner_restricted(*current_bits);
            if !self.current.folders.get(path).is_some_and(is_current) {
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
                // The folder still exists if something uncovered is in it; usually it does not.
                let _ = self.anchor.set_permissions(path, *bits);
            }
        }
        Ok(())
    }

    fn check_result(&self, path: &Path, result: io::Result<()>) -> Result<(), WorkspaceError> {
        result.map_err(|e| self.workspace.restore_error(path, e))
    }
}

/// Returns whether the owner cannot fully use a folder with these permission bits.
pub(super) fn is_owner_restricted(bits: u32) -> bool {
    bits & OWNER_ACCESS_BITS != OWNER_ACCESS_BITS
}

/// Returns whether a stored file equals a wanted one.
pub(super) fn is_stored_as(stored: &StoredEntry, wanted: &TargetFile) -> bool {
    has_bytes(stored, wanted) && has_permissions(stored, wanted)
}

fn has_bytes(stored: &StoredEntry, wanted: &TargetFile) -> bool {
    let is_link = |kind| kind == FileKind::Link;
    stored.blob == wanted.blob && is_link(file_kind(&stored.fingerprint)) == is_link(wanted.kind)
}

fn has_permissions(stored: &StoredEntry, wanted: &TargetFile) -> bool {
    wanted.kind == FileKind::Link || stored.fingerprint.permissions() == wanted.permissions
}

/// Writes a file or link of a snapshot. A file gets the modification time, if one is given.
pub(super) fn write(
    anchor: &DirHandle,
    blobs: &mut BlobReader,
    path: &Path,
    wanted: &TargetFile,
    modified: Option<SystemTime>,
) -> io::Result<()> {
    let blob = wanted.blob.to_string();
    if wanted.kind == FileKind::Link {
        let mut target = Vec::new();
        blobs.copy(&blob, &mut target)?;
        anchor.link(path, Path::new(&OsString::from_vec(target)))
    } else {
        anchor.write(path, wanted.permissions, |file| {
            blobs.copy(&blob, file)?;
            modified.map_or(Ok(()), |modified| file.set_modified(modified))
        })
    }
}
