//! What all runs of one command share, and one run carried through on it.

use std::time::Duration;

use selvedge_core::machine::{Input, JournalState};
use selvedge_core::model::{RunId, RunSpec, Timestamp};
use selvedge_engine::process::{Liveness, Supervisor, kill_run_processes, wait_until_dead};
use selvedge_engine::{DriveError, Driver, Observer, RunContext, VerificationRoomSlot};

use super::signals::StopSignals;
use crate::error::CliError;
use crate::local::{JournalSink, StateDir};
use crate::output::{OutputOptions, Reporter, reporter_for};
use crate::{sandbox_setup, secrets};

/// How long the supervisors of a run that died may take to end its processes.
const LEFTOVER_TIMEOUT: Duration = Duration::from_secs(15);

/// Where runs take place: what keeps them, who watches, who may stop them.
pub(super) struct CommandContext<'a> {
    pub(super) home: &'a StateDir,
    pub(super) output: &'a OutputOptions,
    pub(super) reporter: Box<dyn Reporter + 'a>,
    pub(super) signals: StopSignals,
}

/// Sets the stage for as long as something takes place on it.
pub(super) fn with_command_context<F>(
    home: &StateDir,
    output: &OutputOptions,
    play: F,
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
        let stage = CommandContext {
            home,
            output,
            reporter: reporter_for(output),
            signals: StopSignals::listen()?,
        };
        play(&stage).await
    });
    // Whatever still blocks (a capture of a pipe that something holds open) must not hold us.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

impl CommandContext<'_> {
    /// Tells a run something, and carries it on to where it stops by itself.
    pub(super) async fn drive_run(
        &self,
        run_id: RunId,
        spec: &RunSpec,
        state: JournalState,
        first: Input,
        observer: &dyn Observer,
    ) -> Result<JournalState, CliError> {
        let journal = self.home.open_journal()?;
        let site = self.build_run_context(run_id, spec).await?;
        if matches!(first, Input::Resume) {
            ensure_no_leftover_processes(&site, run_id).await?;
        }
        let sink = JournalSink::new(journal, run_id);
        let mut driver = Driver {
            sink: &sink,
            context: &site,
            observer,
            now: Timestamp::now,
            stop: self.signals.stop.clone(),
        };
        let driven = Box::pin(driver.drive(run_id, state, first)).await;
        site.agents.shutdown().await;
        site.checks.shutdown().await;
        driven.map_err(|error| match error {
            DriveError::IllegalInput(error) => CliError::usage(error),
            error => CliError::infrastructure(error)
                .hint(format!("once mended: selvedge resume {}", run_id.short())),
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
        let raised =
            sandbox_setup::set_up_sandbox(&spec.sandbox, &spec.workspace, self.home).await?;
        let redactor = secrets::run_redactor(spec);
        Ok(RunContext {
            run_dir: self.home.create_run_dir(run_id)?,
            workspace,
            baseline_cache: self.home.root().join("baselines"),
            verification_rooms: VerificationRoomSlot::default(),
            agents: Supervisor::this_program()
                .with_sandbox(raised.agents)
                .with_redactor(redactor.clone()),
            checks: Supervisor::this_program()
                .with_sandbox(raised.checks)
                .with_redactor(redactor)
                .with_env_allowlist(&spec.environment.checks),
        })
    }
}

/// Resuming begins only when nothing of the old process tree lives: its supervisors end it when
/// their parent dies, and hold a lock until they have. A supervisor that was itself killed, or
/// stopped, left its tree behind: the mark in its environment gives it away.
pub(crate) async fn ensure_no_leftover_processes(
    site: &RunContext,
    run_id: RunId,
) -> Result<(), CliError> {
    let _ = wait_for_supervisors(site).await?;
    let swept = tokio::task::spawn_blocking(move || kill_run_processes(&run_id.to_string()));
    let swept = swept.await.map_err(CliError::infrastructure)?;
    if !swept.survivors.is_empty() {
        return Err(CliError::infrastructure(
            "processes of this run cannot be ended",
        ));
    }
    match wait_for_supervisors(site).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => {
            let error = CliError::infrastructure("processes of this run are still being ended");
            Err(error.hint("try again in a moment"))
        }
    }
}

/// Waits until nothing lives of what this program started itself: its supervisors end it. Nothing is
/// looked for by marks, which a run bears on every worker of this machine.
pub(crate) async fn wait_for_own_processes(site: &RunContext) -> Result<(), CliError> {
    match wait_for_supervisors(site).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => Err(CliError::infrastructure(
            "processes of this run are still being ended",
        )),
    }
}

async fn wait_for_supervisors(site: &RunContext) -> Result<Liveness, CliError> {
    let lock = site.lock();
    let looked = wait_until_dead(&lock, LEFTOVER_TIMEOUT).await;
    let lock = lock.display();
    looked.map_err(|error| CliError::infrastructure(format!("cannot look at {lock}: {error}")))
}
