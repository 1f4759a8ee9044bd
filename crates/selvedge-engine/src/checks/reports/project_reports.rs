//! Reports that Maven and Gradle write into the project by default, one file per test class. Only reports that this
//! execution wrote count.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::ParsedReport;
use super::merge::merge_reports;
use crate::workspace::DirHandle;

/// Maximum depth of a report in a project.
const MAX_DEPTH: usize = 12;
/// Maximum number of files that are examined.
const MAX_FILES: usize = 20_000;
/// Large folders that do not contain reports.
const SKIPPED_FOLDERS: [&str; 4] = ["node_modules", ".git", ".gradle", ".m2"];

/// Inode, and time of the last change, which is the only time that a writer cannot set.
type FileIdentity = (u64, i64, i64);

/// The reports of a project.
pub(super) struct ProjectReports {
    project: PathBuf,
    anchor: DirHandle,
    folders: &'static [&'static [&'static str]],
    before: BTreeMap<PathBuf, FileIdentity>,
}

impl ProjectReports {
    /// Finds the existing reports before the runner starts. Removes them if `cleared` is set, because the runner would
    /// otherwise skip tests that are up to date.
    pub(super) fn scan(
        project: &Path,
        folders: &'static [&'static [&'static str]],
        cleared: bool,
    ) -> io::Result<Self> {
        let mut reports = Self {
            project: project.to_owned(),
            anchor: DirHandle::open_root(project)?,
            folders,
            before: BTreeMap::new(),
        };
        reports.before = reports.find_reports();
        if cleared {
            for path in reports.before.keys() {
                reports.anchor.remove(path)?;
            }
        }
        Ok(reports)
    }

    /// Reads new reports. It is not suspicious if there are none, because none was requested.
    pub(super) fn read(&self) -> ParsedReport {
        let is_new =
            |(path, identity): &(PathBuf, FileIdentity)| self.before.get(path) != Some(identity);
        let new = self.find_reports().into_iter().filter(is_new);
        merge_reports(new.map(|(path, _)| self.anchor.open(&path)))
    }

    /// Returns the existing reports by their path in the project.
    fn find_reports(&self) -> BTreeMap<PathBuf, FileIdentity> {
        let walk = WalkBuilder::new(&self.project)
            .standard_filters(false)
            .follow_links(false)
            .max_depth(Some(MAX_DEPTH))
            .filter_entry(|entry| {
                !SKIPPED_FOLDERS
                    .iter()
                    .any(|name| entry.file_name() == OsStr::new(name))
            })
            .build();
        walk.flatten()
            .filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()))
            .filter_map(|entry| {
                let path = entry.path().strip_prefix(&self.project).ok()?.to_owned();
                self.is_report(&path).then_some(())?;
                let data = entry.metadata().ok()?;
                Some((path, (data.ino(), data.ctime(), data.ctime_nsec())))
            })
            .take(MAX_FILES)
            .collect()
    }

    fn is_report(&self, path: &Path) -> bool {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let names: Vec<&OsStr> = path.iter().collect();
        let is_below = |folder: &&[&str]| {
            let mut windows = names.windows(folder.len());
            windows.any(|window| {
                window
                    .iter()
                    .zip(*folder)
                    .all(|(one, other)| *one == OsStr::new(other))
            })
        };
        name.starts_with("TEST-")
            && path.extension() == Some(OsStr::new("xml"))
            && self.folders.iter().any(is_below)
    }
}
