//! Finds keywords, strings, comments and numbers in the lines of a diff. A diff has only fragments of a file, so this
//! is a scan of single lines that carries open comments and strings to the next line, and not a parser. It is
//! linear in the length of a line.

use std::ops::Range;

/// Kind of a part of a line; everything else is plain text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenKind {
    /// A keyword of the language.
    Keyword,
    /// A string or character literal.
    String,
    /// A comment.
    Comment,
    /// A number.
    Number,
}

/// A part of a line, in bytes.
pub type Token = (TokenKind, Range<usize>);

/// A literal or comment that ends with `close`.
#[derive(Debug, PartialEq, Eq)]
struct Delimiter {
    open: &'static str,
    close: &'static str,
    kind: TokenKind,
    /// Whether it may continue on the next line.
    multiline: bool,
    /// Whether a backslash escapes the next character.
    escapes: bool,
}

/// The lexical rules of a family of languages.
#[derive(Debug)]
pub struct Grammar {
    line_comments: &'static [&'static str],
    /// Longer openings come first.
    delimiters: &'static [Delimiter],
    /// In the order of their bytes.
    keywords: &'static [&'static str],
    /// Whether keywords are case-insensitive; they are then listed in lower case.
    ignores_case: bool,
    /// Whether `'` begins a character literal of one character, and is something else otherwise.
    has_character_literals: bool,
}

/// The comment or string that is open at the beginning of a line.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineState(Option<&'static Delimiter>);

const fn string(open: &'static str) -> Delimiter {
    Delimiter {
        open,
        close: open,
        kind: TokenKind::String,
        multiline: false,
        escapes: true,
    }
}

const fn long_string(open: &'static str) -> Delimiter {
    Delimiter {
        multiline: true,
        ..string(open)
    }
}

const fn comment(open: &'static str, close: &'static str) -> Delimiter {
    Delimiter {
        open,
        close,
        kind: TokenKind::Comment,
        multiline: true,
        escapes: false,
    }
}

#[rustfmt::skip]
const RUST: Grammar = Grammar {
    line_comments: &["//"],
    delimiters: &[comment("/*", "*/"), long_string("\"")],
    keywords: &[
        "Self", "as", "async", "await", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern",
        "false", "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return",
        "self", "static", "struct", "super", "trait", "true", "type", "union", "unsafe", "use", "where", "while",
    ],
    ignores_case: false,
    has_character_literals: true,
};

#[rustfmt::skip]
const PYTHON: Grammar = Grammar {
    line_comments: &["#"],
    delimiters: &[
        long_string("\"\"\""),
        long_string("'''"),
        string("\""),
        string("'"),
    ],
    keywords: &[
        "False", "None", "True", "and", "as", "assert", "async", "await", "break", "case", "class", "continue", "def",
        "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda",
        "match", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
    ],
    ignores_case: false,
    has_character_literals: false,
};

/// JavaScript and TypeScript.
#[rustfmt::skip]
const SCRIPT: Grammar = Grammar {
    line_comments: &["//"],
    delimiters: &[
        comment("/*", "*/"),
        long_string("`"),
        string("\""),
        string("'"),
    ],
    keywords: &[
        "abstract", "any", "as", "async", "await", "boolean", "break", "case", "catch", "class", "const", "continue",
        "debugger", "declare", "default", "delete", "do", "else", "enum", "export", "extends", "false", "finally",
        "for", "from", "function", "get", "if", "implements", "import", "in", "instanceof", "interface", "keyof",
        "let", "namespace", "new", "null", "number", "of", "private", "protected", "public", "readonly", "return",
        "set", "static", "string", "super", "switch", "this", "throw", "true", "try", "type", "typeof", "undefined",
        "unknown", "var", "void", "while", "yield",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const GO: Grammar = Grammar {
    line_comments: &["//"],
    delimiters: &[
        comment("/*", "*/"),
        Delimiter {
            escapes: false,
            ..long_string("`")
        },
        string("\""),
    ],
    keywords: &[
        "any", "bool", "break", "byte", "case", "chan", "const", "continue", "default", "defer", "else", "error",
        "fallthrough", "false", "for", "func", "go", "goto", "if", "import", "int", "interface", "map", "nil",
        "package", "range", "return", "rune", "select", "string", "struct", "switch", "true", "type", "var",
    ],
    ignores_case: false,
    has_character_literals: true,
};

/// C, C++, Java, C#, Kotlin, Swift and others.
#[rustfmt::skip]
const BRACES: Grammar = Grammar {
    line_comments: &["//"],
    delimiters: &[comment("/*", "*/"), long_string("\"\"\""), string("\"")],
    keywords: &[
        "abstract", "alignas", "auto", "bool", "boolean", "break", "byte", "case", "catch", "char", "class", "concept",
        "const", "constexpr", "continue", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
        "extends", "extern", "false", "final", "finally", "float", "for", "friend", "fun", "func", "goto", "guard",
        "if", "implements", "import", "in", "inline", "instanceof", "int", "interface", "internal", "let", "long",
        "mutable", "namespace", "new", "nil", "noexcept", "null", "nullptr", "object", "operator", "override",
        "package", "private", "protected", "public", "readonly", "record", "return", "sealed", "short", "signed",
        "sizeof", "static", "struct", "super", "switch", "template", "this", "throw", "throws", "true", "try",
        "typedef", "typename", "union", "unsigned", "using", "val", "var", "virtual", "void", "volatile", "when",
        "where", "while",
    ],
    ignores_case: false,
    has_character_literals: true,
};

#[rustfmt::skip]
const RUBY: Grammar = Grammar {
    line_comments: &["#"],
    delimiters: &[string("\""), string("'")],
    keywords: &[
        "alias", "and", "begin", "break", "case", "class", "def", "defined?", "do", "else", "elsif", "end", "ensure",
        "false", "for", "if", "in", "module", "next", "nil", "not", "or", "raise", "redo", "require", "rescue",
        "retry", "return", "self", "super", "then", "true", "undef", "unless", "until", "when", "while", "yield",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const PHP: Grammar = Grammar {
    line_comments: &["//", "#"],
    delimiters: &[comment("/*", "*/"), long_string("\""), long_string("'")],
    keywords: &[
        "abstract", "and", "array", "as", "break", "case", "catch", "class", "clone", "const", "continue", "declare",
        "default", "do", "echo", "else", "elseif", "enum", "extends", "false", "final", "finally", "fn", "for",
        "foreach", "function", "global", "if", "implements", "include", "instanceof", "interface", "match",
        "namespace", "new", "null", "or", "private", "protected", "public", "readonly", "require", "return", "static",
        "switch", "throw", "trait", "true", "try", "use", "var", "while", "yield",
    ],
    ignores_case: true,
    has_character_literals: false,
};

#[rustfmt::skip]
const SHELL: Grammar = Grammar {
    line_comments: &["#"],
    delimiters: &[
        long_string("\""),
        Delimiter {
            escapes: false,
            ..long_string("'")
        },
    ],
    keywords: &[
        "case", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function", "if", "in", "local", "return",
        "set", "then", "until", "while",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const SQL: Grammar = Grammar {
    line_comments: &["--"],
    delimiters: &[
        comment("/*", "*/"),
        Delimiter {
            escapes: false,
            ..long_string("'")
        },
    ],
    keywords: &[
        "add", "all", "alter", "and", "as", "asc", "begin", "between", "by", "cascade", "case", "check", "column",
        "commit", "constraint", "create", "default", "delete", "desc", "distinct", "drop", "else", "end", "exists",
        "foreign", "from", "full", "group", "having", "if", "in", "index", "inner", "insert", "into", "is", "join",
        "key", "left", "like", "limit", "not", "null", "offset", "on", "or", "order", "outer", "primary", "references",
        "returning", "right", "rollback", "select", "set", "table", "then", "union", "unique", "update", "using",
        "values", "view", "when", "where", "with",
    ],
    ignores_case: true,
    has_character_literals: false,
};

/// TOML, YAML, INI files, Dockerfiles and makefiles.
#[rustfmt::skip]
const SETTINGS: Grammar = Grammar {
    line_comments: &["#"],
    delimiters: &[
        long_string("\"\"\""),
        long_string("'''"),
        string("\""),
        string("'"),
    ],
    keywords: &[
        "false", "no", "null", "off", "on", "true", "yes",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const JSON: Grammar = Grammar {
    line_comments: &["//"],
    delimiters: &[string("\"")],
    keywords: &[
        "false", "null", "true",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const CSS: Grammar = Grammar {
    line_comments: &[],
    delimiters: &[comment("/*", "*/"), string("\""), string("'")],
    keywords: &[
        "important",
    ],
    ignores_case: false,
    has_character_literals: false,
};

#[rustfmt::skip]
const MARKUP: Grammar = Grammar {
    line_comments: &[],
    delimiters: &[comment("<!--", "-->"), long_string("\"")],
    keywords: &[],
    ignores_case: false,
    has_character_literals: false,
};

/// The grammar of a file, by its name.
pub fn grammar_of(path: &str) -> Option<&'static Grammar> {
    let name = path.rsplit('/').next().unwrap_or(path);
    if matches!(name, "Dockerfile" | "Makefile" | "makefile" | "GNUmakefile") {
        return Some(&SETTINGS);
    }
    let (_, extension) = name.rsplit_once('.')?;
    Some(match extension.to_ascii_lowercase().as_str() {
        "rs" => &RUST,
        "py" | "pyi" => &PYTHON,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => &SCRIPT,
        "go" => &GO,
        "c" | "h" | "cc" | "cpp" | "cxx" | "hh" | "hpp" | "java" | "cs" | "kt" | "kts"
        | "swift" | "scala" | "dart" | "groovy" | "gradle" | "proto" => &BRACES,
        "rb" | "rake" | "gemspec" => &RUBY,
        "php" => &PHP,
        "sh" | "bash" | "zsh" => &SHELL,
        "sql" => &SQL,
        "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "mk" => &SETTINGS,
        "json" | "jsonc" | "json5" => &JSON,
        "css" | "scss" | "less" => &CSS,
        "html" | "htm" | "xml" | "svg" | "vue" => &MARKUP,
        _ => return None,
    })
}

impl Grammar {
    /// The tokens of a line, in order. `state` is what the previous line left open; it is updated for the next one.
    pub fn tokens(&'static self, line: &str, state: &mut LineState) -> Vec<Token> {
        let mut tokens = Vec::new();
        let mut at = 0;
        if let Some(open) = state.0.take() {
            at = Self::end_of(open, line, 0, state);
            tokens.push((open.kind, 0..at));
        }
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            let is_after_word = line.get(..at).is_some_and(|it| it.ends_with(is_word));
            // `#` begins a comment only at the start of a word: `$#`, `a#b`.
            let begins_comment = |start: &&&str| {
                let is_hash = **start == "#";
                rest.starts_with(**start)
                    && !(is_hash && at > 0 && !line.get(..at).is_some_and(ends_with_space))
            };
            if self.line_comments.iter().any(|it| begins_comment(&it)) {
                tokens.push((TokenKind::Comment, at..line.len()));
                break;
            }
            if let Some(found) = self.delimiters.iter().find(|it| rest.starts_with(it.open)) {
                let end = Self::end_of(found, line, at + found.open.len(), state);
                tokens.push((found.kind, at..end));
                at = end;
                continue;
            }
            if self.has_character_literals
                && let Some(length) = character_literal(rest)
            {
                tokens.push((TokenKind::String, at..at + length));
                at += length;
                continue;
            }
            let word = rest.find(|it| !is_word(it)).unwrap_or(rest.len());
            if word == 0 {
                at += rest.chars().next().map_or(1, char::len_utf8);
                continue;
            }
            let text = rest.get(..word).unwrap_or_default();
            if text.starts_with(|it: char| it.is_ascii_digit()) && !is_after_word {
                tokens.push((TokenKind::Number, at..at + word));
            } else if self.is_keyword(text) {
                tokens.push((TokenKind::Keyword, at..at + word));
            }
            at += word;
        }
        tokens
    }

    /// The end of a comment or string whose content begins at `from`.
    fn end_of(open: &'static Delimiter, line: &str, from: usize, state: &mut LineState) -> usize {
        let mut at = from;
        while let Some(rest) = line.get(at..).filter(|rest| !rest.is_empty()) {
            if rest.starts_with(open.close) {
                return at + open.close.len();
            }
            let mut characters = rest.chars();
            let first = characters.next().map_or(1, char::len_utf8);
            at += first;
            if open.escapes && rest.starts_with('\\') {
                at += characters.next().map_or(0, char::len_utf8);
            }
        }
        if open.multiline {
            state.0 = Some(open);
        }
        line.len()
    }

    fn is_keyword(&self, word: &str) -> bool {
        let lower = |byte: u8| {
            if self.ignores_case {
                byte.to_ascii_lowercase()
            } else {
                byte
            }
        };
        let order = |keyword: &&str| keyword.bytes().cmp(word.bytes().map(lower));
        self.keywords.binary_search_by(order).is_ok()
    }
}

fn is_word(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

fn ends_with_space(text: &str) -> bool {
    text.ends_with(char::is_whitespace)
}

/// The length of a character literal at the beginning of a text: `'a'`, `'\n'`, and not the lifetime `'a`.
fn character_literal(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('\'')?;
    if inner.starts_with('\\') {
        let end = inner.get(2..)?.find('\'').filter(|end| *end <= 10)?;
        return Some(1 + 2 + end + 1);
    }
    let character = inner.chars().next()?;
    let rest = inner.get(character.len_utf8()..)?;
    rest.starts_with('\'').then(|| 2 + character.len_utf8())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The tokens of lines, with their texts.
    fn tokens(path: &str, lines: &[&str]) -> Vec<(TokenKind, String)> {
        let grammar = grammar_of(path).unwrap();
        let mut state = LineState::default();
        let each = lines.iter().flat_map(|line| {
            let tokens = grammar.tokens(line, &mut state);
            let text = |(kind, range): Token| (kind, line[range].to_owned());
            tokens.into_iter().map(text).collect::<Vec<_>>()
        });
        each.collect()
    }

    #[test]
    fn tokens_of_a_line_are_found() {
        use TokenKind as K;
        let expect = |path: &str, lines: &[&str], expected: &[(K, &str)]| {
            let found = tokens(path, lines);
            let found: Vec<_> = found.iter().map(|it| (it.0, it.1.as_str())).collect();
            assert_eq!(found, expected, "{lines:?}");
        };
        expect(
            "a/b.rs",
            &["pub fn a<'a>(x: &'a str) { 'x' + \"no \\\" end\" + 1_000 } // done"],
            &[
                (K::Keyword, "pub"),
                (K::Keyword, "fn"),
                (K::String, "'x'"),
                (K::String, "\"no \\\" end\""),
                (K::Number, "1_000"),
                (K::Comment, "// done"),
            ],
        );
        expect(
            "a.py",
            &["x1 = '''one # not", "two''' + y # yes", "s = 'open"],
            &[
                (K::String, "'''one # not"),
                (K::String, "two'''"),
                (K::Comment, "# yes"),
                (K::String, "'open"),
            ],
        );
        expect("a.sh", &["echo $# a#b"], &[]);
        expect(
            "a.sql",
            &["SELECT 1"],
            &[(K::Keyword, "SELECT"), (K::Number, "1")],
        );
        assert!(grammar_of("README").is_none() && grammar_of("a.unknown").is_none());
    }

    #[test]
    fn keywords_are_in_order_and_found() {
        for name in [
            "a.rs", "a.py", "a.ts", "a.go", "a.c", "a.rb", "a.php", "a.sh", "a.sql", "a.toml",
            "a.json", "a.css", "a.html",
        ] {
            let grammar = grammar_of(name).unwrap();
            assert!(grammar.keywords.is_sorted(), "{name}");
            for word in grammar.keywords {
                let is_found = |word: &str| grammar.is_keyword(word);
                assert!(is_found(word), "{name}: {word}");
                let upper = word.to_ascii_uppercase();
                let is_own = grammar.keywords.contains(&upper.as_str());
                assert_eq!(is_found(&upper), grammar.ignores_case || is_own, "{upper}");
            }
        }
    }

    #[test]
    fn tokens_of_hostile_lines_are_within_the_line() {
        let pieces = ["'", "\\", "\"", "/*", "ü", "`", "#", "'''", "0"];
        for a in pieces {
            for b in pieces {
                for c in pieces {
                    let line = format!("{a}{b}{c}");
                    for path in ["a.rs", "a.py", "a.ts", "a.php", "a.html"] {
                        for (_, text) in tokens(path, &[&line, &line]) {
                            assert!(line.contains(&text));
                        }
                    }
                }
            }
        }
    }
}
