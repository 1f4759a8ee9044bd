//! Submits tasks to a hub.

use selvedge_core::config::HumanDuration;
use selvedge_core::model::{Budget, DeliveryMode, MicroUsd, RunSpec, Step, StepKind, Task};
use selvedge_core::repository::has_credentials;
use selvedge_core::sanitize::sanitize_text;
use selvedge_protocol::SubmitAnswer;

use super::{follow, schedules, short_id};
use crate::cli::{BudgetArgs, DeliverTo, RunArgs, SubmitArgs};
use crate::commands::task_file::read_task;
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, OutputOptions, json, print_notice};
use crate::secrets;
use crate::terminal::style;
use selvedge_core::model::exit_code;

/// The retry limit of `selvedge run` if the task sets none.
const DEFAULT_RUN_RETRIES: u32 = 2;

pub(super) async fn submit(hub: &HubClient, args: &SubmitArgs) -> Result<u8, CliError> {
    let mut task = task_from_args(args.task.as_deref(), args.file.as_deref())?;
    set_if_some(&mut task.repository, args.repo.clone());
    set_if_some(&mut task.revision, args.rev.clone());
    set_if_some(&mut task.workspace, args.workspace.clone());
    set_if_some(&mut task.agent, args.agent.clone());
    set_if_some(
        &mut task.max_verification_retries,
        validate_retries(args.retries)?,
    );
    set_if_some(&mut task.verification_tier, args.tier);
    set_if_some(&mut task.priority, args.priority);
    set_if_some(&mut task.deliver, args.deliver.map(to_deliver));
    set_budget(&mut task, &args.budget)?;
    set_checks(&mut task, &args.checks);
    task.add_expected_changes(&args.expect_test_changes);
    if !args.labels.is_empty() {
        task.labels.clone_from(&args.labels);
    }
    if let Some(cron) = &args.schedule {
        let name = args.schedule_name.as_deref();
        return schedules::add(hub, &checked_task(&task)?, cron, name, args.format).await;
    }
    let answer = post_task(hub, &task, args.idempotency_key.as_deref()).await?;
    if args.watch {
        print_task_id(&answer);
        return follow::follow_own_task(hub, answer.task_id, &OutputOptions::from(args.format))
            .await;
    }
    match args.format {
        OutputFormat::Human => {
            print_warnings(&answer.warnings);
            let again = if answer.repeated { " (again)" } else { "" };
            outln!(
                "{}{again}: {}\n  {} selvedge watch {}",
                answer.state.as_str(),
                answer.task_id,
                style::dim("live:"),
                short_id(answer.task_id)
            );
        }
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(&answer),
    }
    Ok(exit_code::VERIFIED)
}

pub(super) async fn run(hub: &HubClient, args: &RunArgs) -> Result<u8, CliError> {
    reject_local_options(args)?;
    let mut task = task_from_args(args.task.as_deref(), args.file.as_deref())?;
    set_if_some(&mut task.repository, args.repo.clone());
    set_if_some(&mut task.revision, args.rev.clone());
    set_if_some(&mut task.agent, args.agent.clone());
    set_if_some(
        &mut task.max_verification_retries,
        validate_retries(args.retries)?,
    );
    task.max_verification_retries
        .get_or_insert(DEFAULT_RUN_RETRIES);
    set_if_some(&mut task.verification_tier, args.tier);
    set_checks(&mut task, &args.check.checks);
    task.add_expected_changes(&args.expect_test_changes);
    task.skip_verification |= args.no_verify;
    if args.push {
        task.deliver = Some(DeliveryMode::Branch);
    }
    set_budget(&mut task, &args.budget)?;
    let answer = post_task(hub, &task, None).await?;
    print_task_id(&answer);
    follow::follow_own_task(hub, answer.task_id, &OutputOptions::from(args.format)).await
}

/// Sets the limits of the whole run that the arguments have.
fn set_budget(task: &mut Task, args: &BudgetArgs) -> Result<(), CliError> {
    let budget = budget_from_args(args)?;
    if budget != Budget::default() {
        task.budget = Some(budget.or(task.budget.unwrap_or_default()));
    }
    Ok(())
}

fn budget_from_args(args: &BudgetArgs) -> Result<Budget, CliError> {
    let cost = args.max_cost.map(|cost| {
        let amount = MicroUsd::from_usd(cost);
        amount.ok_or_else(|| CliError::usage(format!("--max-cost: invalid amount {cost}")))
    });
    let duration = args.max_duration.as_deref().map(|time| {
        let time = time.parse::<HumanDuration>();
        time.map_err(|error| CliError::usage(format!("--max-duration: {error}")))
    });
    Ok(Budget {
        cost_micro_usd: cost.transpose()?,
        tokens: args.max_tokens.map(u64::from),
        duration_ms: duration.transpose()?.map(|time| time.0),
        ..Budget::default()
    })
}

/// Rejects a retry limit above the maximum. Limits in a task file are checked by the hub.
fn validate_retries(retries: Option<u32>) -> Result<Option<u32>, CliError> {
    let most = RunSpec::MAX_RETRIES;
    match retries {
        Some(retries) if retries > most => Err(CliError::usage(format!(
            "{retries} retries exceed the maximum of {most}"
        ))),
        retries => Ok(retries),
    }
}

/// Rejects options that configure this machine rather than the task.
fn reject_local_options(args: &RunArgs) -> Result<(), CliError> {
    let reports = &args.reports;
    let local_options = [
        ("--agent-cmd", args.agent_cmd.is_some()),
        ("--escalate", !args.escalate.is_empty()),
        ("--judge", !args.judges.is_empty()),
        ("--best-of", args.best_of.is_some()),
        ("--timeout", args.timeout.is_some()),
        (
            "--verification-timeout",
            args.check.verification_timeout.is_some(),
        ),
        ("--baseline", args.baseline.is_some()),
        ("--known-failure", !args.known.known_failures.is_empty()),
        ("--known-failures", args.known.known_failures_file.is_some()),
        ("--max-turns", args.max_turns.is_some()),
        ("--on-usage-limit", args.on_usage_limit.is_some()),
        ("--require-cost-reporting", args.require_cost_reporting),
        ("--sandbox", args.check.sandbox.is_some()),
        ("--check-env", !args.check.check_env.is_empty()),
        ("--dir", args.dir.is_some()),
        ("--isolated", args.isolated),
        ("--clean", args.clean),
        ("--junit", reports.junit.is_some()),
        ("--sarif", reports.sarif.is_some()),
        ("--markdown", reports.markdown.is_some()),
        ("--step-summary", reports.step_summary),
        ("--annotations", !reports.annotations.is_empty()),
        ("--attest", reports.attest.is_some()),
    ];
    let local_options: Vec<&str> = local_options
        .iter()
        .filter(|(_, is)| *is)
        .map(|(name, _)| *name)
        .collect();
    if local_options.is_empty() {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "{} cannot be used with a hub: the settings of its workers and of the repository apply",
        local_options.join(", ")
    )))
}

async fn post_task(
    hub: &HubClient,
    task: &Task,
    key: Option<&str>,
) -> Result<SubmitAnswer, CliError> {
    let task = &checked_task(task)?;
    Ok(hub.post_once("/tasks", task, key).await?)
}

/// A task that has a description and a place, without secrets.
fn checked_task(task: &Task) -> Result<Task, CliError> {
    if task.description.trim().is_empty() && task.command.is_none() && task.subtasks.is_empty() {
        return Err(CliError::usage("the task is empty")
            .hint("describe the task: selvedge submit --repo URL \"fix the flaky login test\""));
    }
    if task.repository.is_none() && task.workspace.is_none() {
        return Err(
            CliError::usage("the task names neither a repository nor a workspace")
                .hint("name a git repository that workers can clone: --repo URL")
                .hint("or a folder on the workers that they allow: --workspace PATH (submit)"),
        );
    }
    if task.repository.as_deref().is_some_and(has_credentials) {
        return Err(CliError::usage(
            "the repository's address contains a password, which the hub would store and show",
        )
        .hint("remove it from the address: workers clone with their own credentials (git's credential helper, or SSH keys)"));
    }
    secrets::redact_for_hub(task)
}

fn task_from_args(text: Option<&str>, file: Option<&std::path::Path>) -> Result<Task, CliError> {
    match (text, file) {
        (None, Some(path)) => read_task(path),
        (text, _) => Ok(Task {
            description: text.unwrap_or_default().to_owned(),
            ..Task::default()
        }),
    }
}

fn set_if_some<T>(field: &mut Option<T>, value: Option<T>) {
    if value.is_some() {
        *field = value;
    }
}

fn set_checks(task: &mut Task, checks: &[String]) {
    if !checks.is_empty() {
        let steps = checks
            .iter()
            .map(|check| Step::new(StepKind::Command, check));
        task.verification_steps = Some(steps.collect());
    }
}

const fn to_deliver(to: DeliverTo) -> DeliveryMode {
    match to {
        DeliverTo::Patch => DeliveryMode::Patch,
        DeliverTo::Branch => DeliveryMode::Branch,
    }
}

pub(super) fn print_warnings(warnings: &[String]) {
    for warning in warnings {
        print_notice(&sanitize_text(warning));
    }
}

/// Prints the task's id to standard error.
fn print_task_id(answer: &SubmitAnswer) {
    print_warnings(&answer.warnings);
    errln!("{}", style::dim(format!("task {}", answer.task_id)));
}
