//! Replays of what maintainers did: two releases of real projects, whose archives the package registries keep with
//! their tests. The earlier release is the workspace, a scripted agent makes the later one of it, sources and tests,
//! and the run's outcome is compared with that of the releases' own tests: the later sources are run with the
//! earlier tests outside of Selvedge, and the other way round. *Reverse* replays must not be verified: tests
//! without the sources, the sources of the release before, failing tests that are replaced by the older ones.
//!
//! The projects are data: `tests/replays/releases.toml`. Archives and packages are pinned there by version and
//! checksum, and kept below `target`. The rows that are printed are those of `cargo xtask trust`; `SELVEDGE_REPLAYS`
//! selects projects by a part of their name.

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
fn releases_are_judged_as_their_own_tests_judge_them() {
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

/// Replays all projects, as many at a time as there are cores; the results are in the projects' order.
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
