//! The context that all runs of one command share, and driving one run in it.

use std::time::Duration;

use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{RunId, RunSpec, Timestamp};
use selvedge_engine::process::{Liveness, Supervisor, kill_run_processes, wait_until_dead};
use selvedge_engine::{DriveError, Driver, Observer, RunContext, VerificationRoomSlot};

use super::signals::StopSignals;
use crate::error::CliError;
use crate::local::{JournalSink, StateDir, check_slots};
use crate::output::{OutputOptions, Reporter, print_notice, reporter_for};
use crate::settings::environment;
use crate::telemetry::Telemetry;
use crate::{sandbox_setup, secrets};

/// How long the supervisors of a dead run may take to end its processes.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(15);

/// The state directory, reporter and signals that the runs of a command share.
pub(super) struct CommandContext<'a> {
    pub(super) home: &'a StateDir,
    pub(super) output: &'a OutputOptions,
    pub(super) reporter: Box<dyn Reporter + 'a>,
    pub(super) signals: StopSignals,
    telemetry: Telemetry,
}

/// Runs `play` with a new context.
pub(super) fn with_command_context<F>(
    home: &StateDir,
    output: &OutputOptions,
    command: F,
) -> Result<u8, CliError>
where
    F: AsyncFnOnce(&CommandContext<'_>) -> Result<u8, CliError>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let code = runtime.block_on(async {
        let (telemetry, problems) = Telemetry::start(&environment());
        for problem in problems {
            print_notice(&problem);
        }
        let context = CommandContext {
            home,
            output,
            reporter: reporter_for(output),
            signals: StopSignals::listen()?,
            telemetry,
        };
        let code = command(&context).await;
        if let Some(error) = context.telemetry.finish().await {
            print_notice(&format!("traces were not exported completely: {error}"));
        }
        code
    });
    // Do not wait for blocked threads, such as one that reads a pipe that another process holds open.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

impl CommandContext<'_> {
    /// Applies an input to a run, and drives the run until it ends, is stopped, or awaits review.
    pub(super) async fn drive_run(
        &self,
        run_id: RunId,
        spec: &RunSpec,
        state: JournalState,
        first: Input,
        observer: &dyn Observer,
    ) -> Result<JournalState, CliError> {
        let journal = self.home.open_journal()?;
        let run_context = self.build_run_context(run_id, spec).await?;
        if matches!(first, Input::Resume) {
            ensure_no_leftover_processes(&run_context, run_id).await?;
        }
        let sink = JournalSink::new(journal, run_id);
        let observer = self.telemetry.observe(run_id, observer);
        let mut driver = Driver {
            sink: &sink,
            context: &run_context,
            observer: &observer,
            now: Timestamp::now,
            suspends_waits: false,
            stop: self.signals.stop.clone(),
        };
        let driven = Box::pin(driver.drive(run_id, state, first)).await;
        run_context.agents.shutdown().await;
        run_context.checks.shutdown().await;
        driven.map_err(|error| match error {
            DriveError::IllegalInput(error) => CliError::usage(error),
            error => CliError::infrastructure(error).hint(format!(
                "after fixing the cause: selvedge resume {}",
                run_id.short()
            )),
        })
    }

    async fn build_run_context(
        &self,
        run_id: RunId,
        spec: &RunSpec,
    ) -> Result<RunContext, CliError> {
        let workspace = if spec.snapshots {
            let workspace = self.home.open_workspace(&spec.workspace);
            Some(workspace.map_err(CliError::usage)?)
        } else {
            None
        };
        let sandboxes =
            sandbox_setup::set_up_sandbox(&spec.sandbox, &spec.workspace, self.home).await?;
        let redactor = secrets::run_redactor(spec);
        Ok(RunContext {
            run_dir: self.home.create_run_dir(run_id)?,
            workspace,
            baseline_cache: self.home.root().join("baselines"),
            verification_rooms: VerificationRoomSlot::default(),
            agents: Supervisor::this_program()
                .with_sandbox(sandboxes.agents)
                .with_redactor(redactor.clone()),
            checks: Supervisor::this_program()
                .with_sandbox(sandboxes.checks)
                .with_redactor(redactor)
                .with_env_allowlist(&spec.environment.checks)
                .with_check_slots(check_slots(&spec.environment)),
        })
    }
}

/// Ensures that no process of the run is left before it is resumed. Supervisors end their processes when their parent
/// dies, and hold a lock until then. If a supervisor itself was killed or stopped, its processes are found by the run's
/// mark in their environment.
pub(crate) async fn ensure_no_leftover_processes(
    run_context: &RunContext,
    run_id: RunId,
) -> Result<(), CliError> {
    let _ = wait_for_supervisors(run_context).await?;
    let swept = tokio::task::spawn_blocking(move || kill_run_processes(&run_id.to_string()));
    let swept = swept.await.map_err(CliError::infrastructure)?;
    if !swept.survivors.is_empty() {
        return Err(CliError::infrastructure(
            "processes of this run cannot be terminated",
        ));
    }
    match wait_for_supervisors(run_context).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => {
            let error =
                CliError::infrastructure("processes of this run are still being terminated");
            Err(error.hint("try again in a moment"))
        }
    }
}

/// Waits until the supervisors have ended all processes that this program started for the run. Does not search for
/// marked processes, because the run may have processes of another worker on this machine.
pub(crate) async fn wait_for_own_processes(run_context: &RunContext) -> Result<(), CliError> {
    match wait_for_supervisors(run_context).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => Err(CliError::infrastructure(
            "processes of this run are still being terminated",
        )),
    }
}

async fn wait_for_supervisors(run_context: &RunContext) -> Result<Liveness, CliError> {
    let lock = run_context.lock();
    let looked = wait_until_dead(&lock, LEFTOVER_TIMEOUT).await;
    let lock = lock.display();
    looked.map_err(|error| CliError::infrastructure(format!("cannot check {lock}: {error}")))
}
