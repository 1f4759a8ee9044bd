//! The report that a test runner writes for machines: where it is awaited, and what it tells.
//!
//! The runner runs the code that is judged, so what stands there is foreign: it may be missing, a
//! link, a pipe, endless, or forged. It is read once the runner's whole tree is gone, through a
//! descriptor of its folder, up to a cap, and by the digest's own readers.

mod go;
mod merge;
mod origins;
mod project_reports;

use std::ffi::OsString;
use std::fs::Permissions;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use selvedge_digest::{CommandStatus, Digester, Hints, TestSummary};
use tempfile::TempDir;

use super::paths::CheckDirectory;
use super::runners::{REPORT_FILE, ReportLocation, RunnerInvocation, VariableJoin};
use crate::workspace::DirHandle;
use merge::merge_reports;
use project_reports::ProjectReports;

pub(super) use go::GoTestFilter;

/// How much of a report is read, all its files together, in bytes.
const MAX_REPORT_BYTES: u64 = 256 << 20;

/// What begins the name of a file that says that a runner was started.
const STARTED_PREFIX: &str = "started-";
/// What the runner's machinery made of tests that must fail, a line for each.
const CANARY_FILE: &str = "canary";
/// The modules of the runner's, and the file that each was loaded from.
const ORIGINS_FILE: &str = "origins";
/// How much of each of these is read.
const MAX_NOTES_BYTES: u64 = 64 << 10;

/// What a report tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParsedReport {
    /// None was asked for, or none was due.
    NotExpected,
    /// It was asked for, and there is none.
    Missing,
    /// There is something, which is no whole report; why, to follow "its report".
    Unreadable(String),
    /// It is whole.
    Complete(TestSummary),
}

/// A report that a command is to write.
pub(super) struct ExpectedReport {
    invocation: RunnerInvocation,
    /// What is added may be read here; nobody else is to look in, and it goes with this.
    folder: TempDir,
    /// Holds the folder, whatever stands at its path later.
    anchor: DirHandle,
    project_reports: Option<ProjectReports>,
    /// Where the runner is started.
    project: CheckDirectory,
}

impl ExpectedReport {
    /// Makes a folder for it, and for what the runner needs beside.
    pub(super) fn prepare(
        call: RunnerInvocation,
        run_dir: &Path,
        project: CheckDirectory,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("report-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(run_dir)?;
        for (name, text) in call.aids(folder.path()) {
            std::fs::write(folder.path().join(name), text)?;
        }
        let below = match call.spec.location {
            ReportLocation::InProject { folders, cleared } => {
                Some(ProjectReports::scan(&project.host_path, folders, cleared)?)
            }
            ReportLocation::ReportFile
            | ReportLocation::ReportFolder(_)
            | ReportLocation::PerProcess
            | ReportLocation::StandardOutput => None,
        };
        let anchor = DirHandle::open_root(folder.path())?;
        Ok(Self {
            invocation: call,
            folder,
            anchor,
            project_reports: below,
            project,
        })
    }

    /// Where it is to be written.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The words that ask for it.
    pub(super) fn argv(&self, argv: &[String]) -> Vec<String> {
        self.invocation.argv(argv, self.folder.path())
    }

    /// Whether it is the output, which then is for machines, and is to be kept for people.
    pub(super) fn is_program_output(&self) -> bool {
        self.invocation.spec.location == ReportLocation::StandardOutput
    }

    /// The variables that ask for it.
    pub(super) fn variables(&self) -> Vec<(&'static str, String, VariableJoin)> {
        self.invocation.variables(self.folder.path())
    }

    /// Reads it. Blocks.
    pub(super) fn read(&self, printed: Option<TestSummary>) -> ParsedReport {
        match self.read_with_canary(printed) {
            ParsedReport::Complete(tests) => {
                ParsedReport::Complete(relative_ids(tests, &self.project.sandbox_path))
            }
            other => other,
        }
    }

    /// Looks into what was written: nothing of it counts where a test that must fail passed.
    fn read_with_canary(&self, printed: Option<TestSummary>) -> ParsedReport {
        match (self.read_reports(printed), self.failed_canary()) {
            (ParsedReport::Complete(_) | ParsedReport::NotExpected, Some(living)) => {
                ParsedReport::Unreadable(format!(
                    "is worth nothing: it calls a test passed that must fail{living}, so the runner was changed"
                ))
            }
            (told, _) => told,
        }
    }

    fn read_reports(&self, printed: Option<TestSummary>) -> ParsedReport {
        match (self.invocation.spec.location, &self.project_reports) {
            (ReportLocation::InProject { .. }, Some(below)) => below.read(),
            (ReportLocation::InProject { .. }, None) => ParsedReport::NotExpected,
            (ReportLocation::StandardOutput, _) => printed
                .map_or(ParsedReport::NotExpected, |tests| {
                    validate_summary(tests, 0)
                }),
            (ReportLocation::ReportFile, _) => self.read_file(),
            (ReportLocation::ReportFolder(ending), _) => self.read_all(&self.files_with(ending)),
            (ReportLocation::PerProcess, _) => self.read_started(),
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

    fn read_all(&self, names: &[OsString]) -> ParsedReport {
        match merge_reports(names.iter().map(|name| self.anchor.open(Path::new(name)))) {
            ParsedReport::NotExpected => self.absent_report(),
            told => told,
        }
    }

    /// Each runner that was started must have left its report.
    fn read_started(&self) -> ParsedReport {
        let all = self.files_with("");
        let started = all.iter().filter_map(|name| {
            let process = name.to_str()?.strip_prefix(STARTED_PREFIX)?;
            Some((process, OsString::from(format!("{REPORT_FILE}-{process}"))))
        });
        let (processes, reports): (Vec<&str>, Vec<OsString>) = started.unzip();
        if let Some(at) = reports.iter().position(|report| !all.contains(report)) {
            let process = processes.get(at).copied().unwrap_or_default();
            let runner = process.rsplit_once('-').map_or(process, |(name, _)| name);
            return ParsedReport::Unreadable(format!(
                "is missing: {runner} was started and left none"
            ));
        }
        match self.read_all(&reports) {
            ParsedReport::Complete(tests) if tests.executed == 0 => ParsedReport::NotExpected,
            told => told,
        }
    }

    /// What it means that there is none.
    fn absent_report(&self) -> ParsedReport {
        if self.invocation.spec.may_be_overridden {
            ParsedReport::NotExpected
        } else {
            ParsedReport::Missing
        }
    }

    fn read_file(&self) -> ParsedReport {
        match self.anchor.open(Path::new(REPORT_FILE)) {
            Ok(file) => parse_report(file, &mut { MAX_REPORT_BYTES }),
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                ParsedReport::Unreadable(format!("cannot be read: {error}"))
            }
            Err(_) => self.absent_report(),
        }
    }

    /// The modules of its runner that were loaded from this workspace, described. Blocks.
    pub(super) fn replaced_modules(&self, workspace: &Path) -> Vec<String> {
        let listed = self.read_notes(ORIGINS_FILE).unwrap_or_default();
        origins::replaced_modules(&listed, workspace)
    }

    /// What our own files have noted beside the reports.
    fn read_notes(&self, name: &str) -> Option<String> {
        let file = self.anchor.open(Path::new(name)).ok()?;
        let mut noted = Vec::new();
        file.take(MAX_NOTES_BYTES).read_to_end(&mut noted).ok()?;
        Some(String::from_utf8_lossy(&noted).into_owned())
    }

    /// What was said of a test that must fail and passed. Where nothing is said of one, nothing is known.
    fn failed_canary(&self) -> Option<String> {
        let said = self.read_notes(CANARY_FILE)?;
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
fn parse_report(file: impl Read, left: &mut u64) -> ParsedReport {
    let mut digester = Digester::new(Hints::default());
    match io::copy(&mut file.take(left.saturating_add(1)), &mut digester) {
        Ok(bytes) if bytes > *left => {
            return ParsedReport::Unreadable(format!(
                "has more than {} MiB",
                MAX_REPORT_BYTES >> 20
            ));
        }
        Ok(0) => return ParsedReport::Unreadable("is empty".to_owned()),
        Ok(bytes) => *left -= bytes,
        Err(error) => return ParsedReport::Unreadable(format!("cannot be read: {error}")),
    }
    let analysis = digester.finish(CommandStatus::Unknown);
    match analysis.tests {
        None => ParsedReport::Unreadable("is in no format that is known".to_owned()),
        Some(tests) => validate_summary(tests, analysis.failures_total),
    }
}

/// Files in ids as they are called from where the runner is started: elsewhere the same test has the
/// same id.
fn relative_ids(mut tests: TestSummary, project: &Path) -> TestSummary {
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
fn validate_summary(tests: TestSummary, failures: u64) -> ParsedReport {
    if !tests.complete {
        return ParsedReport::Unreadable("breaks off".to_owned());
    }
    // A test file that did not load is a failure, though no test of it is.
    if tests.failed == 0 && failures > 0 {
        return ParsedReport::Unreadable(format!(
            "tells of {failures} failures outside of all tests"
        ));
    }
    ParsedReport::Complete(tests)
}

#[cfg(test)]
mod tests;
