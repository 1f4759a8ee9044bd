//! Regular expressions of this crate, and the groups that they capture.

use std::ops::{Index, Range};
use std::str::FromStr;
use std::sync::OnceLock;

use regex::{Captures, Match, Regex};

/// A constant regular expression, compiled when it is first used.
///
/// `\d`, `\w`, `\s` and `\b` mean ASCII here: tools write ASCII, and automata for all of Unicode are fifty
/// times as large and take as much longer to build.
#[derive(Debug)]
pub(crate) struct LinePattern {
    source: &'static str,
    regex: OnceLock<Regex>,
}

impl LinePattern {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self {
            source,
            regex: OnceLock::new(),
        }
    }

    #[inline]
    pub(crate) fn is_match(&self, text: &str) -> bool {
        self.regex().is_match(text)
    }

    #[inline]
    pub(crate) fn find<'t>(&self, text: &'t str) -> Option<Match<'t>> {
        self.regex().find(text)
    }

    #[inline]
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Groups<'t>> {
        self.regex().captures(text).map(Groups)
    }

    /// The groups of a match in a text that contains `mark`, which is searched first.
    #[inline]
    pub(crate) fn captures_marked<'t>(&self, text: &'t str, mark: &str) -> Option<Groups<'t>> {
        text.contains(mark).then(|| self.captures(text))?
    }

    /// The groups of a match in a text that begins with `prefix`.
    #[inline]
    pub(crate) fn captures_prefixed<'t>(&self, text: &'t str, prefix: &str) -> Option<Groups<'t>> {
        text.starts_with(prefix).then(|| self.captures(text))?
    }

    pub(crate) fn captures_iter<'t>(&self, text: &'t str) -> impl Iterator<Item = Groups<'t>> {
        self.regex().captures_iter(text).map(Groups)
    }

    #[inline]
    fn regex(&self) -> &Regex {
        // Each pattern is a constant that the tests of its module compile, so an invalid one never ships.
        self.regex.get_or_init(|| {
            Regex::new(&expand_ascii_classes(self.source))
                .unwrap_or_else(|error| unreachable!("constant pattern: {error}"))
        })
    }
}

/// The groups that a pattern captured.
#[derive(Debug)]
pub(crate) struct Groups<'t>(Captures<'t>);

impl<'t> Groups<'t> {
    /// The text of a group, if it is part of the match.
    pub(crate) fn get(&self, name: &str) -> Option<&'t str> {
        self.0.name(name).map(|group| group.as_str())
    }

    /// The text of a group; empty if it is not part of the match.
    pub(crate) fn text(&self, name: &str) -> &'t str {
        self.get(name).unwrap_or_default()
    }

    /// The part of the text that matched.
    pub(crate) fn range(&self) -> Range<usize> {
        self.0.get_match().range()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.name(name).is_some()
    }

    /// The number that a group holds.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Option<N> {
        self.get(name)?.parse().ok()
    }

    /// The number that a group holds; 0 if it is not part of the match.
    pub(crate) fn count(&self, name: &str) -> u64 {
        self.number(name).unwrap_or(0)
    }
}

/// The text of a group that is part of every match.
impl Index<&str> for Groups<'_> {
    type Output = str;

    fn index(&self, name: &str) -> &str {
        &self.0[name]
    }
}

/// The text of a group without a name.
impl Index<usize> for Groups<'_> {
    type Output = str;

    fn index(&self, number: usize) -> &str {
        &self.0[number]
    }
}

/// Replaces the classes of `source` by their ASCII ranges.
fn expand_ascii_classes(source: &str) -> String {
    let mut out = String::with_capacity(source.len() * 2);
    let mut chars = source.chars();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('d') => push_class(&mut out, in_class, "0-9"),
                Some('w') => push_class(&mut out, in_class, "0-9A-Za-z_"),
                Some('s') => push_class(&mut out, in_class, " \\t"),
                Some('S') => out.push_str("[^ \\t]"),
                Some('b') => out.push_str("(?-u:\\b)"),
                Some(other) => out.extend(['\\', other]),
                None => out.push('\\'),
            },
            '[' if !in_class => {
                in_class = true;
                out.push('[');
            }
            ']' if in_class => {
                in_class = false;
                out.push(']');
            }
            other => out.push(other),
        }
    }
    out
}

fn push_class(out: &mut String, in_class: bool, members: &str) {
    if in_class {
        out.push_str(members);
    } else {
        out.extend(["[", members, "]"]);
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn pattern_classes_are_explicit() {
        assert_eq!(
            super::expand_ascii_classes(r"^\s*(\d+)[\w.-]\b\."),
            r"^[ \t]*([0-9]+)[0-9A-Za-z_.-](?-u:\b)\."
        );
        assert!(super::LinePattern::new(r"^[^\s:]+\S$").is_match("ünïcode"));
    }
}
