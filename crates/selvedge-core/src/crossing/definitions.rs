//! The names that a source defines, by language. Sources are not parsed: a line that defines a name looks similar in
//! most languages.

use std::collections::BTreeSet;

use crate::guard::{Pattern, SourceLanguage, SourceViews};

static PYTHON: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]+)?=[^=]",
);
static JAVASCRIPT: Pattern = Pattern::new(concat!(
    r"(?m)\b(?:function\*?|class|interface|type|enum|const|let|var)[ \t]+([\w$]+)|\bexports\.([\w$]+)[ \t]*=",
    r"|^[ \t]*(?:(?:public|private|protected|static|async|get|set)[ \t]+|\*[ \t]*)*([\w$]+)[ \t]*\([^)\n]*\)[ \t]*(?::[^{\n]+)?\{",
));
static RUST: Pattern = Pattern::new(
    r"(?m)\b(?:fn|struct|enum|trait|mod|const|static|type|union|macro_rules![ \t]*)[ \t]+(\w+)",
);
static GO: Pattern = Pattern::new(
    r"(?m)^func[ \t]+(?:\([^)\n]*\)[ \t]*)?(\w+)|^[ \t]*(?:type|var|const)[ \t]+(\w+)",
);
static RUBY: Pattern = Pattern::new(
    r"(?m)\bdef[ \t]+(?:self\.)?(\w+[?!=]?)|^[ \t]*(?:class|module)[ \t]+(\w+)|\battr_\w+[ \t]+:(\w+)|^[ \t]*([A-Z]\w*)[ \t]*=",
);
static PHP: Pattern =
    Pattern::new(r"(?m)\b(?:function|class|interface|trait|enum|const)[ \t]+&?(\w+)");
static CURLY: Pattern = Pattern::new(concat!(
    r"(?m)\b(?:class|interface|enum|record|struct|object|trait|fun|func|def|val|var|const)[ \t]+(\w+)",
    r"|^[ \t]*(?:[\w<>\[\],.?]+[ \t]+)+(\w+)[ \t]*\([^;\n]*\)[^;\n]*\{",
));
static C: Pattern = Pattern::new(
    r"(?m)^[A-Za-z_][\w \t*]*?\b(\w+)[ \t]*\([^;{]*\)[ \t\n]*[{;]|^[ \t]*#[ \t]*define[ \t]+(\w+)|\b(?:struct|enum|union|class)[ \t]+(\w+)[ \t\n]*\{|^\}[ \t]*(\w+)[ \t]*;",
);
static ELIXIR: Pattern = Pattern::new(r"(?m)\bdef(?:p|module|macro|struct)?[ \t]+([\w.]+[?!]?)");
static SHELL: Pattern =
    Pattern::new(r"(?m)^[ \t]*(?:function[ \t]+)?(\w+)[ \t]*\(\)|^[ \t]*function[ \t]+(\w+)");

/// Returns the code of a source without comments and contents of strings; columns are preserved.
pub(super) fn code_lines(language: SourceLanguage, text: &str) -> Vec<String> {
    SourceViews::of(language, text).code
}

/// The names that a source defines.
pub(super) fn definitions(language: SourceLanguage, text: &str) -> BTreeSet<String> {
    let pattern = match language {
        SourceLanguage::Python => &PYTHON,
        SourceLanguage::JavaScript => &JAVASCRIPT,
        SourceLanguage::Rust => &RUST,
        SourceLanguage::Go => &GO,
        SourceLanguage::Ruby => &RUBY,
        SourceLanguage::Php => &PHP,
        SourceLanguage::Curly => &CURLY,
        SourceLanguage::C => &C,
        SourceLanguage::Elixir => &ELIXIR,
        SourceLanguage::Shell => &SHELL,
        SourceLanguage::Yaml => return BTreeSet::new(),
    };
    let code = code_lines(language, text).join("\n");
    let Some(regex) = pattern.regex() else {
        return BTreeSet::new();
    };
    let found = regex.captures_iter(&code);
    let names = found.filter_map(|found| {
        let name = found.iter().skip(1).flatten().next()?;
        Some(name.as_str().to_owned())
    });
    names.filter(|name| !is_keyword(name)).collect()
}

fn is_keyword(name: &str) -> bool {
    const KEYWORDS: [&str; 16] = [
        "if", "for", "while", "switch", "catch", "return", "else", "do", "new", "function", "with",
        "match", "main", "default", "self", "this",
    ];
    KEYWORDS.contains(&name)
}

/// Splits a line into tokens: identifiers, and the text between them.
pub(super) fn tokens(language: SourceLanguage, line: &str) -> Vec<&str> {
    let has_marks = matches!(language, SourceLanguage::Ruby | SourceLanguage::Elixir);
    let mut tokens = Vec::new();
    let mut start = 0;
    let mut was_word = None;
    for (at, letter) in line.char_indices() {
        // `empty?` and `save!` are names; `a!=b` contains neither.
        let is_mark = has_marks
            && was_word == Some(true)
            && matches!(letter, '?' | '!')
            && !line[at + 1..].starts_with('=');
        let is_word = letter.is_alphanumeric() || letter == '_' || letter == '$' || is_mark;
        if was_word.is_some_and(|was| was != is_word) {
            tokens.push(&line[start..at]);
            start = at;
        }
        was_word = Some(is_word);
    }
    tokens.push(&line[start..]);
    tokens
}
