//! The parts of a run that depend on this machine: the programs and variables of its agents, its sandbox and its
//! environment. The worker announces them, and a run that another worker began continues with them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_core::config::{Flags, ResolvedConfig};
use selvedge_core::model::{AgentKind, AgentSpec, RunSpec, Task};
use selvedge_core::route::{EXTERNAL_AGENT, SHELL_AGENT, route};
use selvedge_engine::agents::check_program;
use selvedge_protocol::WorkerCapabilities;

use super::sandbox::{SandboxDescription, describe_sandbox};
use super::task_runner::TaskError;
use crate::settings;

/// The capabilities that the worker announces to the hub.
#[derive(Debug)]
pub(super) struct AnnouncedMachine {
    pub(super) capabilities: WorkerCapabilities,
    /// The sandbox in a few words; `None` if the settings cannot be loaded.
    pub(super) sandbox: Option<String>,
}

impl AnnouncedMachine {
    /// Describes this machine by the worker's own settings, without those of any repository. A worker whose settings
    /// cannot be loaded can run no task.
    pub(super) async fn describe(
        root: &Path,
        environment: &[(String, String)],
        folders: &[PathBuf],
    ) -> Self {
        let settings = match settings::load(root, &Flags::default(), environment) {
            Ok(loaded) => loaded.resolved,
            Err(error) => {
                let problem = format!("cannot load the worker's settings: {error}");
                tracing::error!("no task can run: {problem}");
                return Self {
                    capabilities: WorkerCapabilities {
                        problem: Some(format!("{problem}; fix them and restart the worker")),
                        ..WorkerCapabilities::default()
                    },
                    sandbox: None,
                };
            }
        };
        let sandbox = describe_sandbox(&settings.sandbox, root).await;
        Self {
            capabilities: announced_capabilities(&settings, root, &sandbox, folders),
            sandbox: Some(sandbox.description),
        }
    }
}

fn announced_capabilities(
    settings: &ResolvedConfig,
    root: &Path,
    sandbox: &SandboxDescription,
    folders: &[PathBuf],
) -> WorkerCapabilities {
    let in_image = settings.sandbox.agents_in_image();
    let is_installed = |agent: &&AgentSpec| {
        in_image || is_in_workspace(agent) || check_program(agent, root).is_ok()
    };
    let installed = settings.agents.values().filter(is_installed);
    let mut agents: Vec<String> = installed.map(|agent| agent.name.clone()).collect();
    agents.extend([SHELL_AGENT, EXTERNAL_AGENT].map(str::to_owned));
    agents.sort();
    agents.dedup();
    let folders = folders.iter().map(|path| {
        let path = path.to_string_lossy();
        path.trim_end_matches('/').to_owned()
    });
    let mut folders: Vec<String> = folders.collect();
    folders.sort();
    folders.dedup();
    WorkerCapabilities {
        agents,
        folders,
        sandboxes: sandbox.backends.clone(),
        problem: sandbox.problem.clone(),
    }
}

/// Whether the agent's program is a file of the task's workspace.
fn is_in_workspace(agent: &AgentSpec) -> bool {
    let program = agent.program.first().map(Path::new);
    program.is_some_and(|program| program.is_relative() && program.components().count() > 1)
}

/// Replaces what the specification of a run took from the machine that began it: the programs, variables and servers
/// of agents, the sandbox and the environment. Everything that decides about the work stays as recorded. `agents` are
/// those of this machine, `settings` those that apply in the workspace.
pub(super) fn adopt(
    spec: RunSpec,
    settings: &ResolvedConfig,
    agents: &BTreeMap<String, AgentSpec>,
) -> Result<RunSpec, TaskError> {
    let adopt = |recorded: AgentSpec| adopt_agent(recorded, settings, agents, &spec.workspace);
    let agent = adopt(spec.agent.clone())?;
    let escalation = spec.escalation.iter().cloned().map(adopt);
    let escalation = escalation.collect::<Result<_, _>>()?;
    let mut judging = spec.judging.clone();
    if let Some(judging) = &mut judging {
        for judge in &mut judging.judges {
            *judge = adopt(judge.clone())?;
        }
    }
    Ok(RunSpec {
        agent,
        escalation,
        judging,
        sandbox: settings.sandbox.clone(),
        environment: settings.environment.clone(),
        ..spec
    })
}

fn adopt_agent(
    recorded: AgentSpec,
    settings: &ResolvedConfig,
    agents: &BTreeMap<String, AgentSpec>,
    workspace: &Path,
) -> Result<AgentSpec, TaskError> {
    // They run the task's own command, or nothing.
    if matches!(recorded.kind, AgentKind::Shell | AgentKind::External) {
        return Ok(recorded);
    }
    let by_name = Task {
        agent: Some(recorded.name.clone()),
        ..Task::default()
    };
    let own =
        route(&by_name, agents, "").map_err(|error| TaskError::Unsuitable(error.to_string()))?;
    if own.kind != recorded.kind {
        return Err(TaskError::Unsuitable(format!(
            "agent `{}` has kind `{}` on this worker, but the run began with kind `{}`",
            own.name,
            own.kind.name(),
            recorded.kind.name()
        )));
    }
    if !settings.sandbox.agents_in_image() {
        check_program(&own, workspace).map_err(|error| TaskError::Unsuitable(error.to_string()))?;
    }
    Ok(AgentSpec {
        model: recorded.model,
        effort: recorded.effort,
        max_turns: recorded.max_turns,
        price: recorded.price,
        ..own
    })
}
