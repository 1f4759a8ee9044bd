//! Describes the sandbox of agents and checks to the hub: the one that the worker's settings select on this machine. A
//! task's repository may restrict it further.

use std::path::Path;

use selvedge_core::model::SandboxSpec;
use selvedge_engine::agents::env;
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{SandboxContext, WorkspaceSandbox, set_up_sandboxes};

/// The sandbox of this machine, as the hub shows it.
#[derive(Debug)]
pub(super) struct SandboxDescription {
    /// In a few words.
    pub(super) description: String,
    /// The backends that work.
    pub(super) backends: Vec<String>,
    /// Why the required sandbox is not available.
    pub(super) problem: Option<String>,
}

/// Sets the sandboxes up once and describes them.
pub(super) async fn describe_sandbox(settings: &SandboxSpec, root: &Path) -> SandboxDescription {
    let context = SandboxContext {
        workspace: root.to_owned(),
        state: root.to_owned(),
        environment: env::host_env(),
    };
    let supervisor = Supervisor::this_program();
    let sandboxes = match set_up_sandboxes(settings, &context, &supervisor).await {
        Ok(sandboxes) => sandboxes,
        Err(refused) => {
            return SandboxDescription {
                description: format!("not available: {refused}"),
                backends: Vec::new(),
                problem: Some(format!("the required sandbox is not available: {refused}")),
            };
        }
    };
    let describe = |sandbox: &Option<WorkspaceSandbox>| match sandbox {
        Some(sandbox) => {
            let restrictions = sandbox.verified_restrictions();
            format!(
                "{} ({})",
                restrictions.backend.name(),
                restrictions.profile.name()
            )
        }
        None => "none".to_owned(),
    };
    let (agents, checks) = (describe(&sandboxes.agents), describe(&sandboxes.checks));
    let working = sandboxes.agents.iter().chain(&sandboxes.checks);
    let working = working.map(|sandbox| sandbox.verified_restrictions().backend.name().to_owned());
    let mut backends: Vec<String> = working.collect();
    backends.sort();
    backends.dedup();
    SandboxDescription {
        description: if agents == checks {
            agents
        } else {
            format!("agents {agents}, checks {checks}")
        },
        backends,
        problem: None,
    }
}
