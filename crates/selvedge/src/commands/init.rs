//! `selvedge init`: proposes checks, tries each once, writes `selvedge.toml`.

use std::path::Path;
use std::time::Duration;

use selvedge_core::config::Flags;
use selvedge_core::model::{
    EnvironmentSpec, KnownFailures, SandboxSpec, VerificationPlan, exit_code,
};

use super::run_checks::{ProjectChecks, build_runtime, run_checks};
use super::{canonical_directory, environment, load_settings};
use crate::cli::InitArgs;
use crate::error::CliError;
use crate::init::{self, Proposal, Trial, TriedProposal};
use crate::output::ReportOutputs;
use crate::output::human_reporter::HumanReporter;
use crate::settings::REPOSITORY_FILE;
use crate::terminal::style;

pub(super) fn run(args: &InitArgs) -> Result<u8, CliError> {
    let dir = canonical_directory(args.dir.as_deref())?;
    let file = dir.join(REPOSITORY_FILE);
    // Checked first, because trying the checks takes minutes.
    if file.exists() && !args.force && !args.dry_run {
        return Err(
            CliError::usage(format!("{} already exists", file.display()))
                .hint("use --force to replace it, or --dry-run to print the new file"),
        );
    }
    let (proposals, setup) = init::detect(&dir);
    if proposals.is_empty() {
        errln!("no checks were detected in the repository");
    }
    let limit = Duration::from_secs(args.check_timeout);
    // Only the user's settings matter: the repository's file is about to be overwritten.
    let user_settings = load_settings(&dir, &Flags::default(), &environment())
        .map(|settings| (settings.resolved.sandbox, settings.resolved.environment))
        .unwrap_or_default();
    let tried = build_runtime()?.block_on(init::try_proposals(proposals, async |proposal| {
        if args.skip_check_run {
            Trial::Skipped
        } else {
            try_once(proposal, &dir, limit, &user_settings).await
        }
    }));
    if args.dry_run {
        out!("{}", init::settings_document(&tried, &setup));
        return Ok(exit_code::VERIFIED);
    }
    let written = init::write(&dir, &tried, &setup, args.force).map_err(CliError::usage)?;
    outln!("wrote {}", written.display());
    print_next_steps(&tried);
    Ok(exit_code::VERIFIED)
}

async fn try_once(
    proposal: &Proposal,
    dir: &Path,
    limit: Duration,
    (sandbox, environment): &(SandboxSpec, EnvironmentSpec),
) -> Trial {
    let plan = VerificationPlan::Steps {
        steps: vec![proposal.step.clone()],
    };
    let checks = ProjectChecks {
        plan,
        dir: dir.to_owned(),
        known_failures: KnownFailures::default(),
        limit,
        sandbox: sandbox.clone(),
        environment: environment.clone(),
    };
    match run_checks(
        &checks,
        &HumanReporter::with_reports(&ReportOutputs::default()),
    )
    .await
    {
        Ok(report) => report
            .checks
            .first()
            .map_or(Trial::Skipped, Trial::from_report),
        Err(error) => Trial::NotStarted {
            why: error.to_string(),
        },
    }
}

fn print_next_steps(tried: &[TriedProposal]) {
    let fails = |tried: &&TriedProposal| {
        matches!(tried.trial, Trial::Failed { .. } | Trial::TimedOut { .. })
    };
    if tried.iter().any(|tried| fails(&tried)) {
        let message = "some checks fail now: fix or remove them, otherwise no run can be verified";
        outln!("{} {message}", style::warning("note:"));
    }
    outln!("next: selvedge run \"description of the task\"");
}
