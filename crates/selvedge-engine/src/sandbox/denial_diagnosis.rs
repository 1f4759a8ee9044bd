//! Detects that a check failed because of its sandbox: then it could not be run, and the agent has nothing to fix. A
//! program can print anything, so only actual denials count: a path that the sandbox made read-only or hid, together
//! with the corresponding error, or a missing network.

use std::cmp::Reverse;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use selvedge_core::model::{SandboxBackend, SandboxProfile};

use super::WorkspaceSandbox;
use super::temporary_paths::is_temporary;

/// Number of lines at the end of an output that are searched.
const MAX_LINES: usize = 200;

/// Number of possible ends of a path that are tried, for paths with spaces or punctuation.
const MAX_PATH_ENDS: usize = 40;

const READ_ONLY_MESSAGES: &[&str] = &[
    "Read-only file system",
    "read-only file system",
    "EROFS",
    "os error 30",
];
const DENIED_MESSAGES: &[&str] = &[
    "Permission denied",
    "permission denied",
    "EACCES",
    "Operation not permitted",
    "EPERM",
    "os error 13",
];
const MISSING_MESSAGES: &[&str] = &[
    "No such file or directory",
    "no such file or directory",
    "ENOENT",
    "os error 2)",
    "not found",
    "cannot find",
    "does not exist",
    "FileNotFound",
    "NoSuchFile",
];
const NO_NETWORK_MESSAGES: &[&str] = &[
    "Network is unreachable",
    "network is unreachable",
    "ENETUNREACH",
    "Could not resolve host",
    "could not resolve host",
    "Temporary failure in name resolution",
    "Name or service not known",
    "EAI_AGAIN",
    "failed to lookup address information",
    "dial tcp: lookup",
    "getaddrinfo ENOTFOUND",
    "NameResolutionError",
    "UnknownHostException",
];

/// Error messages for a system call that the filter refuses, but not for a file's permissions.
const REFUSED_CALL_MESSAGES: &[&str] = &["peration not permitted", "EPERM"];
/// Signs on the same line that the call opened a socket or shared memory, or no file.
const REFUSED_CALL_SUBJECTS: &[&str] = &[
    "socket",
    "Socket",
    "listen",
    "bind",
    "connect",
    "shared memory",
    "semaphore",
    "shmget",
    "Errno 1]",
    "os error 1)",
    "code: 1,",
];

/// The access that a line of output reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DenialMessage {
    ReadOnly,
    Denied,
    Missing,
}

impl DenialMessage {
    fn of(line: &str) -> Option<Self> {
        let contains_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
        [
            (READ_ONLY_MESSAGES, Self::ReadOnly),
            (DENIED_MESSAGES, Self::Denied),
            (MISSING_MESSAGES, Self::Missing),
        ]
        .into_iter()
        .find_map(|(words, message)| contains_any(words).then_some(message))
    }
}

/// How the sandbox made a command fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SandboxDenial {
    /// A description in one line, with a remedy.
    pub(crate) reason: String,
    /// The denied path, if the verification room mounts it read-only; relative to the workspace.
    pub(crate) read_only: Option<PathBuf>,
}

impl From<String> for SandboxDenial {
    fn from(reason: String) -> Self {
        Self {
            reason,
            read_only: None,
        }
    }
}

/// Finds how the sandbox made a command fail; `None` if it did not.
pub(crate) fn diagnose_denial(sandbox: &WorkspaceSandbox, output: &str) -> Option<SandboxDenial> {
    let profile = sandbox.inner.profile;
    let way_out = |key: &str| format!("`{key}` in [sandbox] of your own configuration permits it");
    let mut lines = output.lines().rev().take(MAX_LINES).peekable();
    while let Some(line) = lines.next() {
        let contains_any = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if profile == SandboxProfile::Strict && contains_any(NO_NETWORK_MESSAGES) {
            return Some(
                format!(
                    "the sandbox has no network under the profile `strict`; {}",
                    way_out("checks")
                )
                .into(),
            );
        }
        if sandbox.blocks_calls()
            && contains_any(REFUSED_CALL_MESSAGES)
            && contains_any(REFUSED_CALL_SUBJECTS)
        {
            return Some(format!(
                "landlock allows neither sockets of the network nor shared memory under the profile `strict`; {}",
                way_out("checks")
            ).into());
        }
        // A program that only warns about a file continues without it.
        let is_warning = line.contains("Warning: ") || line.contains("warning: ");
        let Some(mut message) = DenialMessage::of(line).filter(|_| !is_warning) else {
            continue;
        };
        if message == DenialMessage::Missing && (cannot_create_folder(line) || misses_cache(line)) {
            message = DenialMessage::ReadOnly;
        }
        if message == DenialMessage::ReadOnly {
            // A cause is often on the line after the path.
            let before = lines.peek().copied().unwrap_or_default();
            let place = sandbox.read_only_path(line);
            if let Some(place) = place.or_else(|| sandbox.read_only_path(before)) {
                let reason = format!(
                    "the check writes to `{}`, which is read-only in the verification room; use `[setup] run` to \
                     install dependencies, not a check",
                    place.display()
                );
                return Some(SandboxDenial {
                    reason,
                    read_only: Some(place),
                });
            }
        }
        for path in subjects_in(line) {
            if sandbox.denies(&path, message) {
                let denied = format!("the sandbox denied access to {}", path.display());
                return Some(if is_of_system(&path) {
                    denied.into()
                } else {
                    format!("{denied}; {}", way_out("writable")).into()
                });
            }
            if let Some(protected) = sandbox.makes_parents_read_only(&path) {
                return Some(format!(
                    "the sandbox denied access to {}: Landlock cannot protect {} inside of a writable folder, so the \
                     folders above it are read-only; use $TMPDIR, or the backend bubblewrap",
                    path.display(),
                    protected.display()
                ).into());
            }
        }
    }
    None
}

/// Whether a path belongs to the operating system: no check should be permitted to change it.
fn is_of_system(path: &Path) -> bool {
    const FOLDERS: [&str; 6] = ["/boot", "/dev", "/etc", "/proc", "/sys", "/usr"];
    FOLDERS.iter().any(|folder| path.starts_with(folder))
}

/// Whether a line reports that a folder is missing that was to be created, although its parent exists: Node.js reports a
/// read-only file system like this.
fn cannot_create_folder(line: &str) -> bool {
    let parent_exists = |path: &PathBuf| path.parent().is_some_and(Path::is_dir) && !path.exists();
    line.contains("mkdir") && paths_in(line).iter().any(parent_exists)
}

/// Whether a line reports that a file is missing in the cache of installed packages: programs of Node.js do not create the
/// cache in a folder that is read-only, and then do not find what should be there.
fn misses_cache(line: &str) -> bool {
    line.contains("ENOENT") && line.contains("node_modules/.cache/")
}

/// The absolute paths in a line of output, except for the program that prints it: `/bin/sh: 1: cannot create NAME: …`.
fn subjects_in(line: &str) -> Vec<PathBuf> {
    let mut paths = paths_in(line);
    let is_program = paths.first().is_some_and(|first| {
        let rest = first.to_str().and_then(|first| line.strip_prefix(first));
        let rest = rest.and_then(|rest| rest.strip_prefix(": "));
        rest.is_some_and(|rest| rest.contains(": ")) && first.is_file()
    });
    if is_program {
        paths.remove(0);
    }
    paths
}

/// Returns whether a line of output names this relative path, or one below it.
fn names_path(line: &str, name: &str) -> bool {
    let is_end = |c: char| c.is_whitespace() || "'\"`():,;=<>[]{}‘’“”".contains(c);
    line.match_indices(name).any(|(at, name)| {
        let before = &line[..at];
        let begins = before.chars().next_back().is_none_or(is_end) || before.ends_with("./");
        let after = line[at + name.len()..].chars().next();
        begins && after.is_none_or(|c| c == '/' || is_end(c))
    })
}

/// Absolute paths in a line of output, one for each position at which a path may begin. A path may contain spaces and
/// punctuation; of all possible ends, the first one with the most existing components is used.
fn paths_in(line: &str) -> Vec<PathBuf> {
    let is_end = |c: char| c.is_whitespace() || "'\"`():,;=<>[]{}‘’“”".contains(c);
    let mut paths = Vec::new();
    let mut before = ' ';
    let mut covered = 0;
    for (at, found) in line.char_indices() {
        let begins = found == '/' && is_end(before) && at >= covered;
        before = found;
        let rest = &line[at..];
        if !begins || rest.starts_with("//") {
            continue;
        }
        let ends = rest.match_indices(is_end).map(|(end, _)| end);
        let candidates = ends
            .chain([rest.len()])
            .take(MAX_PATH_ENDS)
            .map(|end| &rest[..end]);
        let best = candidates.min_by_key(|path| Reverse(existing_depth(Path::new(path))));
        if let Some(path) = best.filter(|path| path.len() > 1) {
            covered = at + path.len();
            paths.push(PathBuf::from(path));
        }
    }
    paths
}

/// Number of components of a path that exist.
fn existing_depth(path: &Path) -> usize {
    let there = path.ancestors().find(|it| it.exists());
    there.map_or(0, |it| it.components().count())
}

impl WorkspaceSandbox {
    /// Whether it refuses calls that need no path.
    fn blocks_calls(&self) -> bool {
        let own = &*self.inner;
        own.profile == SandboxProfile::Strict && own.backend == SandboxBackend::Landlock
    }

    /// Whether the sandbox denies writing (or, for hidden paths, reading) a path that would be writable without it.
    fn denies(&self, path: &Path, message: DenialMessage) -> bool {
        let own = &*self.inner;
        if path.starts_with(&own.workspace) || own.writable.iter().any(|it| path.starts_with(it)) {
            return false;
        }
        // Temporary files belong to the session, except for a home below their folder.
        let is_home = own
            .paths
            .home
            .as_ref()
            .is_some_and(|home| path.starts_with(home));
        let is_own = ["/dev", "/proc", "/sys"]
            .iter()
            .any(|it| path.starts_with(it));
        if is_own || (is_temporary(path) && !is_home) {
            return false;
        }
        let masked = own.paths.masked().into_iter().chain([own.state.clone()]);
        let is_masked = masked.into_iter().any(|masked| path.starts_with(masked));
        let is_hidden = is_masked || self.hides_in_home(path);
        if message == DenialMessage::Missing {
            return is_hidden && path.exists();
        }
        if is_hidden {
            return true;
        }
        let there = path.ancestors().find(|it| it.exists());
        let writable =
            there.is_some_and(|it| rustix::fs::access(it, rustix::fs::Access::WRITE_OK).is_ok());
        // Landlock gives another error than a mount does.
        let is_read_only = message == DenialMessage::ReadOnly;
        writable && (is_read_only || own.backend == SandboxBackend::Landlock)
    }

    /// The path that a line of output about a read-only file system names, if the verification room mounts it
    /// read-only. Relative to the workspace.
    fn read_only_path(&self, line: &str) -> Option<PathBuf> {
        let own = &*self.inner;
        let mounts = &own.verification_room.as_ref()?.mounts;
        let mut places: Vec<&Path> = mounts
            .iter()
            .filter(|mount| !mount.is_writable && mount.mount_point.is_relative())
            .map(|mount| &*mount.mount_point)
            .collect();
        places.sort_by_key(|place| Reverse(place.as_os_str().len()));
        let subjects = subjects_in(line);
        let is_absolute = |place: &&&Path| {
            let absolute = own.workspace.join(place);
            subjects.iter().any(|path| path.starts_with(&absolute))
        };
        let is_named = |name: &OsStr| {
            subjects.is_empty() && name.to_str().is_some_and(|name| names_path(line, name))
        };
        let by_path = |place: &&&Path| is_absolute(place) || is_named(place.as_os_str());
        // A path may be relative to the parent folder.
        let by_name = |place: &&&Path| place.file_name().is_some_and(is_named);
        let found = places.iter().find(by_path);
        let found = found.or_else(|| places.iter().rev().find(by_name));
        found.map(|place| place.to_path_buf())
    }

    /// Whether it is a path in the home that the profile `strict` does not show.
    fn hides_in_home(&self, path: &Path) -> bool {
        let own = &*self.inner;
        let home = own.paths.home.as_ref();
        let shown = || own.paths.toolchains();
        own.profile == SandboxProfile::Strict
            && home.is_some_and(|home| path.starts_with(home))
            && !shown().iter().any(|shown| path.starts_with(shown))
    }

    /// The protected path because of which nothing can be created in the folder of a temporary file.
    fn makes_parents_read_only(&self, path: &Path) -> Option<PathBuf> {
        let own = &*self.inner;
        if own.backend != SandboxBackend::Landlock
            || own.profile != SandboxProfile::Default
            || !is_temporary(path)
        {
            return None;
        }
        let there = path.ancestors().find(|it| it.exists())?;
        let masked = own.paths.masked().into_iter().chain([own.state.clone()]);
        let mut protected =
            masked.chain(self.protected_paths(std::slice::from_ref(&own.workspace), &[]));
        protected.find(|it| it.starts_with(there) || path.starts_with(it))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_that_cannot_be_created_is_no_missing_file() {
        let root = tempfile::tempdir().unwrap();
        let line = |path: &str| {
            let path = root.path().join(path);
            format!(
                "Error: ENOENT: no such file or directory, mkdir '{}'",
                path.display()
            )
        };
        assert!(cannot_create_folder(&line(".xo-cache")));
        assert!(!cannot_create_folder(&line("missing/folder")));
        assert!(!cannot_create_folder(
            &line(".xo-cache").replace("mkdir", "open")
        ));
    }

    #[test]
    fn read_only_places_may_be_relative() {
        let line = "/bin/sh: 1: cannot create node_modules/x: Read-only file system";
        assert_eq!(subjects_in(line), [] as [PathBuf; 0]);
        assert_eq!(
            subjects_in("/bin/sh: Read-only file system"),
            [PathBuf::from("/bin/sh")]
        );
        for line in [
            line,
            "mkdir: cannot create directory ‘node_modules’: Read-only file system",
            "EROFS: read-only file system, mkdir './node_modules/.x'",
        ] {
            assert!(names_path(line, "node_modules"), "{line}");
        }
        let nested = "EROFS: read-only file system, mkdir './packages/a/node_modules/.x'";
        assert!(names_path(nested, "packages/a/node_modules"));
        assert!(!names_path(nested, "node_modules"));
        assert!(!names_path("old_node_modules/x: EROFS", "node_modules"));
    }

    #[test]
    fn denial_paths_may_contain_spaces() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().canonicalize().unwrap().join("a b (c)");
        std::fs::create_dir(&folder).unwrap();
        let made = folder.join("made");
        let shown = made.display();
        for line in [
            format!("touch: cannot touch '{shown}': Read-only file system"),
            format!("attempt.sh: 1: cannot create {shown}: Read-only file system"),
            format!("error: failed to write `{shown}` (os error 30)"),
        ] {
            assert_eq!(paths_in(&line), std::slice::from_ref(&made), "{line}");
        }
        assert_eq!(
            paths_in("cp: /nowhere/at to /all/it: Permission denied"),
            ["/nowhere/at", "/all/it"].map(PathBuf::from)
        );
        assert_eq!(
            paths_in("see https://example.org/a or and/or"),
            [] as [PathBuf; 0]
        );
    }
}
