//! goose: `goose run --output-format stream-json`. Messages contain texts, tool requests and their
//! answers; `complete` or `error` ends the session. It reports no cost.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jsonl::{
    self, AgentCli, JsonlAgent, ParsedSession, SessionAllowance, SessionState, lenient,
    program_or_default, tool_call_from_input,
};
use super::message_or_default;
use crate::agents::SessionRequest;
use crate::environment::EnvironmentMap;

/// goose as an agent.
pub type GooseAgent = JsonlAgent<GooseRun>;

/// goose's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct GooseRun;

impl AgentCli for GooseRun {
    type Parser = ParsedSession<GooseEventParser>;

    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "goose");
        let fixed = ["run", "--no-session", "--output-format", "stream-json"];
        argv.extend(fixed.map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        if let Some(turns) = allowance.turns {
            argv.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        // The prompt is read from standard input.
        argv.extend(["--instructions", "-"].map(str::to_owned));
        argv
    }

    fn environment(
        &self,
        _: &SessionRequest,
        _: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        environment
            .entry("GOOSE_MODE".into())
            .or_insert_with(|| "auto".into());
    }
}

/// Parser of goose's records; remembers the message whose text arrives in parts.
#[derive(Debug, Default)]
pub(in crate::agents) struct GooseEventParser {
    text_message_id: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GooseRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(borrow, deserialize_with = "lenient")]
    message: GooseMessage<'a>,
    #[serde(deserialize_with = "lenient")]
    error: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GooseMessage<'a> {
    #[serde(deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(borrow, deserialize_with = "lenient")]
    content: Vec<GooseContentPart<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct GooseContentPart<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    text: String,
    #[serde(deserialize_with = "lenient")]
    id: String,
    #[serde(borrow, deserialize_with = "lenient")]
    tool_call: GooseToolRequest<'a>,
    #[serde(deserialize_with = "lenient")]
    tool_result: GooseToolResult,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GooseToolRequest<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    value: GooseToolCall<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GooseToolCall<'a> {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct GooseToolResult {
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(deserialize_with = "lenient")]
    error: String,
}

impl jsonl::EventParser for GooseEventParser {
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<GooseRecord<'_>>(line) else {
            return false;
        };
        match record.kind.as_deref() {
            Some("message") => self.on_message(&record.message, account),
            Some("complete") => account.on_result(SessionStatus::Success, None),
            Some("error") => account.on_result(SessionStatus::Failed, Some(&record.error)),
            Some("notification") => {}
            _ => return false,
        }
        true
    }
}

impl GooseEventParser {
    fn on_message(&mut self, message: &GooseMessage<'_>, account: &mut SessionState) {
        for part in &message.content {
            match part.kind.as_str() {
                "text" if message.role == "assistant" => {
                    if message.id.is_some() && message.id == self.text_message_id {
                        account.on_text_delta(&part.text);
                    } else {
                        account.on_text(&part.text);
                    }
                    self.text_message_id.clone_from(&message.id);
                }
                "toolRequest" => {
                    let GooseToolCall { name, arguments } = &part.tool_call.value;
                    account.on_tool_start(&part.id, tool_call_from_input(name, *arguments));
                }
                "toolResponse" => {
                    let failed = part.tool_result.status == "error";
                    let error = failed.then(|| message_or_default(&part.tool_result.error));
                    account.on_tool_end(&part.id, error);
                }
                _ => {}
            }
        }
    }
}
