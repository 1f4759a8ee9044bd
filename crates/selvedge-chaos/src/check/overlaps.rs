//! Invariant 4: no two workers work on a task at the same time, by the workers' own traces and by the
//! agents' connections to the provider. Overlaps caused by a pause are excused within a bound: an agent
//! keeps running while its worker is paused and for a moment after the worker resumes.

use crate::history::{History, TraceEvent};

#[derive(Debug, Clone)]
struct Interval {
    task: String,
    worker: String,
    from_us: u64,
    to_us: u64,
}

pub(super) fn check(history: &History) -> Vec<String> {
    let mut violations = Vec::new();
    for (source, mut intervals) in [
        ("agents", agent_intervals(history)),
        ("traces", drive_intervals(history)),
    ] {
        intervals.sort_by(|a, b| (&a.task, a.from_us).cmp(&(&b.task, b.from_us)));
        for (at, first) in intervals.iter().enumerate() {
            let later = intervals[at + 1..]
                .iter()
                .take_while(|it| it.task == first.task);
            for second in later.filter(|second| second.from_us < first.to_us) {
                let until = first.to_us.min(second.to_us);
                if !is_excused(history, first, second.from_us, until) {
                    violations.push(format!(
                        "{}: {} and {} overlap by {} ms according to {source}",
                        first.task,
                        first.worker,
                        second.worker,
                        (until - second.from_us) / 1_000
                    ));
                }
            }
        }
    }
    violations
}

/// Whether the first worker was paused when the second one began, and ended within the margin after it
/// resumed.
fn is_excused(history: &History, first: &Interval, from_us: u64, until_us: u64) -> bool {
    history.pauses.iter().any(|pause| {
        let whose = pause
            .worker
            .as_ref()
            .is_none_or(|worker| *worker == first.worker);
        let end = pause.to_us + history.margin_us;
        whose && pause.from_us <= from_us && from_us <= end && until_us <= end
    })
}

fn agent_intervals(history: &History) -> Vec<Interval> {
    let calls = history.calls.iter().map(|call| Interval {
        task: call.task.clone(),
        worker: call.worker.clone(),
        from_us: call.from_us,
        to_us: call.to_us,
    });
    calls.collect()
}

/// Intervals from `drive_began` to `drive_ended`, or to the death of the process.
fn drive_intervals(history: &History) -> Vec<Interval> {
    let mut intervals = Vec::new();
    for (at, trace) in history.traces.iter().enumerate() {
        if trace.event != TraceEvent::DriveBegan {
            continue;
        }
        let ended = history.traces[at + 1..].iter().find(|it| {
            it.event == TraceEvent::DriveEnded
                && (it.pid, &it.task, it.epoch) == (trace.pid, &trace.task, trace.epoch)
        });
        let died = history.deaths.get(&trace.pid).copied();
        let to_us = ended.map(|it| it.at_us).or(died).unwrap_or(trace.at_us);
        intervals.push(Interval {
            task: trace.task.clone(),
            worker: trace.worker.clone(),
            from_us: trace.at_us,
            to_us,
        });
    }
    intervals
}
