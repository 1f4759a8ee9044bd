//! Reports that Maven and Gradle write into the project by themselves, a file for each test class.
//! Only those count that this execution wrote: what lay there before says nothing about it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::ParsedReport;
use super::merge::merge_reports;
use crate::workspace::DirHandle;

/// How deep in a project its modules' reports may lie.
const MAX_DEPTH: usize = 12;
/// How many files are looked at.
const MAX_FILES: usize = 20_000;
/// Folders that hold no reports and much else.
const SKIPPED_FOLDERS: [&str; 4] = ["node_modules", ".git", ".gradle", ".m2"];

/// Which file it is, and when it was last changed: a writer can set any other time but this one.
type FileIdentity = (u64, i64, i64);

/// The reports of a project.
pub(super) struct ProjectReports {
    project: PathBuf,
    anchor: DirHandle,
    folders: &'static [&'static [&'static str]],
    before: BTreeMap<PathBuf, FileIdentity>,
}

impl ProjectReports {
    /// Looks before the runner starts; removes what it finds where the runner would otherwise take
    /// it for a reason to run nothing.
    pub(super) fn scan(
        project: &Path,
        folders: &'static [&'static [&'static str]],
        cleared: bool,
    ) -> io::Result<Self> {
        let mut below = Self {
            project: project.to_owned(),
            anchor: DirHandle::open_root(project)?,
            folders,
            before: BTreeMap::new(),
        };
        below.before = below.find_reports();
        if cleared {
            for path in below.before.keys() {
                below.anchor.remove(path)?;
            }
        }
        Ok(below)
    }

    /// Reads what is new. Nothing new is no trick: the runner was not asked for anything.
    pub(super) fn read(&self) -> ParsedReport {
        let is_new =
            |(path, identity): &(PathBuf, FileIdentity)| self.before.get(path) != Some(identity);
        let new = self.find_reports().into_iter().filter(is_new);
        merge_reports(new.map(|(path, _)| self.anchor.open(&path)))
    }

    /// The reports that are there, by their place in the project.
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
        let within = |folder: &&[&str]| {
            let mut places = names.windows(folder.len());
            places.any(|place| {
                place
                    .iter()
                    .zip(*folder)
                    .all(|(one, other)| *one == OsStr::new(other))
            })
        };
        name.starts_with("TEST-")
            && path.extension() == Some(OsStr::new("xml"))
            && self.folders.iter().any(within)
    }
}
