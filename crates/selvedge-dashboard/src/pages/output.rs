//! The output of a check or an agent, split into pages.

use askama::Template;
use selvedge_core::format::bytes;

use super::frame::PageFrame;
use super::sections::{SectionView, section_views};
use crate::backend::OutputSlice;

/// Approximate size of a page in bytes; it is cut at a nearby line end.
const PAGE_BYTES: u64 = 64 * 1024;
/// Maximum distance between a page's nominal end and the line end where it is cut.
const SLACK_BYTES: usize = 4 * 1024;

/// Maximum number of lines on a page that are numbered.
const MAX_NUMBERED_LINES: u64 = 6_000;

/// The page.
#[derive(Template)]
#[template(path = "output.html")]
pub(crate) struct OutputPage {
    frame: PageFrame,
    /// Parent page: URL and label.
    back: (String, String),
    heading: String,
    size: String,
    left_out: Option<String>,
    raw: String,
    sections: Vec<SectionView>,
    /// Headings of the sections of the whole output, with their pages.
    headings: Vec<OutputMatch>,
    more_headings: bool,
    /// Lines of the failures that the check reported, with their pages.
    failures: Vec<OutputMatch>,
    /// The text that is searched for, and the lines that contain it.
    search: String,
    matches: Vec<OutputMatch>,
    more_matches: bool,
    base: String,
    number: u64,
    last: u64,
    empty: bool,
}

/// A line of the output.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OutputMatch {
    pub(crate) page: u64,
    pub(crate) line: u64,
    pub(crate) text: String,
}

/// Known facts about the lines of an output.
#[derive(Debug, Default)]
pub(crate) struct OutputLines {
    /// Number of the page's first line; `None` if unknown.
    pub(crate) first: Option<u64>,
    pub(crate) failures: Vec<OutputMatch>,
    pub(crate) headings: Vec<OutputMatch>,
    pub(crate) more_headings: bool,
    pub(crate) search: String,
    pub(crate) matches: Vec<OutputMatch>,
    pub(crate) more_matches: bool,
}

/// The output that is shown.
pub(crate) struct OutputHeader {
    /// URL without the page number.
    pub(crate) base: String,
    /// Heading of the page.
    pub(crate) heading: String,
    /// Parent page: URL and label.
    pub(crate) back: (String, String),
    /// Number of bytes that were not stored.
    pub(crate) left_out: u64,
}

/// Nominal range of a page in the output, with [`SLACK_BYTES`] around it.
pub(crate) fn page_range(number: u64) -> (u64, usize) {
    let from = number.saturating_sub(1).saturating_mul(PAGE_BYTES);
    let length = usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX);
    (from, length.saturating_add(SLACK_BYTES))
}

impl OutputPage {
    /// Builds the page from the bytes of [`page_range`].
    pub(crate) fn new(
        frame: PageFrame,
        which: OutputHeader,
        number: u64,
        slice: &OutputSlice,
        lines: OutputLines,
    ) -> Self {
        let last = last_page(slice.total);
        let shown = page_bytes(&slice.bytes, number);
        let length = u64::try_from(shown.len()).unwrap_or(u64::MAX);
        let is_short = count_lines(shown, length) <= MAX_NUMBERED_LINES;
        let first = lines.first.filter(|_| is_short);
        let failing: Vec<u64> = lines.failures.iter().map(|it| it.line).collect();
        Self {
            frame,
            back: which.back,
            heading: which.heading,
            size: bytes(slice.total),
            left_out: (which.left_out > 0).then(|| bytes(which.left_out)),
            raw: format!("{}/raw", which.base),
            sections: section_views(shown, first, &failing),
            headings: lines.headings,
            more_headings: lines.more_headings,
            failures: lines.failures,
            search: lines.search,
            matches: lines.matches,
            more_matches: lines.more_matches,
            base: which.base,
            number,
            last,
            empty: slice.total == 0,
        }
    }
}

/// The last page of an output.
pub(crate) fn last_page(total: u64) -> u64 {
    total.div_ceil(PAGE_BYTES).max(1)
}

/// The number of the page with this byte, where pages begin at `page_starts`.
pub(crate) fn page_of_offset(page_starts: &[u64], offset: u64) -> u64 {
    let before = page_starts.partition_point(|start| *start <= offset);
    u64::try_from(before.max(1)).unwrap_or(1)
}

/// Where each page of an output begins.
pub(crate) fn page_starts(output: &[u8]) -> Vec<u64> {
    let total = u64::try_from(output.len()).unwrap_or(u64::MAX);
    let start = |page: u64| {
        if page == 1 {
            return 0;
        }
        let (nominal, _) = page_range(page);
        let at = usize::try_from(nominal).unwrap_or(usize::MAX);
        let near = output.get(at..).unwrap_or_default();
        nominal + u64::try_from(find_page_break(near, 0)).unwrap_or(0)
    };
    (1..=last_page(total)).map(start).collect()
}

/// Number of lines in the output before an offset.
pub(crate) fn count_lines(output: &[u8], to: u64) -> u64 {
    let to = usize::try_from(to).unwrap_or(usize::MAX).min(output.len());
    let before = output.get(..to).unwrap_or_default();
    let ends = before.split(|byte| *byte == b'\n').skip(1);
    ends.map(|_| 1).sum()
}

/// The bytes of a page: from its first whole line to the end of its last one, where line ends are near
/// enough.
fn page_bytes(slice: &[u8], number: u64) -> &[u8] {
    let page = usize::try_from(PAGE_BYTES).unwrap_or(usize::MAX);
    let from = if number > 1 {
        find_page_break(slice, 0)
    } else {
        0
    };
    let to = find_page_break(slice, page);
    slice.get(from..to).unwrap_or_default()
}

/// The page break near a nominal position: the same for the page that ends there and the page that begins
/// there.
fn find_page_break(slice: &[u8], nominal: usize) -> usize {
    let Some(after) = slice.get(nominal..) else {
        return slice.len();
    };
    let near = after.iter().take(SLACK_BYTES);
    let line_end = near.clone().position(|byte| *byte == b'\n');
    let character = || near.clone().position(|byte| byte & 0xc0 != 0x80);
    let further = line_end.map(|at| at + 1).or_else(character).unwrap_or(0);
    nominal + further
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte is on exactly one page.
    fn check(output: &[u8]) {
        let mut all_lines = Vec::new();
        let pages = u64::try_from(output.len()).unwrap().div_ceil(PAGE_BYTES);
        for number in 1..=pages.max(1) {
            let (from, length) = page_range(number);
            let from = usize::try_from(from).unwrap().min(output.len());
            let to = (from + length).min(output.len());
            all_lines.extend_from_slice(page_bytes(&output[from..to], number));
        }
        assert!(all_lines == output);
    }

    #[test]
    fn page_break_is_at_lines_and_loses_nothing() {
        let lines: Vec<u8> = (0..40_000)
            .flat_map(|n| format!("line {n}\n").into_bytes())
            .collect();
        check(&lines);
        check("ä".repeat(200_000).as_bytes());
        check(&vec![0x80; 200_000]);
        check(b"");
        let exact = vec![b'x'; 2 * 64 * 1024];
        check(&exact);
    }
}
