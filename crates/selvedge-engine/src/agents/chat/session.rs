//! The conversation of one session, turn by turn: requests a turn, executes the model's tool calls
//! and sends their results, until the model answers without a call or a limit is reached.

use std::time::{Duration, Instant};

use selvedge_core::model::{self as core, SessionOutcome, SessionStatus};
use selvedge_core::prompt::parse_cannot_satisfy;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::conversation::{ConversationMessage, FunctionCall, MessageRole, RequestedToolCall};
use super::model::{ChatError, ChatModel, ContextWindow, ModelReply, ModelRequest};
use super::timeouts::{SessionTimer, WaitError};
use super::tools::{ToolExecutor, ToolResult};
use super::transcript::Transcript;
use super::usage::UsageTally;
use super::{context, instructions, text_tool_calls, tools};
use crate::activity::{Activity, Progress};
use crate::agents::final_message::{reason_from_text, shorten, truncate_to_tail};
use crate::agents::program::{output_name, write_error_outcome};
use crate::agents::retry::{self, BUSY_RETRIES, Backoff, WaitOutcome};
use crate::agents::spend_limit::SpendLimit;
use crate::agents::{self, SessionRequest};

/// Maximum bytes of a tool's result.
const TOOL_RESULT_LIMIT: usize = 12 << 10;
/// Maximum characters of the previous attempt's output.
const PREVIOUS_OUTPUT_LIMIT: usize = 4_000;
/// Maximum characters of a tool's subject that are shown.
const SUBJECT_LIMIT: usize = 120;

/// Defaults that depend on the kind of server.
#[derive(Debug, Clone, Copy)]
pub(in crate::agents) struct SessionDefaults {
    /// Maximum turns of the model if no other limit is set.
    pub(in crate::agents) turns: u32,
    /// Maximum context in tokens that is requested.
    pub(in crate::agents) context: usize,
    /// Waits between retries.
    pub(in crate::agents) backoff: Backoff,
    /// Waits between retries while the server is busy.
    pub(in crate::agents) busy_backoff: Backoff,
}

/// One session.
struct ChatSession<'a> {
    request: &'a SessionRequest,
    model: &'a dyn ChatModel,
    defaults: SessionDefaults,
    timer: SessionTimer<'a>,
    progress: &'a dyn Progress,
    tools: ToolExecutor<'a>,
    transcript: Transcript,
    messages: Vec<ConversationMessage>,
    /// Number of messages that open the conversation and are never shortened.
    opening_messages: usize,
    tool_descriptions: Option<Value>,
    window: ContextWindow,
    has_answered: bool,
    usage: UsageTally,
}

/// How the conversation ended.
type ConversationResult = Result<String, Box<SessionOutcome>>;

/// Runs one session.
pub(in crate::agents) async fn run_session(
    request: &SessionRequest,
    model: &dyn ChatModel,
    defaults: SessionDefaults,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let clocks = SessionTimer::start(request.limits, cancel);
    let mut session = match ChatSession::open(request, model, defaults, clocks, progress) {
        Ok(session) => session,
        Err(outcome) => return *outcome,
    };
    let ending = session.run_conversation().await;
    session.session_outcome(ending)
}

impl<'a> ChatSession<'a> {
    fn open(
        request: &'a SessionRequest,
        model: &'a dyn ChatModel,
        defaults: SessionDefaults,
        clocks: SessionTimer<'a>,
        progress: &'a dyn Progress,
    ) -> Result<Self, Box<SessionOutcome>> {
        let path = request.run_dir.join(output_name(request, 0, "stdout"));
        let transcript = Transcript::create(path.clone(), request.supervisor.redactor().clone());
        let transcript = transcript.map_err(|error| write_error_outcome(&path, &error))?;
        let tools = ToolExecutor::new(request, TOOL_RESULT_LIMIT).map_err(|error| {
            let error = format!("cannot open {}: {error}", request.workspace.display());
            SessionOutcome::failed(SessionStatus::Infra, error)
        })?;
        Ok(Self {
            request,
            model,
            defaults,
            timer: clocks,
            progress,
            tools,
            transcript,
            messages: Vec::new(),
            opening_messages: 0,
            tool_descriptions: (request.role == agents::SessionRole::Implementer)
                .then(tools::tool_descriptions),
            window: context_window(defaults.context),
            has_answered: false,
            usage: UsageTally::default(),
        })
    }

    /// Runs the conversation to its end: returns the model's last message, or the outcome of a
    /// session that ended otherwise.
    async fn run_conversation(&mut self) -> ConversationResult {
        self.load_model_info().await?;
        self.add_opening_messages()?;
        let mut was_told_off = false;
        let limit = self.request.limits.max_turns.unwrap_or(self.defaults.turns);
        while self.usage.turns < limit {
            let reply = self.request_turn().await?;
            self.usage.turns += 1;
            let text = text_tool_calls::strip_reasoning(&reply.content);
            if self.is_judge() {
                self.add_message(assistant_message(&text, &[]))?;
                return Ok(text);
            }
            if !text.is_empty() {
                self.progress.on_activity(Activity::Text(text.clone()));
            }
            let calls = if reply.calls.is_empty() {
                text_tool_calls::parse_calls(&text, tools::is_tool)
            } else {
                reply.calls
            };
            self.add_message(assistant_message(&text, &calls))?;
            if !calls.is_empty() {
                self.run_tool_calls(&calls).await?;
            } else if reply.is_truncated {
                self.add_message(ConversationMessage::new(
                    MessageRole::User,
                    instructions::TRUNCATED_ANSWER_REMINDER,
                ))?;
            } else if self.usage.tool_calls == 0
                && !was_told_off
                && parse_cannot_satisfy(&text).is_none()
            {
                was_told_off = true;
                self.add_message(ConversationMessage::new(
                    MessageRole::User,
                    instructions::NO_TOOL_USED_REMINDER,
                ))?;
            } else {
                return Ok(text);
            }
        }
        let error = format!("the turn limit of {limit} was reached");
        Err(Box::new(SessionOutcome::failed(
            SessionStatus::TurnLimit,
            error,
        )))
    }

    /// Builds the session's outcome.
    fn session_outcome(&self, ending: ConversationResult) -> SessionOutcome {
        let outcome = match ending {
            Ok(text) => SessionOutcome {
                text: truncate_to_tail(&text),
                ..SessionOutcome::new(SessionStatus::Success)
            },
            Err(outcome) => SessionOutcome {
                text: truncate_to_tail(&self.final_text()),
                ..*outcome
            },
        };
        SessionOutcome {
            processes: self.tools.processes,
            duration_ms: u64::try_from(self.timer.elapsed().as_millis()).unwrap_or(u64::MAX),
            transcript: Some(self.transcript.output_ref()),
            ..self.usage.apply_to_outcome(self.model, outcome)
        }
    }

    /// Adapts the context window to the model, and falls back to written tool calls if the model
    /// has no native ones.
    async fn load_model_info(&mut self) -> Result<(), Box<SessionOutcome>> {
        let about = match self.model.model_info(&self.timer).await {
            Ok(about) => about,
            Err(error) => return Err(self.failure_outcome(&error)),
        };
        self.has_answered = true;
        if let Some(length) = about.context {
            self.window = context_window(self.window.context.min(length));
        }
        if !self.is_judge() && !about.has_tools {
            self.tool_descriptions = None;
            let note = format!(
                "{} does not support tool calls; the prompt asks it to write them as text",
                self.model.name()
            );
            self.progress.on_activity(Activity::Note(note));
        }
        Ok(())
    }

    fn add_opening_messages(&mut self) -> Result<(), Box<SessionOutcome>> {
        let system = match &self.tool_descriptions {
            _ if self.is_judge() => instructions::JUDGE_SYSTEM_PROMPT.to_owned(),
            Some(_) => instructions::SYSTEM_PROMPT.to_owned(),
            None => instructions::system_with_tools(&tools::tool_descriptions()),
        };
        let prompt = &self.request.prompt;
        let mut opening = vec![
            ConversationMessage::new(MessageRole::System, system),
            ConversationMessage::new(MessageRole::User, prompt.task.clone()),
        ];
        if let Some(correction) = &prompt.correction {
            let previous = self
                .request
                .previous_output
                .as_deref()
                .unwrap_or_default()
                .trim();
            let previous = if previous.is_empty() {
                instructions::NO_PREVIOUS_OUTPUT
            } else {
                tail_of(previous)
            };
            opening.push(ConversationMessage::new(MessageRole::Assistant, previous));
            opening.push(ConversationMessage::new(
                MessageRole::User,
                correction.clone(),
            ));
        }
        self.opening_messages = opening.len();
        opening
            .into_iter()
            .try_for_each(|message| self.add_message(message))
    }

    fn is_judge(&self) -> bool {
        self.request.role == agents::SessionRole::Judge
    }

    /// Requests the next turn; retries transient failures.
    async fn request_turn(&mut self) -> Result<ModelReply, Box<SessionOutcome>> {
        self.check_cost_limit()?;
        let ContextWindow {
            context,
            output: answer,
        } = self.window;
        let budget = (context - answer) * context::BYTES_PER_TOKEN;
        context::fit_to_budget(&mut self.messages, self.opening_messages, budget);
        let granted = self.request.agent.api_retries;
        // Of the failures of a busy server, and of all others.
        let (mut busy, mut failures) = (0_u32, 0_u32);
        loop {
            let question = ModelRequest {
                messages: &self.messages,
                tools: self.tool_descriptions.as_ref(),
                schema: self.is_judge().then(selvedge_core::gate::schema),
                window: self.window,
            };
            let error = match self.model.next_turn(question, &self.timer).await {
                Ok(reply) => {
                    self.has_answered = true;
                    self.usage.add_usage(reply.usage);
                    return Ok(reply);
                }
                Err(turn) => {
                    self.usage.add_failed_turn(&turn);
                    turn.error
                }
            };
            let random = retry::random_fraction();
            let (retry, max, delay) = if error.is_busy() && granted > 0 {
                busy += 1;
                let delay = self.defaults.busy_backoff.busy_delay(busy, random);
                (busy, granted.saturating_add(BUSY_RETRIES), delay)
            } else {
                failures += 1;
                let requested = error.retry_after();
                let delay = self.defaults.backoff.delay(failures, requested, random);
                (failures, granted, delay)
            };
            if retry > max || !error.is_transient(self.has_answered) {
                return Err(self.failure_outcome(&error));
            }
            self.wait_before_retry(retry, max, delay, &error).await?;
        }
    }

    /// Checks the cap before each turn; the cost of the turn itself is not known in advance.
    fn check_cost_limit(&self) -> Result<(), Box<SessionOutcome>> {
        let cap = SpendLimit::for_session(self.request);
        let cost = self.usage.cost(self.model).at_least();
        match cap.exceeded_limit(self.usage.total_tokens(), cost) {
            Some(reached) => Err(Box::new(SessionOutcome::failed(
                SessionStatus::Budget,
                reached,
            ))),
            None => Ok(()),
        }
    }

    async fn wait_before_retry(
        &mut self,
        retry: u32,
        max: u32,
        delay: Duration,
        error: &ChatError,
    ) -> Result<(), Box<SessionOutcome>> {
        self.usage.api_retries += 1;
        self.progress.on_activity(Activity::ApiRetry {
            attempt: retry,
            max,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason: error.to_string(),
        });
        match retry::wait(
            delay,
            self.timer.remaining_time(),
            self.timer.cancellation_token(),
        )
        .await
        {
            WaitOutcome::Elapsed => Ok(()),
            WaitOutcome::TooLong => Err(self.failure_outcome(error)),
            WaitOutcome::Cancelled => Err(Box::new(self.timer.outcome_of(WaitError::Cancelled))),
        }
    }

    async fn run_tool_calls(&mut self, calls: &[FunctionCall]) -> Result<(), Box<SessionOutcome>> {
        for call in calls {
            let subject = shorten(tools::call_subject(call).trim(), SUBJECT_LIMIT);
            self.progress.on_activity(Activity::ToolStarted {
                name: call.name.clone(),
                subject: subject.clone(),
            });
            let started = Instant::now();
            let (error, output) = match self.tools.run_call(call, &self.timer).await {
                ToolResult::Done(output) => (None, output),
                ToolResult::Failed(output) => {
                    (Some(reason_from_text(&output)), format!("ERROR: {output}"))
                }
                ToolResult::SessionEnded(outcome) => return Err(outcome),
            };
            let ok = error.is_none();
            let used = core::ToolCall {
                name: call.name.clone(),
                subject,
                writes: tools::written_file(call),
                error,
                duration_ms: Some(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX)),
                ..core::ToolCall::default()
            };
            self.usage.add_tool_call(used);
            self.progress.on_activity(Activity::ToolEnded {
                name: call.name.clone(),
                ok,
            });
            self.add_message(ConversationMessage {
                tool_name: Some(call.name.clone()),
                tool_call_id: call.id.clone(),
                ..ConversationMessage::new(MessageRole::Tool, output)
            })?;
        }
        Ok(())
    }

    /// Adds a message to the conversation and to the transcript.
    fn add_message(&mut self, message: ConversationMessage) -> Result<(), Box<SessionOutcome>> {
        let written = self.transcript.add(&json!(message));
        self.messages.push(message);
        written.map_err(|error| {
            let error = format!("cannot write the transcript: {error}");
            Box::new(SessionOutcome::failed(SessionStatus::Infra, error))
        })
    }

    fn failure_outcome(&self, error: &ChatError) -> Box<SessionOutcome> {
        Box::new(match error {
            ChatError::Stopped(stopped) => self.timer.outcome_of(*stopped),
            error => SessionOutcome::failed(SessionStatus::Failed, error.to_string()),
        })
    }

    fn final_text(&self) -> String {
        let texts = self.messages.iter().skip(self.opening_messages).rev();
        let mut texts = texts.filter(|message| message.role == MessageRole::Assistant);
        let last = texts.find(|message| !message.content.is_empty());
        last.map(|message| message.content.clone())
            .unwrap_or_default()
    }
}

/// Converts a turn of the model to a message of the conversation.
fn assistant_message(text: &str, calls: &[FunctionCall]) -> ConversationMessage {
    let tool_calls = calls
        .iter()
        .map(|call| RequestedToolCall {
            function: call.clone(),
        })
        .collect();
    ConversationMessage {
        tool_calls,
        ..ConversationMessage::new(MessageRole::Assistant, text)
    }
}

fn context_window(context: usize) -> ContextWindow {
    ContextWindow {
        context,
        output: context / 4,
    }
}

fn tail_of(text: &str) -> &str {
    let from = text.char_indices().rev().nth(PREVIOUS_OUTPUT_LIMIT - 1);
    from.map_or(text, |(at, _)| &text[at..])
}
