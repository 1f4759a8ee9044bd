//! Selects where checks run: in a verification room, if it can be mounted at the workspace's path for everything that
//! a check can reach; otherwise in the workspace itself.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use selvedge_core::model::TreeId;

use super::trees::{VerificationTrees, run_blocking};
use super::written_files::FilesBeforeChecks;
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::process::Supervisor;
use crate::sandbox::{VerificationRoomMounts, WorkspaceSandbox};
use crate::workspace::{
    ExcludedPath, JudgedTree, Snapshot, VerificationRoom, VerificationRoomMount, Workspace,
};

/// Name of the room's folder in the run's directory.
const FOLDER: &str = "room";

/// The verification room of a run, once there is one.
#[derive(Debug, Clone, Default)]
pub struct VerificationRoomSlot(Arc<Mutex<SlotState>>);

#[derive(Debug, Default)]
struct SlotState {
    room: Option<VerificationRoom>,
    /// The paths that the last snapshot of the workspace does not cover, if nothing has changed the workspace since.
    excluded: Option<Vec<ExcludedPath>>,
}

/// A verification room in which checks can be started.
#[derive(Debug, Clone)]
pub struct OpenVerificationRoom {
    pub(super) verification_room: VerificationRoom,
    checks: Supervisor,
    sandbox: WorkspaceSandbox,
}

impl VerificationRoomSlot {
    /// Notes a snapshot of the workspace, so that the next room is opened without another survey.
    pub fn note_snapshot(&self, snapshot: &Snapshot) {
        self.0.lock().excluded = Some(snapshot.all_excluded.clone());
    }

    /// Forgets the snapshot, because the workspace may change.
    pub(crate) fn forget_snapshot(&self) {
        self.0.lock().excluded = None;
    }

    /// Whether there is a room.
    pub(crate) fn is_filled(&self) -> bool {
        self.0.lock().room.is_some()
    }

    /// Removes the verification room of a finished run, or of other checks that ran in it. Blocks.
    pub fn remove(&self, origin: &Workspace, run_dir: &Path) {
        let room = self.0.lock().room.take();
        // A room that could not keep its build output is removed, too.
        let _ = room.map(|room| room.wait());
        // If this fails, `selvedge gc` removes it.
        let _ = VerificationRoom::remove(origin, &run_dir.join(FOLDER));
    }

    /// Opens the verification room of a run; returns `None` if nothing can be mounted. `start` is the tree that the
    /// run began from, and `is_untouched` states whether no agent has run since.
    ///
    /// # Errors
    /// The disk is full, or the snapshot is missing.
    pub async fn open(
        &self,
        origin: &Workspace,
        start: &TreeId,
        is_untouched: bool,
        run_dir: &Path,
        checks: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<Option<OpenVerificationRoom>, CheckError> {
        let Some(sandbox) = checks.sandbox().filter(|sandbox| sandbox.can_mount()) else {
            return Ok(None);
        };
        let (earlier, excluded) = {
            let mut state = self.0.lock();
            (state.room.clone(), state.excluded.take())
        };
        let folder = run_dir.join(FOLDER);
        if earlier.is_none() && !folder.exists() {
            progress.on_activity(Activity::Note("preparing the verification room".to_owned()));
        }
        sandbox.search_paths_ahead();
        let (start, places) = (start.clone(), sandbox.clone());
        let open = move |origin: &Workspace| {
            VerificationRoom::open(
                origin,
                &folder,
                &start,
                is_untouched,
                excluded,
                places.result_caches(),
                earlier.as_ref(),
            )
        };
        let room = run_blocking(origin, "cannot prepare the verification room", open).await?;
        self.0.lock().room.clone_from(&room);
        Ok(room.map(|room| OpenVerificationRoom {
            verification_room: room,
            checks: checks.clone(),
            sandbox: sandbox.clone(),
        }))
    }
}

/// The directory in a run's verification room that takes the place of the repository's root.
pub fn verification_room_root(run_dir: &Path) -> PathBuf {
    VerificationRoom::root(&run_dir.join(FOLDER))
}

impl OpenVerificationRoom {
    /// Supervisor that starts checks in the room.
    pub(crate) fn supervisor(&self) -> Supervisor {
        self.supervisor_with(self.verification_room.mounts())
    }

    /// From now on, copies the tool folders that checks could not write although they had to, instead of mounting them.
    /// Returns whether it does so for the first time: then the checks have to run again.
    pub(super) async fn copy_tools(
        &self,
        denied: BTreeSet<PathBuf>,
        progress: &dyn Progress,
    ) -> Result<bool, CheckError> {
        if denied.is_empty() {
            return Ok(false);
        }
        let room = self.verification_room.clone();
        let copy = move |_: &Workspace| room.copy_tools(&denied);
        let what = "cannot copy installed tools";
        let copied = run_blocking(self.verification_room.workspace(), what, copy).await?;
        if !copied.is_empty() {
            progress.on_activity(Activity::Note(format!(
                "running the checks with a copy of {}, because they write to it",
                copied.join(", ")
            )));
        }
        Ok(!copied.is_empty())
    }

    /// Replaces the copied tool folders by new copies. Entering a tree does so, too.
    pub(super) async fn refresh_copied_tools(&self) -> Result<(), CheckError> {
        let room = self.verification_room.clone();
        let refresh = move |_: &Workspace| room.refresh_copied_tools();
        let what = "cannot copy installed tools";
        run_blocking(self.verification_room.workspace(), what, refresh).await
    }

    /// Supervisor that starts a setup in the room, without the workspace's installed tools.
    pub(super) fn installer(&self) -> Supervisor {
        self.supervisor_with(self.verification_room.mounts_without_tools())
    }

    /// Opens another room with a tree, in which a setup can run.
    pub(super) async fn open_beside(&self, tree: &TreeId) -> Result<Option<Self>, CheckError> {
        let (room, tree) = (self.verification_room.clone(), tree.clone());
        let open = move |_: &Workspace| room.open_beside(&tree);
        let what = "cannot prepare another verification room";
        let opened = run_blocking(self.verification_room.workspace(), what, open).await?;
        Ok(opened.map(|verification_room| Self {
            verification_room,
            checks: self.checks.clone(),
            sandbox: self.sandbox.clone(),
        }))
    }

    /// Removes such a room.
    pub(super) async fn discard(self) -> Result<(), CheckError> {
        let workspace = self.verification_room.workspace().clone();
        let discard = move |_: &Workspace| self.verification_room.discard();
        run_blocking(
            &workspace,
            "cannot remove another verification room",
            discard,
        )
        .await
    }

    /// The folder that contains the workspace's files.
    pub(crate) fn tree(&self) -> &Path {
        self.verification_room.tree()
    }

    /// Changes trees to those of the room.
    pub(crate) fn retarget_trees(&self, trees: &mut VerificationTrees) {
        trees.workspace = self.verification_room.workspace().clone();
        trees.verification_room = Some(self.verification_room.clone());
    }

    fn supervisor_with(&self, mounts: Vec<VerificationRoomMount>) -> Supervisor {
        let mounts = VerificationRoomMounts {
            tree: self.verification_room.tree().to_owned(),
            mounts,
        };
        self.checks
            .clone()
            .with_sandbox(Some(self.sandbox.with_verification_room(mounts)))
    }
}

/// A room with the files of an attempt.
#[derive(Debug)]
pub(super) struct EnteredRoom {
    /// The ignored files that the attempt created or changed, which are absent.
    pub(super) absent: Vec<PathBuf>,
    /// The room's files, if they are known.
    pub(super) files: Option<FilesBeforeChecks>,
}

impl VerificationTrees {
    /// Changes `trees` to those of the room, where the judged tree is the attempt's without the ignored files that it
    /// created or changed.
    pub(super) async fn enter_verification_room(
        &mut self,
        room: &VerificationRoom,
    ) -> Result<EnteredRoom, CheckError> {
        let (start, judged, entered) = (self.start.clone(), self.judged.clone(), room.clone());
        let enter = move |_: &Workspace| {
            entered.forget_entered_tree();
            entered.enter_without_ignored(&start, &judged)
        };
        let what = "cannot copy the attempt's files into the verification room";
        let JudgedTree {
            tree,
            absent,
            files,
        } = run_blocking(&self.workspace, what, enter).await?;
        self.judged = tree;
        self.workspace = room.workspace().clone();
        self.verification_room = Some(room.clone());
        Ok(EnteredRoom {
            absent,
            files: files.map(|files| FilesBeforeChecks::new(&self.workspace, files)),
        })
    }
}
