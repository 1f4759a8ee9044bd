//! What an attempt leaves behind for the hub to keep: outputs, its patch, its tree as a pack.

use std::path::Path;

use selvedge_core::fleet::{FileRef, attempt_patch, since_start_patch};
use selvedge_core::model::{Report, SessionOutcome, TreeId};
use selvedge_engine::workspace::{self, DiffOptions, Workspace};

use super::pump::Upload;
use crate::fleet::file_ref;

/// The largest patch that is kept.
const LARGEST_PATCH: usize = 64 * 1024 * 1024;

/// The files that a session and its report refer to, by name.
pub(super) fn outputs(session: Option<&SessionOutcome>, report: Option<&Report>) -> Vec<String> {
    let transcript = session.and_then(|it| it.transcript.as_ref());
    let checks = report.iter().flat_map(|it| &it.checks);
    let checks = checks.filter_map(|it| it.output_ref.as_ref());
    transcript
        .into_iter()
        .chain(checks)
        .map(|it| it.file.clone())
        .collect()
}

/// A file as it will be uploaded; none when it is not there.
pub(super) fn upload(name: &str, path: &Path) -> Option<Upload> {
    let file: FileRef = file_ref(name, path).ok()?;
    Some(Upload {
        path: path.to_owned(),
        file,
    })
}

/// The trees between which an attempt's patch lies.
pub(super) struct Trees {
    pub(super) start: Option<TreeId>,
    pub(super) from: Option<TreeId>,
    pub(super) tree: Option<TreeId>,
}

impl Trees {
    /// The attempt's patch, and its tree as a pack. What cannot be made is left out: without it the next
    /// worker begins from a fresh clone.
    pub(super) fn files(&self, workspace: &Workspace, number: u32, run_dir: &Path) -> Vec<Upload> {
        let Some(tree) = &self.tree else {
            return Vec::new();
        };
        let parsed = |tree: &TreeId| workspace::TreeId::parse(tree.as_str()).ok();
        let (Some(to), start) = (parsed(tree), self.start.as_ref().and_then(parsed)) else {
            return Vec::new();
        };
        let mut files = Vec::new();
        let options = DiffOptions {
            max_bytes: LARGEST_PATCH,
            ..DiffOptions::default()
        };
        let mut patch = |name: String, from: &workspace::TreeId| {
            if let Ok(diff) = workspace.diff(from, &to, options) {
                files.extend(kept(&name, &diff.bytes, run_dir));
            }
        };
        let from = self.from.as_ref().and_then(parsed);
        if let Some(from) = &from {
            patch(attempt_patch(number), from);
        }
        // Where an attempt began from the start, its patch says both.
        if let Some(start) = start.as_ref().filter(|start| from.as_ref() != Some(*start)) {
            patch(since_start_patch(number), start);
        }
        if let Ok(pack) = workspace.pack(&to, start.as_ref()) {
            let name = format!("tree/{tree}");
            let path = run_dir.join(format!("tree-{tree}.pack"));
            if std::fs::write(&path, pack).is_ok() {
                files.extend(upload(&name, &path));
            }
        }
        files
    }
}

/// Writes a file into the run's directory, to be uploaded under its name.
pub(super) fn kept(name: &str, bytes: &[u8], run_dir: &Path) -> Option<Upload> {
    let path = run_dir.join(name);
    std::fs::write(&path, bytes).ok()?;
    upload(name, &path)
}
