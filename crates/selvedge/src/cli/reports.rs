//! The options that ask for reports in the forms that others read; the same for every command that
//! has something to report.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// Reports for others.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reports for others (FILE `-` is standard output)")]
pub(crate) struct ReportArgs {
    /// JUnit XML: a suite for each attempt, a case for each check.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// SARIF 2.1.0: failures with their places, for code hosts to annotate a change.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) sarif: Option<PathBuf>,
    /// A summary in Markdown.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,
    /// The same summary, added to the page of a GitHub job ($GITHUB_STEP_SUMMARY).
    #[arg(long)]
    pub(crate) step_summary: bool,
    /// Annotations of a code host: `github` (workflow commands) or `gitlab` (a code quality report),
    /// to standard output or with `=FILE` to a file; may be given several times.
    #[arg(long, value_name = "HOST[=FILE]")]
    pub(crate) annotations: Vec<AnnotationTarget>,
    /// An in-toto statement: which tree was verified, by which checks, with what outcome.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) attest: Option<PathBuf>,
    /// Sign the attestation with this Ed25519 key (`selvedge attest keygen` makes one).
    #[arg(long, value_name = "KEY", requires = "attest", value_hint = clap::ValueHint::FilePath)]
    pub(crate) attest_key: Option<PathBuf>,
}

/// Whose annotations, and where to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnnotationTarget {
    /// Who is to read them.
    pub(crate) host: CodeHost,
    /// `-` is standard output.
    pub(crate) file: PathBuf,
}

/// A code host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeHost {
    /// Workflow commands, a line each.
    Github,
    /// A code quality report in JSON.
    Gitlab,
}

impl FromStr for AnnotationTarget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (host, file) = text.split_once('=').unwrap_or((text, "-"));
        let host = match host {
            "github" => CodeHost::Github,
            "gitlab" => CodeHost::Gitlab,
            _ => return Err("expected `github` or `gitlab`, with `=FILE` if you like".to_owned()),
        };
        if file.is_empty() {
            return Err("`=` wants a file after it".to_owned());
        }
        Ok(Self {
            host,
            file: PathBuf::from(file),
        })
    }
}
