//! Judges for `selvedge verify`: reviews existing changes with the tiers above the checks. A judge needs the changes
//! since a revision and a description of the task; without both, no judge is called, and the command reports that.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::model::{JudgingSpec, Report, ReportStatus, SessionLimits};
use selvedge_core::run::RemainingBudget;
use selvedge_engine::activity::Progress;
use selvedge_engine::process::Supervisor;
use selvedge_engine::{CheckError, JudgeGate, VerificationTrees};
use tokio_util::sync::CancellationToken;

use super::base_comparison::BaseContext;
use super::run_checks::create_output_dir;
use crate::cli::VerifyArgs;
use crate::error::CliError;
use crate::judges::{describe_judging, resolve_judging};
use crate::resolve;
use crate::sandbox_setup;
use crate::secrets::checks_supervisor;

/// The judges, the task that they judge by, and their budget.
#[derive(Debug)]
pub(super) struct StandaloneJudging {
    judging: JudgingSpec,
    task: String,
    remaining_budget: RemainingBudget,
    limits: SessionLimits,
}

impl StandaloneJudging {
    /// Resolves the judges that the arguments and settings name. If the task or the revision is missing, a tier that
    /// was requested by a flag is an error; a tier that is only configured is skipped with a message.
    pub(super) fn from_args(
        args: &VerifyArgs,
        settings: &ResolvedConfig,
        dir: &Path,
    ) -> Result<Option<Self>, CliError> {
        let tier = settings.verification_tier;
        if tier < 2 {
            return Ok(None);
        }
        let (Some(task), true) = (&args.task, args.base.is_some()) else {
            if args.tier.is_some() {
                return Err(
                    CliError::usage(format!("tier {tier} needs --task and --base")).hint(
                        "selvedge verify --base origin/main --tier 2 --task 'add a dark theme'",
                    ),
                );
            }
            errln!(
                "tier {tier} is configured, but only the checks are run: judges also need \
                 --base REV and --task TEXT"
            );
            return Ok(None);
        };
        let agent = resolve::final_agent(settings)?;
        let Some(judging) = resolve_judging(tier, settings, &agent, dir, true)? else {
            return Ok(None);
        };
        errln!("{}", describe_judging(&judging));
        Ok(Some(Self {
            judging,
            task: task.clone(),
            remaining_budget: RemainingBudget {
                cost: settings.budget.cost_micro_usd,
                tokens: settings.budget.tokens,
                duration_ms: settings.budget.duration_ms,
            },
            limits: settings.limits,
        }))
    }

    /// Runs the tiers in order, each only if everything before it passed.
    pub(super) async fn judge_report(
        &self,
        context: &BaseContext<'_>,
        report: &mut Report,
    ) -> Result<(), CliError> {
        if report.status != ReportStatus::Pass {
            return Ok(());
        }
        let (settings, home) = (context.settings, context.home);
        let dir = context.checks.dir.as_path();
        let outputs = create_output_dir(home).map_err(CliError::infrastructure)?;
        let sandboxes = sandbox_setup::set_up_sandbox(&settings.sandbox, dir, home).await?;
        let supervisor =
            checks_supervisor(&settings.environment, dir).with_sandbox(sandboxes.checks);
        let (trees, progress) = (context.trees, context.progress);
        let result = self.judge_tiers(trees, report, outputs.path(), &supervisor, progress);
        let result = result.await;
        supervisor.shutdown().await;
        // The transcripts are deleted when this function returns, so nothing may refer to them.
        let judgements = report
            .gates
            .iter_mut()
            .flat_map(|gate| &mut gate.judgements);
        judgements.for_each(|judgement| judgement.transcript = None);
        result.map_err(CliError::infrastructure)
    }

    async fn judge_tiers(
        &self,
        trees: &VerificationTrees,
        report: &mut Report,
        run_dir: &Path,
        supervisor: &Supervisor,
        progress: &dyn Progress,
    ) -> Result<(), CheckError> {
        let mut remaining = self.remaining_budget;
        remaining.duration_ms = remaining
            .duration_ms
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
                remaining_budget: remaining,
                limits: self.limits,
                run_dir,
                tag: format!("{}.{tier}", report.task_id),
                lock: run_dir.join("processes.lock"),
                supervisor,
            };
            let judged = gate.run_judges(progress, &CancellationToken::new()).await?;
            remaining = remaining.subtract_spent(judged.cost(), judged.usage(), judged.duration_ms);
            report.duration_ms += judged.duration_ms;
            report.add_gate(judged);
            if report.blocking_gate().is_some() {
                break;
            }
        }
        Ok(())
    }
}
