//! The Test Anything Protocol, as node:test, tape, Perl's and many others' runners write it.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::{FailureKind, Source};

const TOOL: &str = "tap";

/// Reads TAP, versions 12 to 14.
#[derive(Debug, Default)]
pub(super) struct Tap {
    draft: Option<Draft>,
    /// Where in the YAML block below a failure a line stands.
    block: Block,
    begun: bool,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    #[default]
    Other,
    Error,
    Stack,
}

static POINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?P<not>not )?ok(?: \d+)?(?: - | |$)(?P<id>.*?)(?P<directive> # (?i:skip|todo).*)?$",
    )
});
static PLAN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^1\.\.\d+"));

impl Format for Tap {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.starts_with("TAP version") || text.starts_with("1..") && PLAN.is_match(text) {
            if !self.begun {
                findings.tool(TOOL);
                self.begun = true;
            }
            return Claim::Noise;
        }
        let head = if self.begun { line.body() } else { text };
        let point = (head.starts_with("not ok") || head.starts_with("ok"))
            .then(|| POINT.captures(text))
            .flatten();
        if let Some(point) = point {
            return self.point(&point, line, findings);
        }
        self.body(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
        if self.begun {
            findings.runs.close_as_seen(TOOL);
        }
    }
}

impl Tap {
    fn point(
        &mut self,
        point: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        let numbered = line
            .body()
            .split(' ')
            .any(|word| word.parse::<u32>().is_ok());
        if !self.begun && !numbered {
            return Claim::Foreign;
        }
        self.close(findings);
        self.begun = true;
        findings.tool(TOOL);
        let id = point["id"].trim();
        let id = if id.is_empty() { line.body() } else { id };
        if point.name("directive").is_some() {
            findings.runs.test(TOOL, Outcome::Skipped, Some(id));
        } else if point.name("not").is_none() {
            findings.runs.test(TOOL, Outcome::Passed, Some(id));
        } else {
            let mut draft = Draft::new(FailureKind::Test, TOOL, line);
            draft.failure.source = Source::Structured;
            draft.failure.id = Some(id.to_owned());
            self.draft = Some(draft);
            self.block = Block::Other;
            return Claim::Evidence;
        }
        Claim::Noise
    }

    fn body(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let body = line.body();
        draft.skip(line);
        if let Some((key, value)) = body
            .split_once(": ")
            .or_else(|| Some((body.strip_suffix(':')?, "")))
        {
            let value = value.trim_matches(['\'', '"']);
            match key {
                "error" | "message" => {
                    self.block = Block::Error;
                    draft.message(value.trim_start_matches("|-"));
                    return Claim::Evidence;
                }
                "location" | "at" | "# at" => {
                    let value = value.rsplit_once('(').map_or(value, |(_, at)| at);
                    if let Some(place) = colon_frame(value) {
                        draft.place(place.file, place.line, place.column);
                    }
                    self.block = Block::Other;
                }
                "stack" => self.block = Block::Stack,
                "expected" | "actual" | "got" | "operator" => {
                    draft.message(body);
                    self.block = Block::Other;
                }
                "failureType" | "code" | "name" | "duration_ms" | "type" => {
                    self.block = Block::Other;
                }
                // Part of a message, which may hold colons.
                _ => {}
            }
        }
        match self.block {
            Block::Error => draft.message(body),
            Block::Stack => {
                if let Some(place) = colon_frame(body).filter(|place| !is_foreign(place.file)) {
                    draft.place(place.file, place.line, place.column);
                    draft.excerpt(line);
                }
            }
            Block::Other => {
                if let Some(comment) = body.strip_prefix('#') {
                    draft.message(comment.trim());
                }
            }
        }
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        // A group that failed because one of its tests did.
        let consequence = draft.failure.message.as_deref().is_some_and(|message| {
            message.starts_with(|c: char| c.is_ascii_digit()) && message.contains(" subtest")
        });
        if !consequence {
            findings
                .runs
                .test(TOOL, Outcome::Failed, draft.failure.id.as_deref());
            findings.add(draft.found());
        }
    }
}
