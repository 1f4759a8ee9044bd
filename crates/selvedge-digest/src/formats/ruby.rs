//! Ruby itself: uncaught exceptions and files that do not parse; and Bundler, which has its own error
//! messages.

use super::location::{CodeLocation, is_foreign, parse_colon_frame, take_frame};
use super::prelude::*;

/// How many lines may follow.
const BODY_LINES: u32 = 12;

/// Reads errors of Ruby and of Bundler.
#[derive(Debug, Default)]
pub(super) struct RubyFormat {
    lines: u32,
}

static UNCAUGHT: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:]+\.(?:rb|ru|rake|gemspec)|[^\s:]*(?:Rakefile|Gemfile)):(?P<line>\d+):in [`'](?P<method>[^']+)': (?P<message>\S.*?)(?: \((?P<code>[A-Z][\w:]+)\))?$",
);
static SYNTAX: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:]+\.(?:rb|ru|rake|gemspec)|[^\s:]*(?:Rakefile|Gemfile)):(?P<line>\d+): (?P<message>(?:syntax error|unterminated|unknown regexp|invalid multibyte|numeric literal|duplicated argument).*)$",
);

impl BlockFormat for RubyFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let draft = parse_uncaught_exception(line).or_else(|| parse_tool_error(line))?;
        self.lines = 0;
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let body = line.body().trim_start_matches('#').trim_start();
        // A stack may be of any length.
        self.lines += u32::from(!body.starts_with("from "));
        if self.lines > BODY_LINES {
            return BlockStep::OVER;
        }
        if draft.failure.message.is_none() {
            if body.starts_with("Command failed with status") {
                // The command's output has the reason.
                return BlockStep::Discard(LineClaim::NotMine);
            }
            draft.push_message(body);
            return BlockStep::Shown;
        }
        if let Some((file, number)) = body.strip_prefix("from ").and_then(parse_gemfile_location) {
            draft.set_location(file, number, None);
            return BlockStep::Shown;
        }
        match parse_colon_frame(body) {
            Some(place) => take_frame(
                draft,
                CodeLocation {
                    column: None,
                    ..place
                },
            ),
            None if body.starts_with("from ") => BlockStep::Taken,
            None if line.indent() > 0 => BlockStep::Shown,
            None => BlockStep::OVER,
        }
    }
}

/// `/a/Gemfile:3`, which has no extension.
fn parse_gemfile_location(text: &str) -> Option<(&str, Option<u32>)> {
    let (file, line) = text.split_once("Gemfile:")?;
    let end = file.len() + "Gemfile".len();
    Some((&text[..end], Some(line.parse().ok()?)))
}

/// An exception or an error of syntax, with its place.
fn parse_uncaught_exception(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let text = line.text;
    let (found, kind) = if text.contains(":in ") {
        (UNCAUGHT.captures(text)?, FailureKind::Runtime)
    } else if text.contains(".rb:") || text.contains("file:") {
        (SYNTAX.captures(text)?, FailureKind::Compile)
    } else {
        return None;
    };
    let mut draft = FailureBuilder::captured(kind, "ruby", &found, line);
    if draft.failure.file.as_deref().is_some_and(is_foreign) {
        // A library's place would mislead: the first frame of the user's code is better.
        (draft.failure.file, draft.failure.line) = (None, None);
    }
    Some(draft)
}

/// An error of Bundler or Rake.
fn parse_tool_error(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    if line.text == "rake aborted!" {
        let mut draft = FailureBuilder::new(FailureKind::Runtime, "rake", line);
        draft.push_excerpt(line);
        return Some(draft);
    }
    let message = parse_bundler_error(line.text)?;
    Some(FailureBuilder::with_message(
        FailureKind::Infra,
        "bundler",
        message,
        line,
    ))
}

/// The error of Bundler in a line, if any.
fn parse_bundler_error(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("[!] There was an error ") {
        return Some(rest);
    }
    let starts = [
        "Could not find gem '",
        "Bundler could not find compatible versions for gem ",
    ];
    starts
        .iter()
        .any(|start| text.starts_with(start))
        .then_some(text)
}
