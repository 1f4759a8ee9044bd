//! Output formats: text for people, one JSON object, or JSON lines.
//!
//! Text from agents, checks and repositories passes through
//! [`sanitize_text`](selvedge_core::sanitize::sanitize_text) before it reaches a terminal. In the JSON
//! formats, standard output contains only JSON; everything else goes to standard error.

mod attestation;
pub(crate) mod file;
pub(crate) mod gates;
pub(crate) mod human_reporter;
pub(crate) mod json;
pub(crate) mod labels;
pub(crate) mod plan;
mod prefixed;
mod report_args;
mod reports;
pub(crate) mod run_details;
pub(crate) mod run_table;

use std::collections::BTreeMap;

use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_engine::Observer;

use crate::streams;
use crate::terminal::style;

pub(crate) use attestation::AttestationWriter;
pub(crate) use report_args::ReportArgs;
pub(crate) use reports::ReportOutputs;

/// Output format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// Text for people.
    #[default]
    Human,
    /// One JSON value.
    Json,
    /// One JSON value per line.
    Jsonl,
}

/// Observes the runs of a command, and reports their results.
pub(crate) trait Reporter: Observer {
    /// Reports that a run has ended, was stopped, or awaits review.
    fn report_run_end(&self, run: &Run);

    /// Handles an event of a plan; `plan` is the state after the event.
    fn report_plan_event(&self, envelope: &Envelope, plan: &Plan);

    /// An observer for one of several concurrent runs.
    fn subtask_observer<'a>(&'a self, name: &str) -> Box<dyn Observer + 'a>;

    /// Reports that a plan has ended, was stopped, or awaits review; `runs` contains its subtasks' results.
    fn report_plan_end(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>);
}

/// The reporter for an output format.
pub(crate) fn reporter_for(output: &OutputOptions) -> Box<dyn Reporter + '_> {
    match output.format {
        OutputFormat::Human => {
            Box::new(human_reporter::HumanReporter::with_reports(&output.reports))
        }
        OutputFormat::Json => Box::new(json::JsonReporter::default()),
        OutputFormat::Jsonl => Box::new(json::JsonReporter::with_events()),
    }
}

/// The output format of a command, and the reports that it writes.
#[derive(Debug, Default)]
pub(crate) struct OutputOptions {
    pub(crate) format: OutputFormat,
    pub(crate) reports: ReportOutputs,
}

impl From<OutputFormat> for OutputOptions {
    fn from(format: OutputFormat) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }
}

/// Prints the verdict on standard output, or on standard error if a report uses standard output.
pub(crate) fn print_verdict(reports: &ReportOutputs, text: &str) {
    if reports.uses_stdout() {
        err!("{text}");
    } else {
        out!("{text}");
    }
}

/// Prints something that the user should know before the run begins.
pub(crate) fn print_notice(text: &str) {
    if streams::is_json_log() {
        tracing::warn!("{text}");
    } else {
        errln!("{} {text}", style::warning("note:"));
    }
}
