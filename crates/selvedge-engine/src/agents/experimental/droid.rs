//! Factory's Droid: `droid exec --output-format stream-json`. It ends with a `completion`, and reads its
//! prompt from a file.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::jsonl::{
    self, AgentCli, JsonlAgent, ParsedSession, SessionAllowance, SessionState, has_flag, lenient,
    program_or_default, tool_call_from_input,
};
use super::message_or_default;
use crate::agents::program::prompt_path;
use crate::agents::{SessionRequest, SessionRole};

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &["--auto", "--skip-permissions-unsafe", "--use-spec"];

/// Droid as an agent.
pub type DroidAgent = JsonlAgent<DroidExec>;

/// Droid's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct DroidExec;

impl AgentCli for DroidExec {
    type Parser = ParsedSession<DroidEventParser>;

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "droid");
        let asks_nobody =
            request.role == SessionRole::Implementer && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["exec", "--output-format", "stream-json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        // Without this flag Droid may only read.
        if asks_nobody {
            argv.extend(["--auto", "medium"].map(str::to_owned));
        }
        let prompt = prompt_path(request).to_string_lossy().into_owned();
        argv.extend(["--file".to_owned(), prompt]);
        argv
    }
}

/// Parser of Droid's records; keeps no state between two records.
#[derive(Debug, Default)]
pub(in crate::agents) struct DroidEventParser;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct DroidRecord<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(deserialize_with = "lenient")]
    text: String,
    #[serde(deserialize_with = "lenient")]
    id: String,
    #[serde(rename = "toolName", deserialize_with = "lenient")]
    tool_name: String,
    #[serde(borrow)]
    parameters: Option<&'a RawValue>,
    #[serde(rename = "isError", deserialize_with = "lenient")]
    is_error: bool,
    #[serde(deserialize_with = "lenient")]
    value: String,
    #[serde(deserialize_with = "lenient")]
    message: String,
    #[serde(rename = "finalText", deserialize_with = "lenient")]
    final_text: String,
    #[serde(rename = "numTurns", deserialize_with = "lenient")]
    turns: Option<u32>,
}

impl jsonl::EventParser for DroidEventParser {
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool {
        let Ok(record) = serde_json::from_str::<DroidRecord<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id = record.session_id;
        }
        match record.kind.as_deref() {
            Some("system") => account.model = record.model,
            Some("message") if record.role == "assistant" => account.on_text(&record.text),
            Some("message") => {}
            Some("tool_call") => {
                account.on_tool_start(
                    &record.id,
                    tool_call_from_input(&record.tool_name, record.parameters),
                );
            }
            Some("tool_result") => {
                let error = record.is_error.then(|| message_or_default(&record.value));
                account.on_tool_end(&record.id, error);
            }
            Some("completion") => {
                account.on_text(&record.final_text);
                account.turns = record.turns;
                account.on_result(SessionStatus::Success, None);
            }
            Some("error") => account.on_result(SessionStatus::Failed, Some(&record.message)),
            _ => return false,
        }
        true
    }
}
