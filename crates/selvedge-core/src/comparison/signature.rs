//! Compares two reports by what fails, ignoring changed line numbers and durations.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::message::message_kind;
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

/// Whether two reports have the same failures.
pub(crate) fn has_same_failures(one: &Report, other: &Report) -> bool {
    signature(one) == signature(other)
}

/// Whether all failures of a check also occurred before, each test with the same kind of message.
pub(crate) fn is_within(check: &CheckReport, before: &CheckReport) -> bool {
    let kind = |failure: &Failure| Cow::Owned(message_kind(failure));
    let then: BTreeSet<Symptom<'_>> = symptoms(before, kind).collect();
    symptoms(check, kind).all(|symptom| then.contains(&symptom))
}
