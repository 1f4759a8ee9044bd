//! What the supervisor and the face behind the walls say to one another: one JSON line each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::SandboxPlan;
use crate::process::{ProcessExit, ResolvedProgram, SystemString};

/// What the face is to become; the program's three streams come along.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ExecRequest {
    pub(crate) program: SystemString,
    pub(crate) name: SystemString,
    pub(crate) args: Vec<SystemString>,
    pub(crate) env: Vec<(SystemString, SystemString)>,
    pub(crate) cwd: SystemString,
    pub(crate) plan: SandboxPlan,
    /// The session's own place for temporary files, as it is called outside.
    pub(crate) temporary: SystemString,
    /// Whether the face stays: it is the first process of a namespace.
    pub(crate) keep: bool,
}

/// What the face says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum InitMessage {
    /// The walls stand.
    Entered,
    /// The program runs, and the face stays.
    Running,
    /// There is no program, or no wall.
    Failed { errno: Option<i32>, message: String },
    /// How the program ended.
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
