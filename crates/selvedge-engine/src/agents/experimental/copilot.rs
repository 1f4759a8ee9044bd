//! GitHub's Copilot CLI: `copilot --output-format json -p`. Its events carry their `data`; the last
//! one, `result`, an exit code. It takes its prompt as an argument.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jsonl::{
    self, AgentCli, JsonlAgent, ParsedSession, SessionAllowance, SessionState, has_flag, lenient,
    program_or_default, tool_call_from_input,
};
use super::{NestedErrorMessage, message_or_default};
use crate::agents::{SessionRequest, SessionRole};

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &[
    "--allow-all-tools",
    "--allow-tool",
    "--deny-tool",
    "--allow-all",
];

/// Copilot CLI as an agent.
pub type CopilotAgent = JsonlAgent<CopilotCli>;

/// Copilot CLI's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CopilotCli;

impl AgentCli for CopilotCli {
    type Parser = ParsedSession<CopilotEventParser>;

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "copilot");
        let asks_nobody =
            request.role == SessionRole::Implementer && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--output-format", "json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        // Without this flag Copilot denies every tool that would ask a person.
        if asks_nobody {
            argv.push("--allow-all-tools".to_owned());
        }
        argv.extend(["-p".to_owned(), request.prompt.full_text()]);
        argv
    }
}

/// Parser of Copilot's records; keeps no state between two records.
#[derive(Debug, Default)]
pub(in crate::agents) struct CopilotEventParser;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CopilotRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(borrow, deserialize_with = "lenient")]
    data: CopilotEventData<'a>,
    /// `result`.
    #[serde(rename = "sessionId", deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(rename = "exitCode", deserialize_with = "lenient")]
    exit_code: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CopilotEventData<'a> {
    #[serde(deserialize_with = "lenient")]
    content: String,
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    tool_name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
    #[serde(deserialize_with = "lenient")]
    success: bool,
    #[serde(deserialize_with = "lenient")]
    error: NestedErrorMessage,
    #[serde(deserialize_with = "lenient")]
    message: String,
}

impl jsonl::EventParser for CopilotEventParser {
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<CopilotRecord<'_>>(line) else {
            return false;
        };
        let data = record.data;
        match record.kind.as_deref() {
            Some("assistant.message") => {
                if data.model.is_some() {
                    account.model = data.model;
                }
                account.on_text(&data.content);
            }
            Some("tool.execution_start") => {
                account.on_tool_start(
                    &data.tool_call_id,
                    tool_call_from_input(&data.tool_name, data.arguments),
                );
            }
            Some("tool.execution_complete") => {
                let error = (!data.success).then(|| message_or_default(&data.error.message));
                account.on_tool_end(&data.tool_call_id, error);
            }
            Some("session.error") => account.on_note(&data.message),
            Some("result") => {
                account.session_id = record.session_id;
                match record.exit_code {
                    Some(0) => account.on_result(SessionStatus::Success, None),
                    code => {
                        let said =
                            code.map_or_else(|| "no exit code".to_owned(), |it| it.to_string());
                        account
                            .on_result(SessionStatus::Failed, Some(&format!("ended with {said}")));
                    }
                }
            }
            // Parts of messages that are also sent whole, and events about the session's lifecycle.
            Some(kind) if kind.starts_with("assistant.") || kind.starts_with("session.") => {}
            Some("user.message") => {}
            _ => return false,
        }
        true
    }
}
