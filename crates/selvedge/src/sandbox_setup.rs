//! Sets up the sandbox of agents and checks when a command begins, and reports it to the user.

use std::path::Path;

use selvedge_core::model::{SandboxBackend, SandboxSpec};
use selvedge_engine::agents::env;
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{self, SandboxContext, SandboxPair};

use crate::error::CliError;
use crate::local::StateDir;
use crate::terminal::one_line;

/// Sets up the sandbox, or fails if it is required and unavailable. If it is optional and unavailable, prints a warning
/// to standard error.
pub(crate) async fn set_up_sandbox(
    spec: &SandboxSpec,
    workspace: &Path,
    home: &StateDir,
) -> Result<SandboxPair, CliError> {
    let context = SandboxContext {
        workspace: workspace.to_owned(),
        state: home.root().to_owned(),
        environment: env::host_env(),
    };
    let sandboxes = sandbox::set_up_sandboxes(spec, &context, &Supervisor::this_program()).await;
    let sandboxes = sandboxes.map_err(|refused| {
        let what_works = if matches!(
            spec.backend,
            SandboxBackend::Podman | SandboxBackend::Docker
        ) {
            "`selvedge doctor` shows the available sandboxes; docs/reference/sandbox.md lists what containers need"
        } else {
            "`selvedge doctor` shows the available sandboxes; on Debian and Ubuntu: apt install bubblewrap"
        };
        CliError::infrastructure(refused)
            .hint(what_works)
            .hint("to run without a sandbox: --sandbox none")
    })?;
    if let Some(why) = sandboxes
        .unavailable_reason
        .as_ref()
        .filter(|_| spec.backend == SandboxBackend::Auto)
    {
        let why = one_line(why, 300);
        errln!("no sandbox: agents and checks run with your permissions ({why})");
    }
    Ok(sandboxes)
}
