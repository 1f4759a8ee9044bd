//! CMake's own errors: `CMake Error at CMakeLists.txt:3 (find_package):`, the message below it,
//! indented, and sometimes a call stack.

use super::prelude::*;

/// Reads errors and warnings of a configuration.
#[derive(Debug, Default)]
pub(super) struct CMakeFormat {
    stack: bool,
}

static HEADING: LinePattern = LinePattern::new(
    r"^CMake (?P<severity>(?:Internal )?Error|(?:Deprecation )?Warning)(?: \(dev\))?(?: at (?P<file>[^:]+)(?::(?P<line>\d+))?(?: \((?P<code>\w+)\))?)?:(?: (?P<message>\S.*))?$",
);

impl BlockFormat for CMakeFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        if line.text.starts_with("-- Configuring incomplete") {
            return Some(BlockStep::End(LineClaim::Evidence));
        }
        let heading = line
            .text
            .starts_with("CMake ")
            .then(|| HEADING.captures(line.text))??;
        self.stack = false;
        let draft = FailureBuilder::captured(FailureKind::Compile, "cmake", &heading, line);
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if line.text.starts_with("Call Stack") {
            self.stack = true;
        } else if line.indent() == 0 && !line.is_blank() {
            return BlockStep::OVER;
        } else if !self.stack {
            draft.push_message(line.body());
        }
        BlockStep::Shown
    }
}
