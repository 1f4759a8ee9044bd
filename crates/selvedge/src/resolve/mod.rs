//! From what was asked for to what is frozen: a task and the settings become a run's specification, or
//! a refusal that says how to mend it. After this nothing is read from the workspace's settings. What
//! is made of several runs, a plan or a contest, lies beside.

mod budgets;
mod known_failures;
mod multi_run;

use std::path::Path;

use selvedge_core::config::{Origin, ResolvedConfig};
use selvedge_core::crossing::ExpectedChanges;
use selvedge_core::guard::Protection;
use selvedge_core::model::{
    AgentKind, AgentSpec, BaselineMode, RunSpec, SessionLimits, Step, StepKind, Task, TaskId,
    VerificationPlan,
};
use selvedge_core::route::{named_agents, route};
use selvedge_engine::agents::check_program;
use selvedge_engine::checks::first_program;
use selvedge_engine::process::find_program;
use uuid::Uuid;

use crate::error::CliError;
use crate::judges::{describe_judging, resolve_judging};
use crate::secrets;

pub(crate) use known_failures::resolve_known_failures;
pub(crate) use multi_run::{best_of_spec, plan_spec};

/// What is to be frozen, and what the person should know before it begins.
#[derive(Debug)]
pub(crate) struct ResolvedSpec<S> {
    /// The specification.
    pub(crate) spec: S,
    /// One line each.
    pub(crate) notices: Vec<String>,
}

/// Resolves a task. `dir` is canonical; `in_git` says whether it lies in a git repository.
pub(crate) fn run_spec(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<ResolvedSpec<RunSpec>, CliError> {
    let (agent, escalation) = agent_chain(task, settings)?;
    let needs_words = agent.kind != AgentKind::Shell;
    if needs_words && task.description.trim().is_empty() {
        return Err(CliError::usage("the task is empty")
            .hint("say what is to be done: selvedge run \"fix the flaky login test\"")
            .hint("or read it from a file: selvedge run --file TASK.md"));
    }
    let here = std::iter::once(&agent).chain(&escalation);
    for agent in here.filter(|_| !settings.sandbox.agents_in_image()) {
        check_program(agent, dir).map_err(CliError::usage)?;
    }
    let verification = verification_plan(task, settings, dir, in_git)?;
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
    let unheld: Vec<_> = std::iter::once(&agent)
        .chain(&escalation)
        .flat_map(|agent| budgets::unenforceable_caps(&budget, agent))
        .collect();
    if settings.strict_budget && !unheld.is_empty() {
        return Err(budgets::unenforceable_caps_error(&unheld));
    }
    notices.extend(unheld);
    notices.extend(judging.as_ref().map(describe_judging));
    let allow = [&settings.allow[..], &task.allow[..]].concat();
    Protection::new(&settings.protect, &allow).map_err(CliError::usage)?;
    validate_expected_changes(&task.expect_test_changes)?;
    let limits = session_limits(settings, &agent);
    let known = resolve_known_failures(task, settings, dir)?;
    notices.extend(known.notice);
    let spec = RunSpec {
        baseline: wants_baseline(settings.baseline, snapshots, &agent, &verification),
        rerun_failed: settings.rerun_failed,
        syntax: settings.syntax.clone(),
        tool_calls: settings.tool_calls,
        protect: settings.protect.clone(),
        allow,
        expect_test_changes: task.expect_test_changes.clone(),
        known_failures: known.known,
        task_id: task.task_id.unwrap_or_else(|| TaskId::new(Uuid::now_v7())),
        part_of: None,
        test_base: None,
        description: task.description.clone(),
        acceptance_criteria: task.acceptance_criteria.clone(),
        workspace: dir.to_owned(),
        agent,
        escalation,
        verification,
        judging,
        max_verification_retries: validated_retries(task, settings)?,
        verification_timeout_ms: task
            .verification_timeout_ms
            .unwrap_or(settings.verification_timeout_ms),
        limits,
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

/// Rejects declared changes of tests that can match nothing.
pub(crate) fn validate_expected_changes(entries: &[String]) -> Result<(), CliError> {
    ExpectedChanges::check(entries).map_err(|bad| {
        CliError::usage(format!("expect_test_changes: {bad}")).hint(
            "an entry is a glob of files (`tests/*_api.py`), or a test's id as reports name it",
        )
    })
}

/// Who does a project's work in the end: no model judges itself unasked.
pub(crate) fn final_agent(settings: &ResolvedConfig) -> Result<AgentSpec, CliError> {
    let (agent, escalation) = agent_chain(&Task::default(), settings)?;
    Ok(last_agent(&agent, &escalation).clone())
}

/// The last of them does what the others could not.
fn last_agent<'a>(agent: &'a AgentSpec, escalation: &'a [AgentSpec]) -> &'a AgentSpec {
    escalation.last().unwrap_or(agent)
}

/// Who works first, and who takes over. Whoever is asked for by name works alone.
fn agent_chain(
    task: &Task,
    settings: &ResolvedConfig,
) -> Result<(AgentSpec, Vec<AgentSpec>), CliError> {
    let route =
        |task: &Task, name: &str| route(task, &settings.agents, name).map_err(CliError::usage);
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

/// A session of our own with a paid API gets less time than a program, where nobody said how much.
fn session_limits(settings: &ResolvedConfig, agent: &AgentSpec) -> SessionLimits {
    const API_WALL_MS: u64 = 5 * 60 * 1_000;
    let untold = settings.origin("limits.timeout") == Some(Origin::Default);
    if agent.kind == AgentKind::Api && untold {
        SessionLimits {
            wall_ms: API_WALL_MS,
            ..settings.limits
        }
    } else {
        settings.limits
    }
}

fn wants_baseline(
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
            snapshots && agent.kind != AgentKind::Shell && runs
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
        CliError::usage(format!("{retries} retries are more than the cap of {max}")).hint(format!(
            "after {max} corrections what helps is a person: use --retries {max} or less"
        )),
    )
}

/// What must hold. A run that nothing would verify is refused: it could only pretend.
pub(crate) fn verification_plan(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<VerificationPlan, CliError> {
    if task.skip_verification {
        return Ok(VerificationPlan::Skip);
    }
    let outputs = task
        .expected_outputs
        .iter()
        .map(|path| Step::new(StepKind::Output, path));
    let own = task.verification_steps.as_ref().unwrap_or(&settings.checks);
    let steps: Vec<Step> = outputs.chain(own.iter().cloned()).collect();
    if steps.is_empty() && task.verification_steps.is_some() {
        return Ok(VerificationPlan::AutoPass);
    }
    if steps.is_empty() {
        return Err(
            CliError::usage("there is no check: nothing would verify the work")
                .hint("add one: --check 'cargo test' (as often as you like)")
                .hint("or let Selvedge look for checks and write them down: selvedge init")
                .hint("or say that nothing is to be verified: --no-verify"),
        );
    }
    for step in &steps {
        validate_check(step, settings, dir, in_git)?;
    }
    Ok(VerificationPlan::Steps { steps })
}

/// Refuses a check that could not run even once, before any money is spent on an agent.
fn validate_check(
    step: &Step,
    settings: &ResolvedConfig,
    dir: &Path,
    in_git: bool,
) -> Result<(), CliError> {
    let label = step.label();
    match step.kind {
        StepKind::GitClean if !in_git => Err(CliError::usage(format!(
            "`git_clean` needs a git repository; {} is in none",
            dir.display()
        ))
        .hint("`git init` makes one; or leave the check out")),
        StepKind::Command | StepKind::TestPasses | StepKind::Plugin => {
            if step.target.trim().is_empty() {
                return Err(CliError::usage(format!(
                    "check `{label}` has no command line"
                )));
            }
            match first_program(&step.target).filter(|_| !settings.sandbox.checks_in_image()) {
                // A program of the work may not exist yet: the agent may be about to write it.
                Some(program) if !program.contains('/') && !is_program_available(program, dir) => {
                    Err(CliError::usage(format!(
                        "check `{label}`: there is no program `{program}`"
                    ))
                    .hint(format!(
                        "install `{program}`, or mend the check's command line"
                    )))
                }
                _ => Ok(()),
            }
        }
        StepKind::Syntax | StepKind::ToolCalls => Err(CliError::usage(format!(
            "no check can be of the type `{}`: it is looked at of its own accord",
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
            "not a git repository: no snapshots are taken, so nothing can be put back and a stuck run \
             is not noticed (`git init` to have them)"
                .to_owned(),
        );
    }
    match verification {
        VerificationPlan::Steps { .. } => {}
        VerificationPlan::Skip => {
            notices.push("verification is switched off: the work will be unchecked".to_owned());
        }
        VerificationPlan::AutoPass => {
            notices
                .push("the task's list of checks is empty: the work will be unchecked".to_owned());
        }
    }
    notices.extend(agent_caveats(settings, agent));
    notices
}

/// What this agent does not give: being tried, and a hold to the limits that are set.
fn agent_caveats(settings: &ResolvedConfig, agent: &AgentSpec) -> Vec<String> {
    let known = agent.kind.capabilities();
    let name = &agent.name;
    let mut notices = Vec::new();
    if known.is_experimental {
        notices.push(format!(
            "agent `{name}` is experimental: it is read as its makers document it, and was never tried"
        ));
    }
    if settings.limits.max_turns.is_some() && !known.supports_turn_limit {
        notices.push(format!(
            "agent `{name}` has no limit on turns: `max_turns` does not hold, only the limits on time do"
        ));
    }
    notices
}
