//! JUnit and TestNG under Maven (Surefire, Failsafe), Gradle and Ant.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads test failures of the JVM's build tools.
#[derive(Debug, Default)]
pub(super) struct Jvm {
    draft: Option<Draft>,
    tool: &'static str,
    /// The class that is being tested, where a line names the test alone.
    class: String,
    lines: u32,
}

/// How many lines below a heading are read.
const BODY_LINES: u32 = 40;

static GRADLE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<id>[A-Za-z_][\w.$]*(?: > .+?)+) (?P<outcome>FAILED|PASSED|SKIPPED)(?: \([\d.]+m?s\))?$",
    )
});
static GRADLE_TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<runs>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?$",
    )
});
static SUREFIRE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\[ERROR\] +)?(?P<id>[\w.$]+(?:[.#(\[][^ ]*)?.*?)(?: --)? +(?i:Time elapsed): [\d.,]+ s(?:ec)? +<<< (?:FAILURE|ERROR)!",
    )
});
static SUREFIRE_CLASS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:\[\w+\] +)?Tests run: (?P<runs>\d+), Failures: (?P<failures>\d+), Errors: (?P<errors>\d+), Skipped: (?P<skipped>\d+)(?P<class>,? (?:Time elapsed|FAILURE).*)?$",
    )
});
static ANT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s*(?:\[\w+\] )?(?:Testcase: (?P<name>[^\s(]+)(?:\((?P<class>[\w.$]+)\))?:?(?: took [\d.]+ sec)?(?:\s+(?P<outcome>FAILED|Caused an ERROR))?|\s*(?P<bare>FAILED|Caused an ERROR))$",
    )
});
static ANT_CLASS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:\[\w+\] )?(?:Testsuite|Running|Testing)(?:: | )(?P<class>[\w.$]+)$")
});
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^\s*(?:\[\w+\] )?\s*at (?P<method>[\w.$<>/@]+)\((?P<file>\w+\.\w+):(?P<line>\d+)\)")
});
static GRADLE_PLACE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^\s+(?P<message>[\w.$]+(?:Exception|Error|Failure|Failed)\w*(?:: .*)?) at (?P<file>\w+\.\w+):(?P<line>\d+)$",
    )
});

impl Format for Jvm {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.contains(" > ")
            && let Some(test) = GRADLE.captures(text)
        {
            self.close(findings);
            findings.tool("gradle");
            match &test["outcome"] {
                "PASSED" => findings
                    .runs
                    .test("gradle", Outcome::Passed, Some(&test["id"])),
                "SKIPPED" => findings
                    .runs
                    .test("gradle", Outcome::Skipped, Some(&test["id"])),
                _ => self.open(gradle_id(&test["id"]), "gradle", line, findings),
            }
            return Claim::Evidence;
        }
        if (text.contains("Time elapsed") || text.contains("Tests run:"))
            && let Some(claim) = self.surefire(line, findings)
        {
            return claim;
        }
        if text.contains(" completed")
            && let Some(totals) = GRADLE_TOTALS.captures(text)
        {
            self.close(findings);
            let number = |name| {
                totals
                    .name(name)
                    .map_or(0, |n: regex::Match<'_>| n.as_str().parse().unwrap_or(0))
            };
            let (failed, skipped): (u64, u64) = (number("failed"), number("skipped"));
            let passed = number("runs").saturating_sub(failed + skipped);
            findings.runs.close(
                "gradle",
                Totals {
                    passed,
                    failed,
                    skipped,
                },
            );
            return Claim::Evidence;
        }
        if (text.contains("Test") || text.contains("Running"))
            && let Some(class) = ANT_CLASS.captures(text)
        {
            class["class"].clone_into(&mut self.class);
        }
        if (text.contains("FAILED")
            || text.contains("Caused an ERROR")
            || text.contains("Testcase:"))
            && let Some(claim) = self.ant(line, findings)
        {
            return claim;
        }
        self.body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Jvm {
    fn open(&mut self, id: String, tool: &'static str, line: &Line<'_>, findings: &mut Findings) {
        self.close(findings);
        findings.tool(tool);
        findings.runs.test(tool, Outcome::Failed, Some(&id));
        let mut draft = Draft::new(FailureKind::Test, tool, line);
        draft.failure.id = Some(id);
        self.draft = Some(draft);
        self.tool = tool;
        self.lines = 0;
    }

    fn surefire(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        if let Some(totals) = SUREFIRE_CLASS.captures(line.text) {
            self.close(findings);
            if totals.name("class").is_none() {
                let number = |name: &str| totals[name].parse().unwrap_or(0_u64);
                let (failed, skipped) = (number("failures") + number("errors"), number("skipped"));
                let passed = number("runs").saturating_sub(failed + skipped);
                findings.tool("maven");
                findings.runs.close(
                    "maven",
                    Totals {
                        passed,
                        failed,
                        skipped,
                    },
                );
            }
            return Some(Claim::Evidence);
        }
        let test = SUREFIRE.captures(line.text)?;
        let id = test["id"].trim();
        // `test(a.b.CTest)` and `a.b.CTest.test` are the two orders of the same id.
        let id = match id
            .split_once('(')
            .and_then(|(name, rest)| Some((name, rest.strip_suffix(')')?)))
        {
            Some((name, class)) if !name.contains('.') && class.contains('.') => {
                format!("{class}.{name}")
            }
            _ => id.to_owned(),
        };
        self.open(id, "maven", line, findings);
        Some(Claim::Evidence)
    }

    fn ant(&mut self, line: &Line<'_>, findings: &mut Findings) -> Option<Claim> {
        let test = ANT.captures(line.text)?;
        if let Some(name) = test.name("name") {
            self.close(findings);
            let class = test
                .name("class")
                .map_or(self.class.as_str(), |class| class.as_str());
            let id = if class.is_empty() {
                name.as_str().to_owned()
            } else {
                format!("{class}.{}", name.as_str())
            };
            if test.name("outcome").is_some() {
                self.open(id, "ant", line, findings);
            } else {
                // The outcome may stand in the next line.
                let mut draft = Draft::new(FailureKind::Test, "ant", line);
                draft.failure.id = Some(id);
                self.draft = Some(draft);
                self.tool = "";
            }
            return Some(Claim::Evidence);
        }
        let id = self
            .draft
            .as_ref()
            .filter(|_| self.tool.is_empty())?
            .failure
            .id
            .clone()?;
        self.draft = None;
        self.open(id, "ant", line, findings);
        Some(Claim::Evidence)
    }

    fn body(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        self.lines += 1;
        if self.lines > BODY_LINES || line.is_blank() && draft.failure.message.is_some() {
            self.close(findings);
            return Claim::Foreign;
        }
        if let Some(place) = GRADLE_PLACE.captures(line.text) {
            draft.message(&place["message"]);
            draft.place(&place["file"], place["line"].parse().ok(), None);
            draft.excerpt(line);
        } else if let Some(frame) = FRAME.captures(line.text) {
            // The user's own frame is the one in the class of the test.
            let method = &frame["method"];
            let class = method.rsplit_once('.').map_or(method, |(class, _)| class);
            let class = class.split('$').next().unwrap_or(class);
            if draft
                .failure
                .id
                .as_deref()
                .is_some_and(|id| id.contains(class))
            {
                draft.place(&frame["file"], frame["line"].parse().ok(), None);
                draft.excerpt(line);
            } else {
                draft.skip(line);
            }
        } else if line.body().starts_with("at ") || line.body().starts_with("... ") {
            draft.skip(line);
        } else if line.text.starts_with("> Task") || line.text.starts_with("[INFO]") {
            self.close(findings);
            return Claim::Foreign;
        } else {
            draft.message(line.body().trim_start_matches("[junit] "));
            draft.excerpt(line);
        }
        Claim::Evidence
    }

    fn close(&mut self, findings: &mut Findings) {
        if let Some(draft) = self.draft.take().filter(|_| !self.tool.is_empty()) {
            findings.add(draft.found());
        }
    }
}

/// `a.b.CTest > test()` as it stands in a filter: `a.b.CTest.test()`, nested names kept apart.
fn gradle_id(id: &str) -> String {
    match id.split_once(" > ") {
        Some((class, test)) if !test.contains(" > ") && class.contains('.') => {
            format!("{class}.{test}")
        }
        _ => id.to_owned(),
    }
}
