//! Whether a task's own words ask for a change: "update the CI workflow" speaks of
//! `.github/workflows/ci.yml`, "do not touch conftest.py" and "so that CI is green" do not.
//!
//! A person wrote these words before the agent began, so they may allow what the guard would put
//! back. Only a clause that names the file or its subject, and does not forbid it, counts.

use super::pattern::Pattern;

/// A task's description, clause by clause, in lower case.
#[derive(Debug, Clone)]
pub(crate) struct Words {
    clauses: Vec<String>,
    expectations: bool,
    skips: bool,
}

/// Ends of clauses. A full stop inside a file name ends none.
static CLAUSE_END: Pattern =
    Pattern::new(r"[.;!?:](?:\s|$)|\n|,? but |,? and do(?:n't| not) | without ");
/// The clause forbids, or speaks of what stays.
static FORBIDS: Pattern = Pattern::new(concat!(
    r"\b(?:do not|don't|dont|must not|mustn't|never|without|avoid|leave|keep|untouched|unchanged",
    r"|not (?:to )?(?:change|edit|touch|modify)|instead of|rather than|except|no changes?",
    r"|off[- ]limits|as (?:it|they) (?:is|are))\b",
));
/// The clause wants something done to what it speaks of.
static ACTS: Pattern = Pattern::new(concat!(
    r"\b(?:adds?|update|change|edit|raise|lower|set|configure|create|write|extend|migrate|rename",
    r"|remove|drop|delete|bump|enable|disable|adjust|increase|decrease|reduce|upgrade|switch",
    r"|introduce|tighten|loosen|relax|replace|move|turn|register|declare|convert|clean|simplify",
    r"|split|rework|document|fix|make|use|put|allow|publish|cache|run|scaffold|define|ignore|mark",
    r"|save|store|generate|produce|export|train|build|fill)\b",
));
/// The task says that what the tests expect is itself to change.
static EXPECTATIONS: Pattern = Pattern::new(concat!(
    r"\b(?:wrong|incorrect|outdated|stale|obsolete|mistaken|bogus|typo)\b[^.\n]{0,60}",
    r"\b(?:tests?|specs?|assert\w*|expect\w*|snapshots?)\b",
    r"|\b(?:tests?|specs?|assert\w*|expect\w*|snapshots?)\b[^.\n]{0,60}",
    r"\b(?:wrong|incorrect|outdated|stale|obsolete|mistaken|bogus|typo)\b",
    r"|\b(?:update|change|adjust|adapt|rewrite|correct|refactor|clean up|remove|delete|rename",
    r"|convert|port|migrate|simplify|loosen|tighten|improve|strengthen|regenerate)\b[^.\n]{0,40}",
    r"\b(?:tests?|specs?|assert\w*|expect\w*|snapshots?)\b",
));

/// The task wants a test left out.
static SKIPS: Pattern = Pattern::new(
    r"\b(?:skip|ignore|disable|quarantine|xfail|mark|exclude)\b[^.\n]{0,60}\b(?:tests?|specs?|flaky|slow|test_\w+)\b",
);

/// The clause wants what it speaks of to go, or to be called otherwise.
static LETS_GO: Pattern = Pattern::new(concat!(
    r"\b(?:remove|delete|drop|rename|replace|retire|merge|inline|skip|ignore|disable|quarantine",
    r"|xfail|exclude)\b",
));

impl Words {
    pub(crate) fn of(task: &str) -> Self {
        let task = task.to_lowercase().replace('’', "'");
        let clauses = clauses(&task);
        let expectations = clauses
            .iter()
            .any(|clause| EXPECTATIONS.is_match(clause) && !FORBIDS.is_match(clause));
        let skips = clauses
            .iter()
            .any(|clause| SKIPS.is_match(clause) && !FORBIDS.is_match(clause));
        Self {
            clauses,
            expectations,
            skips,
        }
    }

    /// Whether the task asks for other expectations in its tests.
    pub(super) fn ask_for_other_expectations(&self) -> bool {
        self.expectations
    }

    /// Whether the task asks for tests to be skipped.
    pub(super) fn ask_for_skips(&self) -> bool {
        self.skips
    }

    /// Whether a clause wants the test of this name to go, to be renamed, or to be left out.
    pub(crate) fn let_go_of(&self, name: &str) -> bool {
        let name = name.to_lowercase();
        let asks = |clause: &String| {
            has_word(clause, &name) && LETS_GO.is_match(clause) && !FORBIDS.is_match(clause)
        };
        !name.is_empty() && self.clauses.iter().any(asks)
    }

    /// Whether a clause asks for something of the file at `path`, by its path, its name, or one of
    /// its subjects.
    pub(super) fn speak_of(&self, path: &str, subjects: &[&str]) -> bool {
        let path = path.to_lowercase();
        let name = path.rsplit('/').next().unwrap_or(&path);
        let named = |clause: &str| has_word(clause, &path) || has_word(clause, name);
        let forbidden = self
            .clauses
            .iter()
            .any(|clause| named(clause) && FORBIDS.is_match(clause));
        !forbidden
            && self.clauses.iter().any(|clause| {
                !FORBIDS.is_match(clause)
                    && ACTS.is_match(clause)
                    && (named(clause) || subjects.iter().any(|of| has_phrase(clause, of)))
            })
    }
}

/// Clauses with the words that divide them, so that "without …" stays with what it forbids.
fn clauses(task: &str) -> Vec<String> {
    let mut clauses = Vec::new();
    let mut from = 0;
    let ends = CLAUSE_END
        .regex()
        .into_iter()
        .flat_map(|end| end.find_iter(task));
    for end in ends {
        clauses.push(task[from..end.start()].to_owned());
        from = end.start();
    }
    clauses.push(task[from..].to_owned());
    clauses
}

/// A path or file name that stands alone: `jest.config.js`, not the end of `my-jest.config.js`.
fn has_word(clause: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "_-".contains(c);
    clause.match_indices(word).any(|(at, found)| {
        let before = clause[..at].chars().next_back();
        let mut after = clause[at + found.len()..].chars();
        let ends = match after.next() {
            Some('.') => !after.next().is_some_and(part),
            Some(c) => !part(c) && c != '/',
            None => true,
        };
        ends && !before.is_some_and(|c| part(c) || c == '.')
    })
}

/// A phrase from the beginning of a word on, so that "ci workflow" is found in "the CI workflows".
fn has_phrase(clause: &str, phrase: &str) -> bool {
    // Dots and slashes stay: "jest.config" is a part of a name, no phrase.
    let plain = |c: char| {
        if c == '-' || c == '`' || c.is_whitespace() {
            ' '
        } else {
            c
        }
    };
    let clause: String = clause.chars().map(plain).collect();
    let phrase: String = phrase.chars().map(plain).collect();
    clause.match_indices(&phrase).any(|(at, found)| {
        let before = clause[..at].chars().next_back();
        let after = clause[at + found.len()..].chars().next();
        // A short last word ("to ci") must end where it ends.
        let whole = found.rsplit(' ').next().is_some_and(|last| last.len() <= 3);
        let runs_on = whole && after.is_some_and(char::is_alphanumeric);
        !runs_on && !before.is_some_and(char::is_alphanumeric)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const CI: (&str, &[&str]) = (
        ".github/workflows/ci.yml",
        &["ci workflow", "ci to", "to ci"],
    );
    const JEST: (&str, &[&str]) = ("web/jest.config.js", &["jest config", "jest timeout"]);

    fn speaks(task: &str, (path, subjects): (&str, &[&str])) -> bool {
        Words::of(task).speak_of(path, subjects)
    }

    #[test]
    fn a_task_that_asks_for_it_allows_it() {
        for (task, file) in [
            ("Update the CI workflow to test on Python 3.13.", CI),
            ("Add a lint step to CI.", CI),
            ("Raise the jest timeout in jest.config.js", JEST),
            (
                "Change the Jest configuration so that coverage is collected.",
                JEST,
            ),
            ("In web/jest.config.js, set testTimeout to 20 s.", JEST),
        ] {
            assert!(speaks(task, file), "{task}");
        }
    }

    #[test]
    fn a_task_that_only_mentions_or_forbids_it_does_not() {
        for (task, file) in [
            ("Fix the login bug so that CI is green again.", CI),
            ("Do not touch jest.config.js. Fix the parser.", JEST),
            ("Fix the parser without changing jest.config.js", JEST),
            (
                "Update the parser, but leave the jest configuration as it is",
                JEST,
            ),
            ("Change my-jest.config.js", JEST),
            (
                "Update the jest configuration. Never edit jest.config.js!",
                JEST,
            ),
            ("The config file is jest.config.js", JEST),
        ] {
            assert!(!speaks(task, file), "{task}");
        }
    }

    #[test]
    fn other_expectations_are_asked_for_by_name() {
        let asks = |task: &str| Words::of(task).ask_for_other_expectations();
        assert!(asks("The test of `add` is wrong: 2 + 2 is 4. Correct it."));
        assert!(asks("Make totals exact and update the tests."));
        assert!(!asks("Fix the failing tests."));
        assert!(!asks("Make test_add pass, do not change the tests."));
    }
}
