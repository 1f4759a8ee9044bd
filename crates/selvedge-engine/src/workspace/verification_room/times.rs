//! Modification times of the files in a room. Build tools compare them with the times of generated files and of
//! installed tools, so they must not depend on when Selvedge writes a file.
//!
//! A file that equals the one that the room began with keeps that file's time. Any other file is newer than all build
//! output that is kept, in the order of the workspace's times, so that an agent cannot make a changed file look older
//! than what was built from its earlier version.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use selvedge_core::model::TreeId;

use super::files::make_folder;
use super::{AGENT_MARKER, DOING, VerificationRoom};
use crate::workspace::Workspace;
use crate::workspace::blobs::BlobReader;
use crate::workspace::dir_handle::DirHandle;
use crate::workspace::error::WorkspaceError;
use crate::workspace::ids::BlobId;
use crate::workspace::import::FileKind;
use crate::workspace::inventory::Inventory;
use crate::workspace::relative::RelativePath;
use crate::workspace::target::TargetFile;

/// The inventory of a new room.
const START_INVENTORY: &str = "start-inventory";
/// The time at which build output was last kept, in nanoseconds since 1970.
const KEPT_AT: &str = "kept-at";
/// The same files of the last room, next to a workspace's snapshots.
const LAST_TIMES_FOLDER: &str = "last-times";
/// Nanoseconds between files of different age whose times are adjusted.
const STEP: i128 = 10_000;

/// Nanoseconds since 1970.
pub(super) type FileTime = i128;

/// A file's content, and its modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct TimedFile {
    blob: BlobId,
    modified: FileTime,
}

type TimedFiles = BTreeMap<RelativePath, TimedFile>;

/// The modification times of a room's files.
#[derive(Debug, Clone, Default)]
pub(super) struct FileTimes {
    /// The files that the room began with.
    start: TimedFiles,
    /// The files that the attempt changed.
    changed: TimedFiles,
    /// Files that differ from those at the start are newer.
    kept_at: FileTime,
}

impl FileTimes {
    /// Loads the times of the room in `folder`; `None` if it has none.
    fn load(folder: &Path) -> Option<Self> {
        let start = Inventory::load(&folder.join(START_INVENTORY))?;
        let start = timed_files(start);
        let kept_at = fs::read_to_string(folder.join(KEPT_AT)).ok()?;
        let kept_at: FileTime = kept_at.trim().parse().ok()?;
        let newest = start.values().map(|file| file.modified).max();
        Some(Self {
            kept_at: newest.map_or(kept_at, |newest| newest.max(kept_at)),
            start,
            changed: TimedFiles::new(),
        })
    }

    /// The time of a file.
    fn time_of(&self, path: &RelativePath, blob: &BlobId) -> FileTime {
        if let Some(start) = self.start.get(path).filter(|start| start.blob == *blob) {
            return start.modified;
        }
        let newest = || self.changed.values().map(|file| file.modified).max();
        match self.changed.get(path) {
            Some(changed) => changed.modified,
            None => newest().unwrap_or(self.kept_at + STEP),
        }
    }

    /// Sets the files that differ from those at the start, with their times in the workspace.
    fn set_changed(&mut self, workspace: Inventory) {
        let mut changed = timed_files(workspace);
        changed
            .retain(|path, file| self.start.get(path).map(|start| start.blob) != Some(file.blob));
        self.changed = newer_than(self.kept_at, changed);
    }
}

/// Makes files newer than `limit`, and no newer than now where the interval has room for all times, without changing
/// their order.
fn newer_than(limit: FileTime, files: TimedFiles) -> TimedFiles {
    let now = now().max(limit + STEP);
    let mut files: Vec<(RelativePath, TimedFile)> = files.into_iter().collect();
    files.sort_by_key(|(_, file)| file.modified);
    let (mut before, mut adjusted) = (None, limit);
    for (_, file) in &mut files {
        if before != Some(file.modified) {
            before = Some(file.modified);
            adjusted = file.modified.min(now).max(adjusted + STEP);
        }
        file.modified = adjusted;
    }
    files.into_iter().collect()
}

/// Returns the times that the files of a new room get: those of the workspace, unless they differ from the files of the
/// last room, whose build output may be used.
pub(super) fn start_times(
    origin: &Workspace,
    files: &BTreeMap<RelativePath, TargetFile>,
) -> BTreeMap<RelativePath, FileTime> {
    let shadow = origin.shadow.dir();
    let workspace = Inventory::load(&origin.shadow.inventory()).map(timed_files);
    let workspace = workspace.unwrap_or_default();
    let last = FileTimes::load(&shadow.join(LAST_TIMES_FOLDER));
    let is_trusted = last.is_none() && !shadow.join(AGENT_MARKER).exists();
    let now = now();
    let kept_at = last.as_ref().map_or(now, |last| last.kept_at);
    let mut times = BTreeMap::new();
    let mut changed = TimedFiles::new();
    for (path, wanted) in files {
        let has_blob = |file: &&TimedFile| file.blob == wanted.blob;
        let current = workspace.get(path).filter(has_blob);
        let current = current.map_or(now, |file| file.modified.min(now));
        let earlier = last.as_ref().and_then(|last| last.start.get(path));
        match earlier.filter(has_blob) {
            Some(earlier) => drop(times.insert(path.clone(), earlier.modified.max(current))),
            None if is_trusted => drop(times.insert(path.clone(), current)),
            None => {
                let file = TimedFile {
                    blob: wanted.blob,
                    modified: current,
                };
                changed.insert(path.clone(), file);
            }
        }
    }
    let changed = newer_than(kept_at, changed).into_iter();
    times.extend(changed.map(|(path, file)| (path, file.modified)));
    times
}

/// Moves the times of a room that ends to where the next room of the workspace looks for them.
pub(super) fn keep_for_next(origin: &Workspace, folder: &Path) -> Result<(), WorkspaceError> {
    let last = origin.shadow.dir().join(LAST_TIMES_FOLDER);
    super::files::remove_all(&last)?;
    make_folder(&last)?;
    for name in [START_INVENTORY, KEPT_AT] {
        // If the next room does not find them, all its files are new.
        let _ = fs::rename(folder.join(name), last.join(name));
    }
    Ok(())
}

impl VerificationRoom {
    /// Records the files of the new room with their times.
    pub(super) fn record_start(&self) -> Result<(), WorkspaceError> {
        let start = self.folder.join(START_INVENTORY);
        fs::copy(self.snapshots.shadow.inventory(), &start)
            .map_err(|error| WorkspaceError::io(DOING, &start, error))?;
        self.record_kept()
    }

    /// Records that build output was kept: files that change from now on are newer.
    pub(super) fn record_kept(&self) -> Result<(), WorkspaceError> {
        let path = self.folder.join(KEPT_AT);
        fs::write(&path, now().to_string()).map_err(|error| WorkspaceError::io(DOING, &path, error))
    }

    /// Loads the times of the room's files, and of the files that the attempt in the workspace changed.
    pub(super) fn load_times(&self) -> Option<FileTimes> {
        let mut times = FileTimes::load(&self.folder)?;
        if let Some(workspace) = Inventory::load(&self.origin.shadow.inventory()) {
            times.set_changed(workspace);
        }
        Some(times)
    }

    /// Sets the times of the files of `tree`, which is in the room. Returns the files whose times were not known to be
    /// right.
    pub(super) fn set_times(
        &self,
        tree: &TreeId,
        times: Option<&FileTimes>,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let mut written = Vec::new();
        let inventory = Inventory::load(&self.snapshots.shadow.inventory());
        let (Some(inventory), Some(times)) = (inventory, times) else {
            return Ok(written);
        };
        let mut blobs = BlobReader::new(&self.snapshots.git, &self.snapshots.shadow);
        let target = self.snapshots.restore_target(tree, &mut blobs)?;
        let to_error = |path: &Path, e| WorkspaceError::io(DOING, &self.tree().join(path), e);
        let anchor = DirHandle::open_root(self.tree()).map_err(|e| to_error(Path::new(""), e))?;
        let files = target.files.iter();
        for (path, wanted) in files.filter(|(_, wanted)| wanted.kind != FileKind::Link) {
            let time = times.time_of(path, &wanted.blob);
            // A file with other bytes in the inventory was written since.
            let is_set = inventory.files.get(path).is_some_and(|stored| {
                let is_written = stored.blob != wanted.blob || stored.fingerprint.is_link();
                !is_written && nanoseconds(stored.fingerprint.modified) == time
            });
            if !is_set {
                let set = anchor.set_modified(path, system_time(time));
                set.map_err(|e| to_error(path, e))?;
                written.push(path.to_path_buf());
            }
        }
        Ok(written)
    }
}

fn timed_files(inventory: Inventory) -> TimedFiles {
    let files = inventory.files.into_iter().map(|(path, stored)| {
        let file = TimedFile {
            blob: stored.blob,
            modified: nanoseconds(stored.fingerprint.modified),
        };
        (path, file)
    });
    files.collect()
}

pub(super) fn nanoseconds((seconds, nanoseconds): (i64, i64)) -> FileTime {
    i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds)
}

fn now() -> FileTime {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| i128::try_from(now.as_nanos()).unwrap_or_default())
}

/// A time before 1970 becomes 1970.
pub(super) fn system_time(time: FileTime) -> SystemTime {
    let nanoseconds = time.clamp(0, i128::from(i64::MAX));
    UNIX_EPOCH + Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(times: &[(&str, FileTime)]) -> TimedFiles {
        let files = times.iter().map(|(path, modified)| {
            let file = TimedFile {
                blob: BlobId::of(path.as_bytes()),
                modified: *modified,
            };
            (Path::new(path).into(), file)
        });
        files.collect()
    }

    #[test]
    fn changed_files_are_newer_than_kept_output_in_the_same_order() {
        let limit = now() - 1_000_000_000;
        let of_agent = limit + 500_000_000;
        let times = [
            ("old", 7),
            ("older", 5),
            ("as-old", 7),
            ("work", of_agent),
            ("future", now() + 1_000_000_000_000),
        ];
        let adjusted = newer_than(limit, files(&times));
        let time = |path: &str| adjusted[Path::new(path).as_os_str()].modified;
        assert!(limit < time("older") && time("older") < time("old"));
        assert_eq!(time("old"), time("as-old"));
        assert_eq!(time("work"), of_agent);
        assert!(time("work") < time("future") && time("future") <= now());
    }

    #[test]
    fn only_files_that_equal_those_of_the_start_keep_their_times() {
        let blob = |text: &str| BlobId::of(text.as_bytes());
        let mut times = FileTimes {
            start: files(&[("kept", 1), ("changed", 2)]),
            kept_at: 10,
            ..FileTimes::default()
        };
        times.changed = newer_than(10, files(&[("added", 3)]));
        let time = |path: &str, text: &str| times.time_of(&Path::new(path).into(), &blob(text));
        assert_eq!(time("kept", "kept"), 1);
        assert_eq!(time("changed", "changed"), 2);
        assert!(time("added", "added") > 10);
        assert!(time("changed", "merged") > 10);
    }
}
