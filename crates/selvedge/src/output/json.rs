//! Output as JSON: one result object, or every event and then the result. A line is written in one piece, so that a
//! reader never sees part of an object.

use std::collections::BTreeMap;

use selvedge_core::model::{Envelope, RunId, RunResult};
use selvedge_core::plan::Plan;
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};
use selvedge_protocol::ProgressEvent;
use serde::Serialize;

use super::Reporter;
use crate::progress_events::ProgressTracker;
use crate::streams::write_output;

/// Reports a run for `--format json` and `--format jsonl`.
#[derive(Default)]
pub(crate) struct JsonReporter {
    /// Set if every event is printed before the result.
    events: Option<ProgressTracker>,
}

impl JsonReporter {
    /// A reporter that prints every event, too.
    pub(crate) fn with_events() -> Self {
        Self {
            events: Some(ProgressTracker::default()),
        }
    }
}

impl Progress for JsonReporter {
    fn on_activity(&self, activity: Activity) {
        if let Some(tracker) = &self.events {
            print_verification_events([tracker.on_activity(activity)]);
        }
    }
}

impl Observer for JsonReporter {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        if let Some(tracker) = &self.events {
            print_json(envelope);
            print_verification_events(tracker.on_event(envelope, run));
        }
    }
}

impl Reporter for JsonReporter {
    fn report_run_end(&self, run: &Run) {
        print_json(&run.result());
    }

    fn report_plan_event(&self, envelope: &Envelope, _: &Plan) {
        if self.events.is_some() {
            print_json(envelope);
        }
    }

    fn subtask_observer<'a>(&'a self, _: &str) -> Box<dyn Observer + 'a> {
        Box::new(Self {
            events: self.events.as_ref().map(|_| ProgressTracker::default()),
        })
    }

    fn report_plan_end(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>) {
        print_json(&plan.result(runs));
    }
}

/// Prints the events of the self-verification loop, as a hub's event stream has them. The journal has all others.
fn print_verification_events(events: impl IntoIterator<Item = ProgressEvent>) {
    for event in events {
        if matches!(
            event,
            ProgressEvent::VerificationRetryStart { .. }
                | ProgressEvent::VerificationCheckResult { .. }
                | ProgressEvent::VerificationRetryComplete { .. }
        ) {
            print_json(&event);
        }
    }
}

/// Prints an object as one line on standard output.
pub(crate) fn print_json(object: &impl Serialize) {
    if let Ok(mut line) = serde_json::to_vec(object) {
        line.push(b'\n');
        write_output(&line);
    }
}
