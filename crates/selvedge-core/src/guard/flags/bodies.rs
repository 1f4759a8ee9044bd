//! Comparisons that are always true, written on two lines: a function's header and its body.

use super::super::pattern::Pattern;
use super::Flag;
use super::change::ChangedLines;
use crate::model::{FindingKind, FindingSeverity};

static EQUALITY: Pattern = Pattern::new(concat!(
    r"\bdef\s+__eq__\s*\(|\bfn\s+eq\s*\(|\b(?:equals|Equals)\s*\(|\bdef\s+(?:==|eql\?|===)",
    r"|\basymmetricMatch\s*\(|^\s*(?:includes|startsWith|endsWith)\s*\(\w*\)\s*\{|\boperator\s*==\s*\(",
));
/// The body returns a constant, or compares only the type of the other object.
static ALWAYS: Pattern = Pattern::new(concat!(
    r"^\s*(?:return\s+)?(?:[Tt]rue|isinstance\s*\(\s*\w+\s*,\s*[\w.]+\s*\)|\w+\.(?:is|kind_of|instance_of)(?:_a)?\?\s*\(?\s*[\w:]+\s*\)?",
    r"|\w+\s+instanceof\s+\w+|matches!\s*\(\s*\(\s*self\s*,\s*other\s*\)\s*,\s*\(\s*\w+\(_\)\s*,\s*\w+\(_\)\s*\)\s*\))\s*;?\s*\}?\s*$",
));

pub(super) fn flags(file: &ChangedLines<'_>, added: &[usize]) -> Vec<Flag> {
    let code = &file.new.code;
    let is_forged = |line: &&usize| {
        let above = code[..**line]
            .iter()
            .rev()
            .find(|line| !line.trim().is_empty());
        let now = code.get(**line).map_or("", String::as_str);
        ALWAYS.is_match(now) && above.is_some_and(|above| EQUALITY.is_match(above))
    };
    let forged = added
        .iter()
        .filter(|line| !file.is_test_line(**line))
        .filter(is_forged);
    forged
        .map(|line| {
            let what = "an equality that is always true makes assertions meaningless";
            Flag::new(
                Some(*line),
                FindingKind::ForgedEquality,
                FindingSeverity::Strong,
                what,
            )
        })
        .collect()
}
