//! Compares two reports by what fails, ignoring changed line numbers and durations.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::message::message_kind;
use super::state::{Attempt, Run};
use crate::model::{CheckReport, Report, StepKind};
use selvedge_digest::Failure;

/// One failure, without what changes between runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Symptom<'a> {
    check: (&'static str, &'a str),
    id: Option<&'a str>,
    file: Option<&'a str>,
    code: Option<&'a str>,
    summary: Cow<'a, str>,
}

/// The set of failures of a report.
fn signature(report: &Report) -> BTreeSet<Symptom<'_>> {
    let failing = report
        .checks
        .iter()
        .filter(|check| check.status.is_failure());
    // A test is identified by its id, whatever its message.
    failing
        .flat_map(|check| symptoms(check, |_| Cow::Borrowed("")))
        .collect()
}

/// The failures of one check: the check itself, and each of its records. `of_test` gives the message of a test's
/// record.
fn symptoms<'a>(
    check: &'a CheckReport,
    of_test: impl Fn(&'a Failure) -> Cow<'a, str> + 'a,
) -> impl Iterator<Item = Symptom<'a>> {
    let name = (StepKind::as_str(check.kind), check.target.as_str());
    let bare = Symptom {
        check: name,
        id: None,
        file: None,
        code: None,
        summary: Cow::Borrowed(""),
    };
    let records = check.failures.iter().map(move |failure| Symptom {
        check: name,
        id: failure.id.as_deref(),
        file: failure.file.as_deref(),
        code: failure.code.as_deref(),
        summary: match failure.id {
            Some(_) => of_test(failure),
            None => Cow::Borrowed(&failure.summary),
        },
    });
    std::iter::once(bare).chain(records)
}

/// Whether all failures of a check also occurred before, each test with the same kind of message.
pub(crate) fn is_within(check: &CheckReport, before: &CheckReport) -> bool {
    let kind = |failure: &Failure| Cow::Owned(message_kind(failure));
    let then: BTreeSet<Symptom<'_>> = symptoms(before, kind).collect();
    symptoms(check, kind).all(|symptom| then.contains(&symptom))
}

/// Whether the last two reports show the same failures on the same tree. Always false without snapshots, as the trees
/// are unknown, and when a different agent takes over.
pub(super) fn is_stuck(run: &Run) -> bool {
    let mut latest = run.verified_attempts().rev();
    let (Some((one, last)), Some((two, before))) = (latest.next(), latest.next()) else {
        return false;
    };
    let spec = &run.spec;
    let passes_on = spec.agent_of(one.retry) != spec.agent_of(one.retry + 1);
    let is_same = one.tree.is_some() && one.tree == two.tree;
    is_same && !passes_on && signature(last) == signature(before)
}

/// The latest earlier attempt with exactly the same failures as now and other failures in between: the work oscillates.
pub(crate) fn oscillates_with(run: &Run) -> Option<&Attempt> {
    let mut latest = run.verified_attempts().rev();
    let (_, last) = latest.next()?;
    let now = signature(last);
    let mut between = false;
    for (attempt, report) in latest {
        if signature(report) != now {
            between = true;
        } else if between {
            return Some(attempt);
        } else {
            return None;
        }
    }
    None
}
