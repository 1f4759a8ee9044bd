//! The corrective prompt: the text that starts the next attempt of a run whose last report failed.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use askama::Template;
use selvedge_digest::{DEFAULT_BUDGET_TOKENS, estimate_tokens};

use super::names::{UnlistedFailures, first_names};
use super::untrusted::{fence, head_within, heads_within, one_line, tail_within};
use crate::model::{
    AttemptEnd, BetweenAttempts, CheckReport, CheckStatus, GuardReport, Report, ReportStatus,
    StepKind,
};
use crate::run::{Attempt, Run};
use crate::sanitize::sanitize_text;

/// Maximum length of the addition to the task, in tokens as estimated by the digest, which never underestimates a
/// tokenizer.
pub const CORRECTION_TOKENS: usize = 1000;
/// Length of the quotation from the end of the previous output, in characters.
pub const PREVIOUS_OUTPUT_CHARS: usize = 1000;

/// Reserve, because the tokens of the whole are not exactly the sum of its parts'.
const SLACK_TOKENS: usize = 30;
/// Maximum length of a check's title, in characters.
const TITLE_CHARS: usize = 80;
/// Maximum length of the reason of a failed check, in characters.
const REASON_CHARS: usize = 80;
/// Maximum number of failed checks with a line and a digest; further ones are only named.
const MAX_FAILED_SHOWN: usize = 5;
/// Tokens that are reserved for digests when the other checks are named.
const DIGESTS_RESERVED: usize = 150;
/// Maximum number of passed checks that are named; further ones are counted.
const MAX_PASSED_NAMED: usize = 4;
/// Number of previous attempts with a line; earlier ones are omitted.
const EARLIER_LINES: usize = 3;
/// Maximum number of violations that are named.
const MAX_VIOLATIONS_NAMED: usize = 4;
/// Maximum length of a violation's line, in characters.
const VIOLATION_CHARS: usize = 160;
/// Maximum length of an earlier attempt's line, in characters.
const EARLIER_CHARS: usize = 80;
/// Tokens of the tests that are named before a digest: those that passed before, those that failed already, and those
/// that the digest does not name.
const TESTS_NAMED_TOKENS: [usize; 3] = [80, 40, 80];
/// Maximum length of a reviewer's quotation, in tokens.
const FEEDBACK_TOKENS: usize = 300;

#[derive(Template)]
#[template(path = "correction.txt", escape = "none")]
struct CorrectivePrompt {
    /// Whether the agent continues the session that it wanted to end.
    same_session: bool,
    retry: u32,
    max_retries: u32,
    workspace_state: &'static str,
    /// Why work with passing checks is not accepted: nothing was changed.
    unchanged: Option<&'static str>,
    fence: String,
    feedback: Option<String>,
    failed: Vec<FailedCheck>,
    more_failed: Option<UnlistedFailures>,
    passed: Vec<String>,
    passed_left_out: usize,
    earlier: Vec<String>,
    circle: Option<Oscillation>,
    violations: Vec<String>,
    previous_output: Option<String>,
}

struct Oscillation {
    back_to: u32,
    claims: [String; 2],
}

struct FailedCheck {
    title: String,
    status: &'static str,
    reason: Option<String>,
    /// Comparison with earlier results of the same check.
    note: Option<&'static str>,
    digest: Option<String>,
}

/// The correction for the last verified attempt; `None` if there is none.
pub(super) fn build_correction(run: &Run) -> Option<String> {
    let (attempt, report) = run.verified_attempts().next_back()?;
    let mut correction = build_context(run, attempt, report);
    // Frame first, then names, digests and the quotation: the most important parts are truncated last. The frame is
    // measured with empty blocks, because their delimiters also use tokens.
    let remaining = CORRECTION_TOKENS.saturating_sub(tokens(&correction) + SLACK_TOKENS);
    let more: Vec<_> = report.failing_checks().skip(MAX_FAILED_SHOWN).collect();
    correction.more_failed =
        UnlistedFailures::of(&more, remaining.saturating_sub(DIGESTS_RESERVED));
    let mut remaining = CORRECTION_TOKENS.saturating_sub(tokens(&correction) + SLACK_TOKENS);
    let shown = report.failing_checks().take(MAX_FAILED_SHOWN);
    // The names before a digest do not push out the locations in it.
    let names: usize = shown
        .map(|check| estimate_tokens(&named_tests(check)))
        .sum();
    let digest_budget = remaining.min(DEFAULT_BUDGET_TOKENS + names);
    remaining -= fill_digests(&mut correction, report, digest_budget);
    if correction.previous_output.is_some() {
        correction.previous_output = quotation(attempt, remaining);
    }
    correction.fence = choose_fence(run, &correction);
    correction.render().ok()
}

fn build_context(run: &Run, attempt: &Attempt, report: &Report) -> CorrectivePrompt {
    let same_session = run.spec.agent.is_user_session();
    let failed: Vec<_> = report.failing_checks().collect();
    let is_crossed = report.still_failing().is_some();
    let gates = report
        .gates
        .iter()
        .filter(|gate| gate.passed == Some(false));
    let passed: Vec<_> = report
        .checks
        .iter()
        .filter(|check| check.status == CheckStatus::Pass)
        .collect();
    let failed_checks = failed
        .iter()
        .take(MAX_FAILED_SHOWN)
        .map(|check| FailedCheck {
            title: title(check),
            status: check.status.label(),
            reason: check
                .reason
                .as_deref()
                .map(|reason| one_line(reason, REASON_CHARS)),
            note: if is_crossed {
                Some("with the original tests; changes to tests do not count")
            } else {
                note(check)
            },
            digest: named_digest(check).map(|_| String::new()),
        });
    let failed_gates = gates.map(|gate| FailedCheck {
        title: format!("independent judgement (tier {})", gate.tier),
        status: CheckStatus::Fail.label(),
        reason: None,
        note: None,
        digest: gate
            .feedback
            .as_deref()
            .map(|text| head_within(&sanitize_text(text), FEEDBACK_TOKENS)),
    });
    CorrectivePrompt {
        same_session,
        retry: run.used_attempts(),
        max_retries: run.spec.max_verification_retries,
        workspace_state: workspace_state(run),
        unchanged: (report.status == ReportStatus::Pass && run.has_no_work())
            .then(|| run.describe_unchanged()),
        fence: "UNTRUSTED-00000000".to_owned(),
        feedback: run
            .feedback
            .as_deref()
            .map(|text| head_within(&sanitize_text(text), FEEDBACK_TOKENS)),
        more_failed: UnlistedFailures::of(failed.get(MAX_FAILED_SHOWN..).unwrap_or_default(), 0),
        failed: failed_checks.chain(failed_gates).collect(),
        passed: passed
            .iter()
            .take(MAX_PASSED_NAMED)
            .map(|check| passed_title(check))
            .collect(),
        passed_left_out: passed.len().saturating_sub(MAX_PASSED_NAMED),
        earlier: earlier_lines(run, attempt.attempt_number),
        circle: find_oscillation(run),
        violations: violation_lines(report),
        previous_output: (!same_session).then(String::new),
    }
}

fn workspace_state(run: &Run) -> &'static str {
    if run.spec.snapshots && run.spec.between_attempts == BetweenAttempts::Rollback {
        "The workspace was restored to the start of the first attempt."
    } else {
        "The workspace contains the work of the previous attempt."
    }
}

fn note(check: &CheckReport) -> Option<&'static str> {
    let marks = check.marks;
    if marks.weakened {
        Some("its evidence must be as complete as before the work began")
    } else if !check.regressed_tests.is_empty() {
        Some("REGRESSION: tests that passed before fail now")
    } else if marks.regression {
        Some("REGRESSION: it passed before")
    } else if marks.preexisting {
        Some("it failed before the work began as well, with the same kind of error; it must pass")
    } else {
        None
    }
}

/// Violations of the checks, which do not count.
fn violation_lines(report: &Report) -> Vec<String> {
    let violations = report.guard.iter().flat_map(GuardReport::violations);
    violations
        .take(MAX_VIOLATIONS_NAMED)
        .map(|finding| {
            one_line(
                &sanitize_text(&format!("{}: {}", finding.path, finding.what)),
                VIOLATION_CHARS,
            )
        })
        .collect()
}

/// The final texts of both attempts, if the work oscillates.
fn find_oscillation(run: &Run) -> Option<Oscillation> {
    let earlier = run.oscillates_with()?;
    let (last, _) = run.verified_attempts().next_back()?;
    let claim_of = |attempt: &Attempt| {
        let text = attempt.session.as_ref().map_or("", |session| &session.text);
        let claim = one_line(&sanitize_text(text), EARLIER_CHARS);
        format!("attempt {}: {claim}", attempt.attempt_number)
    };
    Some(Oscillation {
        back_to: earlier.attempt_number,
        claims: [claim_of(earlier), claim_of(last)],
    })
}

fn title(check: &CheckReport) -> String {
    let target = one_line(&check.target, TITLE_CHARS);
    format!("{} ({target})", StepKind::as_str(check.kind))
}

/// A passed check, with a note if tests of it are missing.
fn passed_title(check: &CheckReport) -> String {
    let reason = check.reason.as_deref().filter(|_| check.marks.missing);
    let reason = reason.map(|reason| format!(" ({})", one_line(reason, REASON_CHARS)));
    title(check) + &reason.unwrap_or_default()
}

/// A check's digest, preceded by the regressed tests and those that failed already.
fn named_digest(check: &CheckReport) -> Option<String> {
    let mut text = named_tests(check);
    let digest = check.digest.as_deref().map(sanitize_text);
    text += digest.as_deref().map_or("", str::trim);
    (!text.is_empty() || digest.is_some()).then_some(text)
}

/// The regressed tests of a check, and those that failed already.
fn named_tests(check: &CheckReport) -> String {
    // If all failures are old, the note next to the check describes that.
    let preexisting: &[String] = if check.marks.preexisting {
        &[]
    } else {
        &check.preexisting_tests
    };
    let lists = [
        ("passed before, fail now", check.regressed_tests.as_slice()),
        ("failed before in the same way", preexisting),
        ("failed", check.unnamed_failures()),
    ];
    let mut text = String::new();
    for ((what, tests), tokens) in lists.into_iter().zip(TESTS_NAMED_TOKENS) {
        let (names, left_out) = first_names(tests, tokens);
        if names.is_empty() {
            continue;
        }
        text += &format!("{what}: {names}");
        text += &match left_out {
            0 => "\n".to_owned(),
            more => format!("; and {more} more\n"),
        };
    }
    text
}

/// Fills in the digests of the named checks, with fair shares of the budget; returns the used tokens.
fn fill_digests(correction: &mut CorrectivePrompt, report: &Report, budget: usize) -> usize {
    let checks = report.failing_checks().take(MAX_FAILED_SHOWN);
    let digests: Vec<String> = checks
        .map(|check| named_digest(check).unwrap_or_default())
        .collect();
    let mut used = 0;
    for (check, digest) in correction
        .failed
        .iter_mut()
        .zip(heads_within(&digests, budget))
    {
        if !digest.is_empty() {
            used += estimate_tokens(&digest);
            check.digest = Some(digest);
        }
    }
    used.min(budget)
}

fn quotation(attempt: &Attempt, tokens: usize) -> Option<String> {
    let text = &attempt.session.as_ref()?.text;
    let quoted = tail_within(&sanitize_text(text), PREVIOUS_OUTPUT_CHARS, tokens);
    (!quoted.trim().is_empty()).then_some(quoted)
}

/// One line for each attempt before the corrected one, only the latest ones.
fn earlier_lines(run: &Run, corrected: u32) -> Vec<String> {
    let before = run
        .attempts
        .iter()
        .filter(|attempt| attempt.attempt_number < corrected);
    let lines: Vec<String> = before
        .map(|attempt| one_line(&attempt_line(attempt), EARLIER_CHARS))
        .collect();
    let skip = lines.len().saturating_sub(EARLIER_LINES);
    lines.into_iter().skip(skip).collect()
}

fn attempt_line(attempt: &Attempt) -> String {
    let number = attempt.attempt_number;
    match (&attempt.report, attempt.end) {
        (Some(report), _) => {
            let failing = report.failing_checks();
            let names: Vec<&str> = failing.map(|check| check.target.as_str()).collect();
            let (passed, total) = (report.summary.passed, report.summary.total);
            format!(
                "attempt {number}: {passed} of {total} checks passed; failed: {}",
                names.join(", ")
            )
        }
        (None, Some(AttemptEnd::Interrupted | AttemptEnd::UsageLimit)) => {
            format!("attempt {number}: interrupted")
        }
        (None, _) => format!("attempt {number}: not verified"),
    }
}

fn choose_fence(run: &Run, correction: &CorrectivePrompt) -> String {
    let mut hasher = DefaultHasher::new();
    (run.run_id, run.attempts.len()).hash(&mut hasher);
    let digests = correction
        .failed
        .iter()
        .filter_map(|check| check.digest.as_deref());
    let claims = correction.circle.iter().flat_map(|circle| &circle.claims);
    let bodies = digests
        .chain(claims.map(String::as_str))
        .chain(correction.violations.iter().map(String::as_str))
        .chain(correction.previous_output.as_deref());
    fence(hasher.finish(), &bodies)
}

fn tokens(correction: &CorrectivePrompt) -> usize {
    correction
        .render()
        .map_or(CORRECTION_TOKENS, |text| estimate_tokens(&text))
}
