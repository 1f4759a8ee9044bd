//! Whether a check failed because of its walls: then it could not be run, and nothing of it is the
//! agent's to mend. What a program prints is its own, so only what walls bring about counts: a path
//! that they made read-only or masked, named with the error that they give, and no network where
//! there is none.

use std::path::{Path, PathBuf};

use selvedge_core::model::Profile;

use super::Walls;

/// How much of the end of an output is looked at, in lines.
const LINES: usize = 200;

const READ_ONLY: &[&str] = &[
    "Read-only file system",
    "read-only file system",
    "EROFS",
    "os error 30",
];
const DENIED: &[&str] = &[
    "Permission denied",
    "permission denied",
    "EACCES",
    "Operation not permitted",
    "EPERM",
    "os error 13",
];
const NO_NETWORK: &[&str] = &[
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
];

/// What the walls did to a command that failed, if they did: one line, with the way out.
pub(crate) fn blame(walls: &Walls, output: &str) -> Option<String> {
    let profile = walls.own.profile;
    let way_out = |key: &str| format!("`{key}` in [sandbox] of your own settings widens the walls");
    for line in output.lines().rev().take(LINES) {
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if profile == Profile::Strict && says(NO_NETWORK) {
            return Some(format!(
                "the sandbox has no network under the profile `strict`; {}",
                way_out("checks")
            ));
        }
        let read_only = says(READ_ONLY);
        if !read_only && !says(DENIED) {
            continue;
        }
        if let Some(path) = paths_in(line).find(|path| walls.shuts(path, read_only)) {
            return Some(format!(
                "the sandbox shut {}; {}",
                path.display(),
                way_out("writable")
            ));
        }
    }
    None
}

/// Absolute paths in a line of output.
fn paths_in(line: &str) -> impl Iterator<Item = PathBuf> {
    let ends = |c: char| c.is_whitespace() || "'\"`():,;=<>[]{}‘’“”".contains(c);
    line.split(ends)
        .filter(|word| word.starts_with('/') && word.len() > 1)
        .map(PathBuf::from)
}

impl Walls {
    /// Whether the walls keep a command from writing to (or, where it is masked, from reading) a path
    /// that could be written without them.
    fn shuts(&self, path: &Path, read_only: bool) -> bool {
        let own = &*self.own;
        if path.starts_with(&own.workspace) || own.writable.iter().any(|it| path.starts_with(it)) {
            return false;
        }
        if ["/dev", "/proc", "/sys", "/tmp", "/var/tmp"]
            .iter()
            .any(|it| path.starts_with(it))
        {
            return false;
        }
        let masked = own.places.masked().into_iter().chain([own.state.clone()]);
        if masked.into_iter().any(|masked| path.starts_with(masked)) {
            return true;
        }
        let there = path.ancestors().find(|it| it.exists());
        let writable =
            there.is_some_and(|it| rustix::fs::access(it, rustix::fs::Access::WRITE_OK).is_ok());
        // Landlock gives another error than a mount does.
        writable && (read_only || own.backend == selvedge_core::model::Backend::Landlock)
    }
}
