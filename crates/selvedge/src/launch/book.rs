//! A plan's journal as it is written.

use selvedge_core::export::Account;
use selvedge_core::machine::{Run, State, evolve};
use selvedge_core::model::{
    ENVELOPE_VERSION, Envelope, Event, Outcome, RunId, SubtaskEnd, Timestamp,
};
use selvedge_core::plan::{Plan, behaviour, left_by};
use selvedge_engine::{Appended, EventSink};

use super::stage::Stage;
use crate::error::CliError;
use crate::local::{JournalSink, results};

/// A plan's journal, and the plan as it tells it.
pub(super) struct Book<'a> {
    stage: &'a Stage<'a>,
    sink: JournalSink,
    run_id: RunId,
    state: State,
}

impl<'a> Book<'a> {
    pub(super) fn open(
        stage: &'a Stage<'a>,
        run_id: RunId,
        state: State,
    ) -> Result<Self, CliError> {
        Ok(Self {
            stage,
            sink: JournalSink::new(stage.home.journal()?, run_id),
            run_id,
            state,
        })
    }

    pub(super) fn plan(&self) -> Result<&Plan, CliError> {
        let plan = self.state.plan.as_ref();
        plan.ok_or_else(|| CliError::infrastructure("the plan has no state"))
    }

    /// Writes down what became of a subtask's run: it ended, waits for a person, or was stopped.
    pub(super) async fn took(&mut self, run: &Run) -> Result<(), CliError> {
        let (outcome, reason) = run.conclusion();
        let id = run.spec.part_of.as_ref().map(|part| part.subtask.clone());
        let id = id.unwrap_or_default();
        let contested = self.plan()?.spec.contest.is_some();
        let event = match (run.finished, &run.review) {
            // One of several executions waits for nobody: it is one that is not verified.
            (false, Some(_)) if contested => ended(id, run, outcome, reason),
            (true, _) => ended(id, run, outcome, reason),
            (false, Some(reason)) => Event::ReviewRequested {
                reason: format!("subtask `{id}`: {reason}"),
            },
            (false, None) => Event::Suspended,
        };
        self.append(event).await
    }

    /// Says how the plan ended or stands; the exit code.
    pub(super) fn close(&self) -> Result<u8, CliError> {
        let plan = self.plan()?;
        let (home, stage) = (self.stage.home, self.stage);
        let runs = home.runs(&home.journal()?, plan)?;
        let results = results(&runs);
        stage.watch.plan_over(plan, &results);
        let (outcome, _) = plan.conclusion(&results);
        let code = match outcome {
            Outcome::Interrupted => stage.signals.code(),
            outcome => outcome.exit_code(),
        };
        let (spec, result) = (&plan.spec, plan.result(&results));
        let account = Account::of_plan(&result, &spec.description, &runs);
        let reports = &stage.output.reports;
        Ok(reports.write(code, &account, home, &spec.workspace))
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
            Appended::Fenced => Err(CliError::infrastructure(
                "another program has taken this plan over",
            )),
            Appended::Committed => {
                self.state = evolve(std::mem::take(&mut self.state), &envelope);
                if let Some(plan) = &self.state.plan {
                    self.stage.watch.plan(&envelope, plan);
                }
                Ok(())
            }
        }
    }
}

fn ended(id: String, run: &Run, outcome: Outcome, reason: String) -> Event {
    let judged = run.reported().next_back();
    let end = SubtaskEnd {
        outcome,
        reason,
        cost: run.cost(),
        usage: run.usage(),
        worked_ms: run.worked_ms(),
        start_tree: run.start_tree.clone(),
        tree: left_by(run),
        behaviour: judged.map(|(_, report)| behaviour(report)),
    };
    Event::SubtaskEnded {
        id,
        end: Box::new(end),
    }
}
