//! GHC: `Cart.hs:3:1: error:` with the message below it, indented, then the source.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ghc";

/// Reads diagnostics of GHC, by itself or under cabal and stack.
#[derive(Debug, Default)]
pub(super) struct Ghc {
    draft: Option<Draft>,
    /// Below the message, where the source is drawn.
    source: bool,
}

static HEADING: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<file>[^\s:]+\.l?hs):(?:(?P<line>\d+):(?P<column>\d+)(?:-\d+)?|\((?P<line2>\d+),(?P<column2>\d+)\)-\(\d+,\d+\)): (?P<severity>error|warning):(?: \[(?P<code>[^\]]+)\])*(?: (?P<message>\S.*))?$",
    )
});

impl Format for Ghc {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        if line.text.contains("hs:")
            && let Some(heading) = HEADING.captures(line.text)
        {
            self.close(findings);
            findings.tool(TOOL);
            self.draft = Some(begin(&heading, line));
            self.source = false;
            return Claim::Evidence;
        }
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        if line.is_blank() || line.indent() == 0 && !self.source {
            self.close(findings);
            return Claim::Foreign;
        }
        let body = line.body();
        self.source |= body.starts_with('|');
        if !self.source {
            draft.message(body.trim_start_matches("• "));
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

impl Ghc {
    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

fn begin(heading: &regex::Captures<'_>, line: &Line<'_>) -> Draft {
    let get = |name: &str| heading.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = Draft::new(FailureKind::Compile, TOOL, line);
    if &heading["severity"] == "warning" {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = get("code").map(|code| {
        // `-Wunused-imports, -Werror=unused-imports` is one warning.
        code.split(',').next().unwrap_or(code).to_owned()
    });
    draft.place(
        &heading["file"],
        number("line").or(number("line2")),
        number("column").or(number("column2")),
    );
    draft.message(get("message").unwrap_or_default());
    draft.excerpt(line);
    draft
}
