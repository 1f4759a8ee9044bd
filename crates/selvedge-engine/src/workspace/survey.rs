//! Walks the workspace to find the files that a snapshot covers. Git lists the files that are not ignored, because only
//! git applies the rules exactly; the walk finds sizes, kinds, empty folders and nested repositories. Links are not
//! followed and files are not opened.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::error::WorkspaceError;
use super::exclusions::{
    self, CACHE_FOLDERS, CACHE_TAG, CacheRules, ExcludedPath, ExclusionReason, MAX_DEPTH,
    SnapshotLimits,
};
use super::fingerprint::FileFingerprint;
use super::folder_reader::{FolderEntry, FolderReader};
use super::relative::RelativePath;
use super::repository::{ObjectFormat, Repository, plain_file};
use super::{Workspace, git, is_repository_data};

/// The content of a workspace, by paths relative to it.
#[derive(Debug, Clone, Default)]
pub(super) struct Survey {
    /// Covered files and links.
    pub(super) files: BTreeMap<RelativePath, FileFingerprint>,
    /// All folders that were walked, with their permission bits.
    pub(super) folders: BTreeMap<RelativePath, u32>,
    /// The empty ones among the folders.
    pub(super) empty: BTreeSet<RelativePath>,
    /// Existing paths that are not covered.
    pub(super) excluded: Vec<ExcludedPath>,
    /// Files that a repository tracks or does not ignore, including missing ones, and nested repositories; `None` if
    /// git did not list them.
    pub(super) unignored: Option<HashSet<RelativePath>>,
}

impl Survey {
    /// Leaves out paths that were not covered, and that were `removed` from `dir` since.
    pub(super) fn leave_out(&mut self, dir: &Path, removed: &HashSet<PathBuf>) {
        self.excluded.retain(|it| !removed.contains(&it.path));
        for path in removed {
            self.folders.remove(path.as_os_str());
            let above = path.parent().unwrap_or(Path::new(""));
            let entries = fs::read_dir(dir.join(above));
            if entries.is_ok_and(|mut entries| entries.next().is_none()) {
                self.empty.insert(above.into());
            }
        }
    }
}

impl Workspace {
    /// Surveys the workspace by `rules`. The paths in `always` are covered regardless of their size and the ignore
    /// rules.
    pub(super) fn survey(
        &self,
        rules: CacheRules,
        always: &HashSet<RelativePath>,
    ) -> Result<Survey, WorkspaceError> {
        FolderReader::with(&self.dir, |folders| {
            self.survey_with(folders, rules, always)
        })
    }

    fn survey_with(
        &self,
        folders: &FolderReader<'_>,
        rules: CacheRules,
        always: &HashSet<RelativePath>,
    ) -> Result<Survey, WorkspaceError> {
        let mut walk = SurveyWalk {
            workspace: self,
            folders,
            rules,
            always,
            unignored: HashSet::new(),
            parents: HashSet::new(),
            ignored_bytes: 0,
            ignored_count: 0,
            survey: Survey::default(),
        };
        for path in always {
            walk.add_parents(path);
        }
        walk.add_listing(Path::new(""), self.repository.as_ref())?;
        walk.walk_folders()?;
        Ok(Survey {
            unignored: Some(walk.unignored),
            ..walk.survey
        })
    }

    /// Returns the files that the user's repository tracks or does not ignore, unsorted, including missing ones. A
    /// nested repository is one entry.
    ///
    /// # Errors
    /// Git cannot list them.
    pub fn unignored(&self) -> Result<Vec<PathBuf>, WorkspaceError> {
        self.unignored_in(&self.dir, self.repository.as_ref(), self.rules())
    }

    /// Returns the files below `dir` that are tracked or not ignored, relative to it. A nested repository is one entry.
    fn unignored_in(
        &self,
        dir: &Path,
        repository: Option<&Repository>,
        rules: CacheRules,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let list = |format, index: Option<&Path>| self.list(dir, repository, rules, format, index);
        let Some(index) = repository.and_then(Repository::index) else {
            return list(ObjectFormat::Sha1, None);
        };
        // An unreadable index only affects tracked files that are ignored and large, or in a cache: they are then
        // listed as excluded.
        list(
            repository.map_or(ObjectFormat::Sha1, Repository::object_format),
            Some(&index),
        )
        .or_else(|error| match error {
            WorkspaceError::GitTimeout { .. } | WorkspaceError::WaitsForPipe { .. } => Err(error),
            _ => list(ObjectFormat::Sha1, None),
        })
    }

    fn list(
        &self,
        dir: &Path,
        repository: Option<&Repository>,
        rules: CacheRules,
        format: ObjectFormat,
        index: Option<&Path>,
    ) -> Result<Vec<PathBuf>, WorkspaceError> {
        let reader = self.shadow.reader(format);
        let mut command = self.git.command(&reader, dir);
        command.env("GIT_WORK_TREE", repository.map_or(dir, Repository::root));
        command.env("GIT_INDEX_FILE", index.unwrap_or(&reader.join("no-index")));
        if let Some(repository) = repository {
            // A sparse index refers to trees in the repository's objects.
            command.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", repository.objects());
        }
        command.args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]);
        let excludes = repository.and_then(Repository::excludes);
        for file in excludes
            .into_iter()
            .chain(self.excludes.clone().and_then(plain_file))
        {
            let mut option = OsString::from("--exclude-from=");
            option.push(file);
            command.arg(option);
        }
        if rules == CacheRules::Folder {
            command.args(
                CACHE_FOLDERS
                    .iter()
                    .map(|name| format!("--exclude={name}/")),
            );
        }
        let listing = git::output_for_work_tree(command, "list the files", dir)?;
        let paths = listing
            .split(|byte| *byte == 0)
            .filter(|path| !path.is_empty());
        Ok(paths
            .map(|path| path.strip_suffix(b"/").unwrap_or(path))
            .map(|path| PathBuf::from(OsString::from_vec(path.to_vec())))
            .collect())
    }
}

struct SurveyWalk<'a> {
    workspace: &'a Workspace,
    folders: &'a FolderReader<'a>,
    rules: CacheRules,
    always: &'a HashSet<RelativePath>,
    unignored: HashSet<RelativePath>,
    /// All ancestors of the paths in `always` and `unignored`.
    parents: HashSet<RelativePath>,
    ignored_bytes: u64,
    ignored_count: usize,
    survey: Survey,
}

impl SurveyWalk<'_> {
    fn add_parents(&mut self, path: &Path) {
        for parent in path.ancestors().skip(1) {
            if !self.parents.insert(parent.into()) {
                return;
            }
        }
    }

    fn add_listing(
        &mut self,
        prefix: &Path,
        repository: Option<&Repository>,
    ) -> Result<(), WorkspaceError> {
        let dir = self.workspace.dir.join(prefix);
        for path in self.workspace.unignored_in(&dir, repository, self.rules)? {
            let path = prefix.join(path);
            self.add_parents(&path);
            self.unignored.insert(path.into());
        }
        Ok(())
    }

    /// Walks all folders, sorted by name, so that the limits of ignored files always exclude the same ones.
    fn walk_folders(&mut self) -> Result<(), WorkspaceError> {
        let mut pending = vec![PathBuf::new()];
        while let Some(folder) = pending.pop() {
            let Some(entries) = self.folders.read(&folder) else {
                self.exclude(folder, ExclusionReason::Unreadable, None);
                continue;
            };
            if self.is_tagged_cache(&folder, &entries) {
                self.survey.folders.remove(folder.as_os_str());
                self.exclude(folder, ExclusionReason::Cache, None);
                continue;
            }
            if entries.is_empty() {
                self.survey.empty.insert(folder.as_path().into());
            }
            let mut subfolders = Vec::new();
            for FolderEntry { name, metadata } in entries {
                let path = folder.join(name);
                if self.visit_entry(&path, &metadata)? {
                    self.survey
                        .folders
                        .insert(path.as_path().into(), metadata.permissions().mode() & 0o777);
                    subfolders.push(path);
                }
            }
            pending.extend(subfolders.into_iter().rev());
        }
        Ok(())
    }

    fn is_tagged_cache(&self, folder: &Path, entries: &[FolderEntry]) -> bool {
        folder != Path::new("")
            && !self.parents.contains(folder.as_os_str())
            && entries
                .iter()
                .any(|entry| entry.name == OsStr::new(CACHE_TAG))
    }

    /// Records an entry, and returns whether it is a folder to walk.
    fn visit_entry(&mut self, path: &Path, metadata: &Metadata) -> Result<bool, WorkspaceError> {
        let name = path.file_name().unwrap_or_default();
        if is_repository_data(name) {
            if path != Path::new(".git") {
                let size = metadata.is_file().then_some(metadata.len());
                self.exclude(path.to_owned(), ExclusionReason::RepositoryRecords, size);
            }
            return Ok(false);
        }
        if !metadata.is_dir() {
            self.add_file(path, name, metadata);
            return Ok(false);
        }
        if depth(path) > MAX_DEPTH {
            self.exclude(path.to_owned(), ExclusionReason::TooDeep, None);
            return Ok(false);
        }
        if self.unignored.contains(path.as_os_str())
            && let Some(nested) = Repository::at(&self.workspace.dir.join(path))
        {
            self.add_listing(path, Some(&nested))?;
        } else if let Some(reason) = self.folder_exclusion_reason(path, name) {
            self.exclude(path.to_owned(), reason, None);
            return Ok(false);
        }
        Ok(true)
    }

    /// Returns why a folder without unignored files is not walked.
    fn folder_exclusion_reason(&self, path: &Path, name: &OsStr) -> Option<ExclusionReason> {
        if self.parents.contains(path.as_os_str())
            || has_no_files(&self.workspace.dir.join(path), MAX_DEPTH - depth(path))
        {
            None
        } else if exclusions::is_cache(name) {
            Some(ExclusionReason::Cache)
        } else if self.ignored_count >= self.workspace.limits.ignored_count {
            Some(ExclusionReason::IgnoredTooMuch)
        } else {
            None
        }
    }

    fn add_file(&mut self, path: &Path, name: &OsStr, metadata: &Metadata) {
        let size = Some(metadata.len());
        if !metadata.is_file() && !metadata.is_symlink() {
            self.exclude(path.to_owned(), ExclusionReason::Special, size);
        } else if metadata.is_symlink() && name.as_bytes().eq_ignore_ascii_case(b".gitmodules") {
            self.exclude(path.to_owned(), ExclusionReason::Unstorable, size);
        } else if let Some(reason) = self.exclusion_reason(path, metadata.len()) {
            self.exclude(path.to_owned(), reason, size);
        } else {
            self.survey
                .files
                .insert(path.into(), FileFingerprint::from_metadata(metadata));
        }
    }

    fn exclusion_reason(&mut self, path: &Path, size: u64) -> Option<ExclusionReason> {
        let SnapshotLimits {
            file,
            ignored_file,
            ignored_total,
            ignored_count,
        } = self.workspace.limits;
        if self.always.contains(path.as_os_str()) {
            return None;
        }
        if self.unignored.contains(path.as_os_str()) {
            return (size > file).then_some(ExclusionReason::TooLarge);
        }
        if size > ignored_file {
            return Some(ExclusionReason::IgnoredTooLarge);
        }
        if self.ignored_bytes + size > ignored_total || self.ignored_count >= ignored_count {
            return Some(ExclusionReason::IgnoredTooMuch);
        }
        self.ignored_bytes += size;
        self.ignored_count += 1;
        None
    }

    fn exclude(&mut self, path: PathBuf, reason: ExclusionReason, size: Option<u64>) {
        self.survey
            .excluded
            .push(ExcludedPath { path, reason, size });
    }
}

fn depth(path: &Path) -> usize {
    path.components().count()
}

/// Returns whether a folder contains nothing but folders, up to this depth. Git does not report whether such a folder is
/// ignored.
fn has_no_files(path: &Path, depth: usize) -> bool {
    fs::read_dir(path).is_ok_and(|entries| {
        entries.flatten().all(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            is_folder && depth > 0 && has_no_files(&entry.path(), depth - 1)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survey_without_removed_paths_equals_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("work");
        for file in [
            "a.py",
            "__pycache__/a.pyc",
            "package/b.py",
            "package/__pycache__/b.pyc",
            "nothing else/inner/__pycache__/c.pyc",
            "kept/__pycache__/d.pyc",
        ] {
            let path = dir.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        let workspace = Workspace::open(&dir, &folder.path().join("shadow")).unwrap();
        let survey = || {
            workspace
                .survey(workspace.rules(), &HashSet::new())
                .unwrap()
        };
        let mut known = survey();
        let excluded = known.excluded.iter().map(|it| it.path.clone());
        let removed: HashSet<PathBuf> = excluded.filter(|it| !it.starts_with("kept")).collect();
        assert_eq!(removed.len(), 3);
        for path in &removed {
            fs::remove_dir_all(dir.join(path)).unwrap();
        }
        known.leave_out(&dir, &removed);
        let new = survey();
        assert_eq!(known.files, new.files);
        assert_eq!(known.folders, new.folders);
        assert_eq!(known.empty, new.empty);
        assert_eq!(known.unignored, new.unignored);
        let paths = |survey: &Survey| -> Vec<PathBuf> {
            let excluded = survey.excluded.iter();
            excluded.map(|it| it.path.clone()).collect()
        };
        assert_eq!(paths(&known), paths(&new));
    }
}
