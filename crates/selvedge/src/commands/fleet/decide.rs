//! Stopping, making again, and deciding.

use selvedge_core::fleet::{CancelRequest, ReviewDecision, ReviewRequest, SubmitAnswer, TaskRow};
use selvedge_core::model::exit_code;

use super::{follow, named, row, short};
use crate::cli::{CancelArgs, RetryArgs, ReviewArgs};
use crate::commands::environment;
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
    let task = named(hub, &args.run).await?;
    let environment = environment();
    let user = environment.iter().find(|(name, _)| name == "USER");
    let request = ReviewRequest {
        decision: match (args.accept, args.retry) {
            (true, _) => ReviewDecision::Accept,
            (false, true) => ReviewDecision::Retry,
            (false, false) => ReviewDecision::Reject,
        },
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
