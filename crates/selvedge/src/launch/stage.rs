//! What all runs of one command share, and one run carried through on it.

use std::time::Duration;

use selvedge_core::machine::{Input, State};
use selvedge_core::model::{RunId, RunSpec, Timestamp};
use selvedge_engine::process::{Liveness, Supervisor, sweep_run, wait_until_dead};
use selvedge_engine::{DriveError, Driver, Observer, Rooms, Site};

use super::signals::Signals;
use crate::error::CliError;
use crate::local::{Home, JournalSink};
use crate::output::{Output, Watch, watch};
use crate::{secrets, walls};

/// How long the supervisors of a run that died may take to end its processes.
const OLD_TREE: Duration = Duration::from_secs(15);

/// Where runs take place: what keeps them, who watches, who may stop them.
pub(super) struct Stage<'a> {
    pub(super) home: &'a Home,
    pub(super) output: &'a Output,
    pub(super) watch: Box<dyn Watch + 'a>,
    pub(super) signals: Signals,
}

/// Sets the stage for as long as something takes place on it.
pub(super) fn on_stage<F>(home: &Home, output: &Output, play: F) -> Result<u8, CliError>
where
    F: AsyncFnOnce(&Stage<'_>) -> Result<u8, CliError>,
{
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(CliError::infrastructure)?;
    let code = runtime.block_on(async {
        let stage = Stage {
            home,
            output,
            watch: watch(output),
            signals: Signals::listen()?,
        };
        play(&stage).await
    });
    // Whatever still blocks (a capture of a pipe that something holds open) must not hold us.
    runtime.shutdown_timeout(Duration::from_millis(200));
    code
}

impl Stage<'_> {
    /// Tells a run something, and carries it on to where it stops by itself.
    pub(super) async fn carry(
        &self,
        run_id: RunId,
        spec: &RunSpec,
        state: State,
        first: Input,
        observer: &dyn Observer,
    ) -> Result<State, CliError> {
        let journal = self.home.journal()?;
        let site = self.site(run_id, spec).await?;
        if matches!(first, Input::Resume) {
            prove_dead(&site, run_id).await?;
        }
        let sink = JournalSink::new(journal, run_id);
        let mut driver = Driver {
            sink: &sink,
            site: &site,
            observer,
            now: Timestamp::now,
            stop: self.signals.stop.clone(),
        };
        let driven = Box::pin(driver.drive(run_id, state, first)).await;
        site.agents.retire().await;
        site.checks.retire().await;
        driven.map_err(|error| match error {
            DriveError::Illegal(error) => CliError::usage(error),
            error => CliError::infrastructure(error)
                .hint(format!("once mended: selvedge resume {}", run_id.short())),
        })
    }

    async fn site(&self, run_id: RunId, spec: &RunSpec) -> Result<Site, CliError> {
        let workspace = if spec.snapshots {
            let workspace = self.home.workspace(&spec.workspace);
            Some(workspace.map_err(CliError::usage)?)
        } else {
            None
        };
        let raised = walls::raise(&spec.sandbox, &spec.workspace, self.home).await?;
        let redactor = secrets::of_run(spec);
        Ok(Site {
            run_dir: self.home.make_run_dir(run_id)?,
            workspace,
            remembered: self.home.root().join("baselines"),
            rooms: Rooms::default(),
            agents: Supervisor::this_program()
                .within(raised.agents)
                .redacting(redactor.clone()),
            checks: Supervisor::this_program()
                .within(raised.checks)
                .redacting(redactor)
                .showing(&spec.environment.checks),
        })
    }
}

/// Resuming begins only when nothing of the old process tree lives: its supervisors end it when
/// their parent dies, and hold a lock until they have. A supervisor that was itself killed, or
/// stopped, left its tree behind: the mark in its environment gives it away.
pub(crate) async fn prove_dead(site: &Site, run_id: RunId) -> Result<(), CliError> {
    let _ = old_tree(site).await?;
    let swept = tokio::task::spawn_blocking(move || sweep_run(&run_id.to_string()));
    let swept = swept.await.map_err(CliError::infrastructure)?;
    if !swept.survivors.is_empty() {
        return Err(CliError::infrastructure(
            "processes of this run cannot be ended",
        ));
    }
    match old_tree(site).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => {
            let error = CliError::infrastructure("processes of this run are still being ended");
            Err(error.hint("try again in a moment"))
        }
    }
}

/// Waits until nothing lives of what this program started itself: its supervisors end it. Nothing is
/// looked for by marks, which a run bears on every worker of this machine.
pub(crate) async fn wait_for_end(site: &Site) -> Result<(), CliError> {
    match old_tree(site).await? {
        Liveness::Dead => Ok(()),
        Liveness::Alive => Err(CliError::infrastructure(
            "processes of this run are still being ended",
        )),
    }
}

async fn old_tree(site: &Site) -> Result<Liveness, CliError> {
    let lock = site.lock();
    let looked = wait_until_dead(&lock, OLD_TREE).await;
    let lock = lock.display();
    looked.map_err(|error| CliError::infrastructure(format!("cannot look at {lock}: {error}")))
}
