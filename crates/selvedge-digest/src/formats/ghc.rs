//! GHC: `Cart.hs:3:1: error:` with the message below it, indented, then the source.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ghc";

/// Reads diagnostics of GHC, by itself or under cabal and stack.
#[derive(Debug, Default)]
pub(super) struct GhcParser {
    draft: Option<FailureBuilder>,
    /// Below the message, where the source is drawn.
    source: bool,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:]+\.l?hs):(?:(?P<line>\d+):(?P<column>\d+)(?:-\d+)?|\((?P<line2>\d+),(?P<column2>\d+)\)-\(\d+,\d+\)): (?P<severity>error|warning):(?: \[(?P<code>[^\]]+)\])*(?: (?P<message>\S.*))?$",
    )
});

impl FormatParser for GhcParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        if line.text.contains("hs:")
            && let Some(heading) = HEADING.captures(line.text)
        {
            self.close(findings);
            findings.add_tool(TOOL);
            self.draft = Some(start_failure(&heading, line));
            self.source = false;
            return LineClaim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        if line.is_blank() || line.indent() == 0 && !self.source {
            self.close(findings);
            return LineClaim::NotMine;
        }
        let body = line.body();
        self.source |= body.starts_with('|');
        if !self.source {
            draft.push_message(body.trim_start_matches("• "));
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

impl GhcParser {
    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

fn start_failure(heading: &regex::Captures<'_>, line: &CleanLine<'_>) -> FailureBuilder {
    let get = |name: &str| heading.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
    if &heading["severity"] == "warning" {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = get("code").map(|code| {
        // `-Wunused-imports, -Werror=unused-imports` is one warning.
        code.split(',').next().unwrap_or(code).to_owned()
    });
    draft.set_location(
        &heading["file"],
        number("line").or(number("line2")),
        number("column").or(number("column2")),
    );
    draft.push_message(get("message").unwrap_or_default());
    draft.push_excerpt(line);
    draft
}
