//! `go test -json` as people read it: the text in its events, a package after the other, as `go test`
//! itself prints it. The digest reads the events; this is what is kept of them.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::process::capture::OutputFilter;

/// How much text waits for its package to end; beyond that it is let out as it stands.
const MAX_BUFFERED_BYTES: usize = 4 << 20;
/// The longest event; what is longer is none of the tool's.
const MAX_EVENT_BYTES: usize = 1 << 20;

/// Turns events into text.
#[derive(Debug, Default)]
pub(in crate::checks) struct GoTestFilter {
    /// The beginning of a line whose end has not come yet.
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
    fn pass(&mut self, chunk: &[u8], kept: &mut Vec<u8>) {
        for part in chunk.split_inclusive(|&byte| byte == b'\n') {
            self.line.extend_from_slice(part);
            if part.ends_with(b"\n") || self.line.len() > MAX_EVENT_BYTES {
                self.finish_line(kept);
            }
        }
    }

    fn finish(&mut self, kept: &mut Vec<u8>) {
        self.finish_line(kept);
        self.flush(kept);
    }
}

impl GoTestFilter {
    fn finish_line(&mut self, kept: &mut Vec<u8>) {
        let line = std::mem::take(&mut self.line);
        let Some(event) = parse_event(&line) else {
            kept.extend_from_slice(&line);
            return;
        };
        self.buffered += event.output.len();
        let ends =
            event.test.is_none() && matches!(event.action.as_str(), "pass" | "fail" | "skip");
        let text = self.packages.entry(event.package.clone()).or_default();
        text.push_str(&event.output);
        if ends && let Some(text) = self.packages.remove(&event.package) {
            self.buffered = self.buffered.saturating_sub(text.len());
            kept.extend_from_slice(text.as_bytes());
        }
        if self.buffered > MAX_BUFFERED_BYTES {
            self.flush(kept);
        }
    }

    fn flush(&mut self, kept: &mut Vec<u8>) {
        for (_, text) in std::mem::take(&mut self.packages) {
            kept.extend_from_slice(text.as_bytes());
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
    fn packages_come_one_after_the_other_wherever_the_stream_is_cut() {
        for size in 1..STREAM.len() {
            let (mut events, mut kept) = (GoTestFilter::default(), Vec::new());
            for chunk in STREAM.as_bytes().chunks(size) {
                events.pass(chunk, &mut kept);
            }
            events.finish(&mut kept);
            let text = "# a note of the linker's\n--- FAIL: TestB\n=== RUN   TestA\n\
                        --- PASS: TestA\n{\"no\": \"event\"}\nthe end";
            assert_eq!(String::from_utf8_lossy(&kept), text);
        }
    }

    #[test]
    fn what_never_ends_does_not_wait_for_ever() {
        let (mut events, mut kept) = (GoTestFilter::default(), Vec::new());
        let line = format!(
            r#"{{"Action":"output","Package":"a","Output":"{}"}}"#,
            "x".repeat(1000)
        );
        for _ in 0..=MAX_BUFFERED_BYTES / 1000 {
            events.pass(format!("{line}\n").as_bytes(), &mut kept);
        }
        assert!(kept.len() > MAX_BUFFERED_BYTES);
    }
}
