//! Watching a task until it is over: as if it ran here, and with the same exit code.

use std::time::Duration;

use selvedge_core::fleet::{ProgressEvent, TaskRow, TaskState};
use selvedge_core::machine::{Run, State, evolve};
use selvedge_core::model::{Envelope, Outcome, TaskId, exit_code};
use selvedge_engine::activity::Activity;

use super::{plan, row, short};
use crate::error::CliError;
use crate::fleet::{Frame, Hub, HubError};
use crate::output::{Format, Output, Watch, json, style, watch};

/// How long to wait before a stream that broke off is taken up again.
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// Watches a task until it is over, or waits for a person; the exit code.
pub(super) async fn follow(hub: &Hub, task: TaskId, output: &Output) -> Result<u8, CliError> {
    let watch = watch(output);
    let mut follower = Follower {
        state: State::default(),
        standing: row(hub, task).await?,
        said: String::new(),
        output,
    };
    let mut wait = FIRST_WAIT;
    loop {
        let before = follower.state.seq;
        match follower.until_broken(hub, task, watch.as_ref()).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) if error.passes() => {}
            Err(error) => return Err(error.into()),
        }
        wait = if follower.state.seq > before {
            FIRST_WAIT
        } else {
            (wait * 2).min(LONGEST_WAIT)
        };
        tokio::time::sleep(wait).await;
    }
    follower.close(hub, task, watch.as_ref()).await
}

struct Follower<'a> {
    state: State,
    standing: TaskRow,
    said: String,
    output: &'a Output,
}

impl Follower<'_> {
    /// Whether it is over, and all of it was seen.
    fn is_over(&self) -> bool {
        self.stands_still() && self.state.seq >= self.standing.last_event_seq
    }

    fn stands_still(&self) -> bool {
        let state = self.standing.state;
        state.is_terminal()
            || state == TaskState::NeedsReview
            || self.standing.plan_waits_for_review()
    }

    async fn until_broken(
        &mut self,
        hub: &Hub,
        task: TaskId,
        watch: &dyn Watch,
    ) -> Result<bool, HubError> {
        let before = self.state.seq;
        let mut frames = hub.follow(task, before).await?;
        self.standing = row(hub, task).await?;
        self.say_standing();
        while !self.is_over() {
            match frames.next().await? {
                None => {
                    self.standing = row(hub, task).await?;
                    // A hub that keeps its journals for a time only has nothing more to tell.
                    let is_forgotten = self.stands_still() && self.state.seq == before;
                    return Ok(self.is_over() || is_forgotten);
                }
                Some(Frame::Event(envelope)) => self.event(&envelope, watch),
                Some(Frame::Activity(activity)) => {
                    if let Some(activity) = as_activity(activity) {
                        watch.activity(activity);
                    }
                }
                Some(Frame::State(row)) => {
                    if self.output.format == Format::Human {
                        let news = plan::news(&self.standing, &row);
                        for line in news {
                            errln!("{line}");
                        }
                    }
                    self.standing = *row;
                    self.say_standing();
                }
            }
        }
        Ok(true)
    }

    fn event(&mut self, envelope: &Envelope, watch: &dyn Watch) {
        if envelope.seq != self.state.seq + 1 {
            return;
        }
        self.state = evolve(std::mem::take(&mut self.state), envelope);
        if let Some(run) = &self.state.run {
            watch.event(envelope, run);
        }
    }

    /// What a local run never is: waiting for somebody to take it.
    fn say_standing(&mut self) {
        let state = self.standing.state;
        if self.output.format != Format::Human {
            return;
        }
        let word = match state {
            TaskState::Queued | TaskState::Offered => match &self.standing.unplaceable {
                Some(why) => format!("waits: {why}"),
                None => "waits for a worker".to_owned(),
            },
            TaskState::Backoff => "a worker was lost; another will go on".to_owned(),
            TaskState::Cancelling => "is being stopped".to_owned(),
            TaskState::Running => {
                let worker = self.standing.worker.as_deref().unwrap_or("a worker");
                format!("is with {worker}")
            }
            _ => return,
        };
        if word == self.said {
            return;
        }
        self.said.clone_from(&word);
        let id = short(self.standing.task_id);
        errln!(
            "{}",
            style::dim(format!("task {id} {}", crate::output::plain(&word)))
        );
    }

    async fn close(&self, hub: &Hub, task: TaskId, watch: &dyn Watch) -> Result<u8, CliError> {
        let told = self
            .state
            .run
            .as_ref()
            .filter(|run| run.finished || run.review.is_some());
        if let Some(run) = told {
            watch.run_over(run);
        } else if !self.standing.subtasks.is_empty() {
            match self.output.format {
                Format::Human => out!("\n{}", plan::story(&self.standing)),
                _ => json::print(&plan::result(hub, &self.standing).await?),
            }
            return Ok(self.standing.plan_outcome().exit_code());
        } else if self.output.format == Format::Human {
            let word = self.standing.state.as_str();
            let reason = self
                .standing
                .reason
                .clone()
                .or(self.standing.cancel_reason.clone());
            let reason = reason.map(|it| format!(": {}", crate::output::plain(&it)));
            outln!("\n{}{}", style::bad(word), reason.unwrap_or_default());
        } else {
            let result: Result<serde_json::Value, _> =
                hub.get(&format!("/tasks/{task}/result"), &[]).await;
            match result {
                Ok(result) => json::print(&result),
                Err(_) => json::print(&self.standing),
            }
        }
        Ok(code(&self.standing, told.map(Run::outcome)))
    }
}

/// The exit code that the same end of a local run has.
fn code(standing: &TaskRow, told: Option<Outcome>) -> u8 {
    if let Some(outcome) = standing.outcome.or(told) {
        return outcome.exit_code();
    }
    match standing.state {
        TaskState::Succeeded => exit_code::VERIFIED,
        TaskState::Cancelled => exit_code::CANCELLED,
        TaskState::NeedsReview => exit_code::NEEDS_REVIEW,
        TaskState::Failed => exit_code::CHECKS_FAILED,
        _ => exit_code::INFRASTRUCTURE,
    }
}

fn as_activity(event: ProgressEvent) -> Option<Activity> {
    Some(match event {
        ProgressEvent::Token { text } => Activity::Text(text),
        ProgressEvent::Tool {
            name,
            subject,
            ok: None,
        } => Activity::ToolStarted { name, subject },
        ProgressEvent::Tool {
            name, ok: Some(ok), ..
        } => Activity::ToolEnded { name, ok },
        ProgressEvent::ApiRetry {
            attempt,
            max,
            delay_ms,
            text,
        } => Activity::ApiRetry {
            attempt,
            max,
            delay_ms,
            reason: text,
        },
        ProgressEvent::CheckStart { text, again: false } => Activity::CheckStarted { label: text },
        ProgressEvent::CheckStart { text, again: true } => Activity::CheckRepeated { label: text },
        ProgressEvent::VerificationCheckResult {
            check_status,
            text,
            reason,
            duration_ms,
            ..
        } => Activity::CheckEnded {
            label: text,
            status: check_status,
            reason,
            duration_ms,
        },
        ProgressEvent::Cost { attempt, .. } => Activity::Cost(attempt),
        ProgressEvent::Status { message } => Activity::Note(message),
        // The journal tells these.
        ProgressEvent::VerificationRetryStart { .. }
        | ProgressEvent::VerificationRetryComplete { .. }
        | ProgressEvent::Unknown => return None,
    })
}
