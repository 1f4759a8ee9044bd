//! The result object, built from a run's state.

use super::state::Run;
use crate::crossing::ExpectedChanges;
use crate::format::counted;
use crate::model::{
    Cost, CostSource, MicroUsd, Outcome, Report, ReportStatus, RunResult, UNCHANGED_REASON,
};

impl Run {
    /// Summarizes the run's outcome or current state.
    pub fn result(&self) -> RunResult {
        let (outcome, reason) = self.conclusion();
        let history: Vec<_> = self
            .verified_attempts()
            .map(|(_, report)| report.clone())
            .collect();
        let last = self.sessions().next_back();
        let cost = self.cost();
        let equivalents: Vec<_> = self
            .sessions()
            .filter_map(|it| it.equivalent_claude_cost)
            .collect();
        let equivalent: MicroUsd = equivalents.iter().copied().sum();
        RunResult {
            task_id: self.spec.task_id,
            run_id: self.run_id,
            status: outcome.status_word().to_owned(),
            outcome,
            reason,
            unchanged: self.is_unchanged(),
            unkept: self.excluded.clone(),
            deleted_unkept: self.deleted_excluded().cloned().map(Box::new),
            output: last.map(|session| session.text.clone()).unwrap_or_default(),
            model_used: last.and_then(|session| session.model.clone()),
            tokens_in: self.usage().tokens_in(),
            tokens_out: self.usage().tokens_out(),
            estimated_cost_usd: cost.micro_usd.map(MicroUsd::as_usd),
            equivalent_claude_cost_usd: (!equivalents.is_empty()).then(|| equivalent.as_usd()),
            cost_source: cost.source,
            execution_ms: self.execution_ms(),
            review: self.reviewed.clone().filter(|_| self.finished),
            verification_report: history.last().cloned(),
            verification_status: outcome.verification_status(!history.is_empty()),
            verification_attempts: self.used_attempts(),
            verification_history: history,
            max_verification_retries: self.spec.max_verification_retries,
            warnings: self.warnings(),
        }
    }

    /// Names deleted files that cannot be restored.
    pub fn deletion_warning(&self) -> Option<String> {
        let deleted = self.deleted_excluded()?.describe();
        Some(format!(
            "deleted during the run and not in any snapshot, so they cannot be restored: {deleted}"
        ))
    }

    /// Warnings about missing or incomplete results.
    pub fn warnings(&self) -> Vec<String> {
        let of_cost = match self.cost() {
            Cost {
                micro_usd: None, ..
            } => Some("the cost is unknown"),
            Cost {
                source: CostSource::Unknown,
                ..
            } => Some("the cost is not completely known: it is at least the amount shown"),
            _ => None,
        };
        let mut warnings = self.warnings_besides_cost();
        let at = usize::from(self.deletion_warning().is_some());
        if let Some(text) = of_cost {
            warnings.insert(at, text.to_owned());
        }
        warnings
    }

    /// The same reason, for texts that describe the cost in words.
    pub fn warnings_besides_cost(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        warnings.extend(self.deletion_warning());
        let cut_off = self
            .attempts
            .iter()
            .filter(|it| it.session.is_none() && it.end.is_some());
        for attempt in cut_off {
            let number = attempt.attempt_number;
            warnings.push(format!(
                "attempt {number} was interrupted: its cost is unknown"
            ));
        }
        if self.crashes > 0 && !self.spec.snapshots {
            warnings.push(
                "without snapshots, an attempt after a crash starts from the files that the crash left"
                    .to_owned(),
            );
        }
        warnings.extend(self.unmatched_expectations());
        warnings.extend(self.newly_skipped_tests());
        warnings
    }

    /// The checks that skip more tests than before the work began. The original tests have decided, so this is no
    /// reason to refuse verified work, but the reader of a change wants to know.
    fn newly_skipped_tests(&self) -> Vec<String> {
        let last = self.verified_attempts().next_back();
        let is_decided = |it: &Report| it.status == ReportStatus::Pass && it.crossed.is_some();
        let Some((_, report)) = last.filter(|(_, report)| is_decided(report)) else {
            return Vec::new();
        };
        let checks = report.checks.iter().enumerate();
        let newly_skipped = checks.filter_map(|(index, check)| {
            let before = self.baseline_of(index, check.kind, &check.target)?;
            let (before, now) = (before.tests.as_ref()?, check.tests.as_ref()?);
            let is_comparable = before.has_same_readers(now);
            (is_comparable && now.skipped > before.skipped).then(|| {
                let skipped = counted(now.skipped, "test");
                let before = before.skipped;
                format!(
                    "{}: {skipped} skipped, {before} before the work began",
                    check.label()
                )
            })
        });
        newly_skipped.collect()
    }

    /// Adds the declared test changes that verified work does not contain. Subtasks share the declaration of the whole
    /// plan.
    fn unmatched_expectations(&self) -> Option<String> {
        let (_, report) = self.verified_attempts().next_back()?;
        let has_passed = report.status == ReportStatus::Pass;
        if !self.finished || self.spec.part_of.is_some() || !has_passed {
            return None;
        }
        let expected = ExpectedChanges::new(&self.spec.expect_test_changes);
        let unmatched = expected.unmatched(report.crossed.as_deref());
        let names = unmatched.join(", ");
        (!unmatched.is_empty())
            .then(|| format!("`expect_test_changes` lists entries that did not change: {names}"))
    }

    /// The outcome and its reason, if the run stops here.
    pub fn conclusion(&self) -> (Outcome, String) {
        let outcome = self.outcome();
        let reason = match (&self.conclusion, &self.review) {
            (Some(decided), _) if self.finished => decided.reason.clone(),
            (_, Some(review)) => review.clone(),
            _ if let Some(until) = self.waits_until() => format!(
                "the usage limit of the agent's subscription is reached until {}; `selvedge resume` \
                 continues the run",
                until.strftime("%F %R UTC")
            ),
            _ => "stopped before an outcome was decided; `selvedge resume` continues the run"
                .to_owned(),
        };
        if self.is_unchanged() == Some(true) && outcome.passed_checks() {
            return (outcome, format!("{reason}; {}", self.describe_unchanged()));
        }
        (outcome, reason)
    }

    /// Explains why no files are changed.
    pub(crate) fn describe_unchanged(&self) -> &'static str {
        let last = self.verified_attempts().next_back();
        let mut guards = last.iter().filter_map(|(_, report)| report.guard.as_ref());
        if guards.any(|guard| guard.violations().next().is_some()) {
            "every change of the agent was reverted, so no files are changed"
        } else {
            UNCHANGED_REASON
        }
    }
}
