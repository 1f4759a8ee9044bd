//! Replays of maintainers' changes: pairs of releases of real projects, whose archives in the package registries
//! contain their tests. The workspace is the earlier release, and a scripted agent changes its sources and tests into
//! the later one. The run's outcome is compared with the releases' own tests, which are also run outside of Selvedge
//! with the sources of the other release. *Reverse* replays must not be verified: tests without the sources, the
//! sources of the earlier release, failing tests that are replaced by the earlier ones.
//!
//! The projects are data: `tests/replays/releases.toml`, which pins archives by version and checksum. They are cached
//! below `target`, like the packages. The printed rows are those of `cargo xtask trust`; `SELVEDGE_REPLAYS` selects
//! projects by a part of their name.

mod release;
mod replay;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use release::{NodePackages, Project};
use replay::Replayed;

/// Selects projects by a part of their name.
const FILTER: &str = "SELVEDGE_REPLAYS";

#[test]
#[ignore = "downloads releases of real projects, and takes minutes: `cargo xtask trust` runs it"]
#[allow(clippy::print_stdout, reason = "the rows of `cargo xtask trust`")]
fn replays_match_results_of_the_releases_own_tests() {
    let filter = std::env::var(FILTER).unwrap_or_default();
    let mut projects = release::load_projects();
    projects.retain(|project| project.name.contains(&filter));
    assert!(
        !projects.is_empty(),
        "no project's name contains `{filter}`"
    );
    let replayed = replay_all(&projects);
    for one in &replayed {
        println!("{}", one.row());
    }
    println!("{}", replay::total(&replayed));
    let misses: Vec<String> = replayed.iter().filter_map(Replayed::miss).collect();
    assert!(misses.is_empty(), "{}", misses.join("\n\n"));
}

/// Replays all projects, one per core at a time; the results are in the projects' order.
fn replay_all(projects: &[Project]) -> Vec<Replayed> {
    let packages = NodePackages::install();
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(project) = projects.get(index) else {
                        break;
                    };
                    let replayed =
                        catch_unwind(AssertUnwindSafe(|| replay::replay(project, &packages)));
                    let replayed = replayed
                        .unwrap_or_else(|panic| vec![Replayed::broken(project, panic.as_ref())]);
                    let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                    done.push((index, replayed));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|&(index, _)| index);
    done.into_iter()
        .flat_map(|(_, replayed)| replayed)
        .collect()
}
