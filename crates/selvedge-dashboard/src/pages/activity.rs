//! Recent activity of an agent, from the events of its worker or parsed leniently from its transcript: JSON
//! records if the agent prints them, else lines. For display only, never evidence; the transcript is linked.

use selvedge_core::format::duration;
use selvedge_protocol::ProgressEvent;
use serde_json::Value;

use crate::text::{make_visible, single_line};

/// One entry of the activity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActivityItem {
    /// `said`, `tool`, `answer` or `printed`: a class of the stylesheet.
    pub(super) kind: &'static str,
    /// Text for people.
    pub(super) text: String,
}

/// Maximum length of one entry, in characters.
const MAX_ITEM_CHARS: usize = 600;
/// Maximum number of entries; the last ones are shown.
const MAX_ITEMS: usize = 60;

/// Parses the end of a transcript; its first line may be incomplete.
pub(crate) fn parse_transcript(bytes: &[u8], from_start: bool) -> Vec<ActivityItem> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().skip(usize::from(!from_start));
    let mut moments: Vec<ActivityItem> = lines.flat_map(items_from_line).collect();
    let before = moments.len().saturating_sub(MAX_ITEMS);
    moments.drain(..before);
    moments
}

/// Entries from the events of the task's worker.
pub(crate) fn items_from_events(events: &[ProgressEvent]) -> Vec<ActivityItem> {
    let moments = events.iter().filter_map(item_from_event);
    moments.filter(|moment| !moment.text.is_empty()).collect()
}

fn item_from_event(event: &ProgressEvent) -> Option<ActivityItem> {
    use ProgressEvent as P;
    Some(match event {
        P::Token { text } => activity_item("said", text),
        P::Tool {
            name, subject, ok, ..
        } => match ok {
            None => activity_item("tool", &format!("{name} {}", single_line(subject, 160))),
            Some(true) => return None,
            Some(false) => activity_item("answer", &format!("{name} failed")),
        },
        P::ApiRetry {
            attempt,
            max,
            delay_ms,
            text,
        } => {
            let wait = duration(*delay_ms);
            let words = format!("model API retry {attempt} of {max} in {wait}: {text}");
            activity_item("printed", &words)
        }
        P::Status { message } => activity_item("printed", message),
        P::CheckStart { text, again: false } => activity_item("tool", &format!("check {text}")),
        P::CheckStart { text, again: true } => {
            activity_item("tool", &format!("check {text} (again)"))
        }
        P::VerificationCheckResult {
            check_status,
            text,
            duration_ms,
            ..
        } => {
            let (status, took) = (check_status.label(), duration(*duration_ms));
            activity_item("answer", &format!("{status} {text}, {took}"))
        }
        P::VerificationRetryStart { text, .. } | P::VerificationRetryComplete { text, .. } => {
            activity_item("printed", text)
        }
        P::Cost { .. } | P::Unknown => return None,
    })
}

fn items_from_line(raw: &str) -> Vec<ActivityItem> {
    if raw.trim().is_empty() {
        return Vec::new();
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(record) if record.is_object() => items_from_record(&record),
        _ => vec![activity_item("printed", raw)],
    }
}

fn activity_item(kind: &'static str, text: &str) -> ActivityItem {
    let mut cut: String = text.trim().chars().take(MAX_ITEM_CHARS).collect();
    if cut.len() < text.trim().len() {
        cut.push('…');
    }
    ActivityItem {
        kind,
        text: make_visible(&cut),
    }
}

/// Reads the shapes that the records of agents have in common: content blocks within a message, an item, or a
/// plain text. A record with none of these has no entry.
fn items_from_record(record: &Value) -> Vec<ActivityItem> {
    let inner = ["message", "item", "part"]
        .iter()
        .find_map(|key| record.get(key).filter(|inner| inner.is_object()));
    let inner = inner.unwrap_or(record);
    if let Some(blocks) = inner.get("content").and_then(Value::as_array) {
        return blocks.iter().filter_map(item_from_block).collect();
    }
    item_from_block(inner).into_iter().collect()
}

fn item_from_block(block: &Value) -> Option<ActivityItem> {
    let word = |key: &str| block.get(key).and_then(Value::as_str);
    let kind = word("type").unwrap_or_default();
    if let Some(name) = word("name")
        .or_else(|| word("tool"))
        .or_else(|| word("tool_name"))
    {
        let input = ["input", "arguments", "parameters", "args", "state"]
            .iter()
            .find_map(|key| block.get(key));
        return Some(activity_item(
            "tool",
            &format!("{name} {}", tool_subject(input)),
        ));
    }
    if kind.contains("result") || kind.contains("output") {
        let text = match block.get("content").or_else(|| block.get("output")) {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                let texts = parts.iter().filter_map(|part| part.get("text")?.as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => return None,
        };
        return Some(activity_item("answer", &text));
    }
    if let Some(command) = word("command") {
        return Some(activity_item("tool", command));
    }
    let text = word("text").or_else(|| word("content"))?;
    Some(activity_item("said", text)).filter(|moment| !moment.text.is_empty())
}

/// The subject of a tool call, in one line.
fn tool_subject(input: Option<&Value>) -> String {
    let telling = ["file_path", "path", "command", "pattern", "url", "query"];
    let found = input.and_then(|input| telling.iter().find_map(|key| input.get(key)?.as_str()));
    match (found, input) {
        (Some(found), _) => single_line(found, 160),
        (None, Some(input)) => single_line(&input.to_string(), 160),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_transcript_reads_records_of_several_agents() {
        let printed = concat!(
            r#"{"type":"system","subtype":"init","tools":[]}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Looking."},{"type":"tool_use","name":"Edit","input":{"file_path":"a.rs"}}]}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
            "\n",
            "a plain \u{202e}line\n",
        );
        let read: Vec<_> = parse_transcript(printed.as_bytes(), true)
            .into_iter()
            .map(|it| (it.kind, it.text))
            .collect();
        let expected = [
            ("said", "Looking."),
            ("tool", "Edit a.rs"),
            ("said", "Done."),
            ("printed", "a plain ⟨U+202E⟩line"),
        ];
        assert_eq!(read, expected.map(|(kind, text)| (kind, text.to_owned())));
    }
}
