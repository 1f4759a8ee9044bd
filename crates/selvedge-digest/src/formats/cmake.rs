//! CMake's own errors: `CMake Error at CMakeLists.txt:3 (find_package):`, the message below it,
//! indented, and sometimes a call stack.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "cmake";

/// Reads errors and warnings of a configuration.
#[derive(Debug, Default)]
pub(super) struct CMake {
    draft: Option<Draft>,
    stack: bool,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^CMake (?P<severity>(?:Internal )?Error|(?:Deprecation )?Warning)(?: \(dev\))?(?: at (?P<file>[^:]+)(?::(?P<line>\d+))?(?: \((?P<command>\w+)\))?)?:(?: (?P<message>\S.*))?$",
    )
});

impl Format for CMake {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.starts_with("CMake ")
            && let Some(heading) = HEADING.captures(line.text)
        {
            self.close(findings);
            findings.tool(TOOL);
            let get = |name: &str| heading.name(name).map(|group| group.as_str());
            let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
            if heading["severity"].ends_with("Warning") {
                draft.severity = Severity::Warning;
            }
            draft.failure.code = get("command").map(str::to_owned);
            if let Some(file) = get("file") {
                draft.place(
                    file,
                    get("line").and_then(|digits| digits.parse().ok()),
                    None,
                );
            }
            draft.message(get("message").unwrap_or_default());
            draft.excerpt(line);
            self.draft = Some(draft);
            self.stack = false;
            return Claim::Evidence;
        }
        if line.text.starts_with("-- Configuring incomplete") {
            self.close(findings);
            return Claim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if line.text.starts_with("Call Stack") {
            self.stack = true;
        } else if line.indent() == 0 && !line.is_blank() {
            self.close(findings);
            return Claim::Foreign;
        } else if !self.stack {
            draft.message(line.body());
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

impl CMake {
    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}
