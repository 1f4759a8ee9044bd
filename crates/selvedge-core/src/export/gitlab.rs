//! GitLab's code quality report: a JSON list of issues, shown in a merge request's diff. Every issue needs a location
//! and a fingerprint.

use serde::Serialize;

use super::annotation::{AnnotationLevel, annotations};
use super::fingerprint::fingerprints;
use super::input::ReportInput;
use super::location::LocationResolver;

#[derive(Serialize)]
struct GitlabIssue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: GitlabLocation,
}

#[derive(Serialize)]
struct GitlabLocation {
    path: String,
    lines: GitlabLines,
}

#[derive(Serialize)]
struct GitlabLines {
    begin: u32,
}

/// The report as JSON text.
pub fn gitlab(account: &ReportInput<'_>, places: &LocationResolver<'_>) -> String {
    let remarks = annotations(account, places);
    let named = fingerprints(&remarks);
    let issues: Vec<GitlabIssue> = remarks
        .into_iter()
        .zip(named)
        .map(|(remark, fingerprint)| {
            let place = remark
                .location
                .unwrap_or_else(|| places.fallback_location());
            let excused = if remark.is_known {
                " (known failure)"
            } else {
                ""
            };
            GitlabIssue {
                description: format!("{}{excused}: {}", remark.title, remark.text),
                check_name: format!("selvedge/{}", remark.rule),
                fingerprint,
                severity: match remark.level {
                    AnnotationLevel::Error => "major",
                    AnnotationLevel::Warning => "minor",
                    AnnotationLevel::Note => "info",
                },
                location: GitlabLocation {
                    path: place.path,
                    lines: GitlabLines {
                        begin: place.line.unwrap_or(1),
                    },
                },
            }
        })
        .collect();
    serde_json::to_string_pretty(&issues).unwrap_or_default() + "\n"
}
