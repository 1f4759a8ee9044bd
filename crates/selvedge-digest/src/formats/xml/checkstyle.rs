//! checkstyle's XML, which many linters write: files, and the errors in each.

use super::{Report, Tag};
use crate::findings::{Draft, Findings, Severity};
use crate::record::FailureKind;

const TOOL: &str = "checkstyle";

/// Reads checkstyle's report.
#[derive(Debug, Default)]
pub(super) struct Checkstyle {
    file: String,
}

impl Report for Checkstyle {
    fn open(&mut self, tag: &Tag<'_>, number: u64, findings: &mut Findings) {
        match tag.name().as_str() {
            "checkstyle" => findings.tool(TOOL),
            "file" => self.file = tag.get("name").unwrap_or_default(),
            "error" => self.error(tag, number, findings),
            _ => {}
        }
    }

    fn close(&mut self, _findings: &mut Findings) {}
}

impl Checkstyle {
    fn error(&mut self, tag: &Tag<'_>, number: u64, findings: &mut Findings) {
        let severity = tag.get("severity").unwrap_or_default();
        if severity == "ignore" {
            return;
        }
        // `source` names the check and, before it, the tool: `eslint.rules.no-undef`, a Java class.
        let source = tag.get("source").unwrap_or_default();
        let (path, rule) = source.rsplit_once('.').unwrap_or(("", &source));
        let tool = match path.split('.').next().unwrap_or_default() {
            "" | "com" => TOOL,
            tool => tool,
        };
        let mut draft = Draft::structured(FailureKind::Lint, tool, number);
        if severity != "error" {
            draft.severity = Severity::Warning;
        }
        draft.failure.code = (!rule.is_empty()).then(|| rule.to_owned());
        draft.place(&self.file, tag.number("line"), tag.number("column"));
        let message = tag.get("message").unwrap_or_default();
        let message = message
            .strip_suffix(&format!(" ({rule})"))
            .unwrap_or(&message);
        draft.message(message);
        findings.add(draft.found());
    }
}
