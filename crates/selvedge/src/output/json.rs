//! Output as JSON: one result object, or every event and then the result. A line is written in one piece, so that a
//! reader never sees part of an object.

use std::collections::BTreeMap;

use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use serde::Serialize;

use super::Reporter;
use crate::streams::write_output;

/// Reports a run for `--format json` and `--format jsonl`.
pub(crate) struct JsonReporter {
    pub(crate) prints_events: bool,
}

impl Progress for JsonReporter {
    fn on_activity(&self, _: Activity) {}
}

impl Observer for JsonReporter {
    fn on_event(&self, envelope: &Envelope, _: &Run) {
        if self.prints_events {
            print_json(envelope);
        }
    }
}

impl Reporter for JsonReporter {
    fn report_run_end(&self, run: &Run) {
        print_json(&run.result());
    }

    fn report_plan_event(&self, envelope: &Envelope, _: &Plan) {
        if self.prints_events {
            print_json(envelope);
        }
    }

    fn subtask_observer<'a>(&'a self, _: &str) -> Box<dyn Observer + 'a> {
        Box::new(Self {
            prints_events: self.prints_events,
        })
    }

    fn report_plan_end(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>) {
        print_json(&plan.result(runs));
    }
}

/// Prints an object as one line on standard output.
pub(crate) fn print_json(object: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(object) {
        line.push(b'\n');
        write_output(&line);
    }
}
