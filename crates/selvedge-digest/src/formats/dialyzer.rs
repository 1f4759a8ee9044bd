//! Dialyzer's warnings, and the errors of Erlang's compiler, which look alike: a place and a message that may
//! continue in deeply indented lines below it.

use super::prelude::*;

/// Minimum indentation of continued types and calls.
const INDENT: usize = 8;

/// Reads warnings of Dialyzer.
#[derive(Debug, Default)]
pub(super) struct DialyzerFormat {
    analysing: bool,
}

/// The compiler marks warnings, Dialyzer does not.
static WARNING: LinePattern = LinePattern::new(
    r"^(?P<file>[^\s:]+\.[he]rl):(?P<line>\d+)(?::(?P<column>\d+))?: (?:(?P<severity>Warning): )?(?P<message>\S.*)$",
);

impl BlockFormat for DialyzerFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if text.ends_with("Proceeding with analysis...") {
            self.analysing = true;
            return Some(BlockStep::Claim(LineClaim::Ignore));
        }
        if text.starts_with("done (warnings were emitted)") {
            return Some(BlockStep::End(LineClaim::Ignore));
        }
        let warning = WARNING.captures_marked(text, "rl:")?;
        let (kind, tool) = if self.analysing {
            (FailureKind::Type, "dialyzer")
        } else {
            (FailureKind::Compile, "erlc")
        };
        let draft = FailureBuilder::captured(kind, tool, &warning, line);
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.indent() < INDENT {
            return BlockStep::OVER;
        }
        draft.extend_message(" ", line.body());
        BlockStep::Shown
    }
}
