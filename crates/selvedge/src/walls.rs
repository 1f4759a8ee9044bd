//! The walls around agents and checks, raised where a command begins, and what a person is told of them.

use std::path::Path;

use selvedge_core::model::{Backend, SandboxSpec};
use selvedge_engine::agents::env;
use selvedge_engine::process::Supervisor;
use selvedge_engine::sandbox::{self, Raised, Scene};

use crate::error::CliError;
use crate::local::Home;
use crate::output::one_line;

/// Raises them, or refuses where they are required and cannot be built. Walls that were wished for and
/// do not stand are said on standard error.
pub(crate) async fn raise(
    spec: &SandboxSpec,
    workspace: &Path,
    home: &Home,
) -> Result<Raised, CliError> {
    let scene = Scene {
        workspace: workspace.to_owned(),
        state: home.root().to_owned(),
        environment: env::ours(),
    };
    let raised = sandbox::raise(spec, &scene, &Supervisor::this_program()).await;
    let raised = raised.map_err(|refused| {
        let what_works = if matches!(spec.backend, Backend::Podman | Backend::Docker) {
            "`selvedge doctor` says what works here; docs/sandbox.md says what containers need"
        } else {
            "`selvedge doctor` says what works here; Debian and Ubuntu: apt install bubblewrap"
        };
        CliError::infrastructure(refused)
            .hint(what_works)
            .hint("to do without: --sandbox none")
    })?;
    if let Some(why) = raised
        .why_none
        .as_ref()
        .filter(|_| spec.backend == Backend::Auto)
    {
        let why = one_line(why, 300);
        errln!("no sandbox: agents and checks run with your own rights ({why})");
    }
    Ok(raised)
}
