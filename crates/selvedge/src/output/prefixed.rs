//! Reports one of several concurrent runs: only its main events, each line prefixed with its name.

use selvedge_core::describe::cost;
use selvedge_core::format::duration;
use selvedge_core::model::{Envelope, Event};
use selvedge_core::run::Run;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};

use super::human_reporter::HumanReporter;
use super::labels::{session_label, status_mark};
use crate::terminal::{one_line, style};

/// Prints through the reporter that all runs share.
pub(super) struct PrefixedReporter<'a> {
    reporter: &'a HumanReporter<'a>,
    name: String,
}

impl<'a> PrefixedReporter<'a> {
    pub(super) fn new(human: &'a HumanReporter<'a>, name: &str) -> Self {
        let name = one_line(name, 24);
        Self {
            reporter: human,
            name,
        }
    }

    fn print_line(&self, text: &str) {
        let name = style::dim(format!("{} │", self.name));
        self.reporter.print_line(format!("  {name} {text}"));
    }
}

impl Progress for PrefixedReporter<'_> {
    fn on_activity(&self, _: Activity) {}
}

impl Observer for PrefixedReporter<'_> {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::AttemptBegan { attempt_number, .. } => {
                let of = run.spec.max_attempts();
                self.print_line(&format!("attempt {attempt_number} of {of}"));
            }
            Event::SessionEnded { outcome, .. } => {
                let retry = run.attempts.last().map_or(0, |attempt| attempt.retry);
                let (label, took) = (session_label(outcome.status), duration(outcome.duration_ms));
                let (agent, cost) = (&run.spec.agent_of(retry).name, cost(outcome.cost));
                self.print_line(&format!("{agent} {label} · {took} · {cost}"));
            }
            Event::Reported { report, .. } => {
                for check in &report.checks {
                    let why = check.reason.as_deref().unwrap_or_default();
                    let label = one_line(check.label(), 60);
                    let line = format!(
                        "{} {label} {}",
                        status_mark(check.status),
                        one_line(why, 80)
                    );
                    self.print_line(line.trim_end());
                }
            }
            _ => {}
        }
    }
}
