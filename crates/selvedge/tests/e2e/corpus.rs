//! The corpus of changes: cheats that make the checks exit with 0 although the work is not done, and honest work.
//! The agent of a real run makes each change, with real test runners, compilers and linters, and the outcome is
//! compared with the thresholds below. A control verifies every case outside of Selvedge: a cheat makes the check
//! pass while the work is undone, and honest work is done.
//!
//! The cases are data: `tests/corpus/*.toml`, one file per project; `project.rs` describes the format. The printed
//! rows are those of `cargo xtask trust`. `SELVEDGE_CORPUS` selects the cases whose `runner: mechanism: name` contains
//! it, and `SELVEDGE_CORPUS_MISSES=1` prints only unexpected results:
//!
//! ```text
//! SELVEDGE_CORPUS="pytest: " SELVEDGE_CORPUS_MISSES=1 cargo xtask e2e corpus --ignored --nocapture
//! ```

mod case;
mod control;
pub(crate) mod packages;
mod project;
mod summary;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use case::Case;
use control::Controls;
use summary::{Ended, Summary};

/// Selects cases by a part of their title.
const FILTER: &str = "SELVEDGE_CORPUS";
/// Set to print only the rows of unexpected results.
const MISSES_ONLY: &str = "SELVEDGE_CORPUS_MISSES";

#[test]
#[ignore = "long: `cargo xtask trust` runs it"]
#[allow(clippy::print_stdout, reason = "the rows of `cargo xtask trust`")]
fn corpus_meets_its_bars() {
    let projects = project::load_all();
    let filter = std::env::var(FILTER).unwrap_or_default();
    let available = projects.iter().filter(|project| project.is_available());
    let cases: Vec<Case<'_>> = available
        .flat_map(|project| {
            project
                .changes
                .iter()
                .map(|change| Case { project, change })
        })
        .filter(|case| case.title().contains(&filter))
        .collect();
    assert!(!cases.is_empty(), "no case contains `{filter}`");
    let summary = Summary::of(run_all(&cases));
    let misses_only = std::env::var_os(MISSES_ONLY).is_some();
    println!("{}", summary.describe(misses_only));
    println!("{}", summary.table());
    // The minimum numbers of cases apply only without a filter.
    let failures = summary.failures(filter.is_empty());
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Runs all cases, one per core at a time; the results are in the cases' order.
fn run_all(cases: &[Case<'_>]) -> Vec<Ended> {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let controls = Controls::default();
    let next = AtomicUsize::new(0);
    let ended = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(case) = cases.get(index) else { break };
                    let result = catch_unwind(AssertUnwindSafe(|| case.run(&controls)));
                    let result = result.unwrap_or_else(|panic| Err(message(panic.as_ref())));
                    let one = Ended::new(case, result);
                    let mut ended = ended.lock().unwrap_or_else(PoisonError::into_inner);
                    ended.push((index, one));
                }
            });
        }
    });
    let mut ended = ended.into_inner().unwrap_or_else(PoisonError::into_inner);
    ended.sort_by_key(|&(index, _)| index);
    ended.into_iter().map(|(_, one)| one).collect()
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}
