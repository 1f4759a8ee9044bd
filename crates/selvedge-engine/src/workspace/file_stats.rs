//! Compares the metadata of all files of a workspace before and after a program ran, to find the files that were
//! written.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use itertools::{EitherOrBoth, Itertools};

use super::Workspace;
use super::error::WorkspaceError;
use super::exclusions::{ExcludedPath, ExclusionReason};
use super::fingerprint::FileFingerprint;
use super::relative::RelativePath;
use super::snapshot::DetailedSnapshot;
use super::survey::Survey;
use super::tool_folders::ToolFiles;

/// Metadata of the files that snapshots cover, and of those in tool folders.
#[derive(Debug)]
pub(crate) struct FileStatIndex {
    files: BTreeMap<RelativePath, FileFingerprint>,
    folders: BTreeMap<RelativePath, u32>,
    tools: ToolFiles,
    /// Existing paths that snapshots do not cover.
    excluded: Vec<ExcludedPath>,
}

/// Files that were added, removed or written, relative to the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenPaths {
    /// Files that snapshots cover.
    pub(crate) files: Vec<PathBuf>,
    /// Files in tool folders, except for caches and records of tools.
    pub(crate) tools: Vec<PathBuf>,
}

impl Workspace {
    /// Records inode, size and times of all files, without reading them.
    pub(crate) fn capture_files(&self) -> Result<FileStatIndex, WorkspaceError> {
        Ok(self.stats_of_survey(self.survey(self.rules(), &HashSet::new())?))
    }

    /// The metadata that a survey has found.
    pub(super) fn stats_of_survey(&self, survey: Survey) -> FileStatIndex {
        FileStatIndex {
            files: survey.files,
            folders: survey.folders,
            tools: self.scan_tools(&survey.excluded, ToolFiles::default()),
            excluded: survey.excluded,
        }
    }

    /// The metadata that a snapshot has found, with the current one of files that were `written` since; `None` if they
    /// cannot be known without a survey. `tools` are those that are known.
    pub(super) fn stats_of_snapshot(
        &self,
        snapshot: DetailedSnapshot,
        written: &[PathBuf],
        tools: ToolFiles,
    ) -> Option<FileStatIndex> {
        // A snapshot leaves out files that a survey lists if it cannot read them.
        let is_unreadable = |it: &ExcludedPath| it.reason == ExclusionReason::Unreadable;
        if snapshot.excluded.iter().any(is_unreadable) {
            return None;
        }
        let files = snapshot.files.into_iter();
        let mut files: BTreeMap<RelativePath, FileFingerprint> = files
            .map(|(path, stored)| (path, stored.fingerprint))
            .collect();
        for path in written {
            let data = self.dir.join(path).symlink_metadata().ok()?;
            *files.get_mut(path.as_os_str())? = FileFingerprint::from_metadata(&data);
        }
        Some(FileStatIndex {
            files,
            folders: snapshot.folders,
            tools: self.scan_tools(&snapshot.excluded, tools),
            excluded: snapshot.excluded,
        })
    }
}

impl FileStatIndex {
    /// Existing paths that snapshots do not cover.
    pub(crate) fn into_excluded(self) -> Vec<ExcludedPath> {
        self.excluded
    }

    /// Returns whether a snapshot would be the same and no file has been written.
    pub(crate) fn is_same_tree(&self, after: &Self) -> bool {
        self.files == after.files && self.folders == after.folders
    }

    /// Returns the files that differ in `after`. The comparison includes the time of the last change, which no program
    /// can set.
    pub(crate) fn find_written(&self, after: &Self) -> WrittenPaths {
        WrittenPaths {
            files: find_differences(&self.files, &after.files),
            tools: self.tools.find_written(&after.tools),
        }
    }
}

/// Returns the paths of files that one of both lacks, or that differ.
pub(super) fn find_differences(
    before: &BTreeMap<RelativePath, FileFingerprint>,
    after: &BTreeMap<RelativePath, FileFingerprint>,
) -> Vec<PathBuf> {
    let pairs = before
        .iter()
        .merge_join_by(after, |one, other| one.0.cmp(other.0));
    let different =
        pairs.filter(|pair| !matches!(pair, EitherOrBoth::Both(one, other) if one == other));
    different
        .map(|pair| pair.into_left().0.to_path_buf())
        .collect()
}
