//! checkstyle's XML, which many linters write: files, and the errors in each.

use super::{XmlReportParser, XmlTag};
use crate::formats::prelude::*;

const TOOL: &str = "checkstyle";

/// Reads checkstyle's report.
#[derive(Debug, Default)]
pub(super) struct CheckstyleParser {
    file: String,
}

impl XmlReportParser for CheckstyleParser {
    fn open_element(&mut self, tag: &XmlTag<'_>, number: u64, findings: &mut Findings) {
        match tag.name().as_str() {
            "checkstyle" => findings.add_tool(TOOL),
            "file" => self.file = tag.attribute("name").unwrap_or_default(),
            "error" => self.record_error(tag, number, findings),
            _ => {}
        }
    }

    fn close_element(&mut self, _findings: &mut Findings) {}
}

impl CheckstyleParser {
    fn record_error(&mut self, tag: &XmlTag<'_>, number: u64, findings: &mut Findings) {
        let severity = tag.attribute("severity").unwrap_or_default();
        if severity == "ignore" {
            return;
        }
        // `source` names the check and, before it, the tool: `eslint.rules.no-undef`, a Java class.
        let source = tag.attribute("source").unwrap_or_default();
        let (path, rule) = source.rsplit_once('.').unwrap_or(("", &source));
        let tool = match path.split('.').next().unwrap_or_default() {
            "" | "com" => TOOL,
            tool => tool,
        };
        let mut draft = FailureBuilder::structured(FailureKind::Lint, TOOL, number);
        draft.failure.tool = Some(tool.to_owned());
        if severity != "error" {
            draft.severity = FailureSeverity::Warning;
        }
        draft.failure.code = (!rule.is_empty()).then(|| rule.to_owned());
        draft.set_location(
            &self.file,
            tag.number_attribute("line"),
            tag.number_attribute("column"),
        );
        let message = tag.attribute("message").unwrap_or_default();
        let message = message
            .strip_suffix(&format!(" ({rule})"))
            .unwrap_or(&message);
        draft.push_message(message);
        findings.add(draft.build());
    }
}
