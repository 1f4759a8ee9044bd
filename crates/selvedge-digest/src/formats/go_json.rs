//! `go test -json`: the text of go test, one event per line, with the interleaved output of packages that run
//! in parallel. Each package's output goes to a [reader](super::go) of its own.

use std::collections::HashMap;

use serde::Deserialize;

use super::go::GoTestParser;
use super::prelude::*;

/// Maximum number of packages that are read at the same time; output of further ones is ignored.
const PACKAGES: usize = 256;

/// Reads the events of test2json.
#[derive(Debug, Default)]
pub(super) struct GoJsonParser {
    packages: HashMap<String, GoTestParser>,
}

/// The fields of an event that are read; times and tests are in the output, too.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoJsonEvent {
    action: String,
    #[serde(default, alias = "ImportPath")]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

impl FormatParser for GoJsonParser {
    fn parse_line(&mut self, line: &CleanLine<'_>, findings: &mut Findings) -> LineClaim {
        let text = line.text;
        if !(text.starts_with("{\"") && text.contains("\"Action\":\"")) {
            return LineClaim::NotMine;
        }
        let Ok(event) = serde_json::from_str::<GoJsonEvent>(text) else {
            return LineClaim::NotMine;
        };
        // The end of a package without tests also has output, so this is certainly the end.
        let ends = matches!(event.action.as_str(), "pass" | "fail" | "skip")
            && !text.contains("\"Test\":\"");
        let package = event.package;
        if self.packages.len() >= PACKAGES && !self.packages.contains_key(&package) {
            return LineClaim::NotMine;
        }
        let go = self.packages.entry(package.clone());
        let go = go.or_insert_with_key(|package| GoTestParser::for_package(package));
        let output = event.output.trim_end();
        let mut claim = LineClaim::Suppress;
        if !output.is_empty() {
            if !event.test.is_empty() {
                go.set_running_test(&event.test, findings);
            }
            let printed = line.with_text(output);
            let foreign = go.parse_line(&printed, findings) == LineClaim::NotMine;
            // Output of the program under test may explain the failure.
            if foreign && printed.signals.intersects(LineSignals::ANY_FAILURE) {
                claim = LineClaim::NotMine;
            }
        }
        if ends {
            go.finish(findings);
            self.packages.remove(&package);
        }
        claim
    }

    fn finish(&mut self, findings: &mut Findings) {
        for go in self.packages.values_mut() {
            go.finish(findings);
        }
    }
}
