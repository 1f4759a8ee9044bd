//! `git_clean`: the user's repository has no uncommitted change, in the whole workspace or below the
//! target. Read without running anything that the repository configures.

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use tokio_util::sync::CancellationToken;

use super::place::inside;
use super::{Check, CheckAborted, Finding, Scene};
use crate::workspace::{self, WorkspaceError};

/// Changed files that a reason names; the rest are counted.
const NAMED: usize = 5;

pub(super) struct GitClean {
    target: String,
}

impl GitClean {
    pub(super) fn new(step: &Step) -> Self {
        Self {
            target: step.target.clone(),
        }
    }
}

impl Check for GitClean {
    fn run<'a>(
        &'a self,
        scene: &'a Scene,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(async {
            let below = match self.target.as_str() {
                "" | "." => scene.workspace.clone(),
                target => match inside(&scene.workspace, target) {
                    Ok(path) => path,
                    Err(outside) => return Ok(Finding::fail(outside.to_string())),
                },
            };
            let status = tokio::task::spawn_blocking(move || workspace::status(&below)).await;
            Ok(match status {
                Ok(Ok(dirty)) => verdict(&dirty),
                Ok(Err(error @ WorkspaceError::NotARepository { .. })) => {
                    Finding::error(error.to_string())
                }
                Ok(Err(error)) => Finding::error(format!("git could not be asked: {error}")),
                Err(panic) => Finding::error(panic.to_string()),
            })
        })
    }
}

fn verdict(dirty: &workspace::Dirty) -> Finding {
    let total = dirty.files.len();
    if total == 0 {
        return Finding::pass();
    }
    let named: Vec<String> = dirty
        .files
        .iter()
        .take(NAMED)
        .map(|file| file.path.display().to_string())
        .collect();
    let more = total.saturating_sub(NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Finding::fail(format!("uncommitted changes: {}{rest}", named.join(", ")))
}
