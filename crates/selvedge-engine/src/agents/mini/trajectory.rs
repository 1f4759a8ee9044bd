//! mini-SWE-agent's trajectory: messages, each with its cost and the results of its commands, and
//! the exit status. If a limit ends the session, the exit code is 0: only this file shows that a
//! limit was reached.

use std::collections::BTreeMap;
use std::time::Instant;

use selvedge_core::model::{
    AgentSpec, Cost, MicroUsd, SessionOutcome, SessionStatus, ToolCall, Usage,
};
use serde::Deserialize;

use crate::activity::Activity;
use crate::agents::SessionRequest;
use crate::agents::final_message::{reason_from_text, truncate_to_tail};
use crate::agents::jsonl::{
    self, emit_line, lenient, read_session_file, reported_or_estimated_cost, resolve_status,
    tool_call_from_subject,
};

/// The command with which it reports that it is done; not counted as work.
const SUBMIT_COMMAND: &str = "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT";

/// State parsed from the output while the session runs: text for people.
#[derive(Debug, Default)]
pub(in crate::agents) struct MiniSweSessionParser {
    oversized_lines: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Trajectory {
    #[serde(deserialize_with = "lenient")]
    info: TrajectoryInfo,
    #[serde(deserialize_with = "lenient")]
    messages: Vec<TrajectoryMessage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryInfo {
    #[serde(deserialize_with = "lenient")]
    exit_status: String,
    #[serde(deserialize_with = "lenient")]
    model_stats: TrajectoryModelStats,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryModelStats {
    #[serde(deserialize_with = "lenient")]
    instance_cost: f64,
    #[serde(deserialize_with = "lenient")]
    api_calls: u32,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryMessage {
    #[serde(deserialize_with = "lenient")]
    role: String,
    #[serde(deserialize_with = "lenient")]
    content: String,
    #[serde(deserialize_with = "lenient")]
    tool_call_id: String,
    #[serde(deserialize_with = "lenient")]
    extra: TrajectoryExtra,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryExtra {
    /// In messages of the model.
    #[serde(deserialize_with = "lenient")]
    actions: Vec<TrajectoryAction>,
    #[serde(deserialize_with = "lenient")]
    response: TrajectoryResponse,
    /// In results of a command.
    #[serde(deserialize_with = "lenient")]
    returncode: i64,
    #[serde(deserialize_with = "lenient")]
    raw_output: String,
    #[serde(deserialize_with = "lenient")]
    exception_info: String,
    /// In the last message.
    #[serde(deserialize_with = "lenient")]
    exception_str: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryAction {
    #[serde(deserialize_with = "lenient")]
    command: String,
    #[serde(deserialize_with = "lenient")]
    tool_call_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct TrajectoryResponse {
    #[serde(deserialize_with = "lenient")]
    model: Option<String>,
    #[serde(deserialize_with = "lenient")]
    usage: OpenAiTokens,
}

/// Tokens as OpenAI counts them: those of the prompt include cached ones.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiTokens {
    #[serde(rename = "prompt_tokens", deserialize_with = "lenient")]
    prompt: u64,
    #[serde(rename = "completion_tokens", deserialize_with = "lenient")]
    completion: u64,
    #[serde(rename = "prompt_tokens_details", deserialize_with = "lenient")]
    details: OpenAiTokenDetails,
    #[serde(rename = "cache_creation_input_tokens", deserialize_with = "lenient")]
    cache_write: u64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct OpenAiTokenDetails {
    #[serde(deserialize_with = "lenient")]
    cached_tokens: u64,
}

impl From<&OpenAiTokens> for Usage {
    fn from(tokens: &OpenAiTokens) -> Self {
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

impl jsonl::SessionParser for MiniSweSessionParser {
    fn parse_line(&mut self, line: &[u8], emit: &mut dyn FnMut(Activity)) {
        emit_line(line, emit);
    }

    fn count_unknown(&mut self) {
        self.oversized_lines = self.oversized_lines.saturating_add(1);
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let text = read_session_file(&super::trajectory_file(request)).unwrap_or_default();
        let trajectory: Trajectory = serde_json::from_str(&text).unwrap_or_default();
        // The file is written after each step: a session that ended by itself ended before any
        // stop.
        let ended = trajectory
            .end_status(request)
            .filter(|_| stopped_at.is_none());
        let ending = ended.map(|(status, error)| (status, error, Instant::now()));
        let (status, error) = resolve_status(ending, by_exit, stopped_at);
        let (calls, started, errors) = trajectory.calls();
        let usage = trajectory.usage();
        let model = trajectory.model().or_else(|| request.agent.model.clone());
        SessionOutcome {
            error,
            text: truncate_to_tail(trajectory.final_text()),
            usage,
            cost: trajectory.cost(&usage, model.as_deref(), &request.agent),
            model,
            turns: Some(trajectory.info.model_stats.api_calls).filter(|&turns| turns > 0),
            tool_calls: started,
            tool_errors: errors,
            calls,
            unknown_records: self.oversized_lines,
            ..SessionOutcome::new(status)
        }
    }
}

impl Trajectory {
    fn model_messages(&self) -> impl DoubleEndedIterator<Item = &TrajectoryMessage> {
        self.messages
            .iter()
            .filter(|message| message.role == "assistant")
    }

    fn model(&self) -> Option<String> {
        self.model_messages()
            .find_map(|message| message.extra.response.model.clone())
    }

    fn final_text(&self) -> &str {
        let mut texts = self
            .model_messages()
            .rev()
            .map(|message| message.content.trim());
        texts.find(|text| !text.is_empty()).unwrap_or_default()
    }

    fn usage(&self) -> Usage {
        let each = self
            .messages
            .iter()
            .map(|message| &message.extra.response.usage);
        each.fold(Usage::default(), |sum, tokens| sum + Usage::from(tokens))
    }

    /// Its own sum, from its bundled price list; it reports no cost for a model that is not in the
    /// list.
    fn cost(&self, usage: &Usage, model: Option<&str>, agent: &AgentSpec) -> Cost {
        let reported = MicroUsd::from_usd(self.info.model_stats.instance_cost);
        reported_or_estimated_cost(reported.filter(|cost| cost.0 > 0), usage, model, agent)
    }

    /// Commands with their results; the number of commands, and of failed ones.
    fn calls(&self) -> (Vec<ToolCall>, u32, u32) {
        let (mut running, mut calls) = (BTreeMap::new(), Vec::new());
        let (mut started, mut errors) = (0_u32, 0_u32);
        for message in &self.messages {
            let actions = message.extra.actions.iter();
            for action in actions.filter(|action| !action.command.contains(SUBMIT_COMMAND)) {
                started = started.saturating_add(1);
                let call = tool_call_from_subject("bash", &action.command);
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

    /// The exit status that it reports; `None` if it has not ended.
    fn end_status(&self, request: &SessionRequest) -> Option<(SessionStatus, Option<String>)> {
        let TrajectoryInfo {
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
                let error = "its own time limit was reached".to_owned();
                (SessionStatus::Timeout, Some(error))
            }
            other => {
                let last = self.messages.last();
                let exception = last.map_or("", |message| message.extra.exception_str.as_str());
                (
                    SessionStatus::Failed,
                    Some(reason_from_text(&format!("{other}: {exception}"))),
                )
            }
        })
    }
}

impl TrajectoryExtra {
    fn error(&self) -> Option<String> {
        let failed = self.returncode != 0 || !self.exception_info.is_empty();
        failed.then(|| {
            let Self {
                returncode,
                raw_output,
                exception_info,
                ..
            } = self;
            reason_from_text(&format!(
                "exited with {returncode}: {exception_info}{raw_output}"
            ))
        })
    }
}
