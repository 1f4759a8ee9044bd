//! Protected files, held against what they were: by the parts that decide how the checks run.

mod build;
mod code;
mod conftest;
mod ini;
mod json;
mod judge;
mod recipes;
mod relevance;
mod settings;
mod steps;
mod toml;

use super::ChangedFile;
use super::builtin::Kind;
use super::finding::{Action, Finding, FindingKind, Policy, Strength};
use super::protection::{Guarded, Protection};
use judge::Switch;
pub(super) use steps::IGNORES_FAILURE;

/// The findings of one changed file, if it is protected.
pub(super) fn inspect(protection: &Protection, change: &ChangedFile<'_>) -> Vec<Finding> {
    let Some(guarded) = protection.guarded(change.path) else {
        return Vec::new();
    };
    if guarded.kind == Kind::Lock {
        return vec![flag(
            change,
            FindingKind::Dependency,
            "the lock file changed: other versions may be tested than before".to_owned(),
        )];
    }
    let switches = judge::switches(guarded.kind, change);
    if guarded.asked_for && !switches.is_empty() {
        let what = "changed, as the task's own words ask: allowed, and shown for review";
        return vec![flag(change, FindingKind::AskedFor, what.to_owned())];
    }
    switches
        .into_iter()
        .map(|switch| finding(guarded, change, switch))
        .collect()
}

fn finding(guarded: Guarded, change: &ChangedFile<'_>, switch: Switch) -> Finding {
    let kind = match (change.before, change.after) {
        (None, _) => FindingKind::ProtectedPlanted,
        (_, None) => FindingKind::ProtectedRemoved,
        _ => FindingKind::ProtectedChanged,
    };
    if switch.strength != Strength::Offence {
        return Finding {
            line: switch.line,
            strength: switch.strength,
            ..flag(change, kind, switch.what)
        };
    }
    let (action, consequence) = match (guarded.policy, change.before) {
        (Policy::Fail, _) => (Action::Fail, "that file must not be changed"),
        (_, None) => (
            Action::Remove,
            "removed: checks run with the configuration of the start",
        ),
        _ => (
            Action::PutBack,
            "put back: checks run with the configuration of the start",
        ),
    };
    Finding {
        path: change.path.to_owned(),
        line: switch.line,
        kind,
        strength: Strength::Offence,
        what: format!("{}; {consequence}", switch.what),
        action,
    }
}

fn flag(change: &ChangedFile<'_>, kind: FindingKind, what: String) -> Finding {
    Finding {
        path: change.path.to_owned(),
        line: None,
        kind,
        strength: Strength::Weak,
        what,
        action: Action::Flag,
    }
}
