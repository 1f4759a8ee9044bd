//! RuboCop, and the linters that print like it: `cart.rb:3:5: C: Layout/Empty: message` with the
//! source below, or a file's name and its offences below that.

use std::sync::LazyLock;

use regex::Regex;

use super::{FormatParser, LineClaim};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::line::CleanLine;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "rubocop";

/// Reads offences.
#[derive(Debug, Default)]
pub(super) struct RuboCopParser {
    /// The source below an offence.
    draft: Option<FailureBuilder>,
    lines: u32,
    /// The file of the listed offences, if they do not name it.
    file: String,
}

/// How many lines of source are taken.
const SOURCE_LINES: u32 = 3;

static OFFENSE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): )?(?P<severity>[IRCWEF]):(?: +(?P<line2>\d+): +(?P<column2>\d+):)? (?:\[[A-Za-z]+\] )?(?P<cop>[A-Z]\w+(?:/\w+)+): (?P<message>\S.*)$",
    )
});

impl FormatParser for RuboCopParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let heading = line.text.strip_prefix("== ");
        if let Some(file) = heading.and_then(|rest| rest.strip_suffix(" ==")) {
            self.close(findings);
            file.clone_into(&mut self.file);
            return LineClaim::NotMine;
        }
        if let Some(draft) = parse_offense(line, &self.file) {
            self.close(findings);
            findings.add_tool(TOOL);
            self.draft = Some(draft);
            self.lines = 0;
            return LineClaim::Evidence;
        }
        self.lines += 1;
        let Some(draft) = &mut self.draft else {
            return LineClaim::NotMine;
        };
        draft.push_excerpt(line);
        // The source ends with the line of carets.
        if line.is_blank() || line.body().starts_with('^') || self.lines == SOURCE_LINES {
            self.close(findings);
        }
        LineClaim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl RuboCopParser {
    fn close(&mut self, findings: &mut Findings) {
        findings.add_draft(&mut self.draft);
    }
}

fn parse_offense(line: &CleanLine<'_>, listed: &str) -> Option<FailureBuilder> {
    let text = line.text;
    // The letter of the severity is alone before a colon.
    let marked = text.as_bytes().get(1) == Some(&b':') || text.contains(": ");
    let found = marked.then(|| OFFENSE.captures(text)).flatten()?;
    let get = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = FailureBuilder::new(FailureKind::Lint, TOOL, line);
    if &found["severity"] == "I" {
        draft.severity = FailureSeverity::Warning;
    }
    draft.failure.code = Some(found["cop"].to_owned());
    draft.set_location(
        get("file").unwrap_or(listed),
        number("line").or(number("line2")),
        number("column").or(number("column2")),
    );
    draft.push_message(&found["message"]);
    draft.push_excerpt(line);
    Some(draft)
}
