//! The TypeScript compiler's pretty output and its totals; its plain output is a regular
//! [diagnostic](super::diagnostic).

use super::prelude::*;

/// Reads `file:3:7 - error TS2322: message` and the source below it.
#[derive(Debug, Default)]
pub(super) struct TscFormat;

static ERROR: LinePattern = LinePattern::new(
    r"^(?:(?P<file>\S.*?)(?::(?P<line>\d+):(?P<column>\d+) - |\((?P<line2>\d+),(?P<column2>\d+)\): ))?error (?P<code>TS\d+): (?P<message>.*)$",
);

impl BlockFormat for TscFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let error = line
            .text
            .contains("error TS")
            .then(|| ERROR.captures(line.text))??;
        let draft = FailureBuilder::captured(FailureKind::Type, "tsc", &error, line);
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, _: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let source = line.is_blank()
            || line.indent() > 0
            || line.text.starts_with(|c: char| c.is_ascii_digit());
        if !source || line.text.starts_with("Found ") {
            return BlockStep::OVER;
        }
        BlockStep::Shown
    }
}
