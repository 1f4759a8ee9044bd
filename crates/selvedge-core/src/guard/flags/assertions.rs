//! Tests that were there before and now show less: fewer assertions, other expectations, empty
//! ones, or no test at all.

use std::collections::HashSet;

use super::super::finding::{FindingKind as Kind, Strength};
use super::super::mask::Views;
use super::super::pattern::Pattern;
use super::super::protection::Protection;
use super::Flag;
use super::change::Changed;
use super::units::{Unit, asserts};

/// What the change as a whole is, which says how a changed test is to be read.
#[derive(Debug)]
pub(super) struct Work<'a> {
    /// The task says that what tests expect is to change.
    asked_for: bool,
    /// Something else than tests was changed.
    touches_sources: bool,
    /// Words that were removed from sources and added to none: a removed feature's names.
    retired: HashSet<&'a str>,
    /// Assertions that were added anywhere, trimmed.
    added: HashSet<&'a str>,
    /// Names of the tests of all files as they are now.
    tests: HashSet<&'a str>,
    /// There are fewer tests than before, over all files.
    loses_tests: bool,
    /// A source file is gone.
    removes_sources: bool,
}

static WORD: Pattern = Pattern::new(r"[A-Za-z_]\w{3,}");

fn words(line: &str) -> impl Iterator<Item = &str> {
    let found = WORD.regex().map(|regex| regex.find_iter(line));
    found.into_iter().flatten().map(|word| word.as_str())
}

impl<'a> Work<'a> {
    pub(super) fn of(protection: &Protection, changed: &'a [Changed<'_>]) -> Self {
        let sources = || changed.iter().filter(|file| !file.is_test);
        let mut retired: HashSet<&str> = sources()
            .flat_map(Changed::removed_lines)
            .flat_map(|(_, line)| words(line))
            .collect();
        for word in sources()
            .flat_map(Changed::added_lines)
            .flat_map(|(_, line)| words(line))
        {
            retired.remove(word);
        }
        let is_source_change = |file: &Changed<'_>| {
            let outside = |line: usize| !file.is_test_line(line);
            !file.exists
                || file.added_lines().any(|(line, _)| outside(line))
                || (file.new_tests.all().is_empty() && !file.removed.is_empty())
        };
        Self {
            asked_for: protection.task().ask_for_other_expectations(),
            touches_sources: sources().any(is_source_change),
            retired,
            added: changed
                .iter()
                .flat_map(Changed::added_lines)
                .map(|(_, line)| line)
                .collect(),
            tests: changed
                .iter()
                .flat_map(|file| file.new_tests.names())
                .collect(),
            loses_tests: {
                let count =
                    |units: fn(&Changed<'_>) -> usize| changed.iter().map(units).sum::<usize>();
                count(|file| file.new_tests.all().len()) < count(|file| file.old_tests.all().len())
            },
            removes_sources: sources().any(|file| !file.exists),
        }
    }

    /// Other expectations are honest where the program changed too, or the task asks for them.
    fn for_other_expectations(&self) -> Strength {
        if self.touches_sources || self.asked_for {
            Strength::Weak
        } else {
            Strength::Strong
        }
    }

    /// Strong, unless the task or a removed feature explains it.
    fn strength(&self, removed: &str) -> Strength {
        let explained = self.asked_for || words(removed).any(|word| self.retired.contains(word));
        if explained {
            Strength::Weak
        } else {
            Strength::Strong
        }
    }
}

pub(super) fn flags(work: &Work<'_>, file: &Changed<'_>, added: &[usize]) -> Vec<Flag> {
    let mut flags: Vec<Flag> = lost_tests(work, file).into_iter().collect();
    let kept = file
        .new_tests
        .all()
        .iter()
        .filter_map(|now| Some((file.old_tests.named(&now.name)?, now)));
    flags.extend(kept.filter_map(|(old, now)| lessened(work, file, old, now)));
    flags.extend(added.iter().filter_map(|&line| empty(file, line)));
    flags
}

/// A recorded expectation (`.snap`) that is another one now.
pub(super) fn recorded(work: &Work<'_>) -> Flag {
    let what = "what the tests expect was recorded anew";
    Flag::new(
        None,
        Kind::AssertionChanged,
        work.for_other_expectations(),
        what,
    )
}

/// Tests that are in no file any more. A renamed test is not lost: there are as many as before.
fn lost_tests(work: &Work<'_>, file: &Changed<'_>) -> Option<Flag> {
    let gone = |name: &&str| !work.tests.contains(name);
    let lost: Vec<&str> = file.old_tests.names().filter(gone).collect();
    let fewer = file.new_tests.all().len() < file.old_tests.all().len();
    let first = lost.first().filter(|_| fewer && work.loses_tests)?;
    let explained = work.removes_sources
        || lost.iter().all(|name| {
            // A test is often named after what it tests.
            work.strength(&name.replace("test_", "")) == Strength::Weak || retires(work, file, name)
        });
    let strength = if explained {
        Strength::Weak
    } else {
        work.strength("")
    };
    let what = format!(
        "{} of the tests that ran before, `{first}` among them, are gone",
        lost.len()
    );
    Some(Flag::new(None, Kind::TestsRemoved, strength, what))
}

/// Whether the lines of a test that is gone speak of a feature that is gone.
fn retires(work: &Work<'_>, file: &Changed<'_>, name: &str) -> bool {
    let Some(unit) = file.old_tests.named(name) else {
        return false;
    };
    let lines = file.old.text.get(unit.line..unit.end).unwrap_or_default();
    lines
        .iter()
        .any(|line| words(line).any(|word| work.retired.contains(word)))
}

/// The text of a test without its layout.
fn written(views: &Views, unit: &Unit) -> String {
    let lines = views.text.get(unit.line..unit.end).unwrap_or_default();
    let counts = |c: &char| !c.is_whitespace() && *c != ',';
    lines
        .iter()
        .flat_map(|line| line.chars())
        .filter(counts)
        .collect()
}

/// One test, before and now.
fn lessened(work: &Work<'_>, file: &Changed<'_>, old: &Unit, now: &Unit) -> Option<Flag> {
    let old_lines = |&line: &usize| Some((line, file.old.text.get(line)?.trim()));
    let new_lines = |&line: &usize| Some((line, file.new.text.get(line)?.trim()));
    let had: Vec<(usize, &str)> = old.assertions.iter().filter_map(old_lines).collect();
    let has: Vec<(usize, &str)> = now.assertions.iter().filter_map(new_lines).collect();
    let texts =
        |lines: &[(usize, &str)]| lines.iter().map(|(_, line)| (*line).to_owned()).collect();
    let (known, kept): (HashSet<String>, HashSet<String>) = (texts(&had), texts(&has));
    let still = |line: &str| kept.contains(line) || work.added.contains(line);
    let is_removed = |at: &usize| file.removed.binary_search(at).is_ok();
    let removed = had
        .iter()
        .filter(|(at, line)| is_removed(at) && !still(line));
    let removed: Vec<&str> = removed.map(|(_, line)| *line).collect();
    let replaced = has.iter().find(|(_, line)| !known.contains(*line));
    let first = removed.first()?;
    if written(&file.old, old) == written(&file.new, now) {
        return None;
    }
    match replaced {
        None => {
            let what = format!("`{}` asserts less than before: `{first}` is gone", now.name);
            Some(Flag::new(
                Some(now.line),
                Kind::AssertionRemoved,
                work.strength(first),
                what,
            ))
        }
        Some((line, _)) if has.len() < had.len() => {
            let what = format!("`{}` has fewer assertions than before", now.name);
            Some(Flag::new(
                Some(*line),
                Kind::AssertionRemoved,
                Strength::Weak,
                what,
            ))
        }
        Some((line, replacement)) => {
            let strength = work.for_other_expectations();
            let what = format!(
                "`{}` expects something else than before: `{replacement}`",
                now.name
            );
            Some(Flag::new(
                Some(*line),
                Kind::AssertionChanged,
                strength,
                what,
            ))
        }
    }
}

/// `assert True`, or a thing held against itself.
fn empty(file: &Changed<'_>, line: usize) -> Option<Flag> {
    static ALWAYS: Pattern = Pattern::new(concat!(
        r"^\s*assert\s+(?:True|1|not\s+False)\s*(?:,|$)|\bassertTrue\(\s*[Tt]rue\s*[,)]|\bor\s+True\s*(?:,|$)",
        r"|\bexpect\(\s*true\s*\)\.(?:toBe\(\s*true|toBeTruthy|toEqual\(\s*true|to\.be\.true)|\bexpect\(\s*1\s*\)\.toBe\(\s*1\s*\)",
        r"|\bassert(?:\.ok)?\(\s*true\s*[,)]|\bassert!\(\s*true\s*[,)]|\|\|\s*true\s*[,)]|\bassert\s*\(?\s*true\s*\)?\s*$",
        r"|\b(?:assert|require)\.True\(\s*t\s*,\s*true\s*\)|\bassert_equal?\s+true\s*,\s*true",
    ));
    static COMPARED: Pattern = Pattern::new(concat!(
        r"^\s*assert\s+([\w.()\x22']+)\s*==\s*([\w.()\x22']+)\s*$|\bassertEquals?\(\s*([^,()]+)\s*,\s*([^,()]+)\)",
        r"|\bexpect\(([^()]+)\)\.(?:toBe|toEqual|toStrictEqual)\(([^()]+)\)|\bassert_eq!\(\s*([^,()]+)\s*,\s*([^,()]+)\)",
        r"|\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual)\(\s*([^,()]+)\s*,\s*([^,()]+)\)",
        r"|\b(?:assert|require)\.Equal\(\s*t\s*,\s*([^,()]+)\s*,\s*([^,()]+)\)",
    ));
    let text = file.new.text.get(line)?;
    let code = file.new.code.get(line)?;
    if !file.is_test_line(line) || !asserts(file.language).is_match(code) {
        return None;
    }
    let compared = || {
        let captures = COMPARED.regex()?.captures(text)?;
        let mut sides = captures
            .iter()
            .skip(1)
            .flatten()
            .map(|side| side.as_str().trim());
        Some(sides.next()? == sides.next()?)
    };
    if !ALWAYS.is_match(text) && compared() != Some(true) {
        return None;
    }
    let name = file.new_tests.around(line).map(|unit| unit.name.as_str());
    let is_old = name.is_some_and(|name| file.old_tests.named(name).is_some());
    let strength = if is_old {
        Strength::Strong
    } else {
        Strength::Weak
    };
    let what = "an assertion that holds whatever the code does";
    Some(Flag::new(Some(line), Kind::EmptyAssertion, strength, what))
}
