//! Feedback for an agent that ran the checks itself, in a hook or through a tool, when they fail. A correction without
//! a run: no attempts or history, but with the same delimiters.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use askama::Template;

use super::names::UnlistedFailures;
use super::untrusted::{fence, heads_within, one_line};
use crate::model::{CheckReport, CheckStatus, Report};
use crate::sanitize::sanitize_text;

/// Maximum number of checks of each kind with a line; further failed ones are named.
const MAX_NAMED: usize = 8;
/// Maximum length of those names, in tokens.
const NAMES_TOKENS: usize = 250;
/// Maximum length of a name or reason, in characters.
const MAX_LINE_CHARS: usize = 100;

#[derive(Template)]
#[template(path = "feedback.txt", escape = "none")]
struct Feedback {
    failed: usize,
    total: usize,
    fence: String,
    checks: Vec<FeedbackCheck>,
    more: Option<UnlistedFailures>,
    passed: Vec<String>,
}

struct FeedbackCheck {
    title: String,
    status: &'static str,
    reason: Option<String>,
    digest: Option<String>,
}

/// The failed checks of a report, with digests that share `tokens`. Unused shares go to the following checks.
pub fn feedback(report: &Report, tokens: usize) -> String {
    let is_failing =
        |check: &&CheckReport| check.status == CheckStatus::Error || check.status.is_failure();
    let failed: Vec<&CheckReport> = report.checks.iter().filter(is_failing).collect();
    let shown = failed.len().min(MAX_NAMED);
    let digests: Vec<String> = failed
        .iter()
        .take(MAX_NAMED)
        .map(|check| sanitize_text(check.digest.as_deref().unwrap_or_default()))
        .collect();
    let heads = heads_within(&digests, tokens);
    let checks: Vec<FeedbackCheck> = failed
        .iter()
        .zip(heads)
        .map(|(check, head)| FeedbackCheck {
            title: one_line(check.label(), MAX_LINE_CHARS),
            status: check.status.label(),
            reason: check
                .reason
                .as_deref()
                .map(|it| one_line(it, MAX_LINE_CHARS)),
            digest: check.digest.is_some().then_some(head),
        })
        .collect();
    let passed = report.checks.iter();
    let passed = passed.filter(|check| check.status == CheckStatus::Pass);
    let passed = passed
        .take(MAX_NAMED)
        .map(|check| one_line(check.label(), MAX_LINE_CHARS));
    let bodies = checks.iter().filter_map(|check| check.digest.as_deref());
    let mut seed = DefaultHasher::new();
    bodies.clone().for_each(|body| body.hash(&mut seed));
    let fence = fence(seed.finish(), &bodies);
    let feedback = Feedback {
        failed: failed.len(),
        total: report.checks.len(),
        fence,
        more: UnlistedFailures::of(failed.get(shown..).unwrap_or_default(), NAMES_TOKENS),
        passed: passed.collect(),
        checks,
    };
    feedback.render().unwrap_or_default()
}
