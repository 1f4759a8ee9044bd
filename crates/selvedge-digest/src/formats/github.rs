//! GitHub's workflow commands, which many tools print for annotations:
//! `::error file=src/a.js,line=3,col=7,title=no-undef::'x' is not defined`.
//!
//! Most tools print them beside their own report, so one that says what is known already is
//! dropped.

use super::{Claim, Format};
use crate::clean::strip_escapes;
use crate::findings::{Draft, Findings, Severity};
use crate::line::Line;
use crate::record::{Failure, FailureKind};

const TOOL: &str = "github";
/// How many annotations wait for the end of the log.
const WAITING: usize = 400;

/// Reads annotations.
#[derive(Debug, Default)]
pub(super) struct GitHub {
    waiting: Vec<Draft>,
}

impl Format for GitHub {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let Some((severity, command)) = command(line.body()) else {
            return Claim::Foreign;
        };
        let Some((properties, message)) = command.split_once("::") else {
            return Claim::Foreign;
        };
        let mut draft = Draft::structured(FailureKind::Custom, TOOL, line.number);
        draft.severity = severity;
        let message = strip_escapes(&decoded(message));
        read(&mut draft, properties);
        draft.message(without_place(message.trim(), &draft.failure));
        if self.waiting.len() == WAITING {
            self.finish(findings);
        }
        self.waiting.push(draft);
        Claim::Chaff
    }

    fn finish(&mut self, findings: &mut Findings) {
        let told = |draft: &Draft| match (&draft.failure.file, draft.failure.line) {
            (Some(file), Some(line)) => findings.knows_place(file, line),
            _ => false,
        };
        self.waiting.retain(|draft| !told(draft));
        for draft in self.waiting.drain(..) {
            findings.tool(TOOL);
            findings.add(draft.found());
        }
    }
}

/// The message without place and rule, which some tools write before it once more.
fn without_place<'a>(message: &'a str, failure: &Failure) -> &'a str {
    let place = message.split_once(": ").filter(|(place, _)| {
        let file = place.split(':').next().unwrap_or_default();
        let known = failure.file.as_deref().unwrap_or_default();
        place.contains(':') && !file.is_empty() && known.ends_with(file)
    });
    let said = place.map_or(message, |(_, said)| said);
    let rule = failure.code.as_deref().unwrap_or_default();
    said.strip_prefix(rule)
        .map_or(said, |rest| rest.trim_start_matches([':', ' ']))
}

/// What follows `::error` or `::warning`, without the white space between.
fn command(text: &str) -> Option<(Severity, &str)> {
    let rest = text.strip_prefix("::")?;
    let (severity, rest) = match rest.strip_prefix("error") {
        Some(rest) => (Severity::Error, rest),
        None => (Severity::Warning, rest.strip_prefix("warning")?),
    };
    (rest.starts_with("::") || rest.starts_with(' ')).then(|| (severity, rest.trim_start()))
}

fn read(draft: &mut Draft, properties: &str) {
    let (mut file, mut line, mut column, mut heading) = (None, None, None, None);
    for property in properties.split(',') {
        let Some((key, value)) = property.split_once('=') else {
            continue;
        };
        let value = decoded(value);
        match key.trim() {
            "file" => file = Some(value),
            "line" => line = value.parse().ok(),
            "col" => column = value.parse().ok(),
            "title" => heading = Some(value),
            _ => {}
        }
    }
    if let Some(file) = file {
        draft.place(&file, line, column);
    }
    if let Some(heading) = heading {
        title(draft, &heading);
    }
}

/// A title may be a rule, `lint/style/useConst` or `ruff (F401)`, or the path to a test.
fn title(draft: &mut Draft, title: &str) {
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
fn decoded(text: &str) -> String {
    text.replace("%0D", "")
        .replace("%0A", "\n")
        .replace("%3A", ":")
        .replace("%2C", ",")
        .replace("%25", "%")
}
