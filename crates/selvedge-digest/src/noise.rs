//! Lines that are never shown, whichever runner prints them: rows of letters for one result after another
//! (`..F.s   [ 97%]`), which say nothing that the totals and the failures do not say; names, versions and durations of
//! runners; notices of written reports, which Selvedge requests for itself in private folders; and frames of the modules
//! that it loads into runners.

use crate::pattern::LinePattern;

/// The notices of vitest, jest and .NET; pytest's is within dashes.
const REPORT_NOTICES: [&str; 5] = [
    "generated xml file: ",
    "JSON report written to ",
    "JUNIT report written to ",
    "Test results written to: ",
    "Results File: ",
];

/// Lines of PHPUnit, RSpec, vitest and jest about the run itself.
static ABOUT_RUN: LinePattern = LinePattern::new(concat!(
    r"^(?:PHPUnit [\d.]+(?:-\S+)? by Sebastian Bergmann and contributors\.|Runtime: {3,}PHP [\d.]+\S*|Configuration: \S.*\.(?:xml|dist)",
    r"|Time: [\d:.]+(?: seconds| ms)?, Memory: [\d.]+ ?MB",
    r"|Finished in [\d.]+ (?:seconds?|minutes? [\d.]+ seconds?) \(files took [\d.]+ seconds? to load\)",
    r"|RUN +v\d[\w.-]* \S.*|Start at +[\d:]+|Duration +[\d.]+m?s(?: \(transform .*\))?",
    r"|Time: {8}[\d.]+ m?s(?:, estimated [\d.]+ m?s)?|Ran all test suites(?: .*)?\.)$",
));

/// The letters of pytest, unittest, minitest, RSpec, JUnit, PHPUnit, Jasmine and mocha.
const LETTERS: &str = ".․FEsxXuRSWIDN*!,";

/// Whether the line names the file to which a report was written.
#[inline]
pub(crate) fn is_report_notice(body: &str) -> bool {
    // Most lines begin with another character.
    body.starts_with(['-', 'J', 'T', 'R'])
        && REPORT_NOTICES
            .iter()
            .any(|start| body.trim_start_matches(['-', ' ']).starts_with(start))
}

/// Whether the line is about a runner and its run, and not about any test.
#[inline]
pub(crate) fn is_about_run(body: &str) -> bool {
    // Most lines begin with another word.
    let beginnings = [
        "PHPUnit ",
        "Runtime: ",
        "Configuration: ",
        "Time: ",
        "Finished in ",
        "RUN ",
        "Start at ",
        "Duration ",
        "Ran all test suites",
    ];
    beginnings.iter().any(|start| body.starts_with(start)) && ABOUT_RUN.is_match(body.trim_end())
}

/// Whether the line is a stack frame of a module by which Selvedge records results: `at run (…/selvedge_node.cjs:186:20)`.
#[inline]
pub(crate) fn is_own_frame(body: &str) -> bool {
    // Most lines begin with another character.
    body.starts_with(['a', 'F', '›', '❯'])
        && (body.contains("/selvedge_node.cjs") || body.contains("/selvedge_canary.py"))
}

/// Whether the line is a row of results, with or without its progress. Without a dot or a progress, a row looks like a
/// word.
#[inline]
pub(crate) fn is_result_row(body: &str) -> bool {
    // Most lines begin with another character.
    if !body.starts_with(is_result) {
        return false;
    }
    let (results, progress) = split_progress(body);
    results.chars().all(is_result)
        && is_progress(progress)
        && (!progress.is_empty() || results.contains(['.', '․']))
}

/// Whether the text is a row of results behind the name of their file.
pub(crate) fn has_only_results(text: &str) -> bool {
    let (results, progress) = split_progress(text);
    !results.is_empty() && results.chars().all(is_result) && is_progress(progress)
}

fn split_progress(text: &str) -> (&str, &str) {
    let (results, progress) = text.split_once(' ').unwrap_or((text, ""));
    (results, progress.trim_start())
}

fn is_result(c: char) -> bool {
    LETTERS.contains(c)
}

/// Whether it is empty, `[ 97%]`, `[12/34]` or `63 / 120 ( 52%)`.
fn is_progress(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || " []()/%".contains(c);
    text.is_empty()
        || text.ends_with([']', ')'])
            && text.contains(['%', '/'])
            && text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notice_of_a_report_is_recognised() {
        assert!(is_report_notice(
            "-- generated xml file: /runs/1/report-a --"
        ));
        assert!(is_report_notice("- generated xml file: /runs/1/report-a -"));
        assert!(is_report_notice("JSON report written to /runs/1/report-a"));
        assert!(!is_report_notice("- generated code differs"));
        assert!(!is_report_notice("JSON report is invalid"));
    }

    #[test]
    fn frame_of_a_module_of_selvedge_is_recognised() {
        assert!(is_own_frame("at run (../r/selvedge_node.cjs:186:20)"));
        assert!(!is_own_frame("at run (src/selvedge.cjs:186:20)"));
        assert!(!is_own_frame("cp /a/selvedge_node.cjs b"));
    }

    #[test]
    fn row_of_results_is_no_text() {
        let rows = [
            "...",
            "..F.s.x",
            "FF [ 97%]",
            "....................  [ 12/340]",
            ".E.E.",
            "...F...  63 / 120 ( 52%)",
            "․․․!․,",
        ];
        for row in rows {
            assert!(is_result_row(row), "{row}");
        }
        for text in [
            "FF",
            "SEE",
            "...and more",
            ".env",
            "... [see below]",
            "E 12%",
            "E       [404]",
            "* (1)",
            "",
        ] {
            assert!(!is_result_row(text), "{text}");
        }
        assert!(has_only_results("F"));
        assert!(has_only_results("FF                [ 97%]"));
        assert!(!has_only_results("PASSED [ 97%]"));
    }
}
