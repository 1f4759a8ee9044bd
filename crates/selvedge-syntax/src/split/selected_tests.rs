//! Tests in Rust files that the task expects to change: these are kept as in the attempt, all others as in
//! the original.

use std::collections::BTreeMap;
use std::ops::Range;

use proc_macro2::TokenStream;

use super::{MAX_DEPTH, RustItem, apply_edits, decode_source};

/// Returns the original text with the attempt's version of the tests whose ids are in `selected`; tests that
/// the attempt removed are removed. `None` if there are no such tests.
pub fn merge_selected_tests(
    path: &str,
    before: &[u8],
    after: Option<&[u8]>,
    selected: &dyn Fn(&str) -> bool,
) -> Option<Vec<u8>> {
    if !super::moved_tests::is_rust(path) {
        return None;
    }
    let (before, after) = (
        decode_source(before)?,
        decode_source(after.unwrap_or_default())?,
    );
    let old = test_functions(path, before)?;
    let new = test_functions(path, after)?;
    proc_macro2::extra::invalidate_current_thread_spans();
    let edits: Vec<(Range<usize>, String)> = old
        .into_iter()
        .filter(|(id, _)| selected(id))
        .map(|(id, range)| {
            let now = new.get(&id).and_then(|range| after.get(range.clone()));
            (range, now.unwrap_or_default().to_owned())
        })
        .collect();
    if edits.is_empty() {
        return None;
    }
    apply_edits(before, edits).map(String::into_bytes)
}

/// Positions of the test functions of a file, by the ids that cargo gives them.
fn test_functions(path: &str, text: &str) -> Option<BTreeMap<String, Range<usize>>> {
    let mut found = BTreeMap::new();
    add_functions(text, text.parse().ok()?, &module_of(path), &mut found, 0)?;
    Some(found)
}

fn add_functions(
    text: &str,
    stream: TokenStream,
    module: &str,
    found: &mut BTreeMap<String, Range<usize>>,
    depth: usize,
) -> Option<()> {
    let mut tokens = stream.into_iter().peekable();
    while tokens.peek().is_some() {
        let item = RustItem::parse(text, &mut tokens)?;
        let Some(name) = name_of(&item.name) else {
            continue;
        };
        let id = match module {
            "" => name.to_owned(),
            module => format!("{module}::{name}"),
        };
        match item.body {
            Some(body) if depth < MAX_DEPTH => {
                add_functions(text, body.stream(), &id, found, depth + 1)?;
            }
            None if item.is_test => {
                found.insert(id, item.range);
            }
            Some(_) | None => {}
        }
    }
    Some(())
}

/// The name of a function or module, from its head.
fn name_of(head: &str) -> Option<&str> {
    let mut words = head.split(|letter: char| !(letter.is_alphanumeric() || letter == '_'));
    words.find(|word| matches!(*word, "fn" | "mod"))?;
    words.find(|word| !word.is_empty())
}

/// The module path of a file; empty for a crate root and for an integration test.
fn module_of(path: &str) -> String {
    let Some((_, inside)) = path.rsplit_once("src/") else {
        return String::new();
    };
    let inside = inside.strip_suffix(".rs").unwrap_or(inside);
    let inside = inside.strip_suffix("/mod").unwrap_or(inside);
    match inside {
        "lib" | "main" => String::new(),
        inside => inside.replace('/', "::"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selected_tests_are_taken_from_the_attempt() {
        let before = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { one(); }\n    #[test]\n    fn b() { two(); }\n    #[test]\n    fn c() {}\n}\n";
        let after = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn b() { three(); }\n}\n";
        let merged = |path: &str, id: &str| {
            let selected = |it: &str| it == id;
            let text =
                merge_selected_tests(path, before.as_bytes(), Some(after.as_bytes()), &selected);
            text.map(|text| String::from_utf8(text).unwrap())
        };
        let gone = before.replace("    #[test]\n    fn a() { one(); }", "    ");
        assert_eq!(merged("src/lib.rs", "tests::a"), Some(gone.clone()));
        assert_eq!(merged("src/shop/mod.rs", "shop::tests::a"), Some(gone));
        let changed = before.replace("two();", "three();");
        assert_eq!(merged("tests/it.rs", "tests::b"), Some(changed));
        assert_eq!(merged("src/shop.rs", "tests::a"), None);
    }
}
