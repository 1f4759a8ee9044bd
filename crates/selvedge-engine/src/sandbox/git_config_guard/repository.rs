//! The guarded parts of one repository's own folder: its hooks, its configuration, and the file with the location of
//! its common parts; each with the target, if it is a link.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::super::canonical;
use super::config;
use super::entry::{ContentPolicy, SavedEntry, SavedFile, SavedFolder, remove};
use super::is_folder;

/// Files that git reads as configuration.
const CONFIG_FILES: [&str; 2] = ["config", "config.worktree"];
/// Directs git to another folder.
const COMMON_DIR_FILE: &str = "commondir";
const HOOKS_FOLDER: &str = "hooks";

/// Maximum depth to which folders of hooks are scanned.
const MAX_HOOKS_DEPTH: usize = 4;

/// Which changes of a path are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChangePolicy {
    Exact,
    /// Changes of harmless settings.
    Configuration,
}

/// One path that git obeys, in its earlier state.
#[derive(Debug)]
struct GuardedPath {
    /// Without links in its parent folders.
    path: PathBuf,
    /// Relative to the repository's folder, in git's spelling.
    name: PathBuf,
    kind: ChangePolicy,
    entry: SavedEntry,
}

/// The saved state of a repository: links before their targets, folders before their content.
#[derive(Debug, Default)]
pub(super) struct GuardedRepository {
    paths: Vec<GuardedPath>,
    is_new: bool,
}

impl GuardedRepository {
    /// Captures a repository. `roots` are the folders in which restoring is allowed.
    pub(super) fn capture(folder: &Path, roots: &[PathBuf]) -> Self {
        let mut noted = Self::default();
        for (name, kind) in guarded_names() {
            noted.capture_path(
                folder.join(name),
                Path::new(name),
                kind,
                roots,
                MAX_HOOKS_DEPTH,
            );
        }
        noted
    }

    /// A repository that did not exist.
    pub(super) fn missing(folder: &Path) -> Self {
        let places = guarded_names().map(|(name, kind)| GuardedPath {
            path: folder.join(name),
            name: PathBuf::from(name),
            kind,
            entry: absent_entry(name),
        });
        Self {
            paths: places.collect(),
            is_new: true,
        }
    }

    fn capture_path(
        &mut self,
        path: PathBuf,
        name: &Path,
        kind: ChangePolicy,
        roots: &[PathBuf],
        deepest: usize,
    ) {
        if self.paths.iter().any(|place| place.path == path) {
            return;
        }
        let content = content_policy(&path, roots);
        let entry = match SavedEntry::capture(&path, content) {
            SavedEntry::Absent => absent_entry(&name.to_string_lossy()),
            entry => entry,
        };
        let mut next = Vec::new();
        match &entry {
            SavedEntry::Link(target) => {
                next.extend(link_target(&path, target).map(|to| (to, name.to_owned())));
            }
            SavedEntry::Folder(SavedFolder { names, .. }) if deepest > 0 => {
                next.extend(names.iter().map(|of| (path.join(of), name.join(of))));
            }
            _ => {}
        }
        self.paths.push(GuardedPath {
            path,
            name: name.to_owned(),
            kind,
            entry,
        });
        for (path, name) in next {
            self.capture_path(path, &name, kind, roots, deepest.saturating_sub(1));
        }
    }

    /// Restores the repository; returns the names of changed paths, relative to the folder.
    pub(super) fn restore(&self, folder: &Path, roots: &[PathBuf]) -> Vec<String> {
        let mut changed = Vec::new();
        let mut note = |name: &Path, done: io::Result<()>| {
            let name = name.display();
            let change = match done {
                Ok(()) => name.to_string(),
                Err(error) => format!("{name} (not restored: {error})"),
            };
            if !changed.contains(&change) {
                changed.push(change);
            }
        };
        for place in &self.paths {
            let root = roots.iter().find(|root| place.path.starts_with(root));
            let now = SavedEntry::capture(&place.path, content_policy(&place.path, roots));
            let has_moved = !has_no_links_above(&place.path);
            for name in place.added_names(&now) {
                let path = place.path.join(&name);
                let done = match root {
                    Some(_) => self
                        .make_parent_writable(&path)
                        .and_then(|()| remove(&path)),
                    None => Err(outside_error(&path)),
                };
                note(&place.name.join(name), done);
            }
            if !has_moved && !place.is_changed(&now, folder) {
                continue;
            }
            let done = match root {
                Some(root) => replace_links_above(root, &place.path)
                    .and_then(|()| self.make_parent_writable(&place.path))
                    .and_then(|()| place.restore(&now, folder, self.is_new)),
                None => Err(outside_error(&place.path)),
            };
            note(&place.name, done);
        }
        for place in &self.paths {
            let is_ours = roots.iter().any(|root| place.path.starts_with(root));
            if is_ours && matches!(place.entry, SavedEntry::Folder(_)) && is_folder(&place.path) {
                // If it cannot be restored, its owner will notice.
                let _ = place.entry.restore_mode(&place.path);
            }
        }
        changed
    }

    /// Makes the parent folder of a path writable, if its permissions are among those that are restored.
    fn make_parent_writable(&self, path: &Path) -> io::Result<()> {
        let above = path.parent().and_then(|above| {
            let mut folders = self.paths.iter().filter(|place| place.path == above);
            folders.find(|place| matches!(place.entry, SavedEntry::Folder(_)))
        });
        above.map_or(Ok(()), |place| place.entry.restore(&place.path))
    }
}

impl GuardedPath {
    /// Names that are new in a folder, without samples of hooks.
    fn added_names(&self, now: &SavedEntry) -> Vec<OsString> {
        let (SavedEntry::Folder(before), SavedEntry::Folder(now)) = (&self.entry, now) else {
            return Vec::new();
        };
        let is_sample = |name: &OsString| {
            Path::new(name)
                .extension()
                .is_some_and(|end| end == "sample")
        };
        let new = now.names.difference(&before.names);
        new.filter(|name| !is_sample(name)).cloned().collect()
    }

    fn is_changed(&self, now: &SavedEntry, folder: &Path) -> bool {
        if self.entry.is_equivalent(now) {
            return false;
        }
        let modes = self.entry.mode().zip(now.mode());
        self.kind == ChangePolicy::Exact
            || self.changes_git_behavior(now, folder)
            || modes.is_some_and(|(before, now)| before != now)
    }

    /// Whether the present entry makes git behave differently from before.
    fn changes_git_behavior(&self, now: &SavedEntry, folder: &Path) -> bool {
        let bytes = |entry: &SavedEntry| match entry {
            SavedEntry::Absent => Some(None),
            SavedEntry::File(file) => Some(Some(file.bytes.clone())),
            SavedEntry::Link(_) | SavedEntry::Folder(_) | SavedEntry::Opaque(_) => None,
        };
        let (Some(before), Some(now)) = (bytes(&self.entry), bytes(now)) else {
            return true;
        };
        let steering = |bytes: Option<Vec<u8>>| {
            bytes.map_or_else(
                || Some(Vec::new()),
                |it| config::dangerous_settings(&it, folder),
            )
        };
        if before == now {
            return false;
        }
        let now = steering(now);
        // git has not written a configuration that it cannot read.
        now.is_none() || now != steering(before)
    }

    fn restore(&self, now: &SavedEntry, folder: &Path, is_new: bool) -> io::Result<()> {
        let is_own = self.path == folder.join(CONFIG_FILES[0]);
        match (&self.entry, now) {
            // A repository that the session created is kept.
            (SavedEntry::Absent, _) if is_new && is_own => {
                SavedEntry::File(SavedFile::new(config::EMPTY_CONFIG)).restore(&self.path)
            }
            (SavedEntry::File(_), SavedEntry::File(_))
                if self.kind == ChangePolicy::Configuration
                    && !self.changes_git_behavior(now, folder) =>
            {
                self.entry.restore_mode(&self.path)
            }
            (entry, _) => entry.restore(&self.path),
        }
    }
}

/// The paths that git obeys in a repository's folder, in the order in which they are restored.
fn guarded_names() -> impl Iterator<Item = (&'static str, ChangePolicy)> {
    let exact = [HOOKS_FOLDER, COMMON_DIR_FILE].map(|name| (name, ChangePolicy::Exact));
    let configurations = CONFIG_FILES.map(|name| (name, ChangePolicy::Configuration));
    exact.into_iter().chain(configurations)
}

/// The entry of a missing path. A folder of hooks may be created, as long as it is empty.
fn absent_entry(name: &str) -> SavedEntry {
    if name == HOOKS_FOLDER {
        SavedEntry::Folder(SavedFolder::default())
    } else {
        SavedEntry::Absent
    }
}

/// Target of a link, without links in its parent folders; `None` if these do not exist.
fn link_target(link: &Path, target: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(target);
    match target.file_name() {
        Some(name) => Some(canonical(target.parent()?.to_owned())?.join(name)),
        None => canonical(target),
    }
}

fn content_policy(path: &Path, roots: &[PathBuf]) -> ContentPolicy {
    if roots.iter().any(|root| path.starts_with(root)) {
        ContentPolicy::Saved
    } else {
        ContentPolicy::MetadataOnly
    }
}

/// Whether the parent folders of a path contain no link.
fn has_no_links_above(path: &Path) -> bool {
    let Some(above) = path.parent() else {
        return true;
    };
    match canonical(above.to_owned()) {
        Some(reached) => reached == above,
        None => !above.is_symlink(),
    }
}

/// Replaces links and creates missing folders above a path.
fn replace_links_above(root: &Path, path: &Path) -> io::Result<()> {
    let above = path
        .parent()
        .and_then(|above| above.strip_prefix(root).ok());
    let mut at = root.to_owned();
    for part in above.into_iter().flat_map(Path::components) {
        at.push(part);
        if !is_folder(&at) {
            remove(&at)?;
            std::fs::create_dir(&at)?;
        }
    }
    Ok(())
}

fn outside_error(path: &Path) -> io::Error {
    io::Error::other(format!("{} is outside the workspace", path.display()))
}
