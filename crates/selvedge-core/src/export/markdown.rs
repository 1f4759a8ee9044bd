//! A summary in Markdown, for the page of a CI job or a comment on a change.
//!
//! Foreign text stands only in code spans and fenced blocks whose fence is longer than any run of
//! backticks in it: there nothing of Markdown or HTML means anything. It never stands in a table.

use askama::Template;

use super::account::{Account, Standing, Told};
use crate::guard::{Finding, Strength};
use crate::model::{CheckReport, CheckStatus, GateReport, SessionStatus};
use crate::prompt::{clean, one_line};
use crate::words::{cost, counted, duration, gate_result, marks, report_result, tokens};

/// Digests that are shown in full: a job's summary may have 1 MiB.
const DIGESTS: usize = 40;
/// Longest code span, in characters.
const SPAN: usize = 300;

#[derive(Template)]
#[template(path = "summary.md", escape = "none")]
struct Summary {
    sign: &'static str,
    word: String,
    reason: String,
    title: String,
    task: Option<String>,
    agent: Option<String>,
    facts: Vec<String>,
    warnings: Vec<String>,
    attempts: Vec<Section>,
    left_out: usize,
}

struct Section {
    name: String,
    facts: String,
    lines: Vec<String>,
    digests: Vec<Digest>,
}

struct Digest {
    of: String,
    block: String,
}

/// The summary.
pub fn markdown(account: &Account<'_>) -> String {
    let verdict = &account.verdict;
    let sign = match verdict.standing {
        Standing::Verified => "✅",
        Standing::Unchecked => "⚠️",
        Standing::NotVerified | Standing::NotJudged => "❌",
    };
    let mut left_out = 0;
    let section = |told: &Told<'_>| {
        let mut section = section(told);
        if !told.stands {
            section.digests.clear();
        }
        left_out += section.digests.len().saturating_sub(DIGESTS);
        section.digests.truncate(DIGESTS);
        section
    };
    let attempts = account.attempts.iter().map(section).collect();
    let summary = Summary {
        sign,
        word: verdict.word.clone(),
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

fn facts(account: &Account<'_>) -> Vec<String> {
    let worked = account.attempts.iter().map(Told::duration_ms);
    let worked = duration(worked.fold(0, u64::saturating_add));
    let Some((spent, usage)) = &account.cost else {
        return vec![worked];
    };
    let subtask = account.attempts.iter().find_map(|told| told.subtask);
    let attempts = counted(account.attempts.len() as u64, "attempt");
    let mut facts = vec![attempts, cost(*spent), tokens(usage), worked];
    let mut reported = account.attempts.iter().filter(|told| told.report.is_some());
    let last = reported.next_back().and_then(|told| told.number);
    let stands = account.standing().find_map(|(told, _)| told.number);
    if let (Some(stands), None) = (stands.filter(|it| Some(*it) != last), subtask) {
        facts.push(format!("the workspace holds the tree of attempt {stands}"));
    }
    facts
}

fn section(told: &Told<'_>) -> Section {
    let mut lines = Vec::new();
    lines.extend(session(told));
    let mut digests = Vec::new();
    if let Some(report) = told.report {
        lines.extend(report.checks.iter().map(checked));
        let findings = report.guard.iter().flat_map(|guard| &guard.findings);
        lines.extend(findings.map(noticed));
        lines.extend(report.gates.iter().flat_map(judged));
        let told = report.checks.iter().filter_map(|check| {
            let digest = check.digest.as_deref()?;
            Some(Digest {
                of: code(check.label()),
                block: fenced(digest),
            })
        });
        digests.extend(told);
    }
    let name = match (told.subtask, told.number) {
        (Some(subtask), Some(number)) => format!("Subtask {}, attempt {number}", code(subtask)),
        (None, Some(number)) => format!("Attempt {number}"),
        (_, None) => "Verification".to_owned(),
    };
    let held_back = told.report.filter(|report| report.held_back().is_some());
    let facts = held_back.map(report_result).into_iter();
    let facts: Vec<String> = facts.chain([duration(told.duration_ms())]).collect();
    Section {
        name,
        facts: facts.join(" · "),
        lines,
        digests,
    }
}

fn session(told: &Told<'_>) -> Option<String> {
    told.number?;
    let Some(session) = told.session else {
        return Some("❌ the agent's session was cut off".to_owned());
    };
    if session.status == SessionStatus::Success {
        return None;
    }
    let why = session.error.as_deref().unwrap_or("no reason given");
    Some(format!(
        "❌ the agent's session did not succeed: {}",
        code(why)
    ))
}

fn checked(check: &CheckReport) -> String {
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
    for said in reason.iter().chain(&marks) {
        line += &format!(" · {}", code(said));
    }
    line + &format!(" · {}", duration(check.duration_ms))
}

fn noticed(finding: &Finding) -> String {
    let sign = match finding.strength {
        Strength::Offence | Strength::Strong => "⚠️",
        Strength::Weak => "ℹ️",
    };
    let line = finding.line.map(|line| format!(":{line}"));
    let place = format!("{}{}", finding.path, line.unwrap_or_default());
    format!("{sign} guard: {} · {}", code(&place), code(&finding.what))
}

fn judged(gate: &GateReport) -> Vec<String> {
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
    let said = issues.chain(&gate.error);
    let said = said.map(|it| format!("tier {}: {}", gate.tier, code(it)));
    std::iter::once(head).chain(said).collect()
}

/// The longest run of backticks in a text.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|c| c != '`');
    runs.map(str::len).max().unwrap_or(0)
}

/// One line of foreign text as a code span that it cannot end.
fn code(text: &str) -> String {
    let line = one_line(text, SPAN);
    if line.is_empty() {
        return String::new();
    }
    let fence = "`".repeat(longest_run(&line) + 1);
    // A space on both sides is taken off again by every reader, and keeps backticks apart.
    let room = if line.starts_with('`') || line.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{room}{line}{room}{fence}")
}

/// Foreign text as a block that it cannot end.
fn fenced(text: &str) -> String {
    let text = clean(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}text\n{}\n{fence}", text.trim_end())
}
