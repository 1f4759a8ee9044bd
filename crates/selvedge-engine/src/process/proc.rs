//! Reads `/proc`, and sends signals without hitting another process that reuses the id of a dead
//! one. Every read is a snapshot of changing data: callers repeat it until nothing changes.

use std::collections::VecDeque;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use rustix::io::{self, Errno};
use rustix::process::{Pid, PidfdFlags, Signal};

/// The needed fields of `/proc/PID/stat`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ProcessStat {
    pub(super) name: String,
    pub(super) zombie: bool,
    pub(super) parent: i32,
    pub(super) session: i32,
    /// In clock ticks since boot; together with the pid it identifies a process uniquely.
    pub(super) start_time: u64,
}

/// Reads the process's status line; `None` if the process is gone.
pub(super) fn read_stat(pid: i32) -> Option<ProcessStat> {
    parse_stat(&fs::read(format!("/proc/{pid}/stat")).ok()?)
}

/// The name is in parentheses and may itself contain parentheses and spaces.
fn parse_stat(line: &[u8]) -> Option<ProcessStat> {
    let open = memchr::memchr(b'(', line)?;
    let close = memchr::memrchr(b')', line)?;
    let name = String::from_utf8_lossy(line.get(open + 1..close)?).into_owned();
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(ProcessStat {
        name,
        zombie: matches!(*fields.first()?, "Z" | "X"),
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        start_time: fields.get(19)?.parse().ok()?,
    })
}

/// Every process of this process namespace.
pub(super) fn all_processes() -> impl Iterator<Item = i32> {
    numeric_entries("/proc")
}

fn numeric_entries(dir: impl AsRef<Path>) -> impl Iterator<Item = i32> {
    let entries = fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

/// Every descendant of `root` with its parent, parents before their children, without `root`.
pub(super) fn descendants(root: i32) -> Vec<(i32, i32)> {
    let mut found = Vec::new();
    let mut queue = VecDeque::from([root]);
    while let Some(parent) = queue.pop_front() {
        for child in children(parent) {
            found.push((child, parent));
            queue.push_back(child);
        }
    }
    found
}

/// The children of a process, including zombies.
pub(super) fn children(pid: i32) -> Vec<i32> {
    static LISTED: LazyLock<bool> =
        LazyLock::new(|| Path::new("/proc/thread-self/children").exists());
    if *LISTED {
        read_thread_children(pid)
    } else {
        // On a kernel without CONFIG_PROC_CHILDREN: check the parent of every process.
        all_processes()
            .filter(|child| read_stat(*child).is_some_and(|stat| stat.parent == pid))
            .collect()
    }
}

/// The children of all threads of a process: a child belongs to the thread that forked it.
fn read_thread_children(pid: i32) -> Vec<i32> {
    let tasks = format!("/proc/{pid}/task");
    numeric_entries(&tasks)
        .filter_map(|task| fs::read_to_string(format!("{tasks}/{task}/children")).ok())
        .flat_map(|line| {
            let pids = line
                .split_ascii_whitespace()
                .map(str::parse)
                .map_while(Result::ok);
            pids.collect::<Vec<i32>>()
        })
        .collect()
}

/// Sends `signal` to `pid` if `is_meant` still holds once the id can no longer be reused by another
/// process. Returns whether the signal was sent.
///
/// # Errors
///
/// `PERM` if the process belongs to another user. A process that is gone is not an error.
pub(super) fn signal_if(pid: i32, signal: Signal, is_meant: impl Fn() -> bool) -> io::Result<bool> {
    let Some(pid) = Pid::from_raw(pid) else {
        return Ok(false);
    };
    let sent = match rustix::process::pidfd_open(pid, PidfdFlags::empty()) {
        // `is_meant` has read data of the process that the descriptor refers to; otherwise that
        // process is gone and the signal has no effect.
        Ok(fd) if is_meant() => rustix::process::pidfd_send_signal(fd, signal),
        // Linux before 5.3.
        Err(Errno::NOSYS) if is_meant() => rustix::process::kill_process(pid, signal),
        Ok(_) => return Ok(false),
        Err(errno) => Err(errno),
    };
    match sent {
        Ok(()) => Ok(true),
        Err(Errno::SRCH) => Ok(false),
        Err(errno) => Err(errno),
    }
}

#[cfg(test)]
mod tests {
    use super::{ProcessStat, parse_stat};

    #[test]
    fn process_stat_name_may_contain_parentheses() {
        let line = b"42 (a) R 7 (x) S 7 42 40 0 -1 1 0 0 0 0 0 0 0 0 20 0 1 0 9001 0 0";
        let expect = ProcessStat {
            name: "a) R 7 (x".to_owned(),
            zombie: false,
            parent: 7,
            session: 40,
            start_time: 9001,
        };
        assert_eq!(parse_stat(line), Some(expect));
    }

    #[test]
    fn process_stat_rejects_truncated_line() {
        assert_eq!(parse_stat(b"42 (sh) S 7"), None);
        assert_eq!(parse_stat(b""), None);
    }
}
