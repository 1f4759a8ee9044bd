//! A regular expression that is written in the code: compiled at its first use, once.

use std::sync::OnceLock;

use regex::Regex;

/// Matches nothing if it does not compile, which a debug build (and so every test) refuses.
#[derive(Debug)]
pub(super) struct Pattern {
    source: &'static str,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(super) const fn new(source: &'static str) -> Self {
        Self {
            source,
            regex: OnceLock::new(),
        }
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        let compile = || {
            let regex = Regex::new(self.source);
            debug_assert!(regex.is_ok(), "{regex:?}");
            regex.ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex().is_some_and(|regex| regex.is_match(text))
    }

    /// The text of the first group that took part in the first match.
    pub(super) fn capture<'t>(&self, text: &'t str) -> Option<&'t str> {
        let captures = self.regex()?.captures(text)?;
        let first = captures.iter().skip(1).flatten().next()?;
        Some(first.as_str())
    }
}
