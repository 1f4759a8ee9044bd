//! Flags new lines of sources that attack the checks, for a person and the higher tiers to assess.
//!
//! Tests are not read: the checks run again with the original ones. Only lines that this attempt added are inspected,
//! not moved ones; comments, texts and fixtures are not code. A source above 16 MiB is not read, which is flagged.

mod aliases;
mod bodies;
mod change;
mod combinations;
mod constant_answers;
mod export_conditions;
mod functions;
mod introspection;
mod loaded_texts;
mod locked_sources;
mod moved_code;
mod other_results;
mod replaced_parts;
mod rules;
mod source_search;
mod suppressions;
mod swallowed;
mod unusual_text;

use std::collections::BTreeMap;

use super::{ChangedFile, text};
use crate::model::{Finding, FindingAction, FindingKind, FindingSeverity};
use change::{ChangedLines, MovedLines};
use loaded_texts::TextLoaders;

pub use suppressions::KnownDiagnostic;

/// A flag, before it has a path.
#[derive(Debug)]
struct Flag {
    line: Option<usize>,
    kind: FindingKind,
    strength: FindingSeverity,
    what: String,
}

impl Flag {
    /// `line` is an index into the lines of the current file.
    fn new(
        line: Option<usize>,
        kind: FindingKind,
        strength: FindingSeverity,
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

/// Flags all changes together. A file that will be reverted (`judged`) gets no flags.
pub(super) fn inspect(
    changes: &[ChangedFile<'_>],
    judged: &[Finding],
    diagnostics: &[KnownDiagnostic],
) -> Vec<Finding> {
    let is_reverted = |path: &str| {
        let reverts = |finding: &&Finding| {
            matches!(
                finding.action,
                FindingAction::Revert | FindingAction::Remove
            )
        };
        judged
            .iter()
            .filter(reverts)
            .any(|finding| finding.path == path)
    };
    let loaders = TextLoaders::among(changes);
    let texts: Vec<_> = changes
        .iter()
        .filter(|change| change.before != change.after && !is_reverted(change.path))
        .filter_map(|change| change::read_texts(change).or_else(|| loaders.read_texts(change)))
        .collect();
    let changed: Vec<ChangedLines<'_>> = texts.iter().map(ChangedLines::of).collect();
    let mut moved = MovedLines::of(&changed);
    let mut findings = Vec::new();
    for file in &changed {
        let added = moved.new_lines(file);
        let mut flags = rules::flags(file, &added);
        flags.extend(bodies::flags(file, &added));
        flags.extend(constant_answers::flags(file, &added));
        flags.extend(combinations::flags(file, &added));
        flags.extend(introspection::flags(file, &added));
        flags.extend(other_results::flags(file, &added));
        flags.extend(replaced_parts::flags(file, &added));
        flags.extend(source_search::flags(file, &added));
        flags.extend(swallowed::flags(file, &added));
        flags.extend(unusual_text::flags(file, &added));
        flags.extend(suppressions::flags(file, &added, diagnostics));
        flags.extend(suppressions::unchecked(file, &changed, diagnostics));
        findings.extend(fold_flags(file.path, flags));
    }
    let differ = changes
        .iter()
        .filter(|change| change.before != change.after && change::is_too_large(change));
    for large in differ.filter(|change| text::flagged_language(change.path).is_some()) {
        let what = "is too large to be read, so it may contain code that detects tests";
        let flag = Flag::new(
            None,
            FindingKind::TestDetection,
            FindingSeverity::Strong,
            what,
        );
        findings.extend(fold_flags(large.path, vec![flag]));
    }
    // Of any file: what is moved to where nothing reads it need not look like a source any more.
    let differ = changes
        .iter()
        .filter(|change| change.before != change.after);
    for source in differ.filter(|change| !is_reverted(change.path)) {
        let mut flags = moved_code::flags(source, changes, diagnostics);
        flags.extend(locked_sources::flags(source));
        flags.extend(export_conditions::flags(source));
        findings.extend(fold_flags(source.path, flags));
    }
    findings
}

/// Folds flags into one finding for each kind and severity in a file, at the first line.
fn fold_flags(path: &str, flags: Vec<Flag>) -> Vec<Finding> {
    let mut groups: BTreeMap<_, (Flag, usize)> = BTreeMap::new();
    for flag in flags {
        let key = (format!("{:?}", flag.kind), flag.strength);
        match groups.get_mut(&key) {
            None => {
                groups.insert(key, (flag, 0));
            }
            Some((first, _)) if first.line == flag.line => {}
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
        action: FindingAction::Flag,
    };
    groups.into_values().map(finding).collect()
}
