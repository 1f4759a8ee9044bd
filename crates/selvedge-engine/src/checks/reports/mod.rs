//! The report that a test runner writes for machines: where it is awaited, and what it tells.
//!
//! The runner runs the code that is judged, so what stands there is foreign: it may be missing, a
//! link, a pipe, endless, or forged. It is read once the runner's whole tree is gone, through a
//! descriptor of its folder, up to a cap, and by the digest's own readers.

mod below;
mod go;
mod origins;
mod sum;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use selvedge_digest::{Digester, Exit, Hints, TestSummary};
use tempfile::TempDir;

use super::place::Directory;
use super::runners::{Call, Join, Place, REPORT};
use crate::workspace::Anchor;
use below::Below;
use sum::sum;

pub(super) use go::Events;

/// How much of a report is read, all its files together, in bytes.
const READ_BYTES: u64 = 256 << 20;

/// What begins the name of a file that says that a runner was started.
const STARTED: &str = "started-";
/// What the runner's machinery made of tests that must fail, a line for each.
const CANARY: &str = "canary";
/// The modules of the runner's, and the file that each was loaded from.
const ORIGINS: &str = "origins";
/// How much of each of these is read.
const NOTES_BYTES: u64 = 64 << 10;

/// What a report tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Told {
    /// None was asked for, or none was due.
    Nothing,
    /// It was asked for, and there is none.
    Missing,
    /// There is something, which is no whole report; why, to follow "its report".
    Unreadable(String),
    /// It is whole.
    Whole(TestSummary),
}

/// A report that a command is to write.
pub(super) struct Awaited {
    call: Call,
    /// What is added may be read here; nobody else is to look in, and it goes with this.
    folder: TempDir,
    /// Holds the folder, whatever stands at its path later.
    anchor: Anchor,
    below: Option<Below>,
    /// Where the runner is started.
    project: Directory,
}

impl Awaited {
    /// Makes a folder for it, and for what the runner needs beside.
    pub(super) fn prepare(call: Call, run_dir: &Path, project: Directory) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("report-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(run_dir)?;
        for (name, text) in call.aids(folder.path()) {
            std::fs::write(folder.path().join(name), text)?;
        }
        let below = match call.row.place {
            Place::Below { folders, cleared } => {
                Some(Below::look(&project.files, folders, cleared)?)
            }
            Place::File | Place::Folder(_) | Place::Started | Place::Output => None,
        };
        let anchor = Anchor::at(folder.path())?;
        Ok(Self {
            call,
            folder,
            anchor,
            below,
            project,
        })
    }

    /// Where it is to be written.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The words that ask for it.
    pub(super) fn argv(&self, argv: &[String]) -> Vec<String> {
        self.call.argv(argv, self.folder.path())
    }

    /// Whether it is the output, which then is for machines, and is to be kept for people.
    pub(super) fn is_output(&self) -> bool {
        self.call.row.place == Place::Output
    }

    /// The variables that ask for it.
    pub(super) fn variables(&self) -> Vec<(&'static str, String, Join)> {
        self.call.variables(self.folder.path())
    }

    /// Reads it. Blocks.
    pub(super) fn read(&self, printed: Option<TestSummary>) -> Told {
        match self.look(printed) {
            Told::Whole(tests) => Told::Whole(ids_from_here(tests, &self.project.seen)),
            other => other,
        }
    }

    /// Looks into what was written: nothing of it counts where a test that must fail passed.
    fn look(&self, printed: Option<TestSummary>) -> Told {
        match (self.look_at_reports(printed), self.living_canary()) {
            (Told::Whole(_) | Told::Nothing, Some(living)) => Told::Unreadable(format!(
                "is worth nothing: it calls a test passed that must fail{living}, so the runner was changed"
            )),
            (told, _) => told,
        }
    }

    fn look_at_reports(&self, printed: Option<TestSummary>) -> Told {
        match (self.call.row.place, &self.below) {
            (Place::Below { .. }, Some(below)) => below.read(),
            (Place::Below { .. }, None) => Told::Nothing,
            (Place::Output, _) => printed.map_or(Told::Nothing, |tests| whole(tests, 0)),
            (Place::File, _) => self.read_file(),
            (Place::Folder(ending), _) => self.read_all(&self.files_with(ending)),
            (Place::Started, _) => self.read_started(),
        }
    }

    /// The names of all files with this ending, sorted.
    fn files_with(&self, ending: &str) -> Vec<OsString> {
        let entries = std::fs::read_dir(self.folder.path()).into_iter().flatten();
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.retain(|name| name.as_bytes().ends_with(ending.as_bytes()));
        names.sort();
        names
    }

    fn read_all(&self, names: &[OsString]) -> Told {
        match sum(names.iter().map(|name| self.anchor.open(Path::new(name)))) {
            Told::Nothing => self.none(),
            told => told,
        }
    }

    /// Each runner that was started must have left its report.
    fn read_started(&self) -> Told {
        let all = self.files_with("");
        let started = all.iter().filter_map(|name| {
            let process = name.to_str()?.strip_prefix(STARTED)?;
            Some((process, OsString::from(format!("{REPORT}-{process}"))))
        });
        let (processes, reports): (Vec<&str>, Vec<OsString>) = started.unzip();
        if let Some(at) = reports.iter().position(|report| !all.contains(report)) {
            let process = processes.get(at).copied().unwrap_or_default();
            let runner = process.rsplit_once('-').map_or(process, |(name, _)| name);
            return Told::Unreadable(format!("is missing: {runner} was started and left none"));
        }
        match self.read_all(&reports) {
            Told::Whole(tests) if tests.executed == 0 => Told::Nothing,
            told => told,
        }
    }

    /// What it means that there is none.
    fn none(&self) -> Told {
        if self.call.row.overruled {
            Told::Nothing
        } else {
            Told::Missing
        }
    }

    fn read_file(&self) -> Told {
        match self.anchor.open(Path::new(REPORT)) {
            Ok(file) => read(file, &mut { READ_BYTES }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Told::Unreadable(format!("cannot be read: {error}"))
            }
            Err(_) => self.none(),
        }
    }

    /// The modules of its runner that were loaded from this workspace, described. Blocks.
    pub(super) fn replaced_modules(&self, workspace: &Path) -> Vec<String> {
        let listed = self.notes(ORIGINS).unwrap_or_default();
        origins::replaced_modules(&listed, workspace)
    }

    /// What our own files have noted beside the reports.
    fn notes(&self, name: &str) -> Option<String> {
        let file = self.anchor.open(Path::new(name)).ok()?;
        let mut noted = Vec::new();
        file.take(NOTES_BYTES).read_to_end(&mut noted).ok()?;
        Some(String::from_utf8_lossy(&noted).into_owned())
    }

    /// What was said of a test that must fail and passed. Where nothing is said of one, nothing is known.
    fn living_canary(&self) -> Option<String> {
        let said = self.notes(CANARY)?;
        let which = said.lines().find_map(|line| line.strip_prefix("passed"))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._:-".contains(c);
        let which: String = which.chars().filter(|c| is_plain(*c)).take(60).collect();
        Some(match which.trim() {
            "" => String::new(),
            which => format!(" ({which})"),
        })
    }
}

/// Reads one file, from what is left of the cap.
fn read(file: impl Read, left: &mut u64) -> Told {
    let mut digester = Digester::new(Hints::default());
    match io::copy(&mut file.take(left.saturating_add(1)), &mut digester) {
        Ok(bytes) if bytes > *left => {
            return Told::Unreadable(format!("has more than {} MiB", READ_BYTES >> 20));
        }
        Ok(0) => return Told::Unreadable("is empty".to_owned()),
        Ok(bytes) => *left -= bytes,
        Err(error) => return Told::Unreadable(format!("cannot be read: {error}")),
    }
    let analysis = digester.finish(Exit::Unknown);
    match analysis.tests {
        None => Told::Unreadable("is in no format that is known".to_owned()),
        Some(tests) => whole(tests, analysis.failures_total),
    }
}

/// Files in ids as they are called from where the runner is started: elsewhere the same test has the
/// same id.
fn ids_from_here(mut tests: TestSummary, project: &Path) -> TestSummary {
    let here = format!("{}/", project.display());
    for list in [
        &mut tests.passed_ids,
        &mut tests.failed_ids,
        &mut tests.skipped_ids,
    ] {
        for id in &mut list.ids {
            if let Some(rest) = id.strip_prefix(&here).or_else(|| id.strip_prefix("./")) {
                *id = rest.to_owned();
            }
        }
    }
    tests
}

/// A summary is worth something when the runner closed it, and when it counts what failed.
fn whole(tests: TestSummary, failures: u64) -> Told {
    if !tests.complete {
        return Told::Unreadable("breaks off".to_owned());
    }
    // A test file that did not load is a failure, though no test of it is.
    if tests.failed == 0 && failures > 0 {
        return Told::Unreadable(format!("tells of {failures} failures outside of all tests"));
    }
    Told::Whole(tests)
}

#[cfg(test)]
mod tests;
