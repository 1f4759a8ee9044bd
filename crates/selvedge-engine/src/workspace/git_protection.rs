//! Keeps the user's git directories out of reach of the code that agents and checks run: those of the workspace's
//! repository, of its linked work trees, of submodules and of nested repositories, and the paths in the work tree that
//! git obeys because of their settings. Git would execute hooks and commands in them, outside of any sandbox, at the
//! user's next `git status`.
//!
//! - With a sandbox that can mount, a session works with private copies, mounted in place of the originals
//!   ([`GitProtection::mounts`]). Objects of the originals can be read.
//!   Afterwards an agent's commits, staged files and stash entries are taken over (`take_over`).
//! - Otherwise sessions work in the originals. Afterwards they are restored from copies, except objects, and commits,
//!   staged files and stash entries are taken over in the same way.
//!
//! In both cases `.git` entries and bare repositories that appeared in the work tree are moved out of it, and changes of
//! programs in the work tree that git runs are reported.

mod configured_paths;
mod copy;
mod entries;
mod named_programs;
mod state;
mod take_over;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use self::configured_paths::{GitSetting, configured_paths, git_settings};
use self::copy::{
    CopyPurpose, ORIGINAL_MOUNT, ProtectedCopy, RestoredPath, remove_all,
    resolve_as_far_as_possible,
};
use self::entries::{GitEntries, GitEntry};
use self::named_programs::NamedPrograms;
use self::state::is_plain;
use self::take_over::{AgentChanges, SharedRepository};
use super::error::WorkspaceError;
use super::git::{self, GitProgram};
use super::repository::Repository;
use super::verification_room::VerificationRoomMount;

const DOING: &str = "protect the git directory";
/// Maximum number of repositories with a private copy; the git directories of further ones are read-only.
const MAX_PRIVATE_COPIES: usize = 64;
/// Maximum number of files in a folder of hooks that gets a private copy; a larger one is read-only.
const MAX_TARGET_FILES: usize = 500;
/// Files and folders by which git recognizes a git directory, and its settings.
const BARE_FILES: [&str; 3] = ["HEAD", "commondir", "config"];

/// The code that a session runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProtectedSession {
    /// An agent: its commits are taken over. New `.git` entries are moved out of the work tree.
    Agent,
    /// Checks: changes of git directories are discarded. New `.git` entries stay in ignored folders: builds fetch
    /// dependencies there, and the user's git does not enter them.
    Check,
    /// Installation of dependencies: as for checks, but all new `.git` entries stay.
    Setup,
}

/// Protects the git directories of a workspace during one session.
#[derive(Debug)]
pub(crate) struct GitProtection {
    /// `None` if git is not installed.
    git: Option<GitProgram>,
    workspace: PathBuf,
    /// Folder of the copies.
    folder: PathBuf,
    /// Folder for entries that are moved out of the work tree; created when needed.
    aside: PathBuf,
    is_mounted: bool,
    session: ProtectedSession,
    /// Existing `.git` entries, relative to the workspace.
    entries: BTreeMap<PathBuf, GitEntry>,
    /// Existing bare repositories, relative to the workspace.
    bare: BTreeSet<PathBuf>,
    git_dirs: Vec<ProtectedGitDir>,
    targets: Vec<ProtectedTarget>,
    /// Paths outside of the workspace that git obeys: they are never written.
    outside: Vec<ProtectedCopy>,
    repositories: Vec<SharedRepository>,
    programs: NamedPrograms,
}

#[derive(Debug)]
struct ProtectedGitDir {
    /// `None` if it is only mounted read-only.
    copy: Option<ProtectedCopy>,
    path: PathBuf,
}

/// A path in the work tree that git obeys.
#[derive(Debug)]
struct ProtectedTarget {
    path: PathBuf,
    /// `None` if it does not exist.
    backup: Option<ProtectedCopy>,
    /// For a folder, what is mounted in its place.
    private: Option<ProtectedCopy>,
}

impl GitProtection {
    /// Records and copies what has to be protected. `can_mount` states whether the session's sandbox can mount other
    /// folders; the caller then passes it [`mounts`](Self::mounts). `folder` is a folder of the run.
    ///
    /// # Errors
    /// The workspace cannot be read, or the disk is full.
    pub(crate) fn begin(
        workspace: &Path,
        folder: &Path,
        session: ProtectedSession,
        can_mount: bool,
    ) -> Result<Self, WorkspaceError> {
        let to_error = |error| WorkspaceError::io(DOING, workspace, error);
        let workspace = workspace.canonicalize().map_err(to_error)?;
        let copies = folder.join("copies");
        remove_all(&copies)
            .and_then(|()| fs::create_dir_all(&copies))
            .map_err(to_error)?;
        let entries = GitEntries::find(&workspace).map_err(to_error)?;
        let mut protection = Self {
            git: GitProgram::find(&workspace).ok(),
            entries: entries.found.clone(),
            bare: entries.bare.clone(),
            workspace,
            folder: copies,
            aside: folder.join("moved"),
            is_mounted: can_mount,
            session,
            git_dirs: Vec::new(),
            targets: Vec::new(),
            outside: Vec::new(),
            repositories: Vec::new(),
            programs: NamedPrograms::default(),
        };
        protection.copy_git_dirs().map_err(to_error)?;
        let configured = protection.configured_repositories();
        protection.copy_targets(&configured).map_err(to_error)?;
        // Without mounts, a user's commits cannot be distinguished from those of a session.
        if session == ProtectedSession::Agent || !can_mount {
            protection.repositories = protection.find_repositories()?;
        }
        for (repository, settings) in &configured {
            let workspace = &protection.workspace;
            protection.programs.add(workspace, repository, settings);
        }
        Ok(protection)
    }

    /// The mounts that keep the originals out of reach, by absolute paths.
    pub(crate) fn mounts(&self) -> Vec<VerificationRoomMount> {
        if !self.is_mounted {
            return Vec::new();
        }
        let mount = |source: &Path, mount_point: &Path, is_writable| VerificationRoomMount {
            source: source.to_owned(),
            mount_point: mount_point.to_owned(),
            is_writable,
        };
        let mut mounts = Vec::new();
        for ProtectedGitDir { path, copy } in &self.git_dirs {
            match copy {
                Some(copy) => {
                    mounts.push(mount(&copy.copy, path, true));
                    if !copy.repositories.is_empty() {
                        mounts.push(mount(path, &path.join(ORIGINAL_MOUNT), false));
                    }
                }
                None => mounts.push(mount(path, path, false)),
            }
        }
        // A pointer cannot be replaced.
        for (path, entry) in &self.entries {
            if matches!(entry, GitEntry::Pointer(_)) {
                let path = self.workspace.join(path);
                mounts.push(mount(&path, &path, false));
            }
        }
        for target in &self.targets {
            match (&target.private, &target.backup) {
                (Some(private), _) => mounts.push(mount(&private.copy, &target.path, true)),
                (None, Some(_)) => mounts.push(mount(&target.path, &target.path, false)),
                (None, None) => {}
            }
        }
        mounts
    }

    /// Restores what the session changed, and takes over an agent's commits. Returns descriptions of what was restored,
    /// discarded or moved away. No process of the session may be running.
    pub(crate) fn end(self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.is_mounted {
            self.describe_discarded(&mut notes);
        }
        self.restore_entries(&mut notes);
        // Right before anything is restored, because that discards it.
        let left = self.read_changes(&mut notes);
        if !self.is_mounted {
            for copy in self.git_dirs.iter().filter_map(|it| it.copy.as_ref()) {
                self.restore_copy(copy, &mut notes);
            }
        }
        self.restore_targets(&mut notes);
        let changed = self.outside.iter().filter(|copy| copy.is_changed());
        let outside = "it is outside the workspace";
        notes.extend(
            changed.map(|it| format!("{} (not restored: {outside})", it.original.display())),
        );
        for (repository, left, new_objects) in left {
            if let Some(git) = &self.git {
                notes.extend(repository.take_over(git, &left, new_objects.as_deref()));
            }
        }
        let changed = self.programs.changed(&self.workspace).into_iter();
        notes.extend(changed.map(|path| format!("changed what git will run: {}", path.display())));
        // The next session removes what remains.
        let _ = remove_all(&self.folder);
        let mut seen = BTreeSet::new();
        notes.retain(|note| seen.insert(note.clone()));
        notes
    }

    fn copy_path(&self, kind: &str, number: usize) -> PathBuf {
        self.folder.join(format!("{kind}-{number}"))
    }

    fn copy_git_dirs(&mut self) -> io::Result<()> {
        let purpose = if self.is_mounted {
            CopyPurpose::Private
        } else {
            CopyPurpose::Backup
        };
        for (number, path) in self.find_git_dirs().into_iter().enumerate() {
            let has_copy = !self.is_mounted || number < MAX_PRIVATE_COPIES;
            let create = || ProtectedCopy::create(&path, &self.copy_path("git", number), purpose);
            let copy = has_copy.then(create).transpose()?;
            self.git_dirs.push(ProtectedGitDir { copy, path });
        }
        Ok(())
    }

    /// Finds the git directories that a session could write otherwise; none is inside of another one.
    fn find_git_dirs(&self) -> Vec<PathBuf> {
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        for (path, entry) in &self.entries {
            let path = self.workspace.join(path);
            if matches!(entry, GitEntry::Folder(_)) {
                found.insert(path);
                continue;
            }
            let Some(git_dir) = resolve_entry(&path) else {
                continue;
            };
            let common = git_dir.join("commondir");
            let common = fs::read_to_string(common)
                .ok()
                .and_then(|line| git_dir.join(line.trim()).canonicalize().ok());
            found.extend(
                [Some(git_dir), common]
                    .into_iter()
                    .flatten()
                    .filter(|it| it.starts_with(&self.workspace)),
            );
        }
        found.extend(main_repository(&self.workspace));
        let is_inside =
            |path: &PathBuf| path.ancestors().skip(1).any(|above| found.contains(above));
        let all = found.iter().filter(|path| !is_inside(path));
        // A git directory that contains the workspace cannot be replaced by a copy.
        all.filter(|path| !self.workspace.starts_with(path))
            .cloned()
            .collect()
    }

    fn copy_targets(&mut self, configured: &[(Repository, Vec<GitSetting>)]) -> io::Result<()> {
        let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
        let copies = self.git_dirs.iter().filter_map(|it| it.copy.as_ref());
        for (link, target) in copies.flat_map(|copy| &copy.links) {
            // Refs and objects that are links are not executed.
            if !link.starts_with("refs") && !link.starts_with("objects") {
                paths.insert(target.clone());
            }
        }
        for (repository, settings) in configured {
            paths.extend(configured_paths(settings, repository.root()));
        }
        let is_relevant = |path: &PathBuf| {
            let is_in_git_dir = self.git_dirs.iter().any(|it| path.starts_with(&it.path));
            let contains_git_dir = self.git_dirs.iter().any(|it| it.path.starts_with(path));
            !is_in_git_dir && !contains_git_dir && !self.workspace.starts_with(path)
        };
        paths.retain(is_relevant);
        for (number, path) in paths.into_iter().enumerate() {
            let create = |kind: &str, purpose| {
                ProtectedCopy::create(&path, &self.copy_path(kind, number), purpose)
            };
            let exists = path.symlink_metadata().is_ok();
            if !path.starts_with(&self.workspace) {
                if exists && !self.is_mounted && has_few_files(&path) {
                    let copy = create("outside", CopyPurpose::Backup)?;
                    self.outside.push(copy);
                }
                continue;
            }
            let (mut backup, mut private) = (None, None);
            if exists {
                backup = Some(create("target", CopyPurpose::Backup)?);
                if self.is_mounted && path.is_dir() && has_few_files(&path) {
                    private = Some(create("private-target", CopyPurpose::Private)?);
                }
            }
            self.targets.push(ProtectedTarget {
                path,
                backup,
                private,
            });
        }
        Ok(())
    }

    /// The repositories in the workspace, and their settings.
    fn configured_repositories(&self) -> Vec<(Repository, Vec<GitSetting>)> {
        let entries = self.entries.keys().take(MAX_PRIVATE_COPIES);
        let repositories = entries.filter_map(|path| {
            let work_tree = self.workspace.join(path.parent().unwrap_or(Path::new("")));
            let repository = Repository::at(&work_tree)?;
            let git = self.git.as_ref()?;
            let settings = git_settings(git, repository.git_dir(), repository.root());
            Some((repository, settings))
        });
        repositories.collect()
    }

    /// Finds the repositories whose commits are taken over, with their work trees in the workspace.
    fn find_repositories(&self) -> Result<Vec<SharedRepository>, WorkspaceError> {
        let mut found: BTreeMap<PathBuf, (BTreeMap<PathBuf, PathBuf>, _)> = BTreeMap::new();
        for path in self.entries.keys() {
            let work_tree = self.workspace.join(path.parent().unwrap_or(Path::new("")));
            let Some(repository) = Repository::at(&work_tree) else {
                continue;
            };
            let canonical = |path: &Path| path.canonicalize().ok();
            let (Some(common), Some(git_dir)) = (
                canonical(&repository.common_git_dir()),
                canonical(repository.git_dir()),
            ) else {
                continue;
            };
            let Ok(below) = git_dir.strip_prefix(&common) else {
                continue;
            };
            let format = repository.object_format();
            let (work_trees, _) = found
                .entry(common.clone())
                .or_insert_with(|| (BTreeMap::new(), format));
            work_trees.insert(below.to_owned(), work_tree);
        }
        let is_copied = |path: &PathBuf| {
            self.git_dirs
                .iter()
                .any(|it| it.copy.is_some() && path.starts_with(&it.path))
        };
        found.retain(|path, _| is_copied(path));
        if !self.is_mounted {
            for (path, (work_trees, _)) in &mut found {
                add_all_work_trees(path, work_trees);
            }
        }
        let shared = found.into_iter().enumerate();
        let shared = shared.map(|(number, (path, (work_trees, format)))| {
            SharedRepository::new(path, work_trees, format, &self.copy_path("start", number))
        });
        shared.collect()
    }

    /// Reads what the agent left in each repository, with the folder of its new objects, if it has its own.
    fn read_changes(
        &self,
        notes: &mut Vec<String>,
    ) -> Vec<(&SharedRepository, AgentChanges, Option<PathBuf>)> {
        let mut all = Vec::new();
        for (number, repository) in self.repositories.iter().enumerate() {
            let owner = self.git_dirs.iter();
            let mut owner = owner.filter(|it| repository.git_dir.starts_with(&it.path));
            let Some(copy) = owner.next().and_then(|it| it.copy.as_ref()) else {
                continue;
            };
            let below = repository.git_dir.strip_prefix(&copy.original);
            let below = below.unwrap_or(Path::new(""));
            // The agent moved the repository, or put a link in the place of a folder above it.
            let root = if self.is_mounted {
                &copy.copy
            } else {
                &copy.original
            };
            if !copy.is_in_place() || !is_plain(root, below) {
                continue;
            }
            let git_dir = root.join(below);
            let new_objects = self.is_mounted.then(|| git_dir.join("objects"));
            let scratch = self.copy_path("scratch", number);
            let left = fs::create_dir_all(&scratch)
                .map_err(|error| WorkspaceError::io(DOING, &scratch, error))
                .and_then(|()| repository.read_changes(&git_dir, &scratch));
            match left {
                Ok(Some(left)) => all.push((repository, left, new_objects)),
                Ok(None) => {}
                Err(error) => notes.push(format!("commits (not taken over: {error})")),
            }
        }
        all
    }

    /// Describes changes of private copies that could have made git execute something.
    fn describe_discarded(&self, notes: &mut Vec<String>) {
        let git_dirs = self.git_dirs.iter().filter_map(|it| it.copy.as_ref());
        for copy in git_dirs {
            let changed = copy.changed_settings();
            notes.extend(changed.iter().map(|path| self.name(&copy.original, path)));
        }
        for private in self.targets.iter().filter_map(|it| it.private.as_ref()) {
            if private.is_changed() {
                notes.push(self.name(&private.original, Path::new("")));
            }
        }
    }

    fn describe_restored(&self, root: &Path, restored: Vec<RestoredPath>, notes: &mut Vec<String>) {
        notes.extend(
            restored
                .into_iter()
                .map(|(path, done)| describe(&self.name(root, &path), done)),
        );
    }

    /// Name of a path for people: relative to the workspace, or below `.git` if that leads elsewhere.
    fn name(&self, root: &Path, path: &Path) -> String {
        let shown = match root.strip_prefix(&self.workspace) {
            Ok(below) => below.join(path),
            Err(_) => Path::new(".git").join(path),
        };
        let shown = shown.display().to_string();
        shown.trim_end_matches('/').to_owned()
    }

    /// Moves new `.git` entries, and the files that make a folder a bare repository, out of the work tree; restores
    /// changed pointers and links.
    fn restore_entries(&self, notes: &mut Vec<String>) {
        let mut now = match GitEntries::find(&self.workspace) {
            Ok(now) => now,
            Err(error) => {
                notes.push(format!(".git (not searched: {error})"));
                return;
            }
        };
        let known: BTreeSet<_> = self.entries.values().filter_map(folder_id).collect();
        for (path, entry) in now.found.clone() {
            // A session cannot write an original that is covered by a mount, wherever it moved the folder above.
            let is_moved =
                self.is_mounted && folder_id(&entry).is_some_and(|id| known.contains(&id));
            if self.entries.get(&path) == Some(&entry) || is_moved {
                continue;
            }
            if !self.entries.contains_key(&path) && self.is_kept(&path) {
                continue;
            }
            notes.push(self.move_aside(&path, |to| now.move_aside(&path, to)));
        }
        for folder in now.bare.clone().difference(&self.bare) {
            let paths = BARE_FILES.map(|name| folder.join(name));
            if self.is_kept(&paths[0]) {
                continue;
            }
            for path in &paths {
                if now.exists(path) {
                    notes.push(self.move_aside(path, |to| now.move_aside(path, to)));
                }
            }
        }
        drop(now);
        for (path, entry) in &self.entries {
            let at = self.workspace.join(path);
            let is_missing = at.symlink_metadata().is_err();
            let has_folder =
                self.first_link_above(&at).is_none() && at.parent().is_some_and(Path::is_dir);
            let restored = match entry {
                GitEntry::Link(target) if is_missing && has_folder => symlink(target, &at),
                GitEntry::Pointer(bytes) if is_missing && has_folder => fs::write(&at, bytes),
                _ => continue,
            };
            notes.push(describe(&path.display().to_string(), restored));
        }
    }

    /// Whether a new `.git` entry of this session stays where it is.
    fn is_kept(&self, path: &Path) -> bool {
        match self.session {
            ProtectedSession::Agent => false,
            ProtectedSession::Setup => true,
            ProtectedSession::Check => path.parent().is_some_and(|folder| self.is_ignored(folder)),
        }
    }

    /// Whether git ignores a folder and does not track anything in it, not even a commit of a nested repository.
    fn is_ignored(&self, folder: &Path) -> bool {
        let repository = Repository::containing(&self.workspace);
        let (Some(git), Some(repository)) = (&self.git, repository) else {
            return false;
        };
        let mut command = git.command(repository.git_dir(), &self.workspace);
        command.env("GIT_WORK_TREE", repository.root());
        command.args(["check-ignore", "--quiet", "--"]).arg(folder);
        let output = git::run(command, "apply the ignore rules", &self.workspace);
        output.is_ok_and(|output| output.status.success())
    }

    /// Restores the paths that git obeys, and moves those away that did not exist.
    fn restore_targets(&self, notes: &mut Vec<String>) {
        for target in &self.targets {
            let path = &target.path;
            match &target.backup {
                Some(backup) if self.is_mounted && backup.is_in_place() => {}
                Some(backup) => self.restore_copy(backup, notes),
                None if path.symlink_metadata().is_ok() => {
                    // A link above it would lead to a folder outside of the workspace.
                    let path = self.first_link_above(path).unwrap_or_else(|| path.clone());
                    let below = path
                        .strip_prefix(&self.workspace)
                        .unwrap_or(&path)
                        .to_owned();
                    notes.push(self.move_aside(&below, |to| copy::move_or_copy(&path, to)));
                }
                None => {}
            }
        }
    }

    fn restore_copy(&self, copy: &ProtectedCopy, notes: &mut Vec<String>) {
        match self.make_parents(&copy.original) {
            Ok(()) => self.describe_restored(&copy.original, copy.restore(&self.workspace), notes),
            Err(error) => notes.push(describe(
                &self.name(&copy.original, Path::new("")),
                Err(error),
            )),
        }
    }

    /// Returns the topmost folder above a path of the workspace that is a link.
    fn first_link_above(&self, path: &Path) -> Option<PathBuf> {
        let above = path.ancestors().skip(1);
        let above = above.take_while(|it| it.starts_with(&self.workspace) && *it != self.workspace);
        above
            .filter(|it| it.is_symlink())
            .last()
            .map(Path::to_owned)
    }

    /// Creates the folders above a path, replacing links and files in their places.
    fn make_parents(&self, path: &Path) -> io::Result<()> {
        let below = path
            .parent()
            .and_then(|above| above.strip_prefix(&self.workspace).ok());
        let mut at = self.workspace.clone();
        for part in below.into_iter().flat_map(Path::components) {
            at.push(part);
            if !at.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                remove_all(&at)?;
                fs::create_dir(&at)?;
            }
        }
        Ok(())
    }

    /// Moves a path to a new one in the run's folder and describes that.
    fn move_aside(&self, path: &Path, mut move_to: impl FnMut(&Path) -> io::Result<()>) -> String {
        let name = path.to_string_lossy().replace('/', "%");
        let name: String = name.chars().take(60).collect();
        let moved = fs::create_dir_all(&self.aside).and_then(|()| {
            let mut numbers = (0..).map(|number| self.aside.join(format!("{number}-{name}")));
            let to = numbers.find(|to| to.symlink_metadata().is_err());
            let to = to.ok_or(io::ErrorKind::AlreadyExists)?;
            move_to(&to).map(|()| to)
        });
        match moved {
            Ok(to) => format!("{} (moved to {})", path.display(), to.display()),
            Err(error) => format!("{} (not moved away: {error})", path.display()),
        }
    }
}

fn folder_id(entry: &GitEntry) -> Option<entries::FileId> {
    match entry {
        GitEntry::Folder(id) => Some(*id),
        _ => None,
    }
}

fn describe(name: &str, done: io::Result<()>) -> String {
    match done {
        Ok(()) => name.to_owned(),
        Err(error) => format!("{name} (not restored: {error})"),
    }
}

/// Adds the work trees of a repository that are not in the workspace, by their git directories.
fn add_all_work_trees(common: &Path, work_trees: &mut BTreeMap<PathBuf, PathBuf>) {
    if let (true, Some(main)) = (common.ends_with(".git"), common.parent()) {
        let main = main.to_owned();
        work_trees.entry(PathBuf::new()).or_insert(main);
    }
    let linked = Path::new("worktrees");
    for name in copy::read_names(&common.join(linked)).unwrap_or_default() {
        let below = linked.join(name);
        let git_dir = common.join(&below);
        let Ok(pointer) = fs::read(git_dir.join("gitdir")) else {
            continue;
        };
        let entry = git_dir.join(copy::path_from(pointer.trim_ascii_end()));
        if let Some(work_tree) = entry.parent().filter(|it| it.is_dir()) {
            let work_tree = work_tree.to_owned();
            work_trees.entry(below).or_insert(work_tree);
        }
    }
}

fn has_few_files(folder: &Path) -> bool {
    let mut count = 0;
    let mut pending = vec![folder.to_owned()];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            count += 1;
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
        if count > MAX_TARGET_FILES {
            return false;
        }
    }
    true
}

/// Returns the folder that a `.git` entry leads to.
fn resolve_entry(entry: &Path) -> Option<PathBuf> {
    let reached = entry.canonicalize().ok()?;
    if reached.is_dir() {
        return Some(reached);
    }
    let bytes = fs::read(&reached).ok()?;
    let target = bytes.strip_prefix(b"gitdir: ")?.trim_ascii_end();
    let target = reached.parent()?.join(copy::path_from(target));
    let target = resolve_as_far_as_possible(&target);
    target.is_dir().then_some(target)
}

/// Returns the common git directory, if the workspace is a linked work tree of a repository elsewhere. Code in the
/// workspace could write the pointer, so its target is accepted only as `worktrees/NAME` of a repository with a file
/// that points back.
pub(crate) fn main_repository(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join(".git");
    let pointer = fs::read_to_string(&own).ok()?;
    let folder = workspace.join(pointer.strip_prefix("gitdir:")?.trim());
    let folder = folder.canonicalize().ok()?;
    let worktrees = folder.parent().filter(|path| path.ends_with("worktrees"))?;
    let repository = worktrees.parent()?;
    let back = fs::read_to_string(folder.join("gitdir")).ok()?;
    let points_back = folder.join(back.trim()).canonicalize().ok() == own.canonicalize().ok();
    let lies_elsewhere = !repository.starts_with(workspace);
    (points_back && lies_elsewhere).then(|| repository.to_owned())
}
