//! Whether two reports say the same: by what fails, never by where a line number moved to or how
//! long it took.

use std::collections::BTreeSet;

use super::state::Run;
use crate::model::{Report, StepKind};

/// One thing that fails, without what changes from run to run.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Symptom<'a> {
    check: (&'static str, &'a str),
    id: Option<&'a str>,
    file: Option<&'a str>,
    code: Option<&'a str>,
    summary: &'a str,
}

/// The failing set of a report.
fn signature(report: &Report) -> BTreeSet<Symptom<'_>> {
    let failing = report
        .checks
        .iter()
        .filter(|check| check.status.is_failure());
    failing
        .flat_map(|check| {
            let name = (StepKind::as_str(check.kind), check.target.as_str());
            let bare = Symptom {
                check: name,
                id: None,
                file: None,
                code: None,
                summary: "",
            };
            let records = check.failures.iter().map(move |failure| Symptom {
                check: name,
                id: failure.id.as_deref(),
                file: failure.file.as_deref(),
                code: failure.code.as_deref(),
                summary: &failure.summary,
            });
            std::iter::once(bare).chain(records)
        })
        .collect()
}

/// Whether the last two reports show the same failures on the same tree. Without snapshots the
/// trees are not known, and nothing is called stuck.
pub(super) fn is_stuck(run: &Run) -> bool {
    let mut latest = run.reported().rev();
    let (Some((one, last)), Some((two, before))) = (latest.next(), latest.next()) else {
        return false;
    };
    one.tree.is_some() && one.tree == two.tree && signature(last) == signature(before)
}
