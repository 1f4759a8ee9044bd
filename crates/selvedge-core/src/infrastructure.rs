//! Failures that the machine is to blame for, and none of the work: no memory, no space, no names, no
//! daemon. A table of what programs and kernels say then; what is not in it is a failure.
//!
//! To be asked only of a command that failed without a whole run of tests saying so: what a test
//! prints about a host that it cannot find is the test's own business.

/// The signal by which a kernel ends what takes too much memory.
const SIGKILL: i32 = 9;
/// How a shell, or a container, tells that.
const KILLED: i32 = 128 + SIGKILL;

/// Names that never resolve, and are only used on purpose.
const RESERVED: [&str; 4] = [".invalid", ".test", ".example", "example.com"];

/// What is said, and what that means. All parts must stand in one line, whatever their case.
const SIGNATURES: &[(&[&str], &str)] = &[
    (&["cannot allocate memory"], MEMORY),
    (&["virtual memory exhausted"], MEMORY),
    (&["killed signal terminated program"], MEMORY),
    (&["(signal: 9, sigkill: kill)"], MEMORY),
    (&["unable to create native thread"], MEMORY),
    (&["fork", "resource temporarily unavailable"], PROCESSES),
    (&["too many open files in system"], PROCESSES),
    (&["no space left on device"], SPACE),
    (&["enospc"], SPACE),
    (&["disk quota exceeded"], SPACE),
    (&["temporary failure in name resolution"], NAMES),
    (&["temporary failure resolving"], NAMES),
    (&["eai_again"], NAMES),
    (&["could not resolve host"], NAMES),
    (&["failed to lookup address information"], NAMES),
    (&["dial tcp: lookup ", "no such host"], NAMES),
    (&["cannot connect to the docker daemon"], DAEMON),
    (&["failed to connect to the docker api"], DAEMON),
    (&["cannot connect to podman"], DAEMON),
];

const MEMORY: &str = "out of memory";
const PROCESSES: &str = "the system has no room for more processes or files";
const SPACE: &str = "no space left on the disk";
const NAMES: &str = "host names cannot be resolved";
const DAEMON: &str = "the container daemon is not running";

/// How a command that failed has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code.
    Code(i32),
    /// By a signal that did not come from here.
    Signal(i32),
}

/// What the machine lacked, if that is why a command failed. `printed` is the end of its output.
pub fn cause(ending: Ending, printed: &str) -> Option<&'static str> {
    if matches!(ending, Ending::Signal(SIGKILL) | Ending::Code(KILLED)) {
        return Some("killed from outside, as a kernel does that is out of memory");
    }
    printed.lines().rev().find_map(|line| {
        let line = line.to_ascii_lowercase();
        let said = |parts: &[&str]| parts.iter().all(|part| line.contains(part));
        let (_, cause) = SIGNATURES.iter().find(|(parts, _)| said(parts))?;
        let on_purpose = *cause == NAMES && RESERVED.iter().any(|name| line.contains(name));
        (!on_purpose).then_some(*cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_machine_lacks_is_told_from_what_the_work_lacks() {
        let cases = [
            (
                "cc1plus: fatal error: Killed signal terminated program cc1plus",
                Some(MEMORY),
            ),
            (
                "error: could not compile `x` (lib)\n  process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)",
                Some(MEMORY),
            ),
            ("OSError: [Errno 12] Cannot allocate memory", Some(MEMORY)),
            (
                "sh: 1: Cannot fork: fork: Resource temporarily unavailable",
                Some(PROCESSES),
            ),
            ("error: No space left on device (os error 28)", Some(SPACE)),
            (
                "npm error code ENOSPC\nnpm error syscall write",
                Some(SPACE),
            ),
            (
                "fatal: unable to access 'https://x/': Could not resolve host: github.com",
                Some(NAMES),
            ),
            (
                "npm error request to https://npm.corp.net failed, reason: getaddrinfo EAI_AGAIN",
                Some(NAMES),
            ),
            (
                "go: x: Get \"https://go.corp.net/x\": dial tcp: lookup go.corp.net: no such host",
                Some(NAMES),
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
                Some(DAEMON),
            ),
            ("curl: (6) Could not resolve host: nobody.invalid", None),
            (
                "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
                None,
            ),
            ("AssertionError: 1 != 2", None),
            (
                "curl: (7) Failed to connect to localhost port 8080: Connection refused",
                None,
            ),
            ("", None),
        ];
        for (printed, expected) in cases {
            assert_eq!(cause(Ending::Code(1), printed), expected, "{printed}");
        }
        assert!(cause(Ending::Signal(9), "").is_some());
        assert!(cause(Ending::Code(137), "Killed").is_some());
        assert_eq!(cause(Ending::Signal(11), "Segmentation fault"), None);
    }
}
