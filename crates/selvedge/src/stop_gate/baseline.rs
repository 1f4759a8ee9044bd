//! The baseline of a session: taken in the background when the work begins, or at the latest when the agent wants to
//! stop. It runs in a copy of the files, so the agent may change them meanwhile.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use selvedge_core::model::Baseline;
use selvedge_engine::activity::Progress;

use super::session::{GateSession, SessionTask};
use super::store::{StoredBaseline, load_baseline, lock_baseline, save_baseline};
use super::verification;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::json::JsonReporter;
use crate::settings::environment;

/// Starts to take the baseline in a process of its own, which outlives the hook's.
pub(super) fn spawn(folder: &Path) {
    let Ok(program) = std::env::current_exe() else {
        return;
    };
    // If it cannot be started, the baseline is taken when the agent wants to stop.
    let _ = Command::new(program)
        .arg("__gate-baseline")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
}

/// `selvedge __gate-baseline FOLDER`: takes the baseline of the session in this folder.
pub(crate) fn baseline_main(args: &[OsString]) -> ExitCode {
    match args {
        [folder] if take(Path::new(folder)).is_ok() => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn take(folder: &Path) -> Result<(), CliError> {
    let home = StateDir::from_environment(&environment())?;
    let text = std::fs::read(folder.join("session.json")).map_err(CliError::infrastructure)?;
    let session: GateSession = serde_json::from_slice(&text).map_err(CliError::infrastructure)?;
    let Some(task) = session.task else {
        return Ok(());
    };
    let progress = JsonReporter::default();
    let runtime = super::gate::build_runtime()?;
    runtime.block_on(take_or_reuse(&home, folder, &task, &progress))?;
    Ok(())
}

/// The baseline of a task; `None` if there is nothing to compare with.
pub(super) async fn take_or_reuse(
    home: &StateDir,
    folder: &Path,
    task: &SessionTask,
    progress: &dyn Progress,
) -> Result<Option<Baseline>, CliError> {
    let Some(start) = task.start.as_ref().filter(|_| task.spec.baseline) else {
        return Ok(None);
    };
    let lock = folder.to_owned();
    let lock = tokio::task::spawn_blocking(move || lock_baseline(&lock)).await;
    let _lock = lock
        .map_err(CliError::infrastructure)?
        .map_err(CliError::infrastructure)?;
    if let Some(stored) = load_baseline(folder, &start.repository) {
        return Ok(stored.baseline);
    }
    let baseline = verification::take_baseline(home, &task.spec, start, progress).await?;
    let stored = StoredBaseline {
        tree: start.repository.clone(),
        baseline: baseline.clone(),
    };
    save_baseline(folder, &stored).map_err(CliError::infrastructure)?;
    Ok(baseline)
}
