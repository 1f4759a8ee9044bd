//! `selvedge verify`: the gates, once, on work done by anyone.

use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::model::{
    Report, ReportStatus, Task, TaskId, Timestamp, exit_code,
};
use selvedge_engine::process::Supervisor;
use selvedge_engine::{Verification, verify};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::run::is_in_git;
use super::{directory, environment, settings};
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::local::Home;
use crate::output::amounts::{counted, duration};
use crate::output::human::Human;
use crate::output::json::{self, Machine};
use crate::output::{Format, style};
use crate::plan;

pub(super) fn run(args: &VerifyArgs) -> Result<u8, CliError> {
    let environment = environment();
    let dir = directory(args.dir.as_deref())?;
    let flags = Flags {
        checks: args.checks.clone(),
        verification_timeout: args.verification_timeout.clone(),
        ..Flags::default()
    };
    let settings = settings(&dir, &flags, &environment)?.resolved;
    let home = Home::find(&environment)?;
    let steps = plan::verification(&Task::default(), &settings, &dir, is_in_git(&home, &dir)?)?;
    let run_dir = tempfile::tempdir().map_err(CliError::infrastructure)?;
    let verification = Verification {
        task_id: TaskId::new(Uuid::now_v7()),
        run_number: 1,
        plan: steps,
        limit: Duration::from_millis(settings.verification_timeout_ms),
        workspace: dir,
        run_dir: run_dir.path().to_owned(),
        tag: Uuid::now_v7().to_string(),
        lock: run_dir.path().join("processes.lock"),
        supervisor: Supervisor::this_program(),
        tree: None,
        started_at: Timestamp::now(),
    };
    let report = carry_out(&verification, args.format)?;
    match args.format {
        Format::Human => anstream::println!("{}", verdict(&report)),
        Format::Json | Format::Jsonl => json::print(&report),
    }
    Ok(match report.status {
        ReportStatus::Pass | ReportStatus::Skip | ReportStatus::AutoPass => exit_code::VERIFIED,
        ReportStatus::Fail | ReportStatus::Timeout => exit_code::CHECKS_FAILED,
        ReportStatus::Error => exit_code::INFRASTRUCTURE,
    })
}

fn carry_out(verification: &Verification, format: Format) -> Result<Report, CliError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let never = CancellationToken::new();
    let report = runtime.block_on(async {
        match format {
            Format::Human => verify(verification, &Human::new(), &never).await,
            Format::Json | Format::Jsonl => {
                verify(verification, &Machine { events: false }, &never).await
            }
        }
    });
    report.map_err(CliError::infrastructure)
}

fn verdict(report: &Report) -> String {
    let summary = report.summary;
    let took = style::dim(duration(report.duration_ms));
    match report.status {
        ReportStatus::Pass => {
            let checks = counted(summary.passed.into(), "check");
            format!("{}: {checks} passed {took}", style::good(style::strong("verified")))
        }
        ReportStatus::Skip | ReportStatus::AutoPass => {
            style::warning("unchecked: there was nothing to check")
        }
        ReportStatus::Fail | ReportStatus::Timeout => {
            let mut text = String::new();
            for digest in report.checks.iter().filter_map(|check| check.digest.as_deref()) {
                text += &crate::output::indented(digest, "  │ ");
            }
            let failed = style::bad(style::strong("not verified"));
            format!("{text}{failed}: {} of {} checks fail {took}", summary.failed, summary.total)
        }
        ReportStatus::Error => {
            let errors = summary.errors;
            format!("{}: {errors} of {} checks could not be run", style::warning("infrastructure"), summary.total)
        }
    }
}
