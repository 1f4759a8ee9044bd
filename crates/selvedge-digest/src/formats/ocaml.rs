//! OCaml's compiler, as dune shows it: `File "a.ml", line 3, characters 4-8:`, the source, and then
//! `Error: message`.

use super::prelude::*;

/// How many lines a diagnostic may have.
const BODY_LINES: u32 = 30;

/// Reads diagnostics of OCaml and dune.
#[derive(Debug, Default)]
pub(super) struct OCamlFormat {
    lines: u32,
}

static LOCATION: LinePattern = LinePattern::new(
    r#"^File "(?P<file>[^"]+)", lines? (?P<line>\d+)(?:-\d+)?(?:, characters (?P<column>\d+)-\d+)?:$"#,
);
static SEVERITY: LinePattern = LinePattern::new(
    r"^(?P<severity>Error|Warning|Alert)(?: \(?(?:warning |alert )?(?P<code>\d+|[\w-]+)(?: \[(?P<name>[\w-]+)\])?\)?)?: (?P<message>\S.*)$",
);

impl BlockFormat for OCamlFormat {
    const IS_CERTAIN: bool = false;

    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let place = line
            .text
            .starts_with("File \"")
            .then(|| LOCATION.captures(line.text))??;
        self.lines = 0;
        let mut draft = FailureBuilder::captured(FailureKind::Compile, "ocaml", &place, line);
        // OCaml counts characters from zero.
        let column = draft.failure.column;
        draft.failure.column = column.map(|column| column.saturating_add(1));
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        self.lines += 1;
        if self.lines >= BODY_LINES || line.is_blank() {
            return BlockStep::OVER;
        }
        if draft.failure.message.is_some() {
            draft.push_message(line.body());
        } else if let Some(severity) = SEVERITY.captures(line.text) {
            if &severity["severity"] != "Error" {
                draft.severity = FailureSeverity::Warning;
            }
            let code = severity.get("name").or_else(|| severity.get("code"));
            draft.failure.code = code.map(str::to_owned);
            draft.push_message(&severity["message"]);
        }
        BlockStep::Shown
    }

    /// A place without a message only explains the error before it.
    fn complete(&mut self, mut draft: FailureBuilder) -> Option<FailureBuilder> {
        // The compiler wraps long lines.
        let message = draft.failure.message.as_deref()?;
        let message = message.lines().collect::<Vec<_>>().join(" ");
        draft.set_summary(&message);
        Some(draft)
    }
}
