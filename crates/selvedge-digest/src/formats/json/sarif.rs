//! SARIF, the static analysis results interchange format 2.1.0 of OASIS: the results of each run, and errors
//! of the tool itself.

use serde::Deserialize;

use super::{EntryMatch, JsonReportParser};
use crate::findings::{FailureBuilder, FailureSeverity, Findings};
use crate::record::FailureKind;

/// Maximum number of results that are held until their tool's name is read, which may follow them.
const WAITING: usize = 400;

/// Reads SARIF.
#[derive(Debug, Default)]
pub(super) struct SarifParser {
    tool: Option<String>,
    waiting: Vec<FailureBuilder>,
}

#[derive(Debug, Deserialize)]
struct SarifTool {
    driver: SarifDriver,
}

#[derive(Debug, Deserialize)]
struct SarifDriver {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifResult {
    message: SarifMessage,
    rule_id: Option<String>,
    rule: Option<SarifRule>,
    level: Option<String>,
    kind: Option<String>,
    baseline_state: Option<String>,
    #[serde(default)]
    locations: Vec<SarifLocation>,
    #[serde(default)]
    suppressions: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Debug, Deserialize)]
struct SarifMessage {
    text: Option<String>,
    markdown: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SarifRule {
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifLocation {
    physical_location: Option<SarifPhysicalLocation>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifPhysicalLocation {
    artifact_location: Option<SarifArtifact>,
    region: Option<SarifRegion>,
}

#[derive(Debug, Deserialize)]
struct SarifArtifact {
    uri: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SarifRegion {
    start_line: Option<u32>,
    start_column: Option<u32>,
}

/// The tool's report on its own run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct SarifInvocation {
    tool_execution_notifications: Vec<SarifNotification>,
    tool_configuration_notifications: Vec<SarifNotification>,
}

#[derive(Debug, Deserialize)]
struct SarifNotification {
    message: SarifMessage,
    level: Option<String>,
    #[serde(default)]
    locations: Vec<SarifLocation>,
}

impl JsonReportParser for SarifParser {
    fn parse_entry(
        &mut self,
        key: &str,
        value: &[u8],
        number: u64,
        findings: &mut Findings,
    ) -> EntryMatch {
        match key {
            "$schema"
                if value
                    .windows(5)
                    .any(|word| word.eq_ignore_ascii_case(b"sarif")) => {}
            "tool" => {
                let Ok(tool) = serde_json::from_slice::<SarifTool>(value) else {
                    return EntryMatch::NoMatch;
                };
                self.tool = Some(tool.driver.name);
                self.flush(findings);
            }
            "results" => {
                let Ok(finding) = serde_json::from_slice::<SarifResult>(value) else {
                    return EntryMatch::NoMatch;
                };
                self.record_result(finding, number, findings);
            }
            "invocations" => {
                let run = serde_json::from_slice::<SarifInvocation>(value).unwrap_or_default();
                let told = run.tool_execution_notifications.into_iter();
                for said in told.chain(run.tool_configuration_notifications) {
                    self.record_notification(&said, number, findings);
                }
            }
            "time" | "generalDiagnostics" => return EntryMatch::NoMatch,
            _ => return EntryMatch::Possible,
        }
        findings.add_tool("sarif");
        EntryMatch::Certain
    }

    fn finish_document(&mut self, _complete: bool, _number: u64, findings: &mut Findings) {
        self.flush(findings);
    }
}

impl SarifParser {
    fn record_result(&mut self, finding: SarifResult, number: u64, findings: &mut Findings) {
        let fails = finding.kind.as_deref().is_none_or(|kind| kind == "fail");
        let absent = finding.baseline_state.as_deref() == Some("absent");
        if !fails || absent || finding.suppressions.is_some_and(|list| !list.is_empty()) {
            return;
        }
        let mut draft = FailureBuilder::structured(FailureKind::Lint, "sarif", number);
        if finding.level.as_deref() != Some("error") {
            draft.severity = FailureSeverity::Warning;
        }
        draft.failure.code = finding.rule_id.or(finding.rule.and_then(|rule| rule.id));
        self.add(draft, &finding.message, &finding.locations, findings);
    }

    fn record_notification(
        &mut self,
        said: &SarifNotification,
        number: u64,
        findings: &mut Findings,
    ) {
        if said.level.as_deref() == Some("error") {
            let draft = FailureBuilder::structured(FailureKind::Runtime, "sarif", number);
            self.add(draft, &said.message, &said.locations, findings);
        }
    }

    fn add(
        &mut self,
        mut draft: FailureBuilder,
        said: &SarifMessage,
        at: &[SarifLocation],
        findings: &mut Findings,
    ) {
        draft.push_message(
            said.text
                .as_deref()
                .or(said.markdown.as_deref())
                .unwrap_or_default(),
        );
        let place = at.first().and_then(|at| at.physical_location.as_ref());
        if let Some(uri) = place
            .and_then(|place| place.artifact_location.as_ref())
            .and_then(|artifact| artifact.uri.as_deref())
        {
            let region = place.and_then(|place| place.region.as_ref());
            let line = region.and_then(|region| region.start_line);
            let column = region.and_then(|region| region.start_column);
            draft.set_location(uri.strip_prefix("file://").unwrap_or(uri), line, column);
        }
        self.waiting.push(draft);
        if self.tool.is_some() || self.waiting.len() == WAITING {
            self.flush(findings);
        }
    }

    fn flush(&mut self, findings: &mut Findings) {
        for mut draft in self.waiting.drain(..) {
            if let Some(tool) = &self.tool {
                draft.failure.tool = Some(tool.clone());
            }
            findings.add(draft.build());
        }
    }
}
