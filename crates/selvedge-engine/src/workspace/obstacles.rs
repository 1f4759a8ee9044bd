//! Finds files that prevent a restore, before anything is changed. Files that no snapshot covers are never removed, so
//! such a restore is rejected as a whole.

use std::path::Path;

use super::error::WorkspaceError;
use super::snapshot::DetailedSnapshot;
use super::target::RestoreTarget;

/// Rejects a restore if an uncovered path is where the target has a file or folder. `dir` is the workspace.
pub(super) fn check_obstacles(
    dir: &Path,
    current: &DetailedSnapshot,
    target: &RestoreTarget,
) -> Result<(), WorkspaceError> {
    for excluded in &current.excluded {
        let path = excluded.path.as_path();
        let wanted_above = path
            .ancestors()
            .find(|above| target.files.contains_key(above.as_os_str()));
        let wanted_as_folder =
            excluded.size.is_some() && target.folders.contains_key(path.as_os_str());
        if let Some(wanted) = wanted_above.or(wanted_as_folder.then_some(path)) {
            return Err(WorkspaceError::UncoveredObstacle {
                path: path.to_owned(),
                wanted: wanted.to_owned(),
            });
        }
        // The content of an excluded folder was not examined. It contains no files of the target, because a folder with
        // such a file is always walked.
        let is_not_folder = |folder: &&Path| {
            let metadata = dir.join(folder).symlink_metadata();
            metadata.is_ok_and(|data| !data.is_dir())
        };
        let folders = target.folders.keys().map(|folder| &**folder);
        let mut contained_folders =
            folders.filter(|folder| excluded.size.is_none() && folder.starts_with(path));
        if let Some(folder) = contained_folders.find(is_not_folder) {
            return Err(WorkspaceError::UncoveredObstacle {
                path: folder.to_path_buf(),
                wanted: folder.to_path_buf(),
            });
        }
    }
    Ok(())
}

/// Returns whether a covered path must be removed before the target can be written: it is a file where the target has a
/// folder, or is below a file of the target.
pub(super) fn blocks_target(path: &Path, target: &RestoreTarget) -> bool {
    target.folders.contains_key(path.as_os_str())
        || path
            .ancestors()
            .skip(1)
            .any(|above| target.files.contains_key(above.as_os_str()))
}
