//! Catch2. Each failed assertion stands below a header that names the test case and its sections;
//! the compact reporter prints one line an assertion and names no test.

use std::sync::LazyLock;

use regex::Regex;

use super::place::is_c;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::{Line, Signals};
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "catch2";

/// Reads Catch2's console and compact reporters.
#[derive(Debug, Default)]
pub(super) struct Catch2 {
    part: Part,
    /// The test case and its sections, the outermost first.
    names: Vec<String>,
    draft: Option<Draft>,
    /// The last test case that was counted as failed.
    counted: String,
}

/// Where in a header and its failure the reader is.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    #[default]
    Outside,
    /// Below a wavy rule, where Catch2 gives its own name.
    Banner,
    /// Between the two rules of a header, where the names stand.
    Names,
    /// Below them.
    Body,
}

static FAILED: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: FAILED:$"));
static COMPACT: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?P<file>\S.*?)[:(](?P<line>\d+)\)?: failed: (?P<message>\S.*)$"));
static COUNT: LazyLock<Regex> = LazyLock::new(|| pattern(r"(\d+) (passed|failed|skipped)"));
static GREEN: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^(?:All tests passed|Passed all) .*?(?P<passed>\d+) test cases?\b"));

impl Format for Catch2 {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if is_rule(text) {
            return self.rule(text.starts_with('~'), findings);
        }
        match self.part {
            Part::Outside | Part::Body => {}
            Part::Banner => {
                self.part = Part::Outside;
                if text.contains(" is a Catch") {
                    findings.tool(TOOL);
                    return Claim::Noise;
                }
            }
            Part::Names if line.is_blank() || self.names.len() > 16 => self.part = Part::Outside,
            Part::Names => {
                self.names.push(line.body().to_owned());
                return Claim::Noise;
            }
        }
        let failing = line.signals.intersects(Signals::FAIL);
        if failing && text.ends_with(": FAILED:") {
            return self.failed(line, findings);
        }
        if failing && text.contains(": failed: ") {
            return compact(line, findings);
        }
        if text.starts_with("==========") || self.totals(text, findings) {
            self.close(findings);
            self.part = Part::Outside;
            return Claim::Noise;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if line.is_blank() {
            self.close(findings);
            return Claim::Noise;
        }
        draft.message(line.body());
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.part != Part::Outside
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Catch2 {
    /// A rule begins the banner, or begins or ends the header of a failure.
    fn rule(&mut self, wavy: bool, findings: &mut Findings) -> Claim {
        self.close(findings);
        self.part = match self.part {
            _ if wavy => Part::Banner,
            Part::Names => Part::Body,
            _ if findings.knows_tool(TOOL) => Part::Names,
            _ => return Claim::Foreign,
        };
        if self.part == Part::Names {
            self.names.clear();
        }
        Claim::Noise
    }

    fn failed(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(place) = FAILED
            .captures(line.text)
            .filter(|_| self.part == Part::Body)
        else {
            return Claim::Foreign;
        };
        self.close(findings);
        findings.tool(TOOL);
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(self.names.join("/"));
        draft.place(&place["file"], place["line"].parse().ok(), None);
        draft.excerpt(line);
        self.draft = Some(draft);
        let test = self.names.first().map_or("", String::as_str);
        if self.counted != test {
            test.clone_into(&mut self.counted);
            findings.runs.test(TOOL, Outcome::Failed, Some(test));
        }
        Claim::Evidence
    }

    /// Whether the line holds closing totals.
    fn totals(&mut self, text: &str, findings: &mut Findings) -> bool {
        let mut totals = Totals::default();
        if text.starts_with("test cases:") {
            for count in COUNT.captures_iter(text) {
                let number = count[1].parse().unwrap_or(0);
                match &count[2] {
                    "passed" => totals.passed = number,
                    "failed" => totals.failed = number,
                    _ => totals.skipped = number,
                }
            }
        } else if let Some(end) = GREEN.captures(text) {
            totals.passed = end["passed"].parse().unwrap_or(0);
        } else {
            return false;
        }
        findings.tool(TOOL);
        findings.runs.close(TOOL, totals);
        self.counted.clear();
        true
    }

    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

/// A failed assertion as the compact reporter tells it.
fn compact(line: &Line<'_>, findings: &mut Findings) -> Claim {
    let found = COMPACT.captures(line.text).filter(|f| is_c(&f["file"]));
    let Some(found) = found else {
        return Claim::Foreign;
    };
    findings.tool(TOOL);
    let mut draft = Draft::new(FailureKind::Test, TOOL, line);
    draft.place(&found["file"], found["line"].parse().ok(), None);
    draft.message(&found["message"]);
    draft.excerpt(line);
    findings.add(draft.found());
    Claim::Evidence
}

/// The rules are as wide as Catch2's console, 79 columns.
fn is_rule(text: &str) -> bool {
    text.len() == 79
        && text.starts_with(['-', '~'])
        && text.bytes().all(|byte| byte == text.as_bytes()[0])
}
