//! Ends a process tree without its supervisor, by the tag in the environment of its processes (of a
//! supervisor: in its arguments, because its environment is protected): the last resort if the supervisor itself was killed. It misses a process that cleared its
//! environment and left the session; its report names the method.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use super::command::TAG_VARIABLE;
use super::pool::SUPERVISOR_NAME;
use super::session_exit::{ProcessName, TreeReport};
use selvedge_core::model::CleanupMethod;

/// Time after which killed processes that still exist count as survivors.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Which processes to kill.
#[derive(Clone, Copy)]
enum TagFilter<'a> {
    /// The processes of one session, by its whole tag.
    Session(&'a str),
    /// The processes of every session of a run, by the part of the tag before the dot.
    Run(&'a str),
}

/// Kills every process whose environment contains this session's tag (`<run>.<n>`), except this
/// process, and repeats that until none is found. Blocks for some milliseconds.
pub fn kill_session_processes(tag: &str) -> TreeReport {
    kill_until_none(TagFilter::Session(tag), None)
}

/// Kills the processes of all sessions of a run, supervisors included.
pub fn kill_run_processes(run: &str) -> TreeReport {
    kill_until_none(TagFilter::Run(run), None)
}

/// Kills what a lost supervisor's session left: by its tag, and every process of the (kernel)
/// session that the supervisor led, whatever its environment contains.
pub(super) fn kill_lost_session(tag: &str, supervisor: Option<i32>) -> TreeReport {
    kill_until_none(TagFilter::Session(tag), supervisor)
}

impl TagFilter<'_> {
    /// Whether a process with this environment matches.
    fn matches(self, environ: &[u8]) -> bool {
        environ.split(|byte| *byte == 0).any(|variable| {
            let tag = variable.strip_prefix(TAG_VARIABLE.as_bytes());
            let tag = tag.and_then(|tag| tag.strip_prefix(b"="));
            tag.is_some_and(|tag| self.matches_tag(tag))
        })
    }

    /// Whether this is the command line of a supervisor that matches.
    fn matches_supervisor(self, command_line: &[u8]) -> bool {
        let mut words = command_line.split(|byte| *byte == 0);
        words.next() == Some(SUPERVISOR_NAME.as_bytes()) && words.any(|word| self.matches_tag(word))
    }

    fn matches_tag(self, tag: &[u8]) -> bool {
        match self {
            Self::Session(meant) => tag == meant.as_bytes(),
            Self::Run(run) => tag
                .strip_prefix(run.as_bytes())
                .is_some_and(|rest| rest.starts_with(b".")),
        }
    }
}

fn kill_until_none(mark: TagFilter<'_>, session: Option<i32>) -> TreeReport {
    let deadline = Instant::now() + KILL_TIMEOUT;
    let mut ended = BTreeMap::new();
    let mut pause = Duration::from_millis(1);
    let survivors = loop {
        let found = kill_marked(mark, session);
        if found.is_empty() || Instant::now() >= deadline {
            break found;
        }
        ended.extend(found);
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(100));
    };
    ended.retain(|pid, _| !survivors.contains_key(pid));
    TreeReport {
        method: CleanupMethod::EnvironmentSweep,
        ended: ended.len() as u64,
        ended_names: names(&ended),
        survivors: names(&survivors),
    }
}

fn names(processes: &BTreeMap<i32, String>) -> Vec<ProcessName> {
    processes
        .iter()
        .map(ProcessName::from)
        .take(TreeReport::MAX_NAMED)
        .collect()
}

/// Kills all processes that match now; returns them, whether or not they could be killed.
#[cfg(target_os = "linux")]
fn kill_marked(mark: TagFilter<'_>, session: Option<i32>) -> BTreeMap<i32, String> {
    use super::proc;
    use rustix::process::Signal;

    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut found = BTreeMap::new();
    for pid in proc::all_processes().filter(|pid| *pid != own) {
        let is_meant = || {
            let read = |file: &str| std::fs::read(format!("/proc/{pid}/{file}"));
            read("environ").is_ok_and(|environ| mark.matches(&environ))
                || read("cmdline").is_ok_and(|line| mark.matches_supervisor(&line))
                || session.is_some_and(|id| proc::read_stat(pid).is_some_and(|s| s.session == id))
        };
        if !is_meant() {
            continue;
        }
        let Some(stat) = proc::read_stat(pid).filter(|stat| !stat.zombie) else {
            continue;
        };
        // The next pass shows whether it worked.
        let _ = proc::signal_if(pid, Signal::KILL, is_meant);
        found.insert(pid, stat.name);
    }
    found
}

/// Other systems do not show the environment of a process: only the supervisor's session can be
/// killed, which is a process group if the program created none of its own.
#[cfg(not(target_os = "linux"))]
fn kill_marked(_mark: TagFilter<'_>, session: Option<i32>) -> BTreeMap<i32, String> {
    if let Some(group) = session.and_then(rustix::process::Pid::from_raw) {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    BTreeMap::new()
}

#[cfg(test)]
mod tests {
    use super::TagFilter;

    #[test]
    fn tag_filter_matches_whole_variable() {
        let environ = b"A=SELVEDGE_SESSION=7.1\0SELVEDGE_SESSION=12.3\0SELVEDGE_SESSION_X=9.9\0";
        assert!(TagFilter::Session("12.3").matches(environ));
        assert!(TagFilter::Run("12").matches(environ));
        for other in ["7.1", "12.", "12.33", "2.3", "9.9", ""] {
            assert!(!TagFilter::Session(other).matches(environ), "{other}");
        }
        for other in ["1", "12.", "12.3", "7", "9", ""] {
            assert!(!TagFilter::Run(other).matches(environ), "{other}");
        }
        let supervisor = b"selvedge-supervisor\0__supervise\x0012.supervisor\0";
        assert!(TagFilter::Run("12").matches_supervisor(supervisor));
        assert!(!TagFilter::Run("1").matches_supervisor(supervisor));
        assert!(!TagFilter::Run("12").matches_supervisor(b"cat\x0012.supervisor\0"));
    }
}
