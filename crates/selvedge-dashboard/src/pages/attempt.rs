//! One attempt on its task's page: session, checks, tiers above the checks, and guard.

use jiff::Timestamp;
use selvedge_core::describe::{cost, gate_result, marks as in_words, report_result, tokens};
use selvedge_core::format::{bytes, counted, duration};
use selvedge_core::model::{
    CheckReport, Evidence, FindingSeverity, GateReport, SessionOutcome, SessionStatus,
};
use selvedge_core::run::{Attempt, Run};

use super::frame::TimeLabel;
use crate::grid::{GridCell, marks};
use crate::story::AttemptVerdict;
use crate::text::{make_visible, single_line};

/// View of an attempt.
pub(super) struct AttemptView {
    pub(super) number: u32,
    pub(super) began: TimeLabel,
    pub(super) verdict: String,
    pub(super) tone: &'static str,
    /// Results of checks and judges; empty without a report.
    pub(super) result: String,
    /// Whether it is expanded initially.
    pub(super) open: bool,
    pub(super) agent: String,
    pub(super) session: String,
    pub(super) error: Option<String>,
    pub(super) last_words: Option<String>,
    pub(super) tools: Vec<String>,
    pub(super) has_transcript: bool,
    pub(super) checks: ChecksView,
    pub(super) gates: Vec<GateView>,
    /// The conclusion from the original tests, if the attempt changed the test side.
    pub(super) original_tests: Option<String>,
    pub(super) guard: Vec<(&'static str, String)>,
    pub(super) task: String,
    pub(super) correction: Option<String>,
    pub(super) has_diff: bool,
    pub(super) is_later: bool,
    /// How to restore its tree: from its patch against the start, if the trees are on another machine.
    pub(super) restore: Option<String>,
    pub(super) has_patch: bool,
    pub(super) processes: String,
    /// Sandboxes of the agent and of the checks.
    pub(super) sandboxes: Vec<(&'static str, String)>,
}

/// View of a check.
pub(super) struct CheckView {
    pub(super) number: usize,
    pub(super) cell: GridCell,
    pub(super) label: String,
    pub(super) target: Option<String>,
    pub(super) reason: String,
    pub(super) marks: Vec<&'static str>,
    pub(super) explained: String,
    pub(super) evidence: String,
    pub(super) digest: Option<String>,
    /// Whether the digest is expanded initially.
    pub(super) open: bool,
    pub(super) output: Option<String>,
}

/// The checks of a report.
pub(super) struct ChecksView {
    /// Checks that did not pass, or that have marks.
    pub(super) shown: Vec<CheckView>,
    /// Further checks: collapsed.
    pub(super) collapsed: Vec<CheckView>,
}

/// View of a tier above the checks.
pub(super) struct GateView {
    pub(super) tier: u8,
    pub(super) class: &'static str,
    pub(super) word: String,
    pub(super) feedback: String,
    pub(super) judges: Vec<String>,
}

/// Maximum length of the final message, in characters.
const FINAL_MESSAGE_CHARS: usize = 1500;
/// Maximum number of listed tool calls.
const MAX_TOOL_CALLS: usize = 40;
/// Maximum number of digests that are expanded initially.
const MAX_OPEN_DIGESTS: usize = 2;
/// Maximum number of failed checks that are not collapsed.
const MAX_SHOWN_CHECKS: usize = 8;
/// Maximum number of listed findings.
const MAX_FINDINGS: usize = 40;

impl AttemptView {
    pub(super) fn new(
        attempt: &Attempt,
        run: &Run,
        last: u32,
        on_hub: bool,
        now: Timestamp,
    ) -> Self {
        let number = attempt.attempt_number;
        let session = attempt.session.as_ref();
        let verdict = AttemptVerdict::of(run, attempt);
        let last_words = session.map(|it| it.text.trim()).filter(|it| !it.is_empty());
        let short = run.run_id.short();
        let guard = attempt.report.iter().flat_map(|report| &report.guard);
        let crossed = attempt
            .report
            .as_ref()
            .and_then(|report| report.crossed.as_deref());
        Self {
            number,
            began: TimeLabel::of(attempt.began_at, now),
            verdict: verdict.words(),
            tone: verdict.tone().class(),
            result: attempt
                .report
                .as_ref()
                .map_or_else(String::new, report_result),
            open: number == last,
            agent: single_line(&run.spec.agent_of(attempt.retry).name, 40),
            session: session.map_or_else(String::new, session_summary),
            error: session.and_then(|it| it.error.as_deref()).map(make_visible),
            last_words: last_words.map(|text| make_visible(&tail(text))),
            // With a transcript, the trace has all of them.
            tools: session
                .filter(|it| it.transcript.is_none())
                .map_or_else(Vec::new, tool_call_labels),
            has_transcript: session.is_some_and(|it| it.transcript.is_some()),
            checks: attempt
                .report
                .as_ref()
                .map_or_else(|| checks_of(&[]), |report| checks_of(&report.checks)),
            gates: attempt.gates().iter().map(GateView::new).collect(),
            original_tests: crossed.map(|crossed| single_line(&crossed.reason, 400)),
            guard: guard
                .flat_map(|guard| &guard.findings)
                .take(MAX_FINDINGS)
                .map(|it| {
                    let place = it.line.map(|line| format!(":{line}")).unwrap_or_default();
                    let class = match it.strength {
                        FindingSeverity::Violation => "fail",
                        FindingSeverity::Strong => "error",
                        FindingSeverity::Weak => "skip",
                    };
                    (
                        class,
                        make_visible(&format!("{}{place}: {}", it.path, it.what)),
                    )
                })
                .collect(),
            task: make_visible(&attempt.prompt.task),
            correction: attempt.prompt.correction.as_deref().map(make_visible),
            has_diff: attempt.from_tree.is_some() && attempt.tree.is_some(),
            is_later: number > 1,
            restore: attempt.tree.as_ref().map(|_| {
                if on_hub {
                    format!("git apply selvedge-{short}-attempt-{number}-since-start.patch")
                } else {
                    format!("selvedge restore {short} --attempt {number}")
                }
            }),
            has_patch: on_hub && attempt.tree.is_some(),
            processes: session.map_or_else(String::new, process_summary),
            sandboxes: sandbox_descriptions(attempt),
        }
    }
}

fn session_summary(session: &SessionOutcome) -> String {
    let word = match session.status {
        SessionStatus::Success => "finished",
        SessionStatus::Failed => "failed",
        SessionStatus::Timeout => "timed out",
        SessionStatus::TurnLimit => "reached its turn limit",
        SessionStatus::Budget => "reached its budget",
        SessionStatus::CannotSatisfy => "reported that the task cannot be satisfied",
        SessionStatus::Infra => "could not run",
        SessionStatus::Cancelled => "was cancelled",
    };
    let mut facts = vec![word.to_owned(), duration(session.duration_ms)];
    facts.extend(session.model.as_deref().map(|model| single_line(model, 60)));
    facts.extend(session.turns.map(|turns| counted(turns.into(), "turn")));
    facts.push(counted(session.tool_calls.into(), "tool call"));
    if session.tool_errors > 0 {
        facts.push(format!("{} failed", session.tool_errors));
    }
    facts.extend(tokens(&session.usage));
    facts.push(cost(session.cost));
    if session.api_retries > 0 {
        facts.push(counted(session.api_retries.into(), "API retry"));
    }
    facts.join(" · ")
}

fn process_summary(session: &SessionOutcome) -> String {
    session.processes.map_or_else(String::new, |it| {
        let how = it.method.label();
        match (it.ended, it.survivors) {
            (0, 0) => format!("no leftover processes ({how})"),
            (ended, 0) => format!("{ended} leftover processes terminated ({how})"),
            (_, survivors) => format!("{survivors} processes could not be terminated ({how})"),
        }
    })
}

/// Sandboxes of the agent and of the checks, with the restrictions that were observed.
fn sandbox_descriptions(attempt: &Attempt) -> Vec<(&'static str, String)> {
    let session = attempt.session.as_ref().and_then(|it| it.sandbox.as_ref());
    let report = attempt.report.as_ref().and_then(|it| it.sandbox.as_ref());
    let both = [("of the agent", session), ("of the checks", report)];
    let reports = both
        .into_iter()
        .filter_map(|(place, sandbox)| Some((place, sandbox?)));
    reports
        .map(|(place, sandbox)| (place, make_visible(&sandbox.summary())))
        .collect()
}

fn tool_call_labels(session: &SessionOutcome) -> Vec<String> {
    let calls = session.calls.iter().take(MAX_TOOL_CALLS);
    let each = calls.map(|call| {
        let error = call.error.as_deref();
        let error = error.map(|error| format!(" — failed: {error}"));
        let error = error.unwrap_or_default();
        single_line(&format!("{} {}{error}", call.name, call.subject), 200)
    });
    each.collect()
}

fn tail(text: &str) -> String {
    let count = text.chars().count();
    if count <= FINAL_MESSAGE_CHARS {
        return text.to_owned();
    }
    let end: String = text.chars().skip(count - FINAL_MESSAGE_CHARS).collect();
    format!("… {end}")
}

/// The checks of a report: those that need attention first, the others collapsed.
pub(super) fn checks_of(checks: &[CheckReport]) -> ChecksView {
    let numbered = checks.iter().enumerate();
    let all = numbered.map(|(index, check)| CheckView::new(index + 1, check));
    let needs_attention = |check: &CheckView| check.cell.class != "pass" || !check.marks.is_empty();
    let (mut shown, mut collapsed): (Vec<_>, Vec<_>) = all.partition(needs_attention);
    if shown.len() > MAX_SHOWN_CHECKS {
        let rest = shown.split_off(MAX_SHOWN_CHECKS);
        collapsed.splice(0..0, rest);
    }
    // A few checks are shown as they are.
    if shown.len() + collapsed.len() <= MAX_SHOWN_CHECKS {
        shown.append(&mut collapsed);
        shown.sort_by_key(|check| check.number);
    }
    let failed = shown.iter_mut().filter(|check| check.cell.class == "fail");
    for check in failed.take(MAX_OPEN_DIGESTS) {
        check.open = true;
    }
    ChecksView { shown, collapsed }
}

impl CheckView {
    fn new(number: usize, check: &CheckReport) -> Self {
        let label = single_line(check.label(), 120);
        let target = single_line(&check.target, 200);
        let rests = check.evidence.map(|evidence| match evidence {
            Evidence::MachineReport => "from the test runner's report",
            Evidence::Text => "from the test runner's output",
            Evidence::ExitCode => "from the exit code only",
            Evidence::Plugin => "from the plug-in's report",
            Evidence::Direct => "checked directly",
        });
        let tests = check.tests.as_ref().map(|tests| {
            let (passed, failed, skipped) = (tests.passed, tests.failed, tests.skipped);
            format!("{passed} tests passed, {failed} failed, {skipped} skipped")
        });
        let evidence: Vec<String> = tests.into_iter().chain(rests.map(str::to_owned)).collect();
        let printed = check.output_ref.as_ref().filter(|it| it.bytes > 0);
        Self {
            number,
            cell: GridCell::from_check(check),
            target: (target != label && !target.is_empty()).then_some(target),
            label,
            reason: check
                .reason
                .as_deref()
                .map(make_visible)
                .unwrap_or_default(),
            marks: marks(check.marks),
            explained: in_words(check)
                .map(|it| make_visible(&it))
                .unwrap_or_default(),
            evidence: evidence.join(", "),
            digest: check.digest.as_deref().map(make_visible),
            open: false,
            output: printed.map(|it| bytes(it.bytes)),
        }
    }
}

impl GateView {
    pub(super) fn new(gate: &GateReport) -> Self {
        let (word, class) = (gate_result(gate), GridCell::from_gate(gate).class);
        let sure = gate
            .confidence
            .map(|it| format!(", confidence {it:.2}"))
            .unwrap_or_default();
        let feedback = gate.feedback.as_deref().or(gate.error.as_deref());
        let judges = gate.judgements.iter().map(|it| {
            let verdict = match it.passed {
                Some(true) => "passes the work",
                Some(false) => "rejects the work",
                None => "gave no valid answer",
            };
            let mut words = format!("{} {verdict}", it.judge);
            if let Some(confidence) = it.confidence {
                words.push_str(&format!(", confidence {confidence:.2}"));
            }
            if it.same_model {
                words.push_str(", same model as the agent");
            }
            for issue in &it.issues {
                words.push_str(&format!("; {issue}"));
            }
            single_line(&words, 400)
        });
        Self {
            tier: gate.tier,
            class,
            word: format!("{word}{sure}"),
            feedback: feedback.map(make_visible).unwrap_or_default(),
            judges: judges.collect(),
        }
    }
}
