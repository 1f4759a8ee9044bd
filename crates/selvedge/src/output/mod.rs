//! What people and scripts read: human text, one JSON object, or JSON lines.
//!
//! Whatever an agent, a check or a repository printed passes through [`plain`] before it reaches a
//! terminal. Machine formats own standard output alone; everything else goes to standard error.

mod attestation;
mod beside;
pub(crate) mod file;
pub(crate) mod gates;
pub(crate) mod human;
pub(crate) mod json;
pub(crate) mod plan;
mod reports;
pub(crate) mod story;
pub(crate) mod style;
mod text;
pub(crate) mod words;

use std::collections::BTreeMap;

use selvedge_core::machine::Run;
use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_engine::Observer;

pub(crate) use attestation::Attestation;
pub(crate) use reports::Reports;
pub(crate) use text::{indented, one_line, plain};

/// How a command speaks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For people: live on a terminal, plain lines elsewhere.
    #[default]
    Human,
    /// One JSON object at the end.
    Json,
    /// Every event as a line of JSON, the result as the last one.
    Jsonl,
}

/// Who watches a command's runs, and says how they ended.
pub(crate) trait Watch: Observer {
    /// The run is over, or stands still.
    fn run_over(&self, run: &Run);

    /// Takes an event of a plan, and the plan as it is with it.
    fn plan(&self, envelope: &Envelope, plan: &Plan);

    /// Who watches one of several runs that take place side by side.
    fn side_by_side<'a>(&'a self, name: &str) -> Box<dyn Observer + 'a>;

    /// The plan is over, or stands still; its subtasks' runs came to this.
    fn plan_over(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>);
}

/// Who watches for a way of speaking.
pub(crate) fn watch(output: &Output) -> Box<dyn Watch + '_> {
    match output.format {
        Format::Human => Box::new(human::Human::beside(&output.reports)),
        Format::Json => Box::new(json::Machine { events: false }),
        Format::Jsonl => Box::new(json::Machine { events: true }),
    }
}

/// All that a command says: how it speaks, and what it writes for others.
#[derive(Debug, Default)]
pub(crate) struct Output {
    /// How it speaks.
    pub(crate) format: Format,
    /// What it writes for others.
    pub(crate) reports: Reports,
}

impl From<Format> for Output {
    fn from(format: Format) -> Self {
        Self {
            format,
            ..Self::default()
        }
    }
}

/// The last word for people: on standard output, unless a report has that to itself.
pub(crate) fn last_word(reports: &Reports, text: &str) {
    if reports.own_stdout() {
        err!("{text}");
    } else {
        out!("{text}");
    }
}
