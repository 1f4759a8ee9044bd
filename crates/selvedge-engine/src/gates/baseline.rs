//! The baseline: runs the checks once on the tree that the run begins from. It shows what was broken before and which
//! tests exist, so that none can disappear unnoticed.
//!
//! It leaves no trace in the workspace. Results are cached for the next run that begins from the same tree.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use selvedge_core::model::{Baseline, CheckReport, CheckStatus, Step, TreeId};
use tokio_util::sync::CancellationToken;

use super::baseline_cache::BaselineCache;
use super::check_runner::{CheckDeadline, VerificationContext, millis};
use super::trees::{VerificationTrees, run_blocking};
use super::verification::{check_reports, denied_paths, run_steps};
use super::verification_room::OpenVerificationRoom;
use super::written_files::{FilesBeforeChecks, WrittenFiles};
use crate::activity::Progress;
use crate::check_error::CheckError;
use crate::workspace::Workspace;

/// One baseline.
pub(crate) struct BaselineRun<'a> {
    pub(crate) context: VerificationContext,
    /// Where the checks run, if not in the workspace.
    pub(crate) room: Option<&'a OpenVerificationRoom>,
    pub(crate) steps: &'a [Step],
    /// Time limit for all checks together.
    pub(crate) limit: Duration,
    /// The starting tree, if there are snapshots.
    pub(crate) start: Option<(&'a VerificationTrees, &'a TreeId)>,
    /// Cache of earlier results.
    pub(crate) cache: BaselineCache,
}

impl BaselineRun<'_> {
    /// Returns cached results, or runs the checks.
    pub(crate) async fn run_or_reuse(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckError> {
        let began = Instant::now();
        let tree = self.start.map(|(_, tree)| tree);
        let known: Vec<Option<CheckReport>> = self
            .steps
            .iter()
            .map(|step| self.cache.get(tree?, step))
            .collect();
        // All or none: a check may need what an earlier one has built.
        let known = known.into_iter().collect::<Option<Vec<_>>>();
        let written = tree.and_then(|tree| self.cache.get_written(tree, self.steps));
        let (cached, (checks, written_files)) = match known.zip(written) {
            Some(known) => (known.0.len(), known),
            None => (0, self.run_steps(began, progress, cancel).await?),
        };
        Ok(Baseline {
            cached: u32::try_from(cached).unwrap_or(u32::MAX),
            checks,
            written_files,
            duration_ms: millis(began.elapsed()),
        })
    }

    /// Runs the checks, again with a copy of installed tools if a check has to write them.
    async fn run_steps(
        &self,
        began: Instant,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CheckReport>, Vec<String>), CheckError> {
        let mut context = self.context.clone();
        loop {
            let (denied, taken) = self.run_once(&context, began, progress, cancel).await?;
            let Some(room) = self.room else {
                return Ok(taken);
            };
            if !room.copy_tools(denied, progress).await? {
                return Ok(taken);
            }
            context.supervisor = room.supervisor();
        }
    }

    /// Runs the checks, and returns also the paths that a check cannot write although it has to.
    async fn run_once(
        &self,
        context: &VerificationContext,
        began: Instant,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(BTreeSet<PathBuf>, (Vec<CheckReport>, Vec<String>)), CheckError> {
        let mut entered = None;
        if let Some((trees, tree)) = self.start
            && let Some(room) = &trees.verification_room
        {
            entered = trees.enter_and_list(room.clone(), tree).await?;
        }
        context.reset(progress, cancel).await?;
        let entered = entered.filter(|_| context.setup.reset.is_empty());
        let before = match (self.start, entered) {
            (Some((trees, _)), Some(files)) => {
                Some(FilesBeforeChecks::new(&trees.workspace, files))
            }
            (Some((trees, _)), None) => Some(FilesBeforeChecks::capture(&trees.workspace).await?),
            (None, _) => None,
        };
        let deadline = CheckDeadline::new(began + self.limit);
        let findings = run_steps(context, self.steps, &deadline, progress, cancel).await?;
        let denied = denied_paths(&findings);
        let checks = check_reports(self.steps, findings, context.supervisor.redactor())?;
        let mut written = Vec::new();
        if let Some(((trees, tree), before)) = self.start.zip(before) {
            let steps = context.with_setup(self.steps);
            let WrittenFiles {
                tests,
                tools,
                is_same,
                excluded,
            } = before.find_written(tree, &steps).await?;
            written.extend(tests.into_iter().chain(tools));
            if let Some(room) = &trees.verification_room {
                let room = room.clone();
                let keep = move |_: &Workspace| room.keep_current_output(&excluded);
                let what = "cannot store what the checks built";
                run_blocking(&trees.workspace, what, keep).await?;
            } else if !is_same {
                trees.ensure_tree(tree).await?;
            }
            self.cache.put_written(tree, self.steps, &written);
            for (step, check) in self.steps.iter().zip(&checks) {
                // A failure may be due to files that no tree contains, such as missing dependencies, so it is not
                // cached. An outdated pass only makes a run stricter.
                if check.status == CheckStatus::Pass {
                    self.cache.put(tree, step, check);
                }
            }
        }
        Ok((denied, (checks, written)))
    }
}
