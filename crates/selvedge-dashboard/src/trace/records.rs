//! The records of agents: Claude Code and Qwen Code (content blocks in messages), Codex (items), Gemini CLI
//! (flat records), OpenCode (parts), and chat messages of Selvedge's own sessions.

use selvedge_core::format::duration;
use serde_json::Value;

use super::{TraceBuilder, TraceKind, TraceStep};
use crate::text::single_line;

/// Arguments that are the subject of a tool call, in order of preference.
const SUBJECT_KEYS: [&str; 9] = [
    "command",
    "file_path",
    "filePath",
    "path",
    "notebook_path",
    "pattern",
    "url",
    "query",
    "description",
];

/// The subject of a tool call, in one line.
pub(super) fn subject(input: Option<&Value>) -> String {
    let Some(input) = input else {
        return String::new();
    };
    let mut found = SUBJECT_KEYS.iter().filter_map(|key| match input.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            (!words.is_empty()).then(|| words.join(" "))
        }
        _ => None,
    });
    let subject = found.next().unwrap_or_else(|| match input {
        Value::String(text) => text.clone(),
        Value::Object(fields) if fields.is_empty() => String::new(),
        other => other.to_string(),
    });
    single_line(&subject, 160)
}

/// All arguments, one per line; texts without quotes. `None` if there are no arguments.
pub(super) fn arguments(input: &Value) -> Option<String> {
    let Value::Object(fields) = input else {
        return match input {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => Some(other.to_string()),
        };
    };
    let line = |(name, value): (&String, &Value)| match value {
        Value::String(text) if text.contains('\n') => format!("{name}:\n{text}"),
        Value::String(text) => format!("{name}: {text}"),
        other => format!("{name}: {other}"),
    };
    let lines: Vec<String> = fields.iter().map(line).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key).and_then(Value::as_str)
}

fn number(value: &Value, keys: &[&str]) -> Option<u64> {
    keys.iter().find_map(|key| value.get(key)?.as_u64())
}

/// A time as text or as milliseconds since 1970.
fn time(value: Option<&Value>) -> Option<i64> {
    match value? {
        Value::Number(millis) => millis.as_i64(),
        Value::String(text) => {
            let at: jiff::Timestamp = text.parse().ok()?;
            Some(at.as_millisecond())
        }
        _ => None,
    }
}

/// Input tokens, cached ones included, and output tokens.
fn tokens(usage: Option<&Value>) -> Option<(u64, u64)> {
    let usage = usage?;
    let input = number(usage, &["input_tokens", "input", "prompt_tokens"])?;
    let output = number(usage, &["output_tokens", "output", "completion_tokens"])?;
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let cached = cached.iter().filter_map(|key| usage.get(key)?.as_u64());
    Some((cached.fold(input, u64::saturating_add), output))
}

/// The text of a result: a text, or blocks with texts.
fn content(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| text(part, "text"));
            Some(texts.collect::<Vec<_>>().join("\n"))
        }
        Value::Null => None,
        other => Some(other.to_string()),
    }
}

impl TraceBuilder {
    /// Reads one record; returns whether it was understood.
    pub(super) fn read_record(&mut self, record: &Value) -> bool {
        let at = time(record.get("timestamp"));
        let kind = text(record, "type").unwrap_or_default();
        if let Some(message) = record.get("message").filter(|it| it.is_object()) {
            return self.read_message(message, at);
        }
        if let Some(item) = record.get("item").filter(|it| it.is_object()) {
            return self.read_item(item, kind, at);
        }
        if let Some(part) = record.get("part").filter(|it| it.is_object()) {
            return self.read_part(part, at);
        }
        if record.get("role").is_some() {
            return self.read_chat(record, at);
        }
        match kind {
            "turn.started" => self.trace.turns += 1,
            "turn.completed" => self.add_usage(tokens(record.get("usage")), None),
            "tool_use" => {
                let id = text(record, "tool_id").unwrap_or_default();
                let name = text(record, "tool_name").unwrap_or("tool");
                self.add_tool(id, name, record.get("parameters"), at);
            }
            "tool_result" => {
                let id = text(record, "tool_id").unwrap_or_default();
                let failed = text(record, "status").is_some_and(|status| status != "success");
                let output = content(record.get("output"));
                self.end_tool(id, output.as_deref(), failed, at);
            }
            "error" | "turn.failed" => {
                let message = text(record, "message").map(str::to_owned);
                let message = message.or_else(|| content(record.get("error")));
                self.add_error(&message.unwrap_or_else(|| "error".to_owned()), at);
            }
            "result" => return self.read_result(record, at),
            // The start of a session, and other announcements.
            "system" | "init" | "thread.started" => {
                let _ = self.relative(at);
            }
            _ => return false,
        }
        true
    }

    fn add_error(&mut self, message: &str, at: Option<i64>) {
        let mut step = TraceStep::new(TraceKind::Printed, message);
        step.is_error = true;
        self.push(step, at);
    }

    /// The end of a session: shown if it failed.
    fn read_result(&mut self, record: &Value, at: Option<i64>) -> bool {
        let _ = self.relative(at);
        let failed = record.get("is_error").and_then(Value::as_bool) == Some(true)
            || text(record, "status").is_some_and(|status| status == "error");
        if failed {
            let reason = text(record, "result").or_else(|| text(record, "subtype"));
            let took = number(record, &["duration_ms"]);
            let took = took.map(|took| format!(" after {}", duration(took)));
            let words = format!(
                "the session failed{}: {}",
                took.unwrap_or_default(),
                reason.unwrap_or("no reason given")
            );
            self.add_error(&words, at);
        }
        true
    }

    /// Claude Code's form: content blocks in a message.
    fn read_message(&mut self, message: &Value, at: Option<i64>) -> bool {
        let from_model = text(message, "role") != Some("user");
        let id = text(message, "id").map(str::to_owned);
        if from_model && (id.is_none() || id != self.message) {
            self.trace.turns += 1;
            self.message = id;
        }
        let mut known = false;
        match message.get("content") {
            Some(Value::Array(blocks)) => {
                for block in blocks {
                    known |= self.read_block(block, at);
                }
            }
            Some(Value::String(words)) if from_model => {
                self.add_text(TraceKind::Message, words, false, at);
                known = true;
            }
            _ => {}
        }
        if from_model {
            self.add_usage(tokens(message.get("usage")), None);
        }
        known
    }

    fn read_block(&mut self, block: &Value, at: Option<i64>) -> bool {
        match text(block, "type").unwrap_or_default() {
            "text" => {
                let words = text(block, "text").unwrap_or_default();
                self.add_text(TraceKind::Message, words, false, at);
            }
            "thinking" => {
                let words = text(block, "thinking").unwrap_or_default();
                self.add_text(TraceKind::Reasoning, words, false, at);
            }
            "tool_use" | "server_tool_use" => {
                let id = text(block, "id").unwrap_or_default();
                let name = text(block, "name").unwrap_or("tool");
                self.add_tool(id, name, block.get("input"), at);
            }
            kind if kind.ends_with("tool_result") => {
                let id = text(block, "tool_use_id").unwrap_or_default();
                let failed = block.get("is_error").and_then(Value::as_bool) == Some(true);
                let output = content(block.get("content"));
                self.end_tool(id, output.as_deref(), failed, at);
            }
            _ => return false,
        }
        true
    }

    /// Codex's form: items that start and complete.
    fn read_item(&mut self, item: &Value, kind: &str, at: Option<i64>) -> bool {
        let is_over = kind != "item.started" && kind != "item.updated";
        let id = text(item, "id").unwrap_or_default();
        let failed = text(item, "status") == Some("failed");
        let ended = |name: &str,
                     input: Option<&Value>,
                     output: Option<String>,
                     failed: bool,
                     this: &mut Self| {
            this.add_tool(id, name, input, at);
            if is_over {
                this.end_tool(id, output.as_deref(), failed, at);
            }
        };
        match text(item, "type").unwrap_or_default() {
            "agent_message" if is_over => {
                let words = text(item, "text").unwrap_or_default();
                self.add_text(TraceKind::Message, words, false, at);
            }
            "reasoning" if is_over => {
                let words = text(item, "text").unwrap_or_default();
                self.add_text(TraceKind::Reasoning, words, false, at);
            }
            "command_execution" => {
                let code = item.get("exit_code").and_then(Value::as_i64);
                let failed = failed || code.is_some_and(|code| code != 0);
                let output = content(item.get("aggregated_output"));
                ended("command", item.get("command"), output, failed, self);
            }
            "file_change" => {
                let changes = item.get("changes").and_then(Value::as_array);
                let changes = changes.into_iter().flatten();
                let paths: Vec<&str> = changes.filter_map(|it| text(it, "path")).collect();
                let input = Value::String(paths.join("\n"));
                ended("file_change", Some(&input), None, failed, self);
            }
            "mcp_tool_call" => {
                let server = text(item, "server").unwrap_or_default();
                let name = format!("{server}.{}", text(item, "tool").unwrap_or_default());
                let output = content(item.get("result"));
                ended(&name, item.get("arguments"), output, failed, self);
            }
            "web_search" => ended("web_search", item.get("query"), None, failed, self),
            "error" => {
                let words = text(item, "message").unwrap_or("error");
                self.add_error(words, at);
            }
            _ => return false,
        }
        true
    }

    /// OpenCode's form: parts of a message.
    fn read_part(&mut self, part: &Value, at: Option<i64>) -> bool {
        let span = part.get("time").or_else(|| part.get("state")?.get("time"));
        let begun = span.and_then(|it| time(it.get("start"))).or(at);
        let ended = span.and_then(|it| time(it.get("end"))).or(at);
        match text(part, "type").unwrap_or_default() {
            "step-start" => {
                let _ = self.relative(begun);
                self.trace.turns += 1;
            }
            "text" | "reasoning" => {
                let kind = match text(part, "type") {
                    Some("reasoning") => TraceKind::Reasoning,
                    _ => TraceKind::Message,
                };
                self.add_text(kind, text(part, "text").unwrap_or_default(), false, begun);
            }
            "tool" => {
                let state = part.get("state").unwrap_or(&Value::Null);
                let id = text(part, "callID").unwrap_or_default();
                let name = text(part, "tool").unwrap_or("tool");
                self.add_tool(id, name, state.get("input"), begun);
                let status = text(state, "status").unwrap_or_default();
                if matches!(status, "completed" | "error") {
                    let output = content(state.get("output").or_else(|| state.get("error")));
                    self.end_tool(id, output.as_deref(), status == "error", ended);
                }
            }
            "step-finish" => {
                let cost = part.get("cost").and_then(Value::as_f64);
                let used = tokens(part.get("tokens"));
                self.add_usage(used, cost.filter(|cost| *cost > 0.0));
            }
            _ => return false,
        }
        true
    }

    /// A message of a chat: Gemini CLI's, or of Selvedge's own sessions.
    fn read_chat(&mut self, record: &Value, at: Option<i64>) -> bool {
        let words = content(record.get("content")).unwrap_or_default();
        match text(record, "role").unwrap_or_default() {
            "assistant" | "model" => {
                let is_delta = record.get("delta").and_then(Value::as_bool) == Some(true);
                if !(is_delta && self.continues) {
                    self.trace.turns += 1;
                }
                self.add_text(TraceKind::Message, &words, is_delta, at);
                let calls = record.get("tool_calls").and_then(Value::as_array);
                for call in calls.into_iter().flatten() {
                    let function = call.get("function").unwrap_or(call);
                    let name = text(function, "name").unwrap_or("tool");
                    let id = text(function, "id").or_else(|| text(call, "id"));
                    self.add_tool(id.unwrap_or(name), name, function.get("arguments"), at);
                }
            }
            "tool" => {
                let id = text(record, "tool_call_id").filter(|id| !id.is_empty());
                let id = id.or_else(|| text(record, "tool_name")).unwrap_or_default();
                self.end_tool(id, Some(&words), words.starts_with("ERROR: "), at);
            }
            // The prompt is on the task's page.
            "user" | "system" => {
                let _ = self.relative(at);
            }
            _ => return false,
        }
        true
    }
}
