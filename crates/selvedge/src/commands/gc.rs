//! `selvedge gc`: removes what stands in the state directory for nobody any more. What a run that is not
//! over may still need is never touched, nor any journal.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use selvedge_core::model::{RunId, exit_code};
use selvedge_engine::sandbox::{AgentCaches, clear_abandoned, remove_folder};
use selvedge_engine::workspace::file_name_for;
use selvedge_store::{Journal, RunFilter, RunSummary, SqliteJournal, Standing};
use serde::Serialize;

use super::environment;
use crate::cli::GcArgs;
use crate::error::CliError;
use crate::local::{Home, Own, disk};
use crate::output::json;
use selvedge_core::words::counted;

/// How long the room of a run is kept that nobody goes on with.
const ROOMS: Duration = Duration::from_hours(7 * 24);
/// How long the result of a baseline is remembered.
const BASELINES: Duration = Duration::from_hours(30 * 24);

/// What the caches of agents may take up together, in bytes; the least recently used ones are removed first.
const AGENT_CACHES: u64 = 10_000_000_000;

/// Caches that were used since then stay, whatever they take up: an agent may be at work with them.
const RECENT: Duration = Duration::from_hours(24);

/// Something that can go.
#[derive(Debug, Serialize)]
struct Waste {
    /// What it is.
    what: &'static str,
    /// Where it is.
    path: PathBuf,
    /// What room it takes, in bytes.
    bytes: u64,
}

/// What was removed, or would be.
#[derive(Debug, Serialize)]
struct Gone {
    dry_run: bool,
    bytes: u64,
    removed: Vec<Waste>,
}

pub(super) fn run(args: &GcArgs) -> Result<u8, CliError> {
    let home = Home::find(&environment())?;
    let journal = home.journal_to_read()?;
    let runs = all_runs(&journal)?;
    let mut removed = of_runs(&home, &runs, args.failed)?;
    removed.extend(shadows(&home, &runs));
    removed.extend(baselines(&home));
    removed.extend(rooms(&home, &runs));
    removed.extend(agent_caches(&home, &runs));
    if !args.dry_run {
        for waste in &removed {
            remove(&waste.path)?;
        }
        // What killed supervisors have left takes no name: the next run would clear it away as well.
        let _ = clear_abandoned(home.root());
    }
    let gone = Gone {
        dry_run: args.dry_run,
        bytes: removed.iter().map(|waste| waste.bytes).sum(),
        removed,
    };
    if args.json {
        json::print(&gone);
    } else {
        for Waste { what, path, bytes } in &gone.removed {
            outln!(
                "{what:<9} {:>9}  {}",
                disk::readable(*bytes),
                path.display()
            );
        }
        let verb = if args.dry_run {
            "would be removed"
        } else {
            "removed"
        };
        let count = counted(gone.removed.len() as u64, "thing");
        outln!("{count} {verb}, {}", disk::readable(gone.bytes));
    }
    Ok(exit_code::VERIFIED)
}

fn all_runs(journal: &SqliteJournal) -> Result<Vec<RunSummary>, CliError> {
    const PAGE: usize = 500;
    let mut runs: Vec<RunSummary> = Vec::new();
    loop {
        let last = runs.last().map(|run| run.run_id);
        let page = journal
            .runs(&RunFilter::default(), PAGE, last)
            .map_err(CliError::infrastructure)?;
        let is_last = page.len() < PAGE;
        runs.extend(page);
        if is_last {
            return Ok(runs);
        }
    }
}

/// Clones and copies of runs that are over, and of runs that never began.
fn of_runs(home: &Home, runs: &[RunSummary], failed: bool) -> Result<Vec<Waste>, CliError> {
    let mut waste = Vec::new();
    let places = [
        ("clone", home.checkouts()),
        ("copies", home.root().join("copies")),
    ];
    for (what, folder) in places {
        for path in entries(&folder) {
            let run_id = path
                .file_name()
                .and_then(|name| name.to_str()?.parse::<RunId>().ok());
            let Some(run_id) = run_id else { continue };
            let standing = runs
                .iter()
                .find(|run| run.run_id == run_id)
                .map(|run| run.standing);
            let goes = match standing {
                // A run writes its first event soon after its clone is there.
                None => is_older(&path, Duration::from_hours(1)),
                Some(Standing::Finished { outcome }) => {
                    failed
                        || (outcome.exit_code() == exit_code::VERIFIED
                            && is_safe(home, what, run_id)?)
                }
                Some(_) => false,
            };
            if goes {
                waste.push(Waste {
                    what,
                    bytes: disk::size(&path),
                    path,
                });
            }
        }
    }
    Ok(waste)
}

/// Whether work is not lost with the clone: it is elsewhere too, or nothing was changed.
fn is_safe(home: &Home, what: &str, run_id: RunId) -> Result<bool, CliError> {
    if what != "clone" {
        return Ok(true);
    }
    Ok(Own::of(home, run_id)?.is_some_and(|own| own.is_spare()))
}

/// Snapshots of directories that are gone and in which no run is to go on: a folder that was moved, or a disk
/// that is not there, may come back. Those of directories that no run names are left alone: it is not known
/// whose they are.
fn shadows(home: &Home, runs: &[RunSummary]) -> Vec<Waste> {
    let folder = home.root().join("shadows");
    let open = open_directories(runs);
    let mut gone: Vec<PathBuf> = runs
        .iter()
        .filter_map(directory)
        .filter(|dir| !dir.exists() && !open.contains(dir))
        .map(|dir| folder.join(file_name_for(dir)))
        .filter(|path| path.is_dir())
        .collect();
    gone.sort();
    gone.dedup();
    let waste = |path: PathBuf| Waste {
        what: "snapshots",
        bytes: disk::size(&path),
        path,
    };
    gone.into_iter().map(waste).collect()
}

/// Where runs are to go on.
fn open_directories(runs: &[RunSummary]) -> HashSet<&Path> {
    let open = runs
        .iter()
        .filter(|run| !matches!(run.standing, Standing::Finished { .. }));
    open.filter_map(directory).collect()
}

fn directory(run: &RunSummary) -> Option<&Path> {
    run.task.as_ref().map(|task| task.workspace.as_path())
}

/// Verification rooms that runs have left, which remove their own at the end: of runs that are over, and of those that
/// nobody has gone on with for long. A run that goes on makes another one.
fn rooms(home: &Home, runs: &[RunSummary]) -> Vec<Waste> {
    let is_over = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let run = runs
            .iter()
            .find(|run| Some(&*run.run_id.to_string()) == name);
        run.is_some_and(|run| matches!(run.standing, Standing::Finished { .. }))
    };
    let runs = entries(&home.root().join("runs")).into_iter();
    let rooms = runs.map(|run| (is_over(&run), run.join("room")));
    let rooms =
        rooms.filter(|(is_over, room)| room.is_dir() && (*is_over || is_older(room, ROOMS)));
    rooms
        .map(|(_, path)| Waste {
            what: "room",
            bytes: disk::size(&path),
            path,
        })
        .collect()
}

fn baselines(home: &Home) -> Vec<Waste> {
    let old = entries(&home.root().join("baselines"))
        .into_iter()
        .filter(|path| is_older(path, BASELINES));
    old.map(|path| Waste {
        what: "baseline",
        bytes: disk::size(&path),
        path,
    })
    .collect()
}

/// Caches of agents that are unused, or beyond what all of them may take up.
fn agent_caches(home: &Home, runs: &[RunSummary]) -> Vec<Waste> {
    let open = open_directories(runs);
    let mut all = AgentCaches::all(home.root());
    all.retain(|caches| !open.contains(caches.workspace.as_path()));
    all.sort_by_key(|caches| std::cmp::Reverse(caches.used));
    let mut kept = 0;
    let mut waste = Vec::new();
    for caches in all {
        let bytes = disk::size(&caches.path);
        let is_beyond = kept + bytes > AGENT_CACHES && caches.is_unused_for(RECENT);
        if caches.is_stale() || is_beyond {
            let (what, path) = ("caches", caches.path);
            waste.push(Waste { what, path, bytes });
        } else {
            kept += bytes;
        }
    }
    waste
}

fn is_older(path: &Path, age: Duration) -> bool {
    let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| {
        SystemTime::now()
            .duration_since(at)
            .is_ok_and(|it| it > age)
    })
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn remove(path: &Path) -> Result<(), CliError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => remove_folder(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    removed.map_err(|error| {
        CliError::infrastructure(format!("cannot remove {}: {error}", path.display()))
    })
}
