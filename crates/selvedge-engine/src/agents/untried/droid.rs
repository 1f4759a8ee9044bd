//! Factory's Droid: `droid exec --output-format stream-json`. It ends with a `completion`, and reads its
//! prompt from a file.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::or_failed;
use super::records::{
    self, Account, Allowance, Folded, Program, Recorded, call, has_flag, lenient, program_or,
};
use crate::agents::program::prompt_path;
use crate::agents::{Role, SessionRequest};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &["--auto", "--skip-permissions-unsafe", "--use-spec"];

/// Droid as an agent.
pub type Droid = Recorded<DroidExec>;

/// Droid's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct DroidExec;

impl Program for DroidExec {
    type Reading = Folded<Records>;

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "droid");
        let asks_nobody = request.role == Role::Worker && !has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["exec", "--output-format", "stream-json"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        // Without it Droid may only read.
        if asks_nobody {
            argv.extend(["--auto", "medium"].map(str::to_owned));
        }
        let prompt = prompt_path(request).to_string_lossy().into_owned();
        argv.extend(["--file".to_owned(), prompt]);
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

impl records::Records for Records {
    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else {
            return false;
        };
        if record.session_id.is_some() {
            account.session_id = record.session_id;
        }
        match record.kind.as_deref() {
            Some("system") => account.model = record.model,
            Some("message") if record.role == "assistant" => account.says(&record.text),
            Some("message") => {}
            Some("tool_call") => {
                account.calls(&record.id, call(&record.tool_name, record.parameters));
            }
            Some("tool_result") => {
                let error = record.is_error.then(|| or_failed(&record.value));
                account.answered(&record.id, error);
            }
            Some("completion") => {
                account.says(&record.final_text);
                account.turns = record.turns;
                account.ends(SessionStatus::Success, None);
            }
            Some("error") => account.ends(SessionStatus::Failed, Some(&record.message)),
            _ => return false,
        }
        true
    }
}
