//! go test, go build and go vet.
//!
//! A failed test is headed by `--- FAIL: TestX (0.00s)`; its messages follow, indented. With `-v`
//! they come before, under `=== RUN   TestX`. A panic takes the whole package down.

use std::borrow::Cow;
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
/// How many lines of all running tests together.
const REMEMBERED_OF_ALL: usize = 400;

/// A line that a running test printed.
#[derive(Debug)]
struct Said {
    test: String,
    number: u64,
    text: String,
}

/// Reads go's text.
#[derive(Debug, Default)]
pub(super) struct Go {
    /// The package that all of it is of, where that is known.
    package: String,
    draft: Option<Draft>,
    panicking: bool,
    /// Output of tests with `-v`, each with its test, until their results are known.
    remembered: Vec<Said>,
    /// The test that is running, with `-v`.
    running: String,
    verbose: bool,
    /// Under `# package`, compile errors follow.
    building: bool,
    /// The test that failed last.
    failed: String,
    /// A test of this package failed, or a panic ended it.
    told: bool,
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
        if let Some(frame) = text.strip_prefix("=== ") {
            self.close(findings);
            self.verbose |= frame.starts_with("RUN");
            frame
                .split_once(' ')
                .map_or("", |(_, test)| test.trim_start())
                .clone_into(&mut self.running);
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
    /// The output that comes next is that of this test, as a report for machines says; what is read
    /// of another one is whole, but for its parts.
    pub(super) fn runs(&mut self, test: &str, findings: &mut Findings) {
        let read = self
            .draft
            .as_ref()
            .and_then(|draft| draft.failure.id.as_deref());
        let other = read.is_some_and(|id| id != test && !is_part(test, id));
        if other {
            self.close(findings);
        }
        test.clone_into(&mut self.running);
    }

    /// Reads the text of one package.
    pub(super) fn of(package: &str) -> Self {
        Self {
            package: package.to_owned(),
            ..Self::default()
        }
    }

    fn result(&mut self, outcome: &str, id: &str, line: &Line<'_>, findings: &mut Findings) {
        findings.tool(TOOL);
        let draft = self.draft.take();
        // A test that failed because a part of it did is told by its part.
        let child = |draft: &Draft| {
            let parent = draft.failure.id.as_deref().unwrap_or_default();
            draft.failure.message.is_none() && is_part(id, parent)
        };
        match draft {
            Some(draft) if child(&draft) => self.draft = (outcome != "FAIL").then_some(draft),
            Some(draft) => findings.add(draft.found()),
            None => {}
        }
        self.panicking = false;
        self.told |= outcome == "FAIL";
        if self.running == id {
            self.running.clear();
        }
        let (said, others) = std::mem::take(&mut self.remembered)
            .into_iter()
            .partition::<Vec<_>, _>(|said| said.test == id);
        self.remembered = others;
        // Tests of other packages may have the same name.
        let within_all: Cow<'_, str> = match self.package.as_str() {
            "" => id.into(),
            package => format!("{package}.{id}").into(),
        };
        let mut told = |outcome| findings.runs.test(TOOL, outcome, Some(&within_all));
        match outcome {
            "PASS" => told(Outcome::Passed),
            "SKIP" => told(Outcome::Skipped),
            "FAIL" => {
                told(Outcome::Failed);
                // The other order: its part was told before it.
                if said.is_empty() && is_part(&self.failed, id) {
                    return;
                }
                id.clone_into(&mut self.failed);
                let mut draft = Draft::new(FailureKind::Test, TOOL, line);
                draft.failure.id = Some(id.to_owned());
                for line in said {
                    take_message(&mut draft, &line.text);
                    findings.told(line.number..=line.number);
                }
                self.draft = Some(draft);
            }
            _ => {}
        }
    }

    /// `ok`, `FAIL` and `?` lines close a package, `# package` heads the errors of its build.
    fn package(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        let text = line.text;
        let closes =
            text.starts_with("ok  \t") || text.starts_with("FAIL\t") || text.starts_with("?   \t");
        if closes {
            self.close(findings);
            self.building = false;
            self.remembered.clear();
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
            let whole = std::mem::take(&mut self.told) || broken || !text.starts_with("FAIL");
            if !whole {
                self.ended_early(package, line, findings);
            }
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
                let mode = match (told, self.package.is_empty()) {
                    (_, false) => "report",
                    (true, true) => "verbose",
                    (false, true) => "packages",
                };
                if ran {
                    findings.runs.mode(TOOL, mode);
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

    /// The package failed with no test of it failed: something ended the program.
    fn ended_early(&mut self, package: &str, line: &Line<'_>, findings: &mut Findings) {
        let running = std::mem::take(&mut self.running);
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(if running.is_empty() {
            package.to_owned()
        } else {
            running
        });
        draft.message("the package ended before its tests did");
        draft.excerpt(line);
        findings.add_test(TOOL, draft);
    }

    fn panic(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        findings.tool(TOOL);
        let draft = self
            .draft
            .get_or_insert_with(|| Draft::new(FailureKind::Runtime, "go", line));
        draft.message(line.text);
        draft.excerpt(line);
        self.panicking = true;
        self.told = true;
        Claim::Evidence
    }

    fn output(&mut self, line: &Line<'_>) -> Claim {
        let Some(draft) = &mut self.draft else {
            if !self.verbose {
                return Claim::Foreign;
            }
            self.remember(line);
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

    /// Keeps what the running test printed.
    fn remember(&mut self, line: &Line<'_>) {
        let own = |said: &&Said| said.test == self.running;
        if self.remembered.iter().filter(own).count() < REMEMBERED
            && self.remembered.len() < REMEMBERED_OF_ALL
        {
            self.remembered.push(Said {
                test: self.running.clone(),
                number: line.number,
                text: line.text.to_owned(),
            });
        }
    }

    fn close(&mut self, findings: &mut Findings) {
        self.panicking = false;
        findings.close(&mut self.draft);
    }
}

/// Whether a test is a part of another one: `TestTable/even` of `TestTable`.
fn is_part(id: &str, whole: &str) -> bool {
    id.strip_prefix(whole)
        .is_some_and(|rest| rest.starts_with('/'))
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
