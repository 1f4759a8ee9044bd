//! GitLab's code quality report: a JSON list of issues, shown in a merge request's diff. Every issue
//! needs a place and a fingerprint.

use serde::Serialize;

use super::account::Account;
use super::fingerprint::fingerprints;
use super::place::Places;
use super::remark::{Level, remarks};

#[derive(Serialize)]
struct Issue {
    description: String,
    check_name: String,
    fingerprint: String,
    severity: &'static str,
    location: Location,
}

#[derive(Serialize)]
struct Location {
    path: String,
    lines: Lines,
}

#[derive(Serialize)]
struct Lines {
    begin: u32,
}

/// The report as JSON text.
pub fn gitlab(account: &Account<'_>, places: &Places<'_>) -> String {
    let remarks = remarks(account, places);
    let named = fingerprints(&remarks);
    let issues: Vec<Issue> = remarks
        .into_iter()
        .zip(named)
        .map(|(remark, fingerprint)| {
            let place = remark.place.unwrap_or_else(|| places.anywhere());
            let excused = if remark.is_known {
                " (known failure)"
            } else {
                ""
            };
            Issue {
                description: format!("{}{excused}: {}", remark.title, remark.text),
                check_name: format!("selvedge/{}", remark.rule),
                fingerprint,
                severity: match remark.level {
                    Level::Error => "major",
                    Level::Warning => "minor",
                    Level::Note => "info",
                },
                location: Location {
                    path: place.path,
                    lines: Lines {
                        begin: place.line.unwrap_or(1),
                    },
                },
            }
        })
        .collect();
    serde_json::to_string_pretty(&issues).unwrap_or_default() + "\n"
}
