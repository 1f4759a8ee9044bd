//! Resolves a task and the settings to a run's specification, or to an error with a hint. Nothing reads the workspace's
//! settings afterwards. Plans and best-of-N runs are resolved in a submodule.

mod budgets;
mod known_failures;
mod multi_run;

use std::path::Path;

use selvedge_core::config::{Origin, ResolvedConfig};
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::guard::Protection;
use selvedge_core::model::{
    AgentKind, AgentSpec, BaselineMode, BetweenAttempts, Budget, OnExhausted, RunSpec,
    SessionLimits, SetupSpec, Step, StepKind, Task, TaskId, VerificationPlan,
};
use selvedge_core::route::{RouteError, named_agents, route};
use selvedge_engine::agents::check_program;
use selvedge_engine::checks::first_program;
use selvedge_engine::process::find_program;
use uuid::Uuid;

use crate::error::CliError;
use crate::judges::{describe_judging, resolve_judging};
use crate::secrets;
use crate::terminal::one_line;

pub(crate) use known_failures::resolve_known_failures;
pub(crate) use multi_run::{best_of_spec, plan_spec};

/// A resolved specification, and what the user should know before the run begins.
#[derive(Debug)]
pub(crate) struct ResolvedSpec<S> {
    pub(crate) spec: S,
    /// One line each.
    pub(crate) notices: Vec<String>,
}

/// Resolves a task. `dir` is canonical; `in_git` is whether it is in a git repository.
pub(crate) fn run_spec(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<ResolvedSpec<RunSpec>, CliError> {
    let (agent, escalation) = agent_chain(task, settings)?;
    let needs_description = !agent.deterministic;
    if needs_description && task.description.trim().is_empty() {
        return Err(CliError::usage("the task is empty")
            .hint("describe the task: selvedge run \"fix the flaky login test\"")
            .hint("or read it from a file: selvedge run --file TASK.md"));
    }
    let agents = std::iter::once(&agent).chain(&escalation);
    for agent in agents.filter(|_| !settings.sandbox.agents_in_image()) {
        check_program(agent, dir).map_err(CliError::of_this_machine)?;
    }
    spec_with_agents(task, settings, dir, in_git, agent, escalation)
}

/// Resolves a task for an agent that its user has started: only the checks decide about the work, and nothing is ever
/// reverted.
pub(crate) fn external_spec(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
    agent: AgentSpec,
) -> Result<RunSpec, CliError> {
    let task = Task {
        verification_tier: Some(1),
        ..task.clone()
    };
    let resolved = spec_with_agents(&task, settings, dir, in_git, agent, Vec::new())?;
    Ok(RunSpec {
        budget: Budget::default(),
        between_attempts: BetweenAttempts::Keep,
        on_exhausted: OnExhausted::Last,
        setup: SetupSpec::default(),
        ..resolved.spec
    })
}

fn spec_with_agents(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
    agent: AgentSpec,
    escalation: Vec<AgentSpec>,
) -> Result<ResolvedSpec<RunSpec>, CliError> {
    if dir.to_str().is_none() {
        return Err(
            CliError::usage(format!("cannot run in {}: its path is not UTF-8", dir.display()))
                .hint("rename the directory, or work in a copy of it: runs are stored with their paths as text"),
        );
    }
    let plan = configured_plan(task, settings, dir, in_git)?;
    let verification = plan.ok_or_else(|| {
        no_checks_error("a run without checks is rejected")
            .hint("or run without verification: --no-verify")
    })?;
    let snapshots = settings.snapshots && in_git;
    let tier = task.verification_tier.unwrap_or(settings.verification_tier);
    let judging = resolve_judging(
        tier,
        settings,
        last_agent(&agent, &escalation),
        dir,
        snapshots,
    )?;
    let mut notices = collect_notices(settings, &agent, &verification, in_git);
    let budget = task.budget.unwrap_or_default().or(settings.budget);
    let unenforceable_caps: Vec<_> = std::iter::once(&agent)
        .chain(&escalation)
        .flat_map(|agent| budgets::unenforceable_caps(&budget, agent))
        .collect();
    if settings.require_cost_reporting && !unenforceable_caps.is_empty() {
        return Err(budgets::unenforceable_caps_error(&unenforceable_caps));
    }
    notices.extend(unenforceable_caps);
    notices.extend(judging.as_ref().map(describe_judging));
    let allow = [&settings.allow[..], &task.allow[..]].concat();
    Protection::new(&settings.protect, &allow).map_err(CliError::usage)?;
    validate_expected_changes(&task.expect_test_changes)?;
    let limits = session_limits(settings, &agent);
    let known_failures = resolve_known_failures(task, settings, dir)?;
    notices.extend(known_failures.notice);
    let spec = RunSpec {
        baseline: needs_baseline(settings.baseline, snapshots, &agent, &verification),
        rerun_failed: settings.rerun_failed,
        syntax: settings.syntax.clone(),
        fail_on_unresolved_write_errors: settings.fail_on_unresolved_write_errors,
        protect: settings.protect.clone(),
        allow,
        expect_test_changes: task.expect_test_changes.clone(),
        known_failures: known_failures.known,
        task_id: task.task_id.unwrap_or_else(|| TaskId::new(Uuid::now_v7())),
        part_of: None,
        test_base: None,
        description: task.description.clone(),
        acceptance_criteria: task.acceptance_criteria.clone(),
        workspace: dir.to_owned(),
        repository: task.repository.clone(),
        agent,
        escalation,
        verification,
        judging,
        max_verification_retries: validated_retries(task, settings)?,
        verification_timeout_ms: task
            .verification_timeout_ms
            .unwrap_or(settings.verification_timeout_ms),
        limits,
        usage_limit: settings.usage_limit,
        budget,
        between_attempts: settings.between_attempts,
        on_exhausted: settings.on_exhausted,
        snapshots,
        sandbox: settings.sandbox.clone(),
        environment: settings.environment.clone(),
        setup: task.setup.as_ref().map_or_else(
            || settings.setup.clone(),
            |setup| setup.override_settings(&settings.setup),
        ),
        selvedge_version: env!("CARGO_PKG_VERSION").to_owned(),
    };
    secrets::reject_secrets_in_commands(&spec)?;
    Ok(ResolvedSpec { spec, notices })
}

/// Rejects declared test changes that cannot match anything.
pub(crate) fn validate_expected_changes(entries: &[String]) -> Result<(), CliError> {
    ExpectedChanges::check(entries).map_err(|bad| {
        CliError::usage(format!("expect_test_changes: {bad}"))
            .hint("an entry is a glob of files (`tests/*_api.py`) or a test id as in reports")
    })
}

/// The agent of the last attempts. Judges must not use its model unless that is requested.
pub(crate) fn final_agent(settings: &ResolvedConfig) -> Result<AgentSpec, CliError> {
    let (agent, escalation) = agent_chain(&Task::default(), settings)?;
    Ok(last_agent(&agent, &escalation).clone())
}

/// The last agent of the chain.
fn last_agent<'a>(agent: &'a AgentSpec, escalation: &'a [AgentSpec]) -> &'a AgentSpec {
    escalation.last().unwrap_or(agent)
}

/// The first agent, and the agents that take over in later attempts. An agent named by the task or by a flag works
/// alone.
fn agent_chain(
    task: &Task,
    settings: &ResolvedConfig,
) -> Result<(AgentSpec, Vec<AgentSpec>), CliError> {
    let route = |task: &Task, name: &str| {
        route(task, &settings.agents, name).map_err(|error| match error {
            RouteError::Unknown { .. } => CliError::of_this_machine(error),
            RouteError::NoCommand => CliError::usage(error),
        })
    };
    let named = named_agents(task).next().is_some();
    let by_flag = matches!(settings.origin("agent"), Some(Origin::Flag { .. }));
    let [first, others @ ..] = settings.escalate.as_slice() else {
        return Ok((route(task, &settings.agent)?, Vec::new()));
    };
    if named || by_flag {
        return Ok((route(task, &settings.agent)?, Vec::new()));
    }
    let others = others.iter().map(|name| route(task, name));
    Ok((route(task, first)?, others.collect::<Result<_, _>>()?))
}

/// A session with a paid API that Selvedge drives itself has a shorter default time limit than an agent's program.
fn session_limits(settings: &ResolvedConfig, agent: &AgentSpec) -> SessionLimits {
    const API_WALL_MS: u64 = 5 * 60 * 1_000;
    let is_default = settings.origin("limits.timeout") == Some(Origin::Default);
    if agent.kind == AgentKind::Api && is_default {
        SessionLimits {
            wall_ms: API_WALL_MS,
            ..settings.limits
        }
    } else {
        settings.limits
    }
}

fn needs_baseline(
    mode: BaselineMode,
    snapshots: bool,
    agent: &AgentSpec,
    verification: &VerificationPlan,
) -> bool {
    let VerificationPlan::Steps { steps } = verification else {
        return false;
    };
    match mode {
        BaselineMode::On => true,
        BaselineMode::Off => false,
        BaselineMode::Auto => {
            let runs = steps.iter().any(|step| step.kind.executes());
            snapshots && !agent.deterministic && runs
        }
    }
}

fn validated_retries(task: &Task, settings: &ResolvedConfig) -> Result<u32, CliError> {
    let retries = task
        .max_verification_retries
        .unwrap_or(settings.max_verification_retries);
    if retries <= RunSpec::MAX_RETRIES {
        return Ok(retries);
    }
    let max = RunSpec::MAX_RETRIES;
    Err(
        CliError::usage(format!("{retries} retries exceed the maximum of {max}"))
            .hint(format!("use --retries {max} or less")),
    )
}

/// The checks of a command that only runs them.
pub(crate) fn verification_plan(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<VerificationPlan, CliError> {
    let plan = configured_plan(task, settings, dir, in_git)?;
    plan.ok_or_else(|| no_checks_error("there are no checks to run"))
}

fn no_checks_error(message: &str) -> CliError {
    CliError::usage(message)
        .hint("add one: --check 'cargo test' (as often as you like)")
        .hint("or detect checks and write them to selvedge.toml: selvedge init")
}

/// The checks of a task. `None` if checks are required but there are none.
fn configured_plan(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<Option<VerificationPlan>, CliError> {
    if task.skip_verification {
        return Ok(Some(VerificationPlan::Skip));
    }
    let outputs = task
        .expected_outputs
        .iter()
        .map(|path| Step::new(StepKind::Output, path));
    let configured_steps = task.verification_steps.as_ref().unwrap_or(&settings.checks);
    let steps: Vec<Step> = outputs.chain(configured_steps.iter().cloned()).collect();
    if steps.is_empty() && task.verification_steps.is_some() {
        return Ok(Some(VerificationPlan::AutoPass));
    }
    if steps.is_empty() {
        return Ok(None);
    }
    for step in &steps {
        validate_check(step, settings, dir, in_git)?;
    }
    Ok(Some(VerificationPlan::Steps { steps }))
}

/// Rejects a check that can never run, before an agent costs money.
fn validate_check(
    step: &Step,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<(), CliError> {
    let label = step.label();
    match step.kind {
        StepKind::GitClean if !in_git => Err(CliError::usage(format!(
            "`git_clean` needs a git repository; {} is not in one",
            dir.display()
        ))
        .hint("run `git init`, or remove the check")),
        StepKind::Command | StepKind::TestPasses | StepKind::Plugin => {
            if step.target.trim().is_empty() {
                return Err(CliError::usage(format!(
                    "check `{label}` has no command line"
                )));
            }
            match first_program(&step.target).filter(|_| !settings.sandbox.checks_in_image()) {
                // The agent may be about to write a program that is named by a path.
                Some(program) if !program.contains('/') && !is_program_available(program, dir) => {
                    Err(CliError::of_this_machine(format!(
                        "check `{label}`: program `{program}` not found"
                    ))
                    .hint(format!(
                        "install `{program}`, or fix the check's command line"
                    )))
                }
                _ => Ok(()),
            }
        }
        StepKind::Syntax | StepKind::ToolCalls => Err(CliError::usage(format!(
            "check type `{}` is built in and cannot be configured",
            step.kind.as_str()
        ))),
        StepKind::FileExists | StepKind::GitClean | StepKind::Output => Ok(()),
    }
}

fn is_program_available(program: &str, dir: &Path) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    find_program(program, &path, dir).is_some()
}

fn collect_notices(
    settings: &ResolvedConfig,
    agent: &AgentSpec,
    verification: &VerificationPlan,
    in_git: bool,
) -> Vec<String> {
    let mut notices = Vec::new();
    if !in_git {
        notices.push(
            "not a git repository: no snapshots, so files cannot be restored and a stuck run is not \
             detected (run `git init` to enable them)"
                .to_owned(),
        );
    }
    match verification {
        VerificationPlan::Steps { steps } => {
            let always_passes = |step: &Step| {
                let end = step.ignores_failures()?;
                let label = one_line(step.label(), 60);
                Some(format!(
                    "check `{label}` always passes, because its command ends with `{end}`: it verifies nothing"
                ))
            };
            notices.extend(steps.iter().filter_map(always_passes));
        }
        VerificationPlan::Skip => {
            notices.push("verification is disabled: the result will be unchecked".to_owned());
        }
        VerificationPlan::AutoPass => {
            notices.push(
                "the task's list of checks is empty: the result will be unchecked".to_owned(),
            );
        }
    }
    notices.extend(turn_limit_notice(settings, agent));
    notices
}

/// A warning if the agent cannot enforce the turn limit.
fn turn_limit_notice(settings: &ResolvedConfig, agent: &AgentSpec) -> Option<String> {
    let is_ignored =
        settings.limits.max_turns.is_some() && !agent.kind.capabilities().supports_turn_limit;
    is_ignored.then(|| {
        format!(
            "agent `{}` does not support a turn limit: `max_turns` is ignored, time limits apply",
            agent.name
        )
    })
}
