//! GitHub's Copilot CLI: `copilot --output-format json -p`. Its events carry their `data`; the last one,
//! `result`, an exit code. It takes its prompt as an argument.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::records::{
    self, Account, Allowance, Folded, Program, Recorded, call, has_flag, lenient, program_or,
};
use super::{Said, or_failed};
use crate::agents::{Role, SessionRequest};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &[
    "--allow-all-tools",
    "--allow-tool",
    "--deny-tool",
    "--allow-all",
];

/// Copilot CLI as an agent.
pub type Copilot = Recorded<CopilotCli>;

/// Copilot CLI's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CopilotCli;

impl Program for CopilotCli {
    type Reading = Folded<Records>;

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "copilot");
        let asks_nobody = request.role == Role::Worker && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--output-format", "json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        // Without it Copilot is refused every tool that would ask a person.
        if asks_nobody {
            argv.push("--allow-all-tools".to_owned());
        }
        argv.extend(["-p".to_owned(), request.prompt.whole()]);
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
    #[serde(borrow, deserialize_with = "lenient")]
    data: Data<'a>,
    /// `result`.
    #[serde(rename = "sessionId", deserialize_with = "lenient")]
    session_id: Option<String>,
    #[serde(rename = "exitCode", deserialize_with = "lenient")]
    exit_code: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Data<'a> {
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
    error: Said,
    #[serde(deserialize_with = "lenient")]
    message: String,
}

impl records::Records for Records {
    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else {
            return false;
        };
        let data = record.data;
        match record.kind.as_deref() {
            Some("assistant.message") => {
                if data.model.is_some() {
                    account.model = data.model;
                }
                account.says(&data.content);
            }
            Some("tool.execution_start") => {
                account.calls(&data.tool_call_id, call(&data.tool_name, data.arguments));
            }
            Some("tool.execution_complete") => {
                let error = (!data.success).then(|| or_failed(&data.error.message));
                account.answered(&data.tool_call_id, error);
            }
            Some("session.error") => account.note(&data.message),
            Some("result") => {
                account.session_id = record.session_id;
                match record.exit_code {
                    Some(0) => account.ends(SessionStatus::Success, None),
                    code => {
                        let said =
                            code.map_or_else(|| "no exit code".to_owned(), |it| it.to_string());
                        account.ends(SessionStatus::Failed, Some(&format!("ended with {said}")));
                    }
                }
            }
            // Pieces of what comes whole as well, and the events of its own life.
            Some(kind) if kind.starts_with("assistant.") || kind.starts_with("session.") => {}
            Some("user.message") => {}
            _ => return false,
        }
        true
    }
}
