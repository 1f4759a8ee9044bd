//! Takes an agent's commits over into the user's repository: branches and tags that it created or moved, `HEAD`, the
//! index, and stash entries. Objects enter as a pack that git verifies; no hook, filter or setting of the agent
//! applies, and no work of the user is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;

use selvedge_core::sanitize::sanitize_line;
use sha2::{Digest, Sha256};

use super::copy::{read_names, remove_all};
use super::state::{
    Head, RepositoryState, StashEntry, is_object_id, is_plain, read_plain, remove_foreign_objects,
};
use crate::workspace::error::WorkspaceError;
use crate::workspace::git::{self, GitProgram};
use crate::workspace::repository::ObjectFormat;
use crate::workspace::shadow::init_git_dir;

const DOING: &str = "take over the agent's commits";
const BRANCHES: &str = "refs/heads/";
const TAGS: &str = "refs/tags/";
const REMOTES: &str = "refs/remotes/";
/// Minimum length of an abbreviated object id in a name that is compared with existing objects.
const MIN_ID_LENGTH: usize = 7;

/// A repository whose changes are taken over.
#[derive(Debug)]
pub(super) struct SharedRepository {
    /// The user's git directory.
    pub(super) git_dir: PathBuf,
    /// Its work trees, by their git directories, relative to the repository's.
    pub(super) work_trees: BTreeMap<PathBuf, PathBuf>,
    pub(super) format: ObjectFormat,
    /// The state before the session.
    pub(super) start: Option<RepositoryState>,
    /// Copies of the indexes before the session, by the work trees' git directories.
    start_indexes: BTreeMap<PathBuf, PathBuf>,
}

/// The changes that an agent made in a git directory.
#[derive(Debug)]
pub(super) struct AgentChanges {
    state: RepositoryState,
    /// Copies of the files of its indexes, by the work trees' git directories.
    indexes: BTreeMap<PathBuf, PathBuf>,
    scratch: PathBuf,
}

/// Why something was not taken over.
#[derive(Debug, thiserror::Error)]
enum TakeOverError {
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error("{0} has changed meanwhile")]
    ChangedMeanwhile(String),
    #[error("git is running in the repository: {} exists", .0.display())]
    Locked(PathBuf),
    #[error("the name already means {0}")]
    AmbiguousName(String),
    #[error("the name contains characters that are invisible or that shells interpret")]
    DeceptiveName,
    #[error("its content is not a list of files")]
    InvalidIndex,
}

impl SharedRepository {
    /// Records the state before a session; `scratch` is an unused folder.
    pub(super) fn new(
        git_dir: PathBuf,
        work_trees: BTreeMap<PathBuf, PathBuf>,
        format: ObjectFormat,
        scratch: &Path,
    ) -> Result<Self, WorkspaceError> {
        let mut shared = Self {
            git_dir,
            work_trees,
            format,
            start: None,
            start_indexes: BTreeMap::new(),
        };
        shared.start = RepositoryState::read(&shared.git_dir, &shared.work_tree_names());
        shared.start_indexes = shared.copy_indexes(&shared.git_dir, scratch)?;
        Ok(shared)
    }

    /// Copies the indexes of all work trees in a git directory.
    fn copy_indexes(
        &self,
        git_dir: &Path,
        scratch: &Path,
    ) -> Result<BTreeMap<PathBuf, PathBuf>, WorkspaceError> {
        fs::create_dir_all(scratch).map_err(|error| WorkspaceError::io(DOING, scratch, error))?;
        let mut indexes = BTreeMap::new();
        for (number, work_tree) in self.work_trees.keys().enumerate() {
            let index = scratch.join(format!("index-{number}"));
            if let Ok(bytes) = read_plain(git_dir, &work_tree.join("index")) {
                write(&index, &bytes)?;
                indexes.insert(work_tree.clone(), index);
            }
        }
        Ok(indexes)
    }

    fn work_tree_names(&self) -> BTreeSet<PathBuf> {
        self.work_trees.keys().cloned().collect()
    }

    /// Reads the changes that an agent made in its git directory; `None` if there are none. `scratch` is an unused
    /// folder.
    pub(super) fn read_changes(
        &self,
        git_dir: &Path,
        scratch: &Path,
    ) -> Result<Option<AgentChanges>, WorkspaceError> {
        let state = RepositoryState::read(git_dir, &self.work_tree_names());
        let Some(state) = state.filter(|state| Some(state) != self.start.as_ref()) else {
            return Ok(None);
        };
        let reader = scratch.join("reader");
        init_git_dir(&reader, self.format)?;
        let indexes = self.copy_indexes(git_dir, scratch)?;
        for work_tree in self.work_trees.keys() {
            copy_shared_indexes(git_dir, work_tree, &reader)?;
            copy_shared_indexes(&self.git_dir, work_tree, &reader)?;
        }
        Ok(Some(AgentChanges {
            state,
            indexes,
            scratch: scratch.to_owned(),
        }))
    }

    /// Takes over the agent's changes; `new_objects` is the folder of its new objects, unless they are in the user's
    /// folder. Returns descriptions of the changes that were not taken over.
    pub(super) fn take_over(
        &self,
        git: &GitProgram,
        left: &AgentChanges,
        new_objects: Option<&Path>,
    ) -> Vec<String> {
        let (Some(start), Some(now)) = (
            &self.start,
            RepositoryState::read(&self.git_dir, &self.work_tree_names()),
        ) else {
            return Vec::new();
        };
        let transfer = Transfer {
            git,
            shared: self,
            left,
            start,
            now: &now,
        };
        let mut notes = Vec::new();
        let Some(new_objects) = new_objects else {
            transfer.take_names(&mut notes);
            return notes;
        };
        match transfer.import_objects(new_objects) {
            Ok(()) => transfer.take_names(&mut notes),
            Err(error) => notes.push(describe("commits", &error)),
        }
        if let Err(error) = transfer.import_large_files(new_objects) {
            notes.push(describe("large files", &error));
        }
        notes
    }
}

fn describe(what: &str, error: &TakeOverError) -> String {
    format!("{what} (not taken over: {error})")
}

struct Transfer<'a> {
    git: &'a GitProgram,
    shared: &'a SharedRepository,
    left: &'a AgentChanges,
    start: &'a RepositoryState,
    now: &'a RepositoryState,
}

/// The files of an index: mode, object and stage, by path and stage.
type IndexEntries = BTreeMap<IndexKey, IndexedObject>;
/// A path and its stage.
type IndexKey = (Vec<u8>, u8);
/// A mode and the id of an object.
type IndexedObject = (String, String);

impl Transfer<'_> {
    /// A call that reads no settings of either repository.
    fn reader(&self, work_tree: &Path) -> Command {
        let mut command = self
            .git
            .command(&self.left.scratch.join("reader"), work_tree);
        command.env("GIT_OBJECT_DIRECTORY", self.shared.git_dir.join("objects"));
        command.env("GIT_WORK_TREE", work_tree);
        command.args(["-c", "core.splitIndex=false", "-c", "core.bare=false"]);
        command
    }

    /// A call in the user's git directory, without hooks and filters.
    fn writer(&self, work_tree: &Path) -> Command {
        let git_dir = self.shared.git_dir.join(work_tree);
        let folder = &self.shared.work_trees[work_tree];
        let mut command = self.git.command(&git_dir, folder);
        command.env("GIT_WORK_TREE", folder);
        command.env("GIT_COMMITTER_NAME", "Selvedge");
        command.env("GIT_COMMITTER_EMAIL", "selvedge@localhost");
        command
    }

    fn place(&self) -> &Path {
        &self.shared.git_dir
    }

    /// Stores the objects that new names need.
    fn import_objects(&self, new_objects: &Path) -> Result<(), TakeOverError> {
        if !new_objects.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            return Ok(());
        }
        remove_foreign_objects(new_objects)
            .map_err(|error| WorkspaceError::io(DOING, new_objects, error))?;
        let mut known: BTreeSet<&String> = self.now.refs.values().collect();
        known.extend(
            self.now
                .work_trees
                .values()
                .filter_map(|state| match &state.head {
                    Some(Head::Commit(id)) => Some(id),
                    _ => None,
                }),
        );
        let mut wanted: BTreeSet<String> = self.new_refs().map(|(_, id)| id.clone()).collect();
        wanted.extend(self.new_stash().map(|entry| entry.commit.clone()));
        for (name, state) in &self.left.state.work_trees {
            if let Some(Head::Commit(id)) = &state.head {
                wanted.insert(id.clone());
            }
            if self.has_changed_index(name) {
                wanted.extend(self.staged_objects(name, new_objects)?);
            }
        }
        wanted.retain(|id| !known.contains(id));
        if wanted.is_empty() {
            return Ok(());
        }
        let excluded = known.iter().map(|id| format!("^{id}"));
        let names: Vec<String> = wanted.into_iter().chain(excluded).collect();
        let call = |arguments: &[&str]| {
            let mut command = self.reader(self.place());
            command.env("GIT_OBJECT_DIRECTORY", new_objects);
            command.env(
                "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                self.shared.git_dir.join("objects"),
            );
            command.args(arguments);
            command
        };
        if is_plain(self.place(), Path::new("shallow")) {
            let shallow = self.left.scratch.join("reader/shallow");
            fs::copy(self.place().join("shallow"), &shallow)
                .map_err(|error| WorkspaceError::io(DOING, &shallow, error))?;
        }
        let listing = call(&["rev-list", "--objects", "--no-object-names", "--stdin"]);
        let objects =
            git::output_with_input(listing, names.join("\n").into_bytes(), DOING, self.place())?;
        if objects.is_empty() {
            return Ok(());
        }
        let packing = call(&["pack-objects", "--quiet", "--stdout"]);
        let pack = git::output_with_input(packing, objects, DOING, self.place())?;
        let mut unpacking = self.reader(self.place());
        unpacking.args(["unpack-objects", "-q", "--strict"]);
        git::output_with_input(unpacking, pack, DOING, self.place())?;
        Ok(())
    }

    /// Stores the content of files of large-file storage that the agent committed. A file is named by its content's
    /// hash, in two levels of folders.
    fn import_large_files(&self, new_objects: &Path) -> Result<(), TakeOverError> {
        let git_dir = new_objects.parent().unwrap_or(new_objects);
        let folder = Path::new("lfs/objects");
        let names = |path: &Path| {
            let listed = is_plain(git_dir, path).then(|| read_names(&git_dir.join(path)));
            listed.and_then(Result::ok).unwrap_or_default()
        };
        for first in names(folder) {
            for second in names(&folder.join(&first)) {
                let below = folder.join(&first).join(&second);
                for name in names(&below) {
                    let path = below.join(&name);
                    let to = self.place().join(&path);
                    let is_stored = to.exists() || !has_content_of_name(git_dir, &path);
                    if !is_stored {
                        let stored = fs::create_dir_all(self.place().join(&below))
                            .and_then(|()| fs::copy(git_dir.join(&path), &to));
                        stored.map_err(|error| WorkspaceError::io("write", &to, error))?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Objects of files that are staged and not yet stored.
    fn staged_objects(
        &self,
        work_tree: &Path,
        new_objects: &Path,
    ) -> Result<Vec<String>, TakeOverError> {
        let Some(index) = self.left.indexes.get(work_tree) else {
            return Ok(Vec::new());
        };
        let staged = self.list_index(work_tree, Some(index), Some(new_objects))?;
        let before = self.list_index(work_tree, self.shared.start_indexes.get(work_tree), None)?;
        let is_new = |(key, value): &(&(Vec<u8>, u8), &(String, String))| {
            // A submodule's commit is not an object of this repository.
            value.0 != "160000" && before.get(*key) != Some(*value)
        };
        let new = staged.iter().filter(is_new);
        Ok(new.map(|(_, (_, object))| object.clone()).collect())
    }

    fn take_names(&self, notes: &mut Vec<String>) {
        let current: BTreeSet<&String> = self
            .left
            .state
            .work_trees
            .values()
            .filter_map(|state| match &state.head {
                Some(Head::Branch(name)) => Some(name),
                _ => None,
            })
            .collect();
        for (name, id) in self.new_refs() {
            let is_replaceable = !self.start.refs.contains_key(name) || current.contains(name);
            if let Err(error) = self.take_ref(name, id, is_replaceable) {
                notes.push(describe(name, &error));
            }
        }
        for entry in self.new_stash() {
            if let Err(error) = self.take_stash_entry(entry) {
                notes.push(describe("stash entry", &error));
            }
        }
        for name in self.left.state.work_trees.keys() {
            if let Err(error) = self.take_head(name) {
                notes.push(describe("HEAD", &error));
                continue;
            }
            if let Err(error) = self.take_index(name) {
                notes.push(describe("index", &error));
            }
            self.remove_finished_operations(name);
        }
    }

    /// Branches that were created or moved, and new tags.
    fn new_refs(&self) -> impl Iterator<Item = (&String, &String)> {
        self.left.state.refs.iter().filter(|(name, id)| {
            let before = self.start.refs.get(*name);
            let is_new_tag = name.starts_with(TAGS) && before.is_none();
            before != Some(*id) && (name.starts_with(BRANCHES) || is_new_tag)
        })
    }

    fn any_work_tree(&self) -> &Path {
        let mut all = self.shared.work_trees.keys();
        all.next().map_or(Path::new(""), PathBuf::as_path)
    }

    /// Sets a ref, unless that would lose commits of a branch that is not the agent's current one.
    fn take_ref(&self, name: &str, id: &str, is_replaceable: bool) -> Result<(), TakeOverError> {
        let before = self.start.refs.get(name);
        let now = self.now.refs.get(name);
        if now.is_some_and(|now| now == id) {
            return Ok(());
        }
        if before.is_none() {
            self.check_name(name)?;
        }
        if now != before {
            return Err(TakeOverError::ChangedMeanwhile(name.to_owned()));
        }
        if let (false, Some(before)) = (is_replaceable, before) {
            let mut ancestry = self.reader(self.place());
            ancestry.args(["merge-base", "--is-ancestor", before, id]);
            git::output_of(ancestry, DOING, self.place())?;
        }
        let zero = "0".repeat(id.len());
        let old = before.map_or(zero.as_str(), String::as_str);
        let mut command = self.writer(self.any_work_tree());
        command.args([
            "update-ref",
            "--create-reflog",
            "-m",
            "selvedge: an agent's commits",
        ]);
        command.args([name, id, old]);
        git::output_of(command, DOING, self.place())?;
        Ok(())
    }

    /// Rejects the name of a new branch or tag that a prompt or a script could execute, or that could be mistaken for
    /// another name: of a branch, a tag, a remote's branch, `HEAD`, an option, or a commit's id.
    fn check_name(&self, name: &str) -> Result<(), TakeOverError> {
        if is_deceptive(name) {
            return Err(TakeOverError::DeceptiveName);
        }
        let ambiguous = |with: &str| Err(TakeOverError::AmbiguousName(with.to_owned()));
        let short = short_names(name);
        let existing = self.start.refs.keys().chain(self.now.refs.keys());
        for other in existing.filter(|other| *other != name) {
            if short_names(other).iter().any(|it| short.contains(it)) {
                return ambiguous(other);
            }
        }
        for name in &short {
            let is_like_head = !name.contains('/') && name.ends_with("_HEAD");
            if name == "@" || name.eq_ignore_ascii_case("HEAD") || is_like_head {
                return ambiguous("HEAD");
            }
            if name.starts_with('-') {
                return ambiguous("an option");
            }
            // The output of `git describe` ends with an id, too.
            let id = name.rsplit("-g").next().unwrap_or_default();
            if id.len() < MIN_ID_LENGTH || !id.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                continue;
            }
            let mut search = self.reader(self.any_folder());
            search.args(["rev-parse", &format!("--disambiguate={id}")]);
            if is_object_id(id) || !git::output_of(search, DOING, self.place())?.is_empty() {
                return ambiguous("an object");
            }
        }
        Ok(())
    }

    fn any_folder(&self) -> &Path {
        &self.shared.work_trees[self.any_work_tree()]
    }

    fn new_stash(&self) -> impl Iterator<Item = &StashEntry> {
        let known: BTreeSet<&str> = self
            .start
            .stash
            .iter()
            .map(|it| it.commit.as_str())
            .collect();
        let left = self.left.state.stash.iter();
        left.filter(move |it| !known.contains(it.commit.as_str()))
    }

    fn take_stash_entry(&self, entry: &StashEntry) -> Result<(), TakeOverError> {
        let mut command = self.writer(self.any_work_tree());
        command.args([
            "stash",
            "store",
            "--quiet",
            "-m",
            &entry.message,
            &entry.commit,
        ]);
        git::output_of(command, DOING, self.place())?;
        Ok(())
    }

    fn take_head(&self, work_tree: &Path) -> Result<(), TakeOverError> {
        let head = |state: &RepositoryState| state.work_trees.get(work_tree)?.head.clone();
        let (left, start, now) = (head(&self.left.state), head(self.start), head(self.now));
        let Some(left) = left.filter(|left| Some(left) != start.as_ref()) else {
            return Ok(());
        };
        if now.as_ref() == Some(&left) {
            return Ok(());
        }
        if now != start {
            return Err(TakeOverError::ChangedMeanwhile("it".to_owned()));
        }
        if let Head::Branch(name) = &left
            && !self.start.refs.contains_key(name)
        {
            self.check_name(name)?;
        }
        let mut command = self.writer(work_tree);
        match &left {
            Head::Branch(name) => command.args([
                "symbolic-ref",
                "-m",
                "selvedge: an agent's checkout",
                "HEAD",
                name,
            ]),
            Head::Commit(id) => command.args(["update-ref", "--no-deref", "HEAD", id]),
        };
        git::output_of(command, DOING, self.place())?;
        Ok(())
    }

    fn index_path(&self, work_tree: &Path) -> PathBuf {
        self.shared.git_dir.join(work_tree).join("index")
    }

    fn has_changed_index(&self, work_tree: &Path) -> bool {
        let index = |state: &RepositoryState| Some(state.work_trees.get(work_tree)?.index);
        index(&self.left.state) != index(self.start)
    }

    /// Stages what the agent staged: each entry that differs is set in a copy of the user's index, whose other entries
    /// keep their flags.
    fn take_index(&self, work_tree: &Path) -> Result<(), TakeOverError> {
        let Some(index) = self.left.indexes.get(work_tree) else {
            return Ok(());
        };
        if !self.has_changed_index(work_tree) {
            return Ok(());
        }
        let before = self.list_index(work_tree, self.shared.start_indexes.get(work_tree), None)?;
        let after = self.list_index(work_tree, Some(index), None)?;
        if before == after {
            return Ok(());
        }
        let path = self.index_path(work_tree);
        let now = Some(&path).filter(|path| path.exists());
        if self.list_index(work_tree, now, None)? != before {
            return Err(TakeOverError::ChangedMeanwhile("it".to_owned()));
        }
        let new = self.left.scratch.join("new-index");
        remove_all(&new).map_err(|error| WorkspaceError::io("remove", &new, error))?;
        if path.exists() {
            fs::copy(&path, &new).map_err(|error| WorkspaceError::io("copy", &new, error))?;
        }
        let mut command = self.reader(&self.shared.work_trees[work_tree]);
        command.env("GIT_INDEX_FILE", &new);
        command.args(["update-index", "-z", "--index-info"]);
        git::output_with_input(command, index_changes(&before, &after), DOING, self.place())?;
        install_index(&new, &path)
    }

    /// Lists an index; one that does not exist is empty.
    fn list_index(
        &self,
        work_tree: &Path,
        index: Option<&PathBuf>,
        new_objects: Option<&Path>,
    ) -> Result<IndexEntries, TakeOverError> {
        let Some(index) = index else {
            return Ok(IndexEntries::new());
        };
        let mut command = self.reader(&self.shared.work_trees[work_tree]);
        if let Some(new_objects) = new_objects {
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", new_objects);
        }
        command.env("GIT_INDEX_FILE", index);
        command.args(["ls-files", "--stage", "-z"]);
        let listing = git::output_of(command, DOING, self.place())?;
        let records = listing.split(|byte| *byte == 0).filter(|it| !it.is_empty());
        let entries =
            records.map(|record| parse_index_record(record).ok_or(TakeOverError::InvalidIndex));
        entries.collect()
    }

    /// Removes the records of a merge or rebase of the user that the agent finished.
    fn remove_finished_operations(&self, work_tree: &Path) {
        let operations = |state: &RepositoryState| {
            let state = state.work_trees.get(work_tree);
            state.map(|it| it.operations.clone()).unwrap_or_default()
        };
        let is_readable = self
            .left
            .state
            .work_trees
            .get(work_tree)
            .is_some_and(|it| it.head.is_some());
        let left = operations(&self.left.state);
        for name in operations(self.start)
            .difference(&left)
            .filter(|_| is_readable)
        {
            // Git reports it as still in progress.
            let _ = remove_all(&self.shared.git_dir.join(work_tree).join(name));
        }
    }
}

/// Whether a name contains characters that a shell interprets (prompts and scripts evaluate names), or invisible ones.
fn is_deceptive(name: &str) -> bool {
    let is_interpreted = |c: char| "$`\"';|&<>".contains(c);
    name.contains(is_interpreted) || sanitize_line(name) != name
}

/// The names by which git finds a ref. Beginnings of the name of a remote's branch are included, because they name the
/// remote.
fn short_names(name: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::from([name.to_owned()]);
    for prefix in ["refs/", TAGS, BRANCHES, REMOTES] {
        names.extend(name.strip_prefix(prefix).map(str::to_owned));
    }
    let mut remote = name.strip_prefix(REMOTES);
    while let Some((above, _)) = remote.and_then(|it| it.rsplit_once('/')) {
        names.insert(above.to_owned());
        remote = Some(above);
    }
    names
}

/// Whether a plain file is named by the SHA-256 of its content.
fn has_content_of_name(root: &Path, path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
        return false;
    };
    let hash = is_plain(root, path).then(|| hash_file(&root.join(path)));
    hash.and_then(Result::ok).is_some_and(|hash| hash == name)
}

fn hash_file(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (fs::File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 16];
    loop {
        let length = file.read(&mut buffer)?;
        if length == 0 {
            break;
        }
        hash.update(&buffer[..length]);
    }
    let mut digits = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

/// Parses `MODE OBJECT STAGE TAB PATH`.
fn parse_index_record(record: &[u8]) -> Option<(IndexKey, IndexedObject)> {
    let tab = record.iter().position(|byte| *byte == b'\t')?;
    let fields = std::str::from_utf8(&record[..tab]).ok()?;
    let mut fields = fields.split(' ');
    let (mode, object, stage) = (fields.next()?, fields.next()?, fields.next()?);
    let key = (record[tab + 1..].to_vec(), stage.parse().ok()?);
    is_object_id(object).then(|| (key, (mode.to_owned(), object.to_owned())))
}

/// Input of `git update-index -z --index-info` that turns one index into another.
fn index_changes(before: &IndexEntries, after: &IndexEntries) -> Vec<u8> {
    let paths: BTreeSet<&Vec<u8>> = before
        .keys()
        .chain(after.keys())
        .map(|(path, _)| path)
        .collect();
    let of = |entries: &IndexEntries, path: &Vec<u8>| -> Vec<(u8, IndexedObject)> {
        let stages =
            (0..=3).filter_map(|stage| Some((stage, entries.get(&(path.clone(), stage))?.clone())));
        stages.collect()
    };
    let mut input = Vec::new();
    for path in paths {
        let after = of(after, path);
        if of(before, path) == after {
            continue;
        }
        let zero = "0".repeat(after.first().map_or(40, |(_, (_, object))| object.len()));
        let mut add = |mode: &str, object: &str, stage: u8| {
            input.extend_from_slice(format!("{mode} {object} {stage}\t").as_bytes());
            input.extend_from_slice(path);
            input.push(0);
        };
        add("0", &zero, 0);
        for (stage, (mode, object)) in &after {
            add(mode, object, *stage);
        }
    }
    input
}

/// Replaces the user's index under git's own lock.
fn install_index(new: &Path, path: &Path) -> Result<(), TakeOverError> {
    let lock = path.with_extension("lock");
    let mut file = match fs::File::create_new(&lock) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(TakeOverError::Locked(lock));
        }
        opened => opened.map_err(|error| WorkspaceError::io("write", &lock, error))?,
    };
    let written = fs::File::open(new)
        .and_then(|mut new| io::copy(&mut new, &mut file))
        .and_then(|_| fs::rename(&lock, path));
    written.map_err(|error| {
        // It is ours.
        let _ = fs::remove_file(&lock);
        WorkspaceError::io("write", path, error).into()
    })
}

/// Copies the files that a split index refers to.
fn copy_shared_indexes(
    git_dir: &Path,
    work_tree: &Path,
    reader: &Path,
) -> Result<(), WorkspaceError> {
    let folder = git_dir.join(work_tree);
    for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.as_encoded_bytes().starts_with(b"sharedindex.") {
            continue;
        }
        let to = reader.join(&name);
        if let Ok(bytes) = read_plain(git_dir, &work_tree.join(&name))
            && !to.exists()
        {
            write(&to, &bytes)?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), WorkspaceError> {
    fs::write(path, bytes).map_err(|error| WorkspaceError::io("write", path, error))
}
