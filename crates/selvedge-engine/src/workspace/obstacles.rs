//! What stands in the way of a restore. It is looked for before anything is changed: bytes that no
//! snapshot covers are never removed, so such a restore is refused whole.

use std::path::Path;

use super::error::WorkspaceError;
use super::snapshot::DetailedSnapshot;
use super::target::RestoreTarget;

/// Refuses when something uncovered stands where the target has a file, or has a folder. `dir` is the
/// workspace.
pub(super) fn check_obstacles(
    dir: &Path,
    current: &DetailedSnapshot,
    target: &RestoreTarget,
) -> Result<(), WorkspaceError> {
    for left_out in &current.excluded {
        let path = left_out.path.as_path();
        let wanted_above = path
            .ancestors()
            .find(|above| target.files.contains_key(above.as_os_str()));
        let wanted_as_folder =
            left_out.size.is_some() && target.folders.contains_key(path.as_os_str());
        if let Some(wanted) = wanted_above.or(wanted_as_folder.then_some(path)) {
            return Err(WorkspaceError::UncoveredObstacle {
                path: path.to_owned(),
                wanted: wanted.to_owned(),
            });
        }
        // What is in a folder that was left out as a whole was not looked at. Files of the target are
        // in none: a folder that is to have one is walked.
        let is_no_folder = |folder: &&Path| {
            let there = dir.join(folder).symlink_metadata();
            there.is_ok_and(|data| !data.is_dir())
        };
        let folders = target.folders.keys().map(|folder| &**folder);
        let mut within =
            folders.filter(|folder| left_out.size.is_none() && folder.starts_with(path));
        if let Some(folder) = within.find(is_no_folder) {
            return Err(WorkspaceError::UncoveredObstacle {
                path: folder.to_path_buf(),
                wanted: folder.to_path_buf(),
            });
        }
    }
    Ok(())
}

/// Whether a covered path must go before the target can be written: a file where the target has a
/// folder, or anything at or below where the target has a file.
pub(super) fn blocks_target(path: &Path, target: &RestoreTarget) -> bool {
    target.folders.contains_key(path.as_os_str())
        || path
            .ancestors()
            .skip(1)
            .any(|above| target.files.contains_key(above.as_os_str()))
}
