//! Writes the requested reports. Their contents are rendered by `selvedge_core::export`.
//!
//! Whether a file can be written is checked before any money is spent. A report that then cannot be written is a
//! separate error: the verdict and the other reports are not affected.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use selvedge_core::export::{self, LocationResolver, ReportInput};
use selvedge_core::model::exit_code;

use super::file::OutputFile;
use super::report_args::{CodeHost, ReportArgs};
use super::{AttestationWriter, OutputFormat, file};
use crate::error::CliError;
use crate::local::StateDir;
use crate::streams::write_output;

/// Contains the path of GitHub's step summary.
const STEP_SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// The requested reports.
#[derive(Debug, Default)]
pub(crate) struct ReportOutputs {
    requested: Vec<(ReportFormat, ReportTarget)>,
    /// The report about a tree; all others are about checks.
    pub(crate) attestation: AttestationWriter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReportFormat {
    Attestation,
    Junit,
    Sarif,
    Markdown,
    Github,
    Gitlab,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ReportTarget {
    Stdout,
    Stderr,
    File(OutputFile),
    Append(OutputFile),
}

/// Why a report was not written.
#[derive(Debug, thiserror::Error)]
pub(super) enum WriteReportError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("to standard error: {0}")]
    Stderr(#[source] io::Error),
}

impl ReportOutputs {
    /// Validates the options, and checks that the files can be written.
    pub(crate) fn prepare(
        args: &ReportArgs,
        format: OutputFormat,
        environment: &[(String, String)],
    ) -> Result<Self, CliError> {
        let files = [
            (ReportFormat::Attestation, &args.attest),
            (ReportFormat::Junit, &args.junit),
            (ReportFormat::Sarif, &args.sarif),
            (ReportFormat::Markdown, &args.markdown),
        ];
        let files = files
            .into_iter()
            .filter_map(|(report_format, file)| Some((report_format, file.as_ref()?)));
        let hosts = args.annotations.iter().map(|it| match it.host {
            CodeHost::Github => (ReportFormat::Github, &it.file),
            CodeHost::Gitlab => (ReportFormat::Gitlab, &it.file),
        });
        let mut requested = Vec::new();
        for (report_format, file) in files.chain(hosts) {
            requested.push((report_format, parse_target(report_format, file, format)?));
        }
        if args.step_summary {
            let summary = environment
                .iter()
                .find(|(name, _)| name == STEP_SUMMARY_VARIABLE);
            let Some((_, path)) = summary else {
                return Err(CliError::usage(format!(
                    "--step-summary: ${STEP_SUMMARY_VARIABLE} is not set"
                ))
                .hint("GitHub sets it in the steps of a job; elsewhere use --markdown FILE"));
            };
            requested.push((
                ReportFormat::Markdown,
                ReportTarget::Append(output_file("--step-summary", Path::new(path))?),
            ));
        }
        for (index, (report_format, target)) in requested.iter().enumerate() {
            let option = report_format.option();
            let earlier = requested.iter().take(index);
            if let Some((other, _)) = earlier.clone().find(|(_, it)| it == target) {
                let other = other.option();
                return Err(CliError::usage(format!(
                    "{other} and {option} write to the same file"
                )));
            }
            if let ReportTarget::File(file) = target {
                file::check_writable(&file.path).map_err(|error| {
                    let path = file.path.display();
                    CliError::usage(format!("{option}: cannot write {path}: {error}"))
                })?;
            }
        }
        let files = requested.iter().filter_map(|(_, target)| match target {
            ReportTarget::File(file) | ReportTarget::Append(file) => Some(file.path.as_path()),
            ReportTarget::Stdout | ReportTarget::Stderr => None,
        });
        let files: Vec<&Path> = files.collect();
        let attested = requested
            .iter()
            .find(|(report_format, _)| *report_format == ReportFormat::Attestation);
        let attested = attested.map(|(_, target)| target.clone());
        Ok(Self {
            attestation: AttestationWriter::prepare(args, attested, &files)?,
            requested,
        })
    }

    /// Whether no report is requested.
    pub(crate) fn is_empty(&self) -> bool {
        self.requested.is_empty()
    }

    /// Whether a report is written to standard output.
    pub(crate) fn uses_stdout(&self) -> bool {
        self.requested
            .iter()
            .any(|(_, target)| *target == ReportTarget::Stdout)
    }

    /// Writes all reports; returns the exit code: `code`, or [`exit_code::INFRASTRUCTURE`] if the work is verified but
    /// a report could not be written.
    pub(crate) fn write(
        &self,
        code: u8,
        report: &ReportInput<'_>,
        home: &StateDir,
        dir: &Path,
    ) -> u8 {
        if self.is_empty() {
            return code;
        }
        let repository = home.open_workspace(dir).ok();
        let repository = repository.as_ref().and_then(|it| it.repository_root());
        let locations = LocationResolver {
            repository: repository.unwrap_or(dir),
            workspace: dir,
            exists: &|path| path.is_file(),
        };
        let mut code = code;
        for (report_format, target) in &self.requested {
            let Some(text) = report_format.render(report, &locations) else {
                continue;
            };
            if let Err(error) = write_target(target, text.as_bytes()) {
                let (option, label) = (report_format.option(), &report.verdict.label);
                CliError::infrastructure(format!("{option}: cannot write {error}"))
                    .hint(format!("the verdict is unaffected: {label}"))
                    .print();
                if code == exit_code::VERIFIED {
                    code = exit_code::INFRASTRUCTURE;
                }
            }
        }
        code
    }
}

impl ReportFormat {
    fn option(self) -> &'static str {
        match self {
            Self::Attestation => "--attest",
            Self::Junit => "--junit",
            Self::Sarif => "--sarif",
            Self::Markdown => "--markdown",
            Self::Github => "--annotations github",
            Self::Gitlab => "--annotations gitlab",
        }
    }

    /// Renders the report; `None` for the attestation, which is written separately.
    fn render(self, report: &ReportInput<'_>, locations: &LocationResolver<'_>) -> Option<String> {
        Some(match self {
            Self::Attestation => return None,
            Self::Junit => export::junit(report),
            Self::Sarif => export::sarif(report, locations, env!("CARGO_PKG_VERSION")),
            Self::Markdown => export::markdown(report),
            Self::Github => export::github(report, locations),
            Self::Gitlab => export::gitlab(report, locations),
        })
    }
}

fn parse_target(
    report_format: ReportFormat,
    file: &Path,
    format: OutputFormat,
) -> Result<ReportTarget, CliError> {
    if file != Path::new("-") {
        return output_file(report_format.option(), file).map(ReportTarget::File);
    }
    match (format, report_format) {
        (OutputFormat::Human, _) => Ok(ReportTarget::Stdout),
        // GitHub reads both streams.
        (OutputFormat::Json | OutputFormat::Jsonl, ReportFormat::Github) => {
            Ok(ReportTarget::Stderr)
        }
        (OutputFormat::Json | OutputFormat::Jsonl, _) => {
            let option = report_format.option();
            Err(CliError::usage(format!(
                "{option} -: standard output is already used by --format"
            ))
            .hint("use a file instead of `-`"))
        }
    }
}

fn output_file(option: &str, path: &Path) -> Result<OutputFile, CliError> {
    OutputFile::new(path.to_owned()).map_err(|error| {
        let path = path.display();
        CliError::usage(format!("{option}: cannot write {path}: {error}"))
    })
}

pub(super) fn write_target(target: &ReportTarget, text: &[u8]) -> Result<(), WriteReportError> {
    let failed = |path: &Path, source: io::Error| WriteReportError::File {
        path: path.to_owned(),
        source,
    };
    match target {
        ReportTarget::File(file) => {
            let written = file.replace(text);
            written.map_err(|error| failed(&file.path, error))
        }
        ReportTarget::Append(file) => {
            let written = file.append(text);
            written.map_err(|error| failed(&file.path, error))
        }
        ReportTarget::Stdout => {
            // Reports its own failures.
            write_output(text);
            Ok(())
        }
        ReportTarget::Stderr => {
            let written = io::stderr().lock().write_all(text);
            written.map_err(WriteReportError::Stderr)
        }
    }
}
