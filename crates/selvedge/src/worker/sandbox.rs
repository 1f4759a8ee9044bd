//! What a worker tells its hub of the walls around agents and checks: those that its settings come to on
//! this machine. A task's repository may make them narrower.

use std::path::Path;

use selvedge_core::config::Flags;
use selvedge_engine::agents::env;
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{SandboxContext, WorkspaceSandbox, set_up_sandboxes};

use crate::settings;

/// In a few words; none when that cannot be known.
pub(super) async fn describe_sandbox(
    root: &Path,
    environment: &[(String, String)],
) -> Option<String> {
    let settings = settings::load(root, &Flags::default(), environment).ok()?;
    let scene = SandboxContext {
        workspace: root.to_owned(),
        state: root.to_owned(),
        environment: env::host_env(),
    };
    let supervisor = Supervisor::this_program();
    let raised = match set_up_sandboxes(&settings.resolved.sandbox, &scene, &supervisor).await {
        Ok(raised) => raised,
        Err(refused) => return Some(format!("refused: {refused}")),
    };
    let word = |walls: &Option<WorkspaceSandbox>| match walls {
        Some(walls) => {
            let held = walls.verified_restrictions();
            format!("{} ({})", held.backend.name(), held.profile.name())
        }
        None => "none".to_owned(),
    };
    let (agents, checks) = (word(&raised.agents), word(&raised.checks));
    Some(if agents == checks {
        agents
    } else {
        format!("agents {agents}, checks {checks}")
    })
}
