//! Edits of Rust sources that keep them formatted: checks of the format also run on merged sources.

use std::ops::Range;

use super::ModuleTests;

/// A part of a source, and the text in its place.
pub(super) type Edit = (Range<usize>, String);

/// Marks of documentation comments at the beginning of a line.
const DOC_MARKS: [&str; 3] = ["///", "//!", "*"];

/// Gives a module the tests `originals`. Tests with equal texts stay where they are, the others are replaced in order.
pub(super) fn replace_tests(source: &str, module: &ModuleTests, originals: &[&str]) -> Vec<Edit> {
    let own = module.texts(source);
    let is_same = |(one, other): &(&&str, &&str)| one == other;
    let at_start = own.iter().zip(originals).take_while(is_same).count();
    let others = own.len().min(originals.len()) - at_start;
    let from_end = own.iter().rev().zip(originals.iter().rev());
    let at_end = from_end.take(others).take_while(is_same).count();
    let replaced = &module.tests[at_start..own.len() - at_end];
    let missing = &originals[at_start..originals.len() - at_end];
    let mut edits: Vec<Edit> = replaced
        .iter()
        .zip(missing)
        .map(|(range, text)| (range.clone(), (*text).to_owned()))
        .collect();
    let added = replaced.iter().skip(missing.len());
    edits.extend(added.map(|range| removal(source, range)));
    let missing = missing.get(replaced.len()..).unwrap_or_default();
    let next = module.tests.get(at_start + replaced.len());
    let previous = &module.tests[..at_start + replaced.len()];
    if missing.is_empty() {
        return edits;
    }
    edits.push(match (previous.last(), next) {
        (Some(previous), _) => {
            let indentation = indentation_of(source, previous.start);
            let text = missing.iter().flat_map(|text| ["\n\n", indentation, text]);
            (previous.end..previous.end, text.collect())
        }
        (None, Some(next)) => {
            let indentation = indentation_of(source, next.start);
            let text = missing.iter().flat_map(|text| [text, "\n\n", indentation]);
            (next.start..next.start, text.collect())
        }
        (None, None) => append(source, module.end, missing),
    });
    edits
}

/// Adds items at the end of a module.
fn append(source: &str, end: usize, items: &[&str]) -> Edit {
    let before = source[..end].trim_end();
    let indentation = if end == source.len() {
        String::new()
    } else {
        format!("{}    ", indentation_of(source, end))
    };
    let mut text = String::new();
    for item in items {
        text += match before.chars().next_back() {
            None if text.is_empty() => "",
            Some('{') if text.is_empty() => "\n",
            _ => "\n\n",
        };
        text += &indentation;
        text += item;
    }
    if before.is_empty() {
        text += "\n";
    }
    (before.len()..before.len(), text)
}

/// Removes a part with the space before it, or after it if it is the first in a block.
pub(super) fn removal(source: &str, part: &Range<usize>) -> Edit {
    let before = source[..part.start].trim_end();
    if !before.is_empty() && !before.ends_with('{') {
        return (before.len()..part.end, String::new());
    }
    let rest = &source[part.end..];
    let space = rest.len() - rest.trim_start().len();
    (part.start..part.end + space, String::new())
}

/// Replaces the documentation of an item by that with the original example. Without one, only the example is removed.
pub(super) fn replace_example(
    source: &str,
    docs: &Range<usize>,
    original: Option<&str>,
) -> Option<Edit> {
    let text = source.get(docs.clone())?;
    let with = original.map_or_else(|| without_examples(text), |it| Some(it.to_owned()));
    let with = with.unwrap_or_default();
    Some(if with.is_empty() {
        let rest = &source[docs.end..];
        let space = rest.len() - rest.trim_start().len();
        (docs.start..docs.end + space, with)
    } else {
        (docs.clone(), with)
    })
}

/// Documentation without its code blocks; `None` if nothing remains, or if they cannot be separated.
fn without_examples(docs: &str) -> Option<String> {
    let mut kept: Vec<&str> = Vec::new();
    let mut is_within = false;
    for line in docs.lines() {
        let text = line.trim_start();
        let mark = DOC_MARKS.iter().find(|mark| text.starts_with(**mark));
        let text = mark.map_or(text, |mark| &text[mark.len()..]).trim();
        if text.starts_with("```") {
            is_within = !is_within;
        } else if !is_within {
            kept.push(line);
        } else if text.contains("*/") {
            return None;
        }
    }
    let is_empty = |line: &&str| DOC_MARKS.contains(&line.trim());
    while kept.last().is_some_and(is_empty) {
        kept.pop();
    }
    let is_separable = !is_within && !kept.concat().contains("```");
    (is_separable && !kept.iter().all(is_empty)).then(|| kept.join("\n"))
}

/// The white space before a position, up to the beginning of its line.
fn indentation_of(source: &str, position: usize) -> &str {
    let line = source[..position].rsplit('\n').next().unwrap_or_default();
    let indented = line.trim_start();
    &line[..line.len() - indented.len()]
}
