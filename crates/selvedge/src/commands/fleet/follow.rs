//! Follows a hub's task until it ends, with the output and the exit code of a local run.

use std::time::Duration;

use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, Outcome, TaskId, exit_code};
use selvedge_core::run::Run;
use selvedge_core::sanitize::sanitize_text;
use selvedge_engine::activity::Activity;
use selvedge_protocol::{ProgressEvent, TaskRow, TaskState};

use super::{fetch_task, plan, short_id};
use crate::error::CliError;
use crate::hub_client::{HubClient, HubError, TaskStreamEvent};
use crate::output::{OutputFormat, OutputOptions, Reporter, json, reporter_for};
use crate::terminal::style;

/// Shortest delay before a broken stream is reconnected.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(200);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(10);

/// Follows a task until it ends or awaits review; returns the exit code.
pub(super) async fn follow_task(
    hub: &HubClient,
    task: TaskId,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let watch = reporter_for(output);
    let mut follower = TaskFollower {
        state: JournalState::default(),
        task: fetch_task(hub, task).await?,
        last_status: String::new(),
        output,
    };
    let mut wait = MIN_RECONNECT_DELAY;
    loop {
        let before = follower.state.seq;
        match follower.follow_stream(hub, task, watch.as_ref()).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) if error.is_retryable() => {}
            Err(error) => return Err(error.into()),
        }
        wait = if follower.state.seq > before {
            MIN_RECONNECT_DELAY
        } else {
            (wait * 2).min(MAX_RECONNECT_DELAY)
        };
        tokio::time::sleep(wait).await;
    }
    follower.report_end(hub, task, watch.as_ref()).await
}

struct TaskFollower<'a> {
    state: JournalState,
    task: TaskRow,
    last_status: String,
    output: &'a OutputOptions,
}

impl TaskFollower<'_> {
    /// Whether the task has ended or awaits review, and all its events were received.
    fn is_over(&self) -> bool {
        self.is_at_rest() && self.state.seq >= self.task.last_event_seq
    }

    fn is_at_rest(&self) -> bool {
        let state = self.task.state;
        state.is_terminal()
            || state == TaskState::NeedsReview
            || self.task.is_plan_awaiting_review()
    }

    async fn follow_stream(
        &mut self,
        hub: &HubClient,
        task: TaskId,
        watch: &dyn Reporter,
    ) -> Result<bool, HubError> {
        let before = self.state.seq;
        let mut frames = hub.stream_task(task, before).await?;
        self.task = fetch_task(hub, task).await?;
        self.print_status();
        while !self.is_over() {
            match frames.next().await? {
                None => {
                    self.task = fetch_task(hub, task).await?;
                    // The hub may have deleted the journal when its retention time was over.
                    let is_forgotten = self.is_at_rest() && self.state.seq == before;
                    return Ok(self.is_over() || is_forgotten);
                }
                Some(TaskStreamEvent::Event(envelope)) => self.apply_event(&envelope, watch),
                Some(TaskStreamEvent::Activity(activity)) => {
                    if let Some(activity) = as_activity(activity) {
                        watch.on_activity(activity);
                    }
                }
                Some(TaskStreamEvent::State(row)) => {
                    if self.output.format == OutputFormat::Human {
                        let lines = plan::changed_subtasks(&self.task, &row);
                        for line in lines {
                            errln!("{line}");
                        }
                    }
                    self.task = *row;
                    self.print_status();
                }
            }
        }
        Ok(true)
    }

    fn apply_event(&mut self, envelope: &Envelope, watch: &dyn Reporter) {
        if envelope.seq != self.state.seq + 1 {
            return;
        }
        self.state = evolve(std::mem::take(&mut self.state), envelope);
        if let Some(run) = &self.state.run {
            watch.on_event(envelope, run);
        }
    }

    /// Prints states that a local run does not have, such as waiting for a worker.
    fn print_status(&mut self) {
        let state = self.task.state;
        if self.output.format != OutputFormat::Human {
            return;
        }
        let status = match state {
            TaskState::Queued | TaskState::Offered => match &self.task.unplaceable {
                Some(why) => format!("is queued: {why}"),
                None => "is queued".to_owned(),
            },
            TaskState::Backoff => "lost its worker; waiting for another".to_owned(),
            TaskState::Cancelling => "is being cancelled".to_owned(),
            TaskState::Running => {
                let worker = self.task.worker.as_deref().unwrap_or("a worker");
                format!("is running on {worker}")
            }
            _ => return,
        };
        if status == self.last_status {
            return;
        }
        self.last_status.clone_from(&status);
        let id = short_id(self.task.task_id);
        errln!(
            "{}",
            style::dim(format!("task {id} {}", sanitize_text(&status)))
        );
    }

    async fn report_end(
        &self,
        hub: &HubClient,
        task: TaskId,
        watch: &dyn Reporter,
    ) -> Result<u8, CliError> {
        let ended_run = self
            .state
            .run
            .as_ref()
            .filter(|run| run.finished || run.review.is_some());
        if let Some(run) = ended_run {
            watch.report_run_end(run);
        } else if !self.task.subtasks.is_empty() {
            match self.output.format {
                OutputFormat::Human => out!("\n{}", plan::format_plan(&self.task)),
                _ => json::print_json(&plan::fetch_plan_result(hub, &self.task).await?),
            }
            return Ok(self.task.plan_outcome().exit_code());
        } else if self.output.format == OutputFormat::Human {
            let state = self.task.state.as_str();
            let reason = self.task.reason.clone().or(self.task.cancel_reason.clone());
            let reason = reason.map(|it| format!(": {}", sanitize_text(&it)));
            outln!("\n{}{}", style::bad(state), reason.unwrap_or_default());
        } else {
            let result: Result<serde_json::Value, _> =
                hub.get(&format!("/tasks/{task}/result"), &[]).await;
            match result {
                Ok(result) => json::print_json(&result),
                Err(_) => json::print_json(&self.task),
            }
        }
        Ok(task_exit_code(&self.task, ended_run.map(Run::outcome)))
    }
}

/// The exit code of a local run with the same result.
fn task_exit_code(task: &TaskRow, journal_outcome: Option<Outcome>) -> u8 {
    if let Some(outcome) = task.outcome.or(journal_outcome) {
        return outcome.exit_code();
    }
    match task.state {
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
        // The journal reports these.
        ProgressEvent::VerificationRetryStart { .. }
        | ProgressEvent::VerificationRetryComplete { .. }
        | ProgressEvent::Unknown => return None,
    })
}
