//! Access of one session, as plain data: created in the main program, which knows the home and the environment, and
//! carried out by a backend. All paths are canonical, and exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_core::model::SandboxBackend;
use serde::{Deserialize, Serialize};

use super::container::ContainerPlan;
use crate::process::SystemString;

/// The restrictions of one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SandboxPlan {
    /// The backend that enforces them.
    pub(crate) backend: SandboxBackend,
    /// Writable paths.
    pub(crate) writable: Vec<SystemString>,
    /// Readable paths inside of hidden ones.
    pub(crate) readable: Vec<SystemString>,
    /// Read-only paths inside of writable ones.
    pub(crate) pinned: Vec<SystemString>,
    /// Hidden paths.
    pub(crate) masked: Vec<SystemString>,
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
    /// Every listed path once, each after those above it; the nearest one at or above a path decides. A masked path is
    /// hidden, whatever other list contains it. A pin only removes the right to write, so a path that is not writable
    /// needs none.
    pub(crate) fn access_by_path(&self) -> BTreeMap<PathBuf, PathAccess> {
        let mut places = BTreeMap::new();
        for (listed, access) in [
            (&self.readable, PathAccess::Read),
            (&self.writable, PathAccess::Write),
            (&self.masked, PathAccess::Hidden),
        ] {
            places.extend(paths(listed).into_iter().map(|path| (path, access)));
        }
        let pinned: Vec<PathBuf> = paths(&self.pinned)
            .into_iter()
            .filter(|path| nearest_access(&places, path) == Some(PathAccess::Write))
            .collect();
        places.extend(pinned.into_iter().map(|path| (path, PathAccess::Read)));
        let moved = self.relocated.iter();
        places.extend(moved.map(|moved| (PathBuf::from(&moved.mount_point), moved.access)));
        places
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
    path.ancestors()
        .find_map(|place| places.get(place).copied())
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
