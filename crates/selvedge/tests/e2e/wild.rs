//! Real projects from the package registries, as a newcomer would use Selvedge in them: dependencies are installed, the
//! files are committed, and `selvedge init` writes the checks. Then a scripted agent works on a bug that was seeded
//! into the sources: a wrong edit and a cheat must not be verified, the fix must be. Each verdict is compared with the
//! exit code of the same check outside of Selvedge.
//!
//! The projects are data: `tests/wild/NAME.toml` pins an archive by version and checksum, and has the edits. A few quick
//! projects run with the suite; `cargo xtask wild` runs all of them, and writes the printed rows into
//! `docs/explanation/real-projects.md`. `SELVEDGE_WILD` selects projects by a part of their names.

mod project;
mod trial;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use project::Project;
use trial::Trial;

/// Selects projects by a part of their name.
const FILTER: &str = "SELVEDGE_WILD";

#[test]
fn wild_javascript_project() {
    try_one("jsonpath");
}

#[test]
fn wild_go_project() {
    try_one("masterminds-semver");
}

#[track_caller]
#[allow(clippy::print_stderr, reason = "a skipped test names what is missing")]
fn try_one(name: &str) {
    let project = Project::load(name);
    if let Some(program) = project.missing_program() {
        assert!(
            std::env::var_os("CI").is_none(),
            "`{program}` is not installed"
        );
        eprintln!("skipped: `{program}` is not installed");
        return;
    }
    let trial = trial::run(&project);
    let problems = trial.problems();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

#[test]
#[ignore = "downloads many real projects, and takes minutes: `cargo xtask wild` runs it"]
#[allow(clippy::print_stdout, reason = "the rows of `cargo xtask wild`")]
fn wild_projects_all_get_right_verdicts() {
    let filter = std::env::var(FILTER).unwrap_or_default();
    let mut projects = Project::load_all();
    projects.retain(|project| project.name.contains(&filter));
    assert!(
        !projects.is_empty(),
        "no project's name contains `{filter}`"
    );
    let missing: Vec<String> = projects
        .iter()
        .filter_map(|project| Some(format!("{}: {}", project.name, project.missing_program()?)))
        .collect();
    assert!(missing.is_empty(), "programs are missing: {missing:?}");
    let trials = try_all(&projects);
    println!("{}", trial::total(&trials));
    let problems: Vec<String> = trials.iter().flat_map(Trial::problems).collect();
    assert!(problems.is_empty(), "{}", problems.join("\n\n"));
}

/// Tries all projects one after the other, because their times are measured; they are prepared one per core. Prints the
/// row of each.
#[allow(clippy::print_stdout, reason = "the rows of `cargo xtask wild`")]
fn try_all(projects: &[Project]) -> Vec<Trial> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let prepared: Vec<_> = projects.iter().map(|_| Mutex::new(None)).collect();
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(project) = projects.get(index) else {
                        break;
                    };
                    let place = catch_unwind(AssertUnwindSafe(|| project.prepare()));
                    *prepared[index]
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner) = Some(place);
                }
            });
        }
    });
    let prepared = prepared
        .into_iter()
        .map(|place| place.into_inner().unwrap_or_else(PoisonError::into_inner));
    let tried = projects.iter().zip(prepared).map(|(project, place)| {
        let place = place.unwrap();
        let tried = place
            .and_then(|place| catch_unwind(AssertUnwindSafe(|| trial::run_in(project, &place))));
        let trial = tried.unwrap_or_else(|panic| Trial::broken(project, panic.as_ref()));
        // Printed at once: a run that is interrupted keeps what it has shown.
        println!("{}", trial.row());
        trial
    });
    tried.collect()
}
