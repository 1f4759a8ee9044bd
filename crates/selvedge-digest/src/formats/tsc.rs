//! The TypeScript compiler's pretty output and its totals; its plain output is an ordinary
//! [diagnostic](super::diagnostic).

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "tsc";

/// Reads `file:3:7 - error TS2322: message` and the source below it.
#[derive(Debug, Default)]
pub(super) struct Tsc {
    draft: Option<Draft>,
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?P<file>\S.*?)(?::(?P<line>\d+):(?P<column>\d+) - |\((?P<line2>\d+),(?P<column2>\d+)\): ))?error (?P<code>TS\d+): (?P<message>.*)$",
    )
});

impl Format for Tsc {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.contains("error TS")
            && let Some(error) = ERROR.captures(line.text)
        {
            self.close(findings);
            findings.tool(TOOL);
            let number = |name| {
                error
                    .name(name)
                    .and_then(|digits| digits.as_str().parse().ok())
            };
            let mut draft = Draft::new(FailureKind::Type, TOOL, line);
            if let Some(file) = error.name("file") {
                draft.place(
                    file.as_str(),
                    number("line").or(number("line2")),
                    number("column").or(number("column2")),
                );
            }
            draft.failure.code = Some(error["code"].to_owned());
            draft.message(&error["message"]);
            draft.excerpt(line);
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        let source = line.is_blank()
            || line.indent() > 0
            || line.text.starts_with(|c: char| c.is_ascii_digit());
        if !source || line.text.starts_with("Found ") {
            self.close(findings);
            return Claim::Foreign;
        }
        draft.excerpt(line);
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Tsc {
    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}
