//! `selvedge verify`: runs the checks and judges once on existing changes.

use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::describe::{failure_digests, marks};
use selvedge_core::export::{ReportInput, ReportVerdict};
use selvedge_core::format::{counted, duration};
use selvedge_core::model::{CheckReport, Report, ReportStatus, Task, VerificationPlan, exit_code};
use selvedge_engine::BaseRevision;
use selvedge_engine::activity::Progress;

use super::base_comparison::{BaseContext, check_out_base};
use super::run::is_in_git;
use super::run_checks::{InspectedChanges, ProjectChecks, build_runtime, run_checks_with_changes};
use super::standalone_judging::StandaloneJudging;
use super::{canonical_directory, environment, load_settings, output_options, working_directory};
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::human_reporter::HumanReporter;
use crate::output::json::{self, JsonReporter};
use crate::output::labels::{format_cross_check, format_guard_finding};
use crate::output::{OutputFormat, gates, print_notice, print_verdict};
use crate::resolve;
use crate::secrets;
use crate::settings::REPOSITORY_FILE;
use crate::terminal::{indent_lines, one_line, style};

pub(super) fn run(args: &VerifyArgs) -> Result<u8, CliError> {
    let environment = environment();
    let output = output_options(args.format, &args.reports, &environment)?;
    let dir = canonical_directory(args.dir.as_deref())?;
    let flags = Flags {
        tier: args.tier,
        judges: args.judges.clone(),
        max_cost: args.max_cost,
        known_failures: args.known.known_failures.clone(),
        known_failures_file: args.known.absolute_file(),
        ..args.check.flags()
    };
    let current_settings = load_settings(&dir, &flags, &environment)?;
    let dir = working_directory(&current_settings, &dir);
    let base_revision = args.base.as_deref();
    let base_revision = base_revision
        .map(|revision| check_out_base(&dir, revision))
        .transpose()?;
    let settings = match &base_revision {
        // The changes that are verified must not change the settings of their verification.
        Some(base_revision) if base_revision.dir().join(REPOSITORY_FILE).is_file() => {
            load_settings(base_revision.dir(), &flags, &environment)?.resolved
        }
        _ => current_settings.resolved,
    };
    let home = StateDir::from_environment(&environment)?;
    let plan =
        resolve::verification_plan(&Task::default(), &settings, &dir, is_in_git(&home, &dir)?)?;
    let rules = base_revision
        .as_ref()
        .map_or(dir.as_path(), |base_revision| base_revision.dir());
    let task = Task {
        description: args.task.clone().unwrap_or_default(),
        ..Task::default()
    };
    resolve::validate_expected_changes(&args.expect_test_changes)?;
    let known_failures = resolve::resolve_known_failures(&task, &settings, rules)?;
    known_failures
        .notice
        .iter()
        .for_each(|text| print_notice(text));
    let steps = match &plan {
        VerificationPlan::Steps { steps } => steps.clone(),
        VerificationPlan::Skip | VerificationPlan::AutoPass => Vec::new(),
    };
    let judged = output.reports.attestation.subject_before(&home, &dir)?;
    let limit = Duration::from_millis(settings.verification_timeout_ms);
    let judging = StandaloneJudging::from_args(args, &settings, &dir)?;
    let trees = base_revision.as_ref().map(BaseRevision::trees);
    let trees = trees.transpose().map_err(CliError::infrastructure)?;
    let progress: Box<dyn Progress> = match args.format {
        OutputFormat::Human => Box::new(HumanReporter::with_reports(&output.reports)),
        OutputFormat::Json | OutputFormat::Jsonl => Box::new(JsonReporter::default()),
    };
    let checks = ProjectChecks {
        plan,
        dir,
        known_failures: known_failures.known,
        limit,
        sandbox: settings.sandbox.clone(),
        environment: settings.environment.clone(),
    };
    let progress = progress.as_ref();
    let base = base_revision.as_ref().zip(trees.as_ref());
    let context = base.map(|(base, trees)| BaseContext {
        base,
        trees,
        settings: &settings,
        checks: &checks,
        home: &home,
        progress,
    });
    let changes = InspectedChanges {
        trees: trees.clone(),
        syntax: settings.syntax.clone(),
    };
    let report = build_runtime()?.block_on(async {
        let Some(context) = &context else {
            return run_checks_with_changes(&checks, changes, progress).await;
        };
        let comparison = context.compare().await?;
        let mut report = run_checks_with_changes(&checks, changes, progress).await?;
        context
            .complete_report(comparison, &args.expect_test_changes, &mut report)
            .await?;
        if let Some(judging) = &judging {
            judging.judge_report(context, &mut report).await?;
        }
        Ok(report)
    })?;
    // The report also contains changed lines and judges' answers.
    let report = secrets::checks_redactor(&checks.environment, &checks.dir)
        .redact_record(report)
        .map_err(CliError::infrastructure)?;
    match args.format {
        OutputFormat::Human => print_verdict(&output.reports, &(format_verdict(&report) + "\n")),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&report),
    }
    let attestation = &output.reports.attestation;
    let (code, dir) = (exit_code_of(&report), checks.dir.as_path());
    let code = attestation.write_for_verification(code, &report, judged, &home, dir);
    let report_input = ReportInput::of_verification(&report, &steps);
    Ok(output.reports.write(code, &report_input, &home, dir))
}

fn exit_code_of(report: &Report) -> u8 {
    match report.status {
        ReportStatus::Pass if report.review_reason().is_some() => exit_code::NEEDS_REVIEW,
        ReportStatus::Pass if let Some(gate) = report.blocking_gate() => match &gate.error {
            None => exit_code::NEEDS_REVIEW,
            Some(_) => exit_code::INFRASTRUCTURE,
        },
        ReportStatus::Pass | ReportStatus::Skip | ReportStatus::AutoPass => exit_code::VERIFIED,
        ReportStatus::Fail | ReportStatus::Timeout => exit_code::CHECKS_FAILED,
        ReportStatus::Error => exit_code::INFRASTRUCTURE,
    }
}

fn format_verdict(report: &Report) -> String {
    let findings = report.guard.iter().flat_map(|guard| &guard.findings);
    let mut noticed: String = findings.map(|it| format_guard_finding(it) + "\n").collect();
    noticed.extend(
        report
            .crossed
            .iter()
            .map(|crossed| format_cross_check(crossed) + "\n"),
    );
    let judged: String = report.gates.iter().map(gates::format_gate).collect();
    noticed + &judged + &format_outcome(report)
}

fn format_outcome(report: &Report) -> String {
    let summary = report.summary;
    let took = style::dim(format!("· {}", duration(report.duration_ms)));
    match report.status {
        ReportStatus::Pass if report.review_reason().is_some() => {
            let ReportVerdict { label, reason, .. } = ReportVerdict::of_report(report);
            let reason = one_line(&reason, 300);
            let label = style::warning(style::strong(label));
            format!("{}{label}: {reason} {took}", format_digests(report))
        }
        ReportStatus::Pass | ReportStatus::Fail if report.blocking_gate().is_some() => {
            let ReportVerdict { label, reason, .. } = ReportVerdict::of_report(report);
            format!("{}: {reason} {took}", style::warning(style::strong(label)))
        }
        ReportStatus::Pass => {
            let checks = counted(summary.passed.into(), "check");
            format!(
                "{}: {checks} passed {took}",
                style::good(style::strong("verified"))
            )
        }
        ReportStatus::Skip | ReportStatus::AutoPass => {
            style::warning("unchecked: nothing to check")
        }
        ReportStatus::Fail | ReportStatus::Timeout => {
            let digests = format_digests(report);
            let failed = style::bad(style::strong("not verified"));
            let count = match summary.failed {
                0 => "a protected file was changed".to_owned(),
                failed => format!("{failed} of {} checks fail", summary.total),
            };
            format!(
                "{digests}{}{failed}: {count} {took}",
                failed_check_marks(report)
            )
        }
        ReportStatus::Error => {
            let count = format!(
                "{} of {} checks could not run",
                summary.errors, summary.total
            );
            format!("{}: {count}", style::warning("infrastructure failure"))
        }
    }
}

/// The digests of failed checks. A single one needs no name, unless it is of the original tests.
fn format_digests(report: &Report) -> String {
    let digests = failure_digests(report);
    let is_named = digests.len() > 1 || report.status == ReportStatus::Pass;
    let format_one = |(check, digest): (String, &str)| {
        let digest = indent_lines(digest, "  │ ");
        if is_named {
            let check = one_line(&check, 72);
            format!("{}\n{digest}", style::dim(format!("  digest of {check}:")))
        } else {
            digest
        }
    };
    digests.into_iter().map(format_one).collect()
}

/// Notes about each failed check besides its output, one line per check.
fn failed_check_marks(report: &Report) -> String {
    let failed = report.checks.iter().filter(|it| it.status.is_failure());
    let line = |check: &CheckReport| {
        let label = one_line(check.label(), 72);
        Some(format!("  {label}: {}\n", marks(check)?))
    };
    failed.filter_map(line).collect()
}
