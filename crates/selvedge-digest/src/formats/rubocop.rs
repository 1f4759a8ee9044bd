//! RuboCop, and the linters that print like it: `cart.rb:3:5: C: Layout/Empty: message` with the
//! source below, or a file's name and its offences below that.

use std::sync::LazyLock;

use regex::Regex;

use super::{Claim, Format};
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::pattern::pattern;
use crate::record::FailureKind;

const TOOL: &str = "rubocop";

/// Reads offences.
#[derive(Debug, Default)]
pub(super) struct RuboCop {
    /// The source below an offence.
    draft: Option<Draft>,
    lines: u32,
    /// The file whose offences are listed, where they do not name it.
    file: String,
}

/// How many lines of source are taken.
const SOURCE_LINES: u32 = 3;

static OFFENCE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:(?P<file>[^\s:][^:]*):(?P<line>\d+):(?P<column>\d+): )?(?P<severity>[IRCWEF]):(?: +(?P<line2>\d+): +(?P<column2>\d+):)? (?:\[[A-Za-z]+\] )?(?P<cop>[A-Z]\w+(?:/\w+)+): (?P<message>\S.*)$",
    )
});

impl Format for RuboCop {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let heading = line.text.strip_prefix("== ");
        if let Some(file) = heading.and_then(|rest| rest.strip_suffix(" ==")) {
            self.close(findings);
            file.clone_into(&mut self.file);
            return Claim::Foreign;
        }
        if let Some(draft) = offence(line, &self.file) {
            self.close(findings);
            findings.tool(TOOL);
            self.draft = Some(draft);
            self.lines = 0;
            return Claim::Evidence;
        }
        self.lines += 1;
        let Some(draft) = &mut self.draft else {
            return Claim::Foreign;
        };
        draft.excerpt(line);
        // The source ends with the line of carets.
        if line.is_blank() || line.body().starts_with('^') || self.lines == SOURCE_LINES {
            self.close(findings);
        }
        Claim::Evidence
    }

    fn is_open(&self) -> bool {
        self.draft.is_some()
    }

    fn finish(&mut self, findings: &mut Findings) {
        self.close(findings);
    }
}

impl RuboCop {
    fn close(&mut self, findings: &mut Findings) {
        findings.close(&mut self.draft);
    }
}

fn offence(line: &Line<'_>, listed: &str) -> Option<Draft> {
    let text = line.text;
    // The letter of the severity stands alone before a colon.
    let marked = text.as_bytes().get(1) == Some(&b':') || text.contains(": ");
    let found = marked.then(|| OFFENCE.captures(text)).flatten()?;
    let get = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| get(name).and_then(|digits| digits.parse().ok());
    let mut draft = Draft::new(FailureKind::Lint, TOOL, line);
    if &found["severity"] == "I" {
        draft.severity = Severity::Warning;
    }
    draft.failure.code = Some(found["cop"].to_owned());
    draft.place(
        get("file").unwrap_or(listed),
        number("line").or(number("line2")),
        number("column").or(number("column2")),
    );
    draft.message(&found["message"]);
    draft.excerpt(line);
    Some(draft)
}
