//! How people name a run: by a piece of its id, or as the newest one.

use selvedge_core::model::RunId;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunMatch {
    /// This run, and no other.
    Run(RunId),
    /// Several; the newest ten of them, newest first.
    Ambiguous(Vec<RunId>),
    /// No run, or no name: fewer than four digits, or other than hexadecimal ones.
    Nothing,
}

impl RunMatch {
    /// How many candidates an ambiguous name lists.
    pub(crate) const MAX_CANDIDATES: usize = 10;

    /// From the runs that a name fits, newest first.
    pub(crate) fn from_candidates(runs: Vec<RunId>) -> Self {
        match runs.as_slice() {
            [] => Self::Nothing,
            [run] => Self::Run(*run),
            _ => Self::Ambiguous(runs),
        }
    }
}

/// A name as typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum RunName {
    Newest,
    /// Digits of an id, in lower case, hyphenated as an id that starts, or ends, with them is.
    Fragment {
        start: String,
        end: String,
    },
}

/// Digits of an id, and in front of which of them a hyphen stands.
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

/// The digits as they stand in an id from its digit `at` on.
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
    fn hyphens_and_case_do_not_matter_but_digits_do() {
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
