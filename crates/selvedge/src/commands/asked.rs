//! Tiers above the checks, asked by `selvedge verify` about work that no run watched. What a judge is
//! shown was changed since a revision, and what it was for says whoever asks: without both nobody is
//! asked, and that is said.

use std::path::Path;

use selvedge_core::config::Resolved;
use selvedge_core::machine::Left;
use selvedge_core::model::{Judging, Report, ReportStatus, SessionLimits};
use selvedge_engine::activity::Progress;
use selvedge_engine::checks::CheckAborted;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{Gate, Trees};
use tokio_util::sync::CancellationToken;

use super::once::outputs;
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::freeze;
use crate::judges::{judging, who_judges};
use crate::local::Home;
use crate::secrets::supervisor_of_checks;
use crate::walls;

/// Who is asked, and about what.
#[derive(Debug)]
pub(super) struct Asked {
    judging: Judging,
    task: String,
    left: Left,
    limits: SessionLimits,
}

impl Asked {
    /// Whom the arguments and the settings name. A tier that is only configured is not asked where nobody
    /// said what the work was for; one that was asked for is.
    pub(super) fn of(
        args: &VerifyArgs,
        settings: &Resolved,
        dir: &Path,
    ) -> Result<Option<Self>, CliError> {
        let tier = settings.verification_tier;
        if tier < 2 {
            return Ok(None);
        }
        let (Some(task), true) = (&args.task, args.since.is_some()) else {
            if args.tier.is_some() {
                return Err(CliError::usage(format!(
                    "tier {tier} needs to know what the work was for, and since when"
                ))
                .hint("selvedge verify --since origin/main --tier 2 --task 'add a dark theme'"));
            }
            errln!(
                "tier {tier} is configured, and only the checks are run: with --since REV and \
                 --task TEXT a judge can be shown what was changed, and what for"
            );
            return Ok(None);
        };
        let worker = freeze::worker(settings)?;
        let Some(judging) = judging(tier, settings, &worker, dir, true)? else {
            return Ok(None);
        };
        errln!("{}", who_judges(&judging));
        Ok(Some(Self {
            judging,
            task: task.clone(),
            left: Left {
                cost: settings.budget.cost_micro_usd,
                tokens: settings.budget.tokens,
                wall_ms: settings.budget.wall_ms,
            },
            limits: settings.limits,
        }))
    }

    /// Asks one tier after the other about work that passed so far; each is paid for only then.
    pub(super) async fn ask(
        &self,
        (trees, dir): (&Trees, &Path),
        (settings, home): (&Resolved, &Home),
        report: &mut Report,
        progress: &dyn Progress,
    ) -> Result<(), CliError> {
        if report.status != ReportStatus::Pass {
            return Ok(());
        }
        let outputs = outputs(home).map_err(CliError::infrastructure)?;
        let raised = walls::raise(&settings.sandbox, dir, home).await?;
        let supervisor = supervisor_of_checks(&settings.environment, dir).within(raised.checks);
        let asked = self.ask_all(trees, report, outputs.path(), &supervisor, progress);
        let asked = asked.await;
        supervisor.retire().await;
        // What they said in full goes with this function, so nothing may point at it.
        let judgements = report
            .gates
            .iter_mut()
            .flat_map(|gate| &mut gate.judgements);
        judgements.for_each(|judgement| judgement.transcript = None);
        asked.map_err(CliError::infrastructure)
    }

    async fn ask_all(
        &self,
        trees: &Trees,
        report: &mut Report,
        run_dir: &Path,
        supervisor: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<(), CheckAborted> {
        let mut left = self.left;
        left.wall_ms = left
            .wall_ms
            .map(|cap| cap.saturating_sub(report.duration_ms));
        for &tier in &self.judging.tiers {
            let gate = Gate {
                task: &self.task,
                criteria: None,
                report,
                session: None,
                trees: Some(trees.clone()),
                tier,
                judging: &self.judging,
                left,
                limits: self.limits,
                run_dir,
                tag: format!("{}.{tier}", report.task_id),
                lock: run_dir.join("processes.lock"),
                supervisor,
            };
            let judged = gate.ask(progress, &CancellationToken::new()).await?;
            left = left.after(judged.cost(), judged.usage(), judged.duration_ms);
            report.duration_ms += judged.duration_ms;
            report.add_gate(judged);
            if report.held_back().is_some() {
                break;
            }
        }
        Ok(())
    }
}
