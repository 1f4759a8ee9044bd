//! Describes the sandbox of agents and checks to the hub: the one that the worker's settings select on this machine. A
//! task's repository may restrict it further.

use std::path::Path;

use selvedge_core::config::Flags;
use selvedge_engine::agents::env;
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{SandboxContext, WorkspaceSandbox, set_up_sandboxes};

use crate::settings;

/// A short description; `None` if the settings cannot be loaded.
pub(super) async fn describe_sandbox(
    root: &Path,
    environment: &[(String, String)],
) -> Option<String> {
    let settings = settings::load(root, &Flags::default(), environment).ok()?;
    let context = SandboxContext {
        workspace: root.to_owned(),
        state: root.to_owned(),
        environment: env::host_env(),
    };
    let supervisor = Supervisor::this_program();
    let sandboxes = match set_up_sandboxes(&settings.resolved.sandbox, &context, &supervisor).await
    {
        Ok(sandboxes) => sandboxes,
        Err(refused) => return Some(format!("not available: {refused}")),
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
    Some(if agents == checks {
        agents
    } else {
        format!("agents {agents}, checks {checks}")
    })
}
