//! The machine formats: one result object, or every event and then the result. Each line is written
//! whole, so that a reader never sees half an object.

use std::collections::BTreeMap;

use selvedge_core::machine::Run;
use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use serde::Serialize;

use super::Watch;
use crate::streams::write_output;

/// Watches a run for `--format json` and `--format jsonl`.
pub(crate) struct Machine {
    /// Whether every event is printed.
    pub(crate) events: bool,
}

impl Progress for Machine {
    fn activity(&self, _: Activity) {}
}

impl Observer for Machine {
    fn event(&self, envelope: &Envelope, _: &Run) {
        if self.events {
            print(envelope);
        }
    }
}

impl Watch for Machine {
    fn run_over(&self, run: &Run) {
        print(&run.result());
    }

    fn plan(&self, envelope: &Envelope, _: &Plan) {
        if self.events {
            print(envelope);
        }
    }

    fn side_by_side<'a>(&'a self, _: &str) -> Box<dyn Observer + 'a> {
        Box::new(Self {
            events: self.events,
        })
    }

    fn plan_over(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>) {
        print(&plan.result(runs));
    }
}

/// One object on a line of standard output.
pub(crate) fn print(object: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(object) {
        line.push(b'\n');
        write_output(&line);
    }
}
