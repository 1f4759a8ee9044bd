//! Takes a snapshot: surveys the workspace, reads what has changed since the last snapshot, and stores it. Unchanged
//! files are neither read nor sent to git.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use selvedge_core::model::TreeId;

use super::Workspace;
use super::error::WorkspaceError;
use super::exclusions::{CacheRules, ExcludedPath, ExcludedPaths};
use super::git;
use super::ids::BlobId;
use super::inventory::{Inventory, StoredEntry};
use super::relative::RelativePath;
use super::shadow::{LATEST_REF, ShadowLock, ShadowRepository};
use super::store::SnapshotWriter;
use super::survey::Survey;
use crate::parallel;

/// The files of a workspace at a moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its id, which can be restored.
    pub tree: TreeId,
    /// Paths that it does not cover.
    pub excluded: ExcludedPaths,
    /// All of these paths.
    pub(crate) all_excluded: Vec<ExcludedPath>,
    /// Number of files and links that it covers.
    pub files: usize,
    /// How long taking it took.
    pub duration: Duration,
}

/// A snapshot with everything that was found while taking it.
#[derive(Debug, Clone)]
pub(super) struct DetailedSnapshot {
    pub(super) tree: TreeId,
    pub(super) manifest: BlobId,
    pub(super) files: BTreeMap<RelativePath, StoredEntry>,
    /// All folders that were walked, with their permission bits.
    pub(super) folders: BTreeMap<RelativePath, u32>,
    /// The empty ones among the folders.
    pub(super) empty: BTreeSet<RelativePath>,
    pub(super) excluded: Vec<ExcludedPath>,
    /// See [`Survey::unignored`].
    pub(super) unignored: Option<HashSet<RelativePath>>,
}

impl Workspace {
    /// Stores the current files. `label` is a description for people who examine the shadow directory with git.
    ///
    /// A snapshot exists at least as long as it is the last one or is kept ([`Workspace::snapshot_kept`]).
    ///
    /// # Errors
    /// Git fails, the disk is full, or a large file changes while it is read.
    pub fn snapshot(&self, label: &str) -> Result<Snapshot, WorkspaceError> {
        let (snapshot, ()) = self.snapshot_named(label, None, |_| ())?;
        Ok(snapshot)
    }

    /// Takes a snapshot and keeps it under a name, such as `RUN/3`. An existing name is moved.
    ///
    /// # Errors
    /// Those of [`Workspace::snapshot`], or the name is not allowed in a ref.
    pub fn snapshot_kept(&self, name: &str) -> Result<Snapshot, WorkspaceError> {
        let (snapshot, ()) = self.snapshot_kept_beside(name, |_| ())?;
        Ok(snapshot)
    }

    /// Takes a snapshot and keeps it. Meanwhile, `beside` is called with the tool folders, of which a snapshot covers
    /// nothing.
    pub(crate) fn snapshot_kept_beside<T: Send>(
        &self,
        name: &str,
        beside: impl Fn(&[PathBuf]) -> T + Sync,
    ) -> Result<(Snapshot, T), WorkspaceError> {
        self.snapshot_named(name, Some(&ShadowRepository::kept_ref(name)?), beside)
    }

    fn snapshot_named<T: Send>(
        &self,
        label: &str,
        reference: Option<&str>,
        beside: impl Fn(&[PathBuf]) -> T + Sync,
    ) -> Result<(Snapshot, T), WorkspaceError> {
        let start = Instant::now();
        let lock = self.shadow.lock()?;
        self.shadow.combine_packs(&self.git, &lock);
        let survey = self.survey(self.rules(), &HashSet::new())?;
        let tool_folders = self.tool_folders_in(&survey.excluded);
        let (result, snapshot) = parallel::join(
            || beside(&tool_folders),
            || self.take_snapshot(&lock, label, &HashSet::new(), Some(survey)),
        );
        let snapshot = snapshot?;
        if let Some(reference) = reference {
            self.shadow.name_stored(&lock, reference, &snapshot.tree)?;
        }
        let snapshot = Snapshot {
            tree: snapshot.tree,
            excluded: ExcludedPaths::new(snapshot.excluded.clone()),
            all_excluded: snapshot.excluded,
            files: snapshot.files.len(),
            duration: start.elapsed(),
        };
        Ok((snapshot, result))
    }

    /// Takes a snapshot that covers the paths in `always` regardless of the rules. `survey` is a survey with the same
    /// paths if nothing has changed since.
    pub(super) fn take_snapshot(
        &self,
        lock: &ShadowLock,
        label: &str,
        always: &HashSet<RelativePath>,
        survey: Option<Survey>,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let last = Inventory::load(&self.shadow.inventory());
        let is_first = last.is_none();
        let take = |survey: Option<Survey>, last| {
            let survey = survey.map_or_else(|| self.survey(self.rules(), always), Ok)?;
            self.take_since(lock, label, survey, last)
        };
        match take(survey, last) {
            // The last snapshot's objects may have been removed; then everything is stored again.
            Err(WorkspaceError::Git { .. }) if !is_first => take(None, None),
            other => other,
        }
    }

    fn take_since(
        &self,
        lock: &ShadowLock,
        label: &str,
        survey: Survey,
        last: Option<Inventory>,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        self.shadow.break_stale_lock(lock, LATEST_REF);
        let mut store = SnapshotWriter::new(self, label, last)?;
        store.remove_all_but(&survey)?;
        store.store(survey, self.rules())
    }

    /// Extends a snapshot with the current files and folders of `more`.
    pub(super) fn extend_snapshot(
        &self,
        lock: &ShadowLock,
        snapshot: DetailedSnapshot,
        more: Survey,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        self.shadow.break_stale_lock(lock, LATEST_REF);
        let DetailedSnapshot {
            tree,
            manifest,
            files,
            ..
        } = &snapshot;
        let last = Inventory {
            tree: tree.clone(),
            manifest: *manifest,
            files: files.clone(),
        };
        let store = SnapshotWriter::new(self, "before a restore, and more", Some(last))?;
        store.extend(snapshot, more, self.rules())
    }

    /// Returns the rules by which snapshots of the workspace are taken.
    pub(super) fn rules(&self) -> CacheRules {
        if self.is_git() {
            CacheRules::Repository
        } else {
            CacheRules::Folder
        }
    }

    /// Returns whether the shadow directory has the snapshot.
    ///
    /// # Errors
    /// Git cannot be run.
    pub fn contains(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["cat-file", "-e", &format!("{tree}^{{tree}}")]);
        Ok(git::run(command, "look up a snapshot", place)?
            .status
            .success())
    }

    pub(super) fn unknown_snapshot(&self, tree: &TreeId) -> WorkspaceError {
        let shadow = self.shadow.dir().to_owned();
        WorkspaceError::UnknownSnapshot {
            tree: tree.clone(),
            shadow,
        }
    }
}
