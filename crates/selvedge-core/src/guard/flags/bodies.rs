//! Tricks that show in two lines: a header, and a body that makes it empty.

use super::super::finding::{FindingKind as Kind, Strength};
use super::super::pattern::Pattern;
use super::super::text::Language;
use super::Flag;
use super::change::Changed;

static EQUALITY: Pattern = Pattern::new(concat!(
    r"\bdef\s+__eq__\s*\(|\bfn\s+eq\s*\(|\b(?:equals|Equals)\s*\(|\bdef\s+(?:==|eql\?|===)",
    r"|\basymmetricMatch\s*\(",
));
static ALWAYS: Pattern = Pattern::new(r"^\s*(?:return\s+)?(?:True|true)\s*;?\s*\}?\s*$");
static CATCH: Pattern = Pattern::new(concat!(
    r"^\s*except\s*:|^\s*except\s*\(?\s*(?:Base)?Exception\b.*:|^\s*except\s*\(?.*AssertionError.*:",
    r"|\bcatch\s*(?:\(\s*(?:\w+\s*:\s*)?\w*(?:\s+\w+)?\s*\))?\s*\{|^\s*rescue\s*(?:(?:Standard|)Error|Exception)?\s*(?:=>\s*\w+)?$",
));
static SWALLOWS: Pattern = Pattern::new(
    r"^\s*(?:pass|\.\.\.|continue|nil|return(?:\s+(?:None|True|true|null|undefined))?;?|\}|end)\s*;?\s*$",
);
static SWALLOWS_AT_ONCE: Pattern = Pattern::new(
    r":\s*(?:pass|\.\.\.|continue|return)\s*$|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}|\bsuppress\s*\(\s*(?:\w+\s*,\s*)*(?:Base)?(?:Exception|AssertionError)|\.catch\s*\(\s*(?:\(\w*\)|\w+|_)\s*=>\s*(?:\{\s*\}|null|undefined|true)\s*\)",
);

pub(super) fn flags(file: &Changed<'_>, added: &[usize]) -> Vec<Flag> {
    let code = &file.new.code;
    let mut flags = Vec::new();
    for &line in added {
        let Some(now) = code.get(line) else { continue };
        let above = code[..line]
            .iter()
            .rev()
            .find(|line| !line.trim().is_empty());
        let above = above.map_or("", String::as_str);
        if ALWAYS.is_match(now) && EQUALITY.is_match(above) {
            let what = "an equality that is always true makes assertions empty";
            flags.push(Flag::new(
                Some(line),
                Kind::ForgedEquality,
                Strength::Strong,
                what,
            ));
        }
        let swallows = (SWALLOWS.is_match(now) && CATCH.is_match(above))
            || (SWALLOWS_AT_ONCE.is_match(now) && !now.trim_start().starts_with("for "));
        if swallows {
            flags.push(catches(file, line));
        }
    }
    flags.extend(empty_test_main(file, added));
    flags
}

/// Around an assertion it makes the test empty; in a source it is a habit worth a look.
fn catches(file: &Changed<'_>, line: usize) -> Flag {
    let code = &file.new.code;
    let asserts = super::units::asserts(file.language);
    let mut near = code[..line].iter().rev().take(8);
    let hides = file.is_test_line(line) && near.any(|line| asserts.is_match(line));
    if hides {
        let what = "the failure of an assertion is caught and thrown away";
        return Flag::new(Some(line), Kind::BroadCatch, Strength::Strong, what);
    }
    let what = "all errors are caught and thrown away";
    Flag::new(Some(line), Kind::BroadCatch, Strength::Weak, what)
}

/// Go's `TestMain` runs the tests itself, or nobody does.
fn empty_test_main(file: &Changed<'_>, added: &[usize]) -> Option<Flag> {
    if file.language != Language::Go {
        return None;
    }
    let header = |line: &&usize| {
        let code = file.new.code.get(**line);
        code.is_some_and(|code| code.contains("func TestMain("))
    };
    let at = added.iter().find(header)?;
    let runs = file
        .new
        .code
        .iter()
        .skip(*at)
        .any(|line| line.contains(".Run()"));
    let what = "`TestMain` runs no test: `go test` succeeds without any";
    (!runs).then(|| Flag::new(Some(*at), Kind::RunnerPatched, Strength::Strong, what))
}
