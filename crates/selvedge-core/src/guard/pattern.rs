//! A regular expression that is written in the code: compiled at its first use, once.
//!
//! Two thirds of what compiling one costs is Unicode's tables of letters, and an attempt waits for it.
//! Whether a line matches is code's business and asked without them; what a group holds may be a name
//! in any language.

use std::sync::OnceLock;

use regex::{Regex, bytes};

/// Matches nothing if it does not compile, which a debug build (and so every test) refuses.
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

    /// Letters, spaces and digits are those of ASCII, and case is ASCII's.
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
