//! Follows a hub's task until it ends, with the output and the exit code of a local run.

use std::future::Future;
use std::time::Duration;

use jiff::tz::TimeZone;
use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{Envelope, Outcome, TaskId, exit_code};
use selvedge_core::run::Run;
use selvedge_core::sanitize::sanitize_text;
use selvedge_engine::activity::Activity;
use selvedge_protocol::{CancelRequest, ProgressEvent, TaskRow, TaskState};
use tokio::signal::unix::{SignalKind, signal};

use super::{fetch_task, plan, short_id};
use crate::error::CliError;
use crate::hub_client::{HubClient, HubError, TaskStreamEvent};
use crate::output::{OutputFormat, OutputOptions, Reporter, json, print_notice, reporter_for};
use crate::terminal::style;

/// Shortest delay before a broken stream is reconnected.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(200);
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(10);
/// How long after Ctrl-C another one cancels the task.
const CANCEL_OFFER: Duration = Duration::from_secs(5);

/// Follows a submitted task until it ends or awaits review; returns the exit code.
pub(super) async fn watch_task(
    hub: &HubClient,
    task: TaskId,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let row = fetch_task(hub, task).await?;
    until_interrupted(hub, task, false, follow_task(hub, row, output)).await
}

/// Follows a task that this command has just submitted. Ctrl-C offers to cancel it.
pub(super) async fn follow_own_task(
    hub: &HubClient,
    task: TaskId,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let following = async {
        let mut connection = HubConnectionStatus::default();
        let mut wait = MIN_RECONNECT_DELAY;
        let row = loop {
            match fetch_task(hub, task).await {
                Ok(row) => break row,
                Err(error) if error.is_retryable() => connection.lost(&error),
                Err(error) => return Err(error.into()),
            }
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RECONNECT_DELAY);
        };
        connection.restored();
        follow_task(hub, row, output).await
    };
    until_interrupted(hub, task, true, following).await
}

/// Follows a task until Ctrl-C or SIGTERM, which do not end the task itself.
async fn until_interrupted(
    hub: &HubClient,
    task: TaskId,
    may_cancel: bool,
    following: impl Future<Output = Result<u8, CliError>>,
) -> Result<u8, CliError> {
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
    tokio::pin!(following);
    tokio::select! {
        ended = &mut following => return ended,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {
            print_task_continues(task, None);
            return Ok(exit_code::TERMINATED);
        }
    }
    print_task_continues(task, may_cancel.then_some(CANCEL_OFFER));
    if !may_cancel {
        return Ok(exit_code::INTERRUPTED);
    }
    tokio::select! {
        ended = &mut following => return ended,
        _ = interrupt.recv() => {}
        _ = terminate.recv() => return Ok(exit_code::TERMINATED),
        () = tokio::time::sleep(CANCEL_OFFER) => return Ok(exit_code::INTERRUPTED),
    }
    let request = CancelRequest {
        reason: "cancelled by Ctrl-C".to_owned(),
    };
    let cancelled: Result<serde_json::Value, HubError> = hub
        .post(&format!("/tasks/{task}/cancel"), &request, &[])
        .await;
    cancelled?;
    tokio::select! {
        ended = &mut following => ended,
        _ = interrupt.recv() => Ok(exit_code::INTERRUPTED),
        _ = terminate.recv() => Ok(exit_code::TERMINATED),
    }
}

/// Prints that a task continues without this command, and how to follow or cancel it.
fn print_task_continues(task: TaskId, cancel_offer: Option<Duration>) {
    let id = short_id(task);
    errln!("task {id} continues on the hub");
    if let Some(period) = cancel_offer {
        let seconds = period.as_secs();
        errln!("  press Ctrl-C again within {seconds} s to cancel it");
    }
    errln!("  {} selvedge watch {id}", style::dim("follow:"));
    errln!("  {} selvedge cancel {id}", style::dim("cancel:"));
}

/// Whether the hub can be reached, as last shown to the user.
#[derive(Debug, Default)]
struct HubConnectionStatus {
    is_lost: bool,
}

impl HubConnectionStatus {
    fn lost(&mut self, error: &HubError) {
        if !std::mem::replace(&mut self.is_lost, true) {
            let error = sanitize_text(&error.to_string());
            print_notice(&format!("{error}; the task continues; waiting for the hub"));
        }
    }

    fn restored(&mut self) {
        if std::mem::take(&mut self.is_lost) {
            print_notice("the hub is back");
        }
    }
}

/// Follows a task until it ends or awaits review; returns the exit code.
async fn follow_task(
    hub: &HubClient,
    row: TaskRow,
    output: &OutputOptions,
) -> Result<u8, CliError> {
    let watch = reporter_for(output);
    let task = row.task_id;
    let mut follower = TaskFollower {
        state: JournalState::default(),
        task: row,
        last_status: String::new(),
        connection: HubConnectionStatus::default(),
        output,
    };
    let mut wait = MIN_RECONNECT_DELAY;
    loop {
        let before = follower.state.seq;
        match follower.follow_stream(hub, task, watch.as_ref()).await {
            Ok(true) => break,
            Ok(false) => {}
            Err(error) if error.is_retryable() => follower.connection.lost(&error),
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
    connection: HubConnectionStatus,
    output: &'a OutputOptions,
}

impl TaskFollower<'_> {
    /// Whether the task has ended or awaits review, and all its events were received.
    fn is_over(&self) -> bool {
        self.has_ended_or_awaits_review() && self.state.seq >= self.task.last_event_seq
    }

    fn has_ended_or_awaits_review(&self) -> bool {
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
        self.connection.restored();
        self.print_status();
        while !self.is_over() {
            match frames.next().await? {
                None => {
                    self.task = fetch_task(hub, task).await?;
                    // The hub may have deleted the journal when its retention time was over.
                    let is_forgotten =
                        self.has_ended_or_awaits_review() && self.state.seq == before;
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
            TaskState::Queued | TaskState::Offered => {
                let task = &self.task;
                let why = task.waits.as_ref().or(task.unplaceable.as_ref());
                match why.or(task.reason.as_ref()) {
                    Some(why) => format!("is queued: {why}"),
                    None => "is queued".to_owned(),
                }
            }
            TaskState::Backoff => {
                let until = self.task.resumes_at.map(|at| {
                    let at = at.to_zoned(TimeZone::system());
                    format!(" until {}", at.strftime("%H:%M:%S"))
                });
                let reason = self.task.reason.as_deref().unwrap_or("it lost its worker");
                format!(
                    "waits{} for another worker: {reason}",
                    until.unwrap_or_default()
                )
            }
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
