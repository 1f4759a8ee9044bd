//! Package managers that cannot install: npm, yarn and pnpm. A failed user script under them is explained by
//! its own output.

use super::location::extension;
use super::prelude::*;

/// How many lines of an error are read.
const BODY_LINES: u32 = 30;

/// Reads the errors of JavaScript's package managers.
#[derive(Debug, Default)]
pub(super) struct PackageManagerFormat {
    lines: u32,
    /// yarn was identified: its errors do not name it.
    yarn: bool,
    /// npm prints the usage of its own command.
    usage: bool,
}

static PNPM: LinePattern =
    LinePattern::new(r"^(?:Error:)?\s*(?P<code>ERR_PNPM_[A-Z0-9_]+)(?:\s+(?P<message>\S.*))?$");

impl BlockFormat for PackageManagerFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if let Some(message) = strip_npm_mark(text) {
            return self.parse_npm_error(message, line);
        }
        self.usage = false;
        if text.starts_with("yarn ") && text.contains(" v1.") {
            self.yarn = true;
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        if self.yarn
            && let Some(message) = text.strip_prefix("error ")
        {
            return Some(parse_yarn_error(message, line));
        }
        let draft = if let Some(cause) = text.strip_prefix("Error:   × ") {
            let mut draft = FailureBuilder::new(FailureKind::Infra, "pnpm", line);
            draft.push_message(cause);
            draft
        } else {
            let error = PNPM.captures_marked(text, "ERR_PNPM_")?;
            FailureBuilder::captured(FailureKind::Infra, "pnpm", &error, line)
        };
        self.lines = 0;
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let message = strip_npm_mark(line.text);
        if self.lines >= BODY_LINES {
            return match message {
                Some(_) => BlockStep::Claim(LineClaim::NotMine),
                None => BlockStep::OVER,
            };
        }
        if message.is_none() && (draft.tool != "pnpm" || line.indent() == 0 && !line.is_blank()) {
            return BlockStep::OVER;
        }
        self.lines += 1;
        match message {
            Some(message) => parse_npm_detail(draft, message),
            None => parse_pnpm_detail(draft, line),
        }
    }

    fn complete(&mut self, draft: FailureBuilder) -> Option<FailureBuilder> {
        draft.failure.message.is_some().then_some(draft)
    }

    fn is_waiting(&self) -> bool {
        self.yarn
    }
}

/// The text after npm's mark of an error.
fn strip_npm_mark(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("npm error");
    rest.or_else(|| text.strip_prefix("npm ERR!"))
        .map(str::trim)
}

impl PackageManagerFormat {
    /// A line of npm that is not a detail of an error.
    fn parse_npm_error(&mut self, message: &str, line: &CleanLine<'_>) -> Option<BlockStep> {
        if let Some(code) = message.strip_prefix("code ") {
            self.lines = 0;
            let mut draft = FailureBuilder::new(FailureKind::Infra, "npm", line);
            // A script failed, and its own output explains why.
            let script = code == "ELIFECYCLE" || code.bytes().all(|byte| byte.is_ascii_digit());
            if script {
                self.lines = BODY_LINES;
            }
            draft.failure.code = Some(code.to_owned());
            return Some(BlockStep::Begin(draft));
        }
        if message.starts_with("Missing script") {
            let draft = FailureBuilder::with_message(FailureKind::Infra, "npm", message, line);
            return Some(BlockStep::Whole(draft));
        }
        self.usage |= message == "Usage:";
        if self.usage {
            return Some(BlockStep::End(LineClaim::Suppress));
        }
        let advice = [
            "A complete log",
            "For a full report",
            "To see a list of scripts",
            "/",
            "Options:",
        ];
        let is_advice = advice.iter().any(|start| message.starts_with(start));
        is_advice.then_some(BlockStep::End(LineClaim::Ignore))
    }
}

fn parse_npm_detail(draft: &mut FailureBuilder, text: &str) -> BlockStep {
    let code = draft
        .failure
        .code
        .as_deref()
        .unwrap_or_default()
        .to_ascii_lowercase();
    // Each line may repeat the code in a form of its own: `notarget`, `404`, `JSON.parse`.
    let (word, rest) = text.split_once(' ').unwrap_or((text, ""));
    let repeats =
        code.ends_with(&word.to_ascii_lowercase()) || matches!(word, "JSON.parse" | "notarget");
    let message = if repeats { rest.trim() } else { text };
    if let Some(file) = message
        .strip_prefix("path ")
        .filter(|path| extension(path) == "json")
    {
        draft.set_location(file, None, None);
    } else if !message.is_empty() && !is_call_detail(word) {
        draft.push_message(message);
    }
    BlockStep::Taken
}

/// Whether npm's line is about the system call that failed: the message contains all of it.
fn is_call_detail(word: &str) -> bool {
    matches!(word, "syscall" | "errno" | "path" | "dest")
}

fn parse_yarn_error(message: &str, line: &CleanLine<'_>) -> BlockStep {
    if message.starts_with("Command failed with exit code") {
        return BlockStep::End(LineClaim::Ignore);
    }
    let mut draft = FailureBuilder::new(FailureKind::Infra, "yarn", line);
    let named = message
        .strip_prefix("SyntaxError: ")
        .and_then(|rest| rest.split_once(": "));
    if let Some((file, _)) = named.filter(|(file, _)| extension(file) == "json") {
        draft.set_location(file, None, None);
    }
    draft.push_message(message);
    draft.push_excerpt(line);
    BlockStep::Whole(draft)
}

/// pnpm draws the causes of an error as a tree, the innermost last, its lines broken.
fn parse_pnpm_detail(draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
    let body = line.body();
    if let Some(cause) = body.strip_prefix("╰─▶ ").or(body.strip_prefix("× ")) {
        draft.set_summary(cause);
        draft.push_message(cause);
    } else if line.indent() == 6 && body.starts_with(|c: char| c.is_alphanumeric()) {
        // The cause continues.
        let summary = std::mem::take(&mut draft.failure.summary);
        draft.set_summary(&format!("{summary} {body}"));
        draft.push_message(body);
    }
    BlockStep::Shown
}
