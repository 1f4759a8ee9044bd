//! The Test Anything Protocol, as node:test, tape, Perl's and many others' runners write it.

use std::sync::LazyLock;

use regex::Regex;

use super::place::{colon_frame, is_foreign};
use super::tap_comment::{comment_of, description, is_total};
use super::{Claim, Format, prove};
use crate::findings::{Draft, Findings, Outcome, Runs};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::{FailureKind, Source};

const TOOL: &str = "tap";
/// How deep groups may be nested.
const GROUPS: usize = 64;

/// How many failures are held back until a plan shows that the output is TAP.
const EARLY: usize = 100;

/// Reads TAP, versions 12 to 14.
#[derive(Debug, Default)]
pub(super) struct Tap {
    draft: Option<Draft>,
    yaml: Yaml,
    /// The groups that are open, written with braces, and their indentations.
    groups: Vec<(usize, String)>,
    /// What the lines of that block belong to.
    block: Block,
    begun: bool,
    /// A version or a plan was read. Without one the output is not TAP.
    has_plan: bool,
    /// Results that were read before a version or a plan.
    early: Runs,
    /// Failures without numbers among them.
    early_failures: Vec<Draft>,
    count: Count,
    /// The points have numbers, so that a bare `ok` belongs to another tool.
    numbered: bool,
}

/// What the plans state, and what was read. Groups of tests have plans of their own, which are not counted.
#[derive(Debug, Default)]
struct Count {
    planned: Option<u64>,
    points: u64,
    bailed_out: bool,
}

impl Count {
    fn is_complete(&self) -> bool {
        !self.bailed_out && self.planned == Some(self.points)
    }
}

/// The YAML block below a failure.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Yaml {
    #[default]
    Before,
    Begun,
    /// Its entries have this indentation.
    Entries(usize),
    /// What follows belongs to no failure.
    Ended,
}

/// An entry of the YAML block.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Block {
    #[default]
    Other,
    Error,
    Place,
    Stack,
}

static POINT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?P<not>not )?ok(?P<number> \d+)?(?: - | |$)(?P<id>.*?)(?P<group> \{)?$")
});
static PLAN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^1\.\.(?:(?P<count>\d+)\s*(?:#.*)?|0\s.*)$"));
static VERSION: LazyLock<Regex> = LazyLock::new(|| pattern(r"^TAP version \d+"));

impl Format for Tap {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        let is_version = text.starts_with("TAP version") && VERSION.is_match(text);
        let plan = (text.starts_with("1.."))
            .then(|| PLAN.captures(text))
            .flatten();
        if is_version || plan.is_some() {
            if !self.has_plan && !findings.runs.is_inner(TOOL) {
                self.recognise(findings);
            }
            if let Some(plan) = plan {
                let count = plan.name("count");
                let count = count.map_or(Some(0), |count| count.as_str().parse().ok());
                let planned = self.count.planned.unwrap_or_default();
                self.count.planned = Some(planned.saturating_add(count.unwrap_or(u64::MAX)));
            }
            return Claim::Noise;
        }
        if text.starts_with("Bail out!") {
            self.count.bailed_out = true;
            return Claim::Foreign;
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
        if self.has_plan && self.count.is_complete() {
            findings.runs.close_as_seen(TOOL);
        }
        *self = Self::default();
    }
}

impl Tap {
    /// This is TAP, and what was read before it is, too.
    fn recognise(&mut self, findings: &mut Findings) {
        findings.tool(TOOL);
        findings.runs.begin(TOOL);
        findings.runs.absorb(std::mem::take(&mut self.early));
        for draft in self.early_failures.drain(..) {
            findings.add(draft.found());
        }
        (self.begun, self.has_plan) = (true, true);
    }

    fn point(
        &mut self,
        point: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        let numbered = point.name("number").is_some();
        let (id, is_directive) = description(&point["id"]);
        let outcome = match (point.name("not"), is_directive) {
            (_, true) => Outcome::Skipped,
            (None, false) => Outcome::Passed,
            (Some(_), false) => Outcome::Failed,
        };
        let bare = !numbered && point["id"].trim().is_empty();
        if bare && self.numbered {
            return Claim::Foreign;
        }
        if !self.begun && !numbered {
            // A plan may follow. Go's `ok  package` is aligned by more than one space.
            if !point["id"].starts_with(char::is_whitespace) {
                let id = if id.is_empty() { line.body() } else { id };
                self.count.points += 1;
                self.result(outcome, id, findings);
                if outcome == Outcome::Failed && self.early_failures.len() < EARLY {
                    self.early_failures.push(draft_of(id, line));
                }
            }
            return Claim::Foreign;
        }
        self.numbered |= numbered;
        self.close(findings);
        self.begun = true;
        self.count.points += u64::from(line.indent() == 0);
        let id = if id.is_empty() { line.body() } else { id };
        self.groups.retain(|(indent, _)| *indent < line.indent());
        if point.name("group").is_some() {
            // The group's tests follow, and tell by themselves how they ended.
            if self.groups.len() < GROUPS {
                self.groups.push((line.indent(), id.to_owned()));
            }
            return Claim::Noise;
        }
        let path = self.groups.iter().map(|(_, group)| group.as_str());
        let id = path.chain([id]).collect::<Vec<_>>().join(" > ");
        let id = id.as_str();
        if outcome != Outcome::Failed {
            self.result(outcome, id, findings);
            return Claim::Noise;
        }
        if findings.knows_tool(prove::TOOL) && findings.knows_test(id) {
            // Test::More explained it, on standard error.
            return Claim::Chaff;
        }
        self.draft = Some(draft_of(id, line));
        self.block = Block::Other;
        self.yaml = Yaml::Before;
        Claim::Evidence
    }

    /// Records a test's result, or holds it back until it is clear that this is TAP.
    fn result(&mut self, outcome: Outcome, id: &str, findings: &mut Findings) {
        let runs = if self.has_plan {
            &mut findings.runs
        } else {
            &mut self.early
        };
        runs.test(TOOL, outcome, Some(id));
    }

    fn body(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let body = line.body();
        match (body, self.yaml) {
            ("---", Yaml::Before) => {
                self.yaml = Yaml::Begun;
                self.block = Block::Other;
            }
            ("...", Yaml::Begun | Yaml::Entries(_)) => self.yaml = Yaml::Ended,
            (_, Yaml::Begun | Yaml::Entries(_)) => {
                let indent = match self.yaml {
                    Yaml::Entries(indent) => indent,
                    _ => line.indent(),
                };
                self.yaml = Yaml::Entries(indent);
                let key = (line.indent() == indent).then(|| key_of(body)).flatten();
                match key {
                    Some((key, value)) => self.block = entry(draft, key, value, body),
                    None => inside(draft, self.block, line),
                }
            }
            (_, yaml) => match body.strip_prefix('#') {
                // A heading of what follows, or a total.
                Some(_) if yaml == Yaml::Ended => return Claim::Noise,
                Some(comment) if comment.starts_with(" Subtest: ") || is_total(comment) => {}
                Some(comment) => comment_of(draft, comment.trim()),
                // mocha explains without a block.
                None if line.indent() > 0 && yaml == Yaml::Before => plain(draft, line),
                // Output between the tests is nobody's or another tool's.
                None if !line.is_blank() => return Claim::Foreign,
                None => {}
            },
        }
        draft.skip(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        let Some(draft) = self.draft.take() else {
            return;
        };
        // A group that failed because one of its tests did: nobody needs to read it.
        let consequence = draft.failure.message.as_deref().is_some_and(|message| {
            message.starts_with(|c: char| c.is_ascii_digit()) && message.contains(" subtest")
        });
        if consequence {
            findings.told(draft.lines());
        } else {
            let id = draft.failure.id.clone().unwrap_or_default();
            self.result(Outcome::Failed, &id, findings);
            findings.add(draft.found());
        }
    }
}

fn draft_of(id: &str, line: &Line<'_>) -> Draft {
    let mut draft = Draft::new(FailureKind::Test, TOOL, line);
    draft.failure.source = Source::Structured;
    draft.failure.id = Some(id.to_owned());
    draft
}

/// `key: value`, or `key:` with its value in the lines below.
fn key_of(body: &str) -> Option<(&str, &str)> {
    body.split_once(": ")
        .or_else(|| Some((body.strip_suffix(':')?, "")))
}

/// Reads an entry of the YAML block; says what the lines below it, further in, belong to.
fn entry(draft: &mut Draft, key: &str, value: &str, body: &str) -> Block {
    let value = value.trim_matches(['\'', '"']);
    match key {
        "error" | "message" | "details" => {
            draft.message(value.trim_start_matches(['|', '>', '-']));
            Block::Error
        }
        "expected" | "actual" | "got" | "wanted" | "found" | "diff" => {
            draft.message(body.trim_end_matches(" |-"));
            Block::Error
        }
        "location" | "at" | "# at" | "file" | "fileName" | "line" | "lineNumber" => {
            place(draft, key, value);
            Block::Place
        }
        "stack" => Block::Stack,
        _ => Block::Other,
    }
}

/// Reads a line further in than the entries of the YAML block.
fn inside(draft: &mut Draft, block: Block, line: &Line<'_>) {
    let body = line.body();
    match block {
        Block::Error => match key_of(body) {
            Some(("name", _)) => {}
            Some(("message", message)) => draft.message(message.trim_matches(['\'', '"', ','])),
            // The heading of a block of text.
            Some((key, "|-" | "|" | "|2-" | ">-")) => {
                draft.message(key.trim_matches(['\'', '"']).trim_end_matches(':'));
            }
            _ => draft.message(body),
        },
        Block::Place => {
            if let Some((key, value)) = key_of(body) {
                place(draft, key, value.trim_matches(['\'', '"']));
            }
        }
        Block::Stack => {
            if let Some(place) = colon_frame(body).filter(|place| !is_foreign(place.file)) {
                draft.place(place.file, place.line, place.column);
                draft.excerpt(line);
            }
        }
        Block::Other => {}
    }
}

/// `at: f (a.js:3:7)` in one, or `file: a.js` and `line: 3` apart.
fn place(draft: &mut Draft, key: &str, value: &str) {
    match key {
        "file" | "fileName" => draft.place(value, None, None),
        "line" | "lineNumber" => draft.failure.line = draft.failure.line.or(value.parse().ok()),
        _ => {
            let value = value.rsplit_once('(').map_or(value, |(_, at)| at);
            if let Some(place) = colon_frame(value) {
                draft.place(place.file, place.line, place.column);
            }
        }
    }
}

/// A line below a failure that has no YAML block.
fn plain(draft: &mut Draft, line: &Line<'_>) {
    match colon_frame(line.body()).filter(|_| line.body().starts_with("at ")) {
        Some(place) if is_foreign(place.file) => {}
        Some(place) => {
            draft.place(place.file, place.line, place.column);
            draft.excerpt(line);
        }
        None if draft.failure.file.is_none() => draft.message(line.body()),
        None => {}
    }
}
