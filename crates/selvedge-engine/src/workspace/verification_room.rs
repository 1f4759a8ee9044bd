//! The verification room: a copy of a workspace that no agent can write, in which checks run. It is mounted at the
//! workspace's path, so absolute paths stay valid.
//!
//! Files come from snapshots. Folders of installed tools are those of the workspace, mounted read-only. Build output
//! stays in the room, including what tools store outside of the workspace, and every tree begins with the output that
//! was kept before the agent began, so no run of the checks reads what another run wrote.
//!
//! Code that runs in the room is hostile and may leave anything in it, including links. Therefore the room is only
//! written to after a snapshot was restored, by paths whose parents are then known to be folders.

mod build_output;
mod copied_tools;
mod files;
mod folder_copy;
mod git_dir;
mod kept_folder;
mod mounts;
mod other_folder;
mod results;
mod reuse;
mod times;
mod written;

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::mem;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use selvedge_core::installed::InstalledFiles;
use selvedge_core::model::TreeId;

use self::files::{make_folder, remove_all};
use self::folder_copy::CopiedFiles;
use self::git_dir::{copy_git_dir, refresh_git_dir};
use self::kept_folder::FileFingerprints;
use self::mounts::{MOUNT_MARKER, MountedPaths};
use self::reuse::ReusableFiles;
use self::times::FileTimes;
use self::written::WrittenFolders;
use super::Workspace;
use super::error::WorkspaceError;
use super::exclusions::ExcludedPath;
use super::file_stats::FileStatIndex;
use super::relative::RelativePath;
use super::restore::{EnsuredTree, OWNER_ACCESS_BITS, RestoreOutcome};
use super::snapshot::DetailedSnapshot;
use super::survey::Survey;
use super::tool_folders::ToolFiles;

pub(crate) use self::git_dir::CommittedFiles;
pub(crate) use self::mounts::VerificationRoomMount;
pub(crate) use self::results::ResultCache;

const DOING: &str = "prepare the verification room";

/// Marker file of a complete room, which is missing while build output is kept.
const READY_MARKER: &str = "ready";
/// The folder of a room's snapshots.
const SHADOW_FOLDER: &str = "shadow";
/// The folder in a room of tools that are no longer used.
const UNUSED_TOOLS_FOLDER: &str = "unused-tools";
/// The folder in a room of another one.
const OTHER_ROOM: &str = "other";
/// Marker file of a room that began with committed files only.
const COMMITTED_MARKER: &str = "committed";
/// Marker file of a room whose kept results come from uncommitted files, or are not complete.
const UNCOMMITTED_RESULTS_MARKER: &str = "uncommitted-results";
/// Marker file next to a workspace's snapshots; exists once an agent has worked in the workspace.
const AGENT_MARKER: &str = "agents";

/// The folders next to a workspace's snapshots with what its last room leaves for the next one. The first of them is
/// written whenever a room ends.
pub const LAST_ROOM_FOLDERS: [&str; 4] = [
    reuse::LAST_ROOM_FOLDER,
    written::LAST_WRITTEN_FOLDER,
    results::LAST_RESULTS_FOLDER,
    build_output::BUILD_OUTPUT_FOLDER,
];

/// A verification room. Clones refer to the same room.
#[derive(Debug, Clone)]
pub(crate) struct VerificationRoom {
    origin: Workspace,
    snapshots: Workspace,
    folder: PathBuf,
    mounted: MountedPaths,
    result_caches: Vec<ResultCache>,
    state: Arc<Mutex<VerificationRoomState>>,
}

#[derive(Debug, Default)]
struct VerificationRoomState {
    /// The tree that the checks last ran on.
    entered: Option<TreeId>,
    /// What is in the room, as long as it is new and contains only a tree.
    filled: Option<Survey>,
    /// Tool folders that were installed in the room.
    installed: BTreeSet<PathBuf>,
    /// Tool folders that are copied instead of mounted.
    copied: BTreeSet<PathBuf>,
    /// What is known of these copies.
    tool_copies: CopiedFiles,
    /// Whether nothing has run in the room since its tools were copied.
    are_copies_current: bool,
    /// Whether all files of the workspace were committed before an agent worked there; determined on first use.
    is_committed: Option<bool>,
    kept: KeptFiles,
    /// Removes tools that are no longer used.
    removing_tools: Option<JoinHandle<()>>,
    /// Copies what is kept.
    keeping: Option<JoinHandle<Result<KeptFiles, WorkspaceError>>>,
    /// The modification times of files, once they are known.
    times: Option<FileTimes>,
    /// The last composed tree, and its files that git has to show as committed.
    composed: Option<(TreeId, CommittedFiles)>,
}

/// Fingerprints of kept build output and kept result caches.
#[derive(Debug, Default)]
struct KeptFiles {
    output: FileFingerprints,
    results: FileFingerprints,
}

/// A tree that was entered.
#[derive(Debug)]
pub(crate) struct EnteredTree {
    /// Whether the room differed from it.
    pub(crate) differed: bool,
    /// What the room contains, and the files that were written since; `None` if another survey would find something else.
    contents: Option<(DetailedSnapshot, Vec<PathBuf>)>,
    /// Copied tools.
    tools: ToolFiles,
}

/// A tree that was entered without an attempt's ignored files.
#[derive(Debug)]
pub(crate) struct JudgedTree {
    pub(crate) tree: TreeId,
    /// The attempt's ignored files that are absent.
    pub(crate) absent: Vec<PathBuf>,
    /// The room's files, if they are known.
    pub(crate) files: Option<FileStatIndex>,
}

impl VerificationRoom {
    /// Opens the room in `folder`, and fills it with the tree `start` if it is new. If no agent has run since that tree
    /// was kept (`is_untouched`), the workspace's build output is copied. `excluded` are the paths of the workspace that
    /// snapshots do not cover, if they are known.
    ///
    /// Returns `None` if there are too many paths to mount. `previous` is the same room as it was opened before.
    pub(crate) fn open(
        origin: &Workspace,
        folder: &Path,
        start: &TreeId,
        is_untouched: bool,
        excluded: Option<Vec<ExcludedPath>>,
        result_caches: Vec<ResultCache>,
        previous: Option<&Self>,
    ) -> Result<Option<Self>, WorkspaceError> {
        if let Some(previous) = previous {
            previous.wait()?;
        }
        let is_new = !folder.join(READY_MARKER).exists();
        if is_new {
            remove_all(folder)?;
            make_folder(folder)?;
        }
        let excluded = match excluded {
            Some(known) => known,
            None => origin.survey(origin.rules(), &HashSet::new())?.excluded,
        };
        if is_new && is_untouched {
            mounts::record_ignored(origin, &excluded, folder)?;
        } else if is_new {
            mounts::inherit_ignored(folder);
        }
        let Some(mounted) = MountedPaths::find(origin, &excluded, folder) else {
            return Ok(None);
        };
        let (root, tree) = paths_in(origin, folder);
        let mut existing = ReusableFiles::new();
        if is_new {
            make_folder(tree.parent().unwrap_or(&tree))?;
            existing = reuse::take_last(origin, &tree)?;
            make_folder(&tree)?;
            copy_git_dir(origin, folder)?;
            refresh_git_dir(origin, folder)?;
        }
        let snapshots = origin.for_other_folder(&tree, &root, &folder.join(SHADOW_FOLDER))?;
        let room = Self {
            origin: origin.clone(),
            snapshots,
            folder: folder.to_owned(),
            mounted,
            result_caches,
            state: match previous {
                Some(previous) if !is_new => Arc::clone(&previous.state),
                _ => Arc::default(),
            },
        };
        if previous.is_none() || is_new {
            room.state().copied = copied_tools::remembered(origin, &room.mounted.tools());
        }
        if is_new {
            let untouched_excluded = is_untouched.then_some(excluded.as_slice());
            let filled = room.fill(start, existing, untouched_excluded)?;
            let mut state = room.state();
            let is_alone = excluded.is_empty() && state.kept.output.is_empty();
            state.filled = Some(filled).filter(|_| is_alone);
            drop(state);
            room.mark_ready()?;
        }
        room.make_result_caches(&mut room.state())?;
        room.mounted
            .create_mount_points(&room.origin, room.tree(), folder)?;
        Ok(Some(room))
    }

    /// Writes the files of a new room, and returns them. If no agent has worked in the workspace since `start`, its build output among
    /// `excluded` is copied.
    fn fill(
        &self,
        start: &TreeId,
        existing: ReusableFiles,
        excluded: Option<&[ExcludedPath]>,
    ) -> Result<Survey, WorkspaceError> {
        // The room is mounted as the workspace's folder, and its own files are replaced for each tree.
        let mode = fs::metadata(&self.origin.dir).map(|data| data.permissions().mode());
        mode.map(|mode| fs::Permissions::from_mode(mode | OWNER_ACCESS_BITS))
            .and_then(|mode| fs::set_permissions(&self.snapshots.dir, mode))
            .map_err(|error| WorkspaceError::io(DOING, &self.snapshots.dir, error))?;
        let filled = self
            .snapshots
            .write_snapshot(&self.origin, start, existing)?;
        let mut state = self.state();
        let mut written = self.take_written()?;
        written.retain(|path| !state.copied.contains(path));
        self.load_copies(&mut state);
        if let Some(excluded) = excluded {
            self.take_build_output(excluded, &written, &mut state)?;
            let has_output = !state.kept.output.is_empty();
            self.mark_committed(has_output, &mut state)?;
        } else {
            for path in written {
                remove_all(&self.tree().join(path))?;
            }
        }
        self.record_start()?;
        self.refresh_copies(&mut state)?;
        state.are_copies_current = true;
        state.entered = Some(start.clone());
        Ok(filled)
    }

    /// Returns the workspace of the room's files.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.snapshots
    }

    /// Returns the folder of the original workspace.
    pub(crate) fn origin(&self) -> &Path {
        &self.origin.dir
    }

    /// Returns the folder that is mounted at the workspace's path.
    pub(crate) fn tree(&self) -> &Path {
        &self.snapshots.dir
    }

    /// Returns all mounts of the room. Tools that were installed in the room hide those of the workspace.
    pub(crate) fn mounts(&self) -> Vec<VerificationRoomMount> {
        let hidden = {
            let state = self.state();
            state.installed.union(&state.copied).cloned().collect()
        };
        self.mounts_except(&hidden)
    }

    /// Returns all mounts except for installed tools of the workspace.
    pub(crate) fn mounts_without_tools(&self) -> Vec<VerificationRoomMount> {
        self.mounts_except(&self.mounted.tools())
    }

    fn mounts_except(&self, hidden: &BTreeSet<PathBuf>) -> Vec<VerificationRoomMount> {
        let mut mounts = self.mounted.mounts(&self.origin, &self.folder, hidden);
        mounts.extend(self.result_mounts());
        mounts
    }

    /// Begins to keep the current build output, with which every tree begins. `excluded` are the paths in the room that
    /// snapshots do not cover.
    ///
    /// There may be much of it, so a thread copies it while the agent starts. The next use of the room waits for it.
    pub(crate) fn keep_current_output(
        &self,
        excluded: &[ExcludedPath],
    ) -> Result<(), WorkspaceError> {
        let mut state = self.settled_state()?;
        // If Selvedge is stopped meanwhile, the room is made again.
        remove_all(&self.folder.join(READY_MARKER))?;
        let marker = self.folder.join(UNCOMMITTED_RESULTS_MARKER);
        fs::write(&marker, "").map_err(|error| WorkspaceError::io(DOING, &marker, error))?;
        self.record_kept()?;
        state.times = None;
        let paths = self.build_output_in(excluded);
        let has_output = !paths.is_empty() || self.has_results();
        let is_committed = self.mark_committed(has_output, &mut state)?;
        let (room, mut kept) = (self.clone(), mem::take(&mut state.kept));
        let keep = move || {
            room.keep_build_output(&paths, &mut kept.output)?;
            room.keep_results(&mut kept.results)?;
            if is_committed {
                remove_all(&marker)?;
            }
            room.mark_ready()?;
            Ok(kept)
        };
        let thread = thread::Builder::new().spawn(keep);
        let thread = thread.map_err(|error| WorkspaceError::io(DOING, &self.folder, error))?;
        state.keeping = Some(thread);
        Ok(())
    }

    /// Waits until build output is kept and unused tools are removed.
    pub(crate) fn wait(&self) -> Result<(), WorkspaceError> {
        let mut state = self.settled_state()?;
        state.wait_for_removed_tools();
        Ok(())
    }

    fn mark_ready(&self) -> Result<(), WorkspaceError> {
        let ready = self.folder.join(READY_MARKER);
        fs::write(&ready, "").map_err(|error| WorkspaceError::io(DOING, &ready, error))
    }

    /// Records and returns whether kept output is built from committed files only: then the next room may use it. Must
    /// be called before an agent works in the workspace.
    fn mark_committed(
        &self,
        has_output: bool,
        state: &mut VerificationRoomState,
    ) -> Result<bool, WorkspaceError> {
        let marker = self.folder.join(COMMITTED_MARKER);
        let is_committed = || {
            let status = self.origin.status();
            status.is_ok_and(|status| status.files.is_empty())
        };
        if !marker.exists() {
            if !has_output || !*state.is_committed.get_or_insert_with(is_committed) {
                return Ok(false);
            }
            fs::write(&marker, "").map_err(|error| WorkspaceError::io(DOING, &marker, error))?;
        }
        Ok(true)
    }

    /// Discards the tools that were installed in the room; they are removed when the next tree is entered.
    pub(crate) fn forget_installed(&self) {
        self.state().installed.clear();
    }

    /// Reads the files of the tools that a setup has created in the room.
    pub(crate) fn read_installed(&self) -> InstalledFiles {
        let folders: Vec<PathBuf> = self.state().installed.iter().cloned().collect();
        self.snapshots.read_installed(&folders)
    }

    /// Opens another room of the same workspace with a tree, in which a setup can run. It is removed with this one at
    /// the latest.
    pub(crate) fn open_beside(&self, tree: &TreeId) -> Result<Option<Self>, WorkspaceError> {
        let (folder, caches) = (self.folder.join(OTHER_ROOM), self.result_caches.clone());
        remove_all(&folder)?;
        Self::open(&self.origin, &folder, tree, false, None, caches, None)
    }

    /// Whether a tool folder in the room is more than a place for that of the workspace.
    fn has_tools(&self, folder: &Path) -> bool {
        let settings = mounts::settings_in(folder);
        let entries = fs::read_dir(self.tree().join(folder)).into_iter().flatten();
        let mut names = entries
            .flatten()
            .map(|entry| folder.join(entry.file_name()));
        names.any(|name| !name.ends_with(MOUNT_MARKER) && Some(&name) != settings.as_ref())
    }

    /// Removes a room of which nothing is kept.
    pub(crate) fn discard(&self) -> Result<(), WorkspaceError> {
        self.wait()?;
        remove_all(&self.folder)
    }

    /// Finds the tool folders that a setup has created in the room. They are kept while this attempt is verified.
    pub(crate) fn note_installed(&self) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        let survey = self
            .snapshots
            .survey(self.snapshots.rules(), &HashSet::new())?;
        let tools = self.snapshots.tool_folders_in(&survey.excluded).into_iter();
        let installed: BTreeSet<PathBuf> = tools.filter(|path| self.has_tools(path)).collect();
        self.state().installed.clone_from(&installed);
        Ok(installed)
    }

    /// Makes the room equal to a tree. Unless the checks last ran on the same tree, everything that they wrote is
    /// removed: build output is reset to the kept one, and `.git` is copied again.
    pub(crate) fn enter(&self, tree: &TreeId) -> Result<EnteredTree, WorkspaceError> {
        let mut state = self.settled_state()?;
        let is_same = state.entered.as_ref() == Some(tree);
        state.entered = None;
        // Nothing has run in a room between its opening and its first tree.
        let mut survey = state.filled.take();
        if !is_same {
            // The ignore rules of the new copy decide what is build output.
            refresh_git_dir(&self.origin, &self.folder)?;
            let mut found = match survey.take() {
                Some(filled) => filled,
                None => self
                    .snapshots
                    .survey(self.snapshots.rules(), &HashSet::new())?,
            };
            let removed = self.remove_build_output(&found.excluded, &state)?;
            found.leave_out(self.tree(), &removed.paths);
            let is_listed = |file| found.files.contains_key::<RelativePath>(file);
            let is_known = !removed.has_folders && !removed.files.iter().any(is_listed);
            survey = is_known.then_some(found);
        }
        let EnsuredTree { before, restored } = self.restore_tree(tree, survey)?;
        let differed = restored.is_some();
        let mut written = restored.map_or_else(|| Some(Vec::new()), rewritten_files);
        let mut created = Vec::new();
        if !is_same {
            if state.times.is_none() {
                state.times = self.load_times();
            }
            let set = self.set_times(tree, state.times.as_ref())?;
            written = written.map(|written| [written, set].concat());
            if let Some((_, committed)) = state.composed.as_ref().filter(|it| it.0 == *tree) {
                self.commit_files(committed)?;
            }
            created.extend(self.restore_build_output(&mut state)?);
            self.reset_results(&mut state)?;
            self.refresh_copies(&mut state)?;
            state.are_copies_current = true;
            mounts::remove_written(&self.folder)?;
        }
        let has_created =
            self.mounted
                .create_mount_points(&self.origin, self.tree(), &self.folder)?;
        state.entered = Some(tree.clone());
        let tools = state.take_current_copies();
        created.extend(tools.folders.iter().cloned());
        // Snapshots do not cover what was created in paths that they exclude.
        let excluded: HashSet<&OsStr> = before
            .excluded
            .iter()
            .map(|it| it.path.as_os_str())
            .collect();
        let is_excluded = |path: &PathBuf| {
            path.ancestors()
                .any(|above| excluded.contains(above.as_os_str()))
        };
        let written = written.filter(|_| !has_created && created.iter().all(is_excluded));
        Ok(EnteredTree {
            differed,
            contents: written.map(|written| (before, written)),
            tools,
        })
    }

    /// The files of a tree that was just entered, if they are known without another survey.
    pub(crate) fn files_of(&self, entered: EnteredTree) -> Option<FileStatIndex> {
        let (found, written) = entered.contents?;
        let tools = entered.tools;
        self.snapshots.stats_of_snapshot(found, &written, tools)
    }

    /// Restores a tree. Nothing in the room has to be preserved, so build output that is in the way is removed.
    fn restore_tree(
        &self,
        tree: &TreeId,
        mut survey: Option<Survey>,
    ) -> Result<EnsuredTree, WorkspaceError> {
        loop {
            match self.snapshots.ensure_surveyed_tree(tree, survey.take()) {
                Err(WorkspaceError::UncoveredObstacle { path, .. })
                    if self.tree().join(&path).symlink_metadata().is_ok() =>
                {
                    remove_all(&self.tree().join(path))?;
                }
                done => return done,
            }
        }
    }

    /// Makes the next tree that is entered count as a different one.
    pub(crate) fn forget_entered_tree(&self) {
        self.state().entered = None;
    }

    fn commit_files(&self, committed: &CommittedFiles) -> Result<(), WorkspaceError> {
        match git_dir::commit_files(&self.origin, &self.folder, committed) {
            // An agent has damaged objects, so checks that use git fail.
            Err(WorkspaceError::Git { .. }) => Ok(()),
            other => other,
        }
    }

    /// Finds which of these paths are as in the agent's last commit.
    pub(crate) fn find_committed(
        &self,
        paths: &[PathBuf],
    ) -> Result<Option<CommittedFiles>, WorkspaceError> {
        match git_dir::find_committed(&self.origin, &self.folder, self.tree(), paths) {
            // An agent has damaged objects.
            Err(WorkspaceError::Git { .. }) => Ok(None),
            other => other,
        }
    }

    /// Records the id of the room's current content, on which no check has run yet. Sets the times of its files, and
    /// commits those that were `committed` before they were replaced.
    pub(crate) fn name_composed(
        &self,
        tree: &TreeId,
        committed: Option<CommittedFiles>,
    ) -> Result<(), WorkspaceError> {
        let mut state = self.state();
        self.set_times(tree, state.times.as_ref())?;
        if let Some(committed) = &committed {
            self.commit_files(committed)?;
        }
        state.composed = committed.map(|committed| (tree.clone(), committed));
        state.entered = Some(tree.clone());
        Ok(())
    }

    /// Enters a tree without the ignored files that differ from those of `start`, because no commit would contain them.
    pub(crate) fn enter_without_ignored(
        &self,
        start: &TreeId,
        tree: &TreeId,
    ) -> Result<JudgedTree, WorkspaceError> {
        self.state().times = self.load_times();
        let entered = self.enter(tree)?;
        let contents = entered.contents.as_ref();
        let unignored = contents.and_then(|(found, _)| found.unignored.clone());
        let files = self.files_of(entered);
        let mut absent = self.mounted.absent.clone();
        let changed = self.snapshots.differing_paths(start, tree)?;
        let judged = |tree, absent, files| JudgedTree {
            tree,
            absent,
            files,
        };
        if changed.is_empty() || !self.snapshots.is_git() {
            return Ok(judged(tree.clone(), absent, files));
        }
        let (files, unignored) = if let (Some(files), Some(unignored)) = (files, unignored) {
            (files, unignored)
        } else {
            let rules = self.snapshots.rules();
            let mut survey = self.snapshots.survey(rules, &HashSet::new())?;
            let unignored = survey.unignored.take().unwrap_or_default();
            (self.snapshots.stats_of_survey(survey), unignored)
        };
        let is_unignored = |path: &Path| {
            let mut above = path.ancestors();
            above.any(|above| unignored.contains(above.as_os_str()))
        };
        let exists = |path: &PathBuf| self.tree().join(path).symlink_metadata().is_ok();
        let ignored: Vec<PathBuf> = changed
            .into_iter()
            .filter(|path| !is_unignored(path) && exists(path))
            .collect();
        if ignored.is_empty() {
            return Ok(judged(tree.clone(), absent, Some(files)));
        }
        self.snapshots.restore_files(start, &ignored)?;
        self.snapshots.remove_empty_folders_above(start, &ignored)?;
        let remaining_tree = self.snapshots.snapshot("without ignored files")?.tree;
        self.name_composed(&remaining_tree, None)?;
        absent.extend(ignored);
        Ok(judged(remaining_tree, absent, None))
    }

    /// Records that an agent is about to work in a workspace, so that its build output is never copied again.
    pub(crate) fn record_agent(origin: &Workspace) -> Result<(), WorkspaceError> {
        let marker = origin.shadow.dir().join(AGENT_MARKER);
        fs::write(&marker, "").map_err(|error| WorkspaceError::io("write", &marker, error))
    }

    /// Removes a room. Its files, and what was built from committed files, are kept for the next room.
    pub(crate) fn remove(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
        let kept = Self::keep_for_next(origin, folder);
        remove_all(folder).and(kept)
    }

    fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
        if !folder.join(READY_MARKER).exists() {
            return Ok(());
        }
        let has_output = folder.join(COMMITTED_MARKER).exists();
        if has_output {
            build_output::keep_for_next(origin, folder)?;
        }
        if !folder.join(UNCOMMITTED_RESULTS_MARKER).exists() {
            results::keep_for_next(origin, folder)?;
        }
        times::keep_for_next(origin, folder)?;
        let (_, tree) = paths_in(origin, folder);
        let mut written = WrittenFolders::begin(origin, &tree, folder, has_output)?;
        reuse::keep_for_next(origin, &tree, folder, |path| written.keep(path))?;
        written.finish()
    }

    /// The directory in the room's folder that takes the place of the repository's root.
    pub(crate) fn root(folder: &Path) -> PathBuf {
        folder.join("root")
    }

    fn state(&self) -> MutexGuard<'_, VerificationRoomState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state once build output is kept.
    fn settled_state(&self) -> Result<MutexGuard<'_, VerificationRoomState>, WorkspaceError> {
        let mut state = self.state();
        if let Some(keeping) = state.keeping.take() {
            let panicked = || io::Error::other("the thread that keeps build output has panicked");
            let kept = keeping.join();
            state.kept =
                kept.map_err(|_| WorkspaceError::io(DOING, &self.folder, panicked()))??;
        }
        Ok(state)
    }
}

/// Returns the files that a restore has written; `None` if it could have changed which files exist or which are ignored.
fn rewritten_files(restored: RestoreOutcome) -> Option<Vec<PathBuf>> {
    let RestoreOutcome {
        changed, removed, ..
    } = restored;
    let has_rules = |path: &PathBuf| path.ends_with(".gitignore");
    (removed.is_empty() && !changed.iter().any(has_rules)).then_some(changed)
}

/// Returns the folders in a room that take the places of the repository's root and of the workspace.
fn paths_in(origin: &Workspace, folder: &Path) -> (PathBuf, PathBuf) {
    let root = VerificationRoom::root(folder);
    let tree = match origin.repository_root() {
        Some(above) => root.join(origin.dir.strip_prefix(above).unwrap_or(Path::new(""))),
        None => root.clone(),
    };
    (root, tree)
}
