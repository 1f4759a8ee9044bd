//! Quarantine of workers: a worker whose infrastructure fails for one task after another gets no tasks for a while.
//!
//! Work that fails on another worker, too, does not count: a task that fails everywhere must not take all workers
//! away. A run that has ended is not tried by another worker, so that its repository may be to blame: runs in several
//! repositories must fail.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use selvedge_core::format::counted;
use selvedge_core::model::{TaskId, Timestamp};
use selvedge_protocol::WorkerQuarantine;
use serde::{Deserialize, Serialize};

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

/// The work that failed on a worker; each is counted once.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum FailedWork {
    /// A task that goes to another worker.
    Task(TaskId),
    /// Runs in this repository or folder that ended with the failure.
    RunsIn(String),
}

/// Why a task's infrastructure failed. Only readers of the task's project may see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TaskFailure {
    pub(crate) project: String,
    /// In one line.
    pub(crate) reason: String,
}

/// The quarantine of a worker, also as hubs report it to each other.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Quarantine {
    pub(crate) until: Timestamp,
    /// The number of failures.
    reason: String,
    last_failure: TaskFailure,
}

impl Quarantine {
    /// The quarantine with the last failure, unless that is of another project.
    pub(super) fn visible_to(&self, project: &str) -> WorkerQuarantine {
        let reason = if self.last_failure.project == project {
            self.full_reason()
        } else {
            self.reason.clone()
        };
        WorkerQuarantine {
            until: self.until,
            reason,
        }
    }

    /// The reason with the last failure.
    pub(super) fn full_reason(&self) -> String {
        format!(
            "{}; the last one: {}",
            self.reason, self.last_failure.reason
        )
    }
}

/// The infrastructure failures of a worker since its last success.
#[derive(Debug, Clone, Default)]
pub(super) struct FailureRecord {
    failures: HashSet<FailedWork>,
    /// Number of quarantines so far.
    quarantines: u32,
    /// The last quarantine, and when it ends by the monotonic clock.
    last: Option<(Instant, Quarantine)>,
}

impl FailureRecord {
    /// The quarantine that has not ended.
    pub(super) fn quarantine(&self) -> Option<&Quarantine> {
        let (ends_at, quarantine) = self.last.as_ref()?;
        (Instant::now() < *ends_at).then_some(quarantine)
    }

    fn record(&mut self, failed: FailedWork, failure: TaskFailure, rules: &QuarantineRules) {
        self.failures.insert(failed);
        if self.failures.len() < rules.failures || self.quarantine().is_some() {
            return;
        }
        let doublings = self.quarantines.min(16);
        let pause = rules.pause.saturating_mul(1 << doublings);
        let pause = pause.min(rules.max_pause);
        let quarantine = Quarantine {
            until: Timestamp::now() + pause,
            reason: format!("infrastructure failures in {} in a row", self.failed_work()),
            last_failure: failure,
        };
        self.quarantines += 1;
        self.last = Some((Instant::now() + pause, quarantine));
    }

    /// "2 tasks and 1 repository".
    fn failed_work(&self) -> String {
        let is_task = |failed: &&FailedWork| matches!(failed, FailedWork::Task(_));
        let tasks = self.failures.iter().filter(is_task).count();
        let repositories = match self.failures.len() - tasks {
            1 => "1 repository".to_owned(),
            count => format!("{count} repositories"),
        };
        let all_tasks = counted(u64::try_from(tasks).unwrap_or(u64::MAX), "task");
        match tasks {
            0 => repositories,
            _ if tasks == self.failures.len() => all_tasks,
            _ => format!("{all_tasks} and {repositories}"),
        }
    }
}

/// Work that has failed on several workers, with the time at which this was noticed: it does not count as a failure of
/// a worker. Entries expire after the maximum pause, so that failures in the same repositories count again after an
/// outage.
#[derive(Debug, Default)]
pub(super) struct BlamelessFailures(HashMap<FailedWork, Instant>);

impl BlamelessFailures {
    /// Records a failure on one worker, given the records of the others.
    pub(super) fn record_failure<'a>(
        &mut self,
        failed: FailedWork,
        failure: TaskFailure,
        worker: &mut FailureRecord,
        others: impl Iterator<Item = &'a mut FailureRecord>,
        rules: &QuarantineRules,
        now: Instant,
    ) {
        self.0
            .retain(|_, noticed| now.saturating_duration_since(*noticed) < rules.max_pause);
        let mut failed_elsewhere = false;
        for other in others {
            failed_elsewhere |= other.failures.remove(&failed);
        }
        if failed_elsewhere {
            if self.0.len() >= MAX_BLAMELESS {
                self.0.clear();
            }
            self.0.insert(failed, now);
        } else if !self.0.contains_key(&failed) {
            worker.record(failed, failure, rules);
        }
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

    fn failure(reason: &str) -> TaskFailure {
        TaskFailure {
            project: "web".to_owned(),
            reason: reason.to_owned(),
        }
    }

    #[test]
    fn quarantine_grows_with_each_further_failure() {
        let mut worker = FailureRecord::default();
        let mut minutes = Vec::new();
        for number in [1, 1, 2, 3, 4, 5] {
            worker.record(task(number), failure("disk full"), &RULES);
            if let Some((ends_at, quarantine)) = worker.last.take() {
                let shown = quarantine.visible_to("web").reason;
                assert!(shown.ends_with("tasks in a row; the last one: disk full"));
                let hidden = quarantine.visible_to("ops").reason;
                assert!(hidden.ends_with("tasks in a row"), "{hidden}");
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
            worker.record(task(number), failure("disk full"), &rules);
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
                let mut record = |worker: &mut FailureRecord, other: &mut FailureRecord| {
                    let (rest, failure) = (std::iter::once(other), failure("no such host"));
                    let now = Instant::now();
                    blameless.record_failure(task(number), failure, worker, rest, &RULES, now);
                };
                record(one, two);
                record(two, one);
            }
        }
        assert!(workers.iter().all(|worker| worker.quarantine().is_none()));
    }

    #[test]
    fn repositories_of_an_outage_are_forgotten() {
        let (mut one, mut two) = (FailureRecord::default(), FailureRecord::default());
        let mut blameless = BlamelessFailures::default();
        let outage = Instant::now();
        let mut fail_in_both = |worker: &mut FailureRecord, other: &mut FailureRecord, now| {
            for repository in ["https://git.example/a", "https://git.example/b"] {
                let failed = FailedWork::RunsIn(repository.to_owned());
                let (rest, failure) = (std::iter::once(&mut *other), failure("no such host"));
                blameless.record_failure(failed, failure, worker, rest, &RULES, now);
            }
        };
        for repository in ["https://git.example/a", "https://git.example/b"] {
            let failed = FailedWork::RunsIn(repository.to_owned());
            two.failures.insert(failed);
        }
        fail_in_both(&mut one, &mut two, outage);
        fail_in_both(&mut one, &mut two, outage + RULES.pause);
        assert_eq!(one.quarantine(), None, "they failed on both");
        fail_in_both(&mut one, &mut two, outage + RULES.max_pause);
        let reason = one.quarantine().map(Quarantine::full_reason);
        let expected =
            "infrastructure failures in 2 repositories in a row; the last one: no such host";
        assert_eq!(reason.as_deref(), Some(expected));
    }
}
