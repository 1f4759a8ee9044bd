//! The files that a snapshot covers and excludes, as tables and limits. Tracked and unignored files are always covered;
//! ignored ones if they are small and not in a cache. Excluded files are listed with the reason, because they cannot be
//! restored.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};

/// Size limits of a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SnapshotLimits {
    /// Largest file of any kind, in bytes.
    pub file: u64,
    /// Largest ignored file, in bytes.
    pub ignored_file: u64,
    /// Total size of all ignored files, in bytes.
    pub ignored_total: u64,
    /// Number of ignored files.
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

/// How many folders may be nested in a workspace. Each access to a file opens the folders above it.
pub(super) const MAX_DEPTH: usize = 200;

/// Why a path is not in a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExclusionReason {
    /// Neither ignored nor a cache, but larger than [`SnapshotLimits::file`].
    TooLarge,
    /// Cannot be read.
    Unreadable,
    /// The `.git` of a repository inside the workspace; its work files are covered.
    RepositoryRecords,
    /// A pipe, socket or device.
    Special,
    /// A folder below more than 200 others.
    TooDeep,
    /// A name that git cannot store (`.gitmodules` as a link).
    Unstorable,
    /// Ignored and larger than [`SnapshotLimits::ignored_file`].
    IgnoredTooLarge,
    /// Ignored, and the number or total size of ignored files exceeds its limit.
    IgnoredTooMuch,
    /// A folder that a tool can fill again.
    Cache,
}

impl fmt::Display for ExclusionReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TooLarge => "larger than the limit for a file",
            Self::Unreadable => "not readable",
            Self::RepositoryRecords => "a nested repository's git files",
            Self::Special => "a pipe, socket or device",
            Self::TooDeep => "in too many nested folders",
            Self::Unstorable => "a name that git cannot store",
            Self::IgnoredTooLarge => "ignored and larger than the limit for an ignored file",
            Self::IgnoredTooMuch => "ignored, and the ignored files exceed their total limit",
            Self::Cache => "a tool's cache",
        })
    }
}

/// A file or folder that is not in a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExcludedPath {
    /// Relative to the workspace.
    pub path: PathBuf,
    pub reason: ExclusionReason,
    /// In bytes; `None` for a folder: its size is not determined.
    pub size: Option<u64>,
}

/// Paths that are not in a snapshot: all are counted and the first are listed, the least expected first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExcludedPaths {
    /// At most [`ExcludedPaths::MAX_LISTED`] of them.
    pub listed: Vec<ExcludedPath>,
    /// Number of files and folders.
    pub total: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
}

impl ExcludedPaths {
    /// Maximum length of `listed`.
    pub const MAX_LISTED: usize = 2_000;

    pub(super) fn new(mut all: Vec<ExcludedPath>) -> Self {
        all.sort_by(|a, b| (a.reason, &a.path).cmp(&(b.reason, &b.path)));
        let total = all.len() as u64;
        let bytes = all.iter().filter_map(|path| path.size).sum();
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
    /// In a repository: only an ignored folder can be a cache.
    Repository,
    /// In a folder without a repository nothing is ignored, so the table of caches decides.
    Folder,
}

/// Folders that only contain what a tool can generate again.
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

/// Folders that only contain what a tool can generate again if they are ignored, and anything if they are not.
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

/// The file that marks a folder as a cache (<https://bford.info/cachedir/>).
pub(super) const CACHE_TAG: &str = "CACHEDIR.TAG";

/// Returns whether a folder only contains what a tool can generate again, by its name or its [`CACHE_TAG`].
pub(crate) fn is_regenerable(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    CACHE_FOLDERS.iter().any(|cache| name == OsStr::new(cache)) || folder.join(CACHE_TAG).exists()
}

/// Returns whether an ignored folder of this name is a cache.
pub(crate) fn is_cache(name: &OsStr) -> bool {
    CACHE_FOLDERS
        .iter()
        .chain(IGNORED_CACHE_FOLDERS)
        .any(|cache| name == OsStr::new(cache))
}
