//! One of several runs that take place side by side: a line for each thing that matters, under its name.

use selvedge_core::machine::Run;
use selvedge_core::model::{Envelope, Event};
use selvedge_core::words::{cost, duration};
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};

use super::human::Human;
use super::words::{mark, session_word};
use super::{one_line, style};

/// Speaks through who watches all of them.
pub(super) struct Beside<'a> {
    human: &'a Human<'a>,
    name: String,
}

impl<'a> Beside<'a> {
    pub(super) fn new(human: &'a Human<'a>, name: &str) -> Self {
        let name = one_line(name, 24);
        Self { human, name }
    }

    fn say(&self, text: &str) {
        let name = style::dim(format!("{} │", self.name));
        self.human.say(format!("  {name} {text}"));
    }
}

impl Progress for Beside<'_> {
    fn activity(&self, _: Activity) {}
}

impl Observer for Beside<'_> {
    fn event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::AttemptBegan { run_number, .. } => {
                let of = run.spec.max_attempts();
                self.say(&format!("attempt {run_number} of {of}"));
            }
            Event::SessionEnded { outcome, .. } => {
                let retry = run.attempts.last().map_or(0, |attempt| attempt.retry);
                let (word, took) = (session_word(outcome.status), duration(outcome.duration_ms));
                let (agent, cost) = (&run.spec.agent_of(retry).name, cost(outcome.cost));
                self.say(&format!("{agent} {word} · {took} · {cost}"));
            }
            Event::Reported { report, .. } => {
                for check in &report.checks {
                    let why = check.reason.as_deref().unwrap_or_default();
                    let label = one_line(check.label(), 60);
                    let line = format!("{} {label} {}", mark(check.status), one_line(why, 80));
                    self.say(line.trim_end());
                }
            }
            _ => {}
        }
    }
}
