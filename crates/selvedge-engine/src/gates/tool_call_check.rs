//! Checks whether failed tool calls of the agent left work undone.
//!
//! Failed calls are part of honest work: a search finds nothing, a test run fails, an edit is repeated with other
//! arguments. Only one case counts as a failure: a tool should have written a file of the workspace, failed, no later
//! call wrote the file, and it is unchanged. Everything else is a note.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use selvedge_core::model::{SessionOutcome, ToolCall};
use selvedge_digest::{Analysis, Failure, FailureKind, FailureSource};

use super::trees::{VerificationTrees, run_blocking};
use crate::check_error::CheckError;
use crate::checks::CheckOutcome;
use crate::workspace::Workspace;

/// Maximum number of lines about calls in a report.
const MAX_LINES: usize = 20;

/// Messages of tools when there was nothing to write.
const NOTHING_TO_DO_MESSAGES: [&str; 4] =
    ["no changes", "exactly the same", "identical", "already"];

/// Outcome of the check; `None` if no call failed, or the agent does not report calls.
pub(super) async fn check_tool_calls(
    session: &SessionOutcome,
    trees: Option<&VerificationTrees>,
) -> Result<Option<CheckOutcome>, CheckError> {
    if session.calls.iter().all(|call| call.error.is_none()) {
        return Ok(None);
    }
    let undone: Vec<&ToolCall> = session
        .calls
        .iter()
        .filter(|call| call.is_unresolved_write())
        .collect();
    let mut failures = Vec::new();
    if let Some(trees) = trees.filter(|_| !undone.is_empty()) {
        let changed = changed_paths(trees).await?;
        let folder = trees.workspace.dir();
        let left = undone
            .into_iter()
            .filter(|call| is_unresolved(call, folder, &changed));
        failures.extend(left.map(|call| call_failure(call, folder)));
        failures.dedup_by(|one, other| one.file == other.file);
    }
    let (calls, errors) = (session.tool_calls, session.tool_errors);
    let finding = match failures.len() {
        0 => CheckOutcome::pass(),
        1 => CheckOutcome::fail("1 file was not written"),
        count => CheckOutcome::fail(format!("{count} files were not written")),
    };
    let counted = format!("{calls} calls, {errors} of them failed");
    Ok(Some(CheckOutcome {
        reason: finding.reason.or(Some(counted)),
        output: describe_failed_calls(&session.calls),
        analysis: (!failures.is_empty()).then(|| Analysis::from_failures(failures)),
        ..finding
    }))
}

/// The last failed calls, one line each, the latest first.
fn describe_failed_calls(calls: &[ToolCall]) -> String {
    let failed = calls.iter().rev().filter_map(|call| {
        let redone = if call.redone { " (redone later)" } else { "" };
        let error = call.error.as_ref()?;
        Some(format!("{} {}: {error}{redone}", call.name, call.subject))
    });
    failed.take(MAX_LINES).collect::<Vec<_>>().join("\n")
}

/// Every path that differs from the start of the run.
async fn changed_paths(trees: &VerificationTrees) -> Result<BTreeSet<PathBuf>, CheckError> {
    let (start, judged) = (trees.start.clone(), trees.judged.clone());
    let compare = move |workspace: &Workspace| workspace.changed_files(&start, &judged);
    let files = run_blocking(&trees.workspace, "cannot compare the trees", compare).await?;
    Ok(files.into_iter().map(|file| file.path).collect())
}

/// Whether the file was not written after all. Files that were written by other means, are outside of the folder, or
/// in a place that no snapshot covers do not count.
fn is_unresolved(call: &ToolCall, folder: &Path, changed: &BTreeSet<PathBuf>) -> bool {
    let message = call.error.as_deref().unwrap_or_default().to_lowercase();
    let Some(path) = relative_path(call, folder) else {
        return false;
    };
    let is_there = folder.join(&path).exists();
    let was_made_since = is_there && message.contains("not exist");
    !changed.contains(&path)
        && !was_made_since
        && !NOTHING_TO_DO_MESSAGES.iter().any(|it| message.contains(it))
}

/// The file that a call should have written, relative to the workspace; `None` if it is outside of it.
fn relative_path(call: &ToolCall, folder: &Path) -> Option<PathBuf> {
    let path = Path::new(call.writes.as_deref()?);
    let path = if path.is_absolute() {
        path.strip_prefix(folder).ok()?
    } else {
        path
    };
    let path: PathBuf = path
        .components()
        .filter(|it| it.as_os_str() != ".")
        .collect();
    let climbs = path.components().any(|it| it.as_os_str() == "..");
    (!climbs).then_some(path)
}

fn call_failure(call: &ToolCall, folder: &Path) -> Failure {
    Failure {
        kind: FailureKind::Runtime,
        file: relative_path(call, folder).map(|path| path.to_string_lossy().into_owned()),
        summary: format!(
            "{} failed, and nothing wrote the file afterwards",
            call.name
        ),
        message: call.error.clone(),
        tool: Some("tool calls".to_owned()),
        count: 1,
        source: FailureSource::Structured,
        ..Failure::default()
    }
}
