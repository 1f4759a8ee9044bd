//! `file_exists`: a file is there, inside the workspace, and not empty.

use std::path::Path;

use futures_util::future::BoxFuture;
use selvedge_core::model::Step;
use tokio_util::sync::CancellationToken;

use super::place::inside;
use super::{Check, CheckAborted, Finding, Scene};

pub(super) struct FileExists {
    target: String,
}

impl FileExists {
    pub(super) fn new(step: &Step) -> Self {
        let target = match &step.directory {
            Some(directory) => format!("{directory}/{}", step.target),
            None => step.target.clone(),
        };
        Self { target }
    }

    fn look(&self, workspace: &Path) -> Finding {
        let path = match inside(workspace, &self.target) {
            Ok(path) => path,
            Err(outside) => return Finding::fail(outside.to_string()),
        };
        match std::fs::metadata(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Finding::fail(format!("`{}` does not exist", self.target))
            }
            Err(error) => Finding::error(format!("cannot look at `{}`: {error}", self.target)),
            Ok(found) if found.is_dir() => {
                Finding::fail(format!("`{}` is a directory, not a file", self.target))
            }
            Ok(found) if found.len() == 0 => Finding::fail(format!("`{}` is empty", self.target)),
            Ok(_) => Finding::pass(),
        }
    }
}

impl Check for FileExists {
    fn run<'a>(
        &'a self,
        scene: &'a Scene,
        _: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<Finding, CheckAborted>> {
        Box::pin(async { Ok(self.look(&scene.workspace)) })
    }
}
