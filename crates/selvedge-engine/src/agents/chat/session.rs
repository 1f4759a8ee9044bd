//! The conversation of one session, turn by turn: ask, carry out what the model calls for, tell it
//! what came of that, until it answers without a call or a limit is reached.

use std::time::Duration;

use selvedge_core::model::{self as core, SessionOutcome, SessionStatus};
use selvedge_core::prompt::cannot_satisfy;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::clocks::{Clocks, Stopped};
use super::conversation::{Call, Message, Role, ToolCall};
use super::model::{ChatError, Model, Question, Reply, Window};
use super::tally::Tally;
use super::tools::{Answer, Tools};
use super::transcript::Transcript;
use super::{context, instructions, textual, tools};
use crate::activity::{Activity, Progress};
use crate::agents::cap::Cap;
use crate::agents::claim::{bounded, reason, shorten};
use crate::agents::program::{cannot_write, output_name};
use crate::agents::retry::{self, Backoff, Wait};
use crate::agents::{self, SessionRequest};

/// Bytes of a tool's answer.
const ANSWER_LIMIT: usize = 12 << 10;
/// Characters of what the attempt before said.
const PREVIOUS_OUTPUT: usize = 4_000;
/// Characters of a tool's subject that are shown.
const SUBJECT: usize = 120;

/// What differs from one kind of server to another.
#[derive(Debug, Clone, Copy)]
pub(in crate::agents) struct Habits {
    /// Turns of the model when no other limit is set.
    pub(in crate::agents) turns: u32,
    /// The longest conversation that is asked for.
    pub(in crate::agents) context: usize,
    /// Waits between tries.
    pub(in crate::agents) backoff: Backoff,
}

/// One session.
struct Session<'a> {
    request: &'a SessionRequest,
    model: &'a dyn Model,
    habits: Habits,
    clocks: Clocks<'a>,
    progress: &'a dyn Progress,
    tools: Tools<'a>,
    transcript: Transcript,
    messages: Vec<Message>,
    /// How many of them open the conversation and are never shortened.
    opening: usize,
    described: Option<Value>,
    window: Window,
    has_answered: bool,
    tally: Tally,
}

/// How the conversation ended.
type Ending = Result<String, Box<SessionOutcome>>;

/// Carries out one session.
pub(in crate::agents) async fn work(
    request: &SessionRequest,
    model: &dyn Model,
    habits: Habits,
    progress: &dyn Progress,
    cancel: &CancellationToken,
) -> SessionOutcome {
    let clocks = Clocks::start(request.limits, cancel);
    let mut session = match Session::open(request, model, habits, clocks, progress) {
        Ok(session) => session,
        Err(outcome) => return *outcome,
    };
    let ending = session.converse().await;
    session.account(ending)
}

impl<'a> Session<'a> {
    fn open(
        request: &'a SessionRequest,
        model: &'a dyn Model,
        habits: Habits,
        clocks: Clocks<'a>,
        progress: &'a dyn Progress,
    ) -> Result<Self, Box<SessionOutcome>> {
        let path = request.run_dir.join(output_name(request, 0, "stdout"));
        let transcript = Transcript::create(path.clone(), request.supervisor.redactor().clone());
        let transcript = transcript.map_err(|error| cannot_write(&path, &error))?;
        let tools = Tools::new(request, ANSWER_LIMIT).map_err(|error| {
            let error = format!("cannot open {}: {error}", request.workspace.display());
            SessionOutcome::failed(SessionStatus::Infra, error)
        })?;
        Ok(Self {
            request,
            model,
            habits,
            clocks,
            progress,
            tools,
            transcript,
            messages: Vec::new(),
            opening: 0,
            described: (request.role == agents::Role::Worker).then(tools::described),
            window: window(habits.context),
            has_answered: false,
            tally: Tally::default(),
        })
    }

    /// Carries the conversation to its end: the model's last words, or what else ended it.
    async fn converse(&mut self) -> Ending {
        self.learn_about_model().await?;
        self.begin()?;
        let mut was_told_off = false;
        let limit = self.request.limits.max_turns.unwrap_or(self.habits.turns);
        while self.tally.turns < limit {
            let reply = self.ask().await?;
            self.tally.turns += 1;
            let said = textual::without_thoughts(&reply.content);
            if self.judges() {
                self.say(turn(&said, &[]))?;
                return Ok(said);
            }
            if !said.is_empty() {
                self.progress.activity(Activity::Text(said.clone()));
            }
            let calls = if reply.calls.is_empty() {
                textual::calls(&said, tools::is_tool)
            } else {
                reply.calls
            };
            self.say(turn(&said, &calls))?;
            if !calls.is_empty() {
                self.carry_out(&calls).await?;
            } else if reply.is_cut {
                self.say(Message::new(Role::User, instructions::CUT_SHORT))?;
            } else if self.tally.tool_calls == 0 && !was_told_off && cannot_satisfy(&said).is_none()
            {
                was_told_off = true;
                self.say(Message::new(Role::User, instructions::NOTHING_DONE))?;
            } else {
                return Ok(said);
            }
        }
        let error = format!("the turn limit of {limit} was reached");
        Err(Box::new(SessionOutcome::failed(
            SessionStatus::TurnLimit,
            error,
        )))
    }

    /// The session's account of itself.
    fn account(&self, ending: Ending) -> SessionOutcome {
        let outcome = match ending {
            Ok(said) => SessionOutcome {
                text: bounded(&said),
                ..SessionOutcome::new(SessionStatus::Success)
            },
            Err(outcome) => SessionOutcome {
                text: bounded(&self.last_words()),
                ..*outcome
            },
        };
        SessionOutcome {
            processes: self.tools.processes,
            duration_ms: u64::try_from(self.clocks.elapsed().as_millis()).unwrap_or(u64::MAX),
            transcript: Some(self.transcript.reference()),
            ..self.tally.account(self.model, outcome)
        }
    }

    /// Fits the window to the model, and falls back to written calls where it has no others.
    async fn learn_about_model(&mut self) -> Result<(), Box<SessionOutcome>> {
        let about = match self.model.about(&self.clocks).await {
            Ok(about) => about,
            Err(error) => return Err(self.gave_up(&error)),
        };
        self.has_answered = true;
        if let Some(length) = about.context {
            self.window = window(self.window.context.min(length));
        }
        if !self.judges() && !about.has_tools {
            self.described = None;
            let note = format!(
                "{} has no tool calls of its own; it is asked to write them",
                self.model.name()
            );
            self.progress.activity(Activity::Note(note));
        }
        Ok(())
    }

    fn begin(&mut self) -> Result<(), Box<SessionOutcome>> {
        let system = match &self.described {
            _ if self.judges() => instructions::JUDGE.to_owned(),
            Some(_) => instructions::SYSTEM.to_owned(),
            None => instructions::system_with_tools(&tools::described()),
        };
        let prompt = &self.request.prompt;
        let mut opening = vec![
            Message::new(Role::System, system),
            Message::new(Role::User, prompt.task.clone()),
        ];
        if let Some(correction) = &prompt.correction {
            let said = self
                .request
                .previous_output
                .as_deref()
                .unwrap_or_default()
                .trim();
            let said = if said.is_empty() {
                instructions::NO_ANSWER
            } else {
                end_of(said)
            };
            opening.push(Message::new(Role::Assistant, said));
            opening.push(Message::new(Role::User, correction.clone()));
        }
        self.opening = opening.len();
        opening
            .into_iter()
            .try_for_each(|message| self.say(message))
    }

    fn judges(&self) -> bool {
        self.request.role == agents::Role::Judge
    }

    /// Asks for the next turn; again, while what goes wrong may pass.
    async fn ask(&mut self) -> Result<Reply, Box<SessionOutcome>> {
        self.has_money_left()?;
        let Window { context, answer } = self.window;
        let budget = (context - answer) * context::BYTES_PER_TOKEN;
        context::fit(&mut self.messages, self.opening, budget);
        let granted = self.request.agent.api_retries;
        for retry in 1_u32.. {
            let question = Question {
                messages: &self.messages,
                tools: self.described.as_ref(),
                schema: self.judges().then(selvedge_core::gate::schema),
                window: self.window,
            };
            let error = match self.model.turn(question, &self.clocks).await {
                Ok(reply) => {
                    self.has_answered = true;
                    self.tally.count(reply.usage);
                    return Ok(reply);
                }
                Err(error) => error,
            };
            if retry > granted || !error.is_passing(self.has_answered) {
                return Err(self.gave_up(&error));
            }
            let delay = self
                .habits
                .backoff
                .delay(retry, error.retry_after(), retry::random());
            self.wait(retry, delay, &error).await?;
        }
        Err(Box::new(SessionOutcome::new(SessionStatus::Failed)))
    }

    /// The cap is asked for before each turn; what one turn may cost more is not known before.
    fn has_money_left(&self) -> Result<(), Box<SessionOutcome>> {
        let cap = Cap::of(self.request);
        let cost = self.tally.cost(self.model).at_least();
        match cap.reached(self.tally.tokens(), cost) {
            Some(reached) => Err(Box::new(SessionOutcome::failed(
                SessionStatus::Budget,
                reached,
            ))),
            None => Ok(()),
        }
    }

    async fn wait(
        &mut self,
        retry: u32,
        delay: Duration,
        error: &ChatError,
    ) -> Result<(), Box<SessionOutcome>> {
        self.tally.api_retries += 1;
        self.progress.activity(Activity::ApiRetry {
            attempt: retry,
            max: self.request.agent.api_retries,
            delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
            reason: error.to_string(),
        });
        match retry::wait(delay, self.clocks.wall_left(), self.clocks.cancel()).await {
            Wait::Over => Ok(()),
            Wait::TooLong => Err(self.gave_up(error)),
            Wait::Cancelled => Err(Box::new(self.clocks.outcome(Stopped::Cancelled))),
        }
    }

    async fn carry_out(&mut self, calls: &[Call]) -> Result<(), Box<SessionOutcome>> {
        for call in calls {
            let subject = shorten(tools::subject(call).trim(), SUBJECT);
            self.progress.activity(Activity::ToolStarted {
                name: call.name.clone(),
                subject: subject.clone(),
            });
            let (error, told) = match self.tools.answer(call, &self.clocks).await {
                Answer::Done(told) => (None, told),
                Answer::Failed(told) => (Some(reason(&told)), format!("ERROR: {told}")),
                Answer::Over(outcome) => return Err(outcome),
            };
            let ok = error.is_none();
            let used = core::ToolCall {
                name: call.name.clone(),
                subject,
                writes: tools::writes(call),
                error,
                redone: false,
            };
            self.tally.called(used);
            self.progress.activity(Activity::ToolEnded {
                name: call.name.clone(),
                ok,
            });
            self.say(Message {
                tool_name: Some(call.name.clone()),
                tool_call_id: call.id.clone(),
                ..Message::new(Role::Tool, told)
            })?;
        }
        Ok(())
    }

    /// Adds a message to the conversation and to the transcript.
    fn say(&mut self, message: Message) -> Result<(), Box<SessionOutcome>> {
        let written = self.transcript.add(&json!(message));
        self.messages.push(message);
        written.map_err(|error| {
            let error = format!("cannot write the transcript: {error}");
            Box::new(SessionOutcome::failed(SessionStatus::Infra, error))
        })
    }

    fn gave_up(&self, error: &ChatError) -> Box<SessionOutcome> {
        Box::new(match error {
            ChatError::Stopped(stopped) => self.clocks.outcome(*stopped),
            error => SessionOutcome::failed(SessionStatus::Failed, error.to_string()),
        })
    }

    fn last_words(&self) -> String {
        let said = self.messages.iter().skip(self.opening).rev();
        let mut said = said.filter(|message| message.role == Role::Assistant);
        let last = said.find(|message| !message.content.is_empty());
        last.map(|message| message.content.clone())
            .unwrap_or_default()
    }
}

/// A turn of the model as the conversation keeps it.
fn turn(said: &str, calls: &[Call]) -> Message {
    let tool_calls = calls
        .iter()
        .map(|call| ToolCall {
            function: call.clone(),
        })
        .collect();
    Message {
        tool_calls,
        ..Message::new(Role::Assistant, said)
    }
}

fn window(context: usize) -> Window {
    Window {
        context,
        answer: context / 4,
    }
}

fn end_of(text: &str) -> &str {
    let from = text.char_indices().rev().nth(PREVIOUS_OUTPUT - 1);
    from.map_or(text, |(at, _)| &text[at..])
}
