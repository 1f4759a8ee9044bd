//! What people and scripts read: human text, one JSON object, or JSON lines.
//!
//! Whatever an agent, a check or a repository printed passes through [`sanitize_text`] before it reaches a
//! terminal. Machine formats own standard output alone; everything else goes to standard error.

mod attestation;
pub(crate) mod file;
pub(crate) mod gates;
pub(crate) mod human_reporter;
pub(crate) mod json;
pub(crate) mod labels;
pub(crate) mod plan;
mod prefixed;
mod reports;
pub(crate) mod run_details;
pub(crate) mod style;
mod text;

use std::collections::BTreeMap;

use selvedge_core::machine::Run;
use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_engine::Observer;

pub(crate) use attestation::AttestationWriter;
pub(crate) use reports::ReportOutputs;
pub(crate) use text::{indent_lines, one_line, sanitize_text};

/// How a command speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OutputFormat {
    /// For people: live on a terminal, plain lines elsewhere.
    #[default]
    Human,
    /// One JSON object at the end.
    Json,
    /// Every event as a line of JSON, the result as the last one.
    Jsonl,
}

/// Who watches a command's runs, and says how they ended.
pub(crate) trait Reporter: Observer {
    /// The run is over, or stands still.
    fn report_run_end(&self, run: &Run);

    /// Takes an event of a plan, and the plan as it is with it.
    fn report_plan_event(&self, envelope: &Envelope, plan: &Plan);

    /// Who watches one of several runs that take place side by side.
    fn subtask_observer<'a>(&'a self, name: &str) -> Box<dyn Observer + 'a>;

    /// The plan is over, or stands still; its subtasks' runs came to this.
    fn report_plan_end(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>);
}

/// Who watches for a way of speaking.
pub(crate) fn reporter_for(output: &OutputOptions) -> Box<dyn Reporter + '_> {
    match output.format {
        OutputFormat::Human => {
            Box::new(human_reporter::HumanReporter::with_reports(&output.reports))
        }
        OutputFormat::Json => Box::new(json::JsonReporter {
            prints_events: false,
        }),
        OutputFormat::Jsonl => Box::new(json::JsonReporter {
            prints_events: true,
        }),
    }
}

/// All that a command says: how it speaks, and what it writes for others.
#[derive(Debug, Default)]
pub(crate) struct OutputOptions {
    /// How it speaks.
    pub(crate) format: OutputFormat,
    /// What it writes for others.
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

/// The last word for people: on standard output, unless a report has that to itself.
pub(crate) fn print_verdict(reports: &ReportOutputs, text: &str) {
    if reports.uses_stdout() {
        err!("{text}");
    } else {
        out!("{text}");
    }
}
