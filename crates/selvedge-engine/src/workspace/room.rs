//! The verification room: a copy of a workspace that no agent can reach, in which checks run. It is mounted at the
//! workspace's path, so absolute paths stay what they are.
//!
//! Files come from snapshots. Folders of installed tools are those of the workspace, shown read-only. What tools have
//! built stays in the room, and every tree begins with what was built before the agent began: no run sees what
//! another one has left.

mod elsewhere;
mod files;
mod records;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::files::{
    copy, copy_files, files_below, is_folder, make_folder, remove_all, set_modified, size_of,
};
use self::records::{copy_records, follow_commits};
use super::Workspace;
use super::coverage::{LeftOut, Reason};
use super::error::WorkspaceError;
use super::fingerprint::Fingerprint;
use super::ids::TreeId;

const DOING: &str = "prepare the verification room";

/// The most that is kept of what tools have built, in bytes. More than that is built anew for every tree.
const BUILT_BYTES: u64 = 4 << 30;
/// The most places of the workspace that are shown in a room.
const SHOWN: usize = 500;

/// The file in a folder that something is mounted upon: an empty one would be part of a snapshot.
const MARKER: &str = ".selvedge-room";

/// The folder with what was built and is kept, in a room and beside a workspace's snapshots.
const BUILT_FOLDER: &str = "built";
/// The file in a room that began with committed files alone.
const COMMITTED: &str = "committed";
/// The file beside a workspace's snapshots that is there once an agent has worked in it.
const AGENTS: &str = "agents";

/// Caches that save little: they begin empty.
const SMALL_CACHES: [&str; 8] = [
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".nyc_output",
    "coverage",
];
/// Folders of installed tools that the tools write to whenever they run.
const WRITTEN_TOOLS: [&str; 3] = [".tox", ".nox", ".eggs"];
/// Folders in `node_modules` that are written to by what is installed there: the folder, and the package.
const NODE_CACHES: [(&str, &str); 4] = [
    (".cache", ""),
    (".vite", "vite"),
    (".vite-temp", "vite"),
    (".vitest", "vitest"),
];

/// One room. Clones are the same room.
#[derive(Debug, Clone)]
pub(crate) struct Room {
    origin: Workspace,
    inside: Workspace,
    folder: PathBuf,
    /// Of the workspace, relative to it.
    shown: Vec<PathBuf>,
    /// Folders of the room, and where in the workspace they may be written.
    written: Vec<(PathBuf, PathBuf)>,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The tree that checks have last been run on.
    entered: Option<TreeId>,
    /// Folders of tools that were installed in the room.
    installed: BTreeSet<PathBuf>,
    /// The copies of what was built, as they were made; a file that is still like this has not been written.
    built: BTreeMap<PathBuf, Fingerprint>,
}

impl Room {
    /// Opens the room in `folder`, and fills it with the tree `start` if it is new. If no agent has run since that tree
    /// was kept (`is_untouched`), what tools have built in the workspace is taken along.
    ///
    /// None where more would have to be shown than can be mounted. `earlier` is the same room, if it was opened before:
    /// what is known of it is not found out again.
    pub(crate) fn open(
        origin: &Workspace,
        folder: &Path,
        start: &TreeId,
        is_untouched: bool,
        earlier: Option<&Self>,
    ) -> Result<Option<Self>, WorkspaceError> {
        let left_out = origin.survey(origin.rules(), &HashSet::new())?.left_out;
        let shown = find_shown(origin, &left_out);
        if shown.len() > SHOWN {
            return Ok(None);
        }
        let ready = folder.join("ready");
        let is_new = !ready.exists();
        if is_new {
            remove_all(folder)?;
        }
        let root = folder.join("root");
        let tree = match origin.repository_root() {
            Some(above) => root.join(origin.dir.strip_prefix(above).unwrap_or(Path::new(""))),
            None => root.clone(),
        };
        make_folder(&tree)?;
        if is_new && let Some(repository) = &origin.repository {
            copy_records(origin, repository, &root)?;
        }
        let inside = origin.elsewhere(&tree, &root, &folder.join("shadow"))?;
        let mut room = Self {
            origin: origin.clone(),
            inside,
            folder: folder.to_owned(),
            shown,
            written: Vec::new(),
            state: match earlier {
                Some(earlier) if !is_new => Arc::clone(&earlier.state),
                _ => Arc::default(),
            },
        };
        if is_new {
            // It is seen as the workspace's own folder.
            let mode = fs::metadata(&origin.dir).map(|data| data.permissions());
            mode.and_then(|mode| fs::set_permissions(&room.inside.dir, mode))
                .map_err(|error| WorkspaceError::io(DOING, &room.inside.dir, error))?;
            room.inside.fill(start)?;
            if is_untouched {
                room.take_along(&left_out)?;
            }
            if origin.status().is_ok_and(|dirty| dirty.files.is_empty()) {
                let committed = folder.join(COMMITTED);
                fs::write(&committed, "").map_err(|e| WorkspaceError::io(DOING, &committed, e))?;
            }
            room.state().entered = Some(start.clone());
            fs::write(&ready, "").map_err(|error| WorkspaceError::io(DOING, &ready, error))?;
        }
        room.make_places()?;
        Ok(Some(room))
    }

    /// The snapshots of what is in the room.
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.inside
    }

    /// The workspace that it stands for.
    pub(crate) fn origin(&self) -> &Path {
        &self.origin.dir
    }

    /// The folder that is mounted at the workspace's path.
    pub(crate) fn tree(&self) -> &Path {
        &self.inside.dir
    }

    /// Places of the workspace that are shown as they are, relative to it.
    pub(crate) fn shown(&self) -> &[PathBuf] {
        &self.shown
    }

    /// The folders of installed tools among them.
    pub(crate) fn shown_tools(&self) -> Vec<PathBuf> {
        let is_tool = |path: &&PathBuf| {
            self.origin.dir.join(path).is_dir()
                && !path.file_name().is_some_and(super::is_repository_data)
        };
        self.shown.iter().filter(is_tool).cloned().collect()
    }

    /// Folders of tools that were installed in the room itself.
    pub(crate) fn installed(&self) -> BTreeSet<PathBuf> {
        self.state().installed.clone()
    }

    /// Forgets them: they go when another tree is entered.
    pub(crate) fn forget_installed(&self) {
        self.state().installed.clear();
    }

    /// Finds the folders of tools that a setup has made in the room, which stay as long as this attempt is judged.
    pub(crate) fn note_installed(&self) -> Result<BTreeSet<PathBuf>, WorkspaceError> {
        let left_out = self
            .inside
            .survey(self.inside.rules(), &HashSet::new())?
            .left_out;
        let has_more = |path: &PathBuf| {
            let entries = fs::read_dir(self.tree().join(path)).into_iter().flatten();
            let mut names = entries.flatten().map(|entry| entry.file_name());
            names.any(|name| name != OsStr::new(MARKER))
        };
        let tools = self.inside.tool_folders_in(&left_out).into_iter();
        let installed: BTreeSet<PathBuf> = tools.filter(has_more).collect();
        self.state().installed.clone_from(&installed);
        Ok(installed)
    }

    /// Folders that are shown at a place in the workspace: the objects of its repository.
    pub(crate) fn shown_at(&self) -> Vec<(PathBuf, PathBuf)> {
        let records = self.origin.dir.join(".git");
        if !records.is_dir() {
            return Vec::new();
        }
        let objects = (
            records.join("objects"),
            PathBuf::from(".git/shared-objects"),
        );
        let modules = (records.join("modules"), PathBuf::from(".git/modules"));
        let all = [objects, modules].into_iter();
        all.filter(|(source, _)| source.is_dir()).collect()
    }

    /// Folders of the room that may be written at a place in what is shown.
    pub(crate) fn written_at(&self) -> &[(PathBuf, PathBuf)] {
        &self.written
    }

    /// Makes the room equal to a tree; says whether it was not. A tree that checks have not just been run on begins
    /// with what was built before.
    pub(crate) fn enter(&self, tree: &TreeId) -> Result<bool, WorkspaceError> {
        let mut state = self.state();
        if state.entered.as_ref() != Some(tree) {
            self.put_back_built(&mut state)?;
            follow_commits(&self.origin, self.tree(), &self.folder)?;
        }
        let differed = self.inside.settle(tree)?;
        state.entered = Some(tree.clone());
        Ok(differed)
    }

    /// What is done next to the files is another tree.
    pub(crate) fn leave(&self) {
        self.state().entered = None;
    }

    /// What is in the room now is this tree, in which no check has run yet.
    pub(crate) fn name_entered(&self, tree: &TreeId) {
        self.state().entered = Some(tree.clone());
    }

    /// Enters a tree without the ignored files that differ from those of `start`: what no repository would hold. Gives
    /// the tree that is left, and their paths.
    pub(crate) fn enter_without_ignored(
        &self,
        start: &TreeId,
        tree: &TreeId,
    ) -> Result<(TreeId, Vec<PathBuf>), WorkspaceError> {
        self.enter(tree)?;
        let changed = self.inside.differing_paths(start, tree)?;
        if changed.is_empty() || !self.inside.is_git() {
            return Ok((tree.clone(), Vec::new()));
        }
        let unignored: HashSet<PathBuf> = self.inside.unignored()?.into_iter().collect();
        let is_unignored = |path: &Path| path.ancestors().any(|above| unignored.contains(above));
        let there = |path: &PathBuf| self.tree().join(path).symlink_metadata().is_ok();
        let ignored: Vec<PathBuf> = changed
            .into_iter()
            .filter(|path| !is_unignored(path) && there(path))
            .collect();
        if ignored.is_empty() {
            return Ok((tree.clone(), ignored));
        }
        self.inside.put_back(start, &ignored)?;
        self.inside.remove_empty_folders_above(&ignored);
        let left = self.inside.snapshot("without ignored files")?.tree;
        self.name_entered(&left);
        Ok((left, ignored))
    }

    /// Keeps what tools have built by now, for every tree to begin with.
    pub(crate) fn keep_built(&self) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT_FOLDER);
        remove_all(&kept)?;
        let built = self.find_built()?;
        let mut left = BUILT_BYTES;
        for path in built {
            let size = size_of(&self.tree().join(&path), left);
            // What is too large is built anew for every tree.
            if size > left {
                continue;
            }
            left -= size;
            copy(&self.tree().join(&path), &kept.join(&path))?;
        }
        self.state().built = self.note_built(&kept);
        Ok(())
    }

    /// Takes note that an agent is about to work in a workspace: what is built there is never taken along again.
    pub(crate) fn expect_agent(origin: &Workspace) -> Result<(), WorkspaceError> {
        let mark = origin.shadow.dir().join(AGENTS);
        fs::write(&mark, "").map_err(|error| WorkspaceError::io("write", &mark, error))
    }

    /// Removes a room. What was built of committed files is kept for the next one.
    pub(crate) fn remove(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
        let (built, kept) = (
            folder.join(BUILT_FOLDER),
            origin.shadow.dir().join(BUILT_FOLDER),
        );
        if folder.join(COMMITTED).exists() && built.exists() {
            remove_all(&kept)?;
            // Without it the next room builds it again.
            let _ = fs::rename(&built, &kept);
        }
        remove_all(folder)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes along what tools have built in the workspace, and the times of its files: what was built is then as old
    /// as there, compared with its sources. Once agents have worked there, it is what the last room has built.
    fn take_along(&self, left_out: &[LeftOut]) -> Result<(), WorkspaceError> {
        let shadow = self.origin.shadow.dir();
        if shadow.join(AGENTS).exists() {
            let kept = shadow.join(BUILT_FOLDER);
            let names = fs::read_dir(&kept).into_iter().flatten().flatten();
            let names: Vec<PathBuf> = names.map(|entry| entry.file_name().into()).collect();
            copy_files(&kept, self.tree(), &names)?;
            // Its sources are newer: an agent may have set their times.
            return self.keep_built();
        }
        let shown: BTreeSet<&PathBuf> = self.shown.iter().collect();
        let mut left = BUILT_BYTES;
        let mut has_built = false;
        let caches = left_out.iter().filter(|it| is_built(&it.path, it.reason));
        for LeftOut { path, .. } in caches.filter(|it| !shown.contains(&it.path)) {
            let source = self.origin.dir.join(path);
            let size = size_of(&source, left);
            if size <= left {
                left -= size;
                has_built = true;
                copy(&source, &self.tree().join(path))?;
            }
        }
        if has_built {
            self.copy_times()?;
        }
        self.keep_built()
    }

    fn copy_times(&self) -> Result<(), WorkspaceError> {
        let survey = self.inside.survey(self.inside.rules(), &HashSet::new())?;
        for path in survey.files.keys() {
            let Ok(theirs) = self.origin.dir.join(&**path).symlink_metadata() else {
                continue;
            };
            let ours = self.tree().join(&**path);
            // Without the time the file only looks newer.
            let _ = set_modified(&ours, &theirs);
        }
        Ok(())
    }

    /// What tools have built in the room.
    fn find_built(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        let left_out = self
            .inside
            .survey(self.inside.rules(), &HashSet::new())?
            .left_out;
        let shown: HashSet<&Path> = self.shown.iter().map(PathBuf::as_path).collect();
        let is_place = |path: &Path| path.ancestors().any(|above| shown.contains(above));
        Ok(left_out
            .into_iter()
            .filter(|it| it.reason != Reason::RepositoryRecords && !is_place(&it.path))
            .map(|it| it.path)
            .collect())
    }

    /// Removes what tools have built since it was kept, and puts back what was kept.
    fn put_back_built(&self, state: &mut State) -> Result<(), WorkspaceError> {
        let kept = self.folder.join(BUILT_FOLDER);
        let mut stale: Vec<PathBuf> = Vec::new();
        let built = self.find_built()?;
        let is_installed = |path: &PathBuf| state.installed.contains(path);
        for path in built.into_iter().filter(|path| !is_installed(path)) {
            let at = self.tree().join(&path);
            if kept.join(&path).symlink_metadata().is_err() || !is_folder(&at) {
                remove_all(&at)?;
                continue;
            }
            // Only what is not as it was copied is copied again.
            for (below, print) in files_below(&at, &path) {
                if state.built.get(&below) != Some(&print) {
                    stale.push(below);
                }
            }
        }
        for path in &stale {
            remove_all(&self.tree().join(path))?;
        }
        let mut copied = Vec::new();
        for (path, _) in files_below(&kept, Path::new("")) {
            let at = self.tree().join(&path);
            if at.symlink_metadata().is_err() {
                copied.push(path);
            }
        }
        copy_files(&kept, self.tree(), &copied)?;
        state.built = self.note_built(&kept);
        Ok(())
    }

    /// Notes the files in the room that are as they were kept.
    fn note_built(&self, kept: &Path) -> BTreeMap<PathBuf, Fingerprint> {
        let paths = files_below(kept, Path::new(""));
        let noted = paths.into_iter().filter_map(|(path, _)| {
            let print = Fingerprint::of(&self.tree().join(&path).symlink_metadata().ok()?);
            Some((path, print))
        });
        noted.collect()
    }

    /// Makes what is mounted upon: it must be there, and no snapshot may cover it.
    fn make_places(&mut self) -> Result<(), WorkspaceError> {
        for path in &self.shown {
            let (there, here) = (self.origin.dir.join(path), self.inside.dir.join(path));
            let Ok(data) = there.symlink_metadata() else {
                continue;
            };
            if data.is_dir() {
                make_folder(&here)?;
                let marker = here.join(MARKER);
                if fs::read_dir(&here).is_ok_and(|mut it| it.next().is_none()) {
                    fs::write(&marker, "")
                        .map_err(|error| WorkspaceError::io(DOING, &marker, error))?;
                }
            } else if here.symlink_metadata().is_err() {
                make_folder(here.parent().unwrap_or(&here))?;
                // As long as there, so that it is left out of snapshots for the same reason.
                fs::File::create(&here)
                    .and_then(|file| file.set_len(data.len()))
                    .map_err(|error| WorkspaceError::io(DOING, &here, error))?;
            }
        }
        for (_, place) in self.shown_at() {
            make_folder(&self.inside.dir.join(place))?;
        }
        self.written = self.make_written_places()?;
        Ok(())
    }

    fn make_written_places(&self) -> Result<Vec<(PathBuf, PathBuf)>, WorkspaceError> {
        let mut written = Vec::new();
        for shown in &self.shown {
            let there = self.origin.dir.join(shown);
            let mut add = |place: PathBuf, is_file: bool| {
                let name = place.to_string_lossy().replace('/', "%");
                let source = self.folder.join("written").join(name);
                if is_file {
                    make_folder(source.parent().unwrap_or(&source))?;
                    fs::write(&source, "").map_err(|e| WorkspaceError::io(DOING, &source, e))?;
                } else {
                    make_folder(&source)?;
                }
                written.push((source, place));
                Ok::<(), WorkspaceError>(())
            };
            if shown.file_name() == Some(OsStr::new("node_modules")) {
                for (cache, package) in NODE_CACHES {
                    // An empty folder is made where a tool would make it, for nothing can be mounted elsewhere.
                    let is_used = there.join(package).is_dir();
                    let at = there.join(cache);
                    if is_used && (is_folder(&at) || fs::create_dir(&at).is_ok()) {
                        add(shown.join(cache), false)?;
                    }
                }
            }
            let lock = there.join(".lock");
            if lock.symlink_metadata().is_ok_and(|data| data.is_file()) {
                add(shown.join(".lock"), true)?;
            }
        }
        Ok(written)
    }
}

/// What of a workspace is shown in its room: installed tools, large files, and the records of nested repositories.
fn find_shown(origin: &Workspace, left_out: &[LeftOut]) -> Vec<PathBuf> {
    let tools: BTreeSet<PathBuf> = origin.tool_folders_in(left_out).into_iter().collect();
    let is_shown = |it: &&LeftOut| match it.reason {
        Reason::Cache => tools.contains(&it.path) && !is_written_tool(&it.path),
        Reason::TooLarge
        | Reason::IgnoredTooLarge
        | Reason::IgnoredTooMuch
        | Reason::RepositoryRecords => true,
        Reason::Unreadable | Reason::Special | Reason::Unstorable => false,
    };
    let is_plain = |path: &PathBuf| {
        let data = origin.dir.join(path).symlink_metadata();
        data.is_ok_and(|data| data.is_file() || data.is_dir())
    };
    let shown = left_out.iter().filter(is_shown).map(|it| it.path.clone());
    shown.filter(is_plain).collect()
}

fn is_written_tool(path: &Path) -> bool {
    path.iter()
        .any(|name| WRITTEN_TOOLS.iter().any(|tool| name == OsStr::new(tool)))
}

/// Whether something that is in no snapshot is taken along: it was built, and takes long to be built again.
fn is_built(path: &Path, reason: Reason) -> bool {
    let name = path.file_name().unwrap_or_default();
    reason == Reason::Cache && !SMALL_CACHES.iter().any(|cache| name == OsStr::new(cache))
}
