//! Converts the events of `go test -json` to the text that `go test` prints, one package after the other. The digest
//! reads the events; this text is stored for people.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::process::capture::OutputFilter;

/// Maximum bytes of text that are buffered until their package ends. Beyond that, the text is written immediately.
const MAX_BUFFERED_BYTES: usize = 4 << 20;
/// Maximum length of an event in bytes. A longer line is not treated as an event.
const MAX_EVENT_BYTES: usize = 1 << 20;

#[derive(Debug, Default)]
pub(in crate::checks) struct GoTestFilter {
    /// Incomplete last line.
    line: Vec<u8>,
    packages: BTreeMap<String, String>,
    buffered: usize,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
struct GoTestEvent {
    action: String,
    #[serde(default, alias = "ImportPath")]
    package: String,
    #[serde(default)]
    test: Option<String>,
    #[serde(default)]
    output: String,
}

impl OutputFilter for GoTestFilter {
    fn pass(&mut self, chunk: &[u8], output: &mut Vec<u8>) {
        for part in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() > MAX_EVENT_BYTES {
                self.finish_line(output);
            }
        }
    }

    fn finish(&mut self, output: &mut Vec<u8>) {
        self.finish_line(output);
        self.flush(output);
    }
}

impl GoTestFilter {
    fn finish_line(&mut self, output: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let Some(event) = parse_event(&line) else {
            output.extend_from_slice(&line);
            return;
        };
        self.buffered += event.output.len();
        let is_package_end =
            event.test.is_none() && matches!(event.action.as_str(), "pass" | "fail" | "skip");
        let text = self.packages.entry(event.package.clone()).or_default();
        text.push_str(&event.output);
        if is_package_end && let Some(text) = self.packages.remove(&event.package) {
            self.buffered = self.buffered.saturating_sub(text.len());
            output.extend_from_slice(text.as_bytes());
        }
        if self.buffered > MAX_BUFFERED_BYTES {
            self.flush(output);
        }
    }

    fn flush(&mut self, output: &mut Vec<u8>) {
        for (_, text) in std::mem::take(&mut self.packages) {
            output.extend_from_slice(text.as_bytes());
        }
        self.buffered = 0;
    }
}

fn parse_event(line: &[u8]) -> Option<GoTestEvent> {
    if !line.starts_with(b"{\"") {
        return None;
    }
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = concat!(
        "# a note of the linker's\n",
        r#"{"Action":"output","Package":"a","Output":"=== RUN   TestA\n"}"#,
        "\n",
        r#"{"Action":"output","Package":"b","Test":"TestB","Output":"--- FAIL: TestB\n"}"#,
        "\n",
        r#"{"Action":"output","Package":"a","Test":"TestA","Output":"--- PASS: TestA\n"}"#,
        "\n",
        r#"{"Action":"pass","Package":"a","Test":"TestA"}"#,
        "\n",
        r#"{"Action":"fail","Package":"b"}"#,
        "\n",
        r#"{"Action":"pass","Package":"a"}"#,
        "\n{\"no\": \"event\"}\nthe end",
    );

    #[test]
    fn go_filter_groups_packages() {
        for size in 1..STREAM.len() {
            let (mut events, mut output) = (GoTestFilter::default(), Vec::new());
            for chunk in STREAM.as_bytes().chunks(size) {
                events.pass(chunk, &mut output);
            }
            events.finish(&mut output);
            let text = "# a note of the linker's\n--- FAIL: TestB\n=== RUN   TestA\n\
                        --- PASS: TestA\n{\"no\": \"event\"}\nthe end";
            assert_eq!(String::from_utf8_lossy(&output), text);
        }
    }

    #[test]
    fn go_filter_emits_unfinished_package() {
        let (mut events, mut output) = (GoTestFilter::default(), Vec::new());
        let line = format!(
            r#"{{"Action":"output","Package":"a","Output":"{}"}}"#,
            "x".repeat(1000)
        );
        for _ in 0..=MAX_BUFFERED_BYTES / 1000 {
            events.pass(format!("{line}\n").as_bytes(), &mut output);
        }
        assert!(output.len() > MAX_BUFFERED_BYTES);
    }
}
