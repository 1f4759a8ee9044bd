//! Tool calls that a model wrote into its text instead of making them. Small models do so often:
//! the call is right, only the server's template did not recognise it. The common forms are parsed
//! (Hermes and Qwen, Mistral, Llama, fenced JSON, Qwen-Coder's tags), and only if the name is that
//! of a tool; any other text is left unchanged.

use serde_json::{Map, Value};

use super::conversation::FunctionCall;

/// Maximum bytes of an answer that are searched.
const SEARCH_LIMIT: usize = 256 << 10;
/// Maximum calls taken from one answer.
const MAX_CALLS: usize = 16;

/// Parses the calls in a text, in order.
pub(super) fn parse_calls(text: &str, is_tool: impl Fn(&str) -> bool) -> Vec<FunctionCall> {
    let text = &text[..text.floor_char_boundary(SEARCH_LIMIT)];
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['{', '[', '<']) {
        if found.len() >= MAX_CALLS {
            break;
        }
        rest = &rest[at..];
        let (calls, read) = parse_tagged_calls(rest)
            .or_else(|| parse_json_calls(rest))
            .unwrap_or_default();
        let calls = calls.into_iter().filter(|call| is_tool(&call.name));
        let before = found.len();
        found.extend(calls);
        // A value that is not a call may contain one.
        let skip = if found.len() > before { read } else { 1 };
        rest = rest.get(skip..).unwrap_or_default();
    }
    found.truncate(MAX_CALLS);
    found
}

/// Removes the model's reasoning from the text.
pub(super) fn strip_reasoning(text: &str) -> String {
    const OPEN: &str = "<think>";
    const CLOSE: &str = "</think>";
    let mut visible = String::with_capacity(text.len());
    // Some templates omit the opening tag.
    let mut rest = match (text.find(OPEN), text.find(CLOSE)) {
        (None, Some(end)) => &text[end + CLOSE.len()..],
        (Some(open), Some(end)) if end < open => &text[end + CLOSE.len()..],
        _ => text,
    };
    while let Some(open) = rest.find(OPEN) {
        visible.push_str(&rest[..open]);
        rest = rest[open..]
            .find(CLOSE)
            .map_or("", |end| &rest[open + end + CLOSE.len()..]);
    }
    visible.push_str(rest);
    visible.trim().to_owned()
}

/// Parses the value at the beginning of a text as calls; also returns its length in bytes.
fn parse_json_calls(text: &str) -> Option<(Vec<FunctionCall>, usize)> {
    if text.starts_with('<') {
        return None;
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let value = values.next()?.ok()?;
    let read = values.byte_offset();
    let calls = match value {
        Value::Array(values) => values.iter().filter_map(parse_call).collect(),
        value => parse_call(&value).into_iter().collect(),
    };
    Some((calls, read))
}

/// Parses an object as a call: `{"name", "arguments"}`, or other names that models use for these
/// two.
fn parse_call(value: &Value) -> Option<FunctionCall> {
    let object = value.as_object()?;
    let object = object
        .get("function")
        .and_then(Value::as_object)
        .unwrap_or(object);
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name));
    let name = first(&["name", "tool", "tool_name", "function"])?.as_str()?;
    let arguments = match first(&["arguments", "parameters", "args", "input"]) {
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(Value::String(text)) => serde_json::from_str(text).ok()?,
        Some(_) => return None,
        None => Map::new(),
    };
    Some(FunctionCall {
        name: name.to_owned(),
        arguments,
        ..FunctionCall::default()
    })
}

/// `<function=NAME>…</function>`, with JSON or with `<parameter=NAME>…</parameter>` inside.
fn parse_tagged_calls(text: &str) -> Option<(Vec<FunctionCall>, usize)> {
    let (name, body) = text.strip_prefix("<function=")?.split_once('>')?;
    let end = body.find("</function>").unwrap_or(body.len());
    let read = text.len() - body.len() + end;
    let body = &body[..end];
    let arguments = match serde_json::from_str(body.trim()) {
        Ok(arguments) => arguments,
        Err(_) => parse_parameters(body),
    };
    Some((
        vec![FunctionCall {
            name: name.trim().to_owned(),
            arguments,
            ..FunctionCall::default()
        }],
        read,
    ))
}

fn parse_parameters(body: &str) -> Map<String, Value> {
    let parts = body.split("<parameter=").skip(1);
    let parameter = |part: &str| {
        let (name, rest) = part.split_once('>')?;
        let value = rest
            .split_once("</parameter>")
            .map_or(rest, |(value, _)| value);
        // The template puts each tag on its own line; only those line ends do not belong to the
        // value.
        let value = value.strip_prefix('\n').unwrap_or(value);
        let value = value.strip_suffix('\n').unwrap_or(value);
        Some((name.trim().to_owned(), Value::String(value.to_owned())))
    };
    parts.filter_map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(text: &str, expect: &[(&str, Value)]) {
        let is_tool = |name: &str| matches!(name, "write_file" | "run_command");
        let found: Vec<_> = parse_calls(text, is_tool)
            .into_iter()
            .map(|call| (call.name, Value::Object(call.arguments)))
            .collect();
        let expect: Vec<_> = expect
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        assert_eq!(found, expect, "{text}");
    }

    #[test]
    fn text_tool_calls_common_forms() {
        let write = ("write_file", json!({"path": "a"}));
        for text in [
            r#"<tool_call>{"name": "write_file", "arguments": {"path": "a"}}</tool_call>"#,
            "I will:\n```json\n{\"name\": \"write_file\", \"parameters\": {\"path\": \"a\"}}\n```",
            r#"[TOOL_CALLS] [{"name": "write_file", "arguments": {"path": "a"}}]"#,
            r#"<|python_tag|>{"type":"function","function":{"name":"write_file","arguments":"{\"path\":\"a\"}"}}"#,
            r#"{"tool": "write_file", "args": {"path": "a"}}"#,
            r#"<function=write_file>{"path": "a"}</function>"#,
            "<function=write_file>\n<parameter=path>\na\n</parameter>\n</function>",
        ] {
            check(text, std::slice::from_ref(&write));
        }
    }

    #[test]
    fn text_tool_calls_keep_order_and_lines() {
        let text = "{\"name\":\"run_command\",\"arguments\":{\"command\":\"ls\"}} then \
                    <function=write_file><parameter=content>\n\na\n\n</parameter></function>";
        let expect = [
            ("run_command", json!({"command": "ls"})),
            ("write_file", json!({"content": "\na\n"})),
        ];
        check(text, &expect);
    }

    #[test]
    fn text_tool_calls_ignore_other_text() {
        for text in [
            "Done.",
            r#"{"name": "delete_everything", "arguments": {}}"#,
            r#"{"name": "write_file", "arguments": 7}"#,
            r#"{"name": "write_file", "arguments": {"path": "a""#,
            "<function=write_file",
            "[[[[{{{{<<<<",
        ] {
            check(text, &[]);
        }
        // A call nested in another value is found too.
        let nested = r#"{"plan": [{"name": "run_command", "arguments": {"command": "ls"}}]}"#;
        check(nested, &[("run_command", json!({"command": "ls"}))]);
    }

    #[test]
    fn text_tool_calls_remove_thoughts() {
        for (text, visible) in [
            ("<think>hm</think>\nDone.", "Done."),
            ("hm</think>Done.", "Done."),
            ("a<think>b</think>c<think>d", "ac"),
            ("no thoughts", "no thoughts"),
            ("", ""),
        ] {
            assert_eq!(strip_reasoning(text), visible);
        }
    }
}
