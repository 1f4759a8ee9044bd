//! Which snapshots stay: those that have a name. Names are refs of the shadow directory.

use super::Workspace;
use super::error::WorkspaceError;
use super::git;
use super::ids::SnapshotId;
use super::shadow::{BACKUP_REFS, ShadowRepository};

impl Workspace {
    /// Keeps a snapshot under a name of plain parts, such as `RUN/3`; a name that is taken moves.
    ///
    /// # Errors
    /// The name cannot stand in a ref, or the snapshot is unknown.
    pub fn keep(&self, tree: &SnapshotId, name: &str) -> Result<(), WorkspaceError> {
        let reference = ShadowRepository::kept_ref(name)?;
        let held = self.shadow.lock()?;
        match self.shadow.set_ref(&self.git, &held, &reference, tree) {
            Err(WorkspaceError::Git { .. }) if !self.contains(tree)? => {
                Err(self.unknown_snapshot(tree))
            }
            other => other,
        }
    }

    /// The snapshot that was kept under a name.
    ///
    /// # Errors
    /// The name cannot stand in a ref, or git fails.
    pub fn kept_snapshot(&self, name: &str) -> Result<Option<SnapshotId>, WorkspaceError> {
        let reference = ShadowRepository::kept_ref(name)?;
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["for-each-ref", "--format=%(objectname)", &reference]);
        let answer = git::output_of(command, "look up a snapshot", place)?;
        let line = str::from_utf8(&answer).unwrap_or_default().lines().next();
        line.map(str::parse).transpose()
    }

    /// Whether the shadow directory has the snapshot.
    ///
    /// # Errors
    /// Git cannot be run.
    pub fn contains(&self, tree: &SnapshotId) -> Result<bool, WorkspaceError> {
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["cat-file", "-e", &format!("{tree}^{{tree}}")]);
        Ok(git::run(command, "look up a snapshot", place)?
            .status
            .success())
    }

    /// Drops the name and all names below it. The bytes go when [`Workspace::reclaim`] is called.
    ///
    /// # Errors
    /// The name cannot stand in a ref, or git fails.
    pub fn forget(&self, name: &str) -> Result<(), WorkspaceError> {
        self.forget_ref(&ShadowRepository::kept_ref(name)?)
    }

    /// Drops what restores kept back.
    ///
    /// # Errors
    /// Git fails.
    pub fn forget_backups(&self) -> Result<(), WorkspaceError> {
        self.forget_ref(BACKUP_REFS)
    }

    /// Packs what is kept and gives back the space of what is not.
    ///
    /// # Errors
    /// Git fails, or the disk is full.
    pub fn reclaim(&self) -> Result<(), WorkspaceError> {
        let _held = self.shadow.lock()?;
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["gc", "--quiet", "--prune=now"]);
        git::output_of(command, "pack the snapshots", place).map(drop)
    }

    pub(super) fn unknown_snapshot(&self, tree: &SnapshotId) -> WorkspaceError {
        let shadow = self.shadow.dir().to_owned();
        WorkspaceError::UnknownSnapshot {
            tree: tree.clone(),
            shadow,
        }
    }

    fn forget_ref(&self, reference: &str) -> Result<(), WorkspaceError> {
        let held = self.shadow.lock()?;
        let place = self.shadow.dir();
        let mut command = self.git.command(place, place);
        command.args(["for-each-ref", "--format=%(refname)", reference]);
        let answer = git::output_of(command, "list the snapshots", place)?;
        for name in String::from_utf8_lossy(&answer).lines() {
            self.shadow.break_stale_lock(&held, name);
            let mut command = self.git.command(place, place);
            command.args(["update-ref", "-d", name]);
            git::output_of(command, "forget a snapshot", place)?;
        }
        Ok(())
    }
}
