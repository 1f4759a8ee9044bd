//! GitHub's workflow commands, which many tools print for annotations:
//! `::error file=src/a.js,line=3,col=7,title=no-undef::'x' is not defined`.
//!
//! Most tools print them in addition to their own report, so an annotation of a known failure is dropped.

use super::prelude::*;
use crate::clean::strip_escapes;
use crate::record::Failure;

const TOOL: &str = "github";
/// Maximum number of annotations that are held until the end of the log.
const WAITING: usize = 400;

/// Reads annotations.
#[derive(Debug, Default)]
pub(super) struct GitHubParser {
    waiting: Vec<FailureBuilder>,
}

impl FormatParser for GitHubParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let Some((severity, command)) = parse_command(line.body()) else {
            return LineClaim::NotMine;
        };
        let Some((properties, message)) = command.split_once("::") else {
            return LineClaim::NotMine;
        };
        let mut draft = FailureBuilder::structured(FailureKind::Custom, TOOL, line.number);
        draft.severity = severity;
        let message = strip_escapes(&decode(message));
        apply_properties(&mut draft, properties);
        draft.push_message(strip_location(message.trim(), &draft.failure));
        if self.waiting.len() == WAITING {
            self.finish(findings);
        }
        self.waiting.push(draft);
        LineClaim::Suppress
    }

    fn finish(&mut self, findings: &mut Findings) {
        let is_repeated = |draft: &FailureBuilder| match (&draft.failure.file, draft.failure.line) {
            (Some(file), Some(line)) => findings.has_failure_at(file, line),
            _ => false,
        };
        self.waiting.retain(|draft| !is_repeated(draft));
        for draft in self.waiting.drain(..) {
            findings.add_tool(TOOL);
            findings.add(draft.build());
        }
    }
}

/// The message without place and rule, which some tools repeat before it.
fn strip_location<'a>(message: &'a str, failure: &Failure) -> &'a str {
    let place = message.split_once(": ").filter(|(place, _)| {
        let file = place.split(':').next().unwrap_or_default();
        let known = failure.file.as_deref().unwrap_or_default();
        place.contains(':') && !file.is_empty() && known.ends_with(file)
    });
    let text = place.map_or(message, |(_, text)| text);
    let rule = failure.code.as_deref().unwrap_or_default();
    text.strip_prefix(rule)
        .map_or(text, |rest| rest.trim_start_matches([':', ' ']))
}

/// The text after `::error` or `::warning`, without the white space between.
fn parse_command(text: &str) -> Option<(FailureSeverity, &str)> {
    let rest = text.strip_prefix("::")?;
    let (severity, rest) = match rest.strip_prefix("error") {
        Some(rest) => (FailureSeverity::Error, rest),
        None => (FailureSeverity::Warning, rest.strip_prefix("warning")?),
    };
    (rest.starts_with("::") || rest.starts_with(' ')).then(|| (severity, rest.trim_start()))
}

fn apply_properties(draft: &mut FailureBuilder, properties: &str) {
    let (mut file, mut line, mut column, mut heading) = (None, None, None, None);
    for property in properties.split(',') {
        let Some((key, value)) = property.split_once('=') else {
            continue;
        };
        let value = decode(value);
        match key.trim() {
            "file" => file = Some(value),
            "line" => line = value.parse().ok(),
            "col" => column = value.parse().ok(),
            "title" => heading = Some(value),
            _ => {}
        }
    }
    if let Some(file) = file {
        draft.set_location(&file, line, column);
    }
    if let Some(heading) = heading {
        apply_title(draft, &heading);
    }
}

/// A title may be a rule, `lint/style/useConst` or `ruff (F401)`, or the path to a test.
fn apply_title(draft: &mut FailureBuilder, title: &str) {
    let file = draft.failure.file.as_deref().unwrap_or_default();
    if title.contains(" > ") || title.contains(" › ") || file.ends_with(title) {
        draft.failure.id = Some(title.to_owned());
        draft.failure.kind = FailureKind::Test;
        return;
    }
    let rule = title
        .split_once(" (")
        .and_then(|(_, rest)| rest.strip_suffix(')'))
        .unwrap_or(title);
    if !rule.contains(' ') {
        draft.failure.code = Some(rule.to_owned());
        draft.failure.kind = FailureKind::Lint;
    }
}

/// Undoes the escapes of a command.
fn decode(text: &str) -> String {
    text.replace("%0D", "")
        .replace("%0A", "\n")
        .replace("%3A", ":")
        .replace("%2C", ",")
        .replace("%25", "%")
}
