//! goose: `goose run --output-format stream-json`. Messages hold texts, requests of tools and their
//! answers; `complete` or `error` ends it. It tells no cost.

use selvedge_core::model::SessionStatus;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::or_failed;
use super::records::{
    self, Account, Allowance, Folded, Program, Recorded, call, lenient, program_or,
};
use crate::agents::SessionRequest;
use crate::agents::env::Environment;

/// goose as an agent.
pub type Goose = Recorded<GooseRun>;

/// goose's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct GooseRun;

impl Program for GooseRun {
    type Reading = Folded<Records>;

    fn command_line(&self, request: &SessionRequest, allowance: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "goose");
        let fixed = ["run", "--no-session", "--output-format", "stream-json"];
        argv.extend(fixed.map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        if let Some(turns) = allowance.turns {
            argv.extend(["--max-turns".to_owned(), turns.to_string()]);
        }
        // The prompt comes on standard input.
        argv.extend(["--instructions", "-"].map(str::to_owned));
        argv
    }

    fn environment(&self, _: &SessionRequest, _: Allowance, environment: &mut Environment) {
        environment
            .entry("GOOSE_MODE".into())
            .or_insert_with(|| "auto".into());
    }
}

/// The message whose text goes on, piece by piece.
#[derive(Debug, Default)]
pub(in crate::agents) struct Records {
    saying: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: Option<String>,
    #[serde(borrow, deserialize_with = "lenient")]
    message: Message<'a>,
    #[serde(deserialize_with = "lenient")]
    error: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message<'a> {
    #[serde(deserialize_with = "lenient")]
    id: Option<String>,
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(borrow, deserialize_with = "lenient")]
    content: Vec<Part<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Part<'a> {
    #[serde(rename = "type", deserialize_with = "lenient")]
    kind: String,
    #[serde(deserialize_with = "lenient")]
    text: String,
    #[serde(deserialize_with = "lenient")]
    id: String,
    #[serde(borrow, deserialize_with = "lenient")]
    tool_call: Asked<'a>,
    #[serde(deserialize_with = "lenient")]
    tool_result: Answered,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked<'a> {
    #[serde(borrow, deserialize_with = "lenient")]
    value: Call<'a>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Call<'a> {
    #[serde(deserialize_with = "lenient")]
    name: String,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Answered {
    #[serde(deserialize_with = "lenient")]
    status: String,
    #[serde(deserialize_with = "lenient")]
    error: String,
}

impl records::Records for Records {
    fn record(&mut self, line: &str, account: &mut Account) -> bool {
        let Ok(record) = serde_json::from_str::<Record<'_>>(line) else {
            return false;
        };
        match record.kind.as_deref() {
            Some("message") => self.message(&record.message, account),
            Some("complete") => account.ends(SessionStatus::Success, None),
            Some("error") => account.ends(SessionStatus::Failed, Some(&record.error)),
            Some("notification") => {}
            _ => return false,
        }
        true
    }
}

impl Records {
    fn message(&mut self, message: &Message<'_>, account: &mut Account) {
        for part in &message.content {
            match part.kind.as_str() {
                "text" if message.role == "assistant" => {
                    if message.id.is_some() && message.id == self.saying {
                        account.goes_on(&part.text);
                    } else {
                        account.says(&part.text);
                    }
                    self.saying.clone_from(&message.id);
                }
                "toolRequest" => {
                    let Call { name, arguments } = &part.tool_call.value;
                    account.calls(&part.id, call(name, *arguments));
                }
                "toolResponse" => {
                    let failed = part.tool_result.status == "error";
                    let error = failed.then(|| or_failed(&part.tool_result.error));
                    account.answered(&part.id, error);
                }
                _ => {}
            }
        }
    }
}
