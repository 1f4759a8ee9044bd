//! Carrying a run through in this process: lock, journal, driver, signals, verdict, exit code.
//! `run`, `demo` and `resume` differ only in what they launch.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::machine::{Control, Input, Run, State};
use selvedge_core::model::{Outcome, RunId, RunSpec, Timestamp, exit_code};
use selvedge_engine::process::{Liveness, Supervisor, sweep_run, wait_until_dead};
use selvedge_engine::workspace::{LockError, WorkspaceLock};
use selvedge_engine::{DriveError, Driver, Observer, Site, Stop};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use uuid::Uuid;

use crate::error::CliError;
use crate::local::{Home, JournalSink};
use crate::output::human::Human;
use crate::output::{Format, human, json};

/// How long the supervisors of a run that died may take to end its processes.
const OLD_TREE: Duration = Duration::from_secs(15);

/// Begins a run and carries it through.
pub(crate) fn begin(home: &Home, spec: RunSpec, format: Format) -> Result<u8, CliError> {
    let run_id = RunId::new(Uuid::now_v7());
    let workspace = spec.workspace.clone();
    let snapshots = spec.snapshots;
    let input = Input::Create {
        spec: Box::new(spec),
    };
    let _lock = lock(home, &workspace, run_id)?;
    let launch = Launch {
        run_id,
        workspace: &workspace,
        snapshots,
        format,
    };
    launch.carry(home, State::default(), input)
}

/// Takes up a run that stopped before its end.
pub(crate) fn resume(home: &Home, state: State, format: Format) -> Result<u8, CliError> {
    if let Some(run) = &state.run {
        refuse_to_resume(&state, run)?;
    }
    go_on(home, state, Input::Resume, format)
}

/// Tells a run that stands still something, and carries it on from there.
pub(crate) fn go_on(
    home: &Home,
    state: State,
    input: Input,
    format: Format,
) -> Result<u8, CliError> {
    let Some(run) = state.run.clone() else {
        return Err(CliError::usage("the run's journal is empty"));
    };
    let _lock = lock(home, &run.spec.workspace, run.run_id)?;
    let launch = Launch {
        run_id: run.run_id,
        workspace: &run.spec.workspace,
        snapshots: run.spec.snapshots,
        format,
    };
    launch.carry(home, state, input)
}

fn refuse_to_resume(state: &State, run: &Run) -> Result<(), CliError> {
    let short = run.run_id.short();
    if !state.unknown.is_empty() {
        let unknown = state.unknown.join(", ");
        return Err(CliError::usage(format!(
            "run {short} was written by a later release (unknown events: {unknown})"
        ))
        .hint("resume it with that release"));
    }
    if run.finished {
        let outcome = run.outcome().as_str();
        return Err(
            CliError::usage(format!("run {short} is finished: {outcome}"))
                .hint(format!("`selvedge show {short}` tells its story")),
        );
    }
    if run.review.is_some() {
        return Err(
            CliError::usage(format!("run {short} waits for a person's decision")).hint(format!(
                "selvedge review {short} --accept, or --reject --reason TEXT"
            )),
        );
    }
    Ok(())
}

/// Keeps every other run out of the directory.
pub(crate) fn lock(
    home: &Home,
    workspace: &Path,
    run_id: RunId,
) -> Result<WorkspaceLock, CliError> {
    WorkspaceLock::lock(home.root(), workspace, &run_id.to_string()).map_err(|error| match error {
        LockError::Held { run_id, .. } => {
            let error = CliError::usage(format!("run {run_id} is at work in this directory"));
            error.hint("wait for it, stop it, or work in another directory (--dir)")
        }
        LockError::Workspace(error) => CliError::infrastructure(error),
    })
}

struct Launch<'a> {
    run_id: RunId,
    workspace: &'a Path,
    snapshots: bool,
    format: Format,
}

impl Launch<'_> {
    fn carry(&self, home: &Home, state: State, first: Input) -> Result<u8, CliError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .map_err(CliError::infrastructure)?;
        let code = runtime.block_on(self.carry_within(home, state, first));
        // Whatever still blocks (a capture of a pipe that something holds open) must not hold us.
        runtime.shutdown_timeout(Duration::from_millis(200));
        code
    }

    async fn carry_within(&self, home: &Home, state: State, first: Input) -> Result<u8, CliError> {
        let journal = home.journal()?;
        let site = self.site(home)?;
        if matches!(first, Input::Resume) {
            prove_dead(&site, self.run_id).await?;
        }
        let sink = JournalSink::new(journal, self.run_id);
        let (stop, signalled) = signals()?;
        let observer: Box<dyn Observer> = match self.format {
            Format::Human => Box::new(Human::new()),
            Format::Json => Box::new(json::Machine { events: false }),
            Format::Jsonl => Box::new(json::Machine { events: true }),
        };
        let mut driver = Driver {
            sink: &sink,
            site: &site,
            observer: observer.as_ref(),
            now: Timestamp::now,
            stop,
        };
        let driven = driver.drive(self.run_id, state, first).await;
        site.agents.retire().await;
        site.checks.retire().await;
        let state = driven.map_err(|error| match error {
            DriveError::Illegal(error) => CliError::usage(error),
            error => CliError::infrastructure(error).hint(format!(
                "once mended: selvedge resume {}",
                self.run_id.short()
            )),
        })?;
        let Some(run) = &state.run else {
            return Err(CliError::infrastructure("the run has no state"));
        };
        match self.format {
            Format::Human => anstream::print!("{}", human::verdict(run)),
            Format::Json | Format::Jsonl => json::print(&run.result()),
        }
        Ok(code_of(run, *signalled.borrow()))
    }

    fn site(&self, home: &Home) -> Result<Site, CliError> {
        let workspace = if self.snapshots {
            Some(home.workspace(self.workspace).map_err(CliError::usage)?)
        } else {
            None
        };
        Ok(Site {
            run_dir: home.make_run_dir(self.run_id)?,
            workspace,
            remembered: home.root().join("baselines"),
            agents: Supervisor::this_program(),
            checks: Supervisor::this_program(),
        })
    }
}

/// Resuming begins only when nothing of the old process tree lives: its supervisors end it when
/// their parent dies, and hold a lock until they have. A supervisor that was itself killed, or
/// stopped, left its tree behind: the mark in its environment gives it away.
async fn prove_dead(site: &Site, run_id: RunId) -> Result<(), CliError> {
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

async fn old_tree(site: &Site) -> Result<Liveness, CliError> {
    let lock = site.lock();
    let looked = wait_until_dead(&lock, OLD_TREE).await;
    let lock = lock.display();
    looked.map_err(|error| CliError::infrastructure(format!("cannot look at {lock}: {error}")))
}

/// The exit code of the signal that stopped the run, for when it did.
type Signalled = watch::Receiver<u8>;

/// The first signal asks the run to stop for now; the second ends this program at once, and the
/// supervisors end everything else.
fn signals() -> Result<(watch::Receiver<Option<Stop>>, Signalled), CliError> {
    let (wish, stop) = watch::channel(None);
    let (which, signalled) = watch::channel(exit_code::INTERRUPTED);
    let wish = Arc::new(wish);
    let which = Arc::new(which);
    let kinds = [
        (SignalKind::interrupt(), exit_code::INTERRUPTED, "Ctrl-C"),
        (SignalKind::terminate(), exit_code::TERMINATED, "SIGTERM"),
        (SignalKind::hangup(), exit_code::TERMINATED, "SIGHUP"),
    ];
    for (kind, code, name) in kinds {
        let mut signals = signal(kind).map_err(CliError::infrastructure)?;
        let (wish, which) = (Arc::clone(&wish), Arc::clone(&which));
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if wish.borrow().is_some() {
                    std::process::exit(code.into());
                }
                which.send_replace(code);
                wish.send_replace(Some(Stop::Suspend(name.to_owned())));
            }
        });
    }
    Ok((stop, signalled))
}

fn code_of(run: &Run, signalled: u8) -> u8 {
    match run.outcome() {
        Outcome::Interrupted if run.control == Control::Suspended => signalled,
        outcome => outcome.exit_code(),
    }
}
