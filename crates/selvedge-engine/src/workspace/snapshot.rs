//! Taking a snapshot: survey, read what changed since the last one, store it. What did not change is
//! neither read nor sent to git.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Workspace;
use super::error::WorkspaceError;
use super::exclusions::{CacheRules, ExcludedPath, ExcludedPaths};
use super::ids::{BlobId, SnapshotId};
use super::inventory::{Inventory, StoredEntry};
use super::relative::RelativePath;
use super::shadow::{LATEST_REF, ShadowLock, ShadowRepository};
use super::store::SnapshotWriter;
use super::survey::Survey;

/// A workspace's bytes at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its identity, and the way back to it.
    pub tree: SnapshotId,
    /// What it does not cover.
    pub excluded: ExcludedPaths,
    /// Folders (or files in them) of installed tools and dependencies, which it does not cover either.
    pub tool_folders: Vec<PathBuf>,
    /// How many files and links it covers.
    pub files: usize,
    /// How long it took.
    pub duration: Duration,
}

/// A snapshot with all that was learnt on the way.
#[derive(Debug, Clone)]
pub(super) struct DetailedSnapshot {
    pub(super) tree: SnapshotId,
    pub(super) manifest: BlobId,
    pub(super) files: BTreeMap<RelativePath, StoredEntry>,
    /// Every folder walked, with its permission bits.
    pub(super) folders: BTreeMap<RelativePath, u32>,
    /// The folders among them that hold nothing at all.
    pub(super) empty: BTreeSet<RelativePath>,
    pub(super) excluded: Vec<ExcludedPath>,
}

impl Workspace {
    /// Stores what the workspace holds now. `label` is a word for people who look into the shadow
    /// directory with git.
    ///
    /// A snapshot is sure to stay while it is the last one, and as long as it is kept
    /// ([`Workspace::keep`]).
    ///
    /// # Errors
    /// Git fails, the disk is full, or a large file changes while it is read.
    pub fn snapshot(&self, label: &str) -> Result<Snapshot, WorkspaceError> {
        self.snapshot_named(label, None)
    }

    /// The same, kept under `name` as by [`Workspace::keep`], in one go.
    ///
    /// # Errors
    /// As [`Workspace::snapshot`], or the name cannot stand in a ref.
    pub fn snapshot_kept(&self, name: &str) -> Result<Snapshot, WorkspaceError> {
        self.snapshot_named(name, Some(&ShadowRepository::kept_ref(name)?))
    }

    fn snapshot_named(
        &self,
        label: &str,
        reference: Option<&str>,
    ) -> Result<Snapshot, WorkspaceError> {
        let begun = Instant::now();
        let held = self.shadow.lock()?;
        let taken = self.take_snapshot(&held, label, &HashSet::new())?;
        if let Some(reference) = reference {
            self.shadow.name_stored(&held, reference, &taken.tree)?;
        }
        Ok(Snapshot {
            tree: taken.tree,
            tool_folders: self.tool_folders_in(&taken.excluded),
            excluded: ExcludedPaths::new(taken.excluded),
            files: taken.files.len(),
            duration: begun.elapsed(),
        })
    }

    /// Takes a snapshot that covers the paths in `always` whatever the rules say of them.
    pub(super) fn take_snapshot(
        &self,
        held: &ShadowLock,
        label: &str,
        always: &HashSet<RelativePath>,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let last = Inventory::load(&self.shadow.inventory());
        if last.is_none() {
            return self.take_since(held, label, always, None);
        }
        match self.take_since(held, label, always, last) {
            // The last snapshot's objects may be gone; then everything is stored again.
            Err(WorkspaceError::Git { .. }) => self.take_since(held, label, always, None),
            other => other,
        }
    }

    fn take_since(
        &self,
        held: &ShadowLock,
        label: &str,
        always: &HashSet<RelativePath>,
        last: Option<Inventory>,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        let survey = self.survey(self.rules(), always)?;
        self.shadow.break_stale_lock(held, LATEST_REF);
        let mut store = SnapshotWriter::new(self, label, last)?;
        store.remove_all_but(&survey)?;
        store.store(survey, self.rules())
    }

    /// The same snapshot with more in it, as that is now.
    pub(super) fn extend_snapshot(
        &self,
        held: &ShadowLock,
        taken: DetailedSnapshot,
        more: Survey,
    ) -> Result<DetailedSnapshot, WorkspaceError> {
        self.shadow.break_stale_lock(held, LATEST_REF);
        let DetailedSnapshot {
            tree,
            manifest,
            files,
            ..
        } = &taken;
        let last = Inventory {
            tree: tree.clone(),
            manifest: *manifest,
            files: files.clone(),
        };
        let store = SnapshotWriter::new(self, "before a restore, and more", Some(last))?;
        store.extend(taken, more, self.rules())
    }

    /// The rules the workspace's own snapshots are taken by.
    pub(super) fn rules(&self) -> CacheRules {
        if self.is_git() {
            CacheRules::Repository
        } else {
            CacheRules::Folder
        }
    }
}
