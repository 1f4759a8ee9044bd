//! A temporary copy of the repository, in which proposed checks run, so that they leave no files behind.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use tempfile::TempDir;

use crate::local::StateDir;

/// A larger repository is not copied.
const MAX_FILES: usize = 200_000;
const MAX_BYTES: u64 = 2 << 30;

/// A copy, deleted when it is dropped.
pub(super) struct TrialCopy {
    _parent: TempDir,
    dir: PathBuf,
}

impl TrialCopy {
    /// Copies the repository that contains `dir`, or only `dir` outside of git. `None` if it is too large, shares its
    /// `.git` with another work tree, or cannot be copied.
    pub(super) fn create(home: &StateDir, dir: &Path) -> Option<Self> {
        let workspace = home.open_workspace(dir).ok()?;
        let root = workspace.repository_root().unwrap_or(dir);
        let whole = home.open_workspace(root).ok()?;
        if workspace.is_git() && !whole.is_self_contained() || !is_small(root) {
            return None;
        }
        let parent = tempfile::tempdir().ok()?;
        // Some tools name a project after its directory.
        let copy = parent.path().canonicalize().ok()?.join(root.file_name()?);
        whole.copy_to(&copy).ok()?;
        let dir = copy.join(dir.strip_prefix(root).ok()?);
        Some(Self {
            _parent: parent,
            dir,
        })
    }

    /// The directory that corresponds to the one that was given.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }
}

fn is_small(root: &Path) -> bool {
    let mut bytes = 0;
    let entries = WalkBuilder::new(root).standard_filters(false).build();
    for (count, entry) in entries.flatten().enumerate() {
        bytes += entry.metadata().map_or(0, |metadata| metadata.len());
        if count >= MAX_FILES || bytes > MAX_BYTES {
            return false;
        }
    }
    true
}
