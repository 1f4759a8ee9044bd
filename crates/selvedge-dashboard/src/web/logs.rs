//! Finds lines in an output: of failures, and of a text that is searched for. Lines are numbered from 1 over all
//! pages.

use crate::pages::{
    OutputMatch, count_lines, page_of_offset, page_starts, plain_text, section_heading,
};
use crate::text::single_line;

/// Maximum number of failures, and of matching lines.
const MAX_FAILURES: usize = 8;
const MAX_MATCHES: usize = 100;
/// Maximum number of sections.
const MAX_SECTIONS: usize = 60;
/// Maximum length of a line's text, in characters.
const MAX_CHARS: usize = 120;
/// Maximum length of the part of a failure's message that is searched for, in characters.
const MAX_NEEDLE_CHARS: usize = 60;

/// An output with its pages.
pub(super) struct LogIndex<'a> {
    output: &'a [u8],
    page_starts: Vec<u64>,
}

impl<'a> LogIndex<'a> {
    pub(super) fn new(output: &'a [u8]) -> Self {
        Self {
            output,
            page_starts: page_starts(output),
        }
    }

    /// Number of the first line of a page; `None` beyond the part that was read.
    pub(super) fn first_line(&self, page: u64) -> Option<u64> {
        let index = usize::try_from(page.checked_sub(1)?).ok()?;
        let start = *self.page_starts.get(index)?;
        Some(count_lines(self.output, start) + 1)
    }

    /// The lines of failures, in the order of the output.
    pub(super) fn find_failures(&self, failures: &[String]) -> Vec<OutputMatch> {
        let needles: Vec<String> = failures
            .iter()
            .take(MAX_FAILURES)
            .map(|text| text.chars().take(MAX_NEEDLE_CHARS).collect::<String>())
            .collect();
        let mut wanted: Vec<&str> = needles.iter().map(|it| it.trim()).collect();
        wanted.retain(|it| it.len() > 3);
        let mut found = Vec::new();
        for line in self.lines() {
            if wanted.is_empty() {
                break;
            }
            let text = String::from_utf8_lossy(line.1);
            let before = wanted.len();
            wanted.retain(|needle| !text.contains(needle));
            if wanted.len() < before {
                found.push(self.matched(line));
            }
        }
        found
    }

    /// The lines that begin a section, and whether there are more.
    pub(super) fn sections(&self) -> (Vec<OutputMatch>, bool) {
        let mut headings = self.lines().filter_map(|(line, bytes)| {
            let text = section_heading(&plain_text(bytes))?;
            let text = single_line(&text, MAX_CHARS);
            Some(OutputMatch {
                text,
                ..self.matched((line, bytes))
            })
        });
        let found = headings.by_ref().take(MAX_SECTIONS).collect();
        (found, headings.next().is_some())
    }

    /// The first lines that contain a text in any case, and whether there are more.
    pub(super) fn search(&self, text: &str) -> (Vec<OutputMatch>, bool) {
        let needle = text.to_lowercase();
        let contains = |line: &(u64, &[u8])| {
            String::from_utf8_lossy(line.1)
                .to_lowercase()
                .contains(&needle)
        };
        let mut matching = self.lines().filter(contains);
        let found = matching.by_ref().take(MAX_MATCHES);
        let found = found.map(|line| self.matched(line)).collect();
        (found, matching.next().is_some())
    }

    /// The lines with their numbers.
    fn lines(&self) -> impl Iterator<Item = (u64, &'a [u8])> {
        (1..).zip(self.output.split(|byte| *byte == b'\n'))
    }

    fn matched(&self, (line, text): (u64, &[u8])) -> OutputMatch {
        // The line is a part of the output.
        let offset = text
            .as_ptr()
            .addr()
            .saturating_sub(self.output.as_ptr().addr());
        let offset = u64::try_from(offset).unwrap_or(0);
        OutputMatch {
            page: page_of_offset(&self.page_starts, offset),
            line,
            text: single_line(&plain_text(text), MAX_CHARS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_index_numbers_lines_over_pages() {
        let mut output = String::new();
        for number in 1..=20_000 {
            output.push_str(&format!("line {number}\n"));
        }
        output.push_str("\x1b[31mE  assert 3 == 4\x1b[0m\n");
        let index = LogIndex::new(output.as_bytes());
        let failures = index.find_failures(&["assert 3 == 4".to_owned(), "absent".to_owned()]);
        assert_eq!(failures.len(), 1);
        assert_eq!((failures[0].line, failures[0].page), (20_001, 4));
        assert_eq!(failures[0].text, "E assert 3 == 4");
        let first = index.first_line(4).unwrap();
        assert!(first < 20_001 && index.first_line(3).unwrap() < first);
        assert_eq!(index.first_line(9), None);
        let (found, more) = index.search("LINE 19999");
        assert_eq!((found.len(), found[0].line, more), (1, 19_999, false));
        assert!(index.search("line").1);
    }
}
