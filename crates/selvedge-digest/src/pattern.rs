//! Regular expressions that are part of the program.

use regex::Regex;

/// Compiles a pattern that stands in the source of this crate.
pub(crate) fn pattern(source: &'static str) -> Regex {
    // Each pattern is a constant, compiled by the tests of its module: an invalid one never ships.
    Regex::new(source).unwrap_or_else(|error| unreachable!("constant pattern: {error}"))
}
