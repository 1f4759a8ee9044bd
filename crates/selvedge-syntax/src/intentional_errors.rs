//! Reasons to doubt a syntax error: templates, whose placeholders are filled in before the file is parsed,
//! and files that are broken on purpose, for tests.

use std::path::Path;

use crate::{FileLanguage, SyntaxError};

/// Folders of templates and of files generated from templates.
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

/// Folders of test data.
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

/// Parts of file names that mark a file as broken.
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

/// Beginnings of template placeholders that mean nothing else.
const PLACEHOLDERS: [&str; 4] = ["{{", "{%", "<%", "<?php"];

/// The reason why a syntax error may be intended, if there is one.
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
        return Some("it contains placeholders of a template");
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

/// In data, placeholders count anywhere. In code they must be on the line of the error or the line before it,
/// because code is full of braces.
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
            FileLanguage::JavaScript | FileLanguage::TypeScript | FileLanguage::Tsx
        );
        line.contains("{%")
            || !php && line.contains("<%")
            || has_named_placeholder(line) && !(braces && line.contains("={{"))
    })
}

/// Whether the line has a placeholder that holds only a name: `{{ name }}` or `${{name}}`. JSX and
/// initializers hold more.
fn has_named_placeholder(line: &str) -> bool {
    line.split("{{").skip(1).any(|rest| {
        rest.split_once("}}").is_some_and(|(name, _)| {
            let name = name.trim_matches([' ', '-', '~', '#', '/', '^', '&', '.', '{', '}']);
            let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '|' | ' ');
            !name.is_empty() && name.chars().all(plain)
        })
    })
}
