//! Programs in C and C++ that end themselves: a failed `assert` of glibc, and the reports of AddressSanitizer and its
//! relatives, whose first frame in the program's own source is the place.

use super::prelude::*;

/// How many lines of a report are read.
const REPORT_LINES: u32 = 60;

static ASSERTION: LinePattern = LinePattern::new(
    r"^(?:\S+: )?(?P<file>[^\s:]+):(?P<line>\d+): \S.*: Assertion `(?P<message>.+)' failed\.$",
);
static SANITIZER: LinePattern =
    LinePattern::new(r"^==\d+==\s?ERROR: (?P<message>\w+Sanitizer: \S.*)$");
/// `    #0 0x55 in set /home/user/price.c:3`, with a column in clang's.
static FRAME: LinePattern = LinePattern::new(
    r"^ +#\d+ 0x[0-9a-f]+ in .*?(?P<file>\S+\.\w+):(?P<line>\d+)(?::(?P<column>\d+))?$",
);

/// Finds the place and the message of an error in the output of a program, line by line.
#[derive(Debug, Default)]
pub(super) struct ProgramErrorReader {
    /// Within a sanitizer's report, which is read until the place is known.
    in_report: bool,
}

impl ProgramErrorReader {
    /// Whether the line is the first one of an error; adds its message.
    fn parse_head(&mut self, draft: &mut FailureBuilder, text: &str) -> bool {
        if let Some(failed) = ASSERTION.captures_marked(text, ": Assertion `") {
            draft.locate(&failed);
            draft.push_message(&format!("Assertion `{}' failed", &failed["message"]));
            return true;
        }
        if let Some(report) = SANITIZER.captures_marked(text, "Sanitizer: ") {
            draft.push_message(without_addresses(&report["message"]));
            self.in_report = true;
            return true;
        }
        false
    }

    /// Reads a line of a failed test's output.
    pub(super) fn parse_line(&mut self, draft: &mut FailureBuilder, text: &str) {
        if draft.failure.file.is_some() || self.parse_head(draft, text) || !self.in_report {
            return;
        }
        if text.starts_with("SUMMARY: ") {
            self.in_report = false;
        } else if let Some(frame) = own_frame(text) {
            draft.locate(&frame);
        }
    }
}

/// Reads errors outside of a test driver's output.
#[derive(Debug, Default)]
pub(super) struct ProgramErrorFormat {
    reader: ProgramErrorReader,
    lines: u32,
}

impl BlockFormat for ProgramErrorFormat {
    fn parse_head(&mut self, line: &CleanLine<'_>, _: &mut Findings) -> Option<BlockStep> {
        let text = line.text;
        if !text.starts_with("==") && !text.contains(": Assertion `") {
            return None;
        }
        let mut draft = FailureBuilder::new(FailureKind::Runtime, "program", line);
        let mut reader = ProgramErrorReader::default();
        if !reader.parse_head(&mut draft, text) {
            return None;
        }
        draft.push_excerpt(line);
        let is_whole = !reader.in_report;
        (self.reader, self.lines) = (reader, 0);
        Some(if is_whole {
            BlockStep::Whole(draft)
        } else {
            BlockStep::Begin(draft)
        })
    }

    /// A line of a sanitizer's report.
    fn parse_body(&mut self, draft: &mut FailureBuilder, line: &CleanLine<'_>) -> BlockStep {
        if self.lines == REPORT_LINES || !self.reader.in_report {
            return BlockStep::OVER;
        }
        self.lines += 1;
        self.reader.parse_line(draft, line.text);
        if line.text.starts_with("SUMMARY: ") {
            self.reader.in_report = false;
            return BlockStep::Taken;
        }
        match own_frame(line.text) {
            Some(_) => BlockStep::Shown,
            None => BlockStep::Taken,
        }
    }
}

/// A stack frame that is neither in the C library nor in the sanitizer itself.
fn own_frame(text: &str) -> Option<Groups<'_>> {
    let frame = FRAME.captures_marked(text, " 0x")?;
    let file = &frame["file"];
    let is_system = file.starts_with("../")
        || file.starts_with("/usr/")
        || ["/libsanitizer/", "/compiler-rt/"]
            .iter()
            .any(|part| file.contains(part));
    (!is_system).then_some(frame)
}

/// The message without addresses, which differ from run to run.
fn without_addresses(message: &str) -> &str {
    message.find(" 0x").map_or(message, |at| {
        message[..at]
            .trim_end_matches(" on address")
            .trim_end_matches(" on unknown address")
    })
}
