//! The state of a session, shared by all parsers of records: bounded, with each tool call counted
//! once, and with activity reported for display.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use jiff::Zoned;
use selvedge_core::model::{
    AgentSpec, Cost, MicroUsd, SessionOutcome, SessionStatus, Timestamp, ToolCall, Usage,
    UsageLimit,
};

use super::{SessionParser, resolve_status};
use crate::activity::Activity;
use crate::agents::SessionRequest;
use crate::agents::final_message::{TEXT_LIMIT, reason_from_text, truncate_to_tail};
use crate::agents::retry::is_transient_message;
use crate::agents::usage_limit;

/// Maximum tools running at the same time.
const MAX_RUNNING_TOOLS: usize = 1_000;

/// Interprets the records of one program.
pub(in crate::agents) trait EventParser: Default + Send + 'static {
    /// Whether the program silently retries its API itself and uses up the whole allowance: then
    /// nothing is left for a fresh session.
    const RETRIES_ITSELF: bool = false;

    /// Parses one record, which should be JSON; returns whether its type is known.
    fn parse_record(&mut self, line: &str, account: &mut SessionState) -> bool;

    /// Whether the error with which a session failed is a transient failure of the API.
    fn is_transient_error(&self, error: &str) -> bool {
        is_transient_message(error)
    }
}

/// Applies the records of a session to its state.
#[derive(Debug, Default)]
pub(in crate::agents) struct ParsedSession<R> {
    parser: R,
    state: SessionState,
}

/// The state of a session so far.
#[derive(Debug, Default)]
pub(in crate::agents) struct SessionState {
    /// The program's id of the session.
    pub(in crate::agents) session_id: Option<String>,
    /// The model that answered, if reported.
    pub(in crate::agents) model: Option<String>,
    /// Tokens so far.
    pub(in crate::agents) usage: Usage,
    /// The cost that the program reports.
    pub(in crate::agents) cost: Option<MicroUsd>,
    /// Whether several models answered: their cost cannot be calculated from the sum of their
    /// tokens.
    pub(in crate::agents) has_several_models: bool,
    /// Turns, if reported.
    pub(in crate::agents) turns: Option<u32>,
    /// When the usage limit is reset that the program reported as reached, if it names the time apart
    /// from its error.
    pub(in crate::agents) limit_resets_at: Option<Timestamp>,
    text: String,
    tool_calls: u32,
    tool_errors: u32,
    api_retries: u32,
    /// Retries since the model last answered.
    retries_since_answer: u32,
    running: BTreeMap<String, ToolCall>,
    calls: Vec<ToolCall>,
    ending: Option<(SessionStatus, Option<String>, Instant)>,
    unknown_records: u32,
    activities: Vec<Activity>,
    /// When the first record arrived.
    first_record: Option<Instant>,
}

impl SessionState {
    /// The model answered.
    pub(in crate::agents) fn on_answer(&mut self) {
        self.retries_since_answer = 0;
    }

    /// The model wrote a text.
    pub(in crate::agents) fn on_text(&mut self, text: &str) {
        self.on_answer();
        self.set_text(text);
        if !text.trim().is_empty() {
            self.activities.push(Activity::Text(text.to_owned()));
        }
    }

    /// Replaces the last text, unless the new one is blank.
    pub(in crate::agents) fn set_text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            text.clone_into(&mut self.text);
        }
    }

    /// The model continued its last text.
    pub(in crate::agents) fn on_text_delta(&mut self, text: &str) {
        self.on_answer();
        self.text.push_str(text);
        if self.text.len() > 2 * TEXT_LIMIT {
            self.text = truncate_to_tail(&self.text);
        }
        self.activities.push(Activity::Text(text.to_owned()));
    }

    /// A tool was called; the same call may be reported several times.
    pub(in crate::agents) fn on_tool_start(&mut self, id: &str, call: ToolCall) {
        self.on_answer();
        if self.running.contains_key(id) {
            return;
        }
        self.tool_calls = self.tool_calls.saturating_add(1);
        self.activities.push(Activity::ToolStarted {
            name: call.name.clone(),
            subject: call.subject.clone(),
        });
        if self.running.len() < MAX_RUNNING_TOOLS {
            let started_ms = Some(self.elapsed_ms());
            self.running
                .insert(id.to_owned(), ToolCall { started_ms, ..call });
        }
    }

    /// Adds details to a call that has not completed yet.
    pub(in crate::agents) fn on_tool_update(&mut self, id: &str, call: ToolCall) {
        if let Some(running) = self.running.get_mut(id) {
            let started_ms = running.started_ms;
            *running = ToolCall { started_ms, ..call };
        }
    }

    /// A tool call completed, with this error if it failed.
    pub(in crate::agents) fn on_tool_end(&mut self, id: &str, error: Option<&str>) {
        self.tool_errors = self.tool_errors.saturating_add(u32::from(error.is_some()));
        let call = self.running.remove(id).unwrap_or_default();
        self.activities.push(Activity::ToolEnded {
            name: call.name.clone(),
            ok: error.is_none(),
        });
        let error = error.map(reason_from_text);
        let now = self.elapsed_ms();
        let duration_ms = call.started_ms.map(|started| now.saturating_sub(started));
        let ended = ToolCall {
            error,
            duration_ms,
            ..call
        };
        ended.add(&mut self.calls);
    }

    /// Milliseconds since the first record.
    fn elapsed_ms(&mut self) -> u64 {
        let first = *self.first_record.get_or_insert_with(Instant::now);
        u64::try_from(first.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The program retries its API.
    pub(in crate::agents) fn on_api_retry(
        &mut self,
        attempt: u32,
        max: u32,
        delay: Duration,
        why: &str,
    ) {
        self.api_retries = self.api_retries.saturating_add(1);
        self.retries_since_answer = self.retries_since_answer.saturating_add(1);
        self.activities.push(Activity::ApiRetry {
            attempt,
            max,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason: reason_from_text(why),
        });
    }

    /// A note for display.
    pub(in crate::agents) fn on_note(&mut self, text: &str) {
        let note = reason_from_text(text);
        if !note.is_empty() {
            self.activities.push(Activity::Note(note));
        }
    }

    /// The cost so far, for display.
    pub(in crate::agents) fn on_cost(&mut self, cost: Cost) {
        self.activities.push(Activity::Cost(cost));
    }

    /// The program reported how the session ended; if it does so several times, the last one
    /// counts.
    pub(in crate::agents) fn on_result(&mut self, status: SessionStatus, error: Option<&str>) {
        // The time is taken before the result is reported, which may cause the session to be
        // stopped.
        self.ending = Some((status, error.map(reason_from_text), Instant::now()));
    }

    /// The session continues after a reported end.
    pub(in crate::agents) fn on_resumed(&mut self) {
        self.ending = None;
    }

    /// The usage limit at which a session with this error ended.
    fn usage_limit(&self, error: &str) -> Option<UsageLimit> {
        let now = Zoned::now();
        let reported = self.limit_resets_at;
        let reported = reported.and_then(|at| usage_limit::limit_until(at, now.timestamp()));
        reported.or_else(|| usage_limit::parse_usage_limit(error, &now))
    }

    fn cost(&self, model: Option<&str>, agent: &AgentSpec) -> Cost {
        let model = model.filter(|_| !self.has_several_models);
        reported_or_estimated_cost(self.cost, &self.usage, model, agent)
    }
}

/// The reported cost, otherwise an estimate for the tokens of this model.
pub(in crate::agents) fn reported_or_estimated_cost(
    reported: Option<MicroUsd>,
    usage: &Usage,
    model: Option<&str>,
    agent: &AgentSpec,
) -> Cost {
    if let Some(reported) = reported {
        return Cost::reported(reported);
    }
    // Unreported tokens may have been paid for: without tokens there is no estimate.
    let model = model.filter(|_| usage.total() > 0);
    let estimate = model.and_then(|model| agent.cost_of(model, usage));
    estimate.map_or(Cost::UNKNOWN, Cost::estimated)
}

impl<R> ParsedSession<R> {
    /// Whether the program reported how the session ended.
    pub(in crate::agents) fn has_ended(&self) -> bool {
        self.state.ending.is_some()
    }
}

impl<R: EventParser> SessionParser for ParsedSession<R> {
    fn parse_line(&mut self, line: &[u8], emit: &mut dyn FnMut(Activity)) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.state.first_record.get_or_insert_with(Instant::now);
        if !self.parser.parse_record(text, &mut self.state) {
            self.count_unknown();
        }
        self.state.activities.drain(..).for_each(emit);
    }

    fn count_unknown(&mut self) {
        self.state.unknown_records = self.state.unknown_records.saturating_add(1);
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let account = &self.state;
        let (status, error) = resolve_status(account.ending.clone(), by_exit, stopped_at);
        let model = account
            .model
            .clone()
            .or_else(|| request.agent.model.clone());
        let failed = (status == SessionStatus::Failed).then_some(error.as_deref());
        let usage_limit = failed.and_then(|error| account.usage_limit(error.unwrap_or_default()));
        SessionOutcome {
            error,
            usage_limit,
            text: truncate_to_tail(&account.text),
            usage: account.usage,
            cost: account.cost(model.as_deref(), &request.agent),
            model,
            session_id: account.session_id.clone(),
            turns: account.turns,
            tool_calls: account.tool_calls,
            tool_errors: account.tool_errors,
            calls: account.calls.clone(),
            api_retries: account.api_retries,
            unknown_records: account.unknown_records,
            ..SessionOutcome::new(status)
        }
    }

    fn usage_so_far(&self, request: &SessionRequest) -> (u64, MicroUsd) {
        let account = &self.state;
        let model = account.model.as_deref();
        let cost = account.cost(model.or(request.agent.model.as_deref()), &request.agent);
        (account.usage.total(), cost.at_least())
    }

    fn transient_api_failures(&self) -> Option<u32> {
        let (status, error, _) = self.state.ending.as_ref().filter(|_| !R::RETRIES_ITSELF)?;
        let error = error.as_deref().unwrap_or_default();
        (*status == SessionStatus::Failed && self.parser.is_transient_error(error))
            .then_some(self.state.retries_since_answer)
    }
}
