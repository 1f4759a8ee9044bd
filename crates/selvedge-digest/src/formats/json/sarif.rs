//! SARIF, the static analysis results interchange format 2.1.0 of OASIS: the results of each run,
//! and what kept the tool itself from its work.

use serde::Deserialize;

use super::{Report, Told};
use crate::findings::{Draft, Findings, Severity};
use crate::record::FailureKind;

/// How many results wait for the name of their tool, which may stand after them.
const WAITING: usize = 400;

/// Reads SARIF.
#[derive(Debug, Default)]
pub(super) struct Sarif {
    tool: Option<String>,
    waiting: Vec<Draft>,
}

#[derive(Debug, Deserialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Deserialize)]
struct Driver {
    name: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Finding {
    message: Text,
    rule_id: Option<String>,
    rule: Option<Rule>,
    level: Option<String>,
    kind: Option<String>,
    baseline_state: Option<String>,
    #[serde(default)]
    locations: Vec<Location>,
    #[serde(default)]
    suppressions: Option<Vec<serde::de::IgnoredAny>>,
}

#[derive(Debug, Deserialize)]
struct Text {
    text: Option<String>,
    markdown: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Rule {
    id: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    physical_location: Option<PhysicalLocation>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Option<Artifact>,
    region: Option<Region>,
}

#[derive(Debug, Deserialize)]
struct Artifact {
    uri: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: Option<u32>,
    start_column: Option<u32>,
}

/// What the tool says of its own run.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Invocation {
    tool_execution_notifications: Vec<Notification>,
    tool_configuration_notifications: Vec<Notification>,
}

#[derive(Debug, Deserialize)]
struct Notification {
    message: Text,
    level: Option<String>,
    #[serde(default)]
    locations: Vec<Location>,
}

impl Report for Sarif {
    fn entry(&mut self, key: &str, value: &[u8], number: u64, findings: &mut Findings) -> Told {
        match key {
            "$schema"
                if value
                    .windows(5)
                    .any(|word| word.eq_ignore_ascii_case(b"sarif")) => {}
            "tool" => {
                let Ok(tool) = serde_json::from_slice::<Tool>(value) else {
                    return Told::Never;
                };
                self.tool = Some(tool.driver.name);
                self.flush(findings);
            }
            "results" => {
                let Ok(finding) = serde_json::from_slice::<Finding>(value) else {
                    return Told::Never;
                };
                self.result(finding, number, findings);
            }
            "invocations" => {
                let run = serde_json::from_slice::<Invocation>(value).unwrap_or_default();
                let told = run.tool_execution_notifications.into_iter();
                for said in told.chain(run.tool_configuration_notifications) {
                    self.notification(&said, number, findings);
                }
            }
            "time" | "generalDiagnostics" => return Told::Never,
            _ => return Told::Maybe,
        }
        findings.tool("sarif");
        Told::Known
    }

    fn end(&mut self, _complete: bool, _number: u64, findings: &mut Findings) {
        self.flush(findings);
    }
}

impl Sarif {
    fn result(&mut self, finding: Finding, number: u64, findings: &mut Findings) {
        let fails = finding.kind.as_deref().is_none_or(|kind| kind == "fail");
        let absent = finding.baseline_state.as_deref() == Some("absent");
        if !fails || absent || finding.suppressions.is_some_and(|list| !list.is_empty()) {
            return;
        }
        let mut draft = Draft::structured(FailureKind::Lint, "sarif", number);
        if finding.level.as_deref() != Some("error") {
            draft.severity = Severity::Warning;
        }
        draft.failure.code = finding.rule_id.or(finding.rule.and_then(|rule| rule.id));
        self.add(draft, &finding.message, &finding.locations, findings);
    }

    fn notification(&mut self, said: &Notification, number: u64, findings: &mut Findings) {
        if said.level.as_deref() == Some("error") {
            let draft = Draft::structured(FailureKind::Runtime, "sarif", number);
            self.add(draft, &said.message, &said.locations, findings);
        }
    }

    fn add(&mut self, mut draft: Draft, said: &Text, at: &[Location], findings: &mut Findings) {
        draft.message(
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
            draft.place(uri.strip_prefix("file://").unwrap_or(uri), line, column);
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
            findings.add(draft.found());
        }
    }
}
