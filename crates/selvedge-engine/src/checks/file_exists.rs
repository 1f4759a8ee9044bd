//! `file_exists`: a file exists inside the workspace and is not empty.

use std::path::Path;

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use tokio_util::sync::CancellationToken;

use super::paths::resolve_inside;
use super::{Check, CheckContext, CheckOutcome};
use crate::check_error::CheckError;

pub(super) struct FileExistsCheck {
    target: String,
}

impl FileExistsCheck {
    pub(super) fn new(step: &Step) -> Self {
        let target = match &step.directory {
            Some(directory) => format!("{directory}/{}", step.target),
            None => step.target.clone(),
        };
        Self { target }
    }

    fn run_check(&self, workspace: &Path) -> CheckOutcome {
        let path = match resolve_inside(workspace, &self.target) {
            Ok(path) => path,
            Err(outside) => return CheckOutcome::fail(outside.to_string()),
        };
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                CheckOutcome::fail(format!("`{}` does not exist", self.target))
            }
            Err(error) => CheckOutcome::error(format!("cannot access `{}`: {error}", self.target)),
            Ok(metadata) if metadata.is_dir() => {
                CheckOutcome::fail(format!("`{}` is a directory, not a file", self.target))
            }
            Ok(metadata) if metadata.len() == 0 => {
                CheckOutcome::fail(format!("`{}` is empty", self.target))
            }
            Ok(_) => CheckOutcome::pass(),
        }
    }
}

impl Check for FileExistsCheck {
    fn run<'a>(
        &'a self,
        context: &'a CheckContext,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<CheckOutcome, CheckError>> {
        Box::pin(async { Ok(self.run_check(&context.workspace)) })
    }
}
