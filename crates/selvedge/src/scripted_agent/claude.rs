//! Claude Code's stream-json, modelled on recordings of the real program: one record per line, one per content block,
//! and a `result` at the end.

use std::io::{self, Write};
use std::time::Instant;

use serde_json::{Map, Value, json};

use super::script::ScriptedResult;
use super::session_writer::SessionWriter;

/// Not the name of a real model.
const MODEL: &str = "scripted";

pub(super) struct ClaudeSessionWriter<W> {
    out: W,
    session_id: String,
    begun: Instant,
    /// Number of messages so far; each counts as a turn.
    turns: u32,
    last_text: String,
}

impl<W: Write> ClaudeSessionWriter<W> {
    pub(super) fn new(out: W) -> Self {
        let session_id = format!("scripted-{}", std::process::id());
        Self {
            out,
            session_id,
            begun: Instant::now(),
            turns: 0,
            last_text: String::new(),
        }
    }

    fn write_record(&mut self, record: &Value) -> io::Result<()> {
        self.write_raw(format!("{record}\n").as_bytes())
    }

    fn assistant_record(&mut self, block: &Value) -> Value {
        self.turns += 1;
        json!({
            "type": "assistant",
            "message": {
                "id": format!("msg_{}", self.turns),
                "type": "message",
                "role": "assistant",
                "model": MODEL,
                "content": [block],
                "stop_reason": null,
                "usage": token_usage(&Map::new()),
            },
            "parent_tool_use_id": null,
            "session_id": self.session_id,
        })
    }

    fn tool_use_id(&self) -> String {
        format!("toolu_{}", self.turns)
    }
}

impl<W: Write> SessionWriter for ClaudeSessionWriter<W> {
    fn write_start(&mut self) -> io::Result<()> {
        let cwd = std::env::current_dir()?;
        let init = json!({
            "type": "system",
            "subtype": "init",
            "cwd": cwd.to_string_lossy(),
            "session_id": self.session_id,
            "tools": ["Bash", "Edit", "Write"],
            "model": MODEL,
            "permissionMode": "acceptEdits",
        });
        self.write_record(&init)
    }

    fn write_text(&mut self, text: &str) -> io::Result<()> {
        text.clone_into(&mut self.last_text);
        let record = self.assistant_record(&json!({"type": "text", "text": text}));
        self.write_record(&record)
    }

    fn write_tool_start(&mut self, name: &str, input: &Value) -> io::Result<()> {
        let id = format!("toolu_{}", self.turns + 1);
        let block = json!({"type": "tool_use", "id": id, "name": name, "input": input});
        let record = self.assistant_record(&block);
        self.write_record(&record)
    }

    fn write_tool_end(&mut self, output: &str, is_error: bool) -> io::Result<()> {
        let id = self.tool_use_id();
        let mut block = json!({"type": "tool_result", "tool_use_id": id, "content": output});
        if is_error {
            block["is_error"] = json!(true);
        }
        self.write_record(&json!({
            "type": "user",
            "message": {"role": "user", "content": [block]},
            "parent_tool_use_id": null,
            "session_id": self.session_id,
        }))
    }

    fn write_result(&mut self, ending: &ScriptedResult) -> io::Result<()> {
        let failed = ending.is_failure();
        let subtype = ending.subtype.as_deref().unwrap_or("success");
        let usage = token_usage(&ending.usage);
        let mut record = json!({
            "type": "result",
            "subtype": subtype,
            "is_error": failed,
            "duration_ms": u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            "num_turns": ending.num_turns.unwrap_or(self.turns),
            "session_id": self.session_id,
            "total_cost_usd": ending.cost_usd,
            "modelUsage": {MODEL: {
                "inputTokens": usage["input_tokens"],
                "outputTokens": usage["output_tokens"],
                "cacheReadInputTokens": usage["cache_read_input_tokens"],
                "cacheCreationInputTokens": usage["cache_creation_input_tokens"],
                "costUSD": ending.cost_usd,
            }},
            "usage": usage,
            "permission_denials": [],
        });
        // Like the real program: a record with an error's subtype has no text.
        let last_text = (subtype == "success").then_some(&self.last_text);
        if let Some(text) = ending.result.as_ref().or(last_text) {
            record["result"] = json!(text);
        }
        for (name, value) in &ending.others {
            record[name] = value.clone();
        }
        self.write_record(&record)
    }

    fn write_truncated(&mut self) -> io::Result<()> {
        let record = self
            .assistant_record(&json!({"type": "text", "text": "I was about to say"}))
            .to_string();
        let (half, _) = record.split_at(record.len() / 2);
        self.write_raw(half.as_bytes())
    }

    fn write_invalid_utf8(&mut self) -> io::Result<()> {
        let record = self
            .assistant_record(&json!({"type": "text", "text": "caf@"}))
            .to_string();
        let mut bytes = record.into_bytes();
        for byte in bytes.iter_mut().filter(|byte| **byte == b'@') {
            *byte = 0xe9;
        }
        bytes.push(b'\n');
        self.write_raw(&bytes)
    }

    fn write_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }
}

/// The four kinds of tokens, 0 by default, and all other given fields.
fn token_usage(given: &Map<String, Value>) -> Value {
    let kinds = [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ];
    let mut all: Map<String, Value> = kinds
        .into_iter()
        .map(|kind| (kind.to_owned(), json!(0)))
        .collect();
    all.extend(given.clone());
    Value::Object(all)
}
