//! Keeps snapshots by name. Names are refs of the shadow directory.

use selvedge_core::model::TreeId;

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::shadow::{BACKUP_REFS, ShadowRepository};

impl Workspace {
    /// Keeps a snapshot under a name, such as `RUN/3`. An existing name is moved.
    ///
    /// # Errors
    /// The name is not allowed in a ref, or the snapshot is unknown.
    pub fn keep(&self, tree: &TreeId, name: &str) -> Result<(), WorkspaceError> {
        let reference = ShadowRepository::kept_ref(name)?;
        let lock = self.shadow.lock()?;
        match self.shadow.set_ref(&self.git, &lock, &reference, tree) {
            Err(WorkspaceError::Git { .. }) if !self.contains(tree)? => {
                Err(self.unknown_snapshot(tree))
            }
            other => other,
        }
    }

    /// Returns the snapshot that was kept under a name.
    ///
    /// # Errors
    /// The name is not allowed in a ref, or git fails.
    pub fn kept_snapshot(&self, name: &str) -> Result<Option<TreeId>, WorkspaceError> {
        let reference = ShadowRepository::kept_ref(name)?;
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["for-each-ref", "--format=%(objectname)", &reference]);
        let answer = git::output_of(command, "look up a snapshot", place)?;
        let line = str::from_utf8(&answer).unwrap_or_default().lines().next();
        let tree = line.map(str::parse::<TreeId>).transpose();
        tree.map_err(WorkspaceError::from)
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

    /// Removes a name and all names below it. The space is freed by [`Workspace::reclaim`].
    ///
    /// # Errors
    /// The name is not allowed in a ref, or git fails.
    pub fn forget(&self, name: &str) -> Result<(), WorkspaceError> {
        self.forget_ref(&ShadowRepository::kept_ref(name)?)
    }

    /// Removes the backups that restores made.
    ///
    /// # Errors
    /// Git fails.
    pub fn forget_backups(&self) -> Result<(), WorkspaceError> {
        self.forget_ref(BACKUP_REFS)
    }

    /// Packs the snapshots that are kept and frees the space of all others.
    ///
    /// # Errors
    /// Git fails, or the disk is full.
    pub fn reclaim(&self) -> Result<(), WorkspaceError> {
        let _lock = self.shadow.lock()?;
        self.trees.clear();
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["gc", "--quiet", "--prune=now"]);
        git::output_of(command, "pack the snapshots", place).map(drop)
    }

    pub(super) fn unknown_snapshot(&self, tree: &TreeId) -> WorkspaceError {
        let shadow = self.shadow.dir().to_owned();
        WorkspaceError::UnknownSnapshot {
            tree: tree.clone(),
            shadow,
        }
    }

    fn forget_ref(&self, reference: &str) -> Result<(), WorkspaceError> {
        let lock = self.shadow.lock()?;
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["for-each-ref", "--format=%(refname)", reference]);
        let answer = git::output_of(command, "list the snapshots", place)?;
        for name in String::from_utf8_lossy(&answer).lines() {
            self.shadow.break_stale_lock(&lock, name);
            let mut command = self.git.command(place, place);
            command.args(["update-ref", "-d", name]);
            git::output_of(command, "delete a snapshot", place)?;
        }
        Ok(())
    }
}
