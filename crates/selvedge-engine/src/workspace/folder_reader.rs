//! Reads folders ahead of a walk, while git lists the files: a second thread reads them in the order in which the walk
//! is going to need them. It cannot know which of them are ignored, so it skips those that usually are, and stops with
//! the walk.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use super::exclusions;
use super::is_repository_data;
use super::tool_folders::is_tool_folder_name;

/// An entry of a folder. Links are not followed.
#[derive(Debug)]
pub(super) struct FolderEntry {
    pub(super) name: OsString,
    pub(super) metadata: Metadata,
}

/// The entries of a folder, sorted by name; `None` if it cannot be read.
pub(super) type FolderEntries = Option<Vec<FolderEntry>>;

/// Reads the folders below a root, some of them ahead.
#[derive(Debug)]
pub(super) struct FolderReader<'a> {
    root: &'a Path,
    read_ahead: Mutex<HashMap<PathBuf, FolderEntries>>,
    is_over: AtomicBool,
}

impl<'a> FolderReader<'a> {
    /// Calls `walk` with a reader of the folders below `root`.
    pub(super) fn with<T>(root: &'a Path, walk: impl FnOnce(&Self) -> T) -> T {
        let reader = Self {
            root,
            read_ahead: Mutex::default(),
            is_over: AtomicBool::new(false),
        };
        thread::scope(|scope| {
            // Without a second thread, the walk reads all folders itself.
            let _ = thread::Builder::new().spawn_scoped(scope, || reader.read_ahead());
            let result = walk(&reader);
            reader.is_over.store(true, Ordering::Relaxed);
            result
        })
    }

    /// Returns the entries of a folder, relative to the root. Each folder must be read at most once.
    pub(super) fn read(&self, folder: &Path) -> FolderEntries {
        let known = self.lock().remove(folder);
        known.unwrap_or_else(|| read_folder(&self.root.join(folder), || false))
    }

    fn read_ahead(&self) {
        let is_over = || self.is_over.load(Ordering::Relaxed);
        let mut pending = vec![PathBuf::new()];
        while let Some(folder) = pending.pop() {
            let entries = read_folder(&self.root.join(&folder), is_over);
            if is_over() {
                return;
            }
            let subfolders = entries
                .iter()
                .flatten()
                .filter(|entry| entry.metadata.is_dir() && !is_usually_ignored(&entry.name))
                .map(|entry| folder.join(&entry.name));
            let first = pending.len();
            pending.extend(subfolders);
            pending[first..].reverse();
            self.lock().insert(folder, entries);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, FolderEntries>> {
        self.read_ahead
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_usually_ignored(name: &OsStr) -> bool {
    is_repository_data(name) || exclusions::is_cache(name) || is_tool_folder_name(name)
}

/// Returns the entries of a folder, without those that are removed meanwhile. Stops early if the result `is_useless`.
fn read_folder(path: &Path, is_useless: impl Fn() -> bool) -> FolderEntries {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path).ok()? {
        let entry = entry.ok()?;
        if let Ok(metadata) = entry.metadata() {
            let name = entry.file_name();
            entries.push(FolderEntry { name, metadata });
        }
        if is_useless() {
            return None;
        }
    }
    entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
    Some(entries)
}
