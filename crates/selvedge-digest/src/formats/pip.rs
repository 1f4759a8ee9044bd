//! pip: requirements that cannot be met, and packages that do not build.

use super::location::{is_foreign, parse_python_frame};
use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, Findings};
use crate::line::CleanLine;
use crate::record::FailureKind;

const TOOL: &str = "pip";
/// How many lines of an error are read.
const BODY_LINES: u32 = 60;

/// Reads pip's errors.
#[derive(Debug, Default)]
pub(super) struct PipParser {
    draft: Option<FailureBuilder>,
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

impl FormatParser for PipParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if line.body() == "error: subprocess-exited-with-error" {
            self.finish(findings);
            findings.add_tool(TOOL);
            self.draft = Some(FailureBuilder::new(FailureKind::Compile, TOOL, line));
            self.lines = 0;
            return LineClaim::Evidence;
        }
        let said = text
            .strip_prefix("ERROR: ")
            .filter(|said| ERRORS.iter().any(|start| said.starts_with(start)));
        if let Some(said) = said {
            return self.parse_error(said, line, findings);
        }
        if CONSEQUENCES.iter().any(|start| text.starts_with(start)) {
            self.finish(findings);
            return if findings.has_tool(TOOL) {
                LineClaim::Ignore
            } else {
                LineClaim::NotMine
            };
        }
        self.parse_body(line, findings)
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.boxed = false;
        self.foreign = false;
        findings.add_draft(&mut self.draft);
    }
}

impl PipParser {
    fn parse_error(
        &mut self,
        said: &str,
        line: &CleanLine<'_>,
        findings: &mut Findings,
    ) -> LineClaim {
        if said.starts_with("No matching distribution")
            && let Some(draft) = &mut self.draft
        {
            // The error before it has the same information, and the available versions.
            draft.skip_line(line);
            self.finish(findings);
            return LineClaim::Evidence;
        }
        self.finish(findings);
        findings.add_tool(TOOL);
        let mut draft = FailureBuilder::new(FailureKind::Infra, TOOL, line);
        if let Some((file, number)) = parse_requirement_source(said) {
            draft.set_location(file, number, None);
        }
        draft.push_message(said);
        draft.push_excerpt(line);
        self.draft = Some(draft);
        self.lines = 0;
        LineClaim::Evidence
    }

    fn parse_body(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let body = line.body();
        // The explanation of a conflict continues over blank lines, up to the advice.
        let over =
            body.starts_with("To fix this") || !self.boxed && self.lines > 4 && line.is_blank();
        let Some(draft) = self
            .draft
            .as_mut()
            .filter(|_| !over && self.lines < BODY_LINES)
        else {
            self.finish(findings);
            return LineClaim::NotMine;
        };
        self.lines += 1;
        if let Some(what) = body.strip_prefix("× ") {
            draft.push_message(what);
        } else if body.starts_with("╰─>") {
            self.boxed = true;
        } else if body == "[end of output]" {
            draft.skip_line(line);
            self.finish(findings);
            return LineClaim::Evidence;
        } else if self.boxed {
            if let Some(place) = parse_python_frame(line.text) {
                self.foreign = is_foreign(place.file);
                if !self.foreign {
                    draft.replace_location(place.file, place.line, None);
                }
            }
            // The last line that is not a frame has the cause.
            let error = body
                .split(": ")
                .next()
                .is_some_and(|class| class.ends_with("Error"));
            self.foreign &= line.indent() > 6;
            if error && line.indent() <= 6 {
                draft.set_summary(body);
                draft.push_message(body);
            }
            if self.foreign {
                draft.skip_line(line);
                return LineClaim::Evidence;
            }
        }
        draft.push_excerpt(line);
        LineClaim::Evidence
    }
}

/// `… (from line 1 of r.txt)`, `… (from -r r.txt (line 3))`
fn parse_requirement_source(said: &str) -> Option<(&str, Option<u32>)> {
    if let Some((_, rest)) = said.rsplit_once("(from line ") {
        let (number, file) = rest.split_once(" of ")?;
        return Some((file.trim_end_matches(')'), number.parse().ok()));
    }
    let (_, rest) = said.rsplit_once("(from -r ")?;
    let (file, number) = rest.split_once(" (line ")?;
    Some((file, number.trim_end_matches(')').parse().ok()))
}
