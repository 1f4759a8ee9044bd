//! The verification room: a copy of a workspace that no agent can write, in which checks run. It is mounted at the
//! workspace's path, so absolute paths stay valid.
//!
//! Files come from snapshots. Folders of installed tools are those of the workspace, mounted read-only. Build output
//! stays in the room, also what tools keep outside of the workspace, and every tree begins with the output that was kept
//! before the agent began: no run of the checks reads what another one wrote.
//!
//! Code that runs in the room is hostile and may leave anything in it, links included. So the room is only written to
//! once a snapshot has been restored, by paths whose folders are then known to be folders.

mod build_output;
mod files;
mod git_dir;
mod kept_folder;
mod mounts;
mod other_folder;
mod results;

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::files::{make_folder, remove_all};
use self::git_dir::{copy_git_dir, refresh_git_dir};
use self::kept_folder::FileFingerprints;
use self::mounts::{MOUNT_MARKER, MountedPlaces};
use super::Workspace;
use super::error::WorkspaceError;
use super::ids::SnapshotId;

pub(crate) use self::mounts::VerificationRoomMount;
pub(crate) use self::results::ResultCache;

const DOING: &str = "prepare the verification room";

/// The file in a room that began with committed files alone.
const COMMITTED_MARKER: &str = "committed";
/// The file next to a workspace's snapshots that exists once an agent has worked in it.
const AGENT_MARKER: &str = "agents";

/// One room. Clones are the same room.
#[derive(Debug, Clone)]
pub(crate) struct VerificationRoom {
    origin: Workspace,
    snapshots: Workspace,
    folder: PathBuf,
    mounted: MountedPlaces,
    result_caches: Vec<ResultCache>,
    state: Arc<Mutex<VerificationRoomState>>,
}

#[derive(Debug, Default)]
struct VerificationRoomState {
    /// The tree that the checks last ran on.
    entered: Option<SnapshotId>,
    /// Folders of tools that were installed in the room.
    installed: BTreeSet<PathBuf>,
    /// What was kept of build output, and of result caches.
    build_output: FileFingerprints,
    results: FileFingerprints,
}

impl VerificationRoom {
    /// Opens the room in `folder`, and fills it with the tree `start` if it is new. If no agent has run since that tree
    /// was kept (`is_untouched`), the workspace's build output is copied.
    ///
    /// None if there are more places to mount than fit. `earlier` is the same room as it was opened before.
    pub(crate) fn open(
        origin: &Workspace,
        folder: &Path,
        start: &SnapshotId,
        is_untouched: bool,
        result_caches: Vec<ResultCache>,
        earlier: Option<&Self>,
    ) -> Result<Option<Self>, WorkspaceError> {
        let ready = folder.join("ready");
        let is_new = !ready.exists();
        if is_new {
            remove_all(folder)?;
            make_folder(folder)?;
        }
        let left_out = origin.survey(origin.rules(), &HashSet::new())?.excluded;
        if is_new && is_untouched {
            mounts::record_ignored(origin, &left_out, folder)?;
        }
        let Some(shown) = MountedPlaces::find(origin, &left_out, folder) else {
            return Ok(None);
        };
        let root = folder.join("root");
        let tree = match origin.repository_root() {
            Some(above) => root.join(origin.dir.strip_prefix(above).unwrap_or(Path::new(""))),
            None => root.clone(),
        };
        if is_new {
            make_folder(&tree)?;
            copy_git_dir(origin, folder)?;
            refresh_git_dir(origin, folder)?;
        }
        let inside = origin.for_other_folder(&tree, &root, &folder.join("shadow"))?;
        let room = Self {
            origin: origin.clone(),
            snapshots: inside,
            folder: folder.to_owned(),
            mounted: shown,
            result_caches,
            state: match earlier {
                Some(earlier) if !is_new => Arc::clone(&earlier.state),
                _ => Arc::default(),
            },
        };
        if is_new {
            // It is seen as the workspace's own folder.
            let mode = fs::metadata(&origin.dir).map(|data| data.permissions());
            mode.and_then(|mode| fs::set_permissions(&room.snapshots.dir, mode))
                .map_err(|error| WorkspaceError::io(DOING, &room.snapshots.dir, error))?;
            room.snapshots.write_snapshot(start)?;
            if is_untouched {
                room.take_build_output(&left_out, &mut room.state())?;
            }
            if origin.status().is_ok_and(|dirty| dirty.files.is_empty()) {
                let committed = folder.join(COMMITTED_MARKER);
                fs::write(&committed, "").map_err(|e| WorkspaceError::io(DOING, &committed, e))?;
            }
            room.state().entered = Some(start.clone());
            fs::write(&ready, "").map_err(|error| WorkspaceError::io(DOING, &ready, error))?;
        }
        room.make_result_caches(&mut room.state())?;
        room.mounted
            .create_mount_points(&room.origin, room.tree(), folder)?;
        Ok(Some(room))
    }

    /// The snapshots of the room's files.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.snapshots
    }

    /// The folder of the workspace that it is a copy of.
    pub(crate) fn origin(&self) -> &Path {
        &self.origin.dir
    }

    /// The folder that is mounted at the workspace's path.
    pub(crate) fn tree(&self) -> &Path {
        &self.snapshots.dir
    }

    /// Everything that is mounted in the room. Tools that were installed in the room itself hide those of the
    /// workspace.
    pub(crate) fn mounts(&self) -> Vec<VerificationRoomMount> {
        let installed = self.state().installed.clone();
        self.mounts_except(&installed)
    }

    /// The same without any installed tools of the workspace.
    pub(crate) fn mounts_without_tools(&self) -> Vec<VerificationRoomMount> {
        self.mounts_except(&self.mounted.tools())
    }

    fn mounts_except(&self, hidden: &BTreeSet<PathBuf>) -> Vec<VerificationRoomMount> {
        let mut mounts = self.mounted.mounts(&self.origin, &self.folder, hidden);
        mounts.extend(self.result_mounts());
        mounts
    }

    /// Keeps what tools have built in the room until now, for every tree to begin with.
    pub(crate) fn keep_built(&self) -> Result<(), WorkspaceError> {
        let mut state = self.state();
        self.keep_build_output(&mut state)?;
        self.keep_results(&mut state)
    }

    /// Forgets what was installed in the room, which is removed when the next tree is entered.
    pub(crate) fn forget_installed(&self) {
        self.state().installed.clear();
    }

    /// Finds the folders of tools that a setup has made in the room. They stay while this attempt is verified.
    pub(crate) fn note_installed(&self) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        let survey = self
            .snapshots
            .survey(self.snapshots.rules(), &HashSet::new())?;
        let has_more = |path: &PathBuf| {
            let entries = fs::read_dir(self.tree().join(path)).into_iter().flatten();
            let mut names = entries.flatten().map(|entry| entry.file_name());
            names.any(|name| name != MOUNT_MARKER)
        };
        let tools = self.snapshots.tool_folders_in(&survey.excluded).into_iter();
        let installed: BTreeSet<PathBuf> = tools.filter(has_more).collect();
        self.state().installed.clone_from(&installed);
        Ok(installed)
    }

    /// Makes the room equal to a tree; returns whether it differed. Unless the checks last ran on the same tree, nothing
    /// that they wrote is left: build output is what was kept, and the repository's own folder is a fresh copy.
    pub(crate) fn enter(&self, tree: &SnapshotId) -> Result<bool, WorkspaceError> {
        let mut state = self.state();
        let is_same = state.entered.as_ref() == Some(tree);
        state.entered = None;
        if !is_same {
            self.remove_build_output(&state)?;
            refresh_git_dir(&self.origin, &self.folder)?;
        }
        let differed = self.restore_tree(tree)?;
        if !is_same {
            self.restore_build_output(&mut state)?;
            self.reset_results(&mut state)?;
            mounts::remove_written(&self.folder)?;
        }
        self.mounted
            .create_mount_points(&self.origin, self.tree(), &self.folder)?;
        state.entered = Some(tree.clone());
        Ok(differed)
    }

    /// Restores a tree. Nothing in the room must be kept, so build output that stands in its way is removed.
    fn restore_tree(&self, tree: &SnapshotId) -> Result<bool, WorkspaceError> {
        loop {
            match self.snapshots.ensure_tree(tree) {
                Err(WorkspaceError::UncoveredObstacle { path, .. })
                    if self.tree().join(&path).symlink_metadata().is_ok() =>
                {
                    remove_all(&self.tree().join(path))?;
                }
                done => return done,
            }
        }
    }

    /// Lets the next tree that is entered count as another one.
    pub(crate) fn forget_entered_tree(&self) {
        self.state().entered = None;
    }

    /// Gives what the room holds now a name as a tree, on which no check has run yet.
    pub(crate) fn name_entered(&self, tree: &SnapshotId) {
        self.state().entered = Some(tree.clone());
    }

    /// Enters a tree without the ignored files that differ from those of `start`, for no commit would hold them.
    /// Returns the tree that is left, and the paths of the attempt's ignored files that are absent.
    pub(crate) fn enter_without_ignored(
        &self,
        start: &SnapshotId,
        tree: &SnapshotId,
    ) -> Result<(SnapshotId, Vec<PathBuf>), WorkspaceError> {
        self.enter(tree)?;
        let mut absent = self.mounted.absent.clone();
        let changed = self.snapshots.differing_paths(start, tree)?;
        if changed.is_empty() || !self.snapshots.is_git() {
            return Ok((tree.clone(), absent));
        }
        let unignored: HashSet<PathBuf> = self.snapshots.unignored()?.into_iter().collect();
        let is_unignored = |path: &Path| path.ancestors().any(|above| unignored.contains(above));
        let is_there = |path: &PathBuf| self.tree().join(path).symlink_metadata().is_ok();
        let ignored: Vec<PathBuf> = changed
            .into_iter()
            .filter(|path| !is_unignored(path) && is_there(path))
            .collect();
        if ignored.is_empty() {
            return Ok((tree.clone(), absent));
        }
        self.snapshots.restore_files(start, &ignored)?;
        self.snapshots.remove_empty_folders_above(&ignored);
        let left = self.snapshots.snapshot("without ignored files")?.tree;
        self.name_entered(&left);
        absent.extend(ignored);
        Ok((left, absent))
    }

    /// Records that an agent is about to work in a workspace: its build output is never copied again.
    pub(crate) fn record_agent(origin: &Workspace) -> Result<(), WorkspaceError> {
        let mark = origin.shadow.dir().join(AGENT_MARKER);
        fs::write(&mark, "").map_err(|error| WorkspaceError::io("write", &mark, error))
    }

    /// Removes a room. Build output of committed files is kept for the next one.
    pub(crate) fn remove(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
        if folder.join(COMMITTED_MARKER).exists() {
            build_output::keep_for_next(origin, folder)?;
            results::keep_for_next(origin, folder)?;
        }
        remove_all(folder)
    }

    fn state(&self) -> MutexGuard<'_, VerificationRoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
