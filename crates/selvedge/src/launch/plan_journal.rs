//! Writes a plan's journal.

use selvedge_core::export::ReportInput;
use selvedge_core::machine::{JournalState, evolve};
use selvedge_core::model::{
    ENVELOPE_VERSION, Envelope, Event, Outcome, RunId, SubtaskEnd, Timestamp,
};
use selvedge_core::plan::{Plan, describe_behaviour};
use selvedge_core::run::Run;
use selvedge_engine::{AppendResult, EventSink};

use super::command_context::CommandContext;
use crate::error::CliError;
use crate::local::{JournalSink, run_results};

/// A plan's journal, and the plan's current state.
pub(super) struct PlanJournal<'a> {
    context: &'a CommandContext<'a>,
    sink: JournalSink,
    run_id: RunId,
    state: JournalState,
}

impl<'a> PlanJournal<'a> {
    pub(super) fn open(
        context: &'a CommandContext<'a>,
        run_id: RunId,
        state: JournalState,
    ) -> Result<Self, CliError> {
        Ok(Self {
            context,
            sink: JournalSink::new(context.home.open_journal()?, run_id),
            run_id,
            state,
        })
    }

    pub(super) fn plan(&self) -> Result<&Plan, CliError> {
        let plan = self.state.plan.as_ref();
        plan.ok_or_else(|| CliError::infrastructure("the plan has no state"))
    }

    /// Records the state of a subtask's run: it ended, awaits review, or was stopped.
    pub(super) async fn record_subtask(&mut self, run: &Run) -> Result<(), CliError> {
        let (outcome, reason) = run.conclusion();
        let id = run.spec.part_of.as_ref().map(|part| part.subtask.clone());
        let id = id.unwrap_or_default();
        let is_best_of = self.plan()?.spec.best_of_floor.is_some();
        let event = match (run.finished, &run.review) {
            // A run of best-of-N does not wait for a review: it counts as not verified.
            (false, Some(_)) if is_best_of => subtask_ended_event(id, run, outcome, reason),
            (true, _) => subtask_ended_event(id, run, outcome, reason),
            (false, Some(reason)) => Event::ReviewRequested {
                reason: format!("subtask `{id}`: {reason}"),
            },
            (false, None) => Event::Suspended,
        };
        self.append(event).await
    }

    /// Reports the result of the plan; returns the exit code.
    pub(super) fn report_outcome(&self) -> Result<u8, CliError> {
        let plan = self.plan()?;
        let (home, context) = (self.context.home, self.context);
        let runs = home.subtask_runs(&home.open_journal()?, plan)?;
        let results = run_results(&runs);
        context.reporter.report_plan_end(plan, &results);
        let (outcome, _) = plan.conclusion(&results);
        let code = match outcome {
            Outcome::Interrupted => context.signals.signal_exit_code(),
            outcome => outcome.exit_code(),
        };
        let (spec, result) = (&plan.spec, plan.result(&results));
        let report_input = ReportInput::of_plan(&result, &spec.description, &runs);
        let reports = &context.output.reports;
        Ok(reports.write(code, &report_input, home, &spec.workspace))
    }

    pub(super) async fn append(&mut self, event: Event) -> Result<(), CliError> {
        let envelope = Envelope {
            v: ENVELOPE_VERSION,
            run_id: self.run_id,
            seq: self.state.seq + 1,
            at: Timestamp::now(),
            event,
        };
        let appended = self.sink.append(self.state.seq, vec![envelope.clone()]);
        match appended.await.map_err(CliError::infrastructure)? {
            AppendResult::Fenced => Err(CliError::infrastructure(
                "another program has taken over this plan",
            )),
            AppendResult::Committed => {
                self.state = evolve(std::mem::take(&mut self.state), &envelope);
                if let Some(plan) = &self.state.plan {
                    self.context.reporter.report_plan_event(&envelope, plan);
                }
                Ok(())
            }
        }
    }
}

fn subtask_ended_event(id: String, run: &Run, outcome: Outcome, reason: String) -> Event {
    let judged = run.verified_attempts().next_back();
    let end = SubtaskEnd {
        outcome,
        reason,
        cost: run.cost(),
        usage: run.usage(),
        worked_ms: run.active_ms(),
        start_tree: run.start_tree.clone(),
        tree: run.final_tree(),
        behaviour: judged.map(|(_, report)| describe_behaviour(report)),
    };
    Event::SubtaskEnded {
        id,
        end: Box::new(end),
    }
}
