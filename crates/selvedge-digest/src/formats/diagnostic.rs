//! Diagnostics of one line, as most compilers, type checkers and linters print them:
//! `a.c:3:7: error: message`, `a.ts(3,7): error TS2322: message`, `a.py:3:7: E501 message`.
//! The annotated source below them belongs to them.

use super::grouped_lint::UNFORMATTED;
use super::location::{extension, is_c};
use super::prelude::*;

/// How many lines of annotated source are taken.
const SOURCE_LINES: u32 = 6;

/// flake8 and ruff print the same lines; ruff's end with a total that counts fixable problems.
const FLAKE8: &str = "flake8";
const RUFF: &str = "ruff";

/// Reads diagnostics that name their severity or a code.
#[derive(Debug, Default)]
pub(super) struct DiagnosticParser {
    draft: Option<FailureBuilder>,
    source_lines: u32,
    /// First line of the consecutive diagnostics.
    first: u64,
    /// The place in the user's code that instantiates a library template with an error.
    required: Option<(String, u32)>,
}

/// `path:line:column: severity code: message`, with the variations of many tools.
static SEVERE: LinePattern = LinePattern::new(concat!(
    r"^\s*(?:\[(?:\w+)\] +)*(?P<file>(?:[A-Za-z]:)?[^\s:()\[\]][^:()]*?)",
    r"(?::(?P<line>\d+)(?::(?P<column>\d+))?(?:-\d+(?::\d+)?)?|[(\[](?P<line2>\d+)(?:[,:](?P<column2>\d+))?(?:,\d+,\d+)?[)\]])",
    r"(?:: *| - |: in \S+: | )",
    r"(?i:(?P<severity>(?:fatal |internal compiler |syntax |compile )?error|warning|refactor|convention|style))",
    r"(?:\[(?P<bracket>[\w-]+)\]|[ :]+(?P<code>[A-Z]{1,8}-?\d{1,6}))?\s*[:\]]?\s+(?P<message>\S.*)$",
));
/// `path:line:column: CODE message`
static CODED: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:()][^:()]*\.\w+):(?P<line>\d+):(?:(?P<column>\d+):)? \[?(?P<code>[A-Z]{1,4}\d{2,5}|invalid-syntax|unformatted)(?:\([\w-]+\)(?:, [^\]]*)?)?\]?:? (?P<fixable>\[\*\] )?(?P<message>\S.*)$",
);
/// mypy's and others' code in brackets at the end; pyright's in parentheses.
static TRAILING: LinePattern =
    LinePattern::new(r"\s+(?:\[-?(?P<code>[\w:=/-]+)\]|\((?P<pyright>report\w+)\))$");

impl FormatParser for DiagnosticParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let last = self.draft.as_ref().map(|draft| *draft.lines().end());
        // A diagnostic is a line of text, not a minified file.
        if line.text.len() < 2000
            && let Some(mut draft) = parse_diagnostic(line, findings)
        {
            findings.add_draft(&mut self.draft);
            if let Some((file, number)) = self.required.take()
                && draft
                    .failure
                    .file
                    .as_deref()
                    .is_some_and(is_header_of_system)
            {
                draft.replace_location(&file, Some(number), None);
            }
            if last.is_none_or(|last| last + 1 != line.number) {
                self.first = line.number;
            }
            self.draft = Some(draft);
            self.source_lines = 0;
            return LineClaim::Evidence;
        }
        if last.is_some() && is_total_of_ruff(line.text) {
            findings.add_draft(&mut self.draft);
            findings.rename_tool(self.first, FLAKE8, RUFF);
            return LineClaim::NotMine;
        }
        if let Some(place) = line.text.strip_suffix(":   required from here") {
            self.required = parse_file_and_line(place).map(|(file, line)| (file.to_owned(), line));
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if draft
            .failure
            .file
            .as_deref()
            .is_some_and(is_header_of_system)
        {
            if let Some((place, note)) = line.text.split_once(": note: ") {
                // clang lists the instantiations of a template after the error, the user's last.
                let used = parse_file_and_line(place).filter(|_| note.ends_with(" requested here"));
                if let Some((file, number)) = used.filter(|(file, _)| !is_header_of_system(file)) {
                    draft.replace_location(file, Some(number), None);
                    self.source_lines = SOURCE_LINES - 2;
                } else {
                    self.source_lines = SOURCE_LINES;
                }
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
            if line.indent() > 0 && self.source_lines == SOURCE_LINES {
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
        }
        let source = line.indent() > 0 && self.source_lines < SOURCE_LINES;
        if line.is_blank() || !source {
            findings.add_draft(&mut self.draft);
            return LineClaim::NotMine;
        }
        self.source_lines += 1;
        // pyright explains in further lines, and names the rule in the last one.
        if draft.failure.code.is_none()
            && line.text.ends_with(')')
            && let Some(rule) = TRAILING.captures(line.text)
        {
            draft.failure.code = rule.get("pyright").map(str::to_owned);
        }
        // javac names the missing symbol below the source.
        if let (Some(symbol), Some(message)) = (
            line.body()
                .trim_start_matches("[javac]")
                .trim_start()
                .strip_prefix("symbol: "),
            &mut draft.failure.message,
        ) {
            message.push_str(": ");
            message.push_str(symbol.trim_start());
        }
        // scalac prints mismatched types on separate lines.
        if let Some(message) = &mut draft.failure.message
            && message.ends_with(';')
            && is_mismatch_detail(line.body())
        {
            message.push(' ');
            message.push_str(line.body());
            if line.body().starts_with("found") {
                message.push(';');
            }
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

/// `Found 3 errors.`
fn is_total_of_ruff(text: &str) -> bool {
    let mut words = text.split(' ');
    words.next() == Some("Found")
        && words
            .next()
            .is_some_and(|count| count.parse::<u64>().is_ok())
        && matches!(words.next(), Some("error." | "errors."))
        && words.next().is_none()
}

/// ` found   : Int`, ` required: String`
fn is_mismatch_detail(body: &str) -> bool {
    body.starts_with("found ") || body.starts_with("required: ")
}

/// `a.cpp:3:7`, the column left out.
fn parse_file_and_line(place: &str) -> Option<(&str, u32)> {
    let mut parts = place.splitn(3, ':');
    let file = parts.next().filter(|file| !file.is_empty())?;
    Some((file, parts.next()?.parse().ok()?))
}

/// Whether a header belongs to the compiler or the system.
fn is_header_of_system(file: &str) -> bool {
    file.starts_with("/usr/") || file.contains("/include/c++/")
}

fn parse_diagnostic(line: &CleanLine<'_>, findings: &mut Findings) -> Option<FailureBuilder> {
    let severe = line
        .signals
        .intersects(LineSignals::ERROR.with(LineSignals::WARNING));
    let text = without_task(line.text);
    let severe = severe.then(|| SEVERE.captures(text)).flatten();
    let found = severe.or_else(|| {
        starts_with_location(text)
            .then(|| CODED.captures(text))
            .flatten()
    })?;
    let get = |name: &str| found.get(name);
    let file = get("file")?;
    let severity = get("severity").map(str::to_ascii_lowercase);
    let warning = severity
        .as_deref()
        .is_some_and(|word| !word.ends_with("error"));
    let code = get("code").or(get("bracket"));
    // pyright's diagnostics are indented below the file, with a dash before the severity.
    let dashed = line.indent() > 0 && line.text.contains(" - ");
    let (kind, tool) = match tool_of(file, code, severity.is_some()) {
        (kind, "mypy") if dashed => (kind, "pyright"),
        (kind, FLAKE8) if get("fixable").is_some() || code == Some(UNFORMATTED) => (kind, RUFF),
        other => other,
    };
    findings.add_tool(tool);
    let mut draft = FailureBuilder::new(kind, tool, line);
    if warning {
        draft.severity = FailureSeverity::Warning;
    }
    let number = |name, other| found.number(name).or_else(|| found.number(other));
    draft.set_location(
        file.trim(),
        number("line", "line2"),
        number("column", "column2"),
    );
    let mut message = get("message")?;
    draft.failure.code = code.map(str::to_owned);
    if draft.failure.code.is_none()
        && let Some(trailing) = TRAILING.captures(message)
    {
        let code = trailing.get("code").or_else(|| trailing.get("pyright"));
        draft.failure.code = code.map(str::to_owned);
        message = &message[..trailing.range().start];
    }
    draft.push_message(message);
    draft.push_excerpt(line);
    Some(draft)
}

/// The line without the task name that Gradle's plain console writes directly before it:
/// `:compileJava/home/a/B.java:3: error: …`.
fn without_task(text: &str) -> &str {
    let Some(slash) = text.strip_prefix(':').and_then(|rest| rest.find('/')) else {
        return text;
    };
    let (task, rest) = text.split_at(slash + 1);
    let name = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_');
    if task.chars().all(name) { rest } else { text }
}

/// Whether a number follows the first colon, with no white space before it.
fn starts_with_location(text: &str) -> bool {
    let bytes = text.as_bytes();
    memchr::memchr(b':', bytes)
        .and_then(|colon| bytes.get(colon + 1))
        .is_some_and(u8::is_ascii_digit)
}

/// pylint's codes are a letter for the severity and four digits; other tools' have fewer digits or
/// more letters.
fn is_pylint(code: &str) -> bool {
    code.len() == 5
        && code.starts_with(['C', 'R', 'W', 'E', 'F', 'I'])
        && code.bytes().skip(1).all(|byte| byte.is_ascii_digit())
}

/// The kind of failure and the tool, by the file's type, the code and the severity.
fn tool_of(file: &str, code: Option<&str>, severe: bool) -> (FailureKind, &'static str) {
    if code.is_some_and(|code| code.starts_with("TS")) {
        return (FailureKind::Type, "tsc");
    }
    match extension(file) {
        "py" | "pyi" if severe => (FailureKind::Type, "mypy"),
        "py" | "pyi" if code.is_some_and(is_pylint) => (FailureKind::Lint, "pylint"),
        "py" | "pyi" | "ipynb" => (FailureKind::Lint, FLAKE8),
        _ if is_c(file) => (FailureKind::Compile, "cc"),
        "java" => (FailureKind::Compile, "javac"),
        "go" => (FailureKind::Compile, "go"),
        "cs" | "vb" | "fs" | "csproj" => (FailureKind::Compile, "dotnet"),
        "kt" | "kts" => (FailureKind::Compile, "kotlinc"),
        "scala" => (FailureKind::Compile, "scalac"),
        "swift" => (FailureKind::Compile, "swiftc"),
        "hs" => (FailureKind::Compile, "ghc"),
        "ts" | "tsx" | "js" | "jsx" | "mjs" | "cjs" | "vue" => (FailureKind::Lint, "lint"),
        _ if severe => (FailureKind::Compile, "compiler"),
        _ => (FailureKind::Lint, "lint"),
    }
}
