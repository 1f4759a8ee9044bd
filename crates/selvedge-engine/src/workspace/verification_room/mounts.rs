//! What is mounted in a room: installed tools and large files of the workspace, read-only, and over them the caches that
//! tools write.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::DOING;
use super::files::{files_below, is_folder, make_folder, remove_all};
use crate::workspace::Workspace;
use crate::workspace::error::WorkspaceError;
use crate::workspace::exclusions::{ExcludedPath, ExclusionReason};
use crate::workspace::fingerprint::FileFingerprint;

/// The most places of a workspace that are mounted.
const MAX_MOUNTS: usize = 500;
/// The file in a folder that something is mounted upon: an empty folder would be part of a snapshot.
pub(super) const MOUNT_MARKER: &str = ".selvedge-room";
/// The file in a room with the digests of ignored files from before the agent.
const IGNORED_DIGESTS_FILE: &str = "ignored.json";
/// The folder in a room with the caches that are mounted over installed tools.
const WRITTEN_FOLDER: &str = "written";

/// Folders of installed tools that the tools write to whenever they run: they are copied like build output.
const WRITTEN_TOOLS: [&str; 3] = [".tox", ".nox", ".eggs"];
/// Caches in `node_modules`, and the package that writes each; an empty name stands for any.
const NODE_CACHES: [(&str, &str); 4] = [
    (".cache", ""),
    (".vite", "vite"),
    (".vite-temp", "vite"),
    (".vitest", "vitest"),
];

/// One mount in a room.
#[derive(Debug, Clone)]
pub(crate) struct VerificationRoomMount {
    pub(crate) source: PathBuf,
    /// Relative to the workspace, or absolute.
    pub(crate) mount_point: PathBuf,
    pub(crate) is_writable: bool,
}

/// Places of the workspace that are mounted, relative to it.
#[derive(Debug, Clone, Default)]
pub(super) struct MountedPlaces {
    places: Vec<PathBuf>,
    tools: BTreeSet<PathBuf>,
    /// Ignored files that no snapshot holds and that are not as they were before the agent: they are not mounted.
    pub(super) absent: Vec<PathBuf>,
}

impl MountedPlaces {
    /// Finds them; none if there are too many.
    pub(super) fn find(
        origin: &Workspace,
        left_out: &[ExcludedPath],
        folder: &Path,
    ) -> Option<Self> {
        let known: BTreeMap<String, String> = fs::read(folder.join(IGNORED_DIGESTS_FILE))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let tools: BTreeSet<PathBuf> = origin.tool_folders_in(left_out).into_iter().collect();
        let mut shown = Self::default();
        for ExcludedPath { path, reason, .. } in left_out {
            let data = origin.dir.join(path).symlink_metadata();
            if !data.is_ok_and(|data| data.is_file() || data.is_dir()) {
                continue;
            }
            match reason {
                ExclusionReason::Cache if tools.contains(path) && !is_self_writing_tool(path) => {
                    shown.tools.insert(path.clone());
                }
                ExclusionReason::TooLarge | ExclusionReason::RepositoryRecords => {}
                ExclusionReason::IgnoredTooLarge | ExclusionReason::IgnoredTooMuch => {
                    let before = path.to_str().and_then(|path| known.get(path));
                    if before != Some(&metadata_digest(&origin.dir, path)) {
                        shown.absent.push(path.clone());
                        continue;
                    }
                }
                ExclusionReason::Cache
                | ExclusionReason::Unreadable
                | ExclusionReason::Special
                | ExclusionReason::Unstorable => {
                    continue;
                }
            }
            shown.places.push(path.clone());
        }
        (shown.places.len() <= MAX_MOUNTS).then_some(shown)
    }

    /// The folders of installed tools among them.
    pub(super) fn tools(&self) -> BTreeSet<PathBuf> {
        self.tools.clone()
    }

    /// Whether a path is one of them, or below one.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    /// All mounts but those at `hidden` places and below them.
    pub(super) fn mounts(
        &self,
        origin: &Workspace,
        folder: &Path,
        hidden: &BTreeSet<PathBuf>,
    ) -> Vec<VerificationRoomMount> {
        let read = |source: PathBuf, place: PathBuf| VerificationRoomMount {
            source,
            mount_point: place,
            is_writable: false,
        };
        let places = self.places.iter();
        let mut mounts: Vec<VerificationRoomMount> = places
            .map(|place| read(origin.dir.join(place), place.clone()))
            .collect();
        mounts.extend(
            self.caches(origin)
                .into_iter()
                .map(|place| VerificationRoomMount {
                    source: written_cache_path(folder, &place),
                    mount_point: place,
                    is_writable: true,
                }),
        );
        let is_seen = |path: &Path| !path.ancestors().any(|above| hidden.contains(above));
        mounts.retain(|mount| is_seen(&mount.mount_point));
        let repository = repository_places(origin).into_iter();
        mounts.extend(repository.map(|(source, place)| read(source, place)));
        mounts
    }

    /// Makes what is mounted, and what it is mounted upon: it must exist, and no snapshot may hold it.
    pub(super) fn create_mount_points(
        &self,
        origin: &Workspace,
        tree: &Path,
        folder: &Path,
    ) -> Result<(), WorkspaceError> {
        for path in &self.places {
            let (there, here) = (origin.dir.join(path), tree.join(path));
            let Ok(data) = there.symlink_metadata() else {
                continue;
            };
            if data.is_dir() {
                make_folder(&here)?;
                if fs::read_dir(&here).is_ok_and(|mut it| it.next().is_none()) {
                    create_sparse_file(&here.join(MOUNT_MARKER), 0)?;
                }
            } else if here.symlink_metadata().is_err() {
                make_folder(here.parent().unwrap_or(&here))?;
                // As long as the original, so that snapshots leave it out for the same reason.
                create_sparse_file(&here, data.len())?;
            }
        }
        for (_, place) in repository_places(origin) {
            make_folder(&tree.join(place))?;
        }
        for place in self.caches(origin) {
            let (there, here) = (origin.dir.join(&place), written_cache_path(folder, &place));
            if here.symlink_metadata().is_ok() {
                continue;
            }
            if is_folder(&there) {
                make_folder(&here)?;
            } else {
                make_folder(here.parent().unwrap_or(&here))?;
                create_sparse_file(&here, 0)?;
            }
        }
        Ok(())
    }

    /// Places in installed tools that are written when these run. A cache that is missing is made, empty, where the
    /// tool would make it: nothing can be mounted upon what does not exist.
    fn caches(&self, origin: &Workspace) -> Vec<PathBuf> {
        let mut caches = Vec::new();
        for tool in &self.tools {
            let there = origin.dir.join(tool);
            if tool.file_name() == Some(OsStr::new("node_modules")) {
                for (cache, package) in NODE_CACHES {
                    let at = there.join(cache);
                    let is_used = there.join(package).is_dir();
                    if is_used && (is_folder(&at) || fs::create_dir(&at).is_ok()) {
                        caches.push(tool.join(cache));
                    }
                }
            }
            let lock = there.join(".lock");
            if lock.symlink_metadata().is_ok_and(|data| data.is_file()) {
                caches.push(tool.join(".lock"));
            }
        }
        caches
    }
}

/// Notes the ignored files that no snapshot holds, as they are before an agent works.
pub(super) fn record_ignored(
    origin: &Workspace,
    left_out: &[ExcludedPath],
    folder: &Path,
) -> Result<(), WorkspaceError> {
    let is_noted = |it: &&ExcludedPath| {
        matches!(
            it.reason,
            ExclusionReason::IgnoredTooLarge | ExclusionReason::IgnoredTooMuch
        )
    };
    let noted = left_out.iter().filter(is_noted).filter_map(|it| {
        // A name that is not UTF-8 is not noted, and so not mounted.
        Some((it.path.to_str()?, metadata_digest(&origin.dir, &it.path)))
    });
    let noted: BTreeMap<&str, String> = noted.collect();
    let path = folder.join(IGNORED_DIGESTS_FILE);
    let bytes = serde_json::to_vec(&noted).unwrap_or_default();
    fs::write(&path, bytes).map_err(|error| WorkspaceError::io(DOING, &path, error))
}

/// Removes what was written to caches, for the next tree to begin without.
pub(super) fn remove_written(folder: &Path) -> Result<(), WorkspaceError> {
    remove_all(&folder.join(WRITTEN_FOLDER))
}

/// Hashes the file system's metadata of a file, or of all files of a folder.
fn metadata_digest(dir: &Path, path: &Path) -> String {
    let at = dir.join(path);
    let mut files = files_below(&at, path);
    if let Ok(data) = at.symlink_metadata() {
        files.push((path.to_owned(), FileFingerprint::from_metadata(&data)));
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hash = Sha256::new();
    for (path, print) in files {
        hash.update(path.as_os_str().as_bytes());
        hash.update(format!("\0{print:?}\n"));
    }
    let mut digest = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Folders of the repository's own: what they are, and where in the workspace they are mounted.
fn repository_places(origin: &Workspace) -> Vec<(PathBuf, PathBuf)> {
    let records = origin.dir.join(".git");
    if !is_folder(&records) {
        return Vec::new();
    }
    let objects = ("objects", ".git/shared-objects");
    let modules = ("modules", ".git/modules");
    let all = [objects, modules].into_iter();
    all.map(|(name, place)| (records.join(name), PathBuf::from(place)))
        .filter(|(source, _)| is_folder(source))
        .collect()
}

fn is_self_writing_tool(path: &Path) -> bool {
    path.iter()
        .any(|name| WRITTEN_TOOLS.iter().any(|tool| name == OsStr::new(tool)))
}

/// The path in a room of the cache that is mounted at a place.
fn written_cache_path(folder: &Path, place: &Path) -> PathBuf {
    folder.join(WRITTEN_FOLDER).join(encode_path(place))
}

/// A path as one name.
pub(super) fn encode_path(place: &Path) -> PathBuf {
    place.to_string_lossy().replace('/', "%").into()
}

/// Makes a file of so many bytes, none of which take space.
fn create_sparse_file(path: &Path, length: u64) -> Result<(), WorkspaceError> {
    fs::File::create(path)
        .and_then(|file| file.set_len(length))
        .map_err(|error| WorkspaceError::io(DOING, path, error))
}
