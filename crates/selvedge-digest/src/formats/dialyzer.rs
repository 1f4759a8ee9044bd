//! Dialyzer's warnings, and the errors of Erlang's compiler, which look alike: a place and a message
//! that may go on in lines below it, far indented.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "dialyzer";
/// Types and calls are broken into lines that begin so far in.
const INDENT: usize = 8;

/// Reads warnings of Dialyzer.
#[derive(Debug, Default)]
pub(super) struct Dialyzer {
    draft: Option<Draft>,
    /// The message of the draft, its lines joined.
    message: String,
    analysing: bool,
}

static WARNING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"^(?P<file>[^\s:]+\.[he]rl):(?P<line>\d+)(?::(?P<column>\d+))?: (?P<message>\S.*)$")
});

impl Format for Dialyzer {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
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
            findings.tool(tool);
            let mut draft = Draft::new(kind, tool, line);
            let number = |name: &str| {
                warning
                    .name(name)
                    .and_then(|digits| digits.as_str().parse().ok())
            };
            draft.place(&warning["file"], number("line"), number("column"));
            draft.excerpt(line);
            let message = &warning["message"];
            // The compiler marks what is none of its errors.
            let mild = message.strip_prefix("Warning: ");
            if mild.is_some() {
                draft.severity = Severity::Warning;
            }
            mild.unwrap_or(message).clone_into(&mut self.message);
            self.draft = Some(draft);
            return Claim::Evidence;
        }
        if text.ends_with("Proceeding with analysis...") {
            self.analysing = true;
            return Claim::Noise;
        }
        if line.indent() >= INDENT
            && let Some(draft) = &mut self.draft
        {
            self.message.push(' ');
            self.message.push_str(line.body());
            draft.excerpt(line);
            return Claim::Evidence;
        }
        self.close(findings);
        if text.starts_with("done (warnings were emitted)") {
            return Claim::Noise;
        }
        Claim::Foreign
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl Dialyzer {
    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self.draft.take() {
            draft.message(&self.message);
            findings.add(draft.found());
        }
    }
}
