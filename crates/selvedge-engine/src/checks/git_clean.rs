//! `git_clean`: the user's repository has no uncommitted changes, in the whole workspace or below the target. It is
//! read without running anything that the repository configures.

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use tokio_util::sync::CancellationToken;

use super::paths::resolve_inside;
use super::{Check, CheckContext, CheckOutcome};
use crate::check_error::CheckError;
use crate::workspace::{self, WorkspaceError};

/// Number of changed files that a reason names; the rest are only counted.
const MAX_NAMED_FILES: usize = 5;

pub(super) struct GitCleanCheck {
    target: String,
}

impl GitCleanCheck {
    pub(super) fn new(step: &Step) -> Self {
        Self {
            target: step.target.clone(),
        }
    }
}

impl Check for GitCleanCheck {
    fn run<'a>(
        &'a self,
        context: &'a CheckContext,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(async {
            let folder = match self.target.as_str() {
                "" | "." => context.workspace.clone(),
                target => match resolve_inside(&context.workspace, target) {
                    Ok(path) => path,
                    Err(outside) => return Ok(CheckOutcome::fail(outside.to_string())),
                },
            };
            let status = tokio::task::spawn_blocking(move || workspace::status(&folder)).await;
            Ok(match status {
                Ok(Ok(dirty)) => outcome(&dirty),
                Ok(Err(error @ WorkspaceError::NotARepository { .. })) => {
                    CheckOutcome::error(error.to_string())
                }
                Ok(Err(error)) => CheckOutcome::error(format!("cannot run git: {error}")),
                Err(panic) => CheckOutcome::error(panic.to_string()),
            })
        })
    }
}

fn outcome(dirty: &workspace::DirtyFiles) -> CheckOutcome {
    let total = dirty.files.len();
    if total == 0 {
        return CheckOutcome::pass();
    }
    let named: Vec<String> = dirty
        .files
        .iter()
        .take(MAX_NAMED_FILES)
        .map(|file| file.path.display().to_string())
        .collect();
    let more = total.saturating_sub(MAX_NAMED_FILES);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    CheckOutcome::fail(format!("uncommitted changes: {}{rest}", named.join(", ")))
}
