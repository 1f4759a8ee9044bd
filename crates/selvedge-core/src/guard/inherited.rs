//! What earlier subtasks of a plan changed, held against what a later one is checked by.

use std::collections::BTreeSet;

use super::finding::{Action, Finding, FindingKind, Strength};
use super::protection::{BadGlob, Globs, Protection};
use super::scripts::scripts_of;
use crate::model::RunSpec;

/// The protected files that a later subtask must find as they were when its plan began. `findings`
/// hold the workspace before it against the plan's start, by the protection of `spec`; `earlier` are
/// the descriptions of the subtasks that changed it.
///
/// A change that the later subtask may make itself stays. So does one that the description of an earlier
/// subtask asked for, unless it edits or removes a script of the later one's checks.
pub fn files_to_restore(
    spec: &RunSpec,
    earlier: &[String],
    findings: &[Finding],
) -> Result<BTreeSet<String>, BadGlob> {
    // Protection ignores case.
    let scripts = scripts_of(spec.steps());
    let scripts: Vec<String> = scripts.iter().map(|it| it.glob.to_lowercase()).collect();
    let scripts = Globs::new(&scripts)?;
    let earlier = earlier
        .iter()
        .map(|description| Protection::new(&spec.protect, &spec.allow, description))
        .collect::<Result<Vec<_>, _>>()?;
    let restored = findings
        .iter()
        .filter(|finding| finding.strength == Strength::Offence)
        .filter(|finding| {
            let asked_for = earlier.iter().any(|it| it.asks_for(&finding.path));
            let is_script = scripts.fit(&finding.path.to_lowercase());
            !asked_for || (is_script && !is_new(finding))
        });
    Ok(restored.map(|finding| finding.path.clone()).collect())
}

fn is_new(finding: &Finding) -> bool {
    finding.kind == FindingKind::ProtectedPlanted || finding.action == Action::Remove
}
