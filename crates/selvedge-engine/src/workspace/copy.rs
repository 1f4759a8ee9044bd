//! A whole copy of a workspace to work in beside it, and the way back of what was made there.
//!
//! The copy has everything, ignored files and the repository's own records included: what is built and
//! installed in a workspace is what its checks need. It is another folder with another shadow directory;
//! trees have the same name in both, for a name is a hash of the bytes.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::process::{Command, Stdio};

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::ids::SnapshotId;

const DOING: &str = "copy the workspace";
const IMPORTING: &str = "take over a snapshot";

impl Workspace {
    /// Whether a copy of the folder would be a repository of its own: its records are a folder in it, not
    /// a link to where another work tree has them, or above it.
    pub fn is_self_contained(&self) -> bool {
        let records = self.dir.join(".git");
        self.repository_root() == Some(&self.dir) && records.is_dir() && !records.is_symlink()
    }

    /// Copies the whole folder to `to`, which must not be there yet: modes, times and links as they are.
    ///
    /// # Errors
    /// The disk is full, or something cannot be read.
    pub fn copy_to(&self, to: &Path) -> Result<(), WorkspaceError> {
        let broken = |e| WorkspaceError::io(DOING, to, e);
        let parent = to.parent().unwrap_or(to);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(parent)
            .map_err(broken)?;
        // The system's own program knows how to share blocks where the file system can.
        let mut command = Command::new("cp");
        command
            .arg("-a")
            .arg("--")
            .arg(&self.dir)
            .arg(to)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let output = command.output().map_err(broken)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().next().unwrap_or("cp failed").to_owned();
        Err(broken(std::io::Error::other(why)))
    }

    /// Takes over a snapshot that another workspace has, and keeps it.
    ///
    /// # Errors
    /// The other one does not have it, or the disk is full.
    pub fn import_snapshot(&self, other: &Self, tree: &SnapshotId) -> Result<(), WorkspaceError> {
        let (here, there) = (self.shadow.dir(), other.shadow.dir());
        let held = self.shadow.lock()?;
        let mut packing = other.git.command(there, there);
        packing.args(["rev-list", "--objects", "--no-object-names", tree.as_str()]);
        let names = git::output_of(packing, IMPORTING, there)?;
        let mut packing = other.git.command(there, there);
        packing.args(["pack-objects", "--quiet", "--stdout"]);
        let pack = git::output_with_input(packing, names, IMPORTING, there)?;
        let mut unpacking = self.git.command(here, here);
        unpacking.args(["unpack-objects", "-q"]);
        git::output_with_input(unpacking, pack, IMPORTING, here)?;
        let kept = super::shadow::ShadowRepository::kept_ref(&format!("adopted/{tree}"))?;
        self.shadow
            .set_ref(&self.git, &held, &kept, tree)
            .map_err(|e| match e {
                WorkspaceError::Git { .. } => other.unknown_snapshot(tree),
                e => e,
            })
    }
}
