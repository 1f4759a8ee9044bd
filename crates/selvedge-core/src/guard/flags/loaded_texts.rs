//! Texts without a source's name that a changed source runs, such as `exec(Path("rules.txt").read_text())`: they are
//! read in the language of that source.

use super::super::ChangedFile;
use super::super::pattern::Pattern;
use super::super::text::{self, SourceLanguage};
use super::change::{ChangeTexts, read_as};

/// Reads a changed file that is no source by its name, if a changed source names it and runs texts.
pub(super) fn read_texts<'a>(
    change: &ChangedFile<'a>,
    changes: &[ChangedFile<'_>],
) -> Option<ChangeTexts<'a>> {
    if text::flagged_language(change.path).is_some() || text::is_test_file(change.path, false) {
        return None;
    }
    let language = changes.iter().find_map(|source| {
        let language = text::flagged_language(source.path)?;
        let code = String::from_utf8_lossy(source.after?);
        let runs = names(&code, change.path)
            && code
                .lines()
                .any(|line| runs_text(language, line, change.path));
        runs.then_some(language)
    })?;
    read_as(change, language)
}

/// Whether a source names a file.
fn names(code: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    // `require('./rules')` finds `rules.json`.
    let is_module = || {
        ['\'', '"', '`']
            .iter()
            .any(|quote| code.contains(&format!("/{stem}{quote}")))
    };
    code.contains(name) || is_module()
}

fn runs_text(language: SourceLanguage, line: &str, path: &str) -> bool {
    static PYTHON: Pattern = Pattern::new(
        r"\b(?:exec|eval|compile|runpy|SourceFileLoader|spec_from_file_location|spec_from_loader|module_from_spec)\b",
    );
    static JAVASCRIPT: Pattern = Pattern::new(
        r"\bFunction\s*\(|\beval\s*\(|\bvm\.\w|\brunIn\w*Context\b|\bnew\s+(?:vm\.)?(?:Script|SourceTextModule)\b|\._compile\b",
    );
    static REQUIRED: Pattern = Pattern::new(r"\b(?:require|import)\s*\(");
    static RUBY: Pattern = Pattern::new(r"\b(?:(?:module|class|instance)_eval|eval|load)\b");
    static RUST: Pattern = Pattern::new(r"\binclude!");
    static PHP: Pattern = Pattern::new(r"\b(?:include|require)(?:_once)?\b|\beval\b");
    static C: Pattern = Pattern::new(r"^\s*#\s*include\b");
    static SHELL: Pattern = Pattern::new(r"^\s*\.\s|\b(?:source|eval|sh|bash)\s");
    match language {
        SourceLanguage::Python => PYTHON.is_match(line),
        SourceLanguage::JavaScript => {
            let is_data = path
                .rsplit_once('.')
                .is_some_and(|(_, ending)| ending == "json");
            JAVASCRIPT.is_match(line) || (!is_data && REQUIRED.is_match(line))
        }
        SourceLanguage::Ruby => RUBY.is_match(line),
        SourceLanguage::Rust => RUST.is_match(line),
        SourceLanguage::Php => PHP.is_match(line),
        SourceLanguage::C => C.is_match(line),
        SourceLanguage::Shell => SHELL.is_match(line),
        SourceLanguage::Go
        | SourceLanguage::Elixir
        | SourceLanguage::Curly
        | SourceLanguage::Yaml => false,
    }
}
