//! Three views of a source text, line by line: code without comments and string contents; code with strings (except
//! multi-line ones, which are prose or data); comments. Expressions in strings (`f"{…}"`, `${…}`, `#{…}`) are code.
//!
//! This is not a parser: it knows just enough of each language to distinguish a trick from a text about the trick. It
//! accepts any input and takes linear time; an unclosed string or comment ends with the text.

use super::text::SourceLanguage;

/// Lines of the same number in every view.
#[derive(Debug, Default)]
pub(crate) struct SourceViews {
    /// Comments and contents of strings are replaced by blanks.
    pub(crate) code: Vec<String>,
    /// Comments and contents of multi-line strings are replaced by blanks.
    pub(super) text: Vec<String>,
    /// Everything except comments is blank.
    pub(super) comments: Vec<String>,
}

#[derive(Clone, Copy)]
struct QuoteSyntax {
    open: &'static str,
    close: &'static str,
    escapes: bool,
    many_lines: bool,
    /// Begins an expression in the string, which `}` ends.
    placeholder: Option<&'static str>,
}

const fn quote(open: &'static str, close: &'static str) -> QuoteSyntax {
    QuoteSyntax {
        open,
        close,
        escapes: true,
        many_lines: false,
        placeholder: None,
    }
}

const fn long(open: &'static str, close: &'static str, escapes: bool) -> QuoteSyntax {
    QuoteSyntax {
        open,
        close,
        escapes,
        many_lines: true,
        placeholder: None,
    }
}

impl QuoteSyntax {
    const fn with_placeholders(self, placeholder: &'static str) -> Self {
        Self {
            placeholder: Some(placeholder),
            ..self
        }
    }
}

struct LanguageSyntax {
    /// Begin a comment to the end of the line.
    line: &'static [&'static str],
    /// Ends such a comment before the end of the line.
    line_end: Option<&'static str>,
    block: Option<(&'static str, &'static str)>,
    quotes: &'static [QuoteSyntax],
    /// Whether `f` before a quote makes its braces placeholders.
    has_f_strings: bool,
}

const SLASHES: Option<(&str, &str)> = Some(("/*", "*/"));

fn syntax(language: SourceLanguage) -> LanguageSyntax {
    let (line, block, quotes): (&[&str], _, &[QuoteSyntax]) = match language {
        SourceLanguage::Python | SourceLanguage::Elixir => (
            &["#"],
            None,
            const {
                &[
                    long("\"\"\"", "\"\"\"", true),
                    long("'''", "'''", true),
                    quote("\"", "\""),
                    quote("'", "'"),
                ]
            },
        ),
        SourceLanguage::JavaScript => (
            &["//"],
            SLASHES,
            const {
                &[
                    quote("\"", "\""),
                    quote("'", "'"),
                    long("`", "`", true).with_placeholders("${"),
                ]
            },
        ),
        SourceLanguage::Go => (
            &["//"],
            SLASHES,
            const { &[quote("\"", "\""), quote("'", "'"), long("`", "`", true)] },
        ),
        SourceLanguage::Rust => (
            &["//"],
            SLASHES,
            const {
                &[
                    long("r##\"", "\"##", false),
                    long("r#\"", "\"#", false),
                    long("r\"", "\"", false),
                    quote("\"", "\""),
                ]
            },
        ),
        SourceLanguage::Ruby => (
            &["#"],
            None,
            const { &[quote("\"", "\"").with_placeholders("#{"), quote("'", "'")] },
        ),
        SourceLanguage::Php => (
            &["//", "#"],
            SLASHES,
            const { &[quote("\"", "\""), quote("'", "'")] },
        ),
        SourceLanguage::Curly | SourceLanguage::C => (
            &["//"],
            SLASHES,
            const {
                &[
                    long("\"\"\"", "\"\"\"", true),
                    quote("\"", "\""),
                    quote("'", "'"),
                ]
            },
        ),
        SourceLanguage::Shell | SourceLanguage::Yaml => (&["#"], None, &[]),
    };
    LanguageSyntax {
        line,
        line_end: (language == SourceLanguage::Php).then_some("?>"),
        block,
        quotes,
        has_f_strings: language == SourceLanguage::Python,
    }
}

#[derive(Clone, Copy)]
enum LexerState {
    Code,
    LineComment,
    BlockComment(&'static str),
    String(QuoteSyntax),
    /// What follows `:` in a placeholder.
    FormatSpecification,
}

/// Which views show a character.
#[derive(Clone, Copy, PartialEq)]
enum CharVisibility {
    Everywhere,
    InText,
    InComments,
    Nowhere,
}

impl SourceViews {
    pub(crate) fn of(language: SourceLanguage, source: &str) -> Self {
        let mut lexer = Lexer {
            syntax: syntax(language),
            state: LexerState::Code,
            placeholders: Vec::new(),
        };
        let mut views = Self::default();
        for line in source.lines() {
            views.open_line();
            let mut at = 0;
            while let Some(first) = line[at..].chars().next() {
                let (taken, shown) = lexer.read_token(&line[..at], &line[at..], first);
                views.show(&line[at..at + taken], shown);
                at += taken;
            }
            lexer.end_line(line);
        }
        views
    }

    fn open_line(&mut self) {
        for view in [&mut self.code, &mut self.text, &mut self.comments] {
            view.push(String::new());
        }
    }

    fn show(&mut self, text: &str, shown: CharVisibility) {
        for (view, visible) in [
            (&mut self.code, shown == CharVisibility::Everywhere),
            (
                &mut self.text,
                matches!(shown, CharVisibility::Everywhere | CharVisibility::InText),
            ),
            (&mut self.comments, shown == CharVisibility::InComments),
        ] {
            let Some(line) = view.last_mut() else { return };
            if visible {
                line.push_str(text);
            } else {
                line.extend(text.chars().map(|_| ' '));
            }
        }
    }
}

/// An expression within a string.
struct Placeholder {
    /// The state after it.
    outer: LexerState,
    /// Number of its open brackets.
    depth: usize,
}

struct Lexer {
    syntax: LanguageSyntax,
    state: LexerState,
    /// Those that are open, each within the one before.
    placeholders: Vec<Placeholder>,
}

impl Lexer {
    /// Reads the token at the start of `rest`: returns its length, and where it is shown.
    fn read_token(&mut self, preceding: &str, rest: &str, first: char) -> (usize, CharVisibility) {
        match self.state {
            LexerState::Code => self
                .read_bracket(first)
                .unwrap_or_else(|| self.open(preceding, rest, first)),
            LexerState::LineComment => {
                let end = self.syntax.line_end;
                let end = end.and_then(|mark| Some(rest.find(mark)? + mark.len()));
                if end.is_some() {
                    self.state = LexerState::Code;
                }
                (end.unwrap_or(rest.len()), CharVisibility::InComments)
            }
            LexerState::BlockComment(close) if rest.starts_with(close) => {
                self.state = LexerState::Code;
                (close.len(), CharVisibility::InComments)
            }
            LexerState::BlockComment(_) => (first.len_utf8(), CharVisibility::InComments),
            LexerState::String(quote) if rest.starts_with(quote.close) => {
                self.state = LexerState::Code;
                (quote.close.len(), CharVisibility::Everywhere)
            }
            LexerState::String(quote) => {
                let shown = if quote.many_lines {
                    CharVisibility::Nowhere
                } else {
                    CharVisibility::InText
                };
                // Two braces are one of the text.
                let is_brace = quote.placeholder == Some("{") && rest.starts_with("{{");
                let placeholder = quote.placeholder.filter(|it| rest.starts_with(it));
                if let Some(placeholder) = placeholder.filter(|_| !is_brace) {
                    self.open_placeholder();
                    return (placeholder.len(), shown);
                }
                let is_pair = is_brace || (quote.escapes && first == '\\');
                let length = rest.chars().take(1 + usize::from(is_pair));
                (length.map(char::len_utf8).sum(), shown)
            }
            LexerState::FormatSpecification => {
                match first {
                    '{' => self.open_placeholder(),
                    '}' => self.close_placeholder(),
                    _ => {}
                }
                (first.len_utf8(), CharVisibility::InText)
            }
        }
    }

    fn open_placeholder(&mut self) {
        self.placeholders.push(Placeholder {
            outer: self.state,
            depth: 0,
        });
        self.state = LexerState::Code;
    }

    fn close_placeholder(&mut self) {
        let ended = self.placeholders.pop();
        self.state = ended.map_or(LexerState::Code, |it| it.outer);
    }

    /// Reads a bracket of a placeholder's expression, or what ends the expression.
    fn read_bracket(&mut self, first: char) -> Option<(usize, CharVisibility)> {
        let placeholder = self.placeholders.last_mut()?;
        match first {
            '(' | '[' | '{' => placeholder.depth += 1,
            '}' if placeholder.depth == 0 => {
                self.close_placeholder();
                return Some((1, CharVisibility::InText));
            }
            ')' | ']' | '}' => placeholder.depth = placeholder.depth.saturating_sub(1),
            ':' if placeholder.depth == 0 && self.syntax.has_f_strings => {
                self.state = LexerState::FormatSpecification;
                return Some((1, CharVisibility::InText));
            }
            _ => return None,
        }
        Some((1, CharVisibility::Everywhere))
    }

    /// Reads the token that begins at this position in code.
    fn open(&mut self, preceding: &str, rest: &str, first: char) -> (usize, CharVisibility) {
        let syntax = &self.syntax;
        let before = preceding.chars().next_back().unwrap_or('\n');
        // `$#` and `a#b` in a shell are not comments: `#` begins one only after a blank.
        let after_blank = before.is_whitespace() || before == ';';
        for mark in syntax.line {
            if rest.starts_with(mark) && (*mark != "#" || after_blank || !syntax.quotes.is_empty())
            {
                self.state = LexerState::LineComment;
                return (mark.len(), CharVisibility::InComments);
            }
        }
        if let Some((open, close)) = syntax.block.filter(|(open, _)| rest.starts_with(open)) {
            self.state = LexerState::BlockComment(close);
            return (open.len(), CharVisibility::InComments);
        }
        for quote in syntax.quotes {
            let is_word_end = quote.open.starts_with('r') && before.is_alphanumeric();
            if rest.starts_with(quote.open) && !is_word_end {
                let is_f_string = syntax.has_f_strings && ends_with_f_prefix(preceding);
                let quote = if is_f_string {
                    quote.with_placeholders("{")
                } else {
                    *quote
                };
                self.state = LexerState::String(quote);
                return (quote.open.len(), CharVisibility::Everywhere);
            }
        }
        (first.len_utf8(), CharVisibility::Everywhere)
    }

    /// Ends what does not continue on the next line.
    fn end_line(&mut self, line: &str) {
        let ends = match self.state {
            LexerState::LineComment => true,
            LexerState::String(quote) => !quote.many_lines,
            LexerState::Code | LexerState::BlockComment(_) | LexerState::FormatSpecification => {
                false
            }
        };
        if ends && !line.ends_with('\\') {
            self.state = LexerState::Code;
        }
    }
}

/// Whether code ends with the prefix of a formatted string: `f`, `rf` or `t`, in any order and case.
fn ends_with_f_prefix(code: &str) -> bool {
    let word = code
        .chars()
        .rev()
        .take_while(|it| it.is_alphanumeric() || *it == '_')
        .take(3);
    let word: String = word.map(|it| it.to_ascii_lowercase()).collect();
    matches!(word.as_str(), "f" | "t" | "rf" | "fr" | "rt" | "tr")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mask_separates_comments_and_strings() {
        let source = "x = 'exit(0)'  # exit(1)\n\"\"\"exit(2)\nexit(3)\"\"\"\nexit(4)\n";
        let views = SourceViews::of(SourceLanguage::Python, source);
        let found = |view: &[String]| {
            let all = view.join("\n");
            (0..5)
                .filter(|n| all.contains(&format!("exit({n})")))
                .collect::<Vec<_>>()
        };
        assert_eq!(found(&views.code), [4]);
        assert_eq!(found(&views.text), [0, 4]);
        assert_eq!(found(&views.comments), [1]);
        assert_eq!(views.code.len(), 4);
    }

    #[test]
    fn mask_shows_expressions_in_strings() {
        let code = |language, source: &str| SourceViews::of(language, source).code.join("\n");
        let python = code(
            SourceLanguage::Python,
            "x = f'a{b[\"k\"]:>{w}x}c' + rf\"{{d}}{e(\"g\")!r:'<9}h\"; i\n'{j}'; f\"\"\"k\n{l}m\"\"\"",
        );
        for shown in ["b[", "w", "e(", "; i", "l"] {
            assert!(python.contains(shown), "{shown} in {python}");
        }
        for hidden in ['a', 'k', 'c', 'd', 'g', 'h', 'j', 'm', '<'] {
            assert!(!python.contains(hidden), "{hidden} in {python}");
        }
        let script = code(
            SourceLanguage::JavaScript,
            "`a ${exit({b: `c${d}`})} e\nf \\${g}`; '${h}'; i",
        );
        assert!(script.contains("exit({b: `"), "{script}");
        assert!(
            script.contains("d `})") && script.ends_with("; i"),
            "{script}"
        );
        assert!(!script.contains(['a', 'c', 'f', 'g', 'h']), "{script}");
        let ruby = code(SourceLanguage::Ruby, "\"a#{b(\"c\")}d\" if e # f");
        assert!(ruby.contains("b(\" \")") && ruby.contains("if e"), "{ruby}");
        assert!(!ruby.contains(['a', 'c', 'd']), "{ruby}");
    }

    #[test]
    fn mask_ends_block_comments_and_raw_strings() {
        let source = "/* a\n b */ let x = r#\"c \" d\"#; let y = 'z'; e";
        let views = SourceViews::of(SourceLanguage::Rust, source);
        assert!(
            views.code[1].ends_with("let y = 'z'; e"),
            "{:?}",
            views.code
        );
        assert!(!views.code.concat().contains(['b', 'c', 'd']));
        let shell = SourceViews::of(SourceLanguage::Shell, "echo $# it's || true # no");
        assert_eq!(shell.code[0].trim_end(), "echo $# it's || true");
    }
}
