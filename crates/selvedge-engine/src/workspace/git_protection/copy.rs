//! A copy of a git directory, or of another path that git obeys: the private one that a session works with, or the one
//! from which the original is restored. Links are copied and never followed.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, linkat};

use super::super::fingerprint::FileFingerprint;
use super::super::tree_copy::{PERMISSIONS, copy_file, keep_owner, no_follow};
use super::entries::FileId;
use super::state::{OPERATIONS, WORK_TREE_RECORDS};
pub(super) use crate::removal::remove_all;

/// Folders of a git directory whose files are named by their content: shared with a private copy, linked in a backup.
const CONTENT_FOLDERS: [&str; 3] = ["objects", "lfs", "annex"];
/// Where the original of a private copy is mounted, read-only.
pub(super) const ORIGINAL_MOUNT: &str = "selvedge-original";
/// Maximum bytes of content that a backup copies where it cannot link.
const MAX_COPIED_CONTENT: u64 = 1 << 30;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CopyPurpose {
    /// To be mounted in place of the original.
    Private,
    /// To restore the original.
    Backup,
}

/// A copy of a file or folder, with records of what it does not contain.
#[derive(Debug)]
pub(super) struct ProtectedCopy {
    pub(super) original: PathBuf,
    pub(super) copy: PathBuf,
    id: FileId,
    purpose: CopyPurpose,
    /// Git directories in it: itself, and those of submodules.
    pub(super) repositories: Vec<PathBuf>,
    /// Links in it, by their paths, with the paths that they lead to.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// Entries that cannot be copied.
    uncopied: BTreeMap<PathBuf, FileFingerprint>,
    /// Files with other names, which stay the same files when they are restored.
    linked: BTreeMap<PathBuf, File>,
    copied_content: u64,
}

impl ProtectedCopy {
    pub(super) fn create(original: &Path, copy: &Path, purpose: CopyPurpose) -> io::Result<Self> {
        let mut created = Self {
            original: original.to_owned(),
            copy: copy.to_owned(),
            id: FileId::from_metadata(&original.symlink_metadata()?),
            purpose,
            repositories: Vec::new(),
            links: Vec::new(),
            uncopied: BTreeMap::new(),
            linked: BTreeMap::new(),
            copied_content: 0,
        };
        created.copy_entry(Path::new(""))?;
        Ok(created)
    }

    /// Whether the original is still the same file or folder.
    pub(super) fn is_in_place(&self) -> bool {
        FileId::of(&self.original) == Some(self.id)
    }

    fn copy_entry(&mut self, path: &Path) -> io::Result<()> {
        let (from, to) = (at(&self.original, path), at(&self.copy, path));
        let found = from.symlink_metadata()?;
        if found.is_symlink() {
            let target = fs::read_link(&from)?;
            symlink(&target, &to)?;
            self.links
                .push((path.to_owned(), link_target(&from, &target)));
            return Ok(());
        }
        if found.is_dir() {
            return self.copy_folder(path, &found);
        }
        let is_private = self.purpose == CopyPurpose::Private;
        if is_private && is_sample(path) || is_lock(path) && (is_private || !self.is_setting(path))
        {
            return Ok(());
        }
        let copied = if found.is_file() {
            copy_file(&from, &to, &found)
        } else {
            Err(io::ErrorKind::Unsupported.into())
        };
        match copied {
            Ok(file) if found.nlink() > 1 && self.purpose == CopyPurpose::Backup => {
                self.linked.insert(path.to_owned(), file);
            }
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::StorageFull => return Err(error),
            Err(_) => self.skip(path, &found),
        }
        Ok(())
    }

    fn copy_folder(&mut self, path: &Path, found: &Metadata) -> io::Result<()> {
        let (from, to) = (at(&self.original, path), at(&self.copy, path));
        let Ok(names) = read_names(&from) else {
            self.skip(path, found);
            return Ok(());
        };
        fs::create_dir(&to)?;
        let is_repository =
            names.contains(OsStr::new("HEAD")) && names.contains(OsStr::new("objects"));
        if is_repository {
            self.repositories.push(path.to_owned());
        }
        for name in names {
            let is_content = is_repository && CONTENT_FOLDERS.iter().any(|it| name == *it);
            let path = path.join(name);
            match self.purpose {
                CopyPurpose::Private if is_content => {}
                CopyPurpose::Backup if is_content => self.link_content(&path)?,
                _ => self.copy_entry(&path)?,
            }
        }
        if is_repository && self.purpose == CopyPurpose::Private {
            self.borrow_objects(path)?;
        }
        let is_root = path.as_os_str().is_empty();
        if is_root && self.purpose == CopyPurpose::Private && !self.repositories.is_empty() {
            fs::create_dir_all(self.copy.join(ORIGINAL_MOUNT))?;
        }
        // Last, because the folder may be read-only.
        keep_owner(&to, found);
        fs::set_permissions(&to, Permissions::from_mode(found.mode() & PERMISSIONS))
    }

    fn skip(&mut self, path: &Path, found: &Metadata) {
        self.uncopied
            .insert(path.to_owned(), FileFingerprint::from_metadata(found));
    }

    /// Adds files that are named by their content to a backup: as links, which cost no space. They are copied if the
    /// backup is on another file system.
    fn link_content(&mut self, path: &Path) -> io::Result<()> {
        let (from, to) = (at(&self.original, path), at(&self.copy, path));
        let found = from.symlink_metadata()?;
        if found.is_dir() {
            let Ok(names) = read_names(&from) else {
                self.skip(path, &found);
                return Ok(());
            };
            fs::create_dir(&to)?;
            for name in names {
                self.link_content(&path.join(name))?;
            }
            keep_owner(&to, &found);
            return fs::set_permissions(&to, Permissions::from_mode(found.mode() & PERMISSIONS));
        }
        if !found.is_file() || path.parent().is_some_and(|it| it.ends_with("objects/info")) {
            return self.copy_entry(path);
        }
        if fs::hard_link(&from, &to).is_err() {
            self.copied_content += found.len();
            if self.copied_content > MAX_COPIED_CONTENT || copy_file(&from, &to, &found).is_err() {
                self.skip(path, &found);
            }
        }
        Ok(())
    }

    /// Makes a private git directory read the objects of the original, which is mounted in it.
    fn borrow_objects(&self, repository: &Path) -> io::Result<()> {
        let info = at(&self.copy, repository).join("objects/info");
        fs::create_dir_all(&info)?;
        // Relative to `objects`, and absolute for libraries that read no relative paths.
        let mut borrowed = PathBuf::from("..");
        borrowed.extend(repository.iter().map(|_| ".."));
        borrowed.push(ORIGINAL_MOUNT);
        borrowed.push(repository);
        borrowed.push("objects");
        let inside = self.original.join(ORIGINAL_MOUNT).join(repository);
        let inside = inside.join("objects");
        let lines = [borrowed, inside];
        let lines = lines.map(|path| [path.as_os_str().as_bytes(), b"\n"].concat());
        fs::write(info.join("alternates"), lines.concat())
    }

    /// Finds the paths, relative to the original, that decide what git executes and that differ in the copy.
    pub(super) fn changed_settings(&self) -> Vec<PathBuf> {
        let mut changed = Vec::new();
        let has_head = |root: &Path| root.join("HEAD").symlink_metadata().is_ok();
        if has_head(&self.original) && !has_head(&self.copy) {
            return vec![PathBuf::new()];
        }
        self.find_changed_settings(Path::new(""), &mut changed);
        changed
    }

    /// Whether anything in the copy of a folder differs from the original.
    pub(super) fn is_changed(&self) -> bool {
        let mut pending = vec![PathBuf::new()];
        while let Some(path) = pending.pop() {
            let (original, copy) = (at(&self.original, &path), at(&self.copy, &path));
            if self.uncopied.contains_key(&path) {
                continue;
            }
            if !has_same_content(&original, &copy) {
                return true;
            }
            if copy.symlink_metadata().is_ok_and(|it| it.is_dir()) {
                let mut names = read_names(&original).unwrap_or_default();
                names.extend(read_names(&copy).unwrap_or_default());
                pending.extend(names.into_iter().map(|name| path.join(name)));
            }
        }
        false
    }

    fn find_changed_settings(&self, folder: &Path, changed: &mut Vec<PathBuf>) {
        let (original, copy) = (at(&self.original, folder), at(&self.copy, folder));
        let mut names = read_names(&original).unwrap_or_default();
        match read_names(&copy) {
            Ok(copied) => names.extend(copied),
            Err(_) => return changed.push(folder.to_owned()),
        }
        for name in names {
            let path = folder.join(&name);
            if path == Path::new(ORIGINAL_MOUNT) || CONTENT_FOLDERS.iter().any(|it| name == *it) {
                continue;
            }
            let (one, other) = (original.join(&name), copy.join(&name));
            let is_folder = |path: &Path| path.symlink_metadata().is_ok_and(|it| it.is_dir());
            if is_folder(&one) && is_folder(&other) {
                self.find_changed_settings(&path, changed);
            } else if self.is_setting(&path)
                && !is_sample(&path)
                && !self.uncopied.contains_key(&path)
                && !has_same_content(&one, &other)
            {
                changed.push(path);
            }
        }
    }

    /// Restores the original from this backup. Objects that a session added to a git directory stay, as do the names of
    /// work trees outside of the workspace, where others work meanwhile. Links that did not exist are removed. Returns
    /// the restored paths, relative to the original.
    pub(super) fn restore(&self, workspace: &Path) -> Vec<RestoredPath> {
        let mut restored = Vec::new();
        let scope = if self.repositories.is_empty() {
            RestoreScope::Everything
        } else {
            RestoreScope::Names
        };
        self.restore_entry(workspace, Path::new(""), scope, &mut restored);
        restored
    }

    fn restore_entry(
        &self,
        workspace: &Path,
        path: &Path,
        mut scope: RestoreScope,
        restored: &mut Vec<RestoredPath>,
    ) {
        let (original, copy) = (at(&self.original, path), at(&self.copy, path));
        let Ok(wanted) = copy.symlink_metadata() else {
            return;
        };
        let is_kept = || self.is_of_work_tree_elsewhere(workspace, path) || self.is_reftable(path);
        if scope == RestoreScope::Names && is_kept() {
            scope = RestoreScope::Settings;
        }
        if wanted.is_dir() {
            self.restore_folder(workspace, path, scope, &wanted, restored);
        } else if self.is_restored(path, scope, &wanted) {
            let is_new_link = original.is_symlink() && !wanted.is_symlink();
            let is_file_itself = |file: &File| {
                let own = file.metadata().ok().map(|it| FileId::from_metadata(&it));
                own == FileId::of(&original)
            };
            let is_same = is_same_file(&original, &wanted)
                || has_same_content(&original, &copy)
                    && self.linked.get(path).is_none_or(is_file_itself);
            if !is_same && is_new_link {
                record(restored, path, self.restore_file(path, &wanted));
            } else if !is_same {
                self.note(restored, path, self.restore_file(path, &wanted));
            }
        }
    }

    /// Whether a file or link is restored if it differs.
    fn is_restored(&self, path: &Path, scope: RestoreScope, wanted: &Metadata) -> bool {
        let found = at(&self.original, path).symlink_metadata().ok();
        let is_plain = found.as_ref().is_some_and(Metadata::is_file);
        match scope {
            // Git does not compare an object that it reads with its name.
            RestoreScope::Everything | RestoreScope::Names => true,
            _ if self.is_setting(path) => !is_harmless_todo(&at(&self.original, path)),
            // An index is taken over as data.
            RestoreScope::Settings => {
                path.ends_with("index") || found.is_some() && !(is_plain && wanted.is_file())
            }
        }
    }

    fn restore_folder(
        &self,
        workspace: &Path,
        path: &Path,
        mut scope: RestoreScope,
        wanted: &Metadata,
        restored: &mut Vec<RestoredPath>,
    ) {
        let (original, copy) = (at(&self.original, path), at(&self.copy, path));
        let found = original.symlink_metadata().ok();
        let mode = wanted.mode() & PERMISSIONS;
        match &found {
            // A work tree elsewhere that its user has removed, or an operation there that they have
            // finished.
            None if scope == RestoreScope::Settings
                && !self.is_setting(path)
                && !self.has_repository(path) =>
            {
                return;
            }
            Some(found) if found.is_dir() => {
                if found.mode() & PERMISSIONS != mode {
                    self.note(restored, path, Ok(()));
                }
            }
            _ => {
                scope = RestoreScope::Everything;
                let created = remove_all(&original).and_then(|()| fs::create_dir(&original));
                self.note(restored, path, created);
            }
        }
        if let Err(error) = set_mode(&original, mode | 0o700) {
            self.note(restored, path, Err(error));
        }
        if self.is_repository(path) && !is_git_dir(&original) {
            scope = RestoreScope::Everything;
            self.note(restored, path, Ok(()));
        }
        let wanted_names = read_names(&copy).unwrap_or_default();
        for name in read_names(&original)
            .unwrap_or_default()
            .difference(&wanted_names)
        {
            let path = path.join(name);
            let may_stay = scope == RestoreScope::Settings
                || self.is_content(&path) && !self.is_list_of_objects(&path)
                || self.is_kept_addition(workspace, &path);
            if self.repositories.is_empty() || !may_stay {
                self.remove_added(&path, restored);
            } else {
                self.remove_added_settings(&path, restored);
            }
        }
        for name in wanted_names {
            self.restore_entry(workspace, &path.join(name), scope, restored);
        }
        keep_owner(&original, wanted);
        // Another owner's folder keeps its permissions.
        let _ = set_mode(&original, mode);
    }

    /// Records a restored path; of a git directory, only what decides what git executes, and operations in progress.
    fn note(&self, restored: &mut Vec<RestoredPath>, path: &Path, done: io::Result<()>) {
        let first = self
            .path_in_repository(path)
            .and_then(|it| it.iter().next());
        let is_operation = first.is_some_and(|it| OPERATIONS.iter().any(|name| it == *name));
        let is_setting = self.is_setting(path) && !is_sample(path);
        let is_reported = is_setting || is_operation || path == Path::new("");
        if done.is_err() || is_reported {
            record(restored, path, done);
        }
    }

    /// Whether a path belongs to a work tree outside of the workspace.
    fn is_of_work_tree_elsewhere(&self, workspace: &Path, path: &Path) -> bool {
        let Some(inner) = self.path_in_repository(path) else {
            return false;
        };
        let mut parts = inner.iter();
        let (first, second) = (parts.next(), parts.next());
        if first == Some(OsStr::new("worktrees")) {
            let Some(name) = second else {
                return false;
            };
            let repository = path.ancestors().nth(inner.iter().count());
            let below = repository.unwrap_or(path).join("worktrees").join(name);
            let git_dir = at(&self.original, &below);
            let pointer = fs::read(at(&self.copy, &below).join("gitdir"));
            return pointer.is_ok_and(|bytes| {
                let entry = git_dir.join(path_from(bytes.trim_ascii_end()));
                !resolve_as_far_as_possible(&entry).starts_with(workspace)
            });
        }
        let is_among =
            |names: &[&str]| first.is_some_and(|it| names.iter().any(|name| it == *name));
        let is_bisect = first == Some(OsStr::new("refs")) && second == Some(OsStr::new("bisect"));
        let is_of_main = is_among(&OPERATIONS) || is_among(&WORK_TREE_RECORDS) || is_bisect;
        is_of_main && !self.original.starts_with(workspace)
    }

    /// Whether a path holds names in git's format reftable, which are neither taken over nor reset.
    fn is_reftable(&self, path: &Path) -> bool {
        let inner = self.path_in_repository(path);
        inner.is_some_and(|inner| inner.starts_with("reftable"))
    }

    /// Whether a new path in a git directory is kept: another work tree of the user, an operation there, or a lock of a
    /// running git process.
    fn is_kept_addition(&self, workspace: &Path, path: &Path) -> bool {
        let inner = self.path_in_repository(path);
        inner.is_some_and(|it| it.starts_with("worktrees") && it.iter().count() < 3)
            || is_lock(path)
            || self.is_reftable(path)
            || self.is_of_work_tree_elsewhere(workspace, path)
    }

    /// Whether a path is in a folder whose files are named by their content.
    fn is_content(&self, path: &Path) -> bool {
        let inner = self.path_in_repository(path);
        let first = inner.and_then(|inner| inner.iter().next());
        first.is_some_and(|first| CONTENT_FOLDERS.iter().any(|it| first == *it))
    }

    /// Whether a path says where objects are, or repeats what is in them. Git trusts it, and can make it again.
    fn is_list_of_objects(&self, path: &Path) -> bool {
        let Some(inner) = self.path_in_repository(path) else {
            return false;
        };
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_of_packs = inner.starts_with("objects/pack")
            && (name.starts_with("multi-pack-index")
                || name.ends_with(".bitmap")
                || name.ends_with(".rev"));
        inner.starts_with("objects/info") || is_of_packs
    }

    /// Whether a path decides what git executes, or is a folder above one that does.
    fn is_setting(&self, path: &Path) -> bool {
        let Some(path) = self.path_in_repository(path) else {
            return true;
        };
        let mut parts = path.iter().filter_map(OsStr::to_str);
        let mut first = parts.next();
        if first == Some("worktrees") {
            first = parts.nth(1);
        }
        let rest: Vec<&str> = parts.collect();
        matches!(
            (first, &*rest),
            (Some("hooks"), _)
                | (Some("config" | "config.worktree" | "commondir"), [])
                | (Some("objects"), ["info", "alternates"])
                | (Some("rebase-merge"), ["git-rebase-todo"])
                | (Some("info"), ["attributes" | "grafts"])
                | (Some("refs"), ["replace", ..])
        )
    }

    /// The path in the innermost git directory that contains it; `None` if there is none.
    fn path_in_repository<'p>(&self, path: &'p Path) -> Option<&'p Path> {
        let below = self
            .repositories
            .iter()
            .filter_map(|it| path.strip_prefix(it).ok());
        below.min_by_key(|below| below.iter().count())
    }

    /// Whether a git directory is at or below a path.
    fn has_repository(&self, path: &Path) -> bool {
        self.repositories.iter().any(|it| it.starts_with(path))
    }

    fn is_repository(&self, path: &Path) -> bool {
        self.repositories.iter().any(|it| it == path)
    }

    fn remove_added(&self, path: &Path, restored: &mut Vec<RestoredPath>) {
        let original = at(&self.original, path);
        let fingerprint = original
            .symlink_metadata()
            .map(|it| FileFingerprint::from_metadata(&it));
        if fingerprint.is_ok_and(|it| self.uncopied.get(path) == Some(&it)) {
            return;
        }
        if original.is_symlink() {
            record(restored, path, remove_all(&original));
        } else {
            self.note(restored, path, remove_all(&original));
        }
    }

    /// Removes from an entry that a session added all paths that decide what git executes, and all that are neither
    /// files nor folders.
    fn remove_added_settings(&self, path: &Path, restored: &mut Vec<RestoredPath>) {
        let original = at(&self.original, path);
        let inner = self.path_in_repository(path);
        let is_new_module = inner.is_some_and(|inner| inner.starts_with("modules"));
        let found = original.symlink_metadata();
        let is_ordinary = found.is_ok_and(|it| it.is_file() || it.is_dir());
        if is_new_module
            || !is_ordinary
            || self.is_setting(path)
                && !is_sample(path)
                && !is_usual_common_dir(&original)
                && !is_harmless_todo(&original)
        {
            return self.remove_added(path, restored);
        }
        if original.symlink_metadata().is_ok_and(|it| it.is_dir()) {
            let names = read_names(&original).or_else(|_| {
                set_mode(&original, 0o700)?;
                read_names(&original)
            });
            for name in names.unwrap_or_default() {
                self.remove_added_settings(&path.join(name), restored);
            }
        }
    }

    fn restore_file(&self, path: &Path, wanted: &Metadata) -> io::Result<()> {
        let (original, copy) = (at(&self.original, path), at(&self.copy, path));
        if let Some(file) = self.linked.get(path) {
            return restore_linked(file, &copy, &original, wanted);
        }
        remove_all(&original)?;
        if wanted.is_symlink() {
            return symlink(fs::read_link(&copy)?, &original);
        }
        if self.is_content(path) && fs::hard_link(&copy, &original).is_ok() {
            return Ok(());
        }
        copy_file(&copy, &original, wanted).map(drop)
    }
}

/// Whether a path is the plan of a rebase that runs no commands.
fn is_harmless_todo(path: &Path) -> bool {
    let is_plan = path.ends_with("rebase-merge/git-rebase-todo");
    let is_file = || path.symlink_metadata().is_ok_and(|it| it.is_file());
    let runs_command = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let command = line.split(u8::is_ascii_whitespace).next();
        matches!(command, Some(b"exec" | b"x"))
    };
    is_plan
        && is_file()
        && fs::read(path).is_ok_and(|plan| !plan.split(|it| *it == b'\n').any(runs_command))
}

/// How much of a path is restored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RestoreScope {
    /// The paths that decide what git executes, and the index.
    Settings,
    /// Everything but the content of objects that exist.
    Names,
    Everything,
}

/// Whether git recognizes a folder as a git directory.
fn is_git_dir(folder: &Path) -> bool {
    ["HEAD", "objects", "refs"]
        .iter()
        .all(|name| folder.join(name).symlink_metadata().is_ok())
}

/// Whether it is the file with which git links a new work tree to its repository.
fn is_usual_common_dir(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "commondir")
        && fs::read(path).is_ok_and(|bytes| bytes.trim_ascii_end() == b"../..")
}

/// A path relative to a restored original, and whether it could be restored.
pub(super) type RestoredPath = (PathBuf, io::Result<()>);

/// Joins without a trailing slash.
fn at(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() {
        root.to_owned()
    } else {
        root.join(path)
    }
}

/// Records a restored path once.
fn record(restored: &mut Vec<RestoredPath>, path: &Path, done: io::Result<()>) {
    let is_listed = restored
        .iter()
        .any(|(listed, earlier)| listed == path && earlier.is_ok() == done.is_ok());
    if !is_listed {
        restored.push((path.to_owned(), done));
    }
}

/// Whether it is a file with which a git process locks another one.
fn is_lock(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "lock")
}

/// Whether it is an example of a hook, which git does not execute.
fn is_sample(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "sample")
}

/// Restores a file that has other names (hard links), which stay names of the same file.
fn restore_linked(file: &File, copy: &Path, original: &Path, wanted: &Metadata) -> io::Result<()> {
    let id = FileId::from_metadata(&file.metadata()?);
    if FileId::of(original) != Some(id) {
        remove_all(original)?;
        let own = format!("/proc/self/fd/{}", file.as_raw_fd());
        if linkat(CWD, own, CWD, original, AtFlags::SYMLINK_FOLLOW).is_err() {
            return copy_file(copy, original, wanted).map(drop);
        }
    }
    let mode = wanted.mode() & PERMISSIONS;
    set_mode(original, mode | 0o200)?;
    let mut options = OpenOptions::new();
    options.write(true).truncate(true).custom_flags(no_follow());
    let mut restored = options.open(original)?;
    io::copy(&mut File::open(copy)?, &mut restored)?;
    set_mode(original, mode)
}

/// Moves a tree to an unused path, or copies its files, folders and links there.
pub(super) fn move_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    if fs::rename(from, to).is_ok() {
        return Ok(());
    }
    copy_aside(from, to)?;
    remove_all(from)
}

/// Copies files, folders and links of a tree to an unused path.
pub(super) fn copy_aside(from: &Path, to: &Path) -> io::Result<()> {
    let found = from.symlink_metadata()?;
    if found.is_symlink() {
        return symlink(fs::read_link(from)?, to);
    }
    if found.is_file() {
        return copy_file(from, to, &found).map(drop);
    }
    if !found.is_dir() {
        return Ok(());
    }
    fs::create_dir(to)?;
    // Unreadable ones are lost with their content.
    let _ = set_mode(from, 0o700);
    for name in read_names(from)? {
        copy_aside(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

pub(super) fn read_names(folder: &Path) -> io::Result<BTreeSet<OsString>> {
    fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.file_name()))
        .collect()
}

/// Returns the path that a link leads to, also if it does not exist.
fn link_target(link: &Path, target: &Path) -> PathBuf {
    let target = link.parent().unwrap_or(link).join(target);
    resolve_as_far_as_possible(&target)
}

/// Resolves links in the existing part of a path, and `..` in the rest of it by name.
pub(super) fn resolve_as_far_as_possible(path: &Path) -> PathBuf {
    for existing in path.ancestors() {
        let Ok(mut resolved) = existing.canonicalize() else {
            continue;
        };
        for part in path
            .strip_prefix(existing)
            .unwrap_or(Path::new(""))
            .components()
        {
            match part {
                std::path::Component::ParentDir => {
                    resolved.pop();
                }
                part => resolved.push(part),
            }
        }
        return resolved;
    }
    path.to_owned()
}

/// Whether a path is another name of a backup's file.
fn is_same_file(path: &Path, backup: &Metadata) -> bool {
    backup.is_file() && FileId::of(path) == Some(FileId::from_metadata(backup))
}

/// Whether two paths have the same kind, permissions and content. Folders are compared by kind only.
fn has_same_content(one: &Path, other: &Path) -> bool {
    let (Ok(first), Ok(second)) = (one.symlink_metadata(), other.symlink_metadata()) else {
        return one.symlink_metadata().is_err() && other.symlink_metadata().is_err();
    };
    if first.is_symlink() || second.is_symlink() {
        return fs::read_link(one).ok() == fs::read_link(other).ok();
    }
    if !first.is_file() || !second.is_file() {
        return first.is_dir() && second.is_dir();
    }
    let properties = |data: &Metadata| (data.len(), data.mode() & PERMISSIONS);
    properties(&first) == properties(&second) && has_same_bytes(one, other).unwrap_or(false)
}

fn has_same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    let open = |path: &Path| {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(no_follow()).open(path)
    };
    let (mut one, mut other) = (open(one)?, open(other)?);
    let mut buffers = [vec![0; 1 << 16], vec![0; 1 << 16]];
    loop {
        let length = one.read(&mut buffers[0])?;
        if length == 0 {
            return Ok(other.read(&mut buffers[1])? == 0);
        }
        let [first, second] = &mut buffers;
        if other.read_exact(&mut second[..length]).is_err() || first[..length] != second[..length] {
            return Ok(false);
        }
    }
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    if path.symlink_metadata()?.mode() & PERMISSIONS == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Returns the text of bytes as a path.
pub(super) fn path_from(bytes: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes.to_vec()))
}
