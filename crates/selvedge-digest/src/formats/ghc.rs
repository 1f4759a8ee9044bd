//! GHC: `Cart.hs:3:1: error:` with the message below it, indented, then the source.

use super::prelude::*;

/// Reads diagnostics of GHC, by itself or under cabal and stack.
#[derive(Debug, Default)]
pub(super) struct GhcFormat {
    /// Below the message, where the source is drawn.
    source: bool,
}

/// Of the codes `[-Wunused-imports, -Werror=unused-imports]`, which are one warning, the first is taken.
static HEADING: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:]+\.l?hs):(?:(?P<line>\d+):(?P<column>\d+)(?:-\d+)?|\((?P<line2>\d+),(?P<column2>\d+)\)-\(\d+,\d+\)): (?P<severity>error|warning):(?: \[(?P<code>[^\],]+)[^\]]*\])*(?: (?P<message>\S.*))?$",
);

impl BlockFormat for GhcFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let heading = line
            .text
            .contains("hs:")
            .then(|| HEADING.captures(line.text))??;
        self.source = false;
        let draft = FailureBuilder::captured(FailureKind::Compile, "ghc", &heading, line);
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.is_blank() || line.indent() == 0 && !self.source {
            return BlockStep::OVER;
        }
        let body = line.body();
        self.source |= body.starts_with('|');
        if !self.source {
            draft.push_message(body.trim_start_matches("• "));
        }
        BlockStep::Shown
    }
}
