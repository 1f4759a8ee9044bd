//! go test, go build and go vet.
//!
//! A failed test is headed by `--- FAIL: TestX (0.00s)`; its messages follow, indented. With `-v`
//! they come before, under `=== RUN   TestX`. A panic takes the whole package down.

use std::sync::LazyLock;

use regex::Regex;

use super::place::is_foreign;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "go test";
/// How many lines of a running test's output are remembered until its result is known.
const REMEMBERED: usize = 24;

/// Reads go's text.
#[derive(Debug, Default)]
pub(super) struct Go {
    draft: Option<Draft>,
    panicking: bool,
    /// Output of tests with `-v`, until their result is known.
    remembered: Vec<String>,
    verbose: bool,
    /// Under `# package`, compile errors follow.
    building: bool,
    /// The test that failed last.
    failed: String,
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^ *--- (?P<outcome>PASS|FAIL|SKIP|BENCH): (?P<id>\S.*?)(?: \([\d.]+m?s\))?$")
});
static MESSAGE: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^ +(?P<file>[\w./-]+\.go):(?P<line>\d+): ?(?P<message>.*)$"));
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"^\t(?P<file>\S+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$"));
static COMPILE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:vet: |\t)?(?P<file>[\w./@+-]+\.go):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>.+)$",
    )
});

impl Format for Go {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if line.body().starts_with("--- ")
            && let Some(result) = RESULT.captures(text)
        {
            self.building = false;
            self.result(&result["outcome"], &result["id"], line, findings);
            return Claim::Evidence;
        }
        if text.starts_with("=== ") {
            if text.starts_with("=== RUN") {
                self.verbose = true;
                self.remembered.clear();
            }
            self.close(findings);
            return Claim::Noise;
        }
        if let Some(claim) = self.package(line, findings) {
            return claim;
        }
        if self.building
            && let Some(error) = COMPILE.captures(text)
        {
            let mut draft = Draft::new(FailureKind::Compile, "go", line);
            let column = error
                .name("column")
                .and_then(|column| column.as_str().parse().ok());
            draft.place(&error["file"], error["line"].parse().ok(), column);
            draft.message(&error["message"]);
            draft.excerpt(line);
            findings.tool("go");
            findings.add(draft.found());
            return Claim::Evidence;
        }
        if text.starts_with("panic: ") || text.starts_with("fatal error: ") {
            return self.panic(line, findings);
        }
        self.output(line)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.building || self.verbose
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Go {
    fn result(&mut self, outcome: &str, id: &str, line: &Line<'_>, findings: &mut Findings) {
        findings.tool(TOOL);
        let draft = self.draft.take();
        // A test that failed because a part of it did is told by its part.
        let child = |draft: &Draft| {
            let parent = draft.failure.id.as_deref().unwrap_or_default();
            draft.failure.message.is_none()
                && id
                    .strip_prefix(parent)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        if let Some(draft) = draft.filter(|draft| !(outcome == "FAIL" && child(draft))) {
            findings.add(draft.found());
        }
        self.panicking = false;
        match outcome {
            "PASS" => findings.runs.test(TOOL, Outcome::Passed, Some(id)),
            "SKIP" => findings.runs.test(TOOL, Outcome::Skipped, Some(id)),
            "FAIL" => {
                findings.runs.test(TOOL, Outcome::Failed, Some(id));
                // The other order: its part was told before it.
                let told = self.failed.strip_prefix(id);
                if self.remembered.is_empty() && told.is_some_and(|rest| rest.starts_with('/')) {
                    return;
                }
                id.clone_into(&mut self.failed);
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id.to_owned());
                for text in std::mem::take(&mut self.remembered) {
                    take_message(&mut draft, &text);
                }
                self.draft = Some(draft);
            }
            _ => {}
        }
        self.remembered.clear();
    }

    /// `ok`, `FAIL` and `?` lines close a package, `# package` heads the errors of its build.
    fn package(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        let text = line.text;
        let closes =
            text.starts_with("ok  \t") || text.starts_with("FAIL\t") || text.starts_with("?   \t");
        if closes {
            self.close(findings);
            self.building = false;
            // A package whose tests were told one by one is no test beside them.
            let told = std::mem::take(&mut self.verbose);
            findings.tool(TOOL);
            let mut fields = text.split('\t').skip(1);
            let (package, rest) = (
                fields.next().unwrap_or_default(),
                fields.next().unwrap_or_default(),
            );
            let broken = ["[build failed]", "[setup failed]"]
                .iter()
                .any(|end| text.ends_with(end));
            if !broken {
                let outcome = if text.starts_with("ok") {
                    Some(Outcome::Passed)
                } else {
                    None
                };
                let ran = !rest.contains("[no test") && !text.contains("[no tests to run]");
                if let Some(outcome) = outcome.filter(|_| ran && !told) {
                    findings.runs.test(TOOL, outcome, Some(package));
                }
                if ran && !told {
                    findings.runs.package_alone();
                }
                findings.runs.close_as_seen(TOOL);
            }
            return Some(Claim::Noise);
        }
        if text == "FAIL" || text == "PASS" {
            self.close(findings);
            return findings.knows_tool(TOOL).then_some(Claim::Noise);
        }
        if text.strip_prefix("# ").is_some_and(is_package) {
            self.close(findings);
            self.building = true;
            return Some(Claim::Noise);
        }
        if self.building && !text.starts_with(['\t', ' ']) && !COMPILE.is_match(text) {
            self.building = text.starts_with("package ") || text.starts_with("note: ");
        }
        None
    }

    fn panic(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        findings.tool(TOOL);
        let draft = self
            .draft
            .get_or_insert_with(|| Draft::new(FailureKind::Runtime, "go", line));
        draft.message(line.text);
        draft.excerpt(line);
        self.panicking = true;
        Claim::Evidence
    }

    fn output(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            if !self.verbose {
                return Claim::Foreign;
            }
            if self.remembered.len() < REMEMBERED {
                self.remembered.push(line.text.to_owned());
            }
            return if MESSAGE.is_match(line.text) {
                Claim::Evidence
            } else {
                Claim::Foreign
            };
        };
        if self.panicking {
            if let Some(frame) = FRAME
                .captures(line.text)
                .filter(|frame| !is_foreign(&frame["file"]))
            {
                draft.place(&frame["file"], frame["line"].parse().ok(), None);
                draft.excerpt(line);
            } else {
                draft.skip(line);
            }
            return Claim::Evidence;
        }
        if line.indent() == 0 && !line.is_blank() && !self.verbose {
            // Output of the program under test, printed between the results.
            draft.excerpt(line);
            return Claim::Foreign;
        }
        take_message(draft, line.text);
        draft.skip(line);
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        self.panicking = false;
        if let Some(draft) = self.draft.take() {
            findings.add(draft.found());
        }
    }
}

/// `example.com/shop/cart`, or `example.com/shop/cart [example.com/shop/cart.test]`.
fn is_package(text: &str) -> bool {
    let (path, test) = text.split_once(' ').unwrap_or((text, "["));
    path.contains(['/', '.']) && !path.contains("://") && test.starts_with('[')
}

fn take_message(draft: &mut Draft, text: &str) {
    if let Some(message) = MESSAGE.captures(text) {
        draft.place(&message["file"], message["line"].parse().ok(), None);
        draft.message(&message["message"]);
    } else {
        draft.message(text.trim());
    }
}
