//! Three views of a source text, line by line: code without comments and string contents; code with strings (except
//! multi-line ones, which are prose or data); comments.
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

struct QuoteSyntax {
    open: &'static str,
    close: &'static str,
    escapes: bool,
    many_lines: bool,
}

const fn quote(open: &'static str, close: &'static str) -> QuoteSyntax {
    QuoteSyntax {
        open,
        close,
        escapes: true,
        many_lines: false,
    }
}

const fn long(open: &'static str, close: &'static str, escapes: bool) -> QuoteSyntax {
    QuoteSyntax {
        open,
        close,
        escapes,
        many_lines: true,
    }
}

struct LanguageSyntax {
    /// Begin a comment to the end of the line.
    line: &'static [&'static str],
    /// Ends such a comment before the end of the line.
    line_end: Option<&'static str>,
    block: Option<(&'static str, &'static str)>,
    quotes: &'static [QuoteSyntax],
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
        SourceLanguage::JavaScript | SourceLanguage::Go => (
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
            const { &[quote("\"", "\""), quote("'", "'")] },
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
    }
}

#[derive(Clone, Copy)]
enum LexerState {
    Code,
    LineComment,
    BlockComment(&'static str),
    String {
        close: &'static str,
        escapes: bool,
        many_lines: bool,
    },
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
        let syntax = syntax(language);
        let mut views = Self::default();
        let mut state = LexerState::Code;
        let mut before = '\n';
        for line in source.lines() {
            views.open_line();
            state = views.read_line(line, state, &syntax, &mut before);
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

    /// Reads one line and returns the state at the start of the next one.
    fn read_line(
        &mut self,
        line: &str,
        mut state: LexerState,
        syntax: &LanguageSyntax,
        before: &mut char,
    ) -> LexerState {
        let mut rest = line;
        *before = '\n';
        while let Some(first) = rest.chars().next() {
            let (taken, shown, next) = match state {
                LexerState::Code => open(rest, *before, syntax),
                LexerState::LineComment => match syntax
                    .line_end
                    .and_then(|mark| Some(rest.find(mark)? + mark.len()))
                {
                    Some(end) => (end, CharVisibility::InComments, LexerState::Code),
                    None => (rest.len(), CharVisibility::InComments, state),
                },
                LexerState::BlockComment(close) if rest.starts_with(close) => {
                    (close.len(), CharVisibility::InComments, LexerState::Code)
                }
                LexerState::BlockComment(_) => {
                    (first.len_utf8(), CharVisibility::InComments, state)
                }
                LexerState::String { close, .. } if rest.starts_with(close) => {
                    (close.len(), CharVisibility::Everywhere, LexerState::Code)
                }
                LexerState::String {
                    escapes,
                    many_lines,
                    ..
                } => {
                    let escaped = escapes && first == '\\';
                    let length = rest.chars().take(1 + usize::from(escaped));
                    let shown = if many_lines {
                        CharVisibility::Nowhere
                    } else {
                        CharVisibility::InText
                    };
                    (length.map(char::len_utf8).sum(), shown, state)
                }
            };
            let (now, later) = rest.split_at(taken);
            self.show(now, shown);
            *before = now.chars().next_back().unwrap_or(first);
            (rest, state) = (later, next);
        }
        match state {
            LexerState::LineComment
            | LexerState::String {
                many_lines: false, ..
            } if *before != '\\' => LexerState::Code,
            _ => state,
        }
    }
}

/// Determines the token that begins at this position in code.
fn open(rest: &str, before: char, syntax: &LanguageSyntax) -> (usize, CharVisibility, LexerState) {
    // `$#` and `a#b` in a shell are not comments: `#` begins one only after a blank.
    let after_blank = before.is_whitespace() || before == ';';
    for mark in syntax.line {
        if rest.starts_with(mark) && (*mark != "#" || after_blank || !syntax.quotes.is_empty()) {
            return (
                mark.len(),
                CharVisibility::InComments,
                LexerState::LineComment,
            );
        }
    }
    if let Some((open, close)) = syntax.block.filter(|(open, _)| rest.starts_with(open)) {
        return (
            open.len(),
            CharVisibility::InComments,
            LexerState::BlockComment(close),
        );
    }
    for quote in syntax.quotes {
        let is_word_end = quote.open.starts_with('r') && before.is_alphanumeric();
        if rest.starts_with(quote.open) && !is_word_end {
            let state = LexerState::String {
                close: quote.close,
                escapes: quote.escapes,
                many_lines: quote.many_lines,
            };
            return (quote.open.len(), CharVisibility::Everywhere, state);
        }
    }
    let length = rest.chars().next().map_or(0, char::len_utf8);
    (length, CharVisibility::Everywhere, LexerState::Code)
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
