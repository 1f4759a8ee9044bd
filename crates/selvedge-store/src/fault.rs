//! Fault injection for the fault tests: points at which a process can be made to die, and a trace of
//! in-memory state that no database stores.
//!
//! Only builds with debug assertions contain it: no released build does. It reads the tests' own variables:
//! `SELVEDGE_FAULT=POINT:NTH` dies at the n-th passing of a point, `SELVEDGE_TRACE=FILE` collects the trace, and while the
//! file `SELVEDGE_FAULTS_OFF` exists no process dies.

/// Names of all points at which [`failpoint`] is called.
pub const POINTS: &[&str] = &[
    "hub.start.opened",
    "hub.submit.committed",
    "hub.cancel.committed",
    "hub.commit.before",
    "hub.commit.after",
    "hub.grant.committed",
    "hub.offer.sent",
    "hub.accept.before",
    "hub.accept.committed",
    "hub.renew.committed",
    "hub.begin_run.before",
    "hub.begin_run.committed",
    "hub.report.before",
    "hub.report.committed",
    "hub.complete.before",
    "hub.complete.committed",
    "hub.answer.before",
    "hub.answer.sent",
    "hub.sweep.committed",
    "hub.blob.kept",
    "worker.offer.taken",
    "worker.accept.sent",
    "worker.journal.fetched",
    "worker.begin_run.written",
    "worker.begin_run.acknowledged",
    "worker.report.written",
    "worker.entry.written",
    "worker.entry.sent",
    "worker.entry.acknowledged",
    "worker.file.uploaded",
    "worker.complete.before",
    "worker.complete.written",
    "worker.complete.acknowledged",
    "worker.task.forgotten",
    "worker.fenced",
];

/// Passes a fault point: the process dies here if the tests have chosen this point.
#[inline]
pub fn failpoint(point: &'static str) {
    #[cfg(debug_assertions)]
    at_work::reached(point);
    #[cfg(not(debug_assertions))]
    let _ = point;
}

/// Writes a JSON object about this process's state to the trace.
#[inline]
pub fn trace(value: impl FnOnce() -> serde_json::Value) {
    #[cfg(debug_assertions)]
    at_work::note(value);
    #[cfg(not(debug_assertions))]
    let _ = value;
}

/// Prepares a trace entry that is written later; `None` if there is no trace.
#[inline]
pub fn draft_trace(value: impl FnOnce() -> serde_json::Value) -> Option<serde_json::Value> {
    #[cfg(debug_assertions)]
    return at_work::trace_file().map(|_| value());
    #[cfg(not(debug_assertions))]
    {
        let _ = value;
        None
    }
}

#[cfg(debug_assertions)]
mod at_work {
    use std::fs::{File, OpenOptions};
    use std::io::Write;
    use std::path::Path;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    use rustix::time::{ClockId, clock_gettime};
    use serde_json::Value;

    struct ArmedFailpoint {
        point: String,
        hits_left: AtomicU64,
    }

    fn armed() -> Option<&'static ArmedFailpoint> {
        static ARMED: OnceLock<Option<ArmedFailpoint>> = OnceLock::new();
        let read = || {
            let variable = std::env::var("SELVEDGE_FAULT").ok()?;
            let (point, nth) = variable.rsplit_once(':')?;
            Some(ArmedFailpoint {
                point: point.to_owned(),
                hits_left: AtomicU64::new(nth.parse().ok()?),
            })
        };
        ARMED.get_or_init(read).as_ref()
    }

    pub(super) fn reached(point: &'static str) {
        debug_assert!(super::POINTS.contains(&point), "{point}");
        let Some(armed) = armed().filter(|armed| armed.point == point) else {
            return;
        };
        let faults_off =
            || std::env::var_os("SELVEDGE_FAULTS_OFF").is_some_and(|it| Path::new(&it).exists());
        if armed.hits_left.fetch_sub(1, Ordering::SeqCst) == 1 && !faults_off() {
            note(|| serde_json::json!({"what": "died", "point": point}));
            std::process::abort();
        }
    }

    pub(super) fn trace_file() -> Option<&'static File> {
        static TRACE: OnceLock<Option<File>> = OnceLock::new();
        let open = || {
            let path = std::env::var_os("SELVEDGE_TRACE")?;
            let mut options = OpenOptions::new();
            options.create(true).append(true).open(path).ok()
        };
        TRACE.get_or_init(open).as_ref()
    }

    pub(super) fn note(value: impl FnOnce() -> Value) {
        let Some(mut file) = trace_file() else {
            return;
        };
        let mut value = value();
        let now = clock_gettime(ClockId::Monotonic);
        value["at_us"] = Value::from(now.tv_sec * 1_000_000 + now.tv_nsec / 1_000);
        value["pid"] = Value::from(std::process::id());
        // Written by one call, so that lines of several threads do not mix. A failure is ignored here: the
        // reader of the trace notices the missing line.
        let _ = file.write_all(format!("{value}\n").as_bytes());
    }
}
