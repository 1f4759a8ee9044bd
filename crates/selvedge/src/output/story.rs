//! A run's whole story, from its state alone: what each attempt was told, did, cost, and what the
//! checks found.

use jiff::tz::TimeZone;
use selvedge_core::machine::{Attempt, Run};
use selvedge_core::model::{CheckReport, Closing, Evidence, Processes, RunSpec, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::gates::{held_back, judged};
use super::human::verdict;
use super::words::{back_to, cross_checked, guarded, mark, rests_on, session_word};
use super::{indented, one_line, style};
use selvedge_core::words::{cost, counted, duration, marks, tokens};

/// How much of an agent's last words a story shows, in characters.
const LAST_WORDS: usize = 600;

/// What a story shows beside the outline.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Detail {
    /// One attempt only.
    pub(crate) attempt: Option<u32>,
    /// Whole prompts.
    pub(crate) prompt: bool,
}

/// The story for people.
pub(crate) fn human(run: &Run, detail: Detail) -> String {
    let spec = &run.spec;
    let mut text = format!("{} {}\n", style::strong("run"), run.run_id);
    text += &format!("  begun      {}\n", when(run.created_at));
    text += &format!("  directory  {}\n", spec.workspace.display());
    let agents: Vec<_> = spec.agents().map(|agent| agent.name.as_str()).collect();
    text += &format!("  agent      {}\n", agents.join(", then "));
    text += &format!(
        "  task       {}",
        indented(&spec.description, "             ").trim_start()
    );
    if let Some(unkept) = &run.unkept {
        text += &format!("  not kept   {}\n", one_line(&unkept.describe(), 400));
    }
    let wanted = |attempt: &&Attempt| detail.attempt.is_none_or(|it| it == attempt.run_number);
    for attempt in run.attempts.iter().filter(wanted) {
        text += &one_attempt(attempt, spec, detail);
    }
    for tree in &run.rescued {
        let aside = style::dim("put aside:");
        text += &format!("\n{aside} {}\n", back_to(run, tree));
    }
    text + &verdict(run)
}

fn one_attempt(attempt: &Attempt, spec: &RunSpec, detail: Detail) -> String {
    let number = style::strong(format!("attempt {}", attempt.run_number));
    let retry = if attempt.retry > 0 {
        format!("retry {} · ", attempt.retry)
    } else {
        String::new()
    };
    let mut text = format!(
        "\n{number} {}\n",
        style::dim(format!("{retry}{}", when(attempt.began_at)))
    );
    if detail.prompt {
        text += &format!("  {}\n", style::dim("prompt:"));
        text += &indented(&attempt.prompt.whole(), "    │ ");
    }
    match &attempt.session {
        None => {
            let said = style::warning("the session was cut off; its cost is not known");
            text += &format!("  {said}\n");
        }
        Some(session) => {
            let mut facts = vec![duration(session.duration_ms), cost(session.cost)];
            facts.extend(session.model.as_deref().map(|model| one_line(model, 40)));
            facts.push(counted(session.tool_calls.into(), "tool call"));
            facts.push(tokens(&session.usage));
            if session.api_retries > 0 {
                facts.push(counted(session.api_retries.into(), "API retry"));
            }
            let worker = spec.agent_of(attempt.retry);
            text += &format!(
                "  {}{} {} · {}\n",
                worker.name,
                worker.effort.as_deref().map_or_else(String::new, |effort| {
                    format!(" (effort {})", one_line(effort, 20))
                }),
                session_word(session.status),
                facts.join(" · ")
            );
            if let Some(error) = &session.error {
                text += &indented(error, "    ");
            }
            if let Some(processes) = &session.processes {
                text += &format!("  {}\n", style::dim(left_of(processes)));
            }
            if let Some(sandbox) = session.sandbox.as_ref().filter(|it| it.is_notable()) {
                let line = one_line(&format!("sandbox {}", sandbox.line()), 200);
                text += &format!("  {}\n", style::dim(line));
            }
            if !session.text.trim().is_empty() {
                text += &format!(
                    "  {}\n",
                    style::dim("its last words (a claim, not evidence):")
                );
                text += &indented(&tail(&session.text), "    │ ");
            }
        }
    }
    let guard = attempt.report.iter().flat_map(|report| &report.guard);
    for finding in guard.flat_map(|guard| &guard.findings) {
        text += &format!("{}\n", guarded(finding));
    }
    let crossed = attempt
        .report
        .iter()
        .filter_map(|report| report.crossed.as_deref());
    text.extend(crossed.map(|crossed| cross_checked(crossed) + "\n"));
    for (index, check) in attempt
        .report
        .iter()
        .flat_map(|report| &report.checks)
        .enumerate()
    {
        text += &one_check(index + 1, check);
    }
    for gate in attempt.gates() {
        text += &judged(gate);
    }
    text += &held_back(attempt).unwrap_or_default();
    let closing = match attempt.closing {
        Some(Closing::Interrupted) => "interrupted: costs no retry",
        Some(Closing::Cancelled) => "cancelled",
        Some(Closing::SessionFailed) => "not verified: the session did not succeed",
        Some(Closing::Report) | None => return text,
    };
    text + &format!("  {}\n", style::warning(closing))
}

/// What is left of a session's processes, and how that is known.
fn left_of(processes: &Processes) -> String {
    let Processes {
        method,
        ended,
        survivors,
    } = *processes;
    let said = match (ended, survivors) {
        (0, 0) => "no process left".to_owned(),
        (ended, 0) => format!("no process left; {ended} had to be ended"),
        (_, survivors) => format!("{survivors} processes could not be ended"),
    };
    format!("{said} ({})", method.label())
}

fn one_check(number: usize, check: &CheckReport) -> String {
    let label = one_line(check.label(), 72);
    let took = style::dim(duration(check.duration_ms));
    let why = check
        .reason
        .as_deref()
        .map(|it| format!(" — {}", one_line(it, 120)))
        .unwrap_or_default();
    let mut text = format!(
        "  {} {} {label} {took}{why}\n",
        style::dim(number),
        mark(check.status)
    );
    if let Some(marks) = marks(check) {
        text += &format!("      {}\n", one_line(&marks, 300));
    }
    if let Some(evidence) = evidence(check) {
        text += &format!("      {evidence}\n");
    }
    if let Some(digest) = &check.digest {
        text += &indented(digest, "    │ ");
    }
    if let Some(output) = check
        .output_ref
        .as_ref()
        .filter(|output| output.left_out > 0)
    {
        let left_out = output.left_out;
        text +=
            &format!("      of its output {left_out} bytes were left out on disk, by the cap\n");
    }
    text
}

/// What is known of the tests, and how; of a check that Selvedge looked at itself, nothing more.
fn evidence(check: &CheckReport) -> Option<String> {
    let tests = check.tests.as_ref().map(|tests| {
        let (passed, failed, skipped) = (tests.passed, tests.failed, tests.skipped);
        format!("{passed} tests passed, {failed} failed, {skipped} skipped")
    });
    let ran = check.evidence.filter(|it| *it != Evidence::Direct);
    let known = ran.map(|evidence| style::dim(rests_on(evidence)));
    let parts: Vec<String> = tests.into_iter().chain(known).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn tail(text: &str) -> String {
    let count = text.chars().count();
    if count <= LAST_WORDS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - LAST_WORDS).collect();
    format!("… {end}")
}

fn when(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S %Z")
        .to_string()
}

/// The story for programs: the result object, the frozen specification, and every attempt.
pub(crate) fn machine(run: &Run, detail: Detail) -> Value {
    let wanted = |attempt: &&Attempt| detail.attempt.is_none_or(|it| it == attempt.run_number);
    let attempts: Vec<Value> = run
        .attempts
        .iter()
        .filter(wanted)
        .map(attempt_value)
        .collect();
    json!({
        "run_id": run.run_id,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "result": run.result(),
        "spec": *run.spec,
        "attempts": attempts,
        "put_aside": run.rescued,
    })
}

fn attempt_value(attempt: &Attempt) -> Value {
    #[derive(Serialize)]
    struct Told<'a> {
        run_number: u32,
        retry: u32,
        began_at: Timestamp,
        prompt: String,
        from_tree: &'a Option<selvedge_core::model::TreeId>,
        tree: &'a Option<selvedge_core::model::TreeId>,
        session: &'a Option<selvedge_core::model::SessionOutcome>,
        report: &'a Option<selvedge_core::model::Report>,
        closing: Option<Closing>,
    }
    let told = Told {
        run_number: attempt.run_number,
        retry: attempt.retry,
        began_at: attempt.began_at,
        prompt: attempt.prompt.whole(),
        from_tree: &attempt.from_tree,
        tree: &attempt.tree,
        session: &attempt.session,
        report: &attempt.report,
        closing: attempt.closing,
    };
    serde_json::to_value(told).unwrap_or_default()
}
