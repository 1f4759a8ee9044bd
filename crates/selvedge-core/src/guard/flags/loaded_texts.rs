//! Texts without a source's name that a changed source runs, such as `exec(Path("rules.txt").read_text())`: they are
//! read in the language of that source.

use std::borrow::Cow;

use super::super::ChangedFile;
use super::super::pattern::Pattern;
use super::super::text::{self, SourceLanguage};
use super::change::{ChangeTexts, read_as};

/// Changed sources that run texts.
#[derive(Debug)]
pub(super) struct TextRunners<'a>(Vec<(SourceLanguage, Cow<'a, str>)>);

impl<'a> TextRunners<'a> {
    pub(super) fn among(changes: &[ChangedFile<'a>]) -> Self {
        let sources = changes.iter().filter_map(|source| {
            let language = text::flagged_language(source.path)?;
            let code = String::from_utf8_lossy(source.after?);
            let mut lines = code.lines();
            let runs = lines.any(|line| runs_text(language, line, false));
            runs.then_some((language, code))
        });
        Self(sources.collect())
    }

    /// Reads a changed file that is no source by its name, if one of the sources names it.
    pub(super) fn read_texts<'f>(&self, change: &ChangedFile<'f>) -> Option<ChangeTexts<'f>> {
        let path = change.path;
        if text::flagged_language(path).is_some() || text::is_test_file(path, false) {
            return None;
        }
        // `require` does not run JSON.
        let is_data = path
            .rsplit_once('.')
            .is_some_and(|(_, ending)| ending == "json");
        let (language, _) = self.0.iter().find(|(language, code)| {
            names(code, path)
                && (!is_data || code.lines().any(|line| runs_text(*language, line, true)))
        })?;
        read_as(change, *language)
    }
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

fn runs_text(language: SourceLanguage, line: &str, is_data: bool) -> bool {
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
