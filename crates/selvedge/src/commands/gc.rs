//! `selvedge gc`: removes unused data from the state directory. Never touches journals, nor anything that an unfinished
//! run may still need.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use selvedge_core::model::{RunId, exit_code};
use selvedge_engine::environment::host_env;
use selvedge_engine::remove_all;
use selvedge_engine::sandbox::{AgentCaches, remove_abandoned};
use selvedge_engine::workspace::{LAST_ROOM_FOLDERS, file_name_for};
use selvedge_store::{Journal, RunFilter, RunStatus, RunSummary, SqliteJournal};
use serde::Serialize;

use super::environment;
use crate::cli::GcArgs;
use crate::error::CliError;
use crate::local::{IsolatedClone, StateDir, disk};
use crate::output::{OutputFormat, json};
use selvedge_core::format::{self, counted};

/// How long the verification room of an unfinished run, and the files of a workspace's last room, are kept.
const ROOM_MAX_AGE: Duration = Duration::from_hours(7 * 24);
/// How long the result of a baseline is kept.
const BASELINE_MAX_AGE: Duration = Duration::from_hours(30 * 24);

/// Size limit for the caches of all agents together, in bytes; the least recently used ones are removed first.
const AGENT_CACHE_LIMIT_BYTES: u64 = 10_000_000_000;

/// Caches used within this time are kept, regardless of their size: an agent may be using them.
const RECENT_USE: Duration = Duration::from_hours(24);

#[derive(Debug, Serialize)]
struct GarbageItem {
    what: &'static str,
    path: PathBuf,
    /// Its disk usage.
    bytes: u64,
}

/// A clone or copy of a run that is not removed.
#[derive(Debug, Serialize)]
struct KeptItem {
    what: &'static str,
    path: PathBuf,
    reason: String,
}

/// The removed items, or with `--dry-run` those that would be removed.
#[derive(Debug, Serialize)]
struct GcReport {
    dry_run: bool,
    bytes: u64,
    removed: Vec<GarbageItem>,
    /// Clones and copies that stay.
    kept: Vec<KeptItem>,
}

pub(super) fn run(args: &GcArgs) -> Result<u8, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let journal = home.open_journal_read_only()?;
    let runs = all_runs(&journal)?;
    let (mut removed, kept) = sort_clones_and_copies(&home, &runs, args.failed)?;
    removed.extend(stale_snapshots(&home, &runs));
    removed.extend(old_baselines(&home));
    removed.extend(stale_rooms(&home, &runs));
    removed.extend(stale_agent_caches(&home, &runs));
    if !args.dry_run {
        for item in &removed {
            remove_path(&item.path)?;
        }
        // Leftovers of killed supervisors are not reported: the next run also removes them.
        let _ = remove_abandoned(home.root(), &host_env());
    }
    let report = GcReport {
        dry_run: args.dry_run,
        bytes: removed.iter().map(|item| item.bytes).sum(),
        removed,
        kept,
    };
    if args.format == OutputFormat::Human {
        for GarbageItem { what, path, bytes } in &report.removed {
            outln!(
                "{what:<9} {:>10}  {}",
                format::bytes(*bytes),
                path.display()
            );
        }
        for KeptItem { what, path, reason } in &report.kept {
            outln!("{what:<9} {:>10}  {}: {reason}", "kept", path.display());
        }
        let verb = if args.dry_run {
            "would be removed"
        } else {
            "removed"
        };
        let count = counted(report.removed.len() as u64, "item");
        outln!("{count} {verb}, {}", format::bytes(report.bytes));
    } else {
        json::print_json(&report);
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

/// Clones and copies of runs that have ended, and of runs that never began; and those that are kept.
fn sort_clones_and_copies(
    home: &StateDir,
    runs: &[RunSummary],
    failed: bool,
) -> Result<(Vec<GarbageItem>, Vec<KeptItem>), CliError> {
    let (mut garbage, mut kept) = (Vec::new(), Vec::new());
    let folders = [
        ("clone", home.checkouts_dir()),
        ("copies", home.root().join("copies")),
    ];
    for (what, folder) in folders {
        for path in list_dir(&folder) {
            let run_id = path
                .file_name()
                .and_then(|name| name.to_str()?.parse::<RunId>().ok());
            let Some(run_id) = run_id else { continue };
            let run = runs.iter().find(|run| run.run_id == run_id);
            let reason = match run.map(|run| run.status) {
                // A run writes its first event soon after its clone exists.
                None if is_older(&path, Duration::from_hours(1)) => None,
                None => Some("its run may be about to begin"),
                Some(RunStatus::Finished { .. }) if failed => None,
                Some(RunStatus::Finished { outcome })
                    if outcome.exit_code() != exit_code::VERIFIED =>
                {
                    Some("its run was not verified (`--failed` removes it)")
                }
                Some(RunStatus::Finished { .. }) if what == "clone" => {
                    match IsolatedClone::load(home, run_id)? {
                        Some(clone) => clone.reason_to_keep(),
                        None => Some("its record is missing"),
                    }
                }
                Some(RunStatus::Finished { .. }) => None,
                Some(_) => Some("its run is not finished"),
            };
            match reason {
                None => garbage.push(GarbageItem {
                    what,
                    bytes: disk::disk_usage(&path),
                    path,
                }),
                Some(reason) => kept.push(KeptItem {
                    what,
                    path,
                    reason: reason.replace("RUN", &run_id.short()),
                }),
            }
        }
    }
    Ok((garbage, kept))
}

/// Snapshots of directories that no longer exist, unless a run in them can be resumed: a folder that was moved, or a
/// disk that is not mounted, may come back. Snapshots of directories that no run names are kept: their owner is
/// unknown.
fn stale_snapshots(home: &StateDir, runs: &[RunSummary]) -> Vec<GarbageItem> {
    let folder = home.root().join("shadows");
    let open = open_directories(runs);
    let mut stale_paths: Vec<PathBuf> = runs
        .iter()
        .filter_map(run_directory)
        .filter(|dir| !dir.exists() && !open.contains(dir))
        .map(|dir| folder.join(file_name_for(dir)))
        .filter(|path| path.is_dir())
        .collect();
    stale_paths.sort();
    stale_paths.dedup();
    let item = |path: PathBuf| GarbageItem {
        what: "snapshots",
        bytes: disk::disk_usage(&path),
        path,
    };
    stale_paths.into_iter().map(item).collect()
}

/// Directories of runs that can be resumed.
fn open_directories(runs: &[RunSummary]) -> HashSet<&Path> {
    let open = runs
        .iter()
        .filter(|run| !matches!(run.status, RunStatus::Finished { .. }));
    open.filter_map(run_directory).collect()
}

fn run_directory(run: &RunSummary) -> Option<&Path> {
    run.task.as_ref().map(|task| task.workspace.as_path())
}

/// Verification rooms and copies of git directories that runs left behind (normally a run removes its own): of runs that
/// have ended, and of runs that were not resumed for a long time. A resumed run creates new ones.
fn stale_rooms(home: &StateDir, runs: &[RunSummary]) -> Vec<GarbageItem> {
    let is_over = |path: &Path| {
        let name = path.file_name().and_then(|name| name.to_str());
        let run = runs
            .iter()
            .find(|run| Some(&*run.run_id.to_string()) == name);
        run.is_some_and(|run| matches!(run.status, RunStatus::Finished { .. }))
    };
    let runs = list_dir(&home.root().join("runs")).into_iter();
    let rooms = runs.flat_map(|run| {
        let is_over = is_over(&run);
        ["room", "git/copies"].map(|name| (is_over, run.join(name)))
    });
    let rooms =
        rooms.filter(|(is_over, room)| room.is_dir() && (*is_over || is_older(room, ROOM_MAX_AGE)));
    // What a workspace's last room left for the next run.
    let shadows = list_dir(&home.root().join("shadows")).into_iter();
    let last_rooms = shadows
        .filter(|shadow| is_older(&shadow.join(LAST_ROOM_FOLDERS[0]), ROOM_MAX_AGE))
        .flat_map(|shadow| LAST_ROOM_FOLDERS.map(|name| shadow.join(name)))
        .filter(|folder| folder.is_dir());
    rooms
        .map(|(_, path)| path)
        .chain(last_rooms)
        .map(|path| GarbageItem {
            what: "room",
            bytes: disk::disk_usage(&path),
            path,
        })
        .collect()
}

fn old_baselines(home: &StateDir) -> Vec<GarbageItem> {
    let old = list_dir(&home.root().join("baselines"))
        .into_iter()
        .filter(|path| is_older(path, BASELINE_MAX_AGE));
    old.map(|path| GarbageItem {
        what: "baseline",
        bytes: disk::disk_usage(&path),
        path,
    })
    .collect()
}

/// Agent caches that are unused or exceed the common limit.
fn stale_agent_caches(home: &StateDir, runs: &[RunSummary]) -> Vec<GarbageItem> {
    let open = open_directories(runs);
    let mut all = AgentCaches::all(home.root());
    all.retain(|caches| !open.contains(caches.workspace.as_path()));
    all.sort_by_key(|caches| std::cmp::Reverse(caches.used));
    let mut kept_bytes = 0;
    let mut garbage = Vec::new();
    for caches in all {
        let bytes = disk::disk_usage(&caches.path);
        let is_beyond =
            kept_bytes + bytes > AGENT_CACHE_LIMIT_BYTES && caches.is_unused_for(RECENT_USE);
        if caches.is_stale() || is_beyond {
            let (what, path) = ("caches", caches.path);
            garbage.push(GarbageItem { what, path, bytes });
        } else {
            kept_bytes += bytes;
        }
    }
    garbage
}

fn is_older(path: &Path, age: Duration) -> bool {
    let written = fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    written.is_ok_and(|at| {
        SystemTime::now()
            .duration_since(at)
            .is_ok_and(|it| it > age)
    })
}

fn list_dir(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn remove_path(path: &Path) -> Result<(), CliError> {
    remove_all(path).map_err(|error| {
        CliError::infrastructure(format!("cannot remove {}: {error}", path.display()))
    })
}
