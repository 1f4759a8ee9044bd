//! Texts without a source's name that a changed source runs, such as `exec(Path("rules.txt").read_text())`: they are
//! read in the language of that source.

use std::borrow::Cow;

use super::super::ChangedFile;
use super::super::pattern::Pattern;
use super::super::text::{self, SourceLanguage};
use super::change::{ChangeTexts, read_as};

/// Changed sources that evaluate or load texts.
#[derive(Debug)]
pub(super) struct TextLoaders<'a>(Vec<(SourceLanguage, Cow<'a, str>)>);

impl<'a> TextLoaders<'a> {
    pub(super) fn among(changes: &[ChangedFile<'a>]) -> Self {
        let sources = changes.iter().filter_map(|source| {
            let language = text::flagged_language(source.path)?;
            let code = String::from_utf8_lossy(source.after?);
            let mut lines = code.lines();
            let is_loader = lines.any(|line| evaluates(language, line) || loads(language, line));
            is_loader.then_some((language, code))
        });
        Self(sources.collect())
    }

    /// Reads a changed file that is no source by its name, if one of the sources runs it.
    pub(super) fn read_texts<'f>(&self, change: &ChangedFile<'f>) -> Option<ChangeTexts<'f>> {
        let path = change.path;
        if text::flagged_language(path).is_some() || text::is_test_file(path, false) {
            return None;
        }
        let mut sources = self.0.iter();
        let (language, _) = sources.find(|(language, code)| runs(*language, code, path))?;
        read_as(change, *language)
    }
}

/// Whether a source names a file where it loads one, or names it anywhere and evaluates texts.
fn runs(language: SourceLanguage, code: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let (stem, ending) = name.rsplit_once('.').unwrap_or((name, ""));
    // `require('./rules')` finds `rules.json`.
    let modules = ['\'', '"', '`'].map(|quote| format!("/{stem}{quote}"));
    let names = |text: &str| text.contains(name) || modules.iter().any(|it| text.contains(it));
    // What is loaded from JSON is data.
    let is_loaded = |line: &str| ending != "json" && loads(language, line) && names(line);
    names(code)
        && code
            .lines()
            .any(|line| evaluates(language, line) || is_loaded(line))
}

/// Whether a line runs a text as code.
fn evaluates(language: SourceLanguage, line: &str) -> bool {
    static PYTHON: Pattern = Pattern::new(
        r"\b(?:exec|eval|compile|runpy|SourceFileLoader|spec_from_file_location|spec_from_loader|module_from_spec)\b",
    );
    static JAVASCRIPT: Pattern = Pattern::new(
        r"\bFunction\s*\(|\beval\s*\(|\bvm\.\w|\brunIn\w*Context\b|\bnew\s+(?:vm\.)?(?:Script|SourceTextModule)\b|\._compile\b",
    );
    static RUBY: Pattern = Pattern::new(r"\b(?:(?:module|class|instance)_eval|eval)\b");
    static OTHER: Pattern = Pattern::new(r"\beval\b");
    match language {
        SourceLanguage::Python => PYTHON.is_match(line),
        SourceLanguage::JavaScript => JAVASCRIPT.is_match(line),
        SourceLanguage::Ruby => RUBY.is_match(line),
        SourceLanguage::Php | SourceLanguage::Shell => OTHER.is_match(line),
        _ => false,
    }
}

/// Whether a line runs another file.
fn loads(language: SourceLanguage, line: &str) -> bool {
    static JAVASCRIPT: Pattern = Pattern::new(r"\b(?:require|import)\s*\(");
    static RUBY: Pattern = Pattern::new(r"\b(?:load|require_relative)\b");
    static RUST: Pattern = Pattern::new(r"\binclude!");
    static PHP: Pattern = Pattern::new(r"\b(?:include|require)(?:_once)?\b");
    static C: Pattern = Pattern::new(r"^\s*#\s*include\b");
    static SHELL: Pattern = Pattern::new(r"^\s*\.\s|\b(?:source|sh|bash)\s");
    match language {
        SourceLanguage::JavaScript => JAVASCRIPT.is_match(line),
        SourceLanguage::Ruby => RUBY.is_match(line),
        SourceLanguage::Rust => RUST.is_match(line),
        SourceLanguage::Php => PHP.is_match(line),
        SourceLanguage::C => C.is_match(line),
        SourceLanguage::Shell => SHELL.is_match(line),
        _ => false,
    }
}
