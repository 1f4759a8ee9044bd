//! Checks carried out once, outside any run: for `verify`, and for `init`, which tries what it
//! proposes. Nothing stays behind.

use std::path::Path;
use std::time::Duration;

use selvedge_core::model::{Report, TaskId, Timestamp, VerificationPlan};
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{Verification, verify};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::error::CliError;

/// Carries out a plan in a directory.
pub(super) async fn once(
    plan: VerificationPlan,
    dir: &Path,
    limit: Duration,
    progress: &dyn Progress,
) -> Result<Report, CliError> {
    let outputs = tempfile::tempdir().map_err(CliError::infrastructure)?;
    let verification = Verification {
        task_id: TaskId::new(Uuid::now_v7()),
        run_number: 1,
        plan,
        limit,
        workspace: dir.to_owned(),
        run_dir: outputs.path().to_owned(),
        tag: Uuid::now_v7().to_string(),
        lock: outputs.path().join("processes.lock"),
        supervisor: Supervisor::this_program(),
        trees: None,
        protection: None,
        began: Timestamp::now(),
        baseline: Vec::new(),
        rerun_failed: false,
        last_green: Vec::new(),
        started_at: Timestamp::now(),
    };
    let never = CancellationToken::new();
    let verified = verify(&verification, progress, &never).await;
    verification.supervisor.retire().await;
    let mut report = verified.map_err(CliError::infrastructure)?;
    // The outputs go with this function, so nothing may point at them.
    report
        .checks
        .iter_mut()
        .for_each(|check| check.output_ref = None);
    Ok(report)
}

/// What the checks run on.
pub(super) fn runtime() -> Result<Runtime, CliError> {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)
}
