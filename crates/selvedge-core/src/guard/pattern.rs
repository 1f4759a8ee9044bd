//! A regular expression in the code, compiled once on first use.
//!
//! Unicode's tables of letters take two thirds of the time to compile an expression, and an attempt waits for it.
//! Matching lines of code does not use them; captured groups may contain names in any language.

use std::sync::OnceLock;

use regex::{Regex, bytes};

/// Matches nothing if it does not compile, which panics in debug builds (and thus in every test).
#[derive(Debug)]
pub(crate) struct Pattern {
    source: &'static str,
    ascii: OnceLock<Option<bytes::Regex>>,
    regex: OnceLock<Option<Regex>>,
}

impl Pattern {
    pub(crate) const fn new(source: &'static str) -> Self {
        Self {
            source,
            ascii: OnceLock::new(),
            regex: OnceLock::new(),
        }
    }

    pub(crate) fn regex(&self) -> Option<&Regex> {
        let compile = || {
            let regex = Regex::new(self.source);
            debug_assert!(regex.is_ok(), "{regex:?}");
            regex.ok()
        };
        self.regex.get_or_init(compile).as_ref()
    }

    /// Matches with ASCII letters, spaces, digits and case folding.
    pub(crate) fn is_match(&self, text: &str) -> bool {
        let compile = || {
            let regex = bytes::RegexBuilder::new(self.source).unicode(false).build();
            debug_assert!(regex.is_ok(), "{regex:?}");
            regex.ok()
        };
        let regex = self.ascii.get_or_init(compile).as_ref();
        regex.is_some_and(|regex| regex.is_match(text.as_bytes()))
    }
}
