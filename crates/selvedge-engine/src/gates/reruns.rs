//! Running failed checks again, alone and on the byte-identical tree, as
//! [`selvedge_core::triage`] asks. What the runs mean is the loop's to say.

use std::time::{Duration, Instant};

use selvedge_core::model::{CheckReport, CheckStatus, Step};
use selvedge_core::triage::{self, Next, Seen};
use tokio_util::sync::CancellationToken;

use super::look::{Numbered, Place};
use super::trees::{Trees, settle};
use crate::activity::{Activity, Progress};
use crate::checks::{CheckAborted, Finding};

/// What reruns need to know.
pub(super) struct Reruns<'a> {
    pub(super) place: &'a Place,
    /// Without trees a check is run again on whatever the checks left behind.
    pub(super) trees: Option<&'a Trees>,
    /// Time for each run.
    pub(super) limit: Duration,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
}

impl Reruns<'_> {
    /// Runs one failed check again until it is clear what the failure is; its record then holds what
    /// each run said.
    pub(super) async fn of(
        &self,
        numbered: Numbered<'_>,
        baseline: Option<bool>,
        check: &mut CheckReport,
    ) -> Result<(), CheckAborted> {
        if !may_be_flaky(numbered.step, check) {
            return Ok(());
        }
        let baseline = baseline.filter(|_| self.trees.is_some());
        loop {
            let seen = Seen {
                here: &check.reruns,
                there: &check.baseline_reruns,
                baseline,
            };
            match triage::next(seen) {
                Next::Done(_) => return Ok(()),
                Next::RunHere => {
                    let name = format!("again-{}", check.reruns.len() + 1);
                    let finding = self.run(numbered, &name, |trees| &trees.judged).await?;
                    let Some(passed) = verdict(&finding) else {
                        return Ok(());
                    };
                    if passed && !check.reruns.contains(&true) {
                        check.tests = finding.tests;
                    }
                    check.reruns.push(passed);
                }
                Next::RunThere => {
                    let name = format!("before-{}", check.baseline_reruns.len() + 1);
                    let finding = self.run(numbered, &name, |trees| &trees.start).await?;
                    let Some(passed) = verdict(&finding) else {
                        return Ok(());
                    };
                    check.baseline_reruns.push(passed);
                }
            }
        }
    }

    async fn run(
        &self,
        numbered: Numbered<'_>,
        name: &str,
        tree: impl FnOnce(&Trees) -> &selvedge_core::model::TreeId,
    ) -> Result<Finding, CheckAborted> {
        if let Some(trees) = self.trees {
            settle(&trees.workspace, tree(trees)).await?;
        }
        self.progress.activity(Activity::CheckRepeated {
            label: numbered.step.label().to_owned(),
        });
        let deadline = Instant::now() + self.limit;
        let place = self.place.named(name);
        place.look_quietly(numbered, deadline, self.cancel).await
    }
}

/// Only what runs a program can say one thing now and another later; and one that ran out of time
/// would only run out of it again.
fn may_be_flaky(step: &Step, check: &CheckReport) -> bool {
    let runs = step.kind.executes();
    runs && check.status == CheckStatus::Fail
}

/// Whether it passed; none where it could not be looked at.
fn verdict(finding: &Finding) -> Option<bool> {
    match finding.status {
        CheckStatus::Pass => Some(true),
        CheckStatus::Fail | CheckStatus::Timeout => Some(false),
        CheckStatus::Error | CheckStatus::Skip => None,
    }
}
