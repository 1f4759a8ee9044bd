//! Stopping, making again, and deciding.

use selvedge_core::fleet::{
    CancelRequest, ReviewDecision, ReviewRequest, SubmitAnswer, TaskRow, TaskState,
};
use selvedge_core::model::{ReviewTarget, exit_code};

use super::{follow, named, row, short};
use crate::cli::{CancelArgs, RetryArgs, ReviewArgs};
use crate::commands::{environment, review};
use crate::error::CliError;
use crate::fleet::Hub;
use crate::output::{Format, Output, json, style};

pub(super) async fn cancel(hub: &Hub, args: &CancelArgs) -> Result<u8, CliError> {
    let task = named(hub, &args.task).await?;
    let request = CancelRequest {
        reason: args.reason.clone(),
    };
    let _: serde_json::Value = hub
        .post(&format!("/tasks/{task}/cancel"), &request, &[])
        .await?;
    say(&row(hub, task).await?, args.format);
    Ok(exit_code::VERIFIED)
}

pub(super) async fn retry(hub: &Hub, args: &RetryArgs) -> Result<u8, CliError> {
    let task = named(hub, &args.task).await?;
    let nothing = serde_json::json!({});
    let answer: SubmitAnswer = hub
        .post(&format!("/tasks/{task}/retry"), &nothing, &[])
        .await?;
    if args.watch {
        return follow::follow(hub, answer.task_id, &Output::from(args.format)).await;
    }
    match args.format {
        Format::Human => outln!(
            "{}: {} (made from {})\n  {} selvedge watch {}",
            answer.state.as_str(),
            answer.task_id,
            short(task),
            style::dim("live:"),
            short(answer.task_id)
        ),
        Format::Json | Format::Jsonl => json::print(&answer),
    }
    Ok(exit_code::VERIFIED)
}

pub(super) async fn review(hub: &Hub, args: &ReviewArgs) -> Result<u8, CliError> {
    let task = named(hub, args.run.as_deref().unwrap_or("last")).await?;
    let row = row(hub, task).await?;
    let target = row.awaiting_review.clone().unwrap_or(ReviewTarget {
        // A hub of an earlier release.
        attempt: Some(row.attempts),
        tree: None,
    });
    if row.state == TaskState::NeedsReview {
        target.check(&review::named(args)).map_err(|stale| {
            CliError::usage(stale).hint(format!(
                "`selvedge show {}` shows the work; decide again with what is awaiting review now",
                short(task)
            ))
        })?;
        review::say(args, &format!("task {}", short(task)), &target);
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
    // As a local review carries the run on to where it stops by itself.
    follow::follow(hub, task, &Output::from(args.format)).await
}

fn say(row: &TaskRow, format: Format) {
    match format {
        Format::Human => outln!("{}: task {}", row.state.as_str(), row.task_id),
        Format::Json | Format::Jsonl => json::print(row),
    }
}
