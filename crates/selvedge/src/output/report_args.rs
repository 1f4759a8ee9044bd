//! Arguments for reports in machine-readable formats, shared by all commands that write reports.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;

/// Reports to write.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Reports (FILE `-` is standard output)")]
pub(crate) struct ReportArgs {
    /// JUnit XML, with a suite for each attempt and a case for each check.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) junit: Option<PathBuf>,
    /// SARIF 2.1.0: failures with their locations, for annotations on code hosts.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) sarif: Option<PathBuf>,
    /// Markdown summary.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) markdown: Option<PathBuf>,
    /// Append the Markdown summary to the page of a GitHub job ($GITHUB_STEP_SUMMARY).
    #[arg(long)]
    pub(crate) step_summary: bool,
    /// Annotations for a code host: `github` (workflow commands) or `gitlab` (a code quality report), on
    /// standard output, or in a file with `=FILE`. Repeatable.
    #[arg(long, value_name = "HOST[=FILE]")]
    pub(crate) annotations: Vec<AnnotationTarget>,
    /// In-toto statement: the verified tree, the checks and the outcome.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) attest: Option<PathBuf>,
    /// Sign the attestation with this Ed25519 key (from `selvedge attest keygen`).
    #[arg(long, value_name = "KEY", requires = "attest", value_hint = clap::ValueHint::FilePath)]
    pub(crate) attest_key: Option<PathBuf>,
}

/// The format and destination of annotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AnnotationTarget {
    pub(crate) host: CodeHost,
    /// `-` is standard output.
    pub(crate) file: PathBuf,
}

/// A code host.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeHost {
    /// Workflow commands, one per line.
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
            _ => return Err("expected `github` or `gitlab`, optionally with `=FILE`".to_owned()),
        };
        if file.is_empty() {
            return Err("expected a file after `=`".to_owned());
        }
        Ok(Self {
            host,
            file: PathBuf::from(file),
        })
    }
}
