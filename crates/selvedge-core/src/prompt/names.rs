//! Lists the names of checks within a budget: all of them if possible, shortened if there are many.

use std::fmt;

use selvedge_digest::estimate_tokens;

use super::untrusted::one_line;
use crate::model::CheckReport;
use crate::sanitize::sanitize_text;

/// Lengths to which names are shortened, in characters, the longest first.
const LENGTHS: [usize; 6] = [80, 48, 32, 20, 12, 6];

/// The failed checks that have no line of their own in a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnlistedFailures {
    /// Their number.
    count: usize,
    /// Their names, in one line.
    names: String,
    /// The number of failed checks without a name in the prompt, because not even the beginnings of
    /// their names fit.
    left_out: usize,
}

impl UnlistedFailures {
    /// Names the checks within a number of tokens; `None` if there are none.
    pub(super) fn of(checks: &[&CheckReport], tokens: usize) -> Option<Self> {
        let names = checks.iter().map(|check| check.label());
        let (names, left_out) = list_names(&names, tokens);
        (!checks.is_empty()).then_some(Self {
            count: checks.len(),
            names,
            left_out,
        })
    }
}

impl fmt::Display for UnlistedFailures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            count,
            names,
            left_out,
        } = self;
        write!(f, "{count} more, whose output is not shown: {names}")?;
        match left_out {
            0 => Ok(()),
            left_out => write!(f, "; and {left_out} that are not named"),
        }
    }
}

/// The names in one line, and the number of those omitted because not even their beginnings fit.
fn list_names<'a>(
    names: &(impl Iterator<Item = &'a str> + Clone),
    tokens: usize,
) -> (String, usize) {
    let list = |count: usize, length: usize| {
        let names = names.clone().take(count);
        let names: Vec<String> = names
            .map(|name| one_line(&sanitize_text(name), length))
            .collect();
        names.join("; ")
    };
    let all = names.clone().count();
    for length in LENGTHS {
        let listed = list(all, length);
        if estimate_tokens(&listed) <= tokens {
            return (listed, 0);
        }
    }
    let [.., shortest] = LENGTHS;
    let fits = |count: &usize| estimate_tokens(&list(*count, shortest)) <= tokens;
    let count = (0..all).rev().find(fits).unwrap_or(0);
    (list(count, shortest), all - count)
}

/// The first names that fit completely, in one line; and the number of omitted ones.
pub(super) fn first_names(names: &[String], tokens: usize) -> (String, usize) {
    let [longest, ..] = LENGTHS;
    let mut listed = String::new();
    for (count, name) in names.iter().enumerate() {
        let name = one_line(&sanitize_text(name), 2 * longest);
        let separator = if listed.is_empty() { "" } else { "; " };
        let longer = format!("{listed}{separator}{name}");
        if estimate_tokens(&longer) > tokens {
            return (listed, names.len() - count);
        }
        listed = longer;
    }
    (listed, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_names_shortens_before_omitting() {
        let names: Vec<String> = (0..40)
            .map(|n| format!("{n} {}", "long ".repeat(30)))
            .collect();
        let names = || names.iter().map(String::as_str);
        let (few, left_out) = list_names(&names().take(2), 300);
        assert_eq!((few.len() > 120, left_out), (true, 0));
        let (all, left_out) = list_names(&names(), 300);
        assert_eq!((all.split("; ").count(), left_out), (40, 0));
        assert!(estimate_tokens(&all) <= 300);
        let (some, left_out) = list_names(&names(), 20);
        assert_eq!(some.split("; ").count() + left_out, 40);
        assert!(left_out > 0);
        assert_eq!(list_names(&names(), 0), (String::new(), 40));
    }
}
