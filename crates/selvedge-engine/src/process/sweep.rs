//! Ending a tree without its supervisor, by the mark in the environment of its processes: the
//! last resort, for when the supervisor itself was killed. It misses a process that cleared its
//! environment and left the session; its report says by which method it speaks.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::ended::{Method, ProcessName, TreeReport};

/// How long killed processes may take to vanish until they count as survivors.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills every process whose environment carries this session's tag (`<run>.<n>`), this process
/// excepted, and looks again until none is found. Blocks for some milliseconds.
pub fn sweep(tag: &str) -> TreeReport {
    sweep_where(tag, None)
}

/// The same, and every process of the session (in the kernel's sense) that the lost supervisor
/// led, whatever its environment says.
pub(super) fn sweep_lost(tag: &str, supervisor: i32) -> TreeReport {
    sweep_where(tag, Some(supervisor))
}

fn sweep_where(tag: &str, session: Option<i32>) -> TreeReport {
    let deadline = Instant::now() + PATIENCE;
    let mut ended = BTreeMap::new();
    let mut pause = Duration::from_millis(1);
    let survivors = loop {
        let found = kill_marked(tag, session);
        if found.is_empty() || Instant::now() >= deadline {
            break found;
        }
        ended.extend(found);
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    };
    ended.retain(|pid, _| !survivors.contains_key(pid));
    TreeReport {
        method: Method::EnvironmentSweep,
        ended: ended.len() as u64,
        ended_names: names(&ended),
        survivors: names(&survivors),
    }
}

fn names(processes: &BTreeMap<i32, String>) -> Vec<ProcessName> {
    processes
        .iter()
        .map(ProcessName::from)
        .take(TreeReport::NAMED)
        .collect()
}

/// Kills all that match now; returns them, whether or not they could be killed.
#[cfg(target_os = "linux")]
fn kill_marked(tag: &str, session: Option<i32>) -> BTreeMap<i32, String> {
    use super::proc;
    use rustix::process::Signal;

    let mark = format!("{}={tag}", super::TAG_VARIABLE);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = BTreeMap::new();
    for pid in proc::all().filter(|pid| *pid != own) {
        let is_meant = || {
            carries(pid, mark.as_bytes())
                || session.is_some_and(|id| proc::stat(pid).is_some_and(|s| s.session == id))
        };
        if !is_meant() {
            continue;
        }
        let Some(stat) = proc::stat(pid).filter(|stat| !stat.zombie) else {
            continue;
        };
        // Whether it worked shows in the next pass.
        let _ = proc::signal_if(pid, Signal::KILL, is_meant);
        found.insert(pid, stat.name);
    }
    found
}

#[cfg(target_os = "linux")]
fn carries(pid: i32, mark: &[u8]) -> bool {
    std::fs::read(format!("/proc/{pid}/environ"))
        .is_ok_and(|environ| environ.split(|byte| *byte == 0).any(|entry| entry == mark))
}

/// Other systems show no process's environment: all that can be done is the supervisor's session,
/// which is a process group where the program made none of its own.
#[cfg(not(target_os = "linux"))]
fn kill_marked(_tag: &str, session: Option<i32>) -> BTreeMap<i32, String> {
    if let Some(group) = session.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    BTreeMap::new()
}
