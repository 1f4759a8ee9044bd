//! CMake's own errors: `CMake Error at CMakeLists.txt:3 (find_package):`, the message below it,
//! indented, and sometimes a call stack.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "cmake";

/// Reads errors and warnings of a configuration.
#[derive(Debug, Default)]
pub(super) struct CMakeParser {
    draft: Option<FailureBuilder>,
    stack: bool,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^CMake (?P<severity>(?:Internal )?Error|(?:Deprecation )?Warning)(?: \(dev\))?(?: at (?P<file>[^:]+)(?::(?P<line>\d+))?(?: \((?P<command>\w+)\))?)?:(?: (?P<message>\S.*))?$",
    )
});

impl FormatParser for CMakeParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.starts_with("CMake ")
            && let Some(heading) = HEADING.captures(line.text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            let get = |name: &str| heading.name(name).map(|group| group.as_str());
            let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
            if heading["severity"].ends_with("Warning") {
                draft.severity = FailureSeverity::Warning;
            }
            draft.failure.code = get("command").map(str::to_owned);
            if let Some(file) = get("file") {
                draft.set_location(
                    file,
                    get("line").and_then(|digits| digits.parse().ok()),
                    None,
                );
            }
            draft.push_message(get("message").unwrap_or_default());
            draft.push_excerpt(line);
            self.draft = Some(draft);
            self.stack = false;
            return LineClaim::Evidence;
        }
        if line.text.starts_with("-- Configuring incomplete") {
            self.close(findings);
            return LineClaim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if line.text.starts_with("Call Stack") {
            self.stack = true;
        } else if line.indent() == 0 && !line.is_blank() {
            self.close(findings);
            return LineClaim::NotMine;
        } else if !self.stack {
            draft.push_message(line.body());
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

impl CMakeParser {
    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}
