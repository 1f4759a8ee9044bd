//! Markdown summary, for the page of a CI job or a comment on a change.
//!
//! Untrusted text only appears in code spans and in fenced blocks with a fence longer than any run of backticks in it,
//! so that none of it is interpreted as Markdown or HTML. It never appears in a table.

use askama::Template;

use super::input::{AttemptSummary, ReportInput, ResultCategory};
use crate::describe::{cost, failure_digests, gate_result, marks, report_result, tokens};
use crate::format::{counted, duration};
use crate::model::{CheckReport, CheckStatus, Finding, FindingSeverity, GateReport, SessionStatus};
use crate::prompt::one_line;
use crate::sanitize::sanitize_text;

/// Maximum number of digests that are shown in full: the summary of a job is limited to 1 MiB.
const MAX_DIGESTS: usize = 40;
/// Maximum length of a code span, in characters.
const MAX_SPAN_CHARS: usize = 300;

#[derive(Template)]
#[template(path = "summary.md", escape = "none")]
struct MarkdownSummary {
    sign: &'static str,
    word: String,
    reason: String,
    title: String,
    task: Option<String>,
    agent: Option<String>,
    facts: Vec<String>,
    warnings: Vec<String>,
    attempts: Vec<AttemptSection>,
    left_out: usize,
}

struct AttemptSection {
    name: String,
    facts: String,
    lines: Vec<String>,
    digests: Vec<DigestBlock>,
}

struct DigestBlock {
    of: String,
    block: String,
}

/// The summary.
pub fn markdown(account: &ReportInput<'_>) -> String {
    let verdict = &account.verdict;
    let sign = match verdict.category {
        ResultCategory::Verified => "✅",
        ResultCategory::Unchecked => "⚠️",
        ResultCategory::NotVerified | ResultCategory::NotJudged => "❌",
    };
    let mut left_out = 0;
    let section = |attempt: &AttemptSummary<'_>| {
        let mut section = build_section(attempt);
        if !attempt.is_current {
            section.digests.clear();
        }
        left_out += section.digests.len().saturating_sub(MAX_DIGESTS);
        section.digests.truncate(MAX_DIGESTS);
        section
    };
    let attempts = account.attempts.iter().map(section).collect();
    let summary = MarkdownSummary {
        sign,
        word: verdict.label.clone(),
        reason: code(&verdict.reason),
        title: account.title.clone(),
        task: account.task.map(code).filter(|task| !task.is_empty()),
        agent: account.agent.map(code),
        facts: facts(account),
        warnings: account.warnings.iter().map(|it| code(it)).collect(),
        attempts,
        left_out,
    };
    summary.render().unwrap_or_default()
}

fn facts(account: &ReportInput<'_>) -> Vec<String> {
    let worked = account.attempts.iter().map(AttemptSummary::duration_ms);
    let worked = duration(worked.fold(0, u64::saturating_add));
    let Some((spent, usage)) = &account.cost else {
        return vec![worked];
    };
    let subtask = account.attempts.iter().find_map(|attempt| attempt.subtask);
    let attempts = counted(account.attempts.len() as u64, "attempt");
    let mut facts = vec![attempts, cost(*spent)];
    facts.extend(tokens(usage));
    facts.push(worked);
    let mut reported = account
        .attempts
        .iter()
        .filter(|attempt| attempt.report.is_some());
    let last = reported.next_back().and_then(|attempt| attempt.number);
    let current = account
        .current_attempts()
        .find_map(|(attempt, _)| attempt.number);
    if let (Some(current), None) = (current.filter(|it| Some(*it) != last), subtask) {
        facts.push(format!(
            "the workspace contains the files of attempt {current}"
        ));
    }
    facts
}

fn build_section(attempt: &AttemptSummary<'_>) -> AttemptSection {
    let mut lines = Vec::new();
    lines.extend(session_line(attempt));
    let mut digests = Vec::new();
    if let Some(report) = attempt.report {
        lines.extend(report.checks.iter().map(check_line));
        let findings = report.guard.iter().flat_map(|guard| &guard.findings);
        lines.extend(findings.map(finding_line));
        lines.extend(report.gates.iter().flat_map(gate_lines));
        let failed = failure_digests(report).into_iter();
        digests.extend(failed.map(|(check, digest)| DigestBlock {
            of: code(&check),
            block: fenced(digest),
        }));
    }
    let name = match (attempt.subtask, attempt.number) {
        (Some(subtask), Some(number)) => format!("Subtask {}, attempt {number}", code(subtask)),
        (None, Some(number)) => format!("Attempt {number}"),
        (_, None) => "Verification".to_owned(),
    };
    let held_back = attempt
        .report
        .filter(|report| report.blocking_gate().is_some());
    let facts = held_back.map(report_result).into_iter();
    let facts: Vec<String> = facts.chain([duration(attempt.duration_ms())]).collect();
    AttemptSection {
        name,
        facts: facts.join(" · "),
        lines,
        digests,
    }
}

fn session_line(attempt: &AttemptSummary<'_>) -> Option<String> {
    attempt.number?;
    let Some(session) = attempt.session else {
        return Some("❌ the agent's session was interrupted".to_owned());
    };
    if session.status == SessionStatus::Success {
        return None;
    }
    let why = session.error.as_deref().unwrap_or("no reason given");
    Some(format!("❌ the agent's session failed: {}", code(why)))
}

fn check_line(check: &CheckReport) -> String {
    let is_known = check.status == CheckStatus::Pass && check.marks.preexisting;
    let sign = match check.status {
        CheckStatus::Pass if is_known || check.marks.flaky || check.marks.missing => "⚠️",
        CheckStatus::Pass => "✅",
        CheckStatus::Fail => "❌",
        CheckStatus::Timeout => "⌛",
        CheckStatus::Error => "❗",
        CheckStatus::Skip => "⏭️",
    };
    let mut line = format!("{sign} {}", code(check.label()));
    let marks = marks(check);
    let reason = check.reason.clone().filter(|it| Some(it) != marks.as_ref());
    for note in reason.iter().chain(&marks) {
        line += &format!(" · {}", code(note));
    }
    line + &format!(" · {}", duration(check.duration_ms))
}

fn finding_line(finding: &Finding) -> String {
    let sign = match finding.strength {
        FindingSeverity::Violation | FindingSeverity::Strong => "⚠️",
        FindingSeverity::Weak => "ℹ️",
    };
    let line = finding.line.map(|line| format!(":{line}"));
    let place = format!("{}{}", finding.path, line.unwrap_or_default());
    format!("{sign} guard: {} · {}", code(&place), code(&finding.what))
}

fn gate_lines(gate: &GateReport) -> Vec<String> {
    let sign = match (gate.passed, &gate.error) {
        (Some(true), _) => "✅",
        (Some(false), _) => "❌",
        (None, None) => "⚠️",
        (None, Some(_)) => "❗",
    };
    let sure = gate
        .confidence
        .map(|sure| format!(" · confidence {sure:.2}"));
    let head = format!(
        "{sign} tier {} {}{}",
        gate.tier,
        gate_result(gate),
        sure.unwrap_or_default()
    );
    let issues = gate.judgements.iter().flat_map(|it| &it.issues);
    let lines = issues.chain(&gate.error);
    let lines = lines.map(|it| format!("tier {}: {}", gate.tier, code(it)));
    std::iter::once(head).chain(lines).collect()
}

/// The longest run of backticks in a text.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`');
    runs.map(str::len).max().unwrap_or(0)
}

/// One line of untrusted text as a code span that the text cannot end.
fn code(text: &str) -> String {
    let line = one_line(text, MAX_SPAN_CHARS);
    if line.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&line) + 1);
    // Renderers remove one space on both sides; it separates backticks.
    let room = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{line}{room}{fence}")
}

/// Untrusted text as a block that the text cannot end.
fn fenced(text: &str) -> String {
    let text = sanitize_text(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}
