//! Cursor's agent: `cursor-agent -p --output-format=stream-json`. Messages like Claude Code's, tools in
//! records of their own, each under a key that names it. It takes its prompt as an argument.

use std::collections::BTreeMap;

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::or_failed;
use super::records::{
    self, Account, Allowance, Folded, Program, Recorded, call, has_flag, lenient, program_or,
};
use crate::agents::{Role, SessionRequest};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &["-f", "--force", "--mode"];

/// Cursor's agent as an agent.
pub type Cursor = Recorded<CursorAgent>;

/// Its program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CursorAgent;

impl Program for CursorAgent {
    type Reading = Folded<Records>;

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "cursor-agent");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["-p", "--output-format=stream-json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        match request.role {
            Role::Judge => argv.push("--mode=plan".to_owned()),
            Role::Worker if takes_over => {}
            Role::Worker => argv.push("--force".to_owned()),
        }
        argv.push(request.prompt.whole());
        argv
    }
}

/// What is to be remembered between two records: nothing.
#[derive(Debug, Default)]
pub(in crate::agents) struct Records;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    subtype: String,
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    message: Message,
    #[serde(deserialize_with = "lenient")]
    call_id: String,
    #[serde(borrow, deserialize_with = "lenient")]
    tool_call: BTreeMap<String, Tool<'a>>,
    #[serde(deserialize_with = "lenient")]
    is_error: Option<bool>,
    #[serde(deserialize_with = "lenient")]
    result: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    #[serde(deserialize_with = "lenient")]
    content: Vec<Block>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Block {
    #[serde(deserialize_with = "lenient")]
    text: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tool<'a> {
    #[serde(borrow)]
    args: Option<&'a RawValue>,
    /// Its one key says how it went.
    #[serde(borrow, deserialize_with = "lenient")]
    result: BTreeMap<String, &'a RawValue>,
}

impl records::Records for Records {
    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id.clone_from(&record.session_id);
        }
        match record.kind.as_deref() {
            Some("system") => account.model = record.model,
            Some("assistant") => {
                for block in &record.message.content {
                    account.says(&block.text);
                }
            }
            Some("tool_call") => tool(&record, account),
            Some("result") => {
                if (record.subtype.as_str(), record.is_error) == ("success", Some(false)) {
                    account.ends(SessionStatus::Success, None);
                } else {
                    account.ends(SessionStatus::Failed, Some(&record.result));
                }
            }
            Some("user" | "thinking") => {}
            _ => return false,
        }
        true
    }
}

fn tool(record: &Record<'_>, account: &mut Account) {
    for (key, tool) in &record.tool_call {
        let name = key.strip_suffix("ToolCall").unwrap_or(key);
        account.calls(&record.call_id, call(name, tool.args));
        if record.subtype == "completed" {
            let outcome = tool.result.keys().next().map_or("", String::as_str);
            let error = (outcome != "success").then(|| or_failed(outcome));
            account.answered(&record.call_id, error);
        }
    }
}
