//! `selvedge known-failures`: lists the tests that fail now, in the format that settings can refer to.

use std::collections::BTreeSet;
use std::time::Duration;

use selvedge_core::format::counted;
use selvedge_core::machine::list_failures;
use selvedge_core::model::{CheckReport, CheckStatus, KnownFailures, Report, Task, exit_code};

use super::run::is_in_git;
use super::run_checks::{ProjectChecks, build_runtime, run_checks};
use super::{canonical_directory, environment, load_settings, working_directory};
use crate::cli::KnownFailuresArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::human_reporter::HumanReporter;
use crate::output::{ReportOutputs, print_notice};
use crate::resolve;

pub(super) fn run(args: &KnownFailuresArgs) -> Result<u8, CliError> {
    let environment = environment();
    let dir = canonical_directory(args.dir.as_deref())?;
    let settings = load_settings(&dir, &args.check.flags(), &environment)?;
    let dir = working_directory(&settings, &dir);
    let settings = settings.resolved;
    let in_git = is_in_git(&StateDir::from_environment(&environment)?, &dir)?;
    let checks = ProjectChecks {
        plan: resolve::verification_plan(&Task::default(), &settings, &dir, in_git)?,
        dir,
        // Tests that are already listed must appear again.
        known_failures: KnownFailures::default(),
        limit: Duration::from_millis(settings.verification_timeout_ms),
        sandbox: settings.sandbox,
        environment: settings.environment,
    };
    let report = build_runtime()?.block_on(run_checks(
        &checks,
        &HumanReporter::with_reports(&ReportOutputs::default()),
    ))?;
    if let Some(check) = report.checks.iter().find(|it| !is_judged(it)) {
        let reason = check.reason.as_deref().unwrap_or("not run");
        let message = format!("check `{}` could not run: {reason}", check.label());
        return Err(CliError::infrastructure(message));
    }
    let text = format_known_failures(&report);
    match &args.output {
        None => out!("{text}"),
        Some(file) => std::fs::write(file, &text).map_err(|error| {
            CliError::usage(format!("cannot write {}: {error}", file.display()))
        })?,
    }
    for line in text.lines().filter(|line| line.contains(NOT_LISTED)) {
        print_notice(line.trim_start_matches("# "));
    }
    let count = KnownFailures::parse(&text).ids().len();
    let destination = args.output.as_ref();
    let destination = destination.map_or(String::new(), |file| format!(" in {}", file.display()));
    let count = counted(count as u64, "known failure");
    print_notice(&format!("{count}{destination}"));
    Ok(exit_code::VERIFIED)
}

/// Between the label of a check whose failures cannot be excused, and the reason.
const NOT_LISTED: &str = ": not listed: ";

/// Whether a check has a complete result. A check that timed out has not reported all failures.
fn is_judged(check: &CheckReport) -> bool {
    matches!(
        check.status,
        CheckStatus::Pass | CheckStatus::Fail | CheckStatus::Skip
    )
}

/// The failures of each check; a comment for a check whose failures cannot be excused.
fn format_known_failures(report: &Report) -> String {
    let mut text = String::new();
    let failed = report.checks.iter().filter(|it| it.status.is_failure());
    for check in failed {
        let label = check.label().replace('\n', " ");
        match list_failures(check) {
            Err(reason) => text += &format!("# {label}{NOT_LISTED}{reason}\n"),
            Ok(ids) => {
                if ids != [check.label()] {
                    text += &format!("# {label}\n");
                }
                let ids: BTreeSet<String> = ids.into_iter().collect();
                for id in ids {
                    text += &id;
                    text.push('\n');
                }
            }
        }
    }
    text
}
