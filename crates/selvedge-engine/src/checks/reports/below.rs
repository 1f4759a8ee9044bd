//! Reports that Maven and Gradle write into the project by themselves, a file for each test class.
//! Only those count that this execution wrote: what lay there before says nothing about it.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use selvedge_digest::{TestIds, TestSummary};

use super::{READ_BYTES, Told, read};
use crate::workspace::Anchor;

/// How deep in a project its modules' reports may lie.
const DEPTH: usize = 12;
/// How many files are looked at.
const FILES: usize = 20_000;
/// Folders that hold no reports and much else.
const PASSED_OVER: [&str; 4] = ["node_modules", ".git", ".gradle", ".m2"];

/// Which file it is, and when it was last changed: a writer can set any other time but this one.
type Identity = (u64, i64, i64);

/// The reports of a project.
pub(super) struct Below {
    project: PathBuf,
    anchor: Anchor,
    folders: &'static [&'static [&'static str]],
    before: BTreeMap<PathBuf, Identity>,
}

impl Below {
    /// Looks before the runner starts; removes what it finds where the runner would otherwise take
    /// it for a reason to run nothing.
    pub(super) fn look(
        project: &Path,
        folders: &'static [&'static [&'static str]],
        cleared: bool,
    ) -> io::Result<Self> {
        let mut below = Self {
            project: project.to_owned(),
            anchor: Anchor::at(project)?,
            folders,
            before: BTreeMap::new(),
        };
        below.before = below.found();
        if cleared {
            for path in below.before.keys() {
                below.anchor.remove(path)?;
            }
        }
        Ok(below)
    }

    /// Reads what is new. Nothing new is no trick: the runner was not asked for anything.
    pub(super) fn read(&self) -> Told {
        let mut all = TestSummary {
            complete: true,
            ..TestSummary::default()
        };
        let mut any = false;
        let mut left = READ_BYTES;
        for (path, identity) in self.found() {
            if self.before.get(&path) == Some(&identity) {
                continue;
            }
            let told = match self.anchor.open(&path) {
                Ok(file) => read(file, &mut left),
                Err(error) => Told::Unreadable(format!("cannot be read: {error}")),
            };
            match told {
                Told::Whole(tests) => add(&mut all, tests),
                other => return other,
            }
            any = true;
        }
        if any { Told::Whole(all) } else { Told::Nothing }
    }

    /// The reports that are there, by their place in the project.
    fn found(&self) -> BTreeMap<PathBuf, Identity> {
        let walk = WalkBuilder::new(&self.project)
            .standard_filters(false)
            .follow_links(false)
            .max_depth(Some(DEPTH))
            .filter_entry(|entry| {
                !PASSED_OVER
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
            .take(FILES)
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

fn add(all: &mut TestSummary, more: TestSummary) {
    all.executed = all.executed.saturating_add(more.executed);
    all.passed = all.passed.saturating_add(more.passed);
    all.failed = all.failed.saturating_add(more.failed);
    all.skipped = all.skipped.saturating_add(more.skipped);
    join(&mut all.passed_ids, more.passed_ids);
    join(&mut all.failed_ids, more.failed_ids);
    join(&mut all.skipped_ids, more.skipped_ids);
}

fn join(all: &mut TestIds, more: TestIds) {
    let mut bytes: usize = all.ids.iter().map(String::len).sum();
    all.omitted = all.omitted.saturating_add(more.omitted);
    for id in more.ids {
        bytes = bytes.saturating_add(id.len());
        if bytes > TestIds::MAX_BYTES {
            all.omitted += 1;
        } else {
            all.ids.push(id);
        }
    }
}
