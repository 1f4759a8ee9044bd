//! `go test -json`: the text of go test, an event a line, with the output of packages that ran at
//! the same time interleaved. Each package's output goes to a reader of [its own](super::go).

use std::collections::HashMap;

use serde::Deserialize;

use super::go::Go;
use super::{Claim, Format};
use crate::findings::Findings;
use crate::line::{Line, Signals};

/// How many packages are read at the same time; the output of others is not understood.
const PACKAGES: usize = 256;

/// Reads the events of test2json.
#[derive(Debug, Default)]
pub(super) struct GoJson {
    packages: HashMap<String, Go>,
}

/// What is read of an event; times and tests stand in the output, too.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    #[serde(default, alias = "ImportPath")]
    package: String,
    #[serde(default)]
    test: String,
    #[serde(default)]
    output: String,
}

impl Format for GoJson {
    fn line(&mut self, line: &Line<'_>, findings: &mut Findings) -> Claim {
        let text = line.text;
        if !(text.starts_with("{\"") && text.contains("\"Action\":\"")) {
            return Claim::Foreign;
        }
        let Ok(event) = serde_json::from_str::<Event>(text) else {
            return Claim::Foreign;
        };
        // The end of a package without tests has output, too, so this is the end for sure.
        let ends = matches!(event.action.as_str(), "pass" | "fail" | "skip")
            && !text.contains("\"Test\":\"");
        let package = event.package;
        if self.packages.len() >= PACKAGES && !self.packages.contains_key(&package) {
            return Claim::Foreign;
        }
        let go = self.packages.entry(package.clone());
        let go = go.or_insert_with_key(|package| Go::of(package));
        let output = event.output.trim_end();
        let mut claim = Claim::Chaff;
        if !output.is_empty() {
            if !event.test.is_empty() {
                go.runs(&event.test, findings);
            }
            let said = line.saying(output);
            let foreign = go.line(&said, findings) == Claim::Foreign;
            // What the program under test said may explain the failure.
            if foreign && said.signals.intersects(Signals::BAD) {
                claim = Claim::Foreign;
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
