//! Reports for others, written where the command line says. What they say is `selvedge_core::export`'s.
//!
//! Whether a file can be written is looked at before anything is paid for. One that cannot be written
//! all the same, at the end, is an error of its own: it takes nothing away from the verdict or from
//! the other files.

use std::io::Write;
use std::path::{Path, PathBuf};

use selvedge_core::export::{self, LocationResolver, ReportInput};
use selvedge_core::model::exit_code;

use super::{AttestationWriter, OutputFormat, file};
use crate::cli::{CodeHost, ReportArgs};
use crate::error::CliError;
use crate::local::StateDir;
use crate::streams::write_output;

/// Where GitHub wants the summary of a step.
const STEP_SUMMARY_VARIABLE: &str = "GITHUB_STEP_SUMMARY";

/// The reports that are wanted.
#[derive(Debug, Default)]
pub(crate) struct ReportOutputs {
    requested: Vec<(ReportFormat, ReportTarget)>,
    /// The one report that is about a tree and not about checks.
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
    File(PathBuf),
    Append(PathBuf),
}

impl ReportOutputs {
    /// What the options ask for, refused where it could not be done.
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
            .filter_map(|(form, file)| Some((form, file.as_ref()?)));
        let hosts = args.annotations.iter().map(|it| match it.host {
            CodeHost::Github => (ReportFormat::Github, &it.file),
            CodeHost::Gitlab => (ReportFormat::Gitlab, &it.file),
        });
        let mut wanted = Vec::new();
        for (form, file) in files.chain(hosts) {
            wanted.push((form, parse_target(form, file, format)?));
        }
        if args.step_summary {
            let summary = environment
                .iter()
                .find(|(name, _)| name == STEP_SUMMARY_VARIABLE);
            let Some((_, path)) = summary else {
                return Err(CliError::usage(format!(
                    "--step-summary: ${STEP_SUMMARY_VARIABLE} is not set"
                ))
                .hint("GitHub sets it for the steps of a job; elsewhere use --markdown FILE"));
            };
            wanted.push((
                ReportFormat::Markdown,
                ReportTarget::Append(PathBuf::from(path)),
            ));
        }
        for (index, (form, target)) in wanted.iter().enumerate() {
            let option = form.option();
            let before = wanted.iter().take(index);
            if let Some((other, _)) = before.clone().find(|(_, it)| it == target) {
                let other = other.option();
                return Err(CliError::usage(format!(
                    "{other} and {option} would write to the same place"
                )));
            }
            if let ReportTarget::File(path) = target {
                file::check_writable(path).map_err(|error| {
                    let path = path.display();
                    CliError::usage(format!("{option}: cannot write {path}: {error}"))
                })?;
            }
        }
        let files = wanted.iter().filter_map(|(_, target)| match target {
            ReportTarget::File(path) | ReportTarget::Append(path) => Some(path.as_path()),
            ReportTarget::Stdout | ReportTarget::Stderr => None,
        });
        let files: Vec<&Path> = files.collect();
        let attested = wanted
            .iter()
            .find(|(form, _)| *form == ReportFormat::Attestation);
        let attested = attested.map(|(_, target)| target.clone());
        Ok(Self {
            attestation: AttestationWriter::prepare(args, attested, &files)?,
            requested: wanted,
        })
    }

    /// Whether none is wanted.
    pub(crate) fn is_empty(&self) -> bool {
        self.requested.is_empty()
    }

    /// Whether a report has standard output to itself.
    pub(crate) fn uses_stdout(&self) -> bool {
        self.requested
            .iter()
            .any(|(_, target)| *target == ReportTarget::Stdout)
    }

    /// Writes them all, and gives the exit code: the verdict's own, and that of a failed machinery
    /// where the verdict was good but a report of it could not be written.
    pub(crate) fn write(
        &self,
        code: u8,
        account: &ReportInput<'_>,
        home: &StateDir,
        dir: &Path,
    ) -> u8 {
        if self.is_empty() {
            return code;
        }
        let repository = home.open_workspace(dir).ok();
        let repository = repository.as_ref().and_then(|it| it.repository_root());
        let places = LocationResolver {
            repository: repository.unwrap_or(dir),
            workspace: dir,
            exists: &|path| path.is_file(),
        };
        let mut code = code;
        for (form, target) in &self.requested {
            let Some(text) = form.render(account, &places) else {
                continue;
            };
            if let Err(error) = write_target(target, text.as_bytes()) {
                let (option, word) = (form.option(), &account.verdict.label);
                CliError::infrastructure(format!("{option}: cannot write {error}"))
                    .hint(format!("the verdict stands: {word}"))
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

    /// Its text; none for what is written by itself.
    fn render(self, account: &ReportInput<'_>, places: &LocationResolver<'_>) -> Option<String> {
        Some(match self {
            Self::Attestation => return None,
            Self::Junit => export::junit(account),
            Self::Sarif => export::sarif(account, places, env!("CARGO_PKG_VERSION")),
            Self::Markdown => export::markdown(account),
            Self::Github => export::github(account, places),
            Self::Gitlab => export::gitlab(account, places),
        })
    }
}

fn parse_target(
    form: ReportFormat,
    file: &Path,
    format: OutputFormat,
) -> Result<ReportTarget, CliError> {
    if file != Path::new("-") {
        return Ok(ReportTarget::File(file.to_owned()));
    }
    match (format, form) {
        (OutputFormat::Human, _) => Ok(ReportTarget::Stdout),
        // GitHub reads both streams.
        (OutputFormat::Json | OutputFormat::Jsonl, ReportFormat::Github) => {
            Ok(ReportTarget::Stderr)
        }
        (OutputFormat::Json | OutputFormat::Jsonl, _) => {
            let option = form.option();
            Err(CliError::usage(format!(
                "{option} -: --format has standard output to itself"
            ))
            .hint("name a file instead of `-`"))
        }
    }
}

pub(super) fn write_target(target: &ReportTarget, text: &[u8]) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    match target {
        ReportTarget::File(path) => file::replace(path, text).map_err(|error| failed(path, error)),
        ReportTarget::Append(path) => file::append(path, text).map_err(|error| failed(path, error)),
        ReportTarget::Stdout => {
            // What goes wrong there is reported there.
            write_output(text);
            Ok(())
        }
        ReportTarget::Stderr => {
            let written = std::io::stderr().lock().write_all(text);
            written.map_err(|error| format!("to standard error: {error}"))
        }
    }
}
