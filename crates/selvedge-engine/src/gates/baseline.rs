//! The baseline: the checks run once on the tree that the run begins from, so that what was broken
//! before is known, which tests there are, and that none may quietly go.
//!
//! It leaves no trace in the workspace. What a check said of a tree is remembered for the next run
//! that begins from the same one.

use std::time::{Duration, Instant};

use selvedge_core::model::{Baseline, CheckReport, CheckStatus, Step, TreeId};
use tokio_util::sync::CancellationToken;

use super::look::{Place, millis};
use super::remembered::Remembered;
use super::tier1::{look_at_all, records};
use super::trees::{Trees, blocking};
use super::written::FilesBefore;
use crate::activity::Progress;
use crate::checks::CheckAborted;
use crate::workspace::Workspace;

/// What the baseline of a run is taken of.
pub(crate) struct BaselineRun<'a> {
    pub(crate) place: Place,
    pub(crate) steps: &'a [Step],
    /// Time for the whole of it.
    pub(crate) limit: Duration,
    /// The starting tree, where there are snapshots.
    pub(crate) start: Option<(&'a Trees, &'a TreeId)>,
    /// Where earlier results are remembered.
    pub(crate) remembered: Remembered,
}

impl BaselineRun<'_> {
    /// Runs the checks that are not remembered.
    pub(crate) async fn take(
        &self,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<Baseline, CheckAborted> {
        let began = Instant::now();
        let tree = self.start.map(|(_, tree)| tree);
        let known: Vec<Option<CheckReport>> = self
            .steps
            .iter()
            .map(|step| self.remembered.recall(tree?, step))
            .collect();
        // All or none: a check may need what one before it has built.
        let known = known.into_iter().collect::<Option<Vec<_>>>();
        let written = tree.and_then(|tree| self.remembered.recall_written(tree, self.steps));
        let (cached, (checks, written_files)) = match known.zip(written) {
            Some(known) => (known.0.len(), known),
            None => (0, self.run(began, progress, cancel).await?),
        };
        Ok(Baseline {
            cached: u32::try_from(cached).unwrap_or(u32::MAX),
            checks,
            written_files,
            duration_ms: millis(began.elapsed()),
        })
    }

    async fn run(
        &self,
        began: Instant,
        progress: &dyn Progress,
        cancel: &CancellationToken,
    ) -> Result<(Vec<CheckReport>, Vec<String>), CheckAborted> {
        if let Some((trees, tree)) = self.start.filter(|(trees, _)| trees.room.is_some()) {
            trees.settle(tree).await?;
        }
        self.place.reset(cancel).await?;
        let before = match self.start {
            Some((trees, _)) => Some(FilesBefore::note(&trees.workspace).await?),
            None => None,
        };
        let deadline = began + self.limit;
        let findings = look_at_all(&self.place, self.steps, deadline, progress, cancel).await?;
        let checks = records(self.steps, findings, self.place.supervisor.redactor())?;
        let mut written = Vec::new();
        if let Some((trees, tree)) = self.start {
            let mut is_settled = false;
            if let Some(before) = before {
                let steps = self.place.with_setup(self.steps);
                let (found, is_same) = before.find_written(tree, &steps).await?;
                written.extend(found);
                is_settled = is_same;
            }
            if let Some(room) = &trees.room {
                let room = room.clone();
                let keep = move |_: &Workspace| room.keep_built();
                let what = "cannot keep what the checks have built";
                blocking(&trees.workspace, what, keep).await?;
            } else if !is_settled {
                trees.settle(tree).await?;
            }
            self.remembered.keep_written(tree, self.steps, &written);
            for (step, check) in self.steps.iter().zip(&checks) {
                // What failed may have lacked what no tree holds, such as dependencies that were not there yet. A
                // pass that is out of date only makes a run stricter.
                if check.status == CheckStatus::Pass {
                    self.remembered.keep(tree, step, check);
                }
            }
        }
        Ok((checks, written))
    }
}
