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
        self.lines += 1;
        let lines = self.lines;
        let Some(draft) = self.draft.as_mut().filter(|_| lines <= BODY_LINES) else {
            self.close(findings);
            return Claim::Foreign;
        };
        let body = line.body().trim_start_matches('#').trim_start();
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
        match colon_frame(body) {
            Some(place) if is_foreign(place.file) => draft.skip(line),
            Some(place) => {
                if std::mem::take(&mut self.place_is_foreign) {
                    draft.place_again(place.file, place.line, None);
                }
                draft.excerpt(line);
            }
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
        if let Some(draft) = self.draft.take() {
            findings.add(draft.found());
        }
    }
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
