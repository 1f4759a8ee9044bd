//! Reports a run for people: one line for each completed step, and on a terminal a spinner for the current activity.

use std::collections::BTreeMap;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use jiff::tz::TimeZone;
use parking_lot::Mutex;
use selvedge_core::model::{
    AttemptEnd, Baseline, CheckStatus, Cost, EffectKind, Envelope, Event, Outcome, Report, RunId,
    RunResult, SessionOutcome, SessionStatus, Timestamp,
};
use selvedge_core::plan::Plan;
use selvedge_core::run::{Attempt, Run};
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};

use super::gates::{format_gate, format_held_back};
use super::labels::{
    format_cross_check, format_guard_finding, outcome_label, restore_command, session_label,
    status_mark, uncovered_notice,
};
use super::prefixed::PrefixedReporter;
use super::{ReportOutputs, Reporter, plan, print_verdict};
use crate::terminal::{indent_lines, one_line, style};
use selvedge_core::describe::{cost, failure_digests, marks, tokens};
use selvedge_core::format::{counted, duration};

/// Width limit for the label of a check in a printed line, in characters.
const LABEL_WIDTH: usize = 72;

/// Length limit for the current activity, in characters; the terminal's width limits what is shown.
const ACTIVITY_LENGTH: usize = 500;

/// The progress line: the message takes the rest of the terminal's width.
const PROGRESS_TEMPLATE: &str = "  {spinner} {prefix:.dim}{elapsed:.dim} {wide_msg}";

/// Reports a run for people. Everything but the verdict goes to standard error.
pub(crate) struct HumanReporter<'a> {
    /// The requested reports, one of which may use standard output.
    reports: &'a ReportOutputs,
    /// Hidden if standard error is not a terminal.
    spinner: Mutex<ProgressBar>,
    /// The cost of all earlier attempts.
    cost_before_attempt: Mutex<Cost>,
}

impl<'a> HumanReporter<'a> {
    /// Creates a reporter that prints nothing until the first event.
    pub(crate) fn with_reports(reports: &'a ReportOutputs) -> Self {
        Self {
            reports,
            spinner: Mutex::new(ProgressBar::hidden()),
            cost_before_attempt: Mutex::new(Cost::ZERO),
        }
    }

    /// Prints a line above the spinner.
    pub(super) fn print_line(&self, line: impl AsRef<str>) {
        self.spinner.lock().suspend(|| errln!("{}", line.as_ref()));
    }

    fn start_spinner(&self, what: &str) {
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        if bar.is_hidden() {
            // Without a terminal no thread has to update it.
            return;
        }
        if let Ok(style) = ProgressStyle::with_template(PROGRESS_TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        let previous = std::mem::replace(&mut *self.spinner.lock(), bar);
        previous.finish_and_clear();
    }

    fn stop_spinner(&self) {
        self.spinner.lock().finish_and_clear();
    }

    fn print_baseline(&self, baseline: &Baseline) {
        self.stop_spinner();
        // Checks that ran now were already printed when they ended.
        if baseline.cached > 0 {
            for check in &baseline.checks {
                let label = one_line(check.label(), LABEL_WIDTH);
                let note = style::dim("cached from an earlier run");
                self.print_line(format!("  {} {label} {note}", status_mark(check.status)));
            }
        }
        let failing = baseline
            .checks
            .iter()
            .filter_map(|check| check.tests.as_ref());
        let failing: u64 = failing.map(|tests| tests.failed).sum();
        if failing > 0 {
            let tests = counted(failing, "failing test");
            self.print_line(style::dim(format!("  {tests} before the agent")));
        }
    }

    fn print_attempt_start(&self, attempt: &Attempt, run: &Run) {
        let number = attempt.retry + 1;
        let of = run.spec.max_attempts();
        let again = attempt.attempt_number > number && attempt.prompt.correction.is_none();
        let note = match (attempt.retry, again) {
            (_, true) => " (restarted)".to_owned(),
            (0, false) => String::new(),
            (retry, false) => {
                let max = run.spec.max_verification_retries;
                format!(" (retry {retry} of {max}, fresh session)")
            }
        };
        self.print_line(format!(
            "\n{}{}",
            style::strong(format!("attempt {number} of {of}")),
            style::dim(note)
        ));
        *self.cost_before_attempt.lock() = run.cost();
        let agent = &run.spec.agent_of(attempt.retry).name;
        self.start_spinner(&format!("{agent} is running"));
    }

    fn print_session_end(&self, session: &SessionOutcome, run: &Run) {
        self.stop_spinner();
        let retry = run.attempts.last().map_or(0, |attempt| attempt.retry);
        let name = &run.spec.agent_of(retry).name;
        let mut facts = vec![duration(session.duration_ms)];
        if session.tool_calls > 0 {
            let failed = match session.tool_errors {
                0 => String::new(),
                errors => format!(", {errors} failed"),
            };
            facts.push(counted(session.tool_calls.into(), "tool call") + &failed);
        }
        facts.extend(tokens(&session.usage));
        facts.push(cost(session.cost));
        let facts = facts.join(" · ");
        let label = session_label(session.status);
        if session.status == SessionStatus::Success {
            self.print_line(format!(
                "  {name} {label} {}",
                style::dim(format!("· {facts}"))
            ));
        } else {
            self.print_line(format!(
                "  {name} {} {}",
                style::bad(label),
                style::dim(format!("· {facts}"))
            ));
            if let Some(error) = &session.error {
                self.print_line(indent_lines(error, "    ").trim_end());
            }
        }
        let leftover = session.processes.map_or(0, |processes| processes.ended);
        if leftover > 0 && session.status == SessionStatus::Success {
            let message = format!("{leftover} leftover processes were terminated");
            self.print_line(format!("  {}", style::warning(message)));
        }
    }

    fn print_check_end(&self, label: &str, status: CheckStatus, reason: Option<&str>, millis: u64) {
        self.stop_spinner();
        let label = one_line(label, LABEL_WIDTH);
        let why = reason
            .map(|reason| format!(" — {}", one_line(reason, 100)))
            .unwrap_or_default();
        let took = style::dim(duration(millis));
        self.print_line(format!("  {} {label} {took}{why}", status_mark(status)));
    }

    fn print_report(&self, report: &Report, run: &Run) {
        self.stop_spinner();
        for finding in report.guard.iter().flat_map(|guard| &guard.findings) {
            self.print_line(format_guard_finding(finding));
        }
        if let Some(crossed) = &report.crossed {
            self.print_line(format_cross_check(crossed));
        }
        for check in &report.checks {
            if let Some(note) = marks(check) {
                let label = one_line(check.label(), LABEL_WIDTH);
                let note = one_line(&note, 300);
                self.print_line(format!("  {} {label}: {note}", style::warning("→")));
            }
        }
        for (check, digest) in failure_digests(report) {
            let check = one_line(&check, LABEL_WIDTH);
            self.print_line(style::dim(format!("  digest of {check}:")));
            self.print_line(indent_lines(digest, "    │ ").trim_end());
        }
        if run.attempts.len() > 1 && run.cost().micro_usd.is_some() {
            self.print_line(format!(
                "  {}",
                style::dim(format!("total so far: {}", cost(run.cost())))
            ));
        }
    }
}

impl Progress for HumanReporter<'_> {
    fn on_activity(&self, activity: Activity) {
        let moving = |text: String| self.spinner.lock().set_message(text);
        match activity {
            Activity::Text(text) => moving(one_line(&text, ACTIVITY_LENGTH)),
            Activity::ToolStarted { name, subject } => {
                moving(one_line(&format!("{name} {subject}"), ACTIVITY_LENGTH));
            }
            Activity::Cost(so_far) => {
                self.spinner.lock().set_prefix(format!(
                    "{} ",
                    cost(*self.cost_before_attempt.lock() + so_far)
                ));
            }
            Activity::ToolEnded { .. } => {}
            Activity::ApiRetry {
                attempt,
                max,
                delay_ms,
                reason,
            } => {
                let wait = duration(delay_ms);
                let why = one_line(&reason, LABEL_WIDTH);
                self.print_line(style::dim(format!(
                    "  model API: {why}; retry {attempt} of {max} in {wait} (not a verification retry)"
                )));
            }
            Activity::CheckStarted { label } => {
                self.start_spinner(&one_line(&label, ACTIVITY_LENGTH));
            }
            Activity::CheckRepeated { label } => {
                self.start_spinner(&format!("again: {}", one_line(&label, ACTIVITY_LENGTH)));
            }
            Activity::CheckEnded {
                label,
                status,
                reason,
                duration_ms,
            } => {
                self.print_check_end(&label, status, reason.as_deref(), duration_ms);
            }
            Activity::Note(note) => {
                self.print_line(style::dim(format!("  {}", one_line(&note, 160))));
            }
        }
    }
}

impl Observer for HumanReporter<'_> {
    fn on_event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::RunCreated { .. } => {
                self.print_line(run_header(run));
            }
            Event::AttemptBegan { attempt_number, .. } => {
                if let Some(attempt) = run.attempt(*attempt_number) {
                    self.print_attempt_start(attempt, run);
                }
            }
            Event::TreeSnapshotted {
                unkept: Some(unkept),
                ..
            } if unkept.files > 0 => self.print_line(uncovered_notice(unkept)),
            Event::EffectRequested {
                effect: EffectKind::Baseline,
            } => self.print_line(format!("\n{}", style::strong("baseline"))),
            Event::BaselineTaken { baseline, .. } => self.print_baseline(baseline),
            Event::SessionEnded { outcome, .. } => self.print_session_end(outcome, run),
            Event::Reported { report, .. } => self.print_report(report, run),
            Event::EffectRequested {
                effect: EffectKind::Judge { tier, .. },
            } => self.start_spinner(&format!("judging (tier {tier})")),
            Event::GateJudged { gate, .. } => {
                self.stop_spinner();
                let held_back = run.attempts.last().and_then(format_held_back);
                self.print_line((format_gate(gate) + &held_back.unwrap_or_default()).trim_end());
            }
            Event::VerificationRepeated { reason, .. } => {
                let why = one_line(reason, 120);
                self.print_line(style::warning(format!(
                    "  {why}: running the checks again (does not count as a retry)"
                )));
            }
            Event::AttemptClosed {
                closing: AttemptEnd::Interrupted,
                attempt_number,
            } => {
                self.stop_spinner();
                self.print_line(style::warning(format!(
                    "  attempt {attempt_number} was interrupted: it does not count as a retry"
                )));
            }
            Event::AttemptClosed {
                closing: AttemptEnd::UsageLimit,
                attempt_number,
            } => {
                self.stop_spinner();
                self.print_line(style::warning(format!(
                    "  attempt {attempt_number} ended at the agent's usage limit: it does not count as a retry"
                )));
            }
            Event::EffectRequested {
                effect: EffectKind::Wait { until },
            } => {
                let until = local_time(*until, envelope.at);
                self.print_line(format!(
                    "  the usage limit of the agent's subscription is reached until {until}"
                ));
                self.start_spinner(&format!("waiting until {until}"));
            }
            Event::Waited { .. } => self.stop_spinner(),
            Event::SuspendRequested { reason } if run.waits_until().is_some() => {
                self.print_line(style::warning(format!("  not waiting: {reason}")));
            }
            Event::SuspendRequested { .. } => {
                self.print_line(style::warning(
                    "  stopping; press Ctrl-C again to stop immediately",
                ));
            }
            Event::Resumed { .. } => {
                self.print_line(format!("resuming run {}", run.run_id.short()));
            }
            Event::TreeRestored { replaced, .. } => {
                self.print_line(style::dim("  the workspace was restored"));
                let aside = replaced
                    .as_ref()
                    .filter(|tree| run.backup_trees.contains(tree));
                if let Some(tree) = aside {
                    self.print_line(style::dim(format!(
                        "  undo: {}",
                        restore_command(run, tree)
                    )));
                }
            }
            Event::RunFinished { .. } | Event::Suspended | Event::ReviewRequested { .. } => {
                self.stop_spinner();
            }
            _ => {}
        }
    }
}

impl Reporter for HumanReporter<'_> {
    fn report_run_end(&self, run: &Run) {
        let verdict = format_verdict(run) + &format_history_command(run);
        print_verdict(self.reports, &verdict);
    }

    fn report_plan_event(&self, envelope: &Envelope, plan: &Plan) {
        match &envelope.event {
            Event::PlanCreated { .. } => self.print_line(plan::plan_header(plan).trim_end()),
            Event::Resumed { .. } => self.print_line(plan::format_resumed(plan).trim_end()),
            Event::SubtaskBegan { id, replaced, .. } => {
                self.print_line(plan::format_subtask_start(plan, id, replaced.as_ref()).trim_end());
            }
            Event::SubtaskEnded { id, end } => {
                self.print_line(plan::format_subtask_end(id, end).trim_end());
            }
            _ => {}
        }
    }

    fn subtask_observer<'a>(&'a self, name: &str) -> Box<dyn Observer + 'a> {
        Box::new(PrefixedReporter::new(self, name))
    }

    fn report_plan_end(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>) {
        print_verdict(self.reports, &plan::plan_verdict(plan, runs));
    }
}

/// A time in the local time zone: with its date, unless that is today's.
fn local_time(at: Timestamp, now: Timestamp) -> String {
    let zone = TimeZone::system();
    let (at, now) = (at.to_zoned(zone.clone()), now.to_zoned(zone));
    let format = if at.date() == now.date() {
        "%R %Z"
    } else {
        "%F %R %Z"
    };
    at.strftime(format).to_string()
}

/// The first lines of a run: agents, attempts and checks.
fn run_header(run: &Run) -> String {
    let spec = &run.spec;
    let attempts = counted(spec.max_attempts().into(), "attempt");
    let first = format!(
        "{} {} · {} · up to {attempts}",
        style::strong("run"),
        run.run_id.short(),
        spec.agents()
            .map(|agent| agent.name.as_str())
            .collect::<Vec<_>>()
            .join(", then "),
    );
    let labels: Vec<String> = spec
        .steps()
        .iter()
        .map(|step| one_line(step.label(), 60))
        .collect();
    if labels.is_empty() {
        return format!(
            "{first}\n{}",
            style::warning("no checks: the result will be unchecked")
        );
    }
    format!("{first}\n{} {}", style::dim("checks:"), labels.join(" · "))
}

/// Formats the end of a run, for standard output.
pub(crate) fn format_verdict(run: &Run) -> String {
    let (outcome, reason) = run.conclusion();
    let label = outcome_label(outcome);
    let mut text = format!("\n{label}: {}\n", one_line(&reason, 300));
    if let Some(delivered) = run
        .conclusion
        .as_ref()
        .and_then(|decided| decided.final_attempt)
    {
        text += &format!("  the workspace has the tree of attempt {delivered}\n");
    }
    let mut facts = vec![counted(run.attempts.len() as u64, "attempt")];
    if !run.attempts.is_empty() {
        facts.push(cost(run.cost()));
        facts.extend(tokens(&run.usage()));
        let time = duration(run.baseline_ms().saturating_add(run.active_ms()));
        facts.push(format!("{time} in sessions and checks"));
    }
    text += &format!("  {}\n", style::dim(facts.join(" · ")));
    for warning in run.warnings_besides_cost() {
        let warning = one_line(&warning, 400);
        text += &format!("  {} {warning}\n", style::warning("note:"));
    }
    let short = run.run_id.short();
    let next = if outcome == Outcome::Interrupted {
        Some(format!("selvedge resume {short}"))
    } else if run.review.is_some() {
        Some(format!(
            "selvedge review {short} --accept, or --reject --reason TEXT"
        ))
    } else if outcome == Outcome::MaxRetriesExhausted && has_only_old_failures(run) {
        Some("selvedge known-failures, if what still fails is not part of the task".to_owned())
    } else {
        None
    };
    if let Some(next) = next {
        text += &format!("  {} {next}\n", style::dim("next:"));
    }
    text
}

/// Whether the last attempt fixed tests, and everything that still fails had failed before the work began.
fn has_only_old_failures(run: &Run) -> bool {
    let report = run.attempts.last().and_then(|last| last.report.as_ref());
    report.is_some_and(|report| {
        let checks = report.checks.iter();
        let mut failed = checks
            .filter(|check| check.status != CheckStatus::Pass)
            .peekable();
        failed.peek().is_some()
            && failed.all(|check| check.marks.preexisting)
            && report
                .checks
                .iter()
                .any(|check| !check.fixed_tests.is_empty())
    })
}

/// The command that shows the details of a run.
fn format_history_command(run: &Run) -> String {
    let short = run.run_id.short();
    format!("  {} selvedge show {short}\n", style::dim("history:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_line_uses_the_full_width() {
        assert!(PROGRESS_TEMPLATE.contains("{wide_msg}"));
        assert!(ProgressStyle::with_template(PROGRESS_TEMPLATE).is_ok());
    }
}
