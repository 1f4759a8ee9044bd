//! `selvedge verify`: the gates, once, on work done by anyone.

use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::export::Account;
use selvedge_core::model::{Report, ReportStatus, Task, VerificationPlan, exit_code};

use super::once::{once, runtime};
use super::run::is_in_git;
use super::{directory, environment, output, settings, workspace};
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::freeze;
use crate::local::Home;
use crate::output::human::Human;
use crate::output::json::{self, Machine};
use crate::output::{Format, indented, last_word, style};
use selvedge_core::words::{counted, duration};

pub(super) fn run(args: &VerifyArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output(args.format, &args.reports, &environment)?;
    let dir = directory(args.dir.as_deref())?;
    let flags = Flags {
        checks: args.checks.clone(),
        verification_timeout: args.verification_timeout.clone(),
        ..Flags::default()
    };
    let settings = settings(&dir, &flags, &environment)?;
    let dir = workspace(&settings, &dir);
    let settings = settings.resolved;
    let home = Home::find(&environment)?;
    let plan = freeze::verification(&Task::default(), &settings, &dir, is_in_git(&home, &dir)?)?;
    let steps = match &plan {
        VerificationPlan::Steps { steps } => steps.clone(),
        VerificationPlan::Skip | VerificationPlan::AutoPass => Vec::new(),
    };
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    let report = runtime()?.block_on(async {
        match args.format {
            Format::Human => once(plan, &dir, limit, &Human::beside(&output.reports)).await,
            Format::Json | Format::Jsonl => {
                once(plan, &dir, limit, &Machine { events: false }).await
            }
        }
    })?;
    match args.format {
        Format::Human => last_word(&output.reports, &(verdict(&report) + "\n")),
        Format::Json | Format::Jsonl => json::print(&report),
    }
    let code = match report.status {
        ReportStatus::Pass | ReportStatus::Skip | ReportStatus::AutoPass => exit_code::VERIFIED,
        ReportStatus::Fail | ReportStatus::Timeout => exit_code::CHECKS_FAILED,
        ReportStatus::Error => exit_code::INFRASTRUCTURE,
    };
    let account = Account::of_verification(&report, &steps);
    Ok(output.reports.write(code, &account, &home, &dir))
}

fn verdict(report: &Report) -> String {
    let summary = report.summary;
    let took = style::dim(duration(report.duration_ms));
    match report.status {
        ReportStatus::Pass => {
            let checks = counted(summary.passed.into(), "check");
            format!(
                "{}: {checks} passed {took}",
                style::good(style::strong("verified"))
            )
        }
        ReportStatus::Skip | ReportStatus::AutoPass => {
            style::warning("unchecked: there was nothing to check")
        }
        ReportStatus::Fail | ReportStatus::Timeout => {
            let digests = report
                .checks
                .iter()
                .filter_map(|check| check.digest.as_deref());
            let digests: String = digests.map(|digest| indented(digest, "  │ ")).collect();
            let failed = style::bad(style::strong("not verified"));
            let count = format!("{} of {} checks fail", summary.failed, summary.total);
            format!("{digests}{failed}: {count} {took}")
        }
        ReportStatus::Error => {
            let count = format!(
                "{} of {} checks could not be run",
                summary.errors, summary.total
            );
            format!("{}: {count}", style::warning("infrastructure"))
        }
    }
}
