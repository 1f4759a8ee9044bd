//! `selvedge cancel`, `retry` and `review` for a hub's tasks.

use selvedge_core::format::counted;
use selvedge_core::model::{ReviewTarget, exit_code};
use selvedge_protocol::{
    BulkRetryAnswer, BulkRetryRequest, CancelRequest, RetriedTask, ReviewDecision, ReviewRequest,
    SubmitAnswer, TaskRow, TaskState,
};

use super::{fetch_task, find_task, follow, short_id};
use crate::cli::{CancelArgs, RetryArgs, ReviewArgs};
use crate::commands::{environment, review};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, OutputOptions, json};
use crate::terminal::{one_line, style};

pub(super) async fn cancel(hub: &HubClient, args: &CancelArgs) -> Result<u8, CliError> {
    let task = find_task(hub, &args.task).await?;
    let request = CancelRequest {
        reason: args.reason.clone(),
    };
    let _: serde_json::Value = hub
        .post(&format!("/tasks/{task}/cancel"), &request, &[])
        .await?;
    print_task(&fetch_task(hub, task).await?, args.format);
    Ok(exit_code::VERIFIED)
}

pub(super) async fn retry(hub: &HubClient, args: &RetryArgs) -> Result<u8, CliError> {
    let Some(task) = &args.task else {
        return retry_dead(hub, args).await;
    };
    let task = find_task(hub, task).await?;
    let nothing = serde_json::json!({});
    let answer: SubmitAnswer = hub
        .post_once(&format!("/tasks/{task}/retry"), &nothing, None)
        .await?;
    if args.watch {
        return follow::follow_own_task(hub, answer.task_id, &OutputOptions::from(args.format))
            .await;
    }
    match args.format {
        OutputFormat::Human => outln!(
            "{}: {} (retry of {})\n  {} selvedge watch {}",
            answer.state.as_str(),
            answer.task_id,
            short_id(task),
            style::dim("live:"),
            short_id(answer.task_id)
        ),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&answer),
    }
    Ok(exit_code::VERIFIED)
}

/// Retries all dead tasks that match, page by page.
async fn retry_dead(hub: &HubClient, args: &RetryArgs) -> Result<u8, CliError> {
    let mut request = BulkRetryRequest {
        agent: args.agent.clone(),
        worker: args.worker.clone(),
        label: args.label.clone(),
        q: args.search.clone(),
        ..BulkRetryRequest::default()
    };
    let mut tasks: Vec<RetriedTask> = Vec::new();
    // Each page is printed at once: if a later request fails, the tasks of the page are queued nevertheless. After a
    // lost answer, the hub omits the tasks of that answer, which have successors now.
    let last_page = loop {
        let page = hub.post_once::<BulkRetryAnswer>("/tasks/retry", &request, None);
        let page = match page.await {
            Ok(page) => page,
            Err(error) => break Err(error),
        };
        match args.format {
            OutputFormat::Json => {}
            OutputFormat::Jsonl => page.tasks.iter().for_each(json::print_json),
            OutputFormat::Human => page.tasks.iter().for_each(print_retried),
        }
        tasks.extend(page.tasks);
        request.cursor = page.next_cursor;
        if request.cursor.is_none() {
            break Ok(());
        }
    };
    if args.format == OutputFormat::Json {
        json::print_json(&tasks);
    }
    last_page?;
    if args.format == OutputFormat::Human && tasks.is_empty() {
        errln!("no dead tasks to retry");
    }
    let refused = tasks.iter().filter(|task| task.error.is_some()).count();
    if refused > 0 {
        let refused = counted(u64::try_from(refused).unwrap_or(u64::MAX), "task");
        return Err(
            CliError::usage(format!("the hub refused to retry {refused}"))
                .hint("submit changed tasks instead, or change the hub's rules"),
        );
    }
    Ok(exit_code::VERIFIED)
}

fn print_retried(task: &RetriedTask) {
    let of = short_id(task.task_id);
    match (task.new_task_id, &task.error) {
        (Some(new), _) if task.repeated => outln!("was already retried: {new} (retry of {of})"),
        (Some(new), _) => outln!("queued: {new} (retry of {of})"),
        (None, error) => outln!(
            "{}: {} ({})",
            style::bad("refused"),
            task.task_id,
            one_line(error.as_deref().unwrap_or("unknown error"), 200)
        ),
    }
}

pub(super) async fn review(hub: &HubClient, args: &ReviewArgs) -> Result<u8, CliError> {
    let task = find_task(hub, args.run.as_deref().unwrap_or("last")).await?;
    let row = fetch_task(hub, task).await?;
    let target = row.awaiting_review.clone().unwrap_or(ReviewTarget {
        // The row of an earlier release's hub has no review target.
        attempt: Some(row.attempts),
        tree: None,
    });
    if row.state == TaskState::NeedsReview {
        target
            .check(&review::requested_target(args))
            .map_err(|stale| {
                CliError::usage(stale).hint(format!(
                    "inspect the current work with `selvedge show {}`, then review it",
                    short_id(task)
                ))
            })?;
        review::print_target(args, &format!("task {}", short_id(task)), &target);
    }
    let environment = environment();
    let user = environment.iter().find(|(name, _)| name == "USER");
    let request = ReviewRequest {
        decision: match (args.accept, args.retry) {
            (true, _) => ReviewDecision::Accept,
            (false, true) => ReviewDecision::Retry,
            (false, false) => ReviewDecision::Reject,
        },
        retry: false,
        attempt: target.attempt,
        tree: target.tree,
        by: user.map(|(_, user)| user.clone()),
        reason: args.reason.clone(),
    };
    let _: serde_json::Value = hub
        .post(&format!("/tasks/{task}/review"), &request, &[])
        .await?;
    // A local review also continues the run until it stops.
    follow::watch_task(hub, task, &OutputOptions::from(args.format)).await
}

fn print_task(row: &TaskRow, format: OutputFormat) {
    match format {
        OutputFormat::Human => outln!("{}: task {}", row.state.as_str(), row.task_id),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(row),
    }
}
