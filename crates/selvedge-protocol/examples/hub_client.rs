//! A client for a hub: submits the task on standard input, and prints its progress until it ends.
//!
//! `SELVEDGE_HUB=http://127.0.0.1:7700 SELVEDGE_TOKEN=… cargo run --example hub_client < task.json`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example is an edge"
)]

use std::error::Error;
use std::process::ExitCode;
use std::time::Duration;

use selvedge_protocol::{API_PATH, SubmitAnswer, TaskRow, TaskState};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode, Box<dyn Error>> {
    // The binary's choice of cryptography; `reqwest` leaves it to its users.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let tasks = format!("{}{API_PATH}/tasks", std::env::var("SELVEDGE_HUB")?);
    let token = std::env::var("SELVEDGE_TOKEN")?;
    let client = reqwest::Client::new();

    let task: serde_json::Value = serde_json::from_reader(std::io::stdin())?;
    let submit = client.post(&tasks).bearer_auth(&token).json(&task);
    let answer = submit.send().await?.error_for_status()?;
    let SubmitAnswer {
        task_id, warnings, ..
    } = answer.json().await?;
    for warning in warnings {
        println!("warning: {warning}");
    }

    let mut last = None;
    loop {
        let show = client.get(format!("{tasks}/{task_id}")).bearer_auth(&token);
        let row: TaskRow = show.send().await?.error_for_status()?.json().await?;
        if last.replace(row.state) != Some(row.state) {
            println!("{task_id}: {:?}, {} attempts", row.state, row.attempts);
        }
        if row.state.is_terminal() || row.state == TaskState::NeedsReview {
            println!("{:?}: {}", row.outcome, row.reason.unwrap_or_default());
            return Ok(ExitCode::from(u8::from(row.state != TaskState::Succeeded)));
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}
