//! Runs failed checks again, one at a time and on the byte-identical tree, as [`selvedge_core::flakiness`] requires.
//! The caller interprets the results. If the runner accepts a selection of tests, only the failed ones are run, as
//! long as they fail again. The time of reruns that fail again is bounded.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use selvedge_core::flakiness::{self, RerunDecision, RerunResults};
use selvedge_core::machine::{fails_again, is_old_failure, may_be_flaky, new_failures};
use selvedge_core::model::{CheckReport, CheckStatus};
use tokio_util::sync::CancellationToken;

use super::check_runner::{CheckDeadline, IndexedStep, VerificationContext, check_report, millis};
use super::trees::VerificationTrees;
use super::verification::passed_in_baseline;
use crate::activity::{Activity, Progress};
use crate::check_error::CheckError;
use crate::checks::{CheckOutcome, ScriptFolder, select_tests};

/// Total time of failing reruns after which a failure that was reproduced is not reproduced again.
const REPRODUCING: Duration = Duration::from_secs(10);

/// Context of reruns.
pub(super) struct CheckReruns<'a> {
    pub(super) context: &'a VerificationContext,
    /// Without trees a check is run again on the files that the checks left behind.
    pub(super) trees: Option<&'a VerificationTrees>,
    /// Time limit of each run.
    pub(super) limit: Duration,
    pub(super) progress: &'a dyn Progress,
    pub(super) cancel: &'a CancellationToken,
    /// Total time of all runs so far, in milliseconds.
    pub(super) spent_ms: AtomicU64,
}

impl CheckReruns<'_> {
    /// Runs one failed check again until the failure is classified; its record then contains the result of each run. A
    /// failure that is the same as in the baseline needs no rerun.
    pub(super) async fn rerun(
        &self,
        numbered: IndexedStep<'_>,
        before: Option<&CheckReport>,
        check: &mut CheckReport,
    ) -> Result<(), CheckError> {
        let is_old = before.is_some_and(|before| is_old_failure(before, check));
        if is_old || !may_be_flaky(check) {
            return Ok(());
        }
        let began = Instant::now();
        let ended = self.rerun_until_decided(numbered, before, check).await;
        let was_rerun = !check.reruns.is_empty() || !check.baseline_reruns.is_empty();
        check.reruns_ms = was_rerun.then(|| millis(began.elapsed()));
        ended
    }

    async fn rerun_until_decided(
        &self,
        numbered: IndexedStep<'_>,
        before: Option<&CheckReport>,
        check: &mut CheckReport,
    ) -> Result<(), CheckError> {
        let baseline = before
            .and_then(passed_in_baseline)
            .filter(|_| self.trees.is_some());
        let failed = new_failures(before, check);
        let folder = ScriptFolder {
            roots: [&self.context.files_root, &self.context.workspace],
            directory: Path::new(numbered.step.directory.as_deref().unwrap_or_default()),
        };
        let mut selection = select_tests(numbered.step, &failed, folder);
        loop {
            let seen = RerunResults {
                attempt_tree: &check.reruns,
                base_tree: &check.baseline_reruns,
                baseline,
            };
            match flakiness::next_rerun(seen) {
                RerunDecision::Done(_) => return Ok(()),
                RerunDecision::RerunOnAttempt if self.is_reproduced(check) => return Ok(()),
                RerunDecision::RerunOnAttempt => {
                    let name = format!("again-{}", check.reruns.len() + 1);
                    let argv = selection.clone().filter(|_| !check.reruns.contains(&true));
                    if let Some(argv) = argv {
                        let name = format!("{name}-alone");
                        let finding = self
                            .run_once(numbered, &name, Some(argv), |trees| &trees.judged)
                            .await?;
                        let again = check_report(numbered.step, finding, None);
                        if fails_again(check, &again, &failed) {
                            check.reruns.push(false);
                            continue;
                        }
                        // They may pass, or fail, because they are alone.
                        selection = None;
                    }
                    let finding = self
                        .run_once(numbered, &name, None, |trees| &trees.judged)
                        .await?;
                    let Some(passed) = is_passing(&finding) else {
                        return Ok(());
                    };
                    if passed && !check.reruns.contains(&true) {
                        check.tests = finding.tests;
                    }
                    check.reruns.push(passed);
                }
                RerunDecision::RerunOnBase => {
                    let name = format!("before-{}", check.baseline_reruns.len() + 1);
                    let finding = self
                        .run_once(numbered, &name, None, |trees| &trees.start)
                        .await?;
                    let Some(passed) = is_passing(&finding) else {
                        return Ok(());
                    };
                    check.baseline_reruns.push(passed);
                }
            }
        }
    }

    /// Whether the failure was reproduced, and reproducing it once more would take too long.
    fn is_reproduced(&self, check: &CheckReport) -> bool {
        let spent = Duration::from_millis(self.spent_ms.load(Ordering::Relaxed));
        !check.reruns.is_empty() && !check.reruns.contains(&true) && spent > REPRODUCING
    }

    async fn run_once(
        &self,
        numbered: IndexedStep<'_>,
        name: &str,
        argv: Option<Vec<String>>,
        tree: impl FnOnce(&VerificationTrees) -> &selvedge_core::model::TreeId,
    ) -> Result<CheckOutcome, CheckError> {
        if let Some(trees) = self.trees {
            trees.ensure_tree(tree(trees)).await?;
        }
        self.progress.on_activity(Activity::CheckRepeated {
            label: numbered.step.label().to_owned(),
        });
        let place = self.context.with_prefix(name);
        place.reset(self.progress, self.cancel).await?;
        let began = Instant::now();
        let deadline = CheckDeadline::new(began + self.limit);
        let finding = place
            .run_check_with(numbered, argv, &deadline, self.progress, self.cancel)
            .await;
        self.spent_ms
            .fetch_add(millis(began.elapsed()), Ordering::Relaxed);
        finding
    }
}

/// Whether it passed; `None` if it could not be run.
fn is_passing(finding: &CheckOutcome) -> Option<bool> {
    match finding.status {
        CheckStatus::Pass => Some(true),
        CheckStatus::Fail | CheckStatus::Timeout => Some(false),
        CheckStatus::Error | CheckStatus::Skip => None,
    }
}
