//! Where checks run: in a verification room, if it can be mounted at the workspace's path for all that a check can
//! reach, and else in the workspace itself.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use selvedge_core::model::TreeId;

use super::trees::{Trees, blocking, stored};
use crate::activity::{Activity, Progress};
use crate::checks::CheckAborted;
use crate::process::Supervisor;
use crate::sandbox::{RoomMounts, Walls};
use crate::workspace::{Room, RoomMount, Workspace};

/// What the room's folder is called in a run's own.
const FOLDER: &str = "room";

/// The room of a run, once there is one.
#[derive(Debug, Clone, Default)]
pub struct Rooms(Arc<Mutex<Option<Room>>>);

/// A room that checks can be started in.
#[derive(Debug, Clone)]
pub struct OpenRoom {
    pub(super) room: Room,
    checks: Supervisor,
    walls: Walls,
}

impl Rooms {
    /// Opens the room of a run; none where nothing can be mounted. `start` is the tree that the run began from, and
    /// `is_untouched` whether no agent has run since.
    ///
    /// # Errors
    /// The disk is full, or the snapshot is gone.
    pub(crate) async fn open(
        &self,
        origin: &Workspace,
        start: &TreeId,
        is_untouched: bool,
        run_dir: &Path,
        checks: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<Option<OpenRoom>, CheckAborted> {
        let Some(walls) = checks.walls().filter(|walls| walls.can_mount()) else {
            return Ok(None);
        };
        let earlier = self.slot().clone();
        let folder = run_dir.join(FOLDER);
        if earlier.is_none() && !folder.exists() {
            progress.activity(Activity::Note("preparing the verification room".to_owned()));
        }
        let (start, places) = (start.clone(), walls.clone());
        let open = move |origin: &Workspace| {
            let (start, caches) = (stored(&start)?, places.result_caches());
            Room::open(
                origin,
                &folder,
                &start,
                is_untouched,
                caches,
                earlier.as_ref(),
            )
        };
        let room = blocking(origin, "cannot prepare the room for the checks", open).await?;
        self.slot().clone_from(&room);
        Ok(room.map(|room| OpenRoom {
            room,
            checks: checks.clone(),
            walls: walls.clone(),
        }))
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Room>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the room of a run that is over.
pub(crate) fn remove_room(origin: &Workspace, run_dir: &Path) {
    // What stays is removed by `selvedge gc`.
    let _ = Room::remove(origin, &run_dir.join(FOLDER));
}

impl OpenRoom {
    /// Starts checks in the room.
    pub(crate) fn supervisor(&self) -> Supervisor {
        self.supervisor_with(self.room.mounts())
    }

    /// Starts a setup in the room, which installs tools where there are none.
    pub(super) fn installer(&self) -> Supervisor {
        self.supervisor_with(self.room.mounts_without_tools())
    }

    /// The folder where the files of the workspace lie.
    pub(crate) fn tree(&self) -> &Path {
        self.room.tree()
    }

    /// Makes trees those of the room.
    pub(crate) fn go_to(&self, trees: &mut Trees) {
        trees.workspace = self.room.workspace().clone();
        trees.room = Some(self.room.clone());
    }

    fn supervisor_with(&self, mounts: Vec<RoomMount>) -> Supervisor {
        let mounts = RoomMounts {
            tree: self.room.tree().to_owned(),
            mounts,
        };
        self.checks.clone().within(Some(self.walls.in_room(mounts)))
    }
}

impl Trees {
    /// Goes to a room: the tree that is judged there is the attempt's without the ignored files that it made or
    /// changed. Gives their paths.
    pub(super) async fn enter(&mut self, room: &Room) -> Result<Vec<PathBuf>, CheckAborted> {
        let (start, judged, entered) = (self.start.clone(), self.judged.clone(), room.clone());
        let enter = move |_: &Workspace| {
            entered.leave();
            entered.enter_without_ignored(&stored(&start)?, &stored(&judged)?)
        };
        let what = "cannot put the attempt's tree into the room for the checks";
        let (judged, absent) = blocking(&self.workspace, what, enter).await?;
        self.judged = TreeId::new(judged.as_str());
        self.workspace = room.workspace().clone();
        self.room = Some(room.clone());
        Ok(absent)
    }
}
