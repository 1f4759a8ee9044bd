//! Names of runs: a fragment of the id, or a name for the newest run.

use selvedge_core::model::RunId;

/// The runs that a name matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunMatch {
    /// Exactly one run.
    Run(RunId),
    /// Several runs; the newest ten of them, newest first.
    Ambiguous(Vec<RunId>),
    /// No run, or an invalid name: fewer than four digits, or characters that are not hexadecimal digits.
    Nothing,
}

impl RunMatch {
    /// Maximum number of candidates that are listed for an ambiguous name.
    pub(crate) const MAX_CANDIDATES: usize = 10;

    /// Converts the matching runs, newest first.
    pub(crate) fn from_candidates(runs: Vec<RunId>) -> Self {
        match runs.as_slice() {
            [] => Self::Nothing,
            [run] => Self::Run(*run),
            _ => Self::Ambiguous(runs),
        }
    }
}

/// A parsed name.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunName {
    Newest,
    /// Digits of an id in lower case, hyphenated as at the start, and as at the end, of an id.
    Fragment {
        start: String,
        end: String,
    },
}

/// Number of digits in an id, and the digits that a hyphen precedes.
const DIGITS: usize = 32;
const HYPHENS: [usize; 4] = [8, 12, 16, 20];

impl RunName {
    pub(crate) fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim();
        if typed == "@" || typed.eq_ignore_ascii_case("last") {
            return Some(Self::Newest);
        }
        let digits: String = typed
            .chars()
            .filter(|c| *c != '-')
            .map(|c| c.to_ascii_lowercase())
            .collect();
        let fits =
            (4..=DIGITS).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self::Fragment {
            start: hyphenated(&digits, 0),
            end: hyphenated(&digits, DIGITS - digits.len()),
        })
    }
}

/// Adds hyphens to the digits of an id from its digit `at` on.
fn hyphenated(digits: &str, at: usize) -> String {
    let mut text = String::with_capacity(digits.len() + HYPHENS.len());
    for (place, digit) in (at..).zip(digits.chars()) {
        if place > at && HYPHENS.contains(&place) {
            text.push('-');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_name_ignores_hyphens_and_case() {
        let fragment = |start: &str, end: &str| {
            Some(RunName::Fragment {
                start: start.to_owned(),
                end: end.to_owned(),
            })
        };
        assert_eq!(
            RunName::parse(" 0190163D-8694 "),
            fragment("0190163d-8694", "0190163d8694")
        );
        assert_eq!(
            RunName::parse("5966c26f8ad91"),
            fragment("5966c26f-8ad9-1", "5-966c26f8ad91")
        );
        assert_eq!(RunName::parse("ad91"), fragment("ad91", "ad91"));
        let whole = "0190163d-8694-739b-aea5-966c26f8ad91";
        assert_eq!(
            RunName::parse(&whole.replace('-', "")),
            fragment(whole, whole)
        );
        assert_eq!(RunName::parse("@"), Some(RunName::Newest));
        assert_eq!(RunName::parse("LAST"), Some(RunName::Newest));
        for nonsense in ["", "d91", "a-d-9", "xyzw", "ad9%", &"a".repeat(33)] {
            assert_eq!(RunName::parse(nonsense), None, "{nonsense}");
        }
    }
}
