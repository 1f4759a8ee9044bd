//! One repository's own folder: its hooks, its configuration, and the file that says where its common
//! parts are; each with what it leads to, where it is a link.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::super::real;
use super::config;
use super::entry::{Content, Entry, SavedFile, SavedFolder, remove};
use super::is_folder;

/// Read by git as configuration.
const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// Leads git to another folder.
const COMMON: &str = "commondir";
const HOOKS: &str = "hooks";

/// How deep folders of hooks are looked into.
const DEEPEST: usize = 4;

/// How a place may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Exact,
    /// In what steers nothing.
    Configuration,
}

/// One place that git obeys, as it was.
#[derive(Debug)]
struct Place {
    /// With no link above its last part.
    path: PathBuf,
    /// Below the repository's folder, as git names it.
    name: PathBuf,
    kind: Kind,
    entry: Entry,
}

/// What of a repository was noted: links before what they lead to, folders before what is in them.
#[derive(Debug, Default)]
pub(super) struct Repository {
    places: Vec<Place>,
    is_new: bool,
}

impl Repository {
    /// `roots` are the folders in which something may be restored.
    pub(super) fn note(folder: &Path, roots: &[PathBuf]) -> Self {
        let mut noted = Self::default();
        for (name, kind) in obeyed() {
            noted.follow(folder.join(name), Path::new(name), kind, roots, DEEPEST);
        }
        noted
    }

    /// One that was not there.
    pub(super) fn missing(folder: &Path) -> Self {
        let places = obeyed().map(|(name, kind)| Place {
            path: folder.join(name),
            name: PathBuf::from(name),
            kind,
            entry: absent(name),
        });
        Self {
            places: places.collect(),
            is_new: true,
        }
    }

    fn follow(
        &mut self,
        path: PathBuf,
        name: &Path,
        kind: Kind,
        roots: &[PathBuf],
        deepest: usize,
    ) {
        if self.places.iter().any(|place| place.path == path) {
            return;
        }
        let content = content_at(&path, roots);
        let entry = match Entry::capture(&path, content) {
            Entry::Absent => absent(&name.to_string_lossy()),
            entry => entry,
        };
        let mut next = Vec::new();
        match &entry {
            Entry::Link(target) => {
                next.extend(led_to(&path, target).map(|to| (to, name.to_owned())));
            }
            Entry::Folder(SavedFolder { names, .. }) if deepest > 0 => {
                next.extend(names.iter().map(|of| (path.join(of), name.join(of))));
            }
            _ => {}
        }
        self.places.push(Place {
            path,
            name: name.to_owned(),
            kind,
            entry,
        });
        for (path, name) in next {
            self.follow(path, &name, kind, roots, deepest.saturating_sub(1));
        }
    }

    /// Restores it; gives the names of what was changed, below the folder.
    pub(super) fn put_back(&self, folder: &Path, roots: &[PathBuf]) -> Vec<String> {
        let mut changed = Vec::new();
        let mut note = |name: &Path, done: io::Result<()>| {
            let name = name.display();
            let said = match done {
                Ok(()) => name.to_string(),
                Err(error) => format!("{name} (not restored: {error})"),
            };
            if !changed.contains(&said) {
                changed.push(said);
            }
        };
        for place in &self.places {
            let root = roots.iter().find(|root| place.path.starts_with(root));
            let now = Entry::capture(&place.path, content_at(&place.path, roots));
            let has_moved = !is_reached(&place.path);
            for name in place.added(&now) {
                let path = place.path.join(&name);
                let done = match root {
                    Some(_) => self.open(&path).and_then(|()| remove(&path)),
                    None => Err(outside(&path)),
                };
                note(&place.name.join(name), done);
            }
            if !has_moved && !place.is_changed(&now, folder) {
                continue;
            }
            let done = match root {
                Some(root) => make_real(root, &place.path)
                    .and_then(|()| self.open(&place.path))
                    .and_then(|()| place.restore(&now, folder, self.is_new)),
                None => Err(outside(&place.path)),
            };
            note(&place.name, done);
        }
        for place in &self.places {
            let is_ours = roots.iter().any(|root| place.path.starts_with(root));
            if is_ours && matches!(place.entry, Entry::Folder(_)) && is_folder(&place.path) {
                // One that cannot be restored is noticed by whoever owns it.
                let _ = place.entry.restore_mode(&place.path);
            }
        }
        changed
    }

    /// Lets the folder of a path be written, if it is one of those whose permissions are restored.
    fn open(&self, path: &Path) -> io::Result<()> {
        let above = path.parent().and_then(|above| {
            let mut folders = self.places.iter().filter(|place| place.path == above);
            folders.find(|place| matches!(place.entry, Entry::Folder(_)))
        });
        above.map_or(Ok(()), |place| place.entry.restore(&place.path))
    }
}

impl Place {
    /// What is new in a folder. Samples of hooks are none.
    fn added(&self, now: &Entry) -> Vec<OsString> {
        let (Entry::Folder(before), Entry::Folder(now)) = (&self.entry, now) else {
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

    fn is_changed(&self, now: &Entry, folder: &Path) -> bool {
        if self.entry.is_like(now) {
            return false;
        }
        let modes = self.entry.mode().zip(now.mode());
        self.kind == Kind::Exact
            || self.is_steered(now, folder)
            || modes.is_some_and(|(before, now)| before != now)
    }

    /// Whether what is there now makes git do something that it did not before.
    fn is_steered(&self, now: &Entry, folder: &Path) -> bool {
        let bytes = |entry: &Entry| match entry {
            Entry::Absent => Some(None),
            Entry::File(file) => Some(Some(file.bytes.clone())),
            Entry::Link(_) | Entry::Folder(_) | Entry::Opaque(_) => None,
        };
        let (Some(before), Some(now)) = (bytes(&self.entry), bytes(now)) else {
            return true;
        };
        let steering = |bytes: Option<Vec<u8>>| {
            bytes.map_or_else(|| Some(Vec::new()), |it| config::steering(&it, folder))
        };
        if before == now {
            return false;
        }
        let now = steering(now);
        // What git cannot read is nothing that it wrote.
        now.is_none() || now != steering(before)
    }

    fn restore(&self, now: &Entry, folder: &Path, is_new: bool) -> io::Result<()> {
        let is_own = self.path == folder.join(CONFIGURATIONS[0]);
        match (&self.entry, now) {
            // A repository that the session made stays one.
            (Entry::Absent, _) if is_new && is_own => {
                Entry::File(SavedFile::new(config::EMPTY)).restore(&self.path)
            }
            (Entry::File(_), Entry::File(_))
                if self.kind == Kind::Configuration && !self.is_steered(now, folder) =>
            {
                self.entry.restore_mode(&self.path)
            }
            (entry, _) => entry.restore(&self.path),
        }
    }
}

/// What git obeys in a repository's folder, in the order in which it is restored.
fn obeyed() -> impl Iterator<Item = (&'static str, Kind)> {
    let exact = [HOOKS, COMMON].map(|name| (name, Kind::Exact));
    let configurations = CONFIGURATIONS.map(|name| (name, Kind::Configuration));
    exact.into_iter().chain(configurations)
}

/// A folder of hooks may be made, as long as there are none in it.
fn absent(name: &str) -> Entry {
    if name == HOOKS {
        Entry::Folder(SavedFolder::default())
    } else {
        Entry::Absent
    }
}

/// Where a link leads, with no link above the last part; nowhere where that is not there.
fn led_to(link: &Path, target: &Path) -> Option<PathBuf> {
    let target = link.parent()?.join(target);
    match target.file_name() {
        Some(name) => Some(real(target.parent()?.to_owned())?.join(name)),
        None => real(target),
    }
}

fn content_at(path: &Path, roots: &[PathBuf]) -> Content {
    if roots.iter().any(|root| path.starts_with(root)) {
        Content::Kept
    } else {
        Content::Identified
    }
}

/// Whether no link above a path leads elsewhere.
fn is_reached(path: &Path) -> bool {
    let Some(above) = path.parent() else {
        return true;
    };
    match real(above.to_owned()) {
        Some(reached) => reached == above,
        None => !above.is_symlink(),
    }
}

/// Puts folders in the place of links above a path, and of what is missing there.
fn make_real(root: &Path, path: &Path) -> io::Result<()> {
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

fn outside(path: &Path) -> io::Error {
    io::Error::other(format!("{} is outside the workspace", path.display()))
}
