//! The mounts of a room: installed tools and large files of the workspace, read-only, and on top of them the caches
//! that tools write.

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

/// Maximum number of paths of a workspace that are mounted.
const MAX_MOUNTS: usize = 500;
/// File in an empty mount point, because an empty folder would be part of a snapshot.
pub(super) const MOUNT_MARKER: &str = ".selvedge-room";
/// File in a room with the digests of ignored files from before the agent.
const IGNORED_DIGESTS_FILE: &str = "ignored.json";
/// Folder in a room with the caches that are mounted on top of installed tools.
const WRITTEN_FOLDER: &str = "written";

/// Tool folders that are written whenever the tools run; they are copied like build output.
const WRITTEN_TOOLS: [&str; 3] = [".tox", ".nox", ".eggs"];
/// Caches in `node_modules`, and the package that writes each. An empty name means any package.
const NODE_CACHES: [(&str, &str); 4] = [
    (".cache", ""),
    (".vite", "vite"),
    (".vite-temp", "vite"),
    (".vitest", "vitest"),
];

#[derive(Debug, Clone)]
pub(crate) struct VerificationRoomMount {
    pub(crate) source: PathBuf,
    /// Relative to the workspace, or absolute.
    pub(crate) mount_point: PathBuf,
    pub(crate) is_writable: bool,
}

/// Paths of the workspace that are mounted, relative to it.
#[derive(Debug, Clone, Default)]
pub(super) struct MountedPaths {
    places: Vec<PathBuf>,
    tools: BTreeSet<PathBuf>,
    /// Settings in these folders that have not changed since before the agent. Setups read them, too.
    settings: Vec<PathBuf>,
    /// Ignored files that no snapshot contains and that have changed since before the agent; they are not mounted.
    pub(super) absent: Vec<PathBuf>,
}

impl MountedPaths {
    /// Finds the paths to mount. Returns `None` if there are too many.
    pub(super) fn find(
        origin: &Workspace,
        excluded: &[ExcludedPath],
        folder: &Path,
    ) -> Option<Self> {
        let recorded: BTreeMap<String, String> = fs::read(folder.join(IGNORED_DIGESTS_FILE))
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or_default();
        let tools: BTreeSet<PathBuf> = origin.tool_folders_in(excluded).into_iter().collect();
        let mut mounted = Self::default();
        for ExcludedPath { path, reason, .. } in excluded {
            let data = origin.dir.join(path).symlink_metadata();
            if !data.is_ok_and(|data| data.is_file() || data.is_dir()) {
                continue;
            }
            match reason {
                ExclusionReason::Cache if tools.contains(path) && !is_self_writing_tool(path) => {
                    mounted.tools.insert(path.clone());
                    let settings = settings_in(path).into_iter();
                    let is_unchanged = |path: &PathBuf| {
                        let before = path.to_str().and_then(|path| recorded.get(path));
                        before == Some(&metadata_digest(&origin.dir, path))
                    };
                    mounted.settings.extend(settings.filter(is_unchanged));
                }
                ExclusionReason::TooLarge | ExclusionReason::RepositoryRecords => {}
                ExclusionReason::IgnoredTooLarge | ExclusionReason::IgnoredTooMuch => {
                    let before = path.to_str().and_then(|path| recorded.get(path));
                    if before != Some(&metadata_digest(&origin.dir, path)) {
                        mounted.absent.push(path.clone());
                        continue;
                    }
                }
                ExclusionReason::Cache
                | ExclusionReason::Unreadable
                | ExclusionReason::Special
                | ExclusionReason::TooDeep
                | ExclusionReason::Unstorable => {
                    continue;
                }
            }
            mounted.places.push(path.clone());
        }
        (mounted.places.len() <= MAX_MOUNTS).then_some(mounted)
    }

    /// Creates the files that settings of tools are mounted on, which a setup reads, too.
    pub(super) fn create_places_of_settings(&self, tree: &Path) -> Result<(), WorkspaceError> {
        for path in &self.settings {
            let mount_point = tree.join(path);
            if mount_point.symlink_metadata().is_err() {
                make_folder(mount_point.parent().unwrap_or(&mount_point))?;
                create_sparse_file(&mount_point, 0)?;
            }
        }
        Ok(())
    }

    /// Returns the mounted folders of installed tools.
    pub(super) fn tools(&self) -> BTreeSet<PathBuf> {
        self.tools.clone()
    }

    /// Returns whether a path is mounted or below a mounted path.
    pub(super) fn contains(&self, path: &Path) -> bool {
        self.places.iter().any(|place| path.starts_with(place))
    }

    /// Returns all mounts except for those at and below `hidden` paths.
    pub(super) fn mounts(
        &self,
        origin: &Workspace,
        folder: &Path,
        hidden: &BTreeSet<PathBuf>,
    ) -> Vec<VerificationRoomMount> {
        let read_only = |source: PathBuf, place: PathBuf| VerificationRoomMount {
            source,
            mount_point: place,
            is_writable: false,
        };
        let places = self.places.iter();
        let mut mounts: Vec<VerificationRoomMount> = places
            .map(|place| read_only(origin.dir.join(place), place.clone()))
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
        let is_visible = |path: &Path| !path.ancestors().any(|above| hidden.contains(above));
        mounts.retain(|mount| is_visible(&mount.mount_point));
        let settings = self.settings.iter().filter(|path| !is_visible(path));
        mounts.extend(settings.map(|path| read_only(origin.dir.join(path), path.clone())));
        let repository = repository_mounts(origin).into_iter();
        mounts.extend(repository.map(|(source, place)| read_only(source, place)));
        mounts
    }

    /// Creates mount points and missing caches. A mount point must exist and be excluded from snapshots. Returns whether
    /// one was created in `tree`.
    pub(super) fn create_mount_points(
        &self,
        origin: &Workspace,
        tree: &Path,
        folder: &Path,
    ) -> Result<bool, WorkspaceError> {
        let mut has_created = false;
        for path in &self.places {
            let (original, mount_point) = (origin.dir.join(path), tree.join(path));
            let Ok(data) = original.symlink_metadata() else {
                continue;
            };
            if data.is_dir() {
                make_folder(&mount_point)?;
                if fs::read_dir(&mount_point).is_ok_and(|mut it| it.next().is_none()) {
                    create_sparse_file(&mount_point.join(MOUNT_MARKER), 0)?;
                    has_created = true;
                }
            } else if mount_point.symlink_metadata().is_err() {
                make_folder(mount_point.parent().unwrap_or(&mount_point))?;
                // As long as the original, so that snapshots exclude it for the same reason.
                create_sparse_file(&mount_point, data.len())?;
                has_created = true;
            }
        }
        self.create_places_of_settings(tree)?;
        for (_, place) in repository_mounts(origin) {
            make_folder(&tree.join(place))?;
        }
        for place in self.caches(origin) {
            let (original, mount_point) =
                (origin.dir.join(&place), written_cache_path(folder, &place));
            if mount_point.symlink_metadata().is_ok() {
                continue;
            }
            if is_folder(&original) {
                make_folder(&mount_point)?;
            } else {
                make_folder(mount_point.parent().unwrap_or(&mount_point))?;
                create_sparse_file(&mount_point, 0)?;
            }
        }
        Ok(has_created)
    }

    /// Returns the paths in installed tools that are written when the tools run. A missing cache is created, empty, in
    /// the workspace, because a mount point must exist.
    fn caches(&self, origin: &Workspace) -> Vec<PathBuf> {
        let mut caches = Vec::new();
        for tool in &self.tools {
            let original = origin.dir.join(tool);
            if tool.file_name() == Some(OsStr::new("node_modules")) {
                for (cache, package) in NODE_CACHES {
                    let at = original.join(cache);
                    let is_used = original.join(package).is_dir();
                    if is_used && (is_folder(&at) || fs::create_dir(&at).is_ok()) {
                        caches.push(tool.join(cache));
                    }
                }
            }
            let lock = original.join(".lock");
            if lock.symlink_metadata().is_ok_and(|data| data.is_file()) {
                caches.push(tool.join(".lock"));
            }
        }
        caches
    }
}

/// Settings of the user in a folder of installed tools, which no setup creates.
pub(super) fn settings_in(tool: &Path) -> Option<PathBuf> {
    let is_of_bundler = tool.file_name() == Some(OsStr::new(".bundle"));
    is_of_bundler.then(|| tool.join("config"))
}

/// Takes over what was recorded for the room that contains another one.
pub(super) fn inherit_ignored(folder: &Path) {
    // Without it, what snapshots do not contain is absent.
    if let Some(above) = folder.parent() {
        let _ = fs::copy(
            above.join(IGNORED_DIGESTS_FILE),
            folder.join(IGNORED_DIGESTS_FILE),
        );
    }
}

/// Records the metadata of ignored files that no snapshot contains, before an agent works.
pub(super) fn record_ignored(
    origin: &Workspace,
    excluded: &[ExcludedPath],
    folder: &Path,
) -> Result<(), WorkspaceError> {
    let is_recorded = |it: &&ExcludedPath| {
        matches!(
            it.reason,
            ExclusionReason::IgnoredTooLarge | ExclusionReason::IgnoredTooMuch
        )
    };
    let paths = excluded.iter().filter(is_recorded);
    let paths = paths.map(|it| it.path.clone());
    let settings = excluded.iter().filter_map(|it| settings_in(&it.path));
    let settings = settings.filter(|path| origin.dir.join(path).is_file());
    let digests = paths.chain(settings).filter_map(|path| {
        // A file whose name is not UTF-8 is not recorded and therefore not mounted.
        let digest = metadata_digest(&origin.dir, &path);
        Some((path.to_str()?.to_owned(), digest))
    });
    let digests: BTreeMap<String, String> = digests.collect();
    let path = folder.join(IGNORED_DIGESTS_FILE);
    let bytes = serde_json::to_vec(&digests).unwrap_or_default();
    fs::write(&path, bytes).map_err(|error| WorkspaceError::io(DOING, &path, error))
}

/// Removes what was written to mounted caches.
pub(super) fn remove_written(folder: &Path) -> Result<(), WorkspaceError> {
    remove_all(&folder.join(WRITTEN_FOLDER))
}

/// Hashes the metadata of a file, or of all files of a folder.
fn metadata_digest(dir: &Path, path: &Path) -> String {
    let at = dir.join(path);
    let mut files = files_below(&at, path);
    if let Ok(data) = at.symlink_metadata() {
        files.push((path.into(), FileFingerprint::from_metadata(&data)));
    }
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut hash = Sha256::new();
    for (path, fingerprint) in files {
        hash.update(path.as_os_str().as_bytes());
        hash.update(format!("\0{fingerprint:?}\n"));
    }
    let mut digest = String::new();
    for byte in hash.finalize() {
        // Writing to a string cannot fail.
        let _ = write!(digest, "{byte:02x}");
    }
    digest
}

/// Returns the mounted folders of `.git`: their paths on the host, and their mount points in the workspace.
fn repository_mounts(origin: &Workspace) -> Vec<(PathBuf, PathBuf)> {
    let git_dir = origin.dir.join(".git");
    if !is_folder(&git_dir) {
        return Vec::new();
    }
    let objects = ("objects", ".git/shared-objects");
    let modules = ("modules", ".git/modules");
    let all = [objects, modules].into_iter();
    all.map(|(name, place)| (git_dir.join(name), PathBuf::from(place)))
        .filter(|(source, _)| is_folder(source))
        .collect()
}

fn is_self_writing_tool(path: &Path) -> bool {
    path.iter()
        .any(|name| WRITTEN_TOOLS.iter().any(|tool| name == OsStr::new(tool)))
}

/// Returns the path in a room of the cache that is mounted at a mount point.
fn written_cache_path(folder: &Path, place: &Path) -> PathBuf {
    folder.join(WRITTEN_FOLDER).join(encode_path(place))
}

/// Encodes a path as a single name.
pub(super) fn encode_path(place: &Path) -> PathBuf {
    place.to_string_lossy().replace('/', "%").into()
}

/// Creates a sparse file of this length.
fn create_sparse_file(path: &Path, length: u64) -> Result<(), WorkspaceError> {
    fs::File::create(path)
        .and_then(|file| file.set_len(length))
        .map_err(|error| WorkspaceError::io(DOING, path, error))
}
