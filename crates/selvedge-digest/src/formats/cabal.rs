//! cabal: dependencies that cannot be had, modules that are not there, and the results of test suites.
//! What the compiler says is [GHC's](super::ghc).

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Outcome};
use crate::line::Line;
use crate::record::FailureKind;

const TOOL: &str = "cabal";
/// How many lines of an error are read.
const BODY_LINES: u32 = 12;

/// Reads cabal's own errors.
#[derive(Debug, Default)]
pub(super) struct Cabal {
    draft: Option<Draft>,
    lines: u32,
    /// The lines of the error, joined.
    message: String,
    /// Results of test suites were told; their count follows.
    suites: bool,
}

/// Errors that only repeat what was told before them.
const CONSEQUENCES: [&str; 2] = ["Failed to build ", "Tests failed for "];

impl Format for Cabal {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        let said = text
            .strip_prefix("cabal: ")
            .or(text.strip_prefix("Error: cabal: "));
        if let Some(message) = said {
            self.finish(findings);
            findings.tool(TOOL);
            if CONSEQUENCES.iter().any(|start| message.starts_with(start)) {
                return Claim::Noise;
            }
            let mut draft = Draft::new(FailureKind::Infra, TOOL, line);
            draft.excerpt(line);
            message.clone_into(&mut self.message);
            self.draft = Some(draft);
            self.lines = 0;
            return Claim::Evidence;
        }
        if let Some((suite, outcome)) = suite(text) {
            self.suites = true;
            return result(suite, outcome, line, findings);
        }
        if text.ends_with(" test cases) passed.") {
            self.suites = false;
            if findings.knows_tool(TOOL) {
                findings.runs.close_as_seen(TOOL);
            }
            return Claim::Noise;
        }
        let Some(draft) = self
            .draft
            .as_mut()
            .filter(|_| !line.is_blank() && self.lines < BODY_LINES)
        else {
            self.finish(findings);
            return Claim::Foreign;
        };
        self.lines += 1;
        // The steps of the search for versions: the first that failed tells why.
        let step = text
            .strip_prefix("[__")
            .and_then(|rest| rest.split_once("] "));
        match step {
            Some((_, step)) if step.starts_with("trying: ") || step.starts_with("fail ") => {}
            Some((_, step)) => {
                self.message.push(' ');
                self.message.push_str(step);
            }
            None if text.starts_with("After searching") => self.lines = BODY_LINES,
            None => {
                self.message.push(' ');
                self.message.push_str(line.body());
            }
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some() || self.suites
    }

    fn finish(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            draft.message(&self.message);
            findings.add(draft.found());
        }
    }
}

/// `Test suite spec: FAIL`
fn suite(text: &str) -> Option<(&str, Outcome)> {
    let (suite, outcome) = text.strip_prefix("Test suite ")?.rsplit_once(": ")?;
    match outcome {
        "FAIL" => Some((suite, Outcome::Failed)),
        "PASS" => Some((suite, Outcome::Passed)),
        _ => None,
    }
}

/// Another runner may have told the tests of the suite one by one.
fn result(suite: &str, outcome: Outcome, line: &Line<'_>, findings: &mut Findings) -> Claim {
    if findings.knows_tool("hspec") {
        return Claim::Noise;
    }
    findings.tool(TOOL);
    findings.runs.test(TOOL, outcome, Some(suite));
    if outcome == Outcome::Failed {
        let mut draft = Draft::new(FailureKind::Test, TOOL, line);
        draft.failure.id = Some(suite.to_owned());
        draft.message("the test suite failed");
        findings.add(draft.found());
    }
    Claim::Evidence
}
