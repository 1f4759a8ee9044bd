//! SARIF 2.1.0: one run with a result for each annotation, in the subset that code hosts read. Only attempts whose tree
//! is in the workspace are included, because results annotate that tree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::annotation::{Annotation, AnnotationLevel, annotations};
use super::fingerprint::fingerprints;
use super::input::{ReportInput, ResultCategory};
use super::location::{FileLocation, LocationResolver};
use crate::describe::report_result;
use crate::format::percent_encode;

/// The schema of the log.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The log as JSON text. `version` is the program's own.
pub fn sarif(account: &ReportInput<'_>, places: &LocationResolver<'_>, version: &str) -> String {
    let annotations_of_report = annotations(account, places);
    let rules: BTreeMap<&str, &Annotation> = annotations_of_report
        .iter()
        .rev()
        .map(|annotation| (annotation.rule.as_str(), annotation))
        .collect();
    let index: BTreeMap<&str, usize> = rules.keys().copied().zip(0..).collect();
    let named = fingerprints(&annotations_of_report);
    let results: Vec<Value> = annotations_of_report
        .iter()
        .zip(named)
        .map(|(annotation, fingerprint)| {
            let place = annotation
                .location
                .clone()
                .unwrap_or_else(|| places.fallback_location());
            let mut result = json!({
                "ruleId": annotation.rule,
                "ruleIndex": index[annotation.rule.as_str()],
                "level": level(annotation.level),
                "message": { "text": format!("{}: {}", annotation.title, annotation.text) },
                "locations": [{ "physicalLocation": location(&place) }],
                "partialFingerprints": { "selvedge/v1": fingerprint },
            });
            if annotation.is_known {
                result["suppressions"] = json!([{
                    "kind": "external",
                    "status": "accepted",
                    "justification": "listed as a known failure",
                }]);
            }
            result
        })
        .collect();
    let rules: Vec<Value> = rules.keys().map(|rule| describe_rule(rule)).collect();
    let verdict = &account.verdict;
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Selvedge",
                "semanticVersion": version,
                "rules": rules,
            }},
            "originalUriBaseIds": {
                "%SRCROOT%": { "description": { "text": "the root of the repository" } },
            },
            "columnKind": "unicodeCodePoints",
            "invocations": [{
                // Whether there was a verdict, whatever it is.
                "executionSuccessful": verdict.category != ResultCategory::NotJudged,
                "toolExecutionNotifications": [{
                    "level": if verdict.category == ResultCategory::Verified { "note" } else { "error" },
                    "message": { "text": format!("{}: {}", verdict.label, verdict.reason) },
                }],
            }],
            "results": results,
            "properties": {
                "selvedge": {
                    "of": account.title,
                    "verdict": verdict.label,
                    "reason": verdict.reason,
                    "result": account.current_attempts().map(|(_, report)| report_result(report)).next_back(),
                    "attempts": account.attempts.len(),
                    "unchanged": account.unchanged,
                },
            },
        }],
    });
    serde_json::to_string_pretty(&log).unwrap_or_default() + "\n"
}

fn level(level: AnnotationLevel) -> &'static str {
    match level {
        AnnotationLevel::Error => "error",
        AnnotationLevel::Warning => "warning",
        AnnotationLevel::Note => "note",
    }
}

fn describe_rule(rule: &str) -> Value {
    json!({
        "id": rule,
        "shortDescription": { "text": format!("Selvedge: {rule}") },
    })
}

fn location(place: &FileLocation) -> Value {
    let uri = percent_encode(&place.path, b"-._~/!$&'()*+,;=@");
    let mut location = json!({
        "artifactLocation": { "uri": uri, "uriBaseId": "%SRCROOT%" },
    });
    if let Some(line) = place.line {
        location["region"] = json!({ "startLine": line });
        if let Some(column) = place.column {
            location["region"]["startColumn"] = column.into();
        }
    }
    location
}
