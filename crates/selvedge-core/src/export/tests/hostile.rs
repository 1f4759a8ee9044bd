//! Output of tools, agents and repositories remains plain text in every format.

use proptest::prelude::*;

use super::{account, failing, forms, junit_counts, only, passing};
use crate::export::ResultCategory;
use crate::model::{Report, SessionOutcome, SessionStatus};

/// Fragments that have a meaning in one of the formats.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "\n",
        "\r\n",
        "::error::",
        "##[add-mask]",
        "%0A",
        "%",
        "::",
        ",",
        "`",
        "```",
        "````text",
        "# ",
        "- ",
        "|",
        "\\|",
        "<!--",
        "-->",
        "]]>",
        "<![CDATA[",
        "</failure>",
        "&amp;",
        "&#0;",
        "\u{0}",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{ffff}",
        "\"",
        "'",
        "<",
        "é",
        "../",
        "/",
        "a",
        " ",
    ]);
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A report in which every untrusted text is this one.
fn saying(text: &str) -> Report {
    let mut report = failing();
    report.checks.truncate(1);
    for check in &mut report.checks {
        check.name = Some(format!("x{text}"));
        check.reason = Some(format!("x{text}"));
        check.digest = Some(format!("x{text}"));
        check.output = format!("x{text}");
        for failure in &mut check.failures {
            failure.file = Some(format!("x{text}"));
            failure.summary = format!("x{text}");
            failure.message = Some(format!("x{text}"));
            failure.code = Some(format!("x{text}"));
        }
    }
    report.guard = passing().guard;
    for finding in report
        .guard
        .iter_mut()
        .flat_map(|guard| &mut guard.findings)
    {
        (finding.path, finding.what) = (format!("x{text}"), format!("x{text}"));
    }
    report
}

/// The lines of a Markdown text that are not inside a fenced block.
fn outside_of_fences(markdown: &str) -> Vec<&str> {
    let mut fence: Option<&str> = None;
    let mut outside = Vec::new();
    for line in markdown.lines() {
        match fence {
            None if line.starts_with("```") => fence = line.strip_suffix("text"),
            None => outside.push(line),
            Some(open) if line == open => fence = None,
            Some(_) => {}
        }
    }
    outside
}

proptest! {
    #[test]
    fn export_escapes_untrusted_text(text in hostile()) {
        let session = SessionOutcome::new(SessionStatus::Success);
        let shapes = [text.as_str(), ""].map(|text| {
            let report = saying(text);
            let mut account = account(ResultCategory::NotVerified, vec![only(&session, Some(&report))]);
            account.verdict.reason = format!("x{text}");
            let task = format!("x{text}");
            account.task = Some(&task);
            let [(_, junit), (_, sarif), (_, markdown), (_, github), (_, gitlab)] = forms(&account);
            prop_assert!(!github.contains("##["), "{}", github);
            prop_assert!(github.lines().all(|line| line.starts_with("::")), "{}", github);
            let sarif: serde_json::Value = serde_json::from_str(&sarif).unwrap();
            let gitlab: serde_json::Value = serde_json::from_str(&gitlab).unwrap();
            let heads = |line: &&str| line.starts_with('#') || line.starts_with("- ");
            Ok((
                junit_counts(&junit),
                sarif["runs"][0]["results"].as_array().unwrap().len(),
                gitlab.as_array().unwrap().len(),
                github.lines().count(),
                outside_of_fences(&markdown).into_iter().filter(heads).count(),
            ))
        });
        let [hostile, harmless] = shapes;
        prop_assert_eq!(hostile?, harmless?);
    }
}
