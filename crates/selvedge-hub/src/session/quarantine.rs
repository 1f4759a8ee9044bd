//! Quarantine of workers: a worker whose infrastructure fails for one task after another gets no tasks for a while.
//!
//! Work that fails on another worker, too, does not count: a task that fails everywhere must not take all workers
//! away. A run that has ended is not tried by another worker, so that its repository may be to blame: runs in several
//! repositories must fail.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use selvedge_core::model::{TaskId, Timestamp};
use selvedge_protocol::WorkerQuarantine;

/// Maximum number of remembered failures.
const MAX_BLAMELESS: usize = 10_000;

/// When a worker is quarantined, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuarantineRules {
    /// Number of tasks, or of repositories of runs, that must fail in a row.
    pub failures: usize,
    /// Duration of the first quarantine; doubled each time until a task succeeds.
    pub pause: Duration,
    /// Maximum duration.
    pub max_pause: Duration,
}

impl Default for QuarantineRules {
    fn default() -> Self {
        Self {
            failures: 3,
            pause: Duration::from_mins(1),
            max_pause: Duration::from_hours(1),
        }
    }
}

/// What failed on a worker; counted once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum FailedWork {
    /// A task that goes to another worker.
    Task(TaskId),
    /// Runs in this repository or folder that ended with the failure.
    RunsIn(String),
}

/// The infrastructure failures of a worker since its last success.
#[derive(Debug, Clone, Default)]
pub(super) struct FailureRecord {
    failures: HashSet<FailedWork>,
    /// Number of quarantines so far.
    quarantines: u32,
    /// When the last quarantine ends, by both clocks, and its reason.
    last: Option<(Instant, WorkerQuarantine)>,
}

impl FailureRecord {
    /// The quarantine that has not ended.
    pub(super) fn quarantine(&self) -> Option<&WorkerQuarantine> {
        let (ends_at, quarantine) = self.last.as_ref()?;
        (Instant::now() < *ends_at).then_some(quarantine)
    }

    fn record(&mut self, failed: FailedWork, reason: &str, rules: &QuarantineRules) {
        self.failures.insert(failed);
        if self.failures.len() < rules.failures || self.quarantine().is_some() {
            return;
        }
        let doublings = self.quarantines.min(16);
        let pause = rules.pause.saturating_mul(1 << doublings);
        let pause = pause.min(rules.max_pause);
        let reason = format!(
            "infrastructure failures in {} tasks in a row; the last one: {reason}",
            self.failures.len()
        );
        let until = Timestamp::now() + pause;
        self.quarantines += 1;
        self.last = Some((Instant::now() + pause, WorkerQuarantine { until, reason }));
    }
}

/// Work that has failed on several workers, for which no worker is blamed.
#[derive(Debug, Default)]
pub(super) struct BlamelessFailures(HashSet<FailedWork>);

impl BlamelessFailures {
    /// Records a failure on one worker, given the records of the others.
    pub(super) fn record_failure<'a>(
        &mut self,
        failed: FailedWork,
        reason: &str,
        worker: &mut FailureRecord,
        others: impl Iterator<Item = &'a mut FailureRecord>,
        rules: &QuarantineRules,
    ) {
        let mut failed_elsewhere = self.0.contains(&failed);
        for other in others {
            failed_elsewhere |= other.failures.remove(&failed);
        }
        if !failed_elsewhere {
            worker.record(failed, reason, rules);
            return;
        }
        if self.0.len() >= MAX_BLAMELESS {
            self.0.clear();
        }
        self.0.insert(failed);
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    const RULES: QuarantineRules = QuarantineRules {
        failures: 2,
        pause: Duration::from_mins(1),
        max_pause: Duration::from_mins(3),
    };

    fn task(number: u128) -> FailedWork {
        FailedWork::Task(TaskId::new(Uuid::from_u128(number)))
    }

    #[test]
    fn quarantine_grows_with_each_further_failure() {
        let mut worker = FailureRecord::default();
        let mut minutes = Vec::new();
        for number in [1, 1, 2, 3, 4, 5] {
            worker.record(task(number), "disk full", &RULES);
            if let Some((ends_at, quarantine)) = worker.last.take() {
                assert!(quarantine.reason.ends_with("disk full"));
                let left = ends_at.duration_since(Instant::now());
                minutes.push(left.as_secs_f64().round() / 60.0);
            }
        }
        assert_eq!(minutes, [1.0, 2.0, 3.0, 3.0], "the same task counts once");
    }

    #[test]
    fn quarantine_ends_by_itself() {
        let rules = QuarantineRules {
            pause: Duration::ZERO,
            ..RULES
        };
        let mut worker = FailureRecord::default();
        for number in 1..9 {
            worker.record(task(number), "disk full", &rules);
        }
        assert_eq!(worker.quarantines, 7);
        assert_eq!(worker.quarantine(), None);
    }

    #[test]
    fn task_that_fails_everywhere_blames_no_worker() {
        let mut workers = [FailureRecord::default(), FailureRecord::default()];
        let mut blameless = BlamelessFailures::default();
        for number in 1..=9 {
            for _ in 0..2 {
                let [one, two] = &mut workers;
                let rest = std::iter::once(&mut *two);
                blameless.record_failure(task(number), "no such host", one, rest, &RULES);
                let rest = std::iter::once(&mut *one);
                blameless.record_failure(task(number), "no such host", two, rest, &RULES);
            }
        }
        assert!(workers.iter().all(|worker| worker.quarantine().is_none()));
    }
}
