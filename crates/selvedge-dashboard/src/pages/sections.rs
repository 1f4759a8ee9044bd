//! Sections of an output: headings that test runners and build tools print, and groups of CI systems.

use std::ops::Range;

use crate::text::{Markup, ansi, single_line};

/// Longest line that can be a heading, in bytes.
const MAX_HEADING_BYTES: usize = 300;
/// Pages with more sections are shown as one.
const MAX_SECTIONS: usize = 200;
/// Longest heading, in characters.
const MAX_CHARS: usize = 120;

/// A part of a page.
pub(crate) struct SectionView {
    /// The heading; `None` for lines before the first heading.
    pub(crate) heading: Option<String>,
    pub(crate) open: bool,
    /// Numbers of its lines; empty if they are unknown.
    pub(crate) lines: Range<u64>,
    pub(crate) markup: Markup,
}

/// A line without escape sequences. Only its beginning is decoded if it is long.
pub(crate) fn plain_text(line: &[u8]) -> String {
    let shown = line.get(..line.len().min(4 * MAX_HEADING_BYTES));
    let text = String::from_utf8_lossy(shown.unwrap_or_default());
    selvedge_core::sanitize::sanitize_text(&text)
}

/// The heading that a line contains.
pub(crate) fn section_heading(line: &str) -> Option<String> {
    let line = line.trim_end();
    if line.is_empty() || line.len() > MAX_HEADING_BYTES {
        return None;
    }
    let group = ["##[group]", "::group::"];
    if let Some(name) = group.iter().find_map(|start| line.strip_prefix(start)) {
        return Some(name.trim().to_owned()).filter(|name| !name.is_empty());
    }
    // `=== FAILURES ===` of pytest, `---- name stdout ----` of cargo, `____ test ____`.
    for rule in ['=', '-', '_', '*', '#'] {
        let inner = line.trim_matches(rule);
        let (start, end) = (
            line.len() - line.trim_start_matches(rule).len(),
            line.trim_end_matches(rule).len(),
        );
        let is_framed = start >= 3 && line.len() - end >= 3;
        if is_framed && inner.starts_with(' ') && inner.ends_with(' ') {
            let name = inner.trim();
            return (name.chars().any(char::is_alphanumeric)).then(|| name.to_owned());
        }
    }
    let starts = [
        "--- FAIL: ",
        "FAIL: ",
        "ERROR: ",
        "FAIL  ",
        "FAIL ",
        "PASS ",
        "> Task ",
        "     Running ",
        "   Doc-tests ",
        "[INFO] --- ",
        "==> ",
        "Failures:",
        "failures:",
    ];
    let is_heading = starts.iter().any(|start| line.starts_with(start));
    is_heading.then(|| line.trim().to_owned())
}

/// The sections of a page. Those with a failure are open; without any failure, all are. `first` is the number of the
/// first line.
pub(crate) fn section_views(
    bytes: &[u8],
    first: Option<u64>,
    failures: &[u64],
) -> Vec<SectionView> {
    let markup = ansi(bytes);
    let lines = markup.as_str().trim_end_matches('\n').lines().count();
    let texts = bytes.split(|byte| *byte == b'\n').take(lines);
    let headings = texts.enumerate().filter_map(|(at, line)| {
        let heading = section_heading(&plain_text(line))?;
        Some((at, single_line(&heading, MAX_CHARS)))
    });
    let mut headings: Vec<(usize, String)> = headings.collect();
    if headings.len() < 2 || headings.len() > MAX_SECTIONS {
        headings.clear();
    }
    let starts: Vec<usize> = headings.iter().map(|(at, _)| *at).collect();
    let parts = markup.split_at_lines(&starts);
    let mut begins: Vec<usize> = starts;
    if begins.first() != Some(&0) {
        begins.insert(0, 0);
    }
    let has_failure = |range: &Range<u64>| failures.iter().any(|line| range.contains(line));
    let number =
        |at: usize| first.map(|first| first.saturating_add(u64::try_from(at).unwrap_or(0)));
    let ends = begins.iter().skip(1).copied().chain([lines]);
    let views = begins
        .iter()
        .zip(ends)
        .zip(parts)
        .map(|((from, to), markup)| {
            let range = number(*from).zip(number(to)).map(|(from, to)| from..to);
            let heading = headings.iter().find(|(at, _)| at == from);
            SectionView {
                heading: heading.map(|(_, text)| text.clone()),
                open: false,
                lines: range.unwrap_or(0..0),
                markup,
            }
        });
    let mut views: Vec<SectionView> = views.collect();
    let some_failed = views.iter().any(|view| has_failure(&view.lines));
    for view in &mut views {
        view.open = !some_failed || view.heading.is_none() || has_failure(&view.lines);
    }
    views
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn section_heading_is_recognised() {
        let expect = |line: &str, heading: Option<&str>| {
            assert_eq!(section_heading(line).as_deref(), heading, "{line}");
        };
        expect("=========== FAILURES ===========", Some("FAILURES"));
        expect("_______ test_add[1-2] _______", Some("test_add[1-2]"));
        expect("---- tests::adds stdout ----", Some("tests::adds stdout"));
        expect("##[group]Install", Some("Install"));
        expect(
            "--- FAIL: TestAdd (0.00s)",
            Some("--- FAIL: TestAdd (0.00s)"),
        );
        expect(
            "     Running unittests src/lib.rs",
            Some("Running unittests src/lib.rs"),
        );
        for other in [
            "",
            "=====",
            "-- a --",
            "a === b === c",
            "error: no",
            "--- a/x",
            "=== ... ===",
        ] {
            expect(other, None);
        }
        expect(&format!("== {} ==", "x".repeat(400)), None);
    }

    #[test]
    fn sections_with_failures_are_open() {
        let output = b"start\n=== one ===\n\x1b[31mbad\nred\n=== two ===\nfine\n";
        let open = |failures: &[u64]| -> Vec<(bool, Range<u64>)> {
            let views = section_views(output, Some(11), failures);
            views.into_iter().map(|it| (it.open, it.lines)).collect()
        };
        assert_eq!(
            open(&[13]),
            [(true, 11..12), (true, 12..15), (false, 15..17)]
        );
        assert!(open(&[]).iter().all(|(open, _)| *open));
        let views = section_views(output, Some(11), &[]);
        let all: String = views.iter().map(|it| it.markup.as_str()).collect();
        assert_eq!(all, ansi(output).as_str(), "nothing is lost");
        for view in &views {
            let text = view.markup.as_str();
            assert_eq!(
                text.matches("<span").count(),
                text.matches("</span>").count()
            );
        }
        assert_eq!(section_views(b"=== one ===\nonly\n", None, &[]).len(), 1);
        assert_eq!(section_views(b"", None, &[]).len(), 1);
    }
}
