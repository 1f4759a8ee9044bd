//! What an agent says and does, read leniently from what it prints: records of JSON where it prints
//! those, else lines. A view of a transcript, never evidence: the file itself is a link away.

use serde_json::Value;

use crate::text::{line, visible};

/// One moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// `said`, `tool`, `answer` or `printed`: a class of the stylesheet.
    pub(super) kind: &'static str,
    /// In words.
    pub(super) text: String,
}

/// Characters of one moment.
const LONGEST: usize = 600;
/// Moments that are shown: the last ones.
const SHOWN: usize = 60;

/// Reads the end of a transcript; its first line may be cut.
pub(super) fn moments(bytes: &[u8], from_start: bool) -> Vec<Moment> {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().skip(usize::from(!from_start));
    let mut moments: Vec<Moment> = lines.flat_map(of_line).collect();
    let before = moments.len().saturating_sub(SHOWN);
    moments.drain(..before);
    moments
}

fn of_line(raw: &str) -> Vec<Moment> {
    if raw.trim().is_empty() {
        return Vec::new();
    }
    match serde_json::from_str::<Value>(raw) {
        Ok(record) if record.is_object() => of_record(&record),
        _ => vec![moment("printed", raw)],
    }
}

fn moment(kind: &'static str, text: &str) -> Moment {
    let mut cut: String = text.trim().chars().take(LONGEST).collect();
    if cut.len() < text.trim().len() {
        cut.push('…');
    }
    Moment {
        kind,
        text: visible(&cut),
    }
}

/// The shapes that records of agents have in common: blocks of content within a message, an item, or
/// a text by itself. A record without any of it says nothing to people.
fn of_record(record: &Value) -> Vec<Moment> {
    let inner = ["message", "item", "part"]
        .iter()
        .find_map(|key| record.get(key).filter(|inner| inner.is_object()));
    let inner = inner.unwrap_or(record);
    if let Some(blocks) = inner.get("content").and_then(Value::as_array) {
        return blocks.iter().filter_map(of_block).collect();
    }
    of_block(inner).into_iter().collect()
}

fn of_block(block: &Value) -> Option<Moment> {
    let word = |key: &str| block.get(key).and_then(Value::as_str);
    let kind = word("type").unwrap_or_default();
    if let Some(name) = word("name")
        .or_else(|| word("tool"))
        .or_else(|| word("tool_name"))
    {
        let input = ["input", "arguments", "parameters", "args", "state"]
            .iter()
            .find_map(|key| block.get(key));
        return Some(moment("tool", &format!("{name} {}", subject(input))));
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
        return Some(moment("answer", &text));
    }
    if let Some(command) = word("command") {
        return Some(moment("tool", command));
    }
    let text = word("text").or_else(|| word("content"))?;
    Some(moment("said", text)).filter(|moment| !moment.text.is_empty())
}

/// What a tool is used on, in a line.
fn subject(input: Option<&Value>) -> String {
    let telling = ["file_path", "path", "command", "pattern", "url", "query"];
    let found = input.and_then(|input| telling.iter().find_map(|key| input.get(key)?.as_str()));
    match (found, input) {
        (Some(found), _) => line(found, 160),
        (None, Some(input)) => line(&input.to_string(), 160),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_several_agents_and_plain_lines_are_read() {
        let printed = concat!(
            r#"{"type":"system","subtype":"init","tools":[]}"#,
            "\n",
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"Looking."},{"type":"tool_use","name":"Edit","input":{"file_path":"a.rs"}}]}}"#,
            "\n",
            r#"{"type":"item.completed","item":{"type":"agent_message","text":"Done."}}"#,
            "\n",
            "a plain \u{202e}line\n",
        );
        let read: Vec<_> = moments(printed.as_bytes(), true)
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
