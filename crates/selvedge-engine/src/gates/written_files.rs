//! Compares files of tests and tools before and after a run of the checks: a file that was written meanwhile may have
//! had other content while the tests ran, whatever it contains now.

use std::collections::BTreeSet;
use std::path::Path;

use selvedge_core::crossing::{BaseFiles, content_filter, find_written_tests};
use selvedge_core::model::{Step, TreeId};

use super::trees::run_blocking;
use crate::check_error::CheckError;
use crate::workspace::{ExcludedPath, FileStatIndex, Workspace};

const DOING: &str = "cannot compare the files around the checks";

/// Files that were written while checks ran.
#[derive(Debug, Default)]
pub(super) struct WrittenFiles {
    /// Written files of the test side.
    pub(super) tests: BTreeSet<String>,
    /// Written files of installed tools.
    pub(super) tools: BTreeSet<String>,
    /// Whether no file of any kind was written.
    pub(super) is_same: bool,
    /// Paths that snapshots do not cover, after the checks.
    pub(super) excluded: Vec<ExcludedPath>,
}

impl WrittenFiles {
    pub(super) fn extend(&mut self, others: Self) {
        self.tests.extend(others.tests);
        self.tools.extend(others.tools);
    }

    /// All written files of tests and tools.
    pub(super) fn into_paths(self) -> BTreeSet<String> {
        self.tests.into_iter().chain(self.tools).collect()
    }
}

/// Files of a workspace before a run of the checks.
#[derive(Debug)]
pub(super) struct FilesBeforeChecks {
    workspace: Workspace,
    stats: FileStatIndex,
}

impl FilesBeforeChecks {
    pub(super) async fn capture(workspace: &Workspace) -> Result<Self, CheckError> {
        let stats = run_blocking(workspace, DOING, Workspace::capture_files).await?;
        Ok(Self::new(workspace, stats))
    }

    /// From metadata since which nothing has run in the workspace.
    pub(super) fn new(workspace: &Workspace, stats: FileStatIndex) -> Self {
        Self {
            workspace: workspace.clone(),
            stats,
        }
    }

    /// Finds files of the test side and of installed tools that were written since the capture. Sides are those of
    /// `start`, the tree before the attempt.
    pub(super) async fn find_written(
        self,
        start: &TreeId,
        steps: &[Step],
    ) -> Result<WrittenFiles, CheckError> {
        let (start, steps, before) = (start.clone(), steps.to_vec(), self.stats);
        let find = move |workspace: &Workspace| {
            let after = workspace.capture_files()?;
            let written = before.find_written(&after);
            let name = |path: &Path| path.to_string_lossy().into_owned();
            let tools = written.tools.iter().map(|it| name(it)).collect();
            let mut tests = BTreeSet::new();
            if !written.files.is_empty() {
                let refers = content_filter(&steps);
                let may_refer = |path: &Path| refers(&path.to_string_lossy());
                let base: BaseFiles = workspace
                    .read_files(&start, may_refer)?
                    .into_iter()
                    .map(|(path, bytes)| (name(&path), bytes))
                    .collect();
                let paths: Vec<String> = written.files.iter().map(|it| name(it)).collect();
                tests.extend(find_written_tests(&base, &paths, &steps));
            }
            Ok(WrittenFiles {
                tests,
                tools,
                is_same: before.is_same_tree(&after),
                excluded: after.into_excluded(),
            })
        };
        run_blocking(&self.workspace, DOING, find).await
    }
}
