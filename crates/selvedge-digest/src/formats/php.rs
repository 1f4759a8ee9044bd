//! PHP itself, by its interpreter's `Fatal error: … in FILE on line N`, and Composer, which numbers the
//! problems it cannot resolve.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::{CleanLine, LineSignals};
use crate::pattern::pattern;
use crate::record::FailureKind;

/// Reads errors of PHP and of Composer.
#[derive(Debug, Default)]
pub(super) struct PhpParser {
    /// One of Composer's problems.
    problem: Option<FailureBuilder>,
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:PHP )?(?P<sort>Fatal|Parse|Recoverable fatal|Catchable fatal) error: +(?P<message>\S.*?) in (?P<file>\S+?)(?: on line |:)(?P<line>\d+)$",
    )
});

impl FormatParser for PhpParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        if let Some(draft) = &mut self.problem {
            let number = body
                .strip_prefix("Parse error on line ")
                .and_then(|rest| rest.split(':').next());
            if let Some(number) = number {
                draft.failure.line = number.parse().ok();
            }
            if line.indent() >= 4 {
                // The whole text is the message; as an excerpt it would be repeated.
                draft.push_message(body.trim_start_matches("- "));
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
            if line.indent() == 2 && draft.failure.file.is_some() {
                draft.push_message(body);
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
            self.close(findings);
        }
        if body.contains(" [--") && body.contains("] [-") {
            // The usage of a command of Composer's, below its error.
            return if findings.has_tool("composer") {
                LineClaim::Ignore
            } else {
                LineClaim::NotMine
            };
        }
        if line.indent() == 2
            && body
                .strip_prefix("Problem ")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        {
            findings.add_tool("composer");
            self.problem = Some(FailureBuilder::new(FailureKind::Infra, "composer", line));
            return LineClaim::Evidence;
        }
        if line.indent() == 2
            && let Some((file, rest)) = body.strip_prefix('"').and_then(|rest| rest.split_once('"'))
            && rest == " does not contain valid JSON"
        {
            findings.add_tool("composer");
            let mut draft = FailureBuilder::new(FailureKind::Infra, "composer", line);
            draft.set_location(file, None, None);
            draft.push_message(body);
            self.problem = Some(draft);
            return LineClaim::Evidence;
        }
        let told = line.signals.intersects(LineSignals::ERROR) && body.contains(" error: ");
        let Some(found) = told.then(|| ERROR.captures(line.text)).flatten() else {
            return LineClaim::NotMine;
        };
        let kind = if &found["sort"] == "Parse" {
            FailureKind::Compile
        } else {
            FailureKind::Runtime
        };
        findings.add_tool("php");
        let mut draft = FailureBuilder::new(kind, "php", line);
        draft.set_location(&found["file"], found["line"].parse().ok(), None);
        draft.push_message(found["message"].trim_start_matches("Uncaught "));
        draft.push_excerpt(line);
        findings.add(draft.build());
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.problem.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl PhpParser {
    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.problem);
    }
}
