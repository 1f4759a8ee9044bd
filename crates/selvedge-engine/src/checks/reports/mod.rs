//! Machine-readable reports of test runners: where they are expected, and how they are read.
//!
//! The runner runs the code that is verified, so the report is untrusted: it may be missing, a link, a pipe, endless or
//! forged. It is read after the runner's whole process tree has ended, through a descriptor of its folder, up to a size
//! limit, by the digest's readers.

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

/// Maximum bytes that are read of a report, all its files together.
const MAX_REPORT_BYTES: u64 = 256 << 20;

/// Name prefix of the files that record that a runner was started.
const STARTED_PREFIX: &str = "started-";
/// Outcomes of tests that must fail, as the runner's machinery reported them, one line each.
const CANARY_FILE: &str = "canary";
/// Modules of the runner, and the file that each was loaded from.
const ORIGINS_FILE: &str = "origins";
/// Maximum bytes that are read of each of these files.
const MAX_NOTES_BYTES: u64 = 64 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ParsedReport {
    /// No report was requested, or none had to be written.
    NotExpected,
    /// A report was requested, but does not exist.
    Missing,
    /// The report is not complete; the reason continues "the report of X …".
    Unreadable(String),
    /// The report is complete.
    Complete(TestSummary),
}

/// A report that a command is to write.
pub(super) struct ExpectedReport {
    invocation: RunnerInvocation,
    /// Private folder for the report and the helper files; deleted when this is dropped.
    folder: TempDir,
    /// Keeps the folder open, in case its path is replaced later.
    anchor: DirHandle,
    project_reports: Option<ProjectReports>,
    /// Where the runner is started.
    project: CheckDirectory,
}

impl ExpectedReport {
    /// Creates the folder for the report and writes the helper files that the runner needs.
    pub(super) fn prepare(
        invocation: RunnerInvocation,
        run_dir: &Path,
        project: CheckDirectory,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("report-")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(run_dir)?;
        for (name, text) in invocation.helper_files(folder.path()) {
            std::fs::write(folder.path().join(name), text)?;
        }
        let project_reports = match invocation.spec.location {
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
            invocation,
            folder,
            anchor,
            project_reports,
            project,
        })
    }

    /// Returns the folder that the report is written to.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the arguments that request the report.
    pub(super) fn argv(&self, argv: &[String]) -> Vec<String> {
        self.invocation.argv(argv, self.folder.path())
    }

    /// Returns whether the program's output is the report. Then it is converted to text for people.
    pub(super) fn is_program_output(&self) -> bool {
        self.invocation.spec.location == ReportLocation::StandardOutput
    }

    /// Returns the variables that request the report.
    pub(super) fn variables(&self) -> Vec<(&'static str, String, VariableJoin)> {
        self.invocation.variables(self.folder.path())
    }

    /// Reads the report. Blocks.
    pub(super) fn read(&self, printed: Option<TestSummary>) -> ParsedReport {
        match self.read_with_canary(printed) {
            ParsedReport::Complete(tests) => {
                ParsedReport::Complete(relative_ids(tests, &self.project))
            }
            other => other,
        }
    }

    /// Reads the reports. They do not count if a test that must fail has passed.
    fn read_with_canary(&self, printed: Option<TestSummary>) -> ParsedReport {
        match (self.read_reports(printed), self.failed_canary()) {
            (ParsedReport::Complete(_) | ParsedReport::NotExpected, Some(canary)) => {
                ParsedReport::Unreadable(format!(
                    "cannot be trusted: it reports a test as passed that must fail{canary}, so the runner was changed"
                ))
            }
            (report, _) => report,
        }
    }

    fn read_reports(&self, printed: Option<TestSummary>) -> ParsedReport {
        match (self.invocation.spec.location, &self.project_reports) {
            (ReportLocation::InProject { .. }, Some(project_reports)) => project_reports.read(),
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

    /// Returns the sorted names of all files in the folder with this suffix.
    fn files_with(&self, suffix: &str) -> Vec<OsString> {
        let entries = std::fs::read_dir(self.folder.path()).into_iter().flatten();
        let mut names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.retain(|name| name.as_bytes().ends_with(suffix.as_bytes()));
        names.sort();
        names
    }

    fn read_all(&self, names: &[OsString]) -> ParsedReport {
        match merge_reports(names.iter().map(|name| self.anchor.open(Path::new(name)))) {
            ParsedReport::NotExpected => self.absent_report(),
            report => report,
        }
    }

    /// Reads the reports of all runners that were started. Each of them must have written one.
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
                "is missing: {runner} was started but did not write one"
            ));
        }
        match self.read_all(&reports) {
            ParsedReport::Complete(tests) if tests.executed == 0 => ParsedReport::NotExpected,
            report => report,
        }
    }

    /// Returns what a missing report means.
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

    /// Returns descriptions of the runner's modules that were loaded from the workspace. Blocks.
    pub(super) fn replaced_modules(&self, workspace: &Path) -> Vec<String> {
        let listed = self.read_notes(ORIGINS_FILE).unwrap_or_default();
        origins::replaced_modules(&listed, workspace)
    }

    /// Reads a file that Selvedge's helper files have written next to the reports.
    fn read_notes(&self, name: &str) -> Option<String> {
        let file = self.anchor.open(Path::new(name)).ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_NOTES_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Returns a description of a test that must fail but passed, or `None` if there is none or nothing was recorded.
    fn failed_canary(&self) -> Option<String> {
        let outcomes = self.read_notes(CANARY_FILE)?;
        let canary = outcomes
            .lines()
            .find_map(|line| line.strip_prefix("passed"))?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || " ._:-".contains(c);
        let canary: String = canary.chars().filter(|c| is_plain(*c)).take(60).collect();
        Some(match canary.trim() {
            "" => String::new(),
            canary => format!(" ({canary})"),
        })
    }
}

/// Reads one file and subtracts its size from the remaining limit.
fn parse_report(file: impl Read, remaining_bytes: &mut u64) -> ParsedReport {
    let mut digester = Digester::new(Hints::default());
    match io::copy(
        &mut file.take(remaining_bytes.saturating_add(1)),
        &mut digester,
    ) {
        Ok(bytes) if bytes > *remaining_bytes => {
            return ParsedReport::Unreadable(format!(
                "has more than {} MiB",
                MAX_REPORT_BYTES >> 20
            ));
        }
        Ok(0) => return ParsedReport::Unreadable("is empty".to_owned()),
        Ok(bytes) => *remaining_bytes -= bytes,
        Err(error) => return ParsedReport::Unreadable(format!("cannot be read: {error}")),
    }
    let analysis = digester.finish(CommandStatus::Unknown);
    match analysis.tests {
        None => ParsedReport::Unreadable("has an unknown format".to_owned()),
        Some(tests) => validate_summary(tests, analysis.failures_total),
    }
}

/// Makes file paths in test ids relative to the directory of the runner, so that a test has the same id in another
/// directory. A runner whose settings are in a folder above, such as pytest's, begins its ids with the path from there.
fn relative_ids(mut tests: TestSummary, project: &CheckDirectory) -> TestSummary {
    let path = &project.sandbox_path;
    let absolute = format!("{}/", path.display());
    let from_above: Vec<String> = path
        .ancestors()
        .skip(1)
        .filter_map(|above| Some(format!("{}/", path.strip_prefix(above).ok()?.display())))
        .collect();
    let is_file = |id: &str| {
        let end = id.find("::").or_else(|| id.find(" > "));
        project
            .host_path
            .join(&id[..end.unwrap_or(id.len())])
            .is_file()
    };
    let relative = |id: &str| {
        let own = id.strip_prefix(&absolute).or_else(|| id.strip_prefix("./"));
        own.map(str::to_owned).or_else(|| {
            let mut rests = from_above.iter().filter_map(|above| id.strip_prefix(above));
            let rest = rests.find(|rest| is_file(rest))?;
            (!is_file(id)).then(|| rest.to_owned())
        })
    };
    for list in [
        &mut tests.passed_ids,
        &mut tests.failed_ids,
        &mut tests.skipped_ids,
    ] {
        for id in &mut list.ids {
            if let Some(relative) = relative(id) {
                *id = relative;
            }
        }
    }
    tests
}

/// Accepts a summary if the runner completed it and it counts the failures.
fn validate_summary(tests: TestSummary, failures: u64) -> ParsedReport {
    if !tests.complete {
        return ParsedReport::Unreadable("is incomplete".to_owned());
    }
    // A test file that did not load is a failure, although none of its tests failed.
    if tests.failed == 0 && failures > 0 {
        return ParsedReport::Unreadable(format!("contains {failures} failures outside of tests"));
    }
    ParsedReport::Complete(tests)
}

#[cfg(test)]
mod tests;
