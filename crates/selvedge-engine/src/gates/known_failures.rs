//! Known failures whose tests the attempt changed: these are not excused.

use selvedge_core::machine::find_touched;
use selvedge_core::model::{CheckReport, KnownFailures};

use super::trees::{VerificationTrees, run_blocking};
use crate::check_error::CheckError;
use crate::workspace::Workspace;

/// Lists them in the reports of the checks.
pub(super) async fn mark_touched(
    known: &KnownFailures,
    trees: Option<&VerificationTrees>,
    checks: &mut [CheckReport],
) -> Result<(), CheckError> {
    let fails = checks.iter().any(|check| check.status.is_failure());
    let Some(trees) = trees.filter(|_| fails && !known.ids().is_empty()) else {
        return Ok(());
    };
    let (start, judged) = (trees.start.clone(), trees.judged.clone());
    let list = move |workspace: &Workspace| {
        let files = workspace.changed_files(&start, &judged)?;
        let paths = files.into_iter().map(|file| file.path);
        Ok(paths
            .map(|path| path.to_string_lossy().into_owned())
            .collect::<Vec<_>>())
    };
    let changed = run_blocking(&trees.workspace, "cannot compare the trees", list).await?;
    for check in checks {
        check.touched_tests = find_touched(known, &changed, check);
    }
    Ok(())
}
