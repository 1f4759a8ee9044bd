//! Whether a check failed because of its walls: then it could not be run, and nothing of it is the
//! agent's to mend. What a program prints is its own, so only what walls bring about counts: a path
//! that they made read-only or masked, named with the error that they give, and no network where
//! there is none.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use selvedge_core::model::SandboxProfile;

use super::{WorkspaceSandbox, is_temporary};

/// How much of the end of an output is looked at, in lines.
const MAX_LINES: usize = 200;

/// How many ends of a path are considered, for one that contains spaces or punctuation.
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
];

/// What the walls did to a command that failed, if they did: one line, with the way out.
pub(crate) fn diagnose_denial(walls: &WorkspaceSandbox, output: &str) -> Option<String> {
    let profile = walls.inner.profile;
    let way_out = |key: &str| format!("`{key}` in [sandbox] of your own settings widens the walls");
    for line in output.lines().rev().take(MAX_LINES) {
        let says = |words: &[&str]| words.iter().any(|word| line.contains(word));
        if profile == SandboxProfile::Strict && says(NO_NETWORK_MESSAGES) {
            return Some(format!(
                "the sandbox has no network under the profile `strict`; {}",
                way_out("checks")
            ));
        }
        let read_only = says(READ_ONLY_MESSAGES);
        if !read_only && !says(DENIED_MESSAGES) {
            continue;
        }
        let mut paths = paths_in(line).into_iter();
        if let Some(path) = paths.find(|path| walls.denies(path, read_only)) {
            return Some(format!(
                "the sandbox shut {}; {}",
                path.display(),
                way_out("writable")
            ));
        }
    }
    None
}

/// Absolute paths in a line of output, one for each place at which one may begin. A path may contain
/// spaces and punctuation, so of all places at which it may end the first counts that leads furthest
/// into what exists.
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

/// How many components of a path exist.
fn existing_depth(path: &Path) -> usize {
    let there = path.ancestors().find(|it| it.exists());
    there.map_or(0, |it| it.components().count())
}

impl WorkspaceSandbox {
    /// Whether the walls keep a command from writing to (or, where it is masked, from reading) a path
    /// that could be written without them.
    fn denies(&self, path: &Path, read_only: bool) -> bool {
        let own = &*self.inner;
        if path.starts_with(&own.workspace) || own.writable.iter().any(|it| path.starts_with(it)) {
            return false;
        }
        // Temporary files are the session's own, but for a home that lies among them.
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
        if masked.into_iter().any(|masked| path.starts_with(masked)) {
            return true;
        }
        let there = path.ancestors().find(|it| it.exists());
        let writable =
            there.is_some_and(|it| rustix::fs::access(it, rustix::fs::Access::WRITE_OK).is_ok());
        // Landlock gives another error than a mount does.
        writable && (read_only || own.backend == selvedge_core::model::SandboxBackend::Landlock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_may_contain_spaces_and_punctuation() {
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
