//! A run for people who watch: calm lines for what is done, and on a terminal one line that moves
//! for what is going on.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use selvedge_core::machine::{Attempt, Run};
use selvedge_core::model::{
    Baseline, CheckStatus, Closing, Cost, EffectKind, Envelope, Event, Outcome, Report, RunId,
    RunResult, SessionOutcome, SessionStatus,
};
use selvedge_core::plan::Plan;
use selvedge_engine::Observer;
use selvedge_engine::activity::{Activity, Progress};

use super::beside::Beside;
use super::gates::{held_back, judged};
use super::words::{
    back_to, cross_checked, guarded, mark, outcome_word, session_word, unkept_notice,
};
use super::{Reports, Watch, indented, last_word, one_line, plan, style};
use selvedge_core::words::{cost, counted, duration, marks, tokens};

/// How much of an activity the moving line shows, in characters.
const ACTIVITY_WIDTH: usize = 72;

/// Watches a run for people. Everything goes to standard error but the verdict.
pub(crate) struct Human<'a> {
    /// What is written for others, which may have standard output to itself.
    reports: &'a Reports,
    /// What moves; hidden where standard error is no terminal.
    spinner: Mutex<ProgressBar>,
    /// What the attempts before this one have cost.
    spent: Mutex<Cost>,
}

impl<'a> Human<'a> {
    /// Nothing is shown until something happens.
    pub(crate) fn beside(reports: &'a Reports) -> Self {
        Self {
            reports,
            spinner: Mutex::new(ProgressBar::hidden()),
            spent: Mutex::new(Cost::ZERO),
        }
    }

    fn spinner(&self) -> MutexGuard<'_, ProgressBar> {
        self.spinner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn spent(&self) -> MutexGuard<'_, Cost> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A line that stays.
    pub(super) fn say(&self, line: impl AsRef<str>) {
        self.spinner().suspend(|| errln!("{}", line.as_ref()));
    }

    /// Something begins that takes time.
    fn begin(&self, what: &str) {
        let bar = ProgressBar::new_spinner().with_message(what.to_owned());
        if bar.is_hidden() {
            // Nobody sees it turn: without a terminal it needs no thread.
            return;
        }
        if let Ok(style) =
            ProgressStyle::with_template("  {spinner} {msg} {prefix:.dim}{elapsed:.dim}")
        {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        let before = std::mem::replace(&mut *self.spinner(), bar);
        before.finish_and_clear();
    }

    /// It is over.
    fn end(&self) {
        self.spinner().finish_and_clear();
    }

    fn baseline_taken(&self, baseline: &Baseline) {
        self.end();
        // What was looked at now has been told check by check.
        if baseline.cached > 0 {
            for check in &baseline.checks {
                let label = one_line(check.label(), ACTIVITY_WIDTH);
                let known = style::dim("known from an earlier run");
                self.say(format!("  {} {label} {known}", mark(check.status)));
            }
        }
        let failing = baseline
            .checks
            .iter()
            .filter_map(|check| check.tests.as_ref());
        let failing: u64 = failing.map(|tests| tests.failed).sum();
        if failing > 0 {
            let tests = counted(failing, "failing test");
            self.say(style::dim(format!("  {tests} before the work began")));
        }
    }

    fn attempt_begins(&self, attempt: &Attempt, run: &Run) {
        let number = attempt.retry + 1;
        let of = run.spec.max_attempts();
        let again = attempt.run_number > number && attempt.prompt.correction.is_none();
        let note = match (attempt.retry, again) {
            (_, true) => " (begun anew)".to_owned(),
            (0, false) => String::new(),
            (retry, false) => {
                let max = run.spec.max_verification_retries;
                format!(" (retry {retry} of {max}, fresh session)")
            }
        };
        self.say(format!(
            "\n{}{}",
            style::strong(format!("attempt {number} of {of}")),
            style::dim(note)
        ));
        *self.spent() = run.cost();
        let agent = &run.spec.agent_of(attempt.retry).name;
        self.begin(&format!("{agent} is at work"));
    }

    fn session_ends(&self, session: &SessionOutcome, run: &Run) {
        self.end();
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
        if session.usage.total() > 0 {
            facts.push(tokens(&session.usage));
        }
        facts.push(cost(session.cost));
        let facts = facts.join(" · ");
        let word = session_word(session.status);
        if session.status == SessionStatus::Success {
            self.say(format!(
                "  {name} {word} {}",
                style::dim(format!("· {facts}"))
            ));
        } else {
            self.say(format!(
                "  {name} {} {}",
                style::bad(word),
                style::dim(format!("· {facts}"))
            ));
            if let Some(error) = &session.error {
                self.say(indented(error, "    ").trim_end());
            }
        }
        let left = session.processes.map_or(0, |processes| processes.ended);
        if left > 0 && session.status == SessionStatus::Success {
            let said = format!("it left {left} processes behind; they were ended");
            self.say(format!("  {}", style::warning(said)));
        }
    }

    fn check_ends(&self, label: &str, status: CheckStatus, reason: Option<&str>, millis: u64) {
        self.end();
        let label = one_line(label, ACTIVITY_WIDTH);
        let why = reason
            .map(|reason| format!(" — {}", one_line(reason, 100)))
            .unwrap_or_default();
        let took = style::dim(duration(millis));
        self.say(format!("  {} {label} {took}{why}", mark(status)));
    }

    fn reported(&self, report: &Report, run: &Run) {
        self.end();
        for finding in report.guard.iter().flat_map(|guard| &guard.findings) {
            self.say(guarded(finding));
        }
        if let Some(crossed) = &report.crossed {
            self.say(cross_checked(crossed));
        }
        for check in &report.checks {
            if let Some(note) = marks(check) {
                let label = one_line(check.label(), ACTIVITY_WIDTH);
                let note = one_line(&note, 300);
                self.say(format!("  {} {label}: {note}", style::warning("→")));
            }
        }
        let goes_back = report
            .failing_checks()
            .filter_map(|check| Some((check, check.digest.as_ref()?)));
        for (check, digest) in goes_back {
            let label = one_line(check.label(), ACTIVITY_WIDTH);
            self.say(style::dim(format!("  digest of {label}:")));
            self.say(indented(digest, "    │ ").trim_end());
        }
        if run.attempts.len() > 1 && run.cost().micro_usd.is_some() {
            self.say(format!(
                "  {}",
                style::dim(format!("so far: {}", cost(run.cost())))
            ));
        }
    }
}

impl Progress for Human<'_> {
    fn activity(&self, activity: Activity) {
        let moving = |text: String| self.spinner().set_message(text);
        match activity {
            Activity::Text(text) => moving(one_line(&text, ACTIVITY_WIDTH)),
            Activity::ToolStarted { name, subject } => {
                moving(one_line(&format!("{name} {subject}"), ACTIVITY_WIDTH));
            }
            Activity::Cost(so_far) => {
                self.spinner()
                    .set_prefix(format!("{} ", cost(*self.spent() + so_far)));
            }
            Activity::ToolEnded { .. } => {}
            Activity::ApiRetry {
                attempt,
                max,
                delay_ms,
                reason,
            } => {
                let wait = duration(delay_ms);
                let why = one_line(&reason, ACTIVITY_WIDTH);
                self.say(style::dim(format!(
                    "  the model's API: {why}; retry {attempt} of {max} in {wait} (not a verification retry)"
                )));
            }
            Activity::CheckStarted { label } => self.begin(&one_line(&label, ACTIVITY_WIDTH)),
            Activity::CheckRepeated { label } => {
                self.begin(&format!("again: {}", one_line(&label, ACTIVITY_WIDTH)));
            }
            Activity::CheckEnded {
                label,
                status,
                reason,
                duration_ms,
            } => {
                self.check_ends(&label, status, reason.as_deref(), duration_ms);
            }
            Activity::Note(note) => self.say(style::dim(format!("  {}", one_line(&note, 160)))),
        }
    }
}

impl Observer for Human<'_> {
    fn event(&self, envelope: &Envelope, run: &Run) {
        match &envelope.event {
            Event::RunCreated { .. } => {
                self.say(head(run));
            }
            Event::AttemptBegan { run_number, .. } => {
                if let Some(attempt) = run.attempt(*run_number) {
                    self.attempt_begins(attempt, run);
                }
            }
            Event::TreeSnapshotted {
                unkept: Some(unkept),
                ..
            } if unkept.files > 0 => self.say(unkept_notice(unkept)),
            Event::EffectRequested {
                effect: EffectKind::Baseline,
            } => self.say(format!("\n{}", style::strong("before the work"))),
            Event::BaselineTaken { baseline, .. } => self.baseline_taken(baseline),
            Event::SessionEnded { outcome, .. } => self.session_ends(outcome, run),
            Event::Reported { report, .. } => self.reported(report, run),
            Event::EffectRequested {
                effect: EffectKind::Judge { tier, .. },
            } => self.begin(&format!("tier {tier} judges")),
            Event::GateJudged { gate, .. } => {
                self.end();
                let held_back = run.attempts.last().and_then(held_back);
                self.say((judged(gate) + &held_back.unwrap_or_default()).trim_end());
            }
            Event::VerificationRepeated { reason, .. } => {
                let why = one_line(reason, 120);
                self.say(style::warning(format!(
                    "  {why}: trying the checks again, uncharged"
                )));
            }
            Event::AttemptClosed {
                closing: Closing::Interrupted,
                run_number,
            } => {
                self.end();
                self.say(style::warning(format!(
                    "  attempt {run_number} was cut off: it costs no retry"
                )));
            }
            Event::SuspendRequested { .. } => {
                self.say(style::warning(
                    "  stopping; press Ctrl-C again to stop at once",
                ));
            }
            Event::Resumed { .. } => self.say(format!("resuming run {}", run.run_id.short())),
            Event::TreeRestored { replaced, .. } => {
                self.say(style::dim("  the workspace's tree was put back"));
                let aside = replaced.as_ref().filter(|tree| run.rescued.contains(tree));
                if let Some(tree) = aside {
                    self.say(style::dim(format!(
                        "  what stood there: {}",
                        back_to(run, tree)
                    )));
                }
            }
            Event::RunFinished { .. } | Event::Suspended | Event::ReviewRequested { .. } => {
                self.end();
            }
            _ => {}
        }
    }
}

impl Watch for Human<'_> {
    fn run_over(&self, run: &Run) {
        last_word(self.reports, &verdict(run));
    }

    fn plan(&self, envelope: &Envelope, plan: &Plan) {
        match &envelope.event {
            Event::PlanCreated { .. } => self.say(plan::head(plan).trim_end()),
            Event::Resumed { .. } => self.say(plan::resumed(plan).trim_end()),
            Event::SubtaskBegan { id, replaced, .. } => {
                self.say(plan::begins(plan, id, replaced.as_ref()).trim_end());
            }
            Event::SubtaskEnded { id, end } => self.say(plan::ends(id, end).trim_end()),
            _ => {}
        }
    }

    fn side_by_side<'a>(&'a self, name: &str) -> Box<dyn Observer + 'a> {
        Box::new(Beside::new(self, name))
    }

    fn plan_over(&self, plan: &Plan, runs: &BTreeMap<RunId, RunResult>) {
        last_word(self.reports, &plan::verdict(plan, runs));
    }
}

/// Two lines about what is going to happen.
fn head(run: &Run) -> String {
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
        return format!("{first}\n{}", style::warning("nothing will be checked"));
    }
    format!("{first}\n{} {}", style::dim("checks:"), labels.join(" · "))
}

/// The end of a run, for standard output.
pub(crate) fn verdict(run: &Run) -> String {
    let (outcome, reason) = run.conclusion();
    let word = outcome_word(outcome);
    let mut text = format!("\n{word}: {}\n", one_line(&reason, 300));
    if let Some(delivered) = run.decided.as_ref().and_then(|decided| decided.delivered) {
        text += &format!("  the workspace holds the tree of attempt {delivered}\n");
    }
    let mut facts = vec![
        counted(run.attempts.len() as u64, "attempt"),
        cost(run.cost()),
        tokens(&run.usage()),
        duration(run.worked_ms()),
    ];
    if run.attempts.is_empty() {
        facts.truncate(1);
    }
    text += &format!("  {}\n", style::dim(facts.join(" · ")));
    for warning in run.warnings() {
        let warning = one_line(&warning, 400);
        text += &format!("  {} {warning}\n", style::warning("note:"));
    }
    let short = run.run_id.short();
    let next = if outcome == Outcome::Interrupted {
        "resume"
    } else {
        "show"
    };
    text + &format!("  {} selvedge {next} {short}\n", style::dim("history:"))
}
