//! A plan carried through: one subtask after the other, as the plan says, each a run of its own.
//!
//! What was decided is durable before it is done: a subtask has begun once the plan's journal names its
//! run, so whoever takes the plan up again finds that run, or begins it.

use selvedge_core::export::Account;
use selvedge_core::machine::{Input, Run, State, evolve};
use selvedge_core::model::{
    ENVELOPE_VERSION, Envelope, Event, Outcome, PlanSpec, PlannedSubtask, RunId, SubtaskEnd,
    Timestamp, TreeId,
};
use selvedge_core::plan::{Next, Plan};
use selvedge_engine::workspace;
use selvedge_engine::{Appended, EventSink};
use uuid::Uuid;

use super::stage::Stage;
use crate::error::CliError;
use crate::local::{JournalSink, results};

/// Begins a plan.
pub(super) async fn begin(
    stage: &Stage<'_>,
    run_id: RunId,
    spec: PlanSpec,
) -> Result<u8, CliError> {
    let mut book = Book::open(stage, run_id, State::default())?;
    let plan = Box::new(spec);
    book.append(Event::PlanCreated { plan }).await?;
    carry(stage, book).await
}

/// Takes a plan up again, after one of its subtasks was told something, if it was.
pub(super) async fn go_on(
    stage: &Stage<'_>,
    state: State,
    first: Option<(State, Input)>,
) -> Result<u8, CliError> {
    let (run_id, after_crash) = match &state.plan {
        Some(plan) => (plan.run_id, !plan.stopped),
        None => return Err(CliError::usage("the plan's journal is empty")),
    };
    let mut book = Book::open(stage, run_id, state)?;
    book.append(Event::Resumed { after_crash }).await?;
    if let Some((state, input)) = first
        && let Some(run) = state.run.clone()
    {
        let state = stage.carry(run.run_id, &run.spec, state, input).await?;
        if let Some(run) = &state.run {
            book.took(run).await?;
        }
    }
    carry(stage, book).await
}

async fn carry(stage: &Stage<'_>, mut book: Book<'_>) -> Result<u8, CliError> {
    while book.plan()?.finished.is_none() && !book.plan()?.stopped {
        let plan = book.plan()?.clone();
        match plan.next() {
            Next::GoOn { subtask, run_id } => {
                let run = one(stage, &plan, subtask, run_id).await?;
                book.took(&run).await?;
            }
            Next::Begin { .. } if stage.signals.wished() => book.append(Event::Suspended).await?,
            Next::Begin { subtask, put_back } => {
                let replaced = put_back.map(|tree| put_it_back(stage, &plan, tree));
                let began = Event::SubtaskBegan {
                    id: subtask.id.clone(),
                    run_id: RunId::new(Uuid::now_v7()),
                    replaced: replaced.transpose()?,
                };
                book.append(began).await?;
            }
            Next::Finish(outcome) => book.append(Event::RunFinished { outcome }).await?,
        }
    }
    let plan = book.plan()?;
    let runs = stage.home.runs(&stage.home.journal()?, plan)?;
    let results = results(&runs);
    stage.watch.plan_over(plan, &results);
    let (outcome, _) = plan.conclusion(&results);
    let code = match outcome {
        Outcome::Interrupted => stage.signals.code(),
        outcome => outcome.exit_code(),
    };
    let (reports, account) = (&stage.output.reports, Account::of_plan(plan, &runs));
    Ok(reports.write(code, &account, stage.home, &plan.spec.workspace))
}

/// One subtask's run, begun or taken up again, as far as it goes by itself.
async fn one(
    stage: &Stage<'_>,
    plan: &Plan,
    subtask: &PlannedSubtask,
    run_id: RunId,
) -> Result<Run, CliError> {
    let known = stage.home.replay(&stage.home.journal()?, run_id)?;
    let state = match &known.run {
        None => {
            let spec = plan.run_spec(subtask);
            let input = Input::Create {
                spec: Box::new(spec.clone()),
            };
            stage.carry(run_id, &spec, known, input).await?
        }
        Some(run) if run.finished || run.review.is_some() => known,
        Some(run) => {
            let spec = run.spec.clone();
            stage.carry(run_id, &spec, known, Input::Resume).await?
        }
    };
    let gone = || CliError::infrastructure(format!("subtask `{}` has no run", subtask.id));
    state.run.ok_or_else(gone)
}

/// Puts the tree back that a failed subtask began from; what stands there is kept first, and named.
fn put_it_back(stage: &Stage<'_>, plan: &Plan, tree: &TreeId) -> Result<TreeId, CliError> {
    let restore = || {
        let workspace = stage.home.workspace(&plan.spec.workspace)?;
        workspace.restore(&workspace::TreeId::parse(tree.as_str())?)
    };
    let restored = tokio::task::block_in_place(restore).map_err(CliError::infrastructure)?;
    Ok(TreeId::new(restored.kept_back.as_str()))
}

/// A plan's journal, and the plan as it tells it.
struct Book<'a> {
    stage: &'a Stage<'a>,
    sink: JournalSink,
    run_id: RunId,
    state: State,
}

impl<'a> Book<'a> {
    fn open(stage: &'a Stage<'a>, run_id: RunId, state: State) -> Result<Self, CliError> {
        Ok(Self {
            stage,
            sink: JournalSink::new(stage.home.journal()?, run_id),
            run_id,
            state,
        })
    }

    fn plan(&self) -> Result<&Plan, CliError> {
        let plan = self.state.plan.as_ref();
        plan.ok_or_else(|| CliError::infrastructure("the plan has no state"))
    }

    /// Writes down what became of a subtask's run: it ended, waits for a person, or was stopped.
    async fn took(&mut self, run: &Run) -> Result<(), CliError> {
        let (outcome, reason) = run.conclusion();
        let id = run.spec.part_of.as_ref().map(|part| part.subtask.clone());
        let event = match (run.finished, &run.review) {
            (true, _) => Event::SubtaskEnded {
                id: id.unwrap_or_default(),
                end: Box::new(SubtaskEnd {
                    outcome,
                    reason,
                    cost: run.cost(),
                    usage: run.usage(),
                    worked_ms: run.worked_ms(),
                    start_tree: run.start_tree.clone(),
                }),
            },
            (false, Some(reason)) => Event::ReviewRequested {
                reason: format!("subtask `{}`: {reason}", id.unwrap_or_default()),
            },
            (false, None) => Event::Suspended,
        };
        self.append(event).await
    }

    async fn append(&mut self, event: Event) -> Result<(), CliError> {
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
