//! The reports of linters and type checkers: findings as a list, or grouped by file. They differ in the names
//! of a few fields, so one record with aliases reads them all; [`SHAPES`] lists the key that each tool's
//! report begins with.

use serde::Deserialize;

use super::{EntryMatch, JsonEntry, JsonReportParser, libtest};
use crate::formats::prelude::*;

/// Shape of a tool's report.
#[derive(Debug)]
struct LintReportShape {
    tool: &'static str,
    kind: FailureKind,
    /// The first key of its root object, or of its first element.
    first: &'static str,
    /// The key of the array with the entries; empty if they are at the root.
    entries: &'static str,
    /// An entry is a file with its findings.
    grouped: bool,
}

const fn shape(
    tool: &'static str,
    kind: FailureKind,
    first: &'static str,
    entries: &'static str,
    grouped: bool,
) -> LintReportShape {
    LintReportShape {
        tool,
        kind,
        first,
        entries,
        grouped,
    }
}

const LINT: FailureKind = FailureKind::Lint;
const TYPE: FailureKind = FailureKind::Type;

static SHAPES: [LintReportShape; 10] = [
    shape("eslint", LINT, "filePath", "", true),
    shape("stylelint", LINT, "source", "", true),
    shape("rubocop", LINT, "metadata", "files", true),
    shape("ruff", LINT, "cell", "", false),
    shape("pylint", LINT, "type", "", false),
    shape("pylint", LINT, "messages", "messages", false),
    shape("mypy", TYPE, "file", "", false),
    shape("pyright", TYPE, "version", "generalDiagnostics", false),
    shape("lint", LINT, "check_name", "", false),
    shape("golangci-lint", LINT, "Issues", "Issues", false),
];

/// The reports that may begin with a key.
pub(super) fn candidates(key: &str) -> Vec<Box<dyn JsonReportParser>> {
    let mut reports: Vec<Box<dyn JsonReportParser>> = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.first == key) {
        reports.push(Box::new(LintJsonParser { shape }));
    }
    if key == libtest::FIRST_KEY {
        reports.push(Box::<libtest::LibtestJsonParser>::default());
    }
    reports
}

/// Reads the report of a linter.
#[derive(Debug)]
struct LintJsonParser {
    shape: &'static LintReportShape,
}

#[derive(Debug, Deserialize)]
struct LintFileGroup {
    #[serde(alias = "filePath", alias = "path")]
    file: Option<String>,
    /// stylelint's name for the file; eslint's for its text.
    source: Option<String>,
    #[serde(alias = "messages", alias = "warnings", alias = "offenses")]
    findings: Vec<LintFinding>,
}

#[derive(Debug, Deserialize)]
struct LintFinding {
    #[serde(alias = "filename", alias = "path")]
    file: Option<String>,
    #[serde(flatten)]
    place: LintPosition,
    #[serde(alias = "Pos")]
    location: Option<LintLocation>,
    range: Option<LintRange>,
    #[serde(
        alias = "ruleId",
        alias = "rule",
        alias = "symbol",
        alias = "cop_name",
        alias = "check_name",
        alias = "FromLinter"
    )]
    code: Option<TextOrNumber>,
    #[serde(alias = "text", alias = "Text", alias = "description")]
    message: String,
    #[serde(alias = "type", alias = "level")]
    severity: Option<TextOrNumber>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct LintPosition {
    #[serde(alias = "row", alias = "Line")]
    line: Option<u32>,
    #[serde(alias = "character", alias = "Column")]
    column: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct LintLocation {
    #[serde(alias = "Filename")]
    path: Option<String>,
    #[serde(flatten)]
    place: LintPosition,
    positions: Option<LintPositions>,
}

#[derive(Debug, Deserialize)]
struct LintPositions {
    begin: LintPosition,
}

/// pyright's range, which counts from 0.
#[derive(Debug, Deserialize)]
struct LintRange {
    start: LintPosition,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum TextOrNumber {
    Text(String),
    Number(u64),
}

impl JsonReportParser for LintJsonParser {
    fn parse(&mut self, entry: &JsonEntry<'_>, findings: &mut Findings) -> Option<EntryMatch> {
        if entry.key != self.shape.entries {
            return Some(EntryMatch::Possible);
        }
        if self.shape.grouped {
            let group: LintFileGroup = entry.parse()?;
            let file = group.file.or(group.source);
            for finding in group.findings {
                self.add(finding, file.as_deref(), entry, findings);
            }
        } else {
            let finding: LintFinding = entry.parse()?;
            self.add(finding, None, entry, findings);
        }
        findings.add_tool(self.shape.tool);
        Some(EntryMatch::Certain)
    }
}

impl LintJsonParser {
    fn add(
        &self,
        finding: LintFinding,
        file: Option<&str>,
        entry: &JsonEntry<'_>,
        findings: &mut Findings,
    ) {
        let mut draft = entry.start_failure(self.shape.kind.clone(), self.shape.tool);
        let (mut file, mut place) = (finding.file.as_deref().or(file), finding.place);
        if let Some(location) = &finding.location {
            file = file.or(location.path.as_deref());
            place = location
                .positions
                .as_ref()
                .map_or(location.place, |at| at.begin);
        }
        if let Some(range) = &finding.range {
            place.line = range.start.line.map(|line| line.saturating_add(1));
            place.column = range.start.column.map(|column| column.saturating_add(1));
        }
        if let Some(file) = file {
            draft.set_location(file, place.line, place.column);
        }
        draft.failure.code = match finding.code {
            Some(TextOrNumber::Text(code)) => Some(code),
            // shellcheck's codes are numbers, and its entries begin like mypy's.
            Some(TextOrNumber::Number(code)) => {
                draft.failure.tool = Some("shellcheck".to_owned());
                draft.failure.kind = FailureKind::Lint;
                Some(format!("SC{code}"))
            }
            None => None,
        };
        draft.severity = match finding.severity {
            // RuboCop also fails for conventions.
            Some(TextOrNumber::Text(word))
                if self.shape.tool != "rubocop" && is_below_error(&word) =>
            {
                FailureSeverity::Warning
            }
            Some(TextOrNumber::Text(word)) if word == "info" => FailureSeverity::Warning,
            Some(TextOrNumber::Number(1)) => FailureSeverity::Warning,
            _ => FailureSeverity::Error,
        };
        let rule = draft.failure.code.as_deref().unwrap_or_default();
        let message = strip_rule(&finding.message, rule);
        draft.push_message(message);
        findings.add(draft.build());
    }
}

/// The message without the rule, which some tools put before it, and stylelint after it, in parentheses.
fn strip_rule<'a>(message: &'a str, rule: &str) -> &'a str {
    if rule.is_empty() {
        return message;
    }
    let before = message
        .strip_prefix(rule)
        .and_then(|rest| rest.strip_prefix(": "));
    let after = message
        .strip_suffix(')')
        .and_then(|rest| rest.strip_suffix(rule)?.strip_suffix(" ("));
    before.or(after).unwrap_or(message)
}

/// Whether a tool's severity is below an error.
fn is_below_error(word: &str) -> bool {
    const MILD: [&str; 8] = [
        "warning",
        "information",
        "info",
        "note",
        "style",
        "convention",
        "refactor",
        "minor",
    ];
    MILD.contains(&word)
}
