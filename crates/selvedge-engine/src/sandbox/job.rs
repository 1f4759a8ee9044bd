//! What the supervisor and the face behind the walls say to one another: one JSON line each.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::plan::Plan;
use crate::process::{Bytes, Exit, Found};

/// What the face is to become; the program's three streams come along.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Job {
    pub(crate) program: Bytes,
    pub(crate) name: Bytes,
    pub(crate) args: Vec<Bytes>,
    pub(crate) env: Vec<(Bytes, Bytes)>,
    pub(crate) cwd: Bytes,
    pub(crate) plan: Plan,
    /// The session's own place for temporary files, as it is called outside.
    pub(crate) temporary: Bytes,
    /// Whether the face stays: it is the first process of a namespace.
    pub(crate) keep: bool,
}

/// What the face says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// The walls stand.
    Entered,
    /// The program runs, and the face stays.
    Running,
    /// There is no program, or no wall.
    Failed { errno: Option<i32>, message: String },
    /// How the program ended.
    Exited(Exit),
}

impl Job {
    pub(crate) fn new(plan: &Plan, found: &Found, temporary: &Path, keep: bool) -> Self {
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
