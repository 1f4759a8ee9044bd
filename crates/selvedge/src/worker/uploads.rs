//! Files of an attempt that are uploaded to the hub: outputs, patches, and the tree as a pack.

use std::path::Path;

use selvedge_core::model::{Report, SessionOutcome, TreeId};
use selvedge_engine::workspace::{DiffOptions, Workspace};
use selvedge_protocol::{FileRef, attempt_patch, since_start_patch};

use super::entry_sender::Upload;
use crate::hub_client::file_ref;

/// Size limit for a patch.
const MAX_PATCH_BYTES: usize = 64 * 1024 * 1024;

/// The names of the files that a session and its report refer to.
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

/// Describes a file for an upload; `None` if it cannot be read.
pub(super) fn prepare_upload(name: &str, path: &Path) -> Option<Upload> {
    let file: FileRef = file_ref(name, path).ok()?;
    Some(Upload {
        path: path.to_owned(),
        file,
    })
}

/// The trees of an attempt.
pub(super) struct AttemptTrees {
    pub(super) start: Option<TreeId>,
    pub(super) from: Option<TreeId>,
    pub(super) tree: Option<TreeId>,
}

impl AttemptTrees {
    /// Writes the attempt's patches and its tree as a pack. What cannot be created is left out: the next worker then
    /// begins from a fresh clone.
    pub(super) fn create_uploads(
        &self,
        workspace: &Workspace,
        number: u32,
        run_dir: &Path,
    ) -> Vec<Upload> {
        let Some(tree) = &self.tree else {
            return Vec::new();
        };
        let mut files = Vec::new();
        let options = DiffOptions {
            max_bytes: MAX_PATCH_BYTES,
            ..DiffOptions::default()
        };
        let mut patch = |name: String, from: &TreeId| {
            if let Ok(diff) = workspace.diff(from, tree, options) {
                files.extend(save_for_upload(&name, &diff.bytes, run_dir));
            }
        };
        if let Some(from) = &self.from {
            patch(attempt_patch(number), from);
        }
        // If the attempt began from the run's start, both patches would be the same.
        let start = self.start.as_ref();
        if let Some(start) = start.filter(|&start| self.from.as_ref() != Some(start)) {
            patch(since_start_patch(number), start);
        }
        if let Ok(pack) = workspace.pack(tree, start) {
            let name = format!("tree/{tree}");
            let path = run_dir.join(format!("tree-{tree}.pack"));
            if std::fs::write(&path, pack).is_ok() {
                files.extend(prepare_upload(&name, &path));
            }
        }
        files
    }
}

/// Writes a file to the run's directory, for an upload under its name.
pub(super) fn save_for_upload(name: &str, bytes: &[u8], run_dir: &Path) -> Option<Upload> {
    let path = run_dir.join(name);
    std::fs::write(&path, bytes).ok()?;
    prepare_upload(name, &path)
}
