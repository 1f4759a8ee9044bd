//! Arguments of all commands that run checks.

use clap::Args;
use selvedge_core::config::Flags;

use super::values::variable_name;

/// Options of checks.
#[derive(Debug, Default, Args)]
pub(crate) struct CheckArgs {
    /// Command that must exit with 0. Repeatable; replaces the configured checks.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// Time limit for each verification [default: 120s].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) verification_timeout: Option<String>,
    /// Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none`
    /// [default: auto].
    #[arg(long, value_name = "BACKEND")]
    pub(crate) sandbox: Option<String>,
    /// Environment variable that checks see, in addition to those that builds usually need. Repeatable.
    #[arg(long, value_name = "NAME", value_parser = variable_name)]
    pub(crate) check_env: Vec<String>,
}

impl CheckArgs {
    /// The arguments that override settings.
    pub(crate) fn flags(&self) -> Flags {
        Flags {
            checks: self.checks.clone(),
            verification_timeout: self.verification_timeout.clone(),
            sandbox: self.sandbox.clone(),
            check_env: self.check_env.clone(),
            ..Flags::default()
        }
    }
}
