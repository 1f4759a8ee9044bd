//! Removes prefixes that a wrapper puts before every line: a time, or the name of a task.
//!
//! A prefix is removed only after it has repeated, so that a message that happens to begin with a time keeps
//! it. pnpm announces its prefix: after `packages/a test$ COMMAND`, lines that begin with `packages/a test: ` have it.
//! The table of candidates is bounded.

/// Number of consecutive lines that must begin with a time before it counts as a prefix.
const PROVEN_STREAK: u32 = 4;
/// Number of occurrences before a task's name counts as a prefix.
const PROVEN_NAME: u32 = 3;
/// Maximum number of remembered task names.
const NAMES: usize = 16;
/// The longest name of a task, in bytes.
const NAME_BYTES: usize = 60;

/// The prefixes seen so far.
#[derive(Debug, Default)]
pub(crate) struct LinePrefixes {
    time_streaks: [u32; 2],
    names: Vec<(String, u32)>,
    /// Packages with their scripts, as pnpm announces them.
    scripts: Vec<String>,
    /// Whether the next lines contain any tabs.
    tabs: bool,
    /// Whether they contain any dollar signs.
    dollars: bool,
}

impl LinePrefixes {
    /// Inspects the block that contains the next lines.
    pub(crate) fn begin_block(&mut self, block: &str) {
        self.tabs = memchr::memchr(b'\t', block.as_bytes()).is_some();
        self.dollars = memchr::memchr(b'$', block.as_bytes()).is_some();
    }

    /// The line without its proven prefixes.
    #[inline]
    pub(crate) fn strip<'a>(&mut self, line: &'a str) -> &'a str {
        let line = self.strip_name(line);
        let line = if self.tabs { strip_job(line) } else { line };
        if !matches!(line.as_bytes(), [b'0'..=b'9' | b'[', ..]) {
            // A blank line does not show whether lines have a time.
            if !line.is_empty() {
                self.time_streaks = [0; 2];
            }
            return line;
        }
        // Some runners write their own time before that of the program.
        let line = strip_time(&mut self.time_streaks[0], line);
        strip_time(&mut self.time_streaks[1], line)
    }

    #[inline]
    fn strip_name<'a>(&mut self, line: &'a str) -> &'a str {
        if self.dollars
            && let Some((name, _)) = split_script(line, "$ ")
        {
            self.scripts.truncate(NAMES - 1);
            self.scripts.insert(0, name.to_owned());
            return line;
        }
        if !self.scripts.is_empty() {
            // An empty line may end with the colon.
            let ends = |&(_, rest): &(&str, &str)| rest.is_empty();
            let found = split_script(line, ": ").or_else(|| split_script(line, ":").filter(ends));
            if let Some((name, rest)) = found
                && self.scripts.iter().any(|script| script == name)
            {
                return rest;
            }
        }
        match split_name(line) {
            Some((name, rest)) if self.is_proven(name) => rest,
            _ => line,
        }
    }

    /// Whether the task's name has occurred often enough, including now.
    fn is_proven(&mut self, name: &str) -> bool {
        if let Some((_, seen)) = self.names.iter_mut().find(|(known, _)| known == name) {
            *seen = seen.saturating_add(1);
            return *seen > PROVEN_NAME;
        }
        if self.names.len() == NAMES {
            let rarest = self
                .names
                .iter()
                .enumerate()
                .min_by_key(|(_, (_, seen))| *seen);
            if let Some(index) = rarest.map(|(index, _)| index) {
                self.names.swap_remove(index);
            }
        }
        self.names.push((name.to_owned(), 1));
        false
    }
}

fn strip_time<'a>(streak: &mut u32, line: &'a str) -> &'a str {
    let starts = line
        .as_bytes()
        .first()
        .is_some_and(|b| b.is_ascii_digit() || *b == b'[');
    let Some((time, rest)) = starts.then(|| split_time(line)).flatten() else {
        // A blank line does not show whether lines have a time.
        if !line.is_empty() {
            *streak = 0;
        }
        return line;
    };
    *streak = streak.saturating_add(1);
    if *streak > PROVEN_STREAK || is_runner_time(time) {
        rest
    } else {
        line
    }
}

/// `JOB<tab>STEP<tab>TIME text`, the format of saved GitHub runner logs.
fn strip_job(line: &str) -> &str {
    let mut fields = line.splitn(3, '\t');
    match (fields.next(), fields.next(), fields.next()) {
        (Some(_), Some(_), Some(text))
            if split_time(text).is_some_and(|(t, _)| is_runner_time(t)) =>
        {
            text
        }
        _ => line,
    }
}

/// `2024-05-06T07:08:09.0123456Z`: seven fractional digits identify a CI runner.
fn is_runner_time(time: &str) -> bool {
    time.len() == 28 && time.ends_with('Z')
}

/// Splits a line into the time at its beginning and the text after it.
fn split_time(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix('[').unwrap_or(line);
    let bracket = inner.len() < line.len();
    // `[task 2024-05-06T07:08:09.012Z]`
    let word = inner
        .find(|c: char| !c.is_ascii_lowercase())
        .filter(|_| bracket)
        .unwrap_or(0);
    let inner = inner[word..].trim_start_matches(' ');
    let mut length = 0;
    if let Some(date) = match_shape(inner, "dddd-dd-dd") {
        length = date
            + inner
                .get(date..)
                .filter(|s| s.starts_with(['T', ' ']))?
                .len()
                .min(1);
    }
    length += match_shape(&inner[length..], "dd:dd:dd")?;
    let rest = &inner[length..];
    if rest.starts_with(['.', ',']) {
        length += 1 + rest[1..].bytes().take_while(u8::is_ascii_digit).count();
    }
    let rest = &inner[length..];
    length += if rest.starts_with('Z') {
        1
    } else {
        match_shape(rest, "+dd:dd")
            .or_else(|| match_shape(rest, "+dddd"))
            .unwrap_or(0)
    };
    let (time, rest) = inner.split_at(length);
    let rest = if bracket {
        rest.strip_prefix(']')?
    } else {
        rest
    };
    match rest.strip_prefix(' ') {
        Some(text) => Some((time, text)),
        None => rest.is_empty().then_some((time, rest)),
    }
}

/// The length of `shape` if `text` begins with it; `d` matches a digit, `+` a sign.
fn match_shape(text: &str, shape: &str) -> Option<usize> {
    let head = text.as_bytes().get(..shape.len())?;
    let fits = head
        .iter()
        .zip(shape.bytes())
        .all(|(&byte, mark)| match mark {
            b'd' => byte.is_ascii_digit(),
            b'+' => matches!(byte, b'+' | b'-'),
            mark => byte == mark,
        });
    fits.then_some(shape.len())
}

/// Splits a line into the name of a task and its text: `web-1  | text`, `app:build: text`,
/// `#12 3.456 text`.
#[inline]
fn split_name(line: &str) -> Option<(&str, &str)> {
    let bytes = line.as_bytes();
    match bytes {
        [b'a'..=b'z' | b'A'..=b'Z' | b'@', ..] => {}
        [b'#', ..] => return split_step_prefix(line),
        _ => return None,
    }
    let head = &bytes[..bytes.len().min(NAME_BYTES + 1)];
    let end = head.iter().position(|&byte| !is_name(byte))?;
    match bytes[end..] {
        // In most lines a second word follows.
        [b' ', b' ' | b'|', ..] => split_column_prefix(&line[..end], &line[end..]),
        [b':' | b'#', ..] => split_task_prefix(line, end),
        _ => None,
    }
}

/// Splits a line into a package with its script (`packages/a test`), and the text after `mark`.
fn split_script<'a>(line: &'a str, mark: &str) -> Option<(&'a str, &'a str)> {
    let (name, text) = line.split_once(mark)?;
    let (package, script) = name.split_once(' ')?;
    let is_script = |byte| is_name(byte) || byte == b':';
    let is_prefix =
        !package.is_empty() && package.bytes().all(is_name) && script.bytes().all(is_script);
    (is_prefix && !script.is_empty()).then_some((name, text))
}

/// `#12 3.456 text`
fn split_step_prefix(line: &str) -> Option<(&str, &str)> {
    let space = line.find(' ')?;
    let step = line[1..space].bytes().all(|b| b.is_ascii_digit()) && space > 1;
    let seconds = &line[space + 1..];
    let end = seconds.find(' ').filter(|_| step)?;
    let number = seconds[..end]
        .bytes()
        .all(|b| b.is_ascii_digit() || b == b'.');
    (number && end > 0).then(|| (&line[..space], &seconds[end + 1..]))
}

/// `web-1  | text`, `lens      > text`
fn split_column_prefix<'a>(name: &'a str, rest: &'a str) -> Option<(&'a str, &'a str)> {
    let gap = rest.bytes().position(|b| b != b' ')?;
    let text = rest.get(gap + 1..)?;
    match rest.as_bytes()[gap] {
        b'|' if text.is_empty() => Some((name, text)),
        b'|' => Some((name, text.strip_prefix(' ')?)),
        b'>' if gap > 1 => Some((name, text.strip_prefix(' ')?)),
        _ => None,
    }
}

/// `app:build: text`, where the name of the app ends at `end`.
fn split_task_prefix(line: &str, end: usize) -> Option<(&str, &str)> {
    let task = &line[end + 1..];
    let length = task.bytes().position(|b| !is_name(b))?;
    let text = task[length..].strip_prefix(": ")?;
    task.starts_with(|c: char| c.is_ascii_lowercase())
        .then(|| (&line[..end + 1 + length], text))
}

/// Whether the byte may be part of a task's name.
fn is_name(byte: u8) -> bool {
    NAME[usize::from(byte)]
}

/// A table, because the first word of every line is checked byte by byte.
static NAME: [bool; 256] = {
    let mut name = [false; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        name[byte as usize] =
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'/' | b'@');
        byte += 1;
    }
    name
};

#[cfg(test)]
mod tests {
    use super::*;

    fn strip(lines: &[&str]) -> Vec<String> {
        let mut prefixes = LinePrefixes::default();
        lines
            .iter()
            .map(|line| {
                prefixes.begin_block(line);
                prefixes.strip(line).to_owned()
            })
            .collect()
    }

    #[test]
    fn prefix_of_runner_time_is_removed_at_once() {
        assert_eq!(
            strip(&["2024-05-06T07:08:09.0123456Z npm test"]),
            ["npm test"]
        );
        assert_eq!(
            strip(&["test\tRun\t2024-05-06T07:08:09.0123456Z   x"]),
            ["  x"]
        );
    }

    #[test]
    fn prefix_of_other_time_is_removed_once_proven() {
        let out = strip(&["[12:00:01] a"; 6]);
        assert_eq!(out[0], "[12:00:01] a");
        assert_eq!(out[5], "a");
        let twice = strip(&["[task 2024-05-06T07:08:09.012Z] 07:08:09     INFO - a"; 12]);
        assert_eq!(twice[11], "    INFO - a");
        let mixed = strip(&[
            "2024-05-06 07:08:09,123 a",
            "b",
            "2024-05-06 07:08:10,123 c",
        ]);
        assert_eq!(mixed[2], "2024-05-06 07:08:10,123 c");
    }

    #[test]
    fn prefix_of_announced_script_is_removed_at_once() {
        let lines = [
            "packages/text test$ mocha",
            "packages/text test:   camel",
            "packages/text test:     ✔ joins",
            "packages/text test: ",
            "packages/words test:unit$ node --test",
            "packages/words test:unit: ok",
            "packages/other test: Done",
        ];
        let expected = [
            lines[0],
            "  camel",
            "    ✔ joins",
            "",
            lines[4],
            "ok",
            lines[6],
        ];
        assert_eq!(strip(&lines), expected);
        let sentence = ["expected value: 3"; 5];
        assert_eq!(strip(&sentence), sentence);
    }

    #[test]
    fn prefix_of_container_or_task_is_removed_once_proven() {
        let proven = |line: &str| strip(&[line; 5])[4].clone();
        assert_eq!(proven("web-1  |   ok"), "  ok");
        assert_eq!(proven("lens      > x"), "x");
        assert_eq!(proven("@app/ui:build: x"), "x");
        assert_eq!(proven("#12 3.456 x"), "x");
        assert_eq!(proven("src/a.c:12: error: x"), "src/a.c:12: error: x");
        assert_eq!(proven("12 | let x"), "12 | let x");
    }
}
