//! Failures that the machine causes, not the work: no memory, disk space, name resolution or daemon. A table of the
//! messages of programs and kernels; anything else is a failure of the work.
//!
//! Only applies to a command that failed without a complete test run reporting failures: a test's message about an
//! unreachable host concerns only the test.

/// The signal with which the kernel kills a process that uses too much memory.
const SIGKILL: i32 = 9;
/// The exit code by which a shell or a container reports this signal.
const KILLED_EXIT_CODE: i32 = 128 + SIGKILL;

/// Names that never resolve and are only used deliberately.
const RESERVED_NAMES: [&str; 4] = [".invalid", ".test", ".example", "example.com"];

/// Message parts and their meaning. All parts must be in one line, regardless of case.
const SIGNATURES: &[(&[&str], &str)] = &[
    (&["cannot allocate memory"], OUT_OF_MEMORY),
    (&["virtual memory exhausted"], OUT_OF_MEMORY),
    (&["killed signal terminated program"], OUT_OF_MEMORY),
    (&["(signal: 9, sigkill: kill)"], OUT_OF_MEMORY),
    (&["unable to create native thread"], OUT_OF_MEMORY),
    (
        &["fork", "resource temporarily unavailable"],
        OUT_OF_PROCESSES,
    ),
    (&["too many open files in system"], OUT_OF_PROCESSES),
    (&["no space left on device"], DISK_FULL),
    (&["enospc"], DISK_FULL),
    (&["disk quota exceeded"], DISK_FULL),
    (&["temporary failure in name resolution"], NAME_RESOLUTION),
    (&["temporary failure resolving"], NAME_RESOLUTION),
    (&["eai_again"], NAME_RESOLUTION),
    (&["could not resolve host"], NAME_RESOLUTION),
    (&["failed to lookup address information"], NAME_RESOLUTION),
    (&["dial tcp: lookup ", "no such host"], NAME_RESOLUTION),
    (&["cannot connect to the docker daemon"], DAEMON_DOWN),
    (&["failed to connect to the docker api"], DAEMON_DOWN),
    (&["cannot connect to podman"], DAEMON_DOWN),
];

const OUT_OF_MEMORY: &str = "out of memory";
const OUT_OF_PROCESSES: &str = "the system cannot start more processes or open more files";
const DISK_FULL: &str = "no space left on the disk";
const NAME_RESOLUTION: &str = "host names cannot be resolved";
const DAEMON_DOWN: &str = "the container daemon is not running";

/// How a failed command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AbnormalExit {
    /// It exited with this code.
    ExitCode(i32),
    /// By a signal from outside Selvedge.
    Signal(i32),
}

/// The missing resource, if that is why a command failed. `printed` is the end of its output.
pub fn find_cause(ending: AbnormalExit, printed: &str) -> Option<&'static str> {
    if matches!(
        ending,
        AbnormalExit::Signal(SIGKILL) | AbnormalExit::ExitCode(KILLED_EXIT_CODE)
    ) {
        return Some("killed from outside, for example by the kernel for lack of memory");
    }
    printed.lines().rev().find_map(|line| {
        let line = line.to_ascii_lowercase();
        let contains_all = |parts: &[&str]| parts.iter().all(|part| line.contains(part));
        let (_, cause) = SIGNATURES.iter().find(|(parts, _)| contains_all(parts))?;
        let on_purpose =
            *cause == NAME_RESOLUTION && RESERVED_NAMES.iter().any(|name| line.contains(name));
        (!on_purpose).then_some(*cause)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn infra_error_patterns_exclude_errors_of_the_work() {
        let cases = [
            (
                "cc1plus: fatal error: Killed signal terminated program cc1plus",
                Some(OUT_OF_MEMORY),
            ),
            (
                "error: could not compile `x` (lib)\n  process didn't exit successfully: `rustc` (signal: 9, SIGKILL: kill)",
                Some(OUT_OF_MEMORY),
            ),
            (
                "OSError: [Errno 12] Cannot allocate memory",
                Some(OUT_OF_MEMORY),
            ),
            (
                "sh: 1: Cannot fork: fork: Resource temporarily unavailable",
                Some(OUT_OF_PROCESSES),
            ),
            (
                "error: No space left on device (os error 28)",
                Some(DISK_FULL),
            ),
            (
                "npm error code ENOSPC\nnpm error syscall write",
                Some(DISK_FULL),
            ),
            (
                "fatal: unable to access 'https://x/': Could not resolve host: github.com",
                Some(NAME_RESOLUTION),
            ),
            (
                "npm error request to https://npm.corp.net failed, reason: getaddrinfo EAI_AGAIN",
                Some(NAME_RESOLUTION),
            ),
            (
                "go: x: Get \"https://go.corp.net/x\": dial tcp: lookup go.corp.net: no such host",
                Some(NAME_RESOLUTION),
            ),
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
                Some(DAEMON_DOWN),
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
            assert_eq!(
                find_cause(AbnormalExit::ExitCode(1), printed),
                expected,
                "{printed}"
            );
        }
        assert!(find_cause(AbnormalExit::Signal(9), "").is_some());
        assert!(find_cause(AbnormalExit::ExitCode(137), "Killed").is_some());
        assert_eq!(
            find_cause(AbnormalExit::Signal(11), "Segmentation fault"),
            None
        );
    }
}
