//! Access of one session, as plain data: created in the main program, which knows the home and the environment, and
//! carried out by a backend. All paths are canonical, and exist unless they are listed as missing.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_core::model::SandboxBackend;
use serde::{Deserialize, Serialize};

use super::container::ContainerPlan;
use super::placeholders::MissingPath;
use crate::process::SystemString;

/// The restrictions of one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SandboxPlan {
    /// The backend that enforces them.
    pub(crate) backend: SandboxBackend,
    /// Writable paths.
    pub(crate) writable: Vec<SystemString>,
    /// Readable paths inside of hidden ones. They remove no rights.
    pub(crate) readable: Vec<SystemString>,
    /// Read-only paths inside of writable ones; those in `missing` do not exist.
    pub(crate) pinned: Vec<SystemString>,
    /// Hidden paths.
    pub(crate) masked: Vec<SystemString>,
    /// Hidden paths that this command alone may read.
    pub(crate) granted: Vec<SystemString>,
    /// Paths inside of writable ones that do not exist and must not be created.
    pub(crate) missing: Vec<MissingPath>,
    /// Folder with the records of placeholders for them.
    pub(crate) placeholder_records: SystemString,
    /// Paths that a writable parent does not make writable: the home, and files there that control programs.
    pub(crate) protected: Vec<SystemString>,
    /// Whether the network is accessible.
    pub(crate) network: bool,
    /// Whether only listed paths are writable, so that folders for temporary files are not unless they are listed.
    pub(crate) strict: bool,
    /// Settings of the container, if it is one.
    pub(crate) container: Option<ContainerPlan>,
    /// Mounts with a source at another path.
    pub(crate) relocated: Vec<RelocatedFolder>,
    /// Symbolic links in a hidden folder. No other path is below one of them.
    pub(crate) symlinks: Vec<Symlink>,
}

/// A symbolic link.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Symlink {
    pub(crate) target: SystemString,
    pub(crate) path: SystemString,
}

/// A folder that is mounted at another path than its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RelocatedFolder {
    pub(crate) source: SystemString,
    pub(crate) mount_point: SystemString,
    pub(crate) access: PathAccess,
}

/// Access to a path, and to everything below it up to the next listed path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathAccess {
    /// No access: it does not exist.
    Hidden,
    Read,
    Write,
}

impl SandboxPlan {
    /// Every listed path once, each after those above it; the nearest one at or above a path decides.
    ///
    /// A masked path is hidden, whatever else lists it or moves something to it; only a grant of the same path opens it.
    /// A readable path adds rights and a pinned one removes the right to write, so neither is listed where it would
    /// change nothing.
    pub(crate) fn access_by_path(&self) -> BTreeMap<PathBuf, PathAccess> {
        let mut places = BTreeMap::new();
        let writable = paths(&self.writable).into_iter();
        places.extend(writable.map(|path| (path, PathAccess::Write)));
        let moved = self.relocated.iter();
        places.extend(moved.map(|moved| (PathBuf::from(&moved.mount_point), moved.access)));
        let masked = paths(&self.masked).into_iter();
        places.extend(masked.map(|path| (path, PathAccess::Hidden)));
        let granted = paths(&self.granted).into_iter();
        places.extend(granted.map(|path| (path, PathAccess::Read)));
        let readable = paths(&self.readable).into_iter();
        let readable: Vec<PathBuf> = readable
            .filter(|path| {
                let is_listed = places.contains_key(path);
                !is_listed && nearest_access(&places, path) != Some(PathAccess::Write)
            })
            .collect();
        places.extend(readable.into_iter().map(|path| (path, PathAccess::Read)));
        // Sorted: a pin inside of another one changes nothing.
        for path in paths(&self.pinned) {
            let Some(above) = nearest_listed_path(&places, &path).map(Path::to_owned) else {
                continue;
            };
            // The pin is for the original folder, not for one that is mounted there.
            let is_own = self.mount_source(&above) == above;
            if !is_own || places.get(&above) != Some(&PathAccess::Write) {
                continue;
            }
            // A folder between the two could be moved away, unless it is a mount point.
            let between = path.ancestors().skip(1);
            for folder in between.take_while(|it| *it != above && it.starts_with(&above)) {
                places.entry(folder.to_owned()).or_insert(PathAccess::Write);
            }
            places.insert(path, PathAccess::Read);
        }
        // In a hidden folder there is nothing to hide, and no mount point.
        let is_redundant = |path: &Path, access: PathAccess| {
            let above = path
                .parent()
                .and_then(|above| nearest_access(&places, above));
            access == PathAccess::Hidden && above == Some(PathAccess::Hidden)
        };
        let needed = places
            .iter()
            .filter(|(path, access)| !is_redundant(path, **access));
        needed
            .map(|(path, access)| (path.clone(), *access))
            .collect()
    }

    /// Source of the mount at a path.
    pub(super) fn mount_source(&self, place: &Path) -> PathBuf {
        let moved = self
            .relocated
            .iter()
            .find(|moved| PathBuf::from(&moved.mount_point) == place);
        moved.map_or_else(|| place.to_owned(), |moved| PathBuf::from(&moved.source))
    }

    /// Translates a path inside of the sandbox to the one outside.
    pub(crate) fn host_path(&self, seen: &Path) -> PathBuf {
        let moved = self.relocated.iter().filter_map(|moved| {
            let place = PathBuf::from(&moved.mount_point);
            let below = seen.strip_prefix(&place).ok()?;
            Some((
                place.as_os_str().len(),
                PathBuf::from(&moved.source).join(below),
            ))
        });
        let nearest = moved.max_by_key(|(length, _)| *length);
        nearest.map_or_else(|| seen.to_owned(), |(_, path)| path)
    }

    /// Whether programs must be searched inside of the session, because its files differ from those here.
    pub(crate) fn has_foreign_files(&self) -> bool {
        self.backend.is_container() || !self.relocated.is_empty()
    }
}

/// The decision about a path, if there is one.
pub(super) fn nearest_access(
    places: &BTreeMap<PathBuf, PathAccess>,
    path: &Path,
) -> Option<PathAccess> {
    places.get(nearest_listed_path(places, path)?).copied()
}

/// The listed path that decides about a path.
fn nearest_listed_path<'a>(
    places: &BTreeMap<PathBuf, PathAccess>,
    path: &'a Path,
) -> Option<&'a Path> {
    path.ancestors().find(|place| places.contains_key(*place))
}

/// Converts to system paths.
pub(crate) fn paths(listed: &[SystemString]) -> Vec<PathBuf> {
    listed.iter().map(PathBuf::from).collect()
}

/// Converts paths to their serialized form.
pub(crate) fn system_strings(paths: impl IntoIterator<Item = PathBuf>) -> Vec<SystemString> {
    let mut paths: Vec<PathBuf> = paths.into_iter().collect();
    paths.sort();
    paths.dedup();
    paths.iter().map(|path| path.as_os_str().into()).collect()
}

#[cfg(test)]
mod tests;
