//! OCaml's compiler, as dune shows it: `File "a.ml", line 3, characters 4-8:`, the source, and then
//! `Error: message`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "ocaml";

/// How many lines a diagnostic may have.
const BODY_LINES: u32 = 30;

/// Reads diagnostics of OCaml and dune.
#[derive(Debug, Default)]
pub(super) struct OCamlParser {
    draft: Option<FailureBuilder>,
    lines: u32,
}

static LOCATION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"^File "(?P<file>[^"]+)", lines? (?P<line>\d+)(?:-\d+)?(?:, characters (?P<column>\d+)-\d+)?:$"#,
    )
});
static SEVERITY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?P<severity>Error|Warning|Alert)(?: \(?(?:warning |alert )?(?P<code>\d+|[\w-]+)(?: \[(?P<name>[\w-]+)\])?\)?)?: (?P<message>\S.*)$",
    )
});

impl FormatParser for OCamlParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if text.starts_with("File \"")
            && let Some(place) = LOCATION.captures(text)
        {
            self.close(findings);
            let number = |name: &str| place.name(name).and_then(|n| n.as_str().parse().ok());
            let mut draft = FailureBuilder::new(FailureKind::Compile, TOOL, line);
            // OCaml counts characters from zero.
            let column = number("column").map(|column: u32| column.saturating_add(1));
            draft.set_location(&place["file"], number("line"), column);
            draft.push_excerpt(line);
            self.draft = Some(draft);
            self.lines = 0;
            return LineClaim::Evidence;
        }
        self.lines += 1;
        let lines = self.lines;
        let Some(draft) = self.draft.as_mut().filter(|_| lines < BODY_LINES) else {
            self.close(findings);
            return LineClaim::NotMine;
        };
        if line.is_blank() {
            self.close(findings);
            return LineClaim::NotMine;
        }
        if draft.failure.message.is_some() {
            draft.push_message(line.body());
        } else if let Some(severity) = SEVERITY.captures(text) {
            if &severity["severity"] != "Error" {
                draft.severity = FailureSeverity::Warning;
            }
            let code = severity.name("name").or(severity.name("code"));
            draft.failure.code = code.map(|code| code.as_str().to_owned());
            draft.push_message(&severity["message"]);
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

impl OCamlParser {
    /// A place without a message only explains the error before it.
    fn close(&mut self, findings: &mut Findings) {
        if let Some(mut draft) = self
            .draft
            .take()
            .filter(|draft| draft.failure.message.is_some())
        {
            // The compiler wraps long lines.
            let message = draft.failure.message.as_deref().unwrap_or_default();
            draft.set_summary(&message.lines().collect::<Vec<_>>().join(" "));
            findings.add_tool(TOOL);
            findings.add(draft.build());
        }
    }
}
