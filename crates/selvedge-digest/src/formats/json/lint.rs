//! The reports of linters and type checkers: findings one by one, or grouped by file. They differ
//! in the names of a few fields, so one record with many names reads them all; [`SHAPES`] says which
//! tool's report begins with which key.

use serde::Deserialize;

use super::{Report, Told, libtest};
use crate::findings::{Draft, Findings, Severity};
use crate::record::FailureKind;

/// A tool's report.
#[derive(Debug)]
struct Shape {
    tool: &'static str,
    kind: FailureKind,
    /// The first key of its root object, or of its first element.
    first: &'static str,
    /// The key of the array that holds the entries; empty where they stand at the root.
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
) -> Shape {
    Shape {
        tool,
        kind,
        first,
        entries,
        grouped,
    }
}

static SHAPES: [Shape; 10] = [
    shape("eslint", FailureKind::Lint, "filePath", "", true),
    shape("stylelint", FailureKind::Lint, "source", "", true),
    shape("rubocop", FailureKind::Lint, "metadata", "files", true),
    shape("ruff", FailureKind::Lint, "cell", "", false),
    shape("pylint", FailureKind::Lint, "type", "", false),
    shape("pylint", FailureKind::Lint, "messages", "messages", false),
    shape("mypy", FailureKind::Type, "file", "", false),
    shape(
        "pyright",
        FailureKind::Type,
        "version",
        "generalDiagnostics",
        false,
    ),
    shape("lint", FailureKind::Lint, "check_name", "", false),
    shape(
        "golangci-lint",
        FailureKind::Lint,
        "Issues",
        "Issues",
        false,
    ),
];

/// The reports that may begin with a key.
pub(super) fn candidates(key: &str) -> Vec<Box<dyn Report>> {
    let mut reports: Vec<Box<dyn Report>> = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.first == key) {
        reports.push(Box::new(Lint { shape }));
    }
    if key == libtest::FIRST_KEY {
        reports.push(Box::<libtest::Libtest>::default());
    }
    reports
}

/// Reads the report of a linter.
#[derive(Debug)]
struct Lint {
    shape: &'static Shape,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(alias = "filePath", alias = "path")]
    file: Option<String>,
    /// stylelint's name for the file; eslint's for its text.
    source: Option<String>,
    #[serde(alias = "messages", alias = "warnings", alias = "offenses")]
    findings: Vec<Finding>,
}

#[derive(Debug, Deserialize)]
struct Finding {
    #[serde(alias = "filename", alias = "path")]
    file: Option<String>,
    #[serde(flatten)]
    place: Place,
    #[serde(alias = "Pos")]
    location: Option<Location>,
    range: Option<Range>,
    #[serde(
        alias = "ruleId",
        alias = "rule",
        alias = "symbol",
        alias = "cop_name",
        alias = "check_name",
        alias = "FromLinter"
    )]
    code: Option<Word>,
    #[serde(alias = "text", alias = "Text", alias = "description")]
    message: String,
    #[serde(alias = "type", alias = "level")]
    severity: Option<Word>,
}

#[derive(Debug, Clone, Copy, Default, Deserialize)]
struct Place {
    #[serde(alias = "row", alias = "Line")]
    line: Option<u32>,
    #[serde(alias = "character", alias = "Column")]
    column: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Location {
    #[serde(alias = "Filename")]
    path: Option<String>,
    #[serde(flatten)]
    place: Place,
    positions: Option<Positions>,
}

#[derive(Debug, Deserialize)]
struct Positions {
    begin: Place,
}

/// pyright's, which counts from 0.
#[derive(Debug, Deserialize)]
struct Range {
    start: Place,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Number(u64),
}

impl Report for Lint {
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        if key != self.shape.entries {
            return Told::Maybe;
        }
        if self.shape.grouped {
            let Ok(group) = serde_json::from_slice::<Group>(value) else {
                return Told::Never;
            };
            let file = group.file.or(group.source);
            for finding in group.findings {
                self.add(finding, file.as_deref(), number, findings);
            }
        } else {
            let Ok(finding) = serde_json::from_slice::<Finding>(value) else {
                return Told::Never;
            };
            self.add(finding, None, number, findings);
        }
        findings.tool(self.shape.tool);
        Told::Known
    }
}

impl Lint {
    fn add(&self, finding: Finding, file: Option<&str>, number: u64, findings: &mut Findings) {
        let mut draft = Draft::structured(self.shape.kind.clone(), self.shape.tool, number);
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
            draft.place(file, place.line, place.column);
        }
        draft.failure.code = match finding.code {
            Some(Word::Text(code)) => Some(code),
            // shellcheck's codes are numbers, and its entries begin as mypy's do.
            Some(Word::Number(code)) => {
                draft.failure.tool = Some("shellcheck".to_owned());
                draft.failure.kind = FailureKind::Lint;
                Some(format!("SC{code}"))
            }
            None => None,
        };
        draft.severity = match finding.severity {
            // RuboCop fails for its conventions, too.
            Some(Word::Text(word)) if self.shape.tool != "rubocop" && is_mild(&word) => {
                Severity::Warning
            }
            Some(Word::Text(word)) if word == "info" => Severity::Warning,
            Some(Word::Number(1)) => Severity::Warning,
            _ => Severity::Error,
        };
        let rule = draft.failure.code.as_deref().unwrap_or_default();
        let message = without_rule(&finding.message, rule);
        draft.message(message);
        findings.add(draft.found());
    }
}

/// The message without the rule that some put before it, and stylelint after it, in parentheses.
fn without_rule<'a>(message: &'a str, rule: &str) -> &'a str {
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

/// Severities below an error, as the tools write them.
fn is_mild(word: &str) -> bool {
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
