//! Formats the details of a run from its state: prompt, session and cost of each attempt, and the results of its
//! checks.

use jiff::tz::TimeZone;
use selvedge_core::model::{AttemptEnd, CheckReport, Evidence, ProcessCleanup, RunSpec, Timestamp};
use selvedge_core::run::{Attempt, Run};
use serde::Serialize;
use serde_json::{Value, json};

use super::gates::{format_gate, format_held_back};
use super::human_reporter::format_verdict;
use super::labels::{
    evidence_label, format_cross_check, format_guard_finding, restore_command, session_label,
    status_mark,
};
use crate::terminal::{indent_lines, one_line, style};
use selvedge_core::describe::{cost, marks, tokens};
use selvedge_core::format::{counted, duration};

/// Length limit for an agent's final message, in characters.
const MAX_FINAL_MESSAGE_CHARS: usize = 600;

/// Optional parts of the details.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DetailOptions {
    /// Only this attempt.
    pub(crate) attempt: Option<u32>,
    /// Whether to include the full prompts.
    pub(crate) prompt: bool,
}

/// Formats the details as text.
pub(crate) fn format_run(run: &Run, detail: DetailOptions) -> String {
    let spec = &run.spec;
    let mut text = format!("{} {}\n", style::strong("run"), run.run_id);
    text += &format!("  started    {}\n", format_time(run.created_at));
    text += &format!("  directory  {}\n", spec.workspace.display());
    let agents: Vec<_> = spec.agents().map(|agent| agent.name.as_str()).collect();
    text += &format!("  agent      {}\n", agents.join(", then "));
    text += &format!(
        "  task       {}",
        indent_lines(&spec.description, "             ").trim_start()
    );
    if let Some(unkept) = &run.excluded {
        text += &format!("  excluded   {}\n", one_line(&unkept.describe(), 400));
    }
    let is_selected =
        |attempt: &&Attempt| detail.attempt.is_none_or(|it| it == attempt.attempt_number);
    for attempt in run.attempts.iter().filter(is_selected) {
        text += &format_attempt(attempt, spec, detail);
    }
    for tree in &run.backup_trees {
        let aside = style::dim("backup:");
        text += &format!("\n{aside} {}\n", restore_command(run, tree));
    }
    text + &format_verdict(run)
}

fn format_attempt(attempt: &Attempt, spec: &RunSpec, detail: DetailOptions) -> String {
    let number = style::strong(format!("attempt {}", attempt.attempt_number));
    let retry = if attempt.retry > 0 {
        format!("retry {} · ", attempt.retry)
    } else {
        String::new()
    };
    let mut text = format!(
        "\n{number} {}\n",
        style::dim(format!("{retry}{}", format_time(attempt.began_at)))
    );
    if detail.prompt {
        text += &format!("  {}\n", style::dim("prompt:"));
        text += &indent_lines(&attempt.prompt.full_text(), "    │ ");
    }
    match &attempt.session {
        None => {
            let message = style::warning("the session was interrupted; its cost is unknown");
            text += &format!("  {message}\n");
        }
        Some(session) => {
            let mut facts = vec![duration(session.duration_ms), cost(session.cost)];
            facts.extend(session.model.as_deref().map(|model| one_line(model, 40)));
            facts.push(counted(session.tool_calls.into(), "tool call"));
            facts.extend(tokens(&session.usage));
            if session.api_retries > 0 {
                facts.push(counted(session.api_retries.into(), "API retry"));
            }
            let agent = spec.agent_of(attempt.retry);
            text += &format!(
                "  {}{} {} · {}\n",
                agent.name,
                agent.effort.as_deref().map_or_else(String::new, |effort| {
                    format!(" (effort {})", one_line(effort, 20))
                }),
                session_label(session.status),
                facts.join(" · ")
            );
            if let Some(error) = &session.error {
                text += &indent_lines(error, "    ");
            }
            if let Some(processes) = &session.processes {
                text += &format!("  {}\n", style::dim(format_processes(processes)));
            }
            if let Some(sandbox) = session.sandbox.as_ref().filter(|it| it.is_notable()) {
                let line = one_line(&format!("sandbox {}", sandbox.summary()), 200);
                text += &format!("  {}\n", style::dim(line));
            }
            if !session.text.trim().is_empty() {
                text += &format!(
                    "  {}\n",
                    style::dim("final message (a claim, not evidence):")
                );
                text += &indent_lines(&text_tail(&session.text), "    │ ");
            }
        }
    }
    let guard = attempt.report.iter().flat_map(|report| &report.guard);
    for finding in guard.flat_map(|guard| &guard.findings) {
        text += &format!("{}\n", format_guard_finding(finding));
    }
    let crossed = attempt
        .report
        .iter()
        .filter_map(|report| report.crossed.as_deref());
    text.extend(crossed.map(|crossed| format_cross_check(crossed) + "\n"));
    for (index, check) in attempt
        .report
        .iter()
        .flat_map(|report| &report.checks)
        .enumerate()
    {
        text += &format_check(index + 1, check);
    }
    for gate in attempt.gates() {
        text += &format_gate(gate);
    }
    text += &format_held_back(attempt).unwrap_or_default();
    let closing = match attempt.end {
        Some(AttemptEnd::Interrupted) => "interrupted: does not count as a retry",
        Some(AttemptEnd::UsageLimit) => "usage limit reached: does not count as a retry",
        Some(AttemptEnd::Cancelled) => "cancelled",
        Some(AttemptEnd::SessionFailed) => "not verified: the session did not succeed",
        Some(AttemptEnd::Report) | None => return text,
    };
    text + &format!("  {}\n", style::warning(closing))
}

/// Describes whether processes of a session survived, and how that was determined.
fn format_processes(processes: &ProcessCleanup) -> String {
    let ProcessCleanup {
        method,
        ended,
        survivors,
    } = *processes;
    let summary = match (ended, survivors) {
        (0, 0) => "no leftover processes".to_owned(),
        (ended, 0) => format!("{ended} leftover processes terminated"),
        (_, survivors) => format!("{survivors} processes could not be terminated"),
    };
    format!("{summary} ({})", method.label())
}

fn format_check(number: usize, check: &CheckReport) -> String {
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
        status_mark(check.status)
    );
    if let Some(marks) = marks(check) {
        text += &format!("      {}\n", one_line(&marks, 300));
    }
    if let Some(evidence) = format_evidence(check) {
        text += &format!("      {evidence}\n");
    }
    if let Some(digest) = &check.digest {
        text += &indent_lines(digest, "    │ ");
    }
    if let Some(output) = check
        .output_ref
        .as_ref()
        .filter(|output| output.left_out > 0)
    {
        let left_out = output.left_out;
        text += &format!(
            "      {left_out} bytes of its output were not stored because of the size limit\n"
        );
    }
    text
}

/// The test counts and how they were determined; `None` if there are no counts and Selvedge inspected the files itself.
fn format_evidence(check: &CheckReport) -> Option<String> {
    let tests = check.tests.as_ref().map(|tests| {
        let (passed, failed, skipped) = (tests.passed, tests.failed, tests.skipped);
        format!("{passed} tests passed, {failed} failed, {skipped} skipped")
    });
    let ran = check.evidence.filter(|it| *it != Evidence::Direct);
    let source = ran.map(|evidence| style::dim(evidence_label(evidence)));
    let parts: Vec<String> = tests.into_iter().chain(source).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn text_tail(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_FINAL_MESSAGE_CHARS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - MAX_FINAL_MESSAGE_CHARS).collect();
    format!("… {end}")
}

fn format_time(at: Timestamp) -> String {
    at.to_zoned(TimeZone::system())
        .strftime("%Y-%m-%d %H:%M:%S %Z")
        .to_string()
}

/// The details as JSON: result, resolved specification and attempts.
pub(crate) fn run_json(run: &Run, detail: DetailOptions) -> Value {
    let is_selected =
        |attempt: &&Attempt| detail.attempt.is_none_or(|it| it == attempt.attempt_number);
    let attempts: Vec<Value> = run
        .attempts
        .iter()
        .filter(is_selected)
        .map(attempt_json)
        .collect();
    json!({
        "run_id": run.run_id,
        "created_at": run.created_at,
        "updated_at": run.updated_at,
        "result": run.result(),
        "spec": *run.spec,
        "attempts": attempts,
        "put_aside": run.backup_trees,
    })
}

fn attempt_json(attempt: &Attempt) -> Value {
    #[derive(Serialize)]
    struct AttemptJson<'a> {
        #[serde(rename = "run_number")]
        attempt_number: u32,
        retry: u32,
        began_at: Timestamp,
        prompt: String,
        from_tree: &'a Option<selvedge_core::model::TreeId>,
        tree: &'a Option<selvedge_core::model::TreeId>,
        session: &'a Option<selvedge_core::model::SessionOutcome>,
        report: &'a Option<selvedge_core::model::Report>,
        closing: Option<AttemptEnd>,
    }
    let object = AttemptJson {
        attempt_number: attempt.attempt_number,
        retry: attempt.retry,
        began_at: attempt.began_at,
        prompt: attempt.prompt.full_text(),
        from_tree: &attempt.from_tree,
        tree: &attempt.tree,
        session: &attempt.session,
        report: &attempt.report,
        closing: attempt.end,
    };
    serde_json::to_value(object).unwrap_or_default()
}
