//! mini-SWE-agent's trajectory: messages, each with what it cost and what its commands came to, and
//! how it ended. A limit ends it with an exit code of 0, so only this file says that one was reached.

use std::collections::BTreeMap;
use std::time::Instant;

use selvedge_core::model::{
    AgentSpec, Cost, MicroUsd, SessionOutcome, SessionStatus, ToolCall, Usage,
};
use serde::Deserialize;

use crate::activity::Activity;
use crate::agents::SessionRequest;
use crate::agents::claim::{bounded, reason};
use crate::agents::records::{self, call_of, lenient, settle, show, told_in};

/// The command by which it says that it is done: no work.
const DONE: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// What is heard of a session while it lasts: text for people.
#[derive(Debug, Default)]
pub(in crate::agents) struct Reading {
    too_long: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Trajectory {
    #[serde(deserialize_with = "lenient")]
    info: Info,
    #[serde(deserialize_with = "lenient")]
    messages: Vec<Message>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Info {
    #[serde(deserialize_with = "lenient")]
    exit_status: String,
    #[serde(deserialize_with = "lenient")]
    model_stats: Stats,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Stats {
    #[serde(deserialize_with = "lenient")]
    instance_cost: f64,
    #[serde(deserialize_with = "lenient")]
    api_calls: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Message {
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(deserialize_with = "lenient")]
    content: String,
    #[serde(deserialize_with = "lenient")]
    tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    extra: Extra,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Extra {
    /// Of the model's messages.
    #[serde(deserialize_with = "lenient")]
    actions: Vec<Action>,
    #[serde(deserialize_with = "lenient")]
    response: Response,
    /// Of a command's.
    #[serde(deserialize_with = "lenient")]
    returncode: i64,
    #[serde(deserialize_with = "lenient")]
    raw_output: String,
    #[serde(deserialize_with = "lenient")]
    exception_info: String,
    /// Of the last one.
    #[serde(deserialize_with = "lenient")]
    exception_str: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Action {
    #[serde(deserialize_with = "lenient")]
    command: String,
    #[serde(deserialize_with = "lenient")]
    tool_call_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Response {
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    usage: Tokens,
}

/// Tokens as OpenAI counts them: cached ones are among the prompt's.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Tokens {
    #[serde(rename = "prompt_tokens", deserialize_with = "lenient")]
    prompt: u64,
    #[serde(rename = "completion_tokens", deserialize_with = "lenient")]
    completion: u64,
    #[serde(rename = "prompt_tokens_details", deserialize_with = "lenient")]
    details: Details,
    #[serde(rename = "cache_creation_input_tokens", deserialize_with = "lenient")]
    cache_write: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Details {
    #[serde(deserialize_with = "lenient")]
    cached_tokens: u64,
}

impl From<&Tokens> for Usage {
    fn from(tokens: &Tokens) -> Self {
        let cache_read = tokens.details.cached_tokens;
        let cache_write = tokens.cache_write;
        Self {
            input: tokens
                .prompt
                .saturating_sub(cache_read.saturating_add(cache_write)),
            output: tokens.completion,
            cache_read,
            cache_write,
        }
    }
}

impl records::Reading for Reading {
    fn line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        show(line, told);
    }

    fn unknown(&mut self) {
        self.too_long = self.too_long.saturating_add(1);
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let text = told_in(&super::trajectory_file(request)).unwrap_or_default();
        let trajectory: Trajectory = serde_json::from_str(&text).unwrap_or_default();
        // It is written after each step: what ended by itself ended before any stop.
        let ended = trajectory.ending(request).filter(|_| stopped_at.is_none());
        let ending = ended.map(|(status, error)| (status, error, Instant::now()));
        let (status, error) = settle(ending, by_exit, stopped_at);
        let (calls, started, errors) = trajectory.calls();
        let usage = trajectory.usage();
        let model = trajectory.model().or_else(|| request.agent.model.clone());
        SessionOutcome {
            error,
            text: bounded(trajectory.last_words()),
            usage,
            cost: trajectory.cost(&usage, model.as_deref(), &request.agent),
            model,
            turns: Some(trajectory.info.model_stats.api_calls).filter(|&turns| turns > 0),
            tool_calls: started,
            tool_errors: errors,
            calls,
            unknown_records: self.too_long,
            ..SessionOutcome::new(status)
        }
    }

    fn asked_in_vain(&self) -> Option<u32> {
        None
    }
}

impl Trajectory {
    fn of_model(&self) -> impl DoubleEndedIterator<Item = &Message> {
        self.messages
            .iter()
            .filter(|message| message.role == "assistant")
    }

    fn model(&self) -> Option<String> {
        self.of_model()
            .find_map(|message| message.extra.response.model.clone())
    }

    fn last_words(&self) -> &str {
        let mut said = self.of_model().rev().map(|message| message.content.trim());
        said.find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn usage(&self) -> Usage {
        let each = self
            .messages
            .iter()
            .map(|message| &message.extra.response.usage);
        each.fold(Usage::default(), |sum, tokens| sum + Usage::from(tokens))
    }

    /// Its own sum, by a list of prices that it brings; of a model that is not there it says nothing.
    fn cost(&self, usage: &Usage, model: Option<&str>, agent: &AgentSpec) -> Cost {
        let told = MicroUsd::from_usd(self.info.model_stats.instance_cost);
        if let Some(told) = told.filter(|cost| cost.0 > 0) {
            return Cost::reported(told);
        }
        if usage.total() == 0 {
            return Cost::UNKNOWN;
        }
        let price = model.and_then(|model| agent.cost_of(model, usage));
        price.map_or(Cost::UNKNOWN, Cost::estimated)
    }

    /// Commands, each with what it came to; how many there were, and how many failed.
    fn calls(&self) -> (Vec<ToolCall>, u32, u32) {
        let (mut running, mut calls) = (BTreeMap::new(), Vec::new());
        let (mut started, mut errors) = (0_u32, 0_u32);
        for message in &self.messages {
            let actions = message.extra.actions.iter();
            for action in actions.filter(|action| !action.command.contains(DONE)) {
                started = started.saturating_add(1);
                let call = call_of("bash", &action.command);
                running.insert(action.tool_call_id.as_str(), call);
            }
            if let Some(call) = running.remove(message.tool_call_id.as_str()) {
                let error = message.extra.error();
                errors = errors.saturating_add(u32::from(error.is_some()));
                ToolCall { error, ..call }.add(&mut calls);
            }
        }
        (calls, started, errors)
    }

    /// How it says that it ended; nothing while it has not.
    fn ending(&self, request: &SessionRequest) -> Option<(SessionStatus, Option<String>)> {
        let Info {
            exit_status,
            model_stats,
        } = &self.info;
        let calls = model_stats.api_calls;
        let turns = request.limits.max_turns;
        Some(match exit_status.as_str() {
            "" => return None,
            "Submitted" => (SessionStatus::Success, None),
            "LimitsExceeded" if turns.is_some_and(|limit| calls >= limit) => {
                let error = format!("the turn limit was reached after {calls} turns");
                (SessionStatus::TurnLimit, Some(error))
            }
            "LimitsExceeded" if request.cost_left.is_some() => {
                let error = "the cap on cost was reached".to_owned();
                (SessionStatus::Budget, Some(error))
            }
            "TimeExceeded" => {
                let error = "its own limit on time was reached".to_owned();
                (SessionStatus::Timeout, Some(error))
            }
            other => {
                let last = self.messages.last();
                let said = last.map_or("", |message| message.extra.exception_str.as_str());
                (
                    SessionStatus::Failed,
                    Some(reason(&format!("{other}: {said}"))),
                )
            }
        })
    }
}

impl Extra {
    fn error(&self) -> Option<String> {
        let failed = self.returncode != 0 || !self.exception_info.is_empty();
        failed.then(|| {
            let Self {
                returncode,
                raw_output,
                exception_info,
                ..
            } = self;
            reason(&format!(
                "exited with {returncode}: {exception_info}{raw_output}"
            ))
        })
    }
}
