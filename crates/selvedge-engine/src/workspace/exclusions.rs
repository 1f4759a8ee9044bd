//! What a snapshot covers and what it leaves out, as tables and numbers: tracked and unignored files
//! always, ignored ones while they are small and no tool's cache. Whatever is left out is listed with
//! its reason, because it cannot be brought back.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// How much a snapshot takes in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Largest file of any kind, in bytes.
    pub file: u64,
    /// Largest ignored file, in bytes.
    pub ignored_file: u64,
    /// All ignored files together, in bytes.
    pub ignored_total: u64,
    /// How many ignored files.
    pub ignored_count: usize,
}

const MIB: u64 = 1024 * 1024;

impl Default for SnapshotLimits {
    fn default() -> Self {
        Self {
            file: 100 * MIB,
            ignored_file: MIB,
            ignored_total: 64 * MIB,
            ignored_count: 20_000,
        }
    }
}

/// Why something is not in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExclusionReason {
    /// Neither ignored nor a cache, but larger than [`SnapshotLimits::file`].
    TooLarge,
    /// May not be read.
    Unreadable,
    /// The records of a repository inside the workspace; its work files are covered.
    RepositoryRecords,
    /// A pipe, socket or device.
    Special,
    /// A name git cannot hold (`.gitmodules` as a link).
    Unstorable,
    /// Ignored and larger than [`SnapshotLimits::ignored_file`].
    IgnoredTooLarge,
    /// Ignored, and there are too many ignored files, or too much in them.
    IgnoredTooMuch,
    /// A folder that a tool fills and can fill again.
    Cache,
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "larger than the limit for a file",
            Self::Unreadable => "not readable",
            Self::RepositoryRecords => "a nested repository's own records",
            Self::Special => "a pipe, socket or device",
            Self::Unstorable => "a name git cannot hold",
            Self::IgnoredTooLarge => "ignored and larger than the limit for an ignored file",
            Self::IgnoredTooMuch => "ignored, and ignored files are over their limit together",
            Self::Cache => "a tool's cache",
        })
    }
}

/// One file or folder that is not in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedPath {
    /// Relative to the workspace.
    pub path: PathBuf,
    /// Why.
    pub reason: ExclusionReason,
    /// In bytes; none for a folder, which is not measured.
    pub size: Option<u64>,
}

/// What is not in a snapshot: all of it counted, the first of it named, the least expected first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExcludedPaths {
    /// At most [`ExcludedPaths::MAX_LISTED`] of them.
    pub listed: Vec<ExcludedPath>,
    /// How many files and folders.
    pub total: u64,
    /// How many bytes in the files among them.
    pub bytes: u64,
}

impl ExcludedPaths {
    /// How many are named.
    pub const MAX_LISTED: usize = 2_000;

    pub(super) fn new(mut all: Vec<ExcludedPath>) -> Self {
        all.sort_by(|a, b| (a.reason, &a.path).cmp(&(b.reason, &b.path)));
        let total = all.len() as u64;
        let bytes = all.iter().filter_map(|left_out| left_out.size).sum();
        all.truncate(Self::MAX_LISTED);
        Self {
            listed: all,
            total,
            bytes,
        }
    }
}

/// Which folders count as caches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheRules {
    /// In a repository: only what is ignored can be a cache.
    Repository,
    /// In a folder without one nothing is ignored, so the table of caches stands in for the rules.
    Folder,
}

/// Folders that only ever hold what a tool can make again.
pub(super) const CACHE_FOLDERS: &[&str] = &[
    "node_modules",
    "bower_components",
    "__pycache__",
    ".venv",
    ".tox",
    ".nox",
    ".eggs",
    ".mypy_cache",
    ".pytest_cache",
    ".ruff_cache",
    ".hypothesis",
    ".ipynb_checkpoints",
    ".gradle",
    ".terraform",
    ".next",
    ".nuxt",
    ".svelte-kit",
    ".parcel-cache",
    ".turbo",
    ".angular",
    ".nyc_output",
    ".pnpm-store",
    ".dart_tool",
    ".stack-work",
    ".cache",
    ".direnv",
    "zig-cache",
    ".zig-cache",
    "DerivedData",
];

/// Folders that hold such things when they are ignored, and anything at all when they are not.
const IGNORED_CACHE_FOLDERS: &[&str] = &[
    "target",
    "venv",
    "env",
    "build",
    "_build",
    "dist",
    "out",
    "obj",
    "deps",
    "vendor",
    "Pods",
    "coverage",
    "elm-stuff",
    ".yarn",
    ".bundle",
];

/// The file by which a folder declares itself a cache (<https://bford.info/cachedir/>).
pub(super) const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Whether a folder only ever holds what a tool can make again: by its name, or because it says so itself.
pub(crate) fn is_regenerable(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    CACHE_FOLDERS.iter().any(|cache| name == OsStr::new(cache)) || folder.join(CACHE_TAG).exists()
}

/// Whether an ignored folder of this name is a cache.
pub(crate) fn is_cache(name: &OsStr) -> bool {
    CACHE_FOLDERS
        .iter()
        .chain(IGNORED_CACHE_FOLDERS)
        .any(|cache| name == OsStr::new(cache))
}
