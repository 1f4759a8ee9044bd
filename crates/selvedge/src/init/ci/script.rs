//! Reads shell scripts into their commands, without running or emulating anything: commands that a condition or a loop
//! decides about are marked, and what joins several programs in another way than `&&` and `;` stays one command.

/// A longer line is one command.
const MAX_LINE_BYTES: usize = 2_000;
/// Maximum number of lines that continue one.
const MAX_CONTINUED_LINES: usize = 50;
/// Maximum number of parentheses in what is read as subshells.
const MAX_PARENTHESES: usize = 8;

/// The name of a directory whose path is longer.
const UNKNOWN_DIRECTORY: &str = "$PWD";
const MAX_DIRECTORY_BYTES: usize = 1_000;

/// Beginnings of commands that other commands only follow if they succeed.
const CONDITIONS: [&str; 4] = ["[ ", "[[ ", "test ", "command -v "];

/// A command of a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    pub(super) run: String,
    /// The directory that the script has entered before it, relative to the one that the script starts in; empty for
    /// that.
    pub(super) directory: String,
    /// Whether a condition, a loop or a call decides whether it runs.
    pub(super) is_conditional: bool,
}

/// The commands of a script, in their order.
pub(super) fn script_commands(script: &str) -> Vec<ScriptCommand> {
    let mut reader = ScriptReader::default();
    for line in logical_lines(script) {
        if line.len() > MAX_LINE_BYTES {
            reader.push(&line);
            continue;
        }
        for part in split_outside_quotes(&line, ";") {
            reader.read_list(part);
        }
    }
    reader.commands
}

/// The directory `to`, as named in the directory `base`.
pub(super) fn join_directories(base: &str, to: &str) -> String {
    if base.is_empty() || to.starts_with(['/', '$', '~']) {
        return normalise_directory(to);
    }
    normalise_directory(&format!("{base}/{to}"))
}

/// A directory without the parts of its name that mean nothing; empty for the current one.
fn normalise_directory(directory: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in directory.split('/') {
        match part {
            "." => {}
            "" if !parts.is_empty() || !directory.starts_with('/') => {}
            ".." if parts.last().is_some_and(|last| !matches!(*last, ".." | "")) => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Lines without comments and the texts of here-documents, joined where a quote or an operator continues.
fn logical_lines(script: &str) -> Vec<String> {
    let script = script.replace("\r\n", "\n").replace("\\\n", " ");
    let mut lines = script.lines();
    let mut logical = Vec::new();
    while let Some(line) = lines.next() {
        let mut line = without_comment(line.trim()).to_owned();
        let mut ahead = lines.clone();
        for _ in 0..MAX_CONTINUED_LINES {
            let Some(separator) = continuation(&line) else {
                break;
            };
            let Some(next) = ahead.next() else {
                break;
            };
            line.push_str(separator);
            line.push_str(match separator {
                "\n" => next.trim(),
                _ => without_comment(next.trim()),
            });
        }
        // A quote that is never closed is not one.
        let is_whole = continuation(&line).is_none();
        if is_whole {
            lines = ahead;
        } else {
            line.truncate(line.find('\n').unwrap_or(line.len()));
        }
        if let Some(end) = here_document_end(&line) {
            let _ = lines.by_ref().find(|line| line.trim() == end);
        }
        if !line.is_empty() {
            logical.push(line);
        }
    }
    logical
}

/// What joins a line with the next one, if the latter continues it.
fn continuation(line: &str) -> Option<&'static str> {
    let mask = QuoteMask::of(line);
    if mask.is_open {
        return Some("\n");
    }
    (mask.text.ends_with('|') || mask.text.ends_with("&&")).then_some(" ")
}

/// The line that ends the here-document that a line begins.
fn here_document_end(line: &str) -> Option<String> {
    let mask = QuoteMask::of(line).text;
    let start = mask.find("<<")? + 2;
    let rest = line[start..].trim_start_matches('-').trim_start();
    let end = rest.split([' ', ';', '|', '&', ')', '>']).next()?;
    let end = end.trim_matches(['"', '\'', '\\']);
    (!end.is_empty() && !end.starts_with('<')).then(|| end.to_owned())
}

/// A line of a shell script without the comment at its end.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    match QuoteMask::of(line).text.find(" #") {
        Some(start) => line[..start].trim_end(),
        None => line,
    }
}

/// The parts of a text between the separators that are not quoted.
pub(super) fn split_outside_quotes<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let mask = QuoteMask::of(text).text;
    let mut parts = Vec::new();
    let mut start = 0;
    for (index, _) in mask.match_indices(separator) {
        parts.push(text[start..index].trim());
        start = index + separator.len();
    }
    parts.push(text[start..].trim());
    parts
}

/// A text of the same length with a letter in the place of everything that is quoted or substituted.
struct QuoteMask {
    text: String,
    /// Whether a quote or a substitution is open at the end.
    is_open: bool,
}

impl QuoteMask {
    fn of(text: &str) -> Self {
        let mut mask = String::with_capacity(text.len());
        // The characters that end what is open.
        let mut open: Vec<char> = Vec::new();
        let mut last = None;
        for c in text.chars() {
            let innermost = open.last().copied();
            let is_escaped = last == Some('\\') && innermost != Some('\'');
            let was_open = innermost.is_some();
            if !is_escaped {
                match (c, innermost) {
                    (c, Some(end)) if c == end => {
                        open.pop();
                    }
                    ('"' | '\'' | '`', None) | ('"' | '`', Some(')' | '}')) => open.push(c),
                    ('(' | '{', Some(')' | '}')) => open.push(closing(c)),
                    ('(' | '{', None | Some('"')) if last == Some('$') => open.push(closing(c)),
                    _ => {}
                }
            }
            if was_open || !open.is_empty() || is_escaped {
                mask.extend(std::iter::repeat_n('x', c.len_utf8()));
            } else {
                mask.push(c);
            }
            last = (!is_escaped).then_some(c);
        }
        Self {
            text: mask,
            is_open: !open.is_empty(),
        }
    }
}

fn closing(open: char) -> char {
    if open == '(' { ')' } else { '}' }
}

/// A block that is open: its commands depend on something.
enum Block {
    Case,
    /// The directory around it.
    Subshell(String),
    Other,
}

#[derive(Default)]
struct ScriptReader {
    commands: Vec<ScriptCommand>,
    blocks: Vec<Block>,
    directory: String,
    /// For `cd -` and `popd`.
    previous: String,
}

impl ScriptReader {
    /// Reads what is between two line ends or semicolons.
    fn read_list(&mut self, text: &str) {
        let Some(text) = self.read_keywords(text) else {
            return;
        };
        let mask = QuoteMask::of(text).text;
        let (opened, closed) = (mask.matches('(').count(), mask.matches(')').count());
        if opened + closed > MAX_PARENTHESES {
            self.push(text);
            return;
        }
        if text.starts_with('(') && (opened > closed || opened == closed && mask.ends_with(')')) {
            self.blocks.push(Block::Subshell(self.directory.clone()));
            let inner = &text[1..];
            self.read_list(inner);
            return;
        }
        if mask.ends_with(['{', '(']) {
            self.blocks.push(Block::Other);
            return;
        }
        if mask.ends_with(')') && closed > opened {
            self.read_list(&text[..text.len() - 1]);
            self.end_block();
            return;
        }
        self.read_chain(text);
    }

    /// Reads the words that begin or end a block; returns the command behind them, if there is one.
    fn read_keywords<'t>(&mut self, text: &'t str) -> Option<&'t str> {
        let mut text = text.trim();
        if let Some(Block::Case) = self.blocks.last()
            && let Some(end) = QuoteMask::of(text).text.find(')')
        {
            text = text[end + 1..].trim_start();
        }
        loop {
            let first = text.split_whitespace().next()?;
            match first {
                "then" | "else" | "elif" | "do" => {}
                "if" | "while" | "until" | "{" => self.blocks.push(Block::Other),
                "(" => self.blocks.push(Block::Subshell(self.directory.clone())),
                "case" => {
                    self.blocks.push(Block::Case);
                    let (_, arm) = text.split_once(" in ")?;
                    let end = QuoteMask::of(arm).text.find(')')?;
                    text = arm[end + 1..].trim_start();
                    continue;
                }
                "for" | "select" | "function" => {
                    self.blocks.push(Block::Other);
                    return None;
                }
                "fi" | "done" | "esac" | "}" | ")" => {
                    self.end_block();
                    return None;
                }
                _ => return Some(text),
            }
            text = text[first.len()..].trim_start();
        }
    }

    fn end_block(&mut self) {
        if let Some(Block::Subshell(directory)) = self.blocks.pop() {
            self.directory = directory;
        }
    }

    /// Reads commands that are joined by `&&`. If others join them, too, they are one command.
    fn read_chain(&mut self, text: &str) {
        // `cd DIRECTORY || exit`
        if let [command, _] = split_outside_quotes(text, "||").as_slice()
            && self.change_directory(command)
        {
            return;
        }
        let mut rest = text;
        loop {
            let (first, others) = match QuoteMask::of(rest).text.find("&&") {
                Some(end) => (rest[..end].trim(), rest[end + 2..].trim()),
                None => (rest, ""),
            };
            if !self.change_directory(first) {
                break;
            }
            rest = others;
        }
        let parts = split_outside_quotes(rest, "&&");
        let is_single = |part: &&str| !QuoteMask::of(part).text.contains(['|', '&', '(', ')']);
        if !parts.iter().all(is_single) {
            self.push(rest);
            return;
        }
        let depth = self.blocks.len();
        for part in parts {
            if !self.change_directory(part) {
                self.push(part);
            }
            if CONDITIONS.iter().any(|start| part.starts_with(start)) {
                self.blocks.push(Block::Other);
            }
        }
        self.blocks.truncate(depth);
    }

    /// Follows a command that changes the directory; returns whether it is one.
    fn change_directory(&mut self, command: &str) -> bool {
        let words: Vec<&str> = command.split_whitespace().collect();
        let to = match words.as_slice() {
            ["cd" | "pushd", "--", to] | ["cd" | "pushd", to] => to.trim_matches(['"', '\'']),
            ["cd"] => "~",
            ["popd", ..] => "-",
            _ => return false,
        };
        let next = match to {
            "-" => self.previous.clone(),
            to => join_directories(&self.directory, to),
        };
        let next = if next.len() > MAX_DIRECTORY_BYTES {
            UNKNOWN_DIRECTORY.to_owned()
        } else {
            next
        };
        self.previous = std::mem::replace(&mut self.directory, next);
        true
    }

    fn push(&mut self, command: &str) {
        // Spaces may matter in quotes.
        let run = if command.contains(['"', '\'']) {
            command.to_owned()
        } else {
            command.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        if !run.is_empty() {
            let is_plain_block = |block: &Block| matches!(block, Block::Subshell(_));
            self.commands.push(ScriptCommand {
                run,
                directory: self.directory.clone(),
                is_conditional: !self.blocks.iter().all(is_plain_block),
            });
        }
    }
}
