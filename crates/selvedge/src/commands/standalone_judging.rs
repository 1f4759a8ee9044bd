//! Tiers above the checks, asked by `selvedge verify` about work that no run watched. What a judge is
//! shown was changed since a revision, and what it was for says whoever asks: without both nobody is
//! asked, and that is said.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::machine::RemainingBudget;
use selvedge_core::model::{JudgingSpec, Report, ReportStatus, SessionLimits};
use selvedge_engine::activity::Progress;
use selvedge_engine::checks::CheckError;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{JudgeGate, VerificationTrees};
use tokio_util::sync::CancellationToken;

use super::run_checks::create_output_dir;
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::judges::{describe_judging, resolve_judging};
use crate::local::StateDir;
use crate::resolve;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// Who is asked, and about what.
#[derive(Debug)]
pub(super) struct StandaloneJudging {
    judging: JudgingSpec,
    task: String,
    remaining_budget: RemainingBudget,
    limits: SessionLimits,
}

impl StandaloneJudging {
    /// Whom the arguments and the settings name. A tier that is only configured is not asked where nobody
    /// said what the work was for; one that was asked for is.
    pub(super) fn from_args(
        args: &VerifyArgs,
        settings: &ResolvedConfig,
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
        let worker = resolve::final_agent(settings)?;
        let Some(judging) = resolve_judging(tier, settings, &worker, dir, true)? else {
            return Ok(None);
        };
        errln!("{}", describe_judging(&judging));
        Ok(Some(Self {
            judging,
            task: task.clone(),
            remaining_budget: RemainingBudget {
                cost: settings.budget.cost_micro_usd,
                tokens: settings.budget.tokens,
                wall_ms: settings.budget.wall_ms,
            },
            limits: settings.limits,
        }))
    }

    /// Asks one tier after the other about work that passed so far; each is paid for only then.
    pub(super) async fn judge_report(
        &self,
        (trees, dir): (&VerificationTrees, &Path),
        (settings, home): (&ResolvedConfig, &StateDir),
        report: &mut Report,
        progress: &dyn Progress,
    ) -> Result<(), CliError> {
        if report.status != ReportStatus::Pass {
            return Ok(());
        }
        let outputs = create_output_dir(home).map_err(CliError::infrastructure)?;
        let raised = sandbox_setup::set_up_sandbox(&settings.sandbox, dir, home).await?;
        let supervisor = checks_supervisor(&settings.environment, dir).with_sandbox(raised.checks);
        let asked = self.judge_tiers(trees, report, outputs.path(), &supervisor, progress);
        let asked = asked.await;
        supervisor.shutdown().await;
        // What they said in full goes with this function, so nothing may point at it.
        let judgements = report
            .gates
            .iter_mut()
            .flat_map(|gate| &mut gate.judgements);
        judgements.for_each(|judgement| judgement.transcript = None);
        asked.map_err(CliError::infrastructure)
    }

    async fn judge_tiers(
        &self,
        trees: &VerificationTrees,
        report: &mut Report,
        run_dir: &Path,
        supervisor: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<(), CheckError> {
        let mut left = self.remaining_budget;
        left.wall_ms = left
            .wall_ms
            .map(|cap| cap.saturating_sub(report.duration_ms));
        for &tier in &self.judging.tiers {
            let gate = JudgeGate {
                task: &self.task,
                criteria: None,
                report,
                session: None,
                trees: Some(trees.clone()),
                tier,
                judging: &self.judging,
                remaining_budget: left,
                limits: self.limits,
                run_dir,
                tag: format!("{}.{tier}", report.task_id),
                lock: run_dir.join("processes.lock"),
                supervisor,
            };
            let judged = gate.run_judges(progress, &CancellationToken::new()).await?;
            left = left.subtract_spent(judged.cost(), judged.usage(), judged.duration_ms);
            report.duration_ms += judged.duration_ms;
            report.add_gate(judged);
            if report.blocking_gate().is_some() {
                break;
            }
        }
        Ok(())
    }
}
