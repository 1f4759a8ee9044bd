//! The kind of a failure: its message without values that change between runs.

use std::collections::BTreeSet;

use selvedge_digest::Failure;

use super::test_regression::stable_id;
use crate::model::CheckReport;

/// Whether a test that failed before fails now in the same way. True if the message of one of the runs is unknown.
pub(crate) fn fails_alike(before: &CheckReport, now: &CheckReport, id: &str) -> bool {
    let (then, now) = (kinds_of(before, id), kinds_of(now, id));
    then.is_empty() || now.is_subset(&then)
}

/// Whether a failure belongs to a test, whose id may lack the prefix of its name.
pub(crate) fn is_about(failure: &Failure, id: &str) -> bool {
    let ends = |long: &str, short: &str| {
        let before = long
            .strip_suffix(short)
            .and_then(|it| it.chars().next_back());
        before.is_some_and(|last| !last.is_alphanumeric() && last != '_')
    };
    failure
        .id
        .as_deref()
        .map(stable_id)
        .is_some_and(|name| !name.is_empty() && (name == id || ends(id, &name) || ends(&name, id)))
}

fn kinds_of(check: &CheckReport, id: &str) -> BTreeSet<String> {
    let records = check.failures.iter();
    records
        .filter(|failure| is_about(failure, id))
        .map(message_kind)
        .collect()
}

/// All assertion failures are of one kind, whatever they compare; other errors are identified by name and text, without
/// numbers.
pub(crate) fn message_kind(failure: &Failure) -> String {
    let summary = failure.summary.trim();
    let first_word: String = summary
        .chars()
        .take_while(|c| !c.is_whitespace() && !matches!(c, ':' | '(' | '['))
        .collect();
    let is_name = |endings: &[&str]| endings.iter().any(|end| first_word.ends_with(end));
    let lower = first_word.to_ascii_lowercase();
    let asserts = ["assert", "expect", "comparisonfailure"];
    let is_error = is_name(&["Error", "Exception", "Panic"]) && !lower.contains("assert");
    let code = failure.code.as_deref().unwrap_or_default();
    let says_so = asserts.iter().any(|word| lower.contains(word))
        || summary.starts_with("Failed asserting")
        || code.contains("ASSERT");
    if !is_error && says_so {
        return "assertion".to_owned();
    }
    without_numbers(summary)
}

/// The text with `#` in place of everything that begins with a digit.
pub(crate) fn without_numbers(text: &str) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut in_number = false;
    let mut in_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        if is_word && !in_word && c.is_ascii_digit() {
            in_number = true;
            masked.push('#');
        }
        in_number &= is_word;
        in_word = is_word;
        if !in_number {
            masked.push(c);
        }
    }
    masked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(summary: &str) -> String {
        message_kind(&Failure {
            summary: summary.to_owned(),
            ..Failure::default()
        })
    }

    #[test]
    fn kind_ignores_values_of_assertions_and_numbers() {
        for (one, other) in [
            ("assert 0 == 3", "assert 42 == 3"),
            ("AssertionError: 'a' != 'b'", "AssertionError: None != 'b'"),
            ("expected 3 to be 4", "expected undefined to be 4"),
            ("IndexError: 7 in 0x7f00", "IndexError: 9 in 0x8a12"),
            ("got 3, want 4", "got 12, want 4"),
            (
                "Failed asserting that 'a' is 1.",
                "Failed asserting that null is 1.",
            ),
        ] {
            assert_eq!(kind(one), kind(other));
        }
        for (one, other) in [
            ("assert 0 == 3", "TypeError: assert() takes 1 argument"),
            (
                "NameError: 'a' is not defined",
                "NameError: 'b' is not defined",
            ),
            ("KeyError: 'x'", "ValueError: 'x'"),
        ] {
            assert_ne!(kind(one), kind(other));
        }
    }

    #[test]
    fn record_is_about_a_test_by_its_whole_name() {
        let about = |name: &str, id: &str| {
            let failure = Failure {
                id: Some(name.to_owned()),
                ..Failure::default()
            };
            is_about(&failure, id)
        };
        assert!(about("cart.test.js › total", "cart.test.js › total"));
        assert!(about("total", "cart.test.js › total"));
        assert!(about("tests/t.py::C::test_a", "t.py::C::test_a"));
        assert!(!about("total", "cart.test.js › subtotal"));
        assert!(!about("", "cart.test.js › total"));
    }
}
