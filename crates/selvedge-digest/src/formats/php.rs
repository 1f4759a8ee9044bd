//! PHP itself, by its interpreter's `Fatal error: … in FILE on line N`, and Composer, which numbers the
//! problems it cannot resolve.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::{Line, Signals};
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads errors of PHP and of Composer.
#[derive(Debug, Default)]
pub(super) struct Php {
    /// One of Composer's problems.
    problem: Option<Draft>,
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:PHP )?(?P<sort>Fatal|Parse|Recoverable fatal|Catchable fatal) error: +(?P<message>\S.*?) in (?P<file>\S+?)(?: on line |:)(?P<line>\d+)$",
    )
});

impl Format for Php {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let body = line.body();
        if let Some(draft) = &mut self.problem {
            let number = body
                .strip_prefix("Parse error on line ")
                .and_then(|rest| rest.split(':').next());
            if let Some(number) = number {
                draft.failure.line = number.parse().ok();
            }
            if line.indent() >= 4 {
                // It is all message: as an excerpt it would only be said twice.
                draft.message(body.trim_start_matches("- "));
                draft.skip(line);
                return Claim::Evidence;
            }
            if line.indent() == 2 && draft.failure.file.is_some() {
                draft.message(body);
                draft.skip(line);
                return Claim::Evidence;
            }
            self.close(findings);
        }
        if body.contains(" [--") && body.contains("] [-") {
            // The usage of a command of Composer's, below its error.
            return if findings.knows_tool("composer") {
                Claim::Noise
            } else {
                Claim::Foreign
            };
        }
        if line.indent() == 2
            && body
                .strip_prefix("Problem ")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        {
            findings.tool("composer");
            self.problem = Some(Draft::new(FailureKind::Infra, "composer", line));
            return Claim::Evidence;
        }
        if line.indent() == 2
            && let Some((file, rest)) = body.strip_prefix('"').and_then(|rest| rest.split_once('"'))
            && rest == " does not contain valid JSON"
        {
            findings.tool("composer");
            let mut draft = Draft::new(FailureKind::Infra, "composer", line);
            draft.place(file, None, None);
            draft.message(body);
            self.problem = Some(draft);
            return Claim::Evidence;
        }
        let told = line.signals.intersects(Signals::ERROR) && body.contains(" error: ");
        let Some(found) = told.then(|| ERROR.captures(line.text)).flatten() else {
            return Claim::Foreign;
        };
        let kind = if &found["sort"] == "Parse" {
            FailureKind::Compile
        } else {
            FailureKind::Runtime
        };
        findings.tool("php");
        let mut draft = Draft::new(kind, "php", line);
        draft.place(&found["file"], found["line"].parse().ok(), None);
        draft.message(found["message"].trim_start_matches("Uncaught "));
        draft.excerpt(line);
        findings.add(draft.found());
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.problem.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Php {
    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.problem);
    }
}
