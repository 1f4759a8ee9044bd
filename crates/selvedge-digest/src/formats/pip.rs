//! pip: requirements that cannot be met, and packages that do not build.

use super::location::{is_foreign, parse_python_frame};
use super::prelude::*;

const TOOL: &str = "pip";
/// How many lines of an error are read.
const BODY_LINES: u32 = 60;

/// Reads pip's errors.
#[derive(Debug, Default)]
pub(super) struct PipFormat {
    lines: u32,
    /// Within the output of a program that pip ran.
    boxed: bool,
    foreign: bool,
}

/// Beginnings of pip's own errors.
const ERRORS: [&str; 7] = [
    "Could not find a version that satisfies the requirement ",
    "Cannot install ",
    "Invalid requirement: ",
    "Directory '",
    "Could not open requirements file",
    "Package '",
    "No matching distribution found for ",
];
/// Lines that only repeat an error.
const CONSEQUENCES: [&str; 4] = [
    "ERROR: ResolutionImpossible",
    "error: metadata-generation-failed",
    "ERROR: Failed to build installable wheels",
    "note: This ",
];

impl BlockFormat for PipFormat {
    fn is_detail(&self, line: &CleanLine<'_>) -> bool {
        // The error before it has the same information, and the available versions.
        line.text
            .starts_with("ERROR: No matching distribution found for ")
    }

    fn parse_head(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        let message = text
            .strip_prefix("ERROR: ")
            .filter(|message| ERRORS.iter().any(|start| message.starts_with(start)));
        let draft = if line.body() == "error: subprocess-exited-with-error" {
            FailureBuilder::new(FailureKind::Compile, TOOL, line)
        } else if let Some(message) = message {
            start_failure(message, line)
        } else if CONSEQUENCES.iter().any(|start| text.starts_with(start)) {
            return Some(BlockStep::End(LineClaim::ignore_if(
                findings.has_tool(TOOL),
            )));
        } else {
            return None;
        };
        *self = Self::default();
        Some(BlockStep::Begin(draft))
    }

    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if self.is_detail(line) {
            draft.skip_line(line);
            return BlockStep::End(LineClaim::Evidence);
        }
        let body = line.body();
        // The explanation of a conflict continues over blank lines, up to the advice.
        let over =
            body.starts_with("To fix this") || !self.boxed && self.lines > 4 && line.is_blank();
        if over || self.lines >= BODY_LINES {
            return BlockStep::OVER;
        }
        self.lines += 1;
        if body == "[end of output]" {
            draft.skip_line(line);
            return BlockStep::End(LineClaim::Evidence);
        }
        if let Some(what) = body.strip_prefix("× ") {
            draft.push_message(what);
        } else if body.starts_with("╰─>") {
            self.boxed = true;
        } else if self.boxed && self.parse_output(draft, line) {
            return BlockStep::Taken;
        }
        BlockStep::Shown
    }
}

impl PipFormat {
    /// Reads a line of the output of a program that pip ran; true if it belongs to a frame of a library.
    fn parse_output(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> bool {
        if let Some(place) = parse_python_frame(line.text) {
            self.foreign = is_foreign(place.file);
            if !self.foreign {
                draft.replace_location(place.file, place.line, None);
            }
        }
        // The last line that is not a frame has the cause.
        let body = line.body();
        let error = body
            .split(": ")
            .next()
            .is_some_and(|class| class.ends_with("Error"));
        self.foreign &= line.indent() > 6;
        if error && line.indent() <= 6 {
            draft.set_summary(body);
            draft.push_message(body);
        }
        self.foreign
    }
}

fn start_failure(message: &str, line: &CleanLine<'_>) -> FailureBuilder {
    let mut draft = FailureBuilder::with_message(FailureKind::Infra, TOOL, message, line);
    if let Some((file, number)) = parse_requirement_source(message) {
        draft.set_location(file, number, None);
    }
    draft
}

/// `… (from line 1 of r.txt)`, `… (from -r r.txt (line 3))`
fn parse_requirement_source(message: &str) -> Option<(&str, Option<u32>)> {
    if let Some((_, rest)) = message.rsplit_once("(from line ") {
        let (number, file) = rest.split_once(" of ")?;
        return Some((file.trim_end_matches(')'), number.parse().ok()));
    }
    let (_, rest) = message.rsplit_once("(from -r ")?;
    let (file, number) = rest.split_once(" (line ")?;
    Some((file, number.trim_end_matches(')').parse().ok()))
}
