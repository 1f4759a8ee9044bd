//! What one session may reach, as plain data: made in the main program, which knows the home and the
//! environment, and carried out by whoever builds the walls. All paths are real ones, and exist.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_core::model::SandboxBackend;
use serde::{Deserialize, Serialize};

use super::container::ContainerPlan;
use crate::process::SystemString;

/// The walls of one session.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SandboxPlan {
    /// Who builds them.
    pub(crate) backend: SandboxBackend,
    /// What may be written.
    pub(crate) writable: Vec<SystemString>,
    /// What may be read although it lies in what is hidden.
    pub(crate) readable: Vec<SystemString>,
    /// What may not be written although all around it may be.
    pub(crate) pinned: Vec<SystemString>,
    /// What is not there.
    pub(crate) masked: Vec<SystemString>,
    /// What is never written through a place above it: the home, and what steers programs there.
    pub(crate) protected: Vec<SystemString>,
    /// Whether there is a network.
    pub(crate) network: bool,
    /// Whether only what is named may be written, the places for temporary files included.
    pub(crate) strict: bool,
    /// What a container is made of, where it is one.
    pub(crate) container: Option<ContainerPlan>,
    /// Mounts whose source is at another path.
    pub(crate) relocated: Vec<RelocatedFolder>,
}

/// A folder that is mounted at another path than its own.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct RelocatedFolder {
    pub(crate) source: SystemString,
    pub(crate) mount_point: SystemString,
    pub(crate) access: PathAccess,
}

/// What a session may do with a place, and with what lies below it up to the next place that is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum PathAccess {
    /// Nothing: it is not there.
    Hidden,
    Read,
    Write,
}

impl SandboxPlan {
    /// Every place that is named, once, each after those above it; the nearest one at or above a path
    /// decides about it. A place that is masked is hidden, whatever else names it. A pin only takes
    /// the right to write away: what cannot be written needs none.
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

    /// What is mounted at a place.
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

    /// Whether programs are to be looked for where the session runs, because other files lie there than here.
    pub(crate) fn has_foreign_files(&self) -> bool {
        self.backend.is_container() || !self.relocated.is_empty()
    }
}

/// What is decided about a path, if anything is.
pub(super) fn nearest_access(
    places: &BTreeMap<PathBuf, PathAccess>,
    path: &Path,
) -> Option<PathAccess> {
    path.ancestors()
        .find_map(|place| places.get(place).copied())
}

/// Paths as the system knows them.
pub(crate) fn paths(listed: &[SystemString]) -> Vec<PathBuf> {
    listed.iter().map(PathBuf::from).collect()
}

/// Paths as they travel.
pub(crate) fn system_strings(paths: impl IntoIterator<Item = PathBuf>) -> Vec<SystemString> {
    let mut paths: Vec<PathBuf> = paths.into_iter().collect();
    paths.sort();
    paths.dedup();
    paths.iter().map(|path| path.as_os_str().into()).collect()
}

#[cfg(test)]
mod tests;
