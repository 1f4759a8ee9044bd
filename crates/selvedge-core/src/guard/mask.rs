//! A source text seen three ways, line by line: its code without comments and what strings hold,
//! its code with strings (but without those of many lines, which are prose or data), its comments.
//!
//! No parser: enough of each language to tell a trick from a text about the trick. It is total and
//! linear; a string or a comment that is never closed ends with the text.

use super::text::Language;

/// Lines of the same number in every view.
#[derive(Debug, Default)]
pub(crate) struct Views {
    /// Comments and the insides of strings are blanks.
    pub(crate) code: Vec<String>,
    /// Comments and the insides of strings of many lines are blanks.
    pub(super) text: Vec<String>,
    /// All but comments is blank.
    pub(super) comments: Vec<String>,
}

struct Quote {
    open: &'static str,
    close: &'static str,
    escapes: bool,
    many_lines: bool,
}

const fn quote(open: &'static str, close: &'static str) -> Quote {
    Quote {
        open,
        close,
        escapes: true,
        many_lines: false,
    }
}

const fn long(open: &'static str, close: &'static str, escapes: bool) -> Quote {
    Quote {
        open,
        close,
        escapes,
        many_lines: true,
    }
}

struct Syntax {
    /// Begin a comment to the end of the line.
    line: &'static [&'static str],
    block: Option<(&'static str, &'static str)>,
    quotes: &'static [Quote],
}

const SLASHES: Option<(&str, &str)> = Some(("/*", "*/"));

fn syntax(language: Language) -> Syntax {
    let (line, block, quotes): (&[&str], _, &[Quote]) = match language {
        Language::Python | Language::Elixir => (
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
        Language::JavaScript | Language::Go => (
            &["//"],
            SLASHES,
            const { &[quote("\"", "\""), quote("'", "'"), long("`", "`", true)] },
        ),
        Language::Rust => (
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
        Language::Ruby => (
            &["#"],
            None,
            const { &[quote("\"", "\""), quote("'", "'")] },
        ),
        Language::Php => (
            &["//", "#"],
            SLASHES,
            const { &[quote("\"", "\""), quote("'", "'")] },
        ),
        Language::Curly | Language::C => (
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
        Language::Shell | Language::Yaml => (&["#"], None, &[]),
    };
    Syntax {
        line,
        block,
        quotes,
    }
}

#[derive(Clone, Copy)]
enum State {
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
enum Shown {
    Everywhere,
    InText,
    InComments,
    Nowhere,
}

impl Views {
    pub(crate) fn of(language: Language, source: &str) -> Self {
        let syntax = syntax(language);
        let mut views = Self::default();
        let mut state = State::Code;
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

    fn show(&mut self, text: &str, shown: Shown) {
        for (view, visible) in [
            (&mut self.code, shown == Shown::Everywhere),
            (
                &mut self.text,
                matches!(shown, Shown::Everywhere | Shown::InText),
            ),
            (&mut self.comments, shown == Shown::InComments),
        ] {
            let Some(line) = view.last_mut() else { return };
            if visible {
                line.push_str(text);
            } else {
                line.extend(text.chars().map(|_| ' '));
            }
        }
    }

    /// Reads one line and gives the state in which the next one begins.
    fn read_line(
        &mut self,
        line: &str,
        mut state: State,
        syntax: &Syntax,
        before: &mut char,
    ) -> State {
        let mut rest = line;
        *before = '\n';
        while let Some(first) = rest.chars().next() {
            let (taken, shown, next) = match state {
                State::Code => open(rest, *before, syntax),
                State::LineComment => (rest.len(), Shown::InComments, state),
                State::BlockComment(close) if rest.starts_with(close) => {
                    (close.len(), Shown::InComments, State::Code)
                }
                State::BlockComment(_) => (first.len_utf8(), Shown::InComments, state),
                State::String { close, .. } if rest.starts_with(close) => {
                    (close.len(), Shown::Everywhere, State::Code)
                }
                State::String {
                    escapes,
                    many_lines,
                    ..
                } => {
                    let escaped = escapes && first == '\\';
                    let length = rest.chars().take(1 + usize::from(escaped));
                    let shown = if many_lines {
                        Shown::Nowhere
                    } else {
                        Shown::InText
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
            State::LineComment
            | State::String {
                many_lines: false, ..
            } if *before != '\\' => State::Code,
            _ => state,
        }
    }
}

/// What begins here, in the midst of code.
fn open(rest: &str, before: char, syntax: &Syntax) -> (usize, Shown, State) {
    // `$#` and `a#b` of a shell, `x//y` of nobody: a hash begins a comment after a blank only.
    let after_blank = before.is_whitespace() || before == ';';
    for mark in syntax.line {
        if rest.starts_with(mark) && (*mark != "#" || after_blank || !syntax.quotes.is_empty()) {
            return (mark.len(), Shown::InComments, State::LineComment);
        }
    }
    if let Some((open, close)) = syntax.block.filter(|(open, _)| rest.starts_with(open)) {
        return (open.len(), Shown::InComments, State::BlockComment(close));
    }
    for quote in syntax.quotes {
        let is_word_end = quote.open.starts_with('r') && before.is_alphanumeric();
        if rest.starts_with(quote.open) && !is_word_end {
            let state = State::String {
                close: quote.close,
                escapes: quote.escapes,
                many_lines: quote.many_lines,
            };
            return (quote.open.len(), Shown::Everywhere, state);
        }
    }
    let length = rest.chars().next().map_or(0, char::len_utf8);
    (length, Shown::Everywhere, State::Code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_strings_are_told_from_code() {
        let source = "x = 'exit(0)'  # exit(1)\n\"\"\"exit(2)\nexit(3)\"\"\"\nexit(4)\n";
        let views = Views::of(Language::Python, source);
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
    fn block_comments_and_raw_strings_end() {
        let source = "/* a\n b */ let x = r#\"c \" d\"#; let y = 'z'; e";
        let views = Views::of(Language::Rust, source);
        assert!(
            views.code[1].ends_with("let y = 'z'; e"),
            "{:?}",
            views.code
        );
        assert!(!views.code.concat().contains(['b', 'c', 'd']));
        let shell = Views::of(Language::Shell, "echo $# it's || true # no");
        assert_eq!(shell.code[0].trim_end(), "echo $# it's || true");
    }
}
