//! What an attempt leaves behind for the hub to keep: outputs, its patch, its tree as a pack.

use std::path::Path;

use selvedge_core::model::{Report, SessionOutcome, TreeId};
use selvedge_core::protocol::{FileRef, attempt_patch, since_start_patch};
use selvedge_engine::workspace::{self, DiffOptions, Workspace};

use super::entry_sender::Upload;
use crate::hub_client::file_ref;

/// The largest patch that is kept.
const MAX_PATCH_BYTES: usize = 64 * 1024 * 1024;

/// The files that a session and its report refer to, by name.
pub(super) fn output_files(
    session: Option<&SessionOutcome>,
    report: Option<&Report>,
) -> Vec<String> {
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
pub(super) fn prepare_upload(name: &str, path: &Path) -> Option<Upload> {
    let file: FileRef = file_ref(name, path).ok()?;
    Some(Upload {
        path: path.to_owned(),
        file,
    })
}

/// The trees between which an attempt's patch lies.
pub(super) struct AttemptTrees {
    pub(super) start: Option<TreeId>,
    pub(super) from: Option<TreeId>,
    pub(super) tree: Option<TreeId>,
}

impl AttemptTrees {
    /// The attempt's patch, and its tree as a pack. What cannot be made is left out: without it the next
    /// worker begins from a fresh clone.
    pub(super) fn create_uploads(
        &self,
        workspace: &Workspace,
        number: u32,
        run_dir: &Path,
    ) -> Vec<Upload> {
        let Some(tree) = &self.tree else {
            return Vec::new();
        };
        let parsed = |tree: &TreeId| workspace::SnapshotId::parse(tree.as_str()).ok();
        let (Some(to), start) = (parsed(tree), self.start.as_ref().and_then(parsed)) else {
            return Vec::new();
        };
        let mut files = Vec::new();
        let options = DiffOptions {
            max_bytes: MAX_PATCH_BYTES,
            ..DiffOptions::default()
        };
        let mut patch = |name: String, from: &workspace::SnapshotId| {
            if let Ok(diff) = workspace.diff(from, &to, options) {
                files.extend(save_for_upload(&name, &diff.bytes, run_dir));
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
                files.extend(prepare_upload(&name, &path));
            }
        }
        files
    }
}

/// Writes a file into the run's directory, to be uploaded under its name.
pub(super) fn save_for_upload(name: &str, bytes: &[u8], run_dir: &Path) -> Option<Upload> {
    let path = run_dir.join(name);
    std::fs::write(&path, bytes).ok()?;
    prepare_upload(name, &path)
}
