//! Taking a snapshot: survey, read what changed since the last one, store it. What did not change is
//! neither read nor sent to git.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::Workspace;
use super::coverage::{LeftOut, LeftOuts, Rules};
use super::error::WorkspaceError;
use super::ids::{BlobId, TreeId};
use super::inventory::{Inventory, Stored};
use super::relative::Relative;
use super::shadow::{Held, LATEST, Shadow};
use super::store::Store;
use super::survey::Survey;

/// A workspace's bytes at one moment.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// Its identity, and the way back to it.
    pub tree: TreeId,
    /// What it does not cover.
    pub left_out: LeftOuts,
    /// Folders (or files in them) of installed tools and dependencies, which it does not cover either.
    pub tool_folders: Vec<PathBuf>,
    /// How many files and links it covers.
    pub files: usize,
    /// How long it took.
    pub duration: Duration,
}

/// A snapshot with all that was learnt on the way.
#[derive(Debug, Clone)]
pub(super) struct Taken {
    pub(super) tree: TreeId,
    pub(super) manifest: BlobId,
    pub(super) files: BTreeMap<Relative, Stored>,
    /// Every folder walked, with its permission bits.
    pub(super) folders: BTreeMap<Relative, u32>,
    /// The folders among them that hold nothing at all.
    pub(super) empty: BTreeSet<Relative>,
    pub(super) left_out: Vec<LeftOut>,
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
        self.snapshot_named(name, Some(&Shadow::kept_ref(name)?))
    }

    fn snapshot_named(
        &self,
        label: &str,
        reference: Option<&str>,
    ) -> Result<Snapshot, WorkspaceError> {
        let begun = Instant::now();
        let held = self.shadow.hold()?;
        let taken = self.take(&held, label, &HashSet::new())?;
        if let Some(reference) = reference {
            self.shadow.name_stored(&held, reference, &taken.tree)?;
        }
        Ok(Snapshot {
            tree: taken.tree,
            tool_folders: self.tool_folders_in(&taken.left_out),
            left_out: LeftOuts::of(taken.left_out),
            files: taken.files.len(),
            duration: begun.elapsed(),
        })
    }

    /// Takes a snapshot that covers the paths in `always` whatever the rules say of them.
    pub(super) fn take(
        &self,
        held: &Held,
        label: &str,
        always: &HashSet<Relative>,
    ) -> Result<Taken, WorkspaceError> {
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
        held: &Held,
        label: &str,
        always: &HashSet<Relative>,
        last: Option<Inventory>,
    ) -> Result<Taken, WorkspaceError> {
        let survey = self.survey(self.rules(), always)?;
        self.shadow.break_stale_lock(held, LATEST);
        let mut store = Store::new(self, label, last)?;
        store.remove_all_but(&survey)?;
        store.add(survey, self.rules())
    }

    /// The same snapshot with more in it, as that is now.
    pub(super) fn take_more(
        &self,
        held: &Held,
        taken: Taken,
        more: Survey,
    ) -> Result<Taken, WorkspaceError> {
        self.shadow.break_stale_lock(held, LATEST);
        let Taken {
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
        let store = Store::new(self, "before a restore, and more", Some(last))?;
        store.add_to(taken, more, self.rules())
    }

    /// The rules the workspace's own snapshots are taken by.
    pub(super) fn rules(&self) -> Rules {
        if self.is_git() {
            Rules::Repository
        } else {
            Rules::Folder
        }
    }
}
