//! Reports for others, written where the command line says. What they say is `selvedge_core::export`'s.
//!
//! Whether a file can be written is looked at before anything is paid for. One that cannot be written
//! all the same, at the end, is an error of its own: it takes nothing away from the verdict or from
//! the other files.

use std::io::Write;
use std::path::{Path, PathBuf};

use selvedge_core::export::{self, Account, Places};
use selvedge_core::model::exit_code;

use super::{Attestation, Format, file};
use crate::cli::{Host, ReportArgs};
use crate::error::CliError;
use crate::local::Home;
use crate::streams::write_output;

/// Where GitHub wants the summary of a step.
const STEP_SUMMARY: &str = "GITHUB_STEP_SUMMARY";

/// The reports that are wanted.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    wanted: Vec<(Form, Target)>,
    /// The one report that is about a tree and not about checks.
    pub(crate) attestation: Attestation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Attestation,
    Junit,
    Sarif,
    Markdown,
    Github,
    Gitlab,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Target {
    Stdout,
    Stderr,
    File(PathBuf),
    EndOf(PathBuf),
}

impl Reports {
    /// What the options ask for, refused where it could not be done.
    pub(crate) fn prepare(
        args: &ReportArgs,
        format: Format,
        environment: &[(String, String)],
    ) -> Result<Self, CliError> {
        let files = [
            (Form::Attestation, &args.attest),
            (Form::Junit, &args.junit),
            (Form::Sarif, &args.sarif),
            (Form::Markdown, &args.markdown),
        ];
        let files = files
            .into_iter()
            .filter_map(|(form, file)| Some((form, file.as_ref()?)));
        let hosts = args.annotations.iter().map(|it| match it.host {
            Host::Github => (Form::Github, &it.file),
            Host::Gitlab => (Form::Gitlab, &it.file),
        });
        let mut wanted = Vec::new();
        for (form, file) in files.chain(hosts) {
            wanted.push((form, target(form, file, format)?));
        }
        if args.step_summary {
            let summary = environment.iter().find(|(name, _)| name == STEP_SUMMARY);
            let Some((_, path)) = summary else {
                return Err(
                    CliError::usage(format!("--step-summary: ${STEP_SUMMARY} is not set")).hint(
                        "GitHub sets it for the steps of a job; elsewhere use --markdown FILE",
                    ),
                );
            };
            wanted.push((Form::Markdown, Target::EndOf(PathBuf::from(path))));
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
            if let Target::File(path) = target {
                file::can_be_written(path).map_err(|error| {
                    let path = path.display();
                    CliError::usage(format!("{option}: cannot write {path}: {error}"))
                })?;
            }
        }
        let files = wanted.iter().filter_map(|(_, target)| match target {
            Target::File(path) | Target::EndOf(path) => Some(path.as_path()),
            Target::Stdout | Target::Stderr => None,
        });
        let files: Vec<&Path> = files.collect();
        let attested = wanted.iter().find(|(form, _)| *form == Form::Attestation);
        let attested = attested.map(|(_, target)| target.clone());
        Ok(Self {
            attestation: Attestation::prepare(args, attested, &files)?,
            wanted,
        })
    }

    /// Whether none is wanted.
    pub(crate) fn are_none(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Whether a report has standard output to itself.
    pub(crate) fn own_stdout(&self) -> bool {
        self.wanted
            .iter()
            .any(|(_, target)| *target == Target::Stdout)
    }

    /// Writes them all, and gives the exit code: the verdict's own, and that of a failed machinery
    /// where the verdict was good but a report of it could not be written.
    pub(crate) fn write(&self, code: u8, account: &Account<'_>, home: &Home, dir: &Path) -> u8 {
        if self.are_none() {
            return code;
        }
        let repository = home.workspace(dir).ok();
        let repository = repository.as_ref().and_then(|it| it.repository_root());
        let places = Places {
            repository: repository.unwrap_or(dir),
            workspace: dir,
            exists: &|path| path.is_file(),
        };
        let mut code = code;
        for (form, target) in &self.wanted {
            let Some(text) = form.render(account, &places) else {
                continue;
            };
            if let Err(error) = write(target, text.as_bytes()) {
                let (option, word) = (form.option(), &account.verdict.word);
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

impl Form {
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
    fn render(self, account: &Account<'_>, places: &Places<'_>) -> Option<String> {
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

fn target(form: Form, file: &Path, format: Format) -> Result<Target, CliError> {
    if file != Path::new("-") {
        return Ok(Target::File(file.to_owned()));
    }
    match (format, form) {
        (Format::Human, _) => Ok(Target::Stdout),
        // GitHub reads both streams.
        (Format::Json | Format::Jsonl, Form::Github) => Ok(Target::Stderr),
        (Format::Json | Format::Jsonl, _) => {
            let option = form.option();
            Err(CliError::usage(format!(
                "{option} -: --format has standard output to itself"
            ))
            .hint("name a file instead of `-`"))
        }
    }
}

pub(super) fn write(target: &Target, text: &[u8]) -> Result<(), String> {
    let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
    match target {
        Target::File(path) => file::replace(path, text).map_err(|error| failed(path, error)),
        Target::EndOf(path) => file::append(path, text).map_err(|error| failed(path, error)),
        Target::Stdout => {
            // What goes wrong there is reported there.
            write_output(text);
            Ok(())
        }
        Target::Stderr => {
            let written = std::io::stderr().lock().write_all(text);
            written.map_err(|error| format!("to standard error: {error}"))
        }
    }
}
