//! What the changed lines of sources and tests look like: the known ways to pass without being
//! right, as flags for a person and the higher tiers to weigh.
//!
//! Only lines that this attempt added or removed are judged, never one that merely moved; comments,
//! texts and fixtures are not code. Files above 1 MiB are left unread.

mod assertions;
mod bodies;
mod change;
mod markers;
mod rules;
mod units;

use std::collections::BTreeMap;

use super::ChangedFile;
use super::finding::{Action, Finding, FindingKind, Strength};
use super::protection::Protection;
use super::text;
use change::{Changed, Moved};

/// A flag, before it has a path.
#[derive(Debug)]
struct Flag {
    line: Option<usize>,
    kind: FindingKind,
    strength: Strength,
    what: String,
}

impl Flag {
    /// `line` is an index into the lines of the file as it is now.
    fn new(
        line: Option<usize>,
        kind: FindingKind,
        strength: Strength,
        what: impl Into<String>,
    ) -> Self {
        Self {
            line,
            kind,
            strength,
            what: what.into(),
        }
    }
}

/// Flags all changes together. A file that will be put back or removed (`judged`) is not flagged as
/// well: what stands in it will be gone.
pub(super) fn inspect(
    protection: &Protection,
    changes: &[ChangedFile<'_>],
    judged: &[Finding],
) -> Vec<Finding> {
    let undone = |path: &str| {
        let offends =
            |finding: &&Finding| matches!(finding.action, Action::PutBack | Action::Remove);
        judged
            .iter()
            .filter(offends)
            .any(|finding| finding.path == path)
    };
    let texts: Vec<_> = changes
        .iter()
        .filter(|change| change.before != change.after && !undone(change.path))
        .filter_map(change::read)
        .collect();
    let changed: Vec<Changed<'_>> = texts.iter().map(Changed::of).collect();
    let mut moved = Moved::of(&changed);
    let added: Vec<Vec<usize>> = changed.iter().map(|file| moved.new_lines(file)).collect();
    let work = assertions::Work::of(protection, &changed);
    let mut findings = Vec::new();
    for (file, added) in changed.iter().zip(&added) {
        let mut flags = rules::flags(file, added);
        flags.extend(bodies::flags(file, added));
        flags.extend(markers::flags(
            file,
            added,
            protection.task().ask_for_skips(),
        ));
        flags.extend(assertions::flags(&work, file, added));
        findings.extend(folded(file.path, flags));
    }
    let recorded = changes.iter().filter(|change| {
        text::is_recorded(change.path) && change.before.is_some() && change.before != change.after
    });
    findings
        .extend(recorded.flat_map(|change| folded(change.path, vec![assertions::recorded(&work)])));
    findings
}

/// One finding for each kind and strength of a file: the first line stands for all.
fn folded(path: &str, flags: Vec<Flag>) -> Vec<Finding> {
    let mut groups: BTreeMap<_, (Flag, usize)> = BTreeMap::new();
    for flag in flags {
        let key = (format!("{:?}", flag.kind), flag.strength);
        match groups.get_mut(&key) {
            None => {
                groups.insert(key, (flag, 0));
            }
            Some((first, more)) => {
                *more += 1;
                if flag.line < first.line {
                    *first = flag;
                }
            }
        }
    }
    let finding = |(flag, more): (Flag, usize)| Finding {
        path: path.to_owned(),
        line: flag.line.and_then(|index| u32::try_from(index + 1).ok()),
        kind: flag.kind,
        strength: flag.strength,
        what: match more {
            0 => flag.what,
            more => format!("{} (and {more} more in this file)", flag.what),
        },
        action: Action::Flag,
    };
    groups.into_values().map(finding).collect()
}
