//! Classifies failures as broken or flaky. A failed check is run again on the byte-identical tree; these pure rules
//! decide which rerun is next and what the results mean.
//!
//! | reruns on the attempt | baseline | class |
//! |---|---|---|
//! | all fail | any | broken (preexisting where the baseline failed in the same way) |
//! | mixed | failed | flaky: known before |
//! | mixed | passed | five runs on each tree: some fail on the attempt, none on the base: newly flaky |
//! | mixed | none | flaky: and reported as such |

mod select;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use select::{TestRunner, select_tests};

/// Maximum number of reruns of a failed check, until all have failed.
pub const MAX_RERUNS: usize = 2;
/// Runs on each tree that distinguish a new flake from an old one.
pub const COMPARED_RUNS: usize = 5;

/// Rerun results of one failed check; `true` is a run that passed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RerunResults<'a> {
    /// Reruns on the attempt's tree, in order.
    pub attempt_tree: &'a [bool],
    /// Reruns on the tree from which the run began.
    pub base_tree: &'a [bool],
    /// The result of the baseline, if there is one and its tree can be restored.
    pub baseline: Option<bool>,
}

/// The class of a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// It fails every time: the only class that is reported to the agent.
    Broken,
    /// It fails sometimes, and did so before or that is unknown: does not count against the attempt.
    Flaky,
    /// It fails sometimes, and did not before: prevents verification.
    NewlyFlaky,
}

/// The next step for a failed check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RerunDecision {
    /// Run it again on the attempt's tree.
    RerunOnAttempt,
    /// Run it again on the tree from which the run began.
    RerunOnBase,
    /// The results are sufficient.
    Done(FailureClass),
}

/// Decides which rerun is next, or the class of the failure.
pub fn next_rerun(seen: RerunResults<'_>) -> RerunDecision {
    let Some(first_pass) = seen.attempt_tree.iter().position(|passed| *passed) else {
        return if seen.attempt_tree.len() < MAX_RERUNS {
            RerunDecision::RerunOnAttempt
        } else {
            RerunDecision::Done(FailureClass::Broken)
        };
    };
    if seen.baseline != Some(true) {
        return RerunDecision::Done(FailureClass::Flaky);
    }
    // One failure on the old tree is enough and saves the remaining runs.
    if seen.base_tree.contains(&false) {
        return RerunDecision::Done(FailureClass::Flaky);
    }
    if seen.base_tree.len() < COMPARED_RUNS {
        return RerunDecision::RerunOnBase;
    }
    let compared = &seen.attempt_tree[first_pass + 1..];
    if compared.contains(&false) {
        RerunDecision::Done(FailureClass::NewlyFlaky)
    } else if compared.len() < COMPARED_RUNS {
        RerunDecision::RerunOnAttempt
    } else {
        RerunDecision::Done(FailureClass::Flaky)
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use proptest::prelude::*;

    use super::*;

    /// Classifies one failure of a check that passes according to the two closures.
    fn triage(
        baseline: Option<bool>,
        mut here: impl FnMut() -> bool,
        mut there: impl FnMut() -> bool,
    ) -> (FailureClass, usize) {
        let (mut seen_here, mut seen_there) = (Vec::new(), Vec::new());
        loop {
            let seen = RerunResults {
                attempt_tree: &seen_here,
                base_tree: &seen_there,
                baseline,
            };
            match next_rerun(seen) {
                RerunDecision::RerunOnAttempt => seen_here.push(here()),
                RerunDecision::RerunOnBase => seen_there.push(there()),
                RerunDecision::Done(class) => return (class, seen_here.len() + seen_there.len()),
            }
        }
    }

    #[test]
    fn flakiness_decision_table() {
        let fails = || false;
        let mut turns = [false, true].into_iter().cycle();
        let mut mixed = || turns.next().unwrap_or_default();
        assert_eq!(
            triage(Some(true), fails, || true),
            (FailureClass::Broken, 2)
        );
        assert_eq!(triage(Some(false), fails, fails), (FailureClass::Broken, 2));
        assert_eq!(triage(None, &mut mixed, fails).0, FailureClass::Flaky);
        assert_eq!(
            triage(Some(false), &mut mixed, fails).0,
            FailureClass::Flaky
        );
        assert_eq!(
            triage(Some(true), &mut mixed, || true).0,
            FailureClass::NewlyFlaky
        );
        assert_eq!(triage(Some(true), &mut mixed, fails).0, FailureClass::Flaky);
    }

    /// Classes of many failures of a check that fails with probability `p` both before and after the agent, and of as
    /// many failures of a check that the agent broke.
    #[derive(Default)]
    struct Tally {
        flaky: u32,
        newly_flaky: u32,
        broken: u32,
        lost: u32,
    }

    const FAILURES: u32 = 1000;

    fn simulate(p: f64, rng: &mut Rng) -> Tally {
        let mut tally = Tally::default();
        for _ in 0..FAILURES {
            let baseline = rng.f64() >= p;
            let mut other = rng.fork();
            match triage(Some(baseline), || rng.f64() >= p, || other.f64() >= p).0 {
                FailureClass::Flaky => tally.flaky += 1,
                FailureClass::NewlyFlaky => tally.newly_flaky += 1,
                FailureClass::Broken => tally.broken += 1,
            }
            // The same check after the agent has really broken it.
            let real = triage(Some(baseline), || false, || other.f64() >= p).0;
            tally.lost += u32::from(real != FailureClass::Broken);
        }
        tally
    }

    /// The limit: an old flake is classified as broken at most p² of the time, and no real failure is lost. The rows
    /// are those of `just trust`.
    #[test]
    fn flakiness_is_read_as_broken_no_more_often_than_chance() {
        let mut rng = Rng::with_seed(4);
        for p in [0.05, 0.1, 0.3] {
            let Tally {
                flaky,
                newly_flaky,
                broken,
                lost,
            } = simulate(p, &mut rng);
            let n = f64::from(FAILURES);
            let (rate, bar) = (f64::from(broken) / n, p * p);
            let three_sigma = 3.0 * (bar * (1.0 - bar) / n).sqrt();
            println!(
                "| {p} | {FAILURES} | {flaky} | {newly_flaky} | {broken} | ≤ {:.0} + {:.0} | {FAILURES} | {lost} |",
                bar * n,
                three_sigma * n
            );
            assert!(
                rate <= bar + three_sigma,
                "p = {p}: {rate} > {bar} + {three_sigma}"
            );
            assert_eq!(lost, 0, "p = {p}");
        }
    }

    proptest! {
        /// A real failure is never lost, and the number of runs is bounded.
        #[test]
        fn flakiness_constant_failure_is_broken(baseline in any::<Option<bool>>()) {
            prop_assert_eq!(triage(baseline, || false, || true), (FailureClass::Broken, MAX_RERUNS));
        }

        #[test]
        fn flakiness_triage_ends(baseline in any::<Option<bool>>(), seed in any::<u64>()) {
            let (mut here, mut there) = (Rng::with_seed(seed), Rng::with_seed(!seed));
            let (_, runs) = triage(baseline, || here.bool(), || there.bool());
            prop_assert!(runs <= MAX_RERUNS + 2 * COMPARED_RUNS);
        }
    }
}
