//! Two parsers in one row of the [table](super::table), whose number is limited.

use super::prelude::*;

/// The first parser sees each line first, and the second one only lines that the first does not claim.
#[derive(Debug, Default)]
pub(super) struct ParserPair<A, B>(A, B);

impl<A: FormatParser, B: FormatParser> FormatParser for ParserPair<A, B> {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        match self.0.parse_line(line, findings) {
            LineClaim::NotMine => self.1.parse_line(line, findings),
            claim => claim,
        }
    }

    fn parse_passed_test(&mut self, text: &str, findings: &mut Findings) -> bool {
        !self.1.is_open() && self.0.parse_passed_test(text, findings)
            || !self.0.is_open() && self.1.parse_passed_test(text, findings)
    }

    fn is_open(&self) -> bool {
        self.0.is_open() || self.1.is_open()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.0.finish(findings);
        self.1.finish(findings);
    }
}
