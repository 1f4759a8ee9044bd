//! The TypeScript compiler's pretty output and its totals; its plain output is a regular
//! [diagnostic](super::diagnostic).

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "tsc";

/// Reads `file:3:7 - error TS2322: message` and the source below it.
#[derive(Debug, Default)]
pub(super) struct TscParser {
    draft: Option<FailureBuilder>,
}

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?P<file>\S.*?)(?::(?P<line>\d+):(?P<column>\d+) - |\((?P<line2>\d+),(?P<column2>\d+)\): ))?error (?P<code>TS\d+): (?P<message>.*)$",
    )
});

impl FormatParser for TscParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.contains("error TS")
            && let Some(error) = ERROR.captures(line.text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            let number = |name| {
                error
                    .name(name)
                    .and_then(|digits| digits.as_str().parse().ok())
            };
            let mut draft = FailureBuilder::new(FailureKind::Type, TOOL, line);
            if let Some(file) = error.name("file") {
                draft.set_location(
                    file.as_str(),
                    number("line").or(number("line2")),
                    number("column").or(number("column2")),
                );
            }
            draft.failure.code = Some(error["code"].to_owned());
            draft.push_message(&error["message"]);
            draft.push_excerpt(line);
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        let source = line.is_blank()
            || line.indent() > 0
            || line.text.starts_with(|c: char| c.is_ascii_digit());
        if !source || line.text.starts_with("Found ") {
            self.close(findings);
            return LineClaim::NotMine;
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl TscParser {
    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}
