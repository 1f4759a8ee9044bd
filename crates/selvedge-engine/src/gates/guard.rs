//! Runs the guard: reads an attempt's changes from two snapshots and judges them by [`selvedge_core::guard::inspect`].
//! Protected files are reverted before the checks run; from then on the judged tree is the one with these reverted. The
//! other changes are inspected while the checks run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use selvedge_core::guard::{ChangedFile, KnownDiagnostic, Protection, inspect, is_scanned};
use selvedge_core::model::{CheckReport, Finding, FindingAction, TreeId};
use selvedge_digest::FailureKind;

use super::trees::{VerificationTrees, run_blocking};
use crate::check_error::CheckError;
use crate::workspace::{ComparedFile, FileContent, Workspace, WorkspaceError};

/// Folders of installed programs and of builds: their byte code is not created by the attempt.
pub(super) const EXTERNAL_FOLDERS: [&str; 8] = [
    ".git",
    "node_modules",
    ".venv",
    "venv",
    ".tox",
    ".nox",
    "site-packages",
    "target",
];

/// An attempt's changes, of which the protected files were reverted.
pub(super) struct GuardedChanges {
    files: ComparedFiles,
    protection: Protection,
    diagnostics: Vec<KnownDiagnostic>,
}

/// Reverts an attempt's changes of protected files. `since` is the start of the run in seconds since 1970.
pub(super) async fn revert_protected(
    trees: &mut VerificationTrees,
    protection: Protection,
    diagnostics: Vec<KnownDiagnostic>,
    since: i64,
    name: String,
) -> Result<GuardedChanges, CheckError> {
    let (start, judged) = (trees.start.clone(), trees.judged.clone());
    let work = move |workspace: &Workspace| {
        remove_new_bytecode(workspace.dir(), since);
        let files = if start == judged {
            ComparedFiles(Vec::new())
        } else {
            ComparedFiles::between(workspace, &start, &judged, &protection, &diagnostics)?
        };
        let reverted = files.paths_to_revert(&protection);
        let changes = GuardedChanges {
            files,
            protection,
            diagnostics,
        };
        if reverted.is_empty() {
            return Ok((changes, None));
        }
        workspace.restore_files(&start, &reverted)?;
        let snapshot = workspace.snapshot_kept(&name)?;
        Ok((changes, Some(snapshot.tree)))
    };
    let workspace = trees.workspace.clone();
    let (changes, tree) =
        run_blocking(&workspace, "the guard cannot compare the trees", work).await?;
    if let Some(tree) = tree {
        trees.judged = tree;
    }
    Ok(changes)
}

impl GuardedChanges {
    /// Judges the changes. Nothing is read, so checks may run meanwhile.
    pub(super) async fn inspect(self) -> Result<Vec<Finding>, CheckError> {
        let inspect = move || self.files.findings(&self.protection, &self.diagnostics);
        let inspected = tokio::task::spawn_blocking(inspect).await;
        inspected.map_err(|panic| CheckError::Infrastructure(panic.to_string()))
    }
}

/// The relevant changed files, with their names as the guard reads them: all of them if there are diagnostics, because
/// code can be moved to a file that does not look like a source.
pub(super) struct ComparedFiles(Vec<(String, ComparedFile)>);

impl ComparedFiles {
    pub(super) fn between(
        workspace: &Workspace,
        start: &TreeId,
        judged: &TreeId,
        protection: &Protection,
        diagnostics: &[KnownDiagnostic],
    ) -> Result<Self, WorkspaceError> {
        let wanted = |path: &Path| {
            let path = path.to_string_lossy();
            !diagnostics.is_empty() || protection.protects(&path) || is_scanned(&path)
        };
        let compared = workspace.compare_files(start, judged, wanted)?;
        let named = |file: ComparedFile| (file.path.to_string_lossy().into_owned(), file);
        Ok(Self(compared.into_iter().map(named).collect()))
    }

    pub(super) fn findings(
        &self,
        protection: &Protection,
        diagnostics: &[KnownDiagnostic],
    ) -> Vec<Finding> {
        let changes: Vec<ChangedFile<'_>> = self
            .0
            .iter()
            .map(|(path, file)| file.changed_file(path))
            .collect();
        inspect(protection, &changes, diagnostics)
    }

    fn paths_to_revert(&self, protection: &Protection) -> Vec<PathBuf> {
        let is_reverted = |(path, file): &&(String, ComparedFile)| {
            let change = file.changed_file(path);
            let finding = protection.inspect(&change);
            change.before != change.after
                && finding.is_some_and(|it| {
                    matches!(it.action, FindingAction::Revert | FindingAction::Remove)
                })
        };
        let reverted = self.0.iter().filter(is_reverted);
        reverted.map(|(_, file)| file.path.clone()).collect()
    }
}

/// Diagnostics that linters and type checkers reported in the baseline.
pub(super) fn known_diagnostics(baseline: &[Option<CheckReport>]) -> Vec<KnownDiagnostic> {
    let failures = baseline.iter().flatten().flat_map(|check| &check.failures);
    let reported = failures.filter(|failure| {
        matches!(
            failure.kind,
            FailureKind::Lint | FailureKind::Type | FailureKind::Compile
        )
    });
    reported
        .map(|failure| KnownDiagnostic {
            file: failure.file.clone(),
            line: failure.line,
            message: failure.message.as_ref().unwrap_or(&failure.summary).clone(),
            is_build_error: failure.kind == FailureKind::Compile,
        })
        .collect()
}

impl ComparedFile {
    /// The file in the core's format, by the text of its path.
    pub(super) fn changed_file<'a>(&'a self, path: &'a str) -> ChangedFile<'a> {
        let bytes = |content: &'a FileContent| match content {
            FileContent::Absent => None,
            FileContent::Bytes(bytes) => Some(bytes.as_slice()),
            // The target of a link is not part of the tree.
            FileContent::Link => Some(&[][..]),
        };
        ChangedFile {
            path,
            before: bytes(&self.before),
            after: bytes(&self.after),
        }
    }
}

/// Removes Python's byte code that was written since the run began: planted byte code runs in place of its source, and
/// honest byte code is created again. The change time of a file cannot be forged, unlike its modification time.
pub(super) fn remove_new_bytecode(folder: &Path, since: i64) {
    let is_cache = folder.file_name().is_some_and(|name| name == "__pycache__");
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        let own = !EXTERNAL_FOLDERS
            .iter()
            .any(|name| entry.file_name() == *name);
        let written_since = || entry.metadata().is_ok_and(|data| data.ctime() >= since);
        if kind.is_dir() && own {
            remove_new_bytecode(&entry.path(), since);
        } else if is_cache && kind.is_file() && written_since() {
            // If it cannot be removed, the run that uses it reports the error.
            let _ = fs::remove_file(entry.path());
        }
    }
    if is_cache {
        // Fails as long as the folder is not empty.
        let _ = fs::remove_dir(folder);
    }
}
