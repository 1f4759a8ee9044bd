//! Finds the processes of a test in `/proc` and kills them. A process belongs to an environment if its
//! working directory or its environment variables refer to it, and to a child if it descends from it.
//! Selvedge's own processes show neither to an ordinary user; they belong to an environment if a
//! descendant does, or their parent. A process that cleared its environment, moved to `/` and lost its
//! parent is not found; a test that creates one must track it itself.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;

use rustix::process::{Pid, Signal};

use crate::polling::Polling;
use crate::watched_value::WAIT_TIMEOUT;

/// A running process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunningProcess {
    /// Its id.
    pub pid: i32,
    /// Its command line, joined by spaces.
    pub command: String,
}

pub(super) fn processes_in(root: &Path) -> Vec<RunningProcess> {
    let process = |pid: i32| RunningProcess {
        pid,
        command: command_line(pid),
    };
    let own = raw(rustix::process::getpid());
    let running = running_processes();
    let (mut found, others): (HashSet<i32>, HashSet<i32>) = running
        .keys()
        .filter(|pid| **pid != own)
        .partition(|pid| belongs_to(**pid, root));
    let protected = others.into_iter().filter(|pid| is_protected(*pid));
    let protected: HashSet<i32> = protected.collect();
    // Upwards from each process that was found, then downwards.
    for start in found.clone() {
        let parents = std::iter::successors(Some(start), |pid| running.get(pid).copied());
        found.extend(parents.filter(|pid| protected.contains(pid)));
    }
    let below = |pid: &&i32, found: &HashSet<i32>| {
        !found.contains(*pid) && running.get(*pid).is_some_and(|of| found.contains(of))
    };
    while let Some(pid) = protected.iter().find(|pid| below(pid, &found)) {
        found.insert(*pid);
    }
    found.into_iter().map(process).collect()
}

/// Kills every process that lives under `root`. Repeats until none is found, because a process may fork
/// during the search.
pub(super) fn kill_all_in(root: &Path) {
    retry_until_timeout(|| {
        let found = processes_in(root);
        found
            .iter()
            .filter_map(|process| Pid::from_raw(process.pid))
            .for_each(kill);
        found.is_empty()
    });
}

/// Kills `root` and all its descendants, and waits until they are gone.
pub(super) fn kill_tree(root: Pid) {
    let mut tree = vec![root];
    // Each process is stopped before its children are listed, so that it cannot fork afterwards.
    for index in 0.. {
        let Some(pid) = tree.get(index).copied() else {
            break;
        };
        let _ = rustix::process::kill_process(pid, Signal::STOP);
        tree.extend(children_of(pid));
    }
    tree.iter().copied().for_each(kill);
    retry_until_timeout(|| tree.iter().all(|pid| parent_of(raw(*pid)).is_none()));
}

/// Retries until done, but no longer than [`WAIT_TIMEOUT`]: a process that cannot be killed must not
/// block the test forever.
fn retry_until_timeout(mut is_done: impl FnMut() -> bool) {
    let mut polling = Polling::new(WAIT_TIMEOUT);
    while !is_done() && polling.pause() {}
}

fn children_of(parent: Pid) -> Vec<Pid> {
    let children = running_processes()
        .into_iter()
        .filter(|(_, of)| *of == raw(parent));
    children
        .filter_map(|(child, _)| Pid::from_raw(child))
        .collect()
}

fn raw(pid: Pid) -> i32 {
    pid.as_raw_nonzero().get()
}

fn kill(pid: Pid) {
    // The process may have ended already.
    let _ = rustix::process::kill_process(pid, Signal::KILL);
}

/// Returns process ids with their parents' ids, without zombies.
fn running_processes() -> HashMap<i32, i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid| Some((pid, parent_of(pid)?)))
        .collect()
}

/// Returns the parent's id; `None` for a process that is gone or a zombie.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain spaces and parentheses itself.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (!matches!(state, "Z" | "X")).then_some(parent)
}

fn belongs_to(pid: i32, root: &Path) -> bool {
    let directory = fs::read_link(format!("/proc/{pid}/cwd"));
    if directory.is_ok_and(|directory| directory.starts_with(root)) {
        return true;
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let root = root.as_os_str().as_encoded_bytes();
    environment.windows(root.len()).any(|window| window == root)
}

/// Whether it is a process of Selvedge whose environment cannot be read.
fn is_protected(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.starts_with("selvedge") && fs::read(format!("/proc/{pid}/environ")).is_err()
}

fn command_line(pid: i32) -> String {
    let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&arguments)
        .trim_end_matches('\0')
        .replace('\0', " ")
}
