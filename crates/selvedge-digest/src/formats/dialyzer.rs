//! Dialyzer's warnings, and the errors of Erlang's compiler, which look alike: a place and a message that may
//! continue in deeply indented lines below it.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "dialyzer";
/// Minimum indentation of continued types and calls.
const INDENT: usize = 8;

/// Reads warnings of Dialyzer.
#[derive(Debug, Default)]
pub(super) struct DialyzerParser {
    draft: Option<FailureBuilder>,
    /// The message of the draft, its lines joined.
    message: String,
    analysing: bool,
}

static WARNING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?P<file>[^\s:]+\.[he]rl):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>\S.*)$")
});

impl FormatParser for DialyzerParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.contains("rl:")
            && let Some(warning) = WARNING.captures(text)
        {
            self.close(findings);
            let (kind, tool) = if self.analysing {
                (FailureKind::Type, TOOL)
            } else {
                (FailureKind::Compile, "erlc")
            };
            findings.add_tool(tool);
            let mut draft = FailureBuilder::new(kind, tool, line);
            let number = |name: &str| {
                warning
                    .name(name)
                    .and_then(|digits| digits.as_str().parse().ok())
            };
            draft.set_location(&warning["file"], number("line"), number("column"));
            draft.push_excerpt(line);
            let message = &warning["message"];
            // The compiler marks warnings.
            let mild = message.strip_prefix("Warning: ");
            if mild.is_some() {
                draft.severity = FailureSeverity::Warning;
            }
            mild.unwrap_or(message).clone_into(&mut self.message);
            self.draft = Some(draft);
            return LineClaim::Evidence;
        }
        if text.ends_with("Proceeding with analysis...") {
            self.analysing = true;
            return LineClaim::Ignore;
        }
        if line.indent() >= INDENT
            && let Some(draft) = &mut self.draft
        {
            self.message.push(' ');
            self.message.push_str(line.body());
            draft.push_excerpt(line);
            return LineClaim::Evidence;
        }
        self.close(findings);
        if text.starts_with("done (warnings were emitted)") {
            return LineClaim::Ignore;
        }
        LineClaim::NotMine
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl DialyzerParser {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            draft.push_message(&self.message);
            findings.add(draft.build());
        }
    }
}
