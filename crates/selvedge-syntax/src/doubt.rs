//! Reasons to doubt that a file that does not parse is meant to: templates, whose placeholders are
//! filled in before anybody parses them, and files that are broken on purpose, for tests.

use std::path::Path;

use crate::{Fault, Language};

/// Folders of templates, and of what is generated from them by filling in.
const TEMPLATES: [&str; 11] = [
    "templates",
    "template",
    "_templates",
    "tmpl",
    "skeleton",
    "skeletons",
    "stubs",
    "boilerplate",
    "scaffold",
    "blueprints",
    "archetype-resources",
];

/// Folders of what tests are fed with.
const TEST_DATA: [&str; 24] = [
    "fixtures",
    "fixture",
    "__fixtures__",
    "testdata",
    "test-data",
    "test_data",
    "test-fixtures",
    "test_fixtures",
    "__snapshots__",
    "snapshots",
    "golden",
    "goldens",
    "corpus",
    "corpora",
    "invalid",
    "broken",
    "malformed",
    "negative",
    "bad",
    "fail",
    "compile-fail",
    "compile_fail",
    "fuzz",
    "ui",
];

/// Parts of names that say that a file is broken.
const BROKEN: [&str; 10] = [
    "invalid",
    "broken",
    "malformed",
    "corrupt",
    "bad_",
    "_bad",
    "syntax_error",
    "syntaxerror",
    "badsyntax",
    "unparsable",
];

/// What begins a placeholder of a template language, where nothing else begins so.
const PLACEHOLDERS: [&str; 4] = ["{{", "{%", "<%", "<?php"];

/// Why an error may be none; nothing where it stands.
pub fn doubt(language: Language, path: &Path, text: &str, fault: &Fault) -> Option<&'static str> {
    let names = |listed: &[&str]| {
        let mut folders = path.parent().into_iter().flat_map(Path::components);
        folders.any(|folder| {
            let folder = folder.as_os_str().to_string_lossy().to_ascii_lowercase();
            listed.contains(&folder.as_str())
        })
    };
    let file = path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_ascii_lowercase();
    if names(&TEMPLATES) || path.to_string_lossy().contains("{{") || file.contains("template") {
        return Some("it may be a template");
    }
    if names(&TEST_DATA) || BROKEN.iter().any(|word| file.contains(word)) {
        return Some("it may be broken on purpose, for a test");
    }
    if has_placeholders(language, text, fault) {
        return Some("it holds placeholders of a template");
    }
    let first = text.lines().next().unwrap_or_default();
    if language == Language::Python
        && first.starts_with("#!")
        && first.trim_end().ends_with("python")
    {
        return Some("it may be Python 2");
    }
    None
}

/// In data they may stand anywhere; in code the line that does not parse, or the one before it, must
/// hold them, because code is full of braces.
fn has_placeholders(language: Language, text: &str, fault: &Fault) -> bool {
    if language.is_data() {
        return PLACEHOLDERS.iter().any(|mark| text.contains(mark));
    }
    let line = usize::try_from(fault.line).unwrap_or(1).max(1) - 1;
    let mut near = text.lines().skip(line.saturating_sub(1)).take(3);
    near.any(|line| {
        let php = language == Language::Php;
        let braces = matches!(language, Language::JavaScript | Language::TypeScript);
        line.contains("{%")
            || !php && line.contains("<%")
            || filled_in(line) && !(braces && line.contains("={{"))
    })
}

/// `{{ name }}` or `${{name}}`, but no more than a name: not what JSX and initializers have.
fn filled_in(line: &str) -> bool {
    line.split("{{").skip(1).any(|rest| {
        rest.split_once("}}").is_some_and(|(name, _)| {
            let name = name.trim_matches([' ', '-', '~', '#', '/', '^', '&', '.', '{', '}']);
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '|' | ' ');
            !name.is_empty() && name.chars().all(plain)
        })
    })
}
