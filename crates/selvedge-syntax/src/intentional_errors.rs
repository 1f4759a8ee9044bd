//! Reasons to doubt that a file that does not parse is meant to: templates, whose placeholders are
//! filled in before anybody parses them, and files that are broken on purpose, for tests.

use std::path::Path;

use crate::{FileLanguage, SyntaxError};

/// Folders of templates, and of what is generated from them by filling in.
const TEMPLATE_FOLDERS: [&str; 11] = [
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
const TEST_DATA_FOLDERS: [&str; 24] = [
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
const BROKEN_NAME_PARTS: [&str; 10] = [
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
pub fn reason_to_doubt(
    language: FileLanguage,
    path: &Path,
    text: &str,
    fault: &SyntaxError,
) -> Option<&'static str> {
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
    if names(&TEMPLATE_FOLDERS)
        || path.to_string_lossy().contains("{{")
        || file.contains("template")
    {
        return Some("it may be a template");
    }
    if names(&TEST_DATA_FOLDERS) || BROKEN_NAME_PARTS.iter().any(|word| file.contains(word)) {
        return Some("it may be broken on purpose, for a test");
    }
    if has_placeholders(language, text, fault) {
        return Some("it holds placeholders of a template");
    }
    let first = text.lines().next().unwrap_or_default();
    if language == FileLanguage::Python
        && first.starts_with("#!")
        && first.trim_end().ends_with("python")
    {
        return Some("it may be Python 2");
    }
    None
}

/// In data they may stand anywhere; in code the line that does not parse, or the one before it, must
/// hold them, because code is full of braces.
fn has_placeholders(language: FileLanguage, text: &str, fault: &SyntaxError) -> bool {
    if language.is_data() {
        return PLACEHOLDERS.iter().any(|mark| text.contains(mark));
    }
    let line = usize::try_from(fault.line).unwrap_or(1).max(1) - 1;
    let mut near = text.lines().skip(line.saturating_sub(1)).take(3);
    near.any(|line| {
        let php = language == FileLanguage::Php;
        let braces = matches!(
            language,
            FileLanguage::JavaScript | FileLanguage::TypeScript
        );
        line.contains("{%")
            || !php && line.contains("<%")
            || has_named_placeholder(line) && !(braces && line.contains("={{"))
    })
}

/// `{{ name }}` or `${{name}}`, but no more than a name: not what JSX and initializers have.
fn has_named_placeholder(line: &str) -> bool {
    line.split("{{").skip(1).any(|rest| {
        rest.split_once("}}").is_some_and(|(name, _)| {
            let name = name.trim_matches([' ', '-', '~', '#', '/', '^', '&', '.', '{', '}']);
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '|' | ' ');
            !name.is_empty() && name.chars().all(plain)
        })
    })
}
