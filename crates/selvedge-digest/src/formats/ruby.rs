//! Ruby itself: uncaught exceptions and files that do not parse; and Bundler, which has its own error
//! messages.

use std::sync::LazyLock;

use regex::Regex;

use super::location::{is_foreign, parse_colon_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines may follow.
const BODY_LINES: u32 = 12;

/// Reads errors of Ruby and of Bundler.
#[derive(Debug, Default)]
pub(super) struct RubyParser {
    draft: Option<FailureBuilder>,
    lines: u32,
    /// The place is in a library: the first frame of the user's code is better.
    place_is_foreign: bool,
}

static UNCAUGHT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:]+\.(?:rb|ru|rake|gemspec)|[^\s:]*(?:Rakefile|Gemfile)):(?P<line>\d+):in [`'](?P<method>[^']+)': (?P<message>\S.*?)(?: \((?P<class>[A-Z][\w:]+)\))?$",
    )
});
static SYNTAX: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:]+\.(?:rb|ru|rake|gemspec)|[^\s:]*(?:Rakefile|Gemfile)):(?P<line>\d+): (?P<message>(?:syntax error|unterminated|unknown regexp|invalid multibyte|numeric literal|duplicated argument).*)$",
    )
});

impl FormatParser for RubyParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if let Some(draft) = parse_uncaught_exception(line) {
            self.place_is_foreign = draft.failure.file.as_deref().is_some_and(is_foreign);
            return self.begin("ruby", draft, findings);
        }
        if let Some(message) = parse_bundler_error(text) {
            let mut draft = FailureBuilder::new(FailureKind::Infra, "bundler", line);
            draft.push_message(message);
            draft.push_excerpt(line);
            self.place_is_foreign = true;
            return self.begin("bundler", draft, findings);
        }
        if text == "rake aborted!" {
            self.place_is_foreign = true;
            let mut draft = FailureBuilder::new(FailureKind::Runtime, "rake", line);
            draft.push_excerpt(line);
            return self.begin("rake", draft, findings);
        }
        let body = line.body().trim_start_matches('#').trim_start();
        // A stack may be of any length.
        self.lines += u32::from(!body.starts_with("from "));
        let lines = self.lines;
        let Some(draft) = self.draft.as_mut().filter(|_| lines <= BODY_LINES) else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        if draft.failure.message.is_none() {
            if body.starts_with("Command failed with status") {
                // The command's output has the reason.
                self.draft = None;
                return LineClaim::NotMine;
            }
            draft.push_message(body);
            draft.push_excerpt(line);
            return LineClaim::Evidence;
        }
        if let Some(place) = body.strip_prefix("from ").and_then(parse_gemfile_location) {
            draft.set_location(place.0, place.1, None);
            draft.push_excerpt(line);
            return LineClaim::Evidence;
        }
        match parse_colon_frame(body) {
            Some(place) if is_foreign(place.file) => draft.skip_line(line),
            Some(place) => {
                if std::mem::take(&mut self.place_is_foreign) {
                    draft.replace_location(place.file, place.line, None);
                }
                draft.push_excerpt(line);
            }
            None if body.starts_with("from ") => draft.skip_line(line),
            None if line.indent() > 0 => draft.push_excerpt(line),
            None => {
                self.close(findings);
                return LineClaim::NotMine;
            }
        }
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl RubyParser {
    fn begin(
        &mut self,
        tool: &'static str,
        draft: FailureBuilder,
        findings: &mut Findings,
    ) -> LineClaim {
        self.close(findings);
        findings.add_tool(tool);
        self.draft = Some(draft);
        self.lines = 0;
        LineClaim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            // No frame of the user's code was found, and a library's place would mislead.
            if self.place_is_foreign && draft.failure.file.as_deref().is_some_and(is_foreign) {
                draft.failure.file = None;
                draft.failure.line = None;
            }
            findings.add(draft.build());
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
    let mut draft = FailureBuilder::new(kind, "ruby", line);
    draft.failure.code = found.name("class").map(|class| class.as_str().to_owned());
    draft.set_location(&found["file"], found["line"].parse().ok(), None);
    draft.push_message(&found["message"]);
    draft.push_excerpt(line);
    Some(draft)
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
