//! Cursor's agent: `cursor-agent -p --output-format=stream-json`. Its messages are like Claude
//! Code's; tools have their own records, each under a key with its name. It takes its prompt as an
//! argument.

use std::collections::BTreeMap;

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jsonl::{
    self, AgentCli, JsonlAgent, ParsedSession, SessionAllowance, SessionState, has_flag, lenient,
    program_or_default, tool_call_from_input,
};
use super::message_or_default;
use crate::agents::{SessionRequest, SessionRole};

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &["-f", "--force", "--mode"];

/// Cursor's agent as an agent.
pub type CursorCliAgent = JsonlAgent<CursorCli>;

/// Its program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CursorCli;

impl AgentCli for CursorCli {
    type Parser = ParsedSession<CursorEventParser>;

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "cursor-agent");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["-p", "--output-format=stream-json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        match request.role {
            SessionRole::Judge => argv.push("--mode=plan".to_owned()),
            SessionRole::Implementer if takes_over => {}
            SessionRole::Implementer => argv.push("--force".to_owned()),
        }
        argv.push(request.prompt.full_text());
        argv
    }
}

/// Parser of Cursor's records; keeps no state between two records.
#[derive(Debug, Default)]
pub(in crate::agents) struct CursorEventParser;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CursorRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    subtype: String,
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    message: CursorMessage,
    #[serde(deserialize_with = "lenient")]
    call_id: String,
    #[serde(borrow, deserialize_with = "lenient")]
    tool_call: BTreeMap<String, CursorToolCall<'a>>,
    #[serde(deserialize_with = "lenient")]
    is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    result: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CursorMessage {
    #[serde(deserialize_with = "lenient")]
    content: Vec<CursorContentBlock>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CursorContentBlock {
    #[serde(deserialize_with = "lenient")]
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CursorToolCall<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    /// Its only key is the status.
    #[serde(borrow, deserialize_with = "lenient")]
    result: BTreeMap<String, &'a RawValue>,
}

impl jsonl::EventParser for CursorEventParser {
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<CursorRecord<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id.clone_from(&record.session_id);
        }
        match record.kind.as_deref() {
            Some("system") => account.model = record.model,
            Some("assistant") => {
                for block in &record.message.content {
                    account.on_text(&block.text);
                }
            }
            Some("tool_call") => on_tool(&record, account),
            Some("result") => {
                if (record.subtype.as_str(), record.is_error) == ("success", Some(false)) {
                    account.on_result(SessionStatus::Success, None);
                } else {
                    account.on_result(SessionStatus::Failed, Some(&record.result));
                }
            }
            Some("user" | "thinking") => {}
            _ => return false,
        }
        true
    }
}

fn on_tool(record: &CursorRecord<'_>, account: &mut SessionState) {
    for (key, tool) in &record.tool_call {
        let name = key.strip_suffix("ToolCall").unwrap_or(key);
        account.on_tool_start(&record.call_id, tool_call_from_input(name, tool.args));
        if record.subtype == "completed" {
            let outcome = tool.result.keys().next().map_or("", String::as_str);
            let error = (outcome != "success").then(|| message_or_default(outcome));
            account.on_tool_end(&record.call_id, error);
        }
    }
}
