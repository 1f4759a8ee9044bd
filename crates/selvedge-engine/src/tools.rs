//! Compares folders of installed tools with a manifest: it is recorded before each session, without the changes of
//! earlier sessions, and compared after the session.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_core::installed::InstalledFiles;
use selvedge_core::model::ToolFolderChanges;

use crate::workspace::{ToolChanges, ToolManifest, Workspace, WorkspaceError};

/// Path of the manifest in the run's directory.
const MANIFEST_FILE: &str = "tools";
/// File in the run's directory that lists the paths that agents of this run have changed.
const CHANGED_PATHS_FILE: &str = "tools-changed.json";
/// File that exists while the manifest may lack what checks have written.
const OUTDATED_MARKER: &str = "tools-outdated";

/// Records the tool folders when a run begins. `folders` are the current ones.
pub(crate) fn record_initial(
    workspace: &Workspace,
    folders: &[PathBuf],
    run_dir: &Path,
) -> Result<(), WorkspaceError> {
    let manifest = workspace.update_tool_manifest(folders)?;
    manifest.save(&run_dir.join(MANIFEST_FILE))
}

/// The installed files from before the agent, if all of them were read.
pub(crate) fn recorded_files(run_dir: &Path) -> Option<InstalledFiles> {
    ToolManifest::load(&run_dir.join(MANIFEST_FILE))?.complete_files()
}

/// Identifies the installed files from before the agent; empty if there are none.
pub(crate) fn installed_id(run_dir: &Path) -> String {
    let manifest = ToolManifest::load(&run_dir.join(MANIFEST_FILE));
    manifest.map(|manifest| manifest.id()).unwrap_or_default()
}

/// Records that checks begin to run: what they write in tool folders is not a change by the agent.
pub(crate) fn mark_outdated(run_dir: &Path) {
    // Without the marker their writes count as the agent's, and a person decides.
    let _ = fs::write(run_dir.join(OUTDATED_MARKER), "");
}

/// Whether the manifest must be refreshed before an agent begins.
pub(crate) fn is_outdated(run_dir: &Path) -> bool {
    run_dir.join(OUTDATED_MARKER).exists() || !run_dir.join(MANIFEST_FILE).exists()
}

/// Records the tool folders again before a session. Once an agent has run, only what checks write is recorded: the
/// files in `written`, or without a baseline all files that no agent has changed.
pub(crate) fn refresh_manifest(
    workspace: &Workspace,
    run_dir: &Path,
    written: Option<&[String]>,
) -> Result<(), WorkspaceError> {
    let path = run_dir.join(MANIFEST_FILE);
    let earlier = ToolManifest::load(&path).unwrap_or_default();
    let now = workspace.update_tool_manifest(&workspace.tool_folders()?)?;
    let manifest = match (fs::read(run_dir.join(CHANGED_PATHS_FILE)), written) {
        (Err(_), _) => now,
        (Ok(_), Some(written)) => {
            let written: Vec<PathBuf> = written.iter().map(PathBuf::from).collect();
            earlier.with_files_of(&now, &written)
        }
        (Ok(list), None) => {
            let changed: Vec<PathBuf> = serde_json::from_slice(&list).unwrap_or_default();
            now.with_files_of(&earlier, &changed)
        }
    };
    manifest.save(&path)?;
    // If it cannot be removed, the next call does this again.
    let _ = fs::remove_file(run_dir.join(OUTDATED_MARKER));
    Ok(())
}

/// Finds changes since the agent began, and removes changed caches. `folders` are the current tool folders.
pub(crate) fn find_changes(
    workspace: &Workspace,
    folders: &[PathBuf],
    run_dir: &Path,
) -> Result<Option<ToolFolderChanges>, WorkspaceError> {
    let Some(manifest) = ToolManifest::load(&run_dir.join(MANIFEST_FILE)) else {
        return Ok(None);
    };
    let dir = workspace.dir();
    let changes = manifest.find_changes(dir, folders).remove_caches(dir);
    let path = run_dir.join(CHANGED_PATHS_FILE);
    let list = serde_json::to_vec(&changes.files).unwrap_or_default();
    fs::write(&path, list).map_err(|error| WorkspaceError::io("write", &path, error))?;
    Ok(describe_changes(&changes))
}

fn describe_changes(changes: &ToolChanges) -> Option<ToolFolderChanges> {
    let name = |path: &PathBuf| path.to_string_lossy().into_owned();
    (!changes.files.is_empty()).then(|| ToolFolderChanges {
        files: changes.files.len() as u64,
        listed: changes
            .files
            .iter()
            .take(ToolFolderChanges::MAX_LISTED)
            .map(name)
            .collect(),
        folders: changes.folders.iter().map(name).collect(),
        by_setup: false,
        setup_error: None,
    })
}
