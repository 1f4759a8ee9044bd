//! Copies a complete workspace into another folder, and imports snapshots that were taken in a copy.
//!
//! The copy has everything, including ignored files and the `.git` directory, because checks need what is built and
//! installed in a workspace. It has its own shadow directory. Trees have the same id in both, because an id is a hash
//! of the bytes.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use selvedge_core::model::TreeId;

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::tree_copy::TreeCopy;

const DOING: &str = "copy the workspace";
const IMPORTING: &str = "import a snapshot";

impl Workspace {
    /// Returns whether a copy of the folder would be an independent repository: its `.git` is a directory in it, not a
    /// link to a directory elsewhere or above it.
    pub fn is_self_contained(&self) -> bool {
        let records = self.dir.join(".git");
        self.repository_root() == Some(&self.dir) && records.is_dir() && !records.is_symlink()
    }

    /// Copies the whole folder to `to`, which must not exist yet, preserving modes, times and links.
    ///
    /// # Errors
    /// The disk is full, or something cannot be read.
    pub fn copy_to(&self, to: &Path) -> Result<(), WorkspaceError> {
        let to_error = |e| WorkspaceError::io(DOING, to, e);
        let parent = to.parent().unwrap_or(to);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(to_error)?;
        let mut copy = TreeCopy::default();
        copy.copy(&self.dir, to)?;
        copy.finish()
    }

    /// Imports a snapshot from another workspace and keeps it.
    ///
    /// # Errors
    /// The other workspace does not have the snapshot, or the disk is full.
    pub fn import_snapshot(&self, other: &Self, tree: &TreeId) -> Result<(), WorkspaceError> {
        let (own_dir, other_dir) = (self.shadow.dir(), other.shadow.dir());
        let lock = self.shadow.lock()?;
        let mut packing = other.git.command(other_dir, other_dir);
        packing.args(["rev-list", "--objects", "--no-object-names", tree.as_str()]);
        let names = git::output_of(packing, IMPORTING, other_dir)?;
        let mut packing = other.git.command(other_dir, other_dir);
        packing.args(["pack-objects", "--quiet", "--stdout"]);
        let pack = git::output_with_input(packing, names, IMPORTING, other_dir)?;
        let mut unpacking = self.git.command(own_dir, own_dir);
        unpacking.args(["unpack-objects", "-q"]);
        git::output_with_input(unpacking, pack, IMPORTING, own_dir)?;
        let ref_name = super::shadow::ShadowRepository::kept_ref(&format!("adopted/{tree}"))?;
        self.shadow
            .set_ref(&self.git, &lock, &ref_name, tree)
            .map_err(|e| match e {
                WorkspaceError::Git { .. } => other.unknown_snapshot(tree),
                e => e,
            })
    }
}
