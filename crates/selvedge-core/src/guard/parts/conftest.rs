//! `conftest.py`: fixtures and imports may come and change; what reaches into pytest itself (hooks,
//! plugins, what is collected, how the process ends) is as it was.

use std::collections::BTreeSet;

use super::super::finding::Strength;
use super::super::mask::Views;
use super::super::pattern::Pattern;
use super::super::text::Language;
use super::judge::Switch;

/// Names by which a statement reaches into the runner.
static REACHES_IN: Pattern = Pattern::new(concat!(
    r"\bdef\s+pytest_\w+|\bpytest_\w+\s*=|\bcollect_ignore(?:_glob)?\b|\bpytest_plugins\b|\bhookimpl\b|\bhookwrapper\b",
    r"|\bos\._exit\b|\batexit\b|\bsys\.(?:modules|exit|settrace|meta_path|exitfunc)\b|\bpytest\.exit\b|\b_pytest\b",
    r"|\bpluggy\b|\bunittest\.TestCase\.\w+\s*=|\bsetattr\s*\(\s*(?:unittest|pytest|_pytest|builtins)|\bbuiltins\.\w+\s*=",
    r"|\badd_marker\b|\bpytest\.(?:mark\.)?(?:skip|xfail)|\bgetattr\s*\(\s*os\s*,|\b(?:exec|eval|__import__)\s*\(",
    r"|\bos\.kill\b|\bsignal\.\w+\s*\(|\brewrite_asserts\b|\bAssertionError\s*=|\.runtest\s*=|\boutcome\s*=",
    r"|\bimportlib\.import_module\s*\(\s*['\x22]_?pytest|\bgc\.get_\w+|\bsys\._getframe\b|\binspect\.stack\b",
));
/// Hooks that do nothing but make something known.
static MAKES_KNOWN: Pattern = Pattern::new(r"^def\s+pytest_(?:configure|addoption)\b");
static ONLY_MAKES_KNOWN: Pattern = Pattern::new(
    r"^(?:config\.addinivalue_line\s*\(|parser\.(?:addoption|addini|getgroup)\s*\(|group\s*=\s*parser\.getgroup|group\.addoption\s*\(|[\x22')\]},\w\s.=:\-]*[\x22')\]},]+\s*,?\)?$|pass$|default=|help=|action=)",
);

/// A fixture of every test that replaces something.
static PATCHES: Pattern = Pattern::new(
    r"(?s)autouse\s*=\s*True.*(?:monkeypatch\.(?:setattr|setitem)|mock\.patch|patch\()",
);
/// What tests keep out: the network, the clock, chance.
static PATCHES_THE_WORLD: Pattern = Pattern::new(
    r"\b(?:socket|requests|urllib\w*|httpx|aiohttp|time|datetime|random|environ|sleep|home)\b",
);

/// A statement at the margin with all that is indented under it, and the decorators above it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Block {
    text: String,
    line: u32,
}

pub(super) fn compare(before: &str, after: &str) -> Vec<Switch> {
    let (old, new) = (blocks(before), blocks(after));
    let texts = |blocks: &[Block]| -> BTreeSet<String> {
        blocks.iter().map(|block| block.text.clone()).collect()
    };
    let (old_texts, new_texts) = (texts(&old), texts(&new));
    let mut switches: Vec<Switch> = new
        .iter()
        .filter(|block| !old_texts.contains(&block.text) && reaches_in(&block.text))
        .map(|block| {
            let what = format!("`{}` reaches into the test runner", offending(&block.text));
            Switch::offence(what).at(block.line)
        })
        .collect();
    let gone = old
        .iter()
        .filter(|block| !new_texts.contains(&block.text) && reaches_in(&block.text));
    if switches.is_empty() {
        switches.extend(
            gone.map(|block| Switch::offence(format!("`{}` is gone", offending(&block.text)))),
        );
    }
    if switches.is_empty() {
        let new_blocks = new.iter().filter(|block| !old_texts.contains(&block.text));
        let patching = new_blocks.filter(|block| PATCHES.is_match(&block.text));
        switches.extend(patching.map(|block| {
            let what = "a fixture that every test uses replaces parts of the program";
            let strength = if PATCHES_THE_WORLD.is_match(&block.text) {
                Strength::Weak
            } else {
                Strength::Strong
            };
            Switch::new(strength, what).at(block.line)
        }));
    }
    switches
}

fn reaches_in(block: &str) -> bool {
    if MAKES_KNOWN.is_match(block) {
        let mut body = block.lines().skip(1).map(str::trim);
        return !body.all(|line| ONLY_MAKES_KNOWN.is_match(line));
    }
    REACHES_IN.is_match(block)
}

/// The line that reaches in.
fn offending(block: &str) -> &str {
    let mut lines = block.lines().map(str::trim);
    let first = block.lines().next().unwrap_or_default();
    lines
        .find(|line| REACHES_IN.is_match(line))
        .unwrap_or(first)
}

/// Statements without comments and texts of many lines.
fn blocks(source: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut decorated = false;
    for (number, line) in (1_u32..).zip(Views::of(Language::Python, source).text) {
        let line = line.trim_end();
        if line.trim().is_empty() {
            continue;
        }
        let continues = line.starts_with([' ', '\t', ')', ']', '}']) || decorated;
        match blocks.last_mut().filter(|_| continues) {
            Some(block) => {
                block.text.push('\n');
                block.text.push_str(line);
            }
            None => blocks.push(Block {
                text: line.to_owned(),
                line: number,
            }),
        }
        if !line.starts_with([' ', '\t', ')', ']', '}']) {
            decorated = line.starts_with('@');
        }
    }
    blocks
}
