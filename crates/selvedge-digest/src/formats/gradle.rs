//! Gradle: the results of its tests, and what went wrong with the build itself.

use std::sync::LazyLock;

use regex::Regex;

use super::java_test::JavaTest;
use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome, Severity, Totals};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "gradle";

/// Reads Gradle's plain console.
#[derive(Debug, Default)]
pub(super) struct Gradle {
    test: JavaTest,
    /// A task of Gradle's was seen, so that a line that ends like a result may be one.
    runs: bool,
    /// What went wrong, and where, as far as it is told.
    wrong: Option<Draft>,
    /// The innermost cause of it.
    cause: Option<String>,
    place: Option<(String, u32)>,
    /// Below `* Where:`.
    located: bool,
}

static RESULT: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<id>[A-Za-z_][\w.$]*(?: > .+?)+) (?P<outcome>FAILED|PASSED|SKIPPED)(?: \([\d.]+m?s\))?$",
    )
});
static TOTALS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<runs>\d+) tests? completed(?:, (?P<failed>\d+) failed)?(?:, (?P<skipped>\d+) skipped)?$",
    )
});
static WHERE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:Build|Settings|Script|Initialization script)\b.*? '(?P<file>[^']+)' line: (?P<line>\d+)$",
    )
});

impl Format for Gradle {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if text.starts_with("> Task :") || text.starts_with(':') {
            self.test.close(findings);
            self.runs = true;
            return Claim::Foreign;
        }
        if text.ends_with(['D', ')'])
            && text.contains(" > ")
            && let Some(test) = RESULT.captures(text)
        {
            return self.result(&test, line, findings);
        }
        if text.starts_with(|c: char| c.is_ascii_digit())
            && let Some(totals) = TOTALS.captures(text)
        {
            self.test.close(findings);
            close(&totals, findings);
            return Claim::Evidence;
        }
        if text.starts_with("* ") {
            self.test.close(findings);
            self.close_wrong(findings);
            self.located = text == "* Where:";
            if self.located {
                return Claim::Evidence;
            }
            if text == "* What went wrong:" {
                findings.tool(TOOL);
                self.wrong = Some(Draft::new(FailureKind::Infra, TOOL, line));
                return Claim::Evidence;
            }
        }
        if std::mem::take(&mut self.located)
            && let Some(place) = WHERE.captures(text)
        {
            let number = place["line"].parse().unwrap_or(0);
            self.place = Some((place["file"].to_owned(), number));
            return Claim::Evidence;
        }
        if self.wrong.is_some() {
            return self.wrong(line, findings);
        }
        self.test.body(text, line, findings)
    }

    fn is_open(&self) -> bool {
        self.runs || self.located || self.wrong.is_some() || self.test.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.test.close(findings);
        self.close_wrong(findings);
    }
}

impl Gradle {
    fn result(
        &mut self,
        test: &regex::Captures<'_>,
        line: &Line<'_>,
        findings: &mut Findings,
    ) -> Claim {
        self.test.close(findings);
        findings.tool(TOOL);
        let id = id_of(&test["id"]);
        let outcome = match &test["outcome"] {
            "PASSED" => Outcome::Passed,
            "SKIPPED" => Outcome::Skipped,
            _ => {
                self.test.begin(TOOL, &id, line, findings);
                return Claim::Evidence;
            }
        };
        findings.runs.test(TOOL, outcome, Some(&id));
        Claim::Noise
    }

    /// A line below "What went wrong"; a task that ran a compiler or tests only repeats them.
    fn wrong(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some(draft) = &mut self.wrong else {
            return Claim::Foreign;
        };
        if line.is_blank() {
            self.close_wrong(findings);
            return Claim::Foreign;
        }
        let text = line.body().trim_start_matches("> ");
        if line.body().starts_with("> ") {
            self.cause = Some(text.to_owned());
        }
        if let Some(task) = text.strip_prefix("Execution failed for task '") {
            draft.failure.id = Some(task.trim_end_matches(['.', '\'']).to_owned());
        } else if text.starts_with("There were failing tests")
            || text.starts_with("Compilation failed")
            || text.starts_with("Compilation error")
        {
            draft.severity = Severity::Warning;
        }
        draft.message(text);
        draft.excerpt(line);
        Claim::Evidence
    }

    fn close_wrong(&mut self, findings: &mut Findings) {
        let cause = self.cause.take();
        if let Some(mut draft) = self.wrong.take() {
            if let Some(cause) = cause {
                draft.summary(&cause);
            }
            if let Some((file, number)) = self.place.take() {
                draft.place(&file, Some(number), None);
            }
            findings.add(draft.found());
        }
    }
}

fn close(totals: &regex::Captures<'_>, findings: &mut Findings) {
    let number = |name: &str| {
        let digits = totals.name(name).map_or("", |group| group.as_str());
        digits.parse().unwrap_or(0_u64)
    };
    let (failed, skipped) = (number("failed"), number("skipped"));
    findings
        .runs
        .close(TOOL, Totals::of_all(number("runs"), failed, skipped));
}

/// `a.b.CTest > test()` as it stands in a filter: `a.b.CTest.test()`, nested names kept apart.
fn id_of(id: &str) -> String {
    match id.split_once(" > ") {
        Some((class, test)) if !test.contains(" > ") && class.contains('.') => {
            format!("{class}.{test}")
        }
        _ => id.to_owned(),
    }
}
