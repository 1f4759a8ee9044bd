//! Ruby itself: exceptions that nobody caught, and files that do not parse; and Bundler, which prints
//! its own troubles in words of its own.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// How many lines may follow.
const BODY_LINES: u32 = 12;

/// Reads errors of Ruby and of Bundler.
#[derive(Debug, Default)]
pub(super) struct Ruby {
    draft: Option<Draft>,
    lines: u32,
    /// The place is that of a library: the first frame of the user's is better.
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

impl Format for Ruby {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if let Some(draft) = uncaught(line) {
            self.place_is_foreign = draft.failure.file.as_deref().is_some_and(is_foreign);
            return self.begin("ruby", draft, findings);
        }
        if let Some(message) = trouble(text) {
            let mut draft = Draft::new(FailureKind::Infra, "bundler", line);
            draft.message(message);
            draft.excerpt(line);
            self.place_is_foreign = true;
            return self.begin("bundler", draft, findings);
        }
        if text == "rake aborted!" {
            self.place_is_foreign = true;
            let mut draft = Draft::new(FailureKind::Runtime, "rake", line);
            draft.excerpt(line);
            return self.begin("rake", draft, findings);
        }
        let body = line.body().trim_start_matches('#').trim_start();
        // A stack may be of any length.
        self.lines += u32::from(!body.starts_with("from "));
        let lines = self.lines;
        let Some(draft) = self.draft.as_mut().filter(|_| lines <= BODY_LINES) else {
            self.close(findings);
            return Claim::Foreign;
        };
        if draft.failure.message.is_none() {
            if body.starts_with("Command failed with status") {
                // What the command printed says why.
                self.draft = None;
                return Claim::Foreign;
            }
            draft.message(body);
            draft.excerpt(line);
            return Claim::Evidence;
        }
        if let Some(place) = body.strip_prefix("from ").and_then(gemfile) {
            draft.place(place.0, place.1, None);
            draft.excerpt(line);
            return Claim::Evidence;
        }
        match colon_frame(body) {
            Some(place) if is_foreign(place.file) => draft.skip(line),
            Some(place) => {
                if std::mem::take(&mut self.place_is_foreign) {
                    draft.place_again(place.file, place.line, None);
                }
                draft.excerpt(line);
            }
            None if body.starts_with("from ") => draft.skip(line),
            None if line.indent() > 0 => draft.excerpt(line),
            None => {
                self.close(findings);
                return Claim::Foreign;
            }
        }
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Ruby {
    fn begin(&mut self, tool: &'static str, draft: Draft, findings: &mut Findings) -> Claim {
        self.close(findings);
        findings.tool(tool);
        self.draft = Some(draft);
        self.lines = 0;
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            // No frame of the user's own was found: a library's place would mislead.
            if self.place_is_foreign && draft.failure.file.as_deref().is_some_and(is_foreign) {
                draft.failure.file = None;
                draft.failure.line = None;
            }
            findings.add(draft.found());
        }
    }
}

/// `/a/Gemfile:3`, which has no extension.
fn gemfile(text: &str) -> Option<(&str, Option<u32>)> {
    let (file, line) = text.split_once("Gemfile:")?;
    let end = file.len() + "Gemfile".len();
    Some((&text[..end], Some(line.parse().ok()?)))
}

/// An exception or an error of syntax, with its place.
fn uncaught(line: &Line<'_>) -> Option<Draft> {
    let text = line.text;
    let (found, kind) = if text.contains(":in ") {
        (UNCAUGHT.captures(text)?, FailureKind::Runtime)
    } else if text.contains(".rb:") || text.contains("file:") {
        (SYNTAX.captures(text)?, FailureKind::Compile)
    } else {
        return None;
    };
    let mut draft = Draft::new(kind, "ruby", line);
    draft.failure.code = found.name("class").map(|class| class.as_str().to_owned());
    draft.place(&found["file"], found["line"].parse().ok(), None);
    draft.message(&found["message"]);
    draft.excerpt(line);
    Some(draft)
}

/// What Bundler says when it cannot go on.
fn trouble(text: &str) -> Option<&str> {
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
