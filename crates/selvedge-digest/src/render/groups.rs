//! Groups failures with the same message: the first is shown in full, the others by their ids and places.

use std::collections::HashMap;
use std::fmt::Write;

use crate::record::{Failure, FailureKind};

/// Lines of a message by which failures are compared.
const COMPARED_LINES: usize = 6;

/// What failures of a group have in common.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Cause<'a> {
    kind: &'a FailureKind,
    code: Option<&'a str>,
    summary: &'a str,
    /// If the summary only opens a value: the first lines of the message. Those below may name addresses and times.
    message: Vec<&'a str>,
}

impl<'a> Cause<'a> {
    fn of(failure: &'a Failure) -> Self {
        let is_beginning = failure.summary.ends_with(['[', '{', '(']);
        let message = failure.message.as_deref().filter(|_| is_beginning);
        let lines = message
            .unwrap_or_default()
            .lines()
            .filter(|line| !line.trim().is_empty());
        Self {
            kind: &failure.kind,
            code: failure.code.as_deref(),
            summary: &failure.summary,
            message: lines.take(COMPARED_LINES).collect(),
        }
    }
}

/// Failures with the same message, in the order of the log.
#[derive(Debug)]
pub(super) struct FailureGroup<'a> {
    pub(super) first: &'a Failure,
    pub(super) others: Vec<&'a Failure>,
}

/// Groups failures with the same message, in the order of the first failure of each group.
pub(super) fn group_failures(failures: &[Failure]) -> Vec<FailureGroup<'_>> {
    let mut groups: Vec<FailureGroup<'_>> = Vec::new();
    let mut known: HashMap<Cause<'_>, usize> = HashMap::new();
    for failure in failures {
        let key = Cause::of(failure);
        if let Some(&index) = known.get(&key) {
            groups[index].others.push(failure);
        } else {
            known.insert(key, groups.len());
            groups.push(FailureGroup {
                first: failure,
                others: Vec::new(),
            });
        }
    }
    groups
}

/// The order in which groups get a share: the first of each test before its second, and among them the first of each
/// tool before its second, so that many failures of one tool or test do not hide the only failure of another.
pub(super) fn fair_order(groups: &[FailureGroup<'_>]) -> Vec<usize> {
    let mut turns_of_tests: HashMap<(Option<&str>, &str), usize> = HashMap::new();
    let mut turns_of_tools: HashMap<(Option<&str>, usize), usize> = HashMap::new();
    let mut order: Vec<(usize, usize, usize)> = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        let tool = group.first.tool.as_deref();
        let of_test = group.first.id.as_deref().map_or(1, |id| {
            let turn = turns_of_tests.entry((tool, id)).or_default();
            *turn += 1;
            *turn
        });
        let of_tool = turns_of_tools.entry((tool, of_test)).or_default();
        *of_tool += 1;
        order.push((of_test, *of_tool, index));
    }
    order.sort_unstable();
    order.into_iter().map(|(.., index)| index).collect()
}

impl FailureGroup<'_> {
    /// `id (file:line): code: summary`
    pub(super) fn headline(&self) -> String {
        let failure = self.first;
        if let Some(line) = as_printed(failure) {
            return self.with_count(line.to_owned());
        }
        let mut parts: Vec<&str> = Vec::new();
        let subject = self.subject();
        if !subject.is_empty() {
            parts.push(&subject);
        }
        parts.extend(failure.code.as_deref());
        if !failure.summary.is_empty() {
            parts.push(&failure.summary);
        }
        self.with_count(parts.join(": "))
    }

    /// The test and the location of the first failure.
    pub(super) fn subject(&self) -> String {
        subject(self.first)
    }

    /// All failures of the group.
    pub(super) fn members(&self) -> impl Iterator<Item = &Failure> {
        [self.first].into_iter().chain(self.others.iter().copied())
    }

    fn with_count(&self, mut line: String) -> String {
        let count: u64 = self
            .others
            .iter()
            .chain([&self.first])
            .map(|failure| u64::from(failure.count))
            .sum();
        if count > 1 {
            let _ = write!(line, " (×{count})");
        }
        line
    }

    /// The other members, each as short as possible.
    pub(super) fn others(&self) -> impl Iterator<Item = String> + '_ {
        let previous = [self.first].into_iter().chain(self.others.iter().copied());
        self.others
            .iter()
            .zip(previous)
            .map(|(failure, previous)| short_description(failure, previous))
    }
}

/// The tool's own line, if it contains everything.
fn as_printed(failure: &Failure) -> Option<&str> {
    let line = failure.excerpt.as_deref()?.lines().next()?.trim();
    let restates = line.contains(failure.file.as_deref()?)
        && line.contains(&failure.line?.to_string())
        && line.contains(failure.summary.trim_end_matches('…'));
    (restates && failure.id.is_none()).then_some(line)
}

/// The test and its location.
fn subject(failure: &Failure) -> String {
    let place = format_location(failure);
    match (&failure.id, place) {
        (Some(id), Some(place)) => match (&failure.file, failure.line) {
            (Some(file), Some(line)) if id.starts_with(file.as_str()) => {
                format!("{id} (line {line})")
            }
            (Some(file), None) if id.starts_with(file.as_str()) => id.clone(),
            _ => format!("{id} ({place})"),
        },
        (Some(id), None) => id.clone(),
        (None, Some(place)) => place,
        (None, None) => String::new(),
    }
}

fn format_location(failure: &Failure) -> Option<String> {
    let file = failure.file.as_ref()?;
    Some(match (failure.line, failure.column) {
        (Some(line), Some(column)) if failure.id.is_none() => format!("{file}:{line}:{column}"),
        (Some(line), _) => format!("{file}:{line}"),
        (None, _) => file.clone(),
    })
}

/// Failures, each as short as possible after the one before it: with its id, or only its location. A failure without
/// either is left out.
pub(super) fn short_list(failures: &[&Failure], before: &Failure, with_ids: bool) -> Vec<String> {
    let previous = [before].into_iter().chain(failures.iter().copied());
    let entries = failures.iter().zip(previous).map(|(failure, previous)| {
        let place = short_location(failure, previous);
        if with_ids || place.is_empty() {
            short_description(failure, previous)
        } else {
            place
        }
    });
    entries.filter(|entry| !entry.is_empty()).collect()
}

/// The location of a failure, without the file of the previous one.
fn short_location(failure: &Failure, previous: &Failure) -> String {
    let same_file = failure.file == previous.file;
    match (failure.line, &failure.file) {
        (line, _) if same_file && line == previous.line => String::new(),
        (Some(line), _) if same_file => format!(":{line}"),
        (Some(line), Some(file)) => format!("{file}:{line}"),
        (None, Some(file)) if !same_file => file.clone(),
        _ => String::new(),
    }
}

/// The part of a failure that differs from the previous one.
fn short_description(failure: &Failure, previous: &Failure) -> String {
    let place = short_location(failure, previous);
    let id = match (&failure.id, &previous.id) {
        (Some(id), Some(before)) => strip_common_prefix(id, before),
        (Some(id), None) => id,
        (None, _) => "",
    };
    match (id.is_empty(), place.is_empty()) {
        (false, false) => format!("{id} ({place})"),
        (false, true) => id.to_owned(),
        (true, _) => place,
    }
}

/// The id without the modules and suites that it shares with the previous id.
fn strip_common_prefix<'a>(id: &'a str, before: &str) -> &'a str {
    let common: usize = id
        .chars()
        .zip(before.chars())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    let head = &id[..common];
    let end_of_last = |marks: &[&str]| {
        let ends = marks
            .iter()
            .filter_map(|mark| Some(head.rfind(mark)? + mark.len()));
        ends.max()
    };
    let suites = end_of_last(&[" > ", " › "]).unwrap_or(0);
    let modules = end_of_last(&["::", "."]);
    // Parameters and sentences may contain the same marks.
    let modules = modules.filter(|&at| at > suites && !id[suites..at].contains(['[', '(', ' ']));
    &id[modules.unwrap_or(suites)..]
}
