//! Messages between the supervisor and the sandbox's init process: one JSON line each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::SandboxPlan;
use crate::process::{ProcessExit, ResolvedProgram, SystemString};

/// The program to execute; its three streams are sent along.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExecRequest {
    pub(crate) program: SystemString,
    pub(crate) name: SystemString,
    pub(crate) args: Vec<SystemString>,
    pub(crate) env: Vec<(SystemString, SystemString)>,
    pub(crate) cwd: SystemString,
    pub(crate) plan: SandboxPlan,
    /// The session's own folder for temporary files, as a path outside of the sandbox.
    pub(crate) temporary: SystemString,
    /// Whether the init process remains: it is the first process of a namespace.
    pub(crate) keep: bool,
}

/// A message of the init process.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InitMessage {
    /// The restrictions are applied.
    Entered,
    /// The program runs, and the init process remains.
    Running,
    /// The program could not be started, or a restriction could not be applied.
    Failed { errno: Option<i32>, message: String },
    /// Exit of the program.
    Exited(ProcessExit),
}

impl ExecRequest {
    pub(crate) fn new(
        plan: &SandboxPlan,
        found: &ResolvedProgram,
        temporary: &Path,
        keep: bool,
    ) -> Self {
        Self {
            program: found.program.as_os_str().into(),
            name: found.name.as_os_str().into(),
            args: found
                .args
                .iter()
                .map(|arg| arg.as_os_str().into())
                .collect(),
            env: found
                .env
                .iter()
                .map(|(name, value)| (name.as_os_str().into(), value.as_os_str().into()))
                .collect(),
            cwd: found.cwd.as_os_str().into(),
            plan: plan.clone(),
            temporary: temporary.as_os_str().into(),
            keep,
        }
    }
}
