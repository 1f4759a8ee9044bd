//! PHP itself, by its interpreter's `Fatal error: … in FILE on line N`, and Composer, which numbers the
//! problems it cannot resolve.

use super::prelude::*;

/// Reads errors of PHP and of Composer. A block is one of Composer's problems.
#[derive(Debug, Default)]
pub(super) struct PhpFormat;

static ERROR: LinePattern = LinePattern::new(
    r"^(?:PHP )?(?P<sort>Fatal|Parse|Recoverable fatal|Catchable fatal) error: +(?:Uncaught )*(?P<message>\S.*?) in (?P<file>\S+?)(?: on line |:)(?P<line>\d+)$",
);

impl BlockFormat for PhpFormat {
    fn is_detail(&self, line: &CleanLine<'_>) -> bool {
        line.indent() >= 4
    }

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let body = line.body();
        if body.contains(" [--") && body.contains("] [-") {
            // The usage of a command of Composer's, below its error.
            return Some(BlockStep::End(LineClaim::ignore_if(
                findings.has_tool("composer"),
            )));
        }
        if line.indent() == 2
            && let Some(draft) = start_problem(line)
        {
            return Some(BlockStep::Begin(draft));
        }
        let is_error = line.signals.intersects(LineSignals::ERROR) && body.contains(" error: ");
        let found = is_error.then(|| ERROR.captures(line.text))??;
        let kind = match &found["sort"] {
            "Parse" => FailureKind::Compile,
            _ => FailureKind::Runtime,
        };
        let draft = FailureBuilder::captured(kind, "php", &found, line);
        Some(BlockStep::Whole(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        let body = line.body();
        let number = body
            .strip_prefix("Parse error on line ")
            .and_then(|rest| rest.split(':').next());
        if let Some(number) = number {
            draft.failure.line = number.parse().ok();
        }
        if line.indent() < 4 && (line.indent() != 2 || draft.failure.file.is_none()) {
            return BlockStep::OVER;
        }
        // The whole text is the message; as an excerpt it would be repeated.
        draft.push_message(body.trim_start_matches("- "));
        BlockStep::Taken
    }
}

/// `Problem 1`, or a file that is not valid.
fn start_problem(line: &CleanLine<'_>) -> Option<FailureBuilder> {
    let body = line.body();
    let file = if let Some(number) = body.strip_prefix("Problem ") {
        number.parse::<u32>().ok()?;
        None
    } else {
        let (file, rest) = body.strip_prefix('"')?.split_once('"')?;
        Some((rest == " does not contain valid JSON").then_some(file)?)
    };
    let mut draft = FailureBuilder::new(FailureKind::Infra, "composer", line);
    if let Some(file) = file {
        draft.set_location(file, None, None);
        draft.push_message(body);
    }
    Some(draft)
}
