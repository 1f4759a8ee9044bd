//! `selvedge verify`: the gates, once, on work done by anyone.

use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::export::{Account, Verdict};
use selvedge_core::model::{CheckReport, Report, ReportStatus, Task, VerificationPlan, exit_code};
use selvedge_core::words::{counted, duration, marks};
use selvedge_engine::Since;
use selvedge_engine::activity::Progress;

use super::asked::Asked;
use super::once::{Checks, once_since, runtime};
use super::run::is_in_git;
use super::since::{Before, check_out};
use super::{directory, environment, notice, output, settings, workspace};
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::freeze;
use crate::local::Home;
use crate::output::human::Human;
use crate::output::json::{self, Machine};
use crate::output::words::{cross_checked, guarded};
use crate::output::{Format, gates, indented, last_word, one_line, style};
use crate::secrets;
use crate::settings::REPOSITORY_FILE;

pub(super) fn run(args: &VerifyArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output(args.format, &args.reports, &environment)?;
    let dir = directory(args.dir.as_deref())?;
    let flags = Flags {
        tier: args.tier,
        judges: args.judges.clone(),
        max_cost: args.max_cost,
        known_failures: args.known.known_failures.clone(),
        known_failures_file: args.known.file(),
        ..args.check.flags()
    };
    let now = settings(&dir, &flags, &environment)?;
    let dir = workspace(&now, &dir);
    let since = args.since.as_deref();
    let since = since
        .map(|revision| check_out(&dir, revision))
        .transpose()?;
    let settings = match &since {
        // What is verified must not say what verifies it.
        Some(since) if since.dir().join(REPOSITORY_FILE).is_file() => {
            settings(since.dir(), &flags, &environment)?.resolved
        }
        _ => now.resolved,
    };
    let home = Home::find(&environment)?;
    let plan = freeze::verification(&Task::default(), &settings, &dir, is_in_git(&home, &dir)?)?;
    let rules = since.as_ref().map_or(dir.as_path(), |since| since.dir());
    let task = Task {
        description: args.task.clone().unwrap_or_default(),
        ..Task::default()
    };
    freeze::expected_changes(&args.expect_test_changes)?;
    let known_failures = freeze::known_failures(&task, &settings, rules)?;
    known_failures.notice.iter().for_each(|text| notice(text));
    let steps = match &plan {
        VerificationPlan::Steps { steps } => steps.clone(),
        VerificationPlan::Skip | VerificationPlan::AutoPass => Vec::new(),
    };
    let judged = output.reports.attestation.subject(&home, &dir)?;
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    let asked = Asked::of(args, &settings, &dir)?;
    let trees = since.as_ref().map(Since::trees);
    let trees = trees.transpose().map_err(CliError::infrastructure)?;
    let progress: Box<dyn Progress> = match args.format {
        Format::Human => Box::new(Human::beside(&output.reports)),
        Format::Json | Format::Jsonl => Box::new(Machine { events: false }),
    };
    let progress = progress.as_ref();
    let checks = Checks {
        plan,
        dir,
        known_failures: known_failures.known,
        limit,
        sandbox: settings.sandbox.clone(),
        environment: settings.environment.clone(),
    };
    let report = runtime()?.block_on(async {
        let base = since.as_ref().zip(trees.as_ref());
        let before = match base {
            None => None,
            Some((since, trees)) => Some(
                Before::look(
                    since,
                    trees,
                    &settings,
                    (&checks.plan, &checks.known_failures),
                    (limit, &home),
                    progress,
                )
                .await?,
            ),
        };
        let changed = (trees.clone(), settings.syntax.clone());
        let mut report = once_since(&checks, changed, progress).await?;
        if let (Some(before), Some((since, trees))) = (before, base) {
            let (plan, with) = (&checks.plan, (limit, &home));
            let expected = &args.expect_test_changes;
            before
                .complete(
                    since,
                    trees,
                    &settings,
                    plan,
                    expected,
                    with,
                    &mut report,
                    progress,
                )
                .await?;
        }
        if let (Some(asked), Some(trees)) = (&asked, &trees) {
            let about = (trees, checks.dir.as_path());
            let with = (&settings, &home);
            asked.ask(about, with, &mut report, progress).await?;
        }
        // What was changed is shown in it, too, and what judges said.
        let redactor = secrets::of_checks(&checks.environment, &checks.dir);
        redactor.record(report).map_err(CliError::infrastructure)
    })?;
    match args.format {
        Format::Human => last_word(&output.reports, &(verdict(&report) + "\n")),
        Format::Json | Format::Jsonl => json::print(&report),
    }
    let unsure = report.review_reason().is_some();
    let code = match report.status {
        ReportStatus::Pass if unsure => exit_code::NEEDS_REVIEW,
        ReportStatus::Pass if let Some(gate) = report.held_back() => match &gate.error {
            None => exit_code::NEEDS_REVIEW,
            Some(_) => exit_code::INFRASTRUCTURE,
        },
        ReportStatus::Pass | ReportStatus::Skip | ReportStatus::AutoPass => exit_code::VERIFIED,
        ReportStatus::Fail | ReportStatus::Timeout => exit_code::CHECKS_FAILED,
        ReportStatus::Error => exit_code::INFRASTRUCTURE,
    };
    let attestation = &output.reports.attestation;
    let dir = checks.dir;
    let code = attestation.of_verification(code, &report, judged, &home, &dir);
    let account = Account::of_verification(&report, &steps);
    Ok(output.reports.write(code, &account, &home, &dir))
}

fn verdict(report: &Report) -> String {
    let findings = report.guard.iter().flat_map(|guard| &guard.findings);
    let mut noticed: String = findings.map(|it| guarded(it) + "\n").collect();
    noticed.extend(
        report
            .crossed
            .iter()
            .map(|crossed| cross_checked(crossed) + "\n"),
    );
    let judged: String = report.gates.iter().map(gates::judged).collect();
    noticed + &judged + &outcome(report)
}

fn outcome(report: &Report) -> String {
    let summary = report.summary;
    let took = style::dim(duration(report.duration_ms));
    match report.status {
        ReportStatus::Pass if report.review_reason().is_some() => {
            let Verdict { word, reason, .. } = Verdict::of_report(report);
            let reason = one_line(&reason, 300);
            format!("{}: {reason} {took}", style::warning(style::strong(word)))
        }
        ReportStatus::Pass | ReportStatus::Fail if report.held_back().is_some() => {
            let Verdict { word, reason, .. } = Verdict::of_report(report);
            format!("{}: {reason} {took}", style::warning(style::strong(word)))
        }
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
            let count = match summary.failed {
                0 => "a protected file was changed".to_owned(),
                failed => format!("{failed} of {} checks fail", summary.total),
            };
            format!("{digests}{}{failed}: {count} {took}", judged(report))
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

/// What is known of each check that failed beside its output, a line each.
fn judged(report: &Report) -> String {
    let failed = report.checks.iter().filter(|it| it.status.is_failure());
    let line = |check: &CheckReport| {
        let label = one_line(check.label(), 72);
        Some(format!("  {label}: {}\n", marks(check)?))
    };
    failed.filter_map(line).collect()
}
