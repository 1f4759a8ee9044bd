//! What every command that runs checks may be told of them.

use clap::Args;
use selvedge_core::config::Flags;

/// How the checks are run.
#[derive(Debug, Default, Args)]
pub(crate) struct CheckArgs {
    /// A command that must exit with 0; may be given several times. Replaces the configured checks.
    #[arg(long = "check", value_name = "CMD")]
    pub(crate) checks: Vec<String>,
    /// Time for each verification run, afresh [default: 120s].
    #[arg(long, value_name = "TIME")]
    pub(crate) verification_timeout: Option<String>,
    /// Sandbox of agents and checks: `auto`, `bubblewrap`, `landlock`, `podman`, `docker` or `none`
    /// [default: auto].
    #[arg(long, value_name = "BACKEND")]
    pub(crate) sandbox: Option<String>,
    /// A variable of yours that checks see besides what builds ordinarily need; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub(crate) check_env: Vec<String>,
}

impl CheckArgs {
    /// The settings among the flags.
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
