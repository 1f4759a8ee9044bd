//! How people name a run: by a piece of its id, or as the newest one.

use selvedge_core::model::RunId;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// This run, and no other.
    Run(RunId),
    /// Several; the newest ten of them, newest first.
    Ambiguous(Vec<RunId>),
    /// No run, or no name: fewer than four digits, or other than hexadecimal ones.
    Nothing,
}

impl Found {
    /// How many candidates an ambiguous name lists.
    pub(crate) const CANDIDATES: usize = 10;

    /// From the runs that a name fits, newest first.
    pub(crate) fn among(runs: Vec<RunId>) -> Self {
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
    /// Lower-case hexadecimal digits without hyphens, at the start or the end of an id.
    Fragment(String),
}

impl RunName {
    pub(crate) fn parse(typed: &str) -> Option<Self> {
        let typed = typed.trim();
        if typed == "@" || typed.eq_ignore_ascii_case("last") {
            return Some(Self::Newest);
        }
        let digits: String = typed.chars().filter(|c| *c != '-').collect();
        let fits =
            (4..=32).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then(|| Self::Fragment(digits.to_ascii_lowercase()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_case_do_not_matter_but_digits_do() {
        let fragment = |digits: &str| Some(RunName::Fragment(digits.to_owned()));
        assert_eq!(RunName::parse(" 0190163D-8694 "), fragment("0190163d8694"));
        assert_eq!(RunName::parse("ad91"), fragment("ad91"));
        assert_eq!(RunName::parse("@"), Some(RunName::Newest));
        assert_eq!(RunName::parse("LAST"), Some(RunName::Newest));
        for nonsense in ["", "d91", "a-d-9", "xyzw", "ad9%", &"a".repeat(33)] {
            assert_eq!(RunName::parse(nonsense), None, "{nonsense}");
        }
    }
}
