//! Invalid plans are rejected, and valid plans run their subtasks in the right order.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{LeadingSubtask, PlanError, PlanStep, Selection, check_subtasks};
use crate::machine::{JournalState, evolve};
use crate::model::{
    Budget, Cost, ENVELOPE_VERSION, Envelope, Event, MicroUsd, Outcome, PlanSpec, PlannedSubtask,
    RunId, RunSpec, Subtask, SubtaskEnd, Timestamp, TreeId, Usage,
};

fn subtask_of(id: &str, depends_on: &[&str]) -> Subtask {
    Subtask {
        id: id.to_owned(),
        description: format!("do {id}"),
        depends_on: depends_on.iter().map(ToString::to_string).collect(),
        ..Subtask::default()
    }
}

#[test]
fn plan_rejects_impossible_graph() {
    let error = |subtasks: &[Subtask]| check_subtasks(subtasks).unwrap_err().to_string();
    assert_eq!(
        check_subtasks(&[subtask_of("a", &[]), subtask_of("b", &["a"])]),
        Ok(())
    );
    assert_eq!(
        error(&[
            subtask_of("a", &["c"]),
            subtask_of("b", &[]),
            subtask_of("c", &["d"]),
            subtask_of("d", &["a", "b"])
        ]),
        "subtasks depend on each other: a → c → d → a"
    );
    assert_eq!(
        error(&[subtask_of("a", &["a"])]),
        "subtasks depend on each other: a → a"
    );
    assert_eq!(
        error(&[subtask_of("a", &["z"])]),
        "subtask `a` depends on `z`, which is not a subtask of this plan"
    );
    assert_eq!(
        check_subtasks(&[subtask_of("a", &[]), subtask_of("a", &[])]),
        Err(PlanError::DuplicateId("a".into()))
    );
    assert_eq!(
        check_subtasks(&[subtask_of("a", &[]), subtask_of(" ", &[])]),
        Err(PlanError::MissingId(2))
    );
    let silent = Subtask {
        description: "\n".into(),
        ..subtask_of("a", &[])
    };
    assert_eq!(
        check_subtasks(&[silent]),
        Err(PlanError::MissingDescription("a".into()))
    );
}

fn spec() -> RunSpec {
    serde_json::from_value(serde_json::json!({
        "task_id": Uuid::from_u128(7),
        "description": "a part of it",
        "workspace": "/w",
        "agent": {"name": "sh", "kind": "command"},
        "verification": {"mode": "auto_pass"},
        "max_verification_retries": 2,
        "verification_timeout_ms": 1000,
        "limits": {"wall_ms": 1000, "silence_ms": 1000},
        "snapshots": true,
        "selvedge_version": "test",
    }))
    .unwrap()
}

/// A plan in progress: folds its events as a journal does.
struct Walk {
    state: JournalState,
}

impl Walk {
    fn of(subtasks: &[(&str, &[&str])], budget: Budget) -> Self {
        let spec = spec();
        let subtasks = subtasks.iter().map(|(id, depends_on)| PlannedSubtask {
            id: (*id).to_owned(),
            depends_on: depends_on.iter().map(ToString::to_string).collect(),
            spec: spec.clone(),
        });
        let plan = PlanSpec {
            task_id: spec.task_id,
            description: "all of it".to_owned(),
            workspace: spec.workspace.clone(),
            subtasks: subtasks.collect(),
            best_of_floor: None,
            budget,
            selvedge_version: "test".to_owned(),
        };
        let mut walk = Self {
            state: JournalState::default(),
        };
        walk.append(Event::PlanCreated {
            plan: Box::new(plan),
        });
        walk
    }

    fn append(&mut self, event: Event) {
        let envelope = Envelope {
            v: ENVELOPE_VERSION,
            run_id: RunId::new(Uuid::from_u128(1)),
            seq: self.state.seq + 1,
            at: Timestamp::UNIX_EPOCH,
            event,
        };
        self.state = evolve(std::mem::take(&mut self.state), &envelope);
    }

    /// The next step, as text.
    fn next(&self) -> String {
        match self.state.plan.as_ref().unwrap().next() {
            PlanStep::Continue { subtask, .. } => format!("go on {}", subtask.id),
            PlanStep::Begin {
                subtask,
                restore: put_back,
            } => {
                let put_back = put_back
                    .map(|tree| format!(" on {tree}"))
                    .unwrap_or_default();
                format!("begin {}{put_back}", subtask.id)
            }
            PlanStep::Finish(outcome) => outcome.as_str().to_owned(),
        }
    }

    fn begin(&mut self, id: &str) {
        let run_id = RunId::new(Uuid::from_u128(u128::from(self.state.seq) + 100));
        self.append(Event::SubtaskBegan {
            id: id.to_owned(),
            run_id,
            replaced: None,
        });
        assert_eq!(self.next(), format!("go on {id}"));
    }

    fn end(&mut self, id: &str, outcome: Outcome) {
        self.end_as(id, outcome, None);
    }

    fn end_as(&mut self, id: &str, outcome: Outcome, result: Option<(&str, &str)>) {
        let end = SubtaskEnd {
            outcome,
            reason: format!("{id} {}", outcome.as_str()),
            cost: Cost::reported(MicroUsd(40)),
            usage: Usage::default(),
            worked_ms: 10,
            start_tree: Some(TreeId::of_name(&format!("before-{id}"))),
            tree: result.map(|(_, tree)| TreeId::of_name(tree)),
            behaviour: result.map(|(behaviour, _)| behaviour.to_owned()),
        };
        self.append(Event::SubtaskEnded {
            id: id.to_owned(),
            end: Box::new(end),
        });
    }

    fn done(&mut self, id: &str, outcome: Outcome) {
        self.begin(id);
        self.end(id, outcome);
    }

    fn reason(&self) -> String {
        self.state
            .plan
            .as_ref()
            .unwrap()
            .conclusion(&BTreeMap::new())
            .1
    }
}

const DIAMOND: &[(&str, &[&str])] = &[
    ("d", &["b", "c"]),
    ("a", &[]),
    ("b", &["a"]),
    ("c", &["a"]),
    ("apart", &[]),
];

#[test]
fn plan_starts_subtask_after_its_dependencies() {
    let mut walk = Walk::of(DIAMOND, Budget::default());
    for id in ["a", "b", "c", "d", "apart"] {
        assert_eq!(walk.next(), format!("begin {id}"));
        walk.done(id, Outcome::Verified);
    }
    assert_eq!(walk.next(), "verified");
    assert_eq!(walk.reason(), "5 of 5 subtasks verified");
}

#[test]
fn plan_failure_stops_only_dependents() {
    let mut walk = Walk::of(DIAMOND, Budget::default());
    walk.done("a", Outcome::Verified);
    walk.done("b", Outcome::MaxRetriesExhausted);
    assert_eq!(
        walk.next(),
        format!("begin c on {}", TreeId::of_name("before-b")),
        "its work is none to build on"
    );
    walk.done("c", Outcome::Verified);
    assert_eq!(walk.next(), "begin apart");
    walk.done("apart", Outcome::Unchecked);
    assert_eq!(walk.next(), "max_retries_exhausted");
    walk.append(Event::RunFinished {
        outcome: Outcome::MaxRetriesExhausted,
    });
    assert_eq!(
        walk.reason(),
        "3 of 5 subtasks verified; 1 of them unchecked; `d` not started: it depends on `b`, which is not \
         verified; `b`: b max_retries_exhausted"
    );
}

#[test]
fn plan_starts_nothing_after_cancellation_or_budget() {
    let mut walk = Walk::of(DIAMOND, Budget::default());
    walk.done("a", Outcome::Cancelled);
    assert_eq!(walk.next(), "cancelled");

    let cap = Budget {
        cost_micro_usd: Some(MicroUsd(80)),
        ..Budget::default()
    };
    let mut walk = Walk::of(DIAMOND, cap);
    walk.done("a", Outcome::Verified);
    let plan = walk.state.plan.as_ref().unwrap();
    let left = plan.run_spec(&plan.spec.subtasks[2]).budget;
    assert_eq!(
        left.cost_micro_usd,
        Some(MicroUsd(40)),
        "what is left of it"
    );
    walk.done("b", Outcome::Verified);
    assert_eq!(walk.next(), "budget");
}

#[test]
fn best_of_n_selects_most_common_result() {
    let cases = [
        // Behaviour and tree of each verified execution; the expected selection.
        (
            &[Some(("12", "t1")), None, Some(("12", "t2"))][..],
            "winner a 0.67",
        ),
        (
            &[Some(("11", "t1")), Some(("12", "t2")), Some(("12", "t3"))],
            "winner b 1.00",
        ),
        (
            &[Some(("12", "t1")), Some(("12", "t2")), Some(("12", "t2"))],
            "winner b 1.00",
        ),
        (&[Some(("12", "t1")), None, None], "person a 0.33"),
        (&[Some(("12", "t1")), None], "person a 0.50"),
        (&[Some(("11", "t1")), Some(("12", "t2"))], "person a 1.00"),
        (&[None, None, None], "stuck"),
    ];
    for (ends, comes_to) in cases {
        let names = ["a", "b", "c"];
        let parts: Vec<(&str, &[&str])> = names
            .iter()
            .take(ends.len())
            .map(|id| (*id, &[][..]))
            .collect();
        let mut walk = Walk::of(&parts, Budget::default());
        for (id, end) in names.iter().zip(ends) {
            walk.begin(id);
            let outcome = if end.is_some() {
                Outcome::Verified
            } else {
                Outcome::Stuck
            };
            walk.end_as(id, outcome, *end);
        }
        let describe =
            |word: &str, it: LeadingSubtask| format!("{word} {} {:.2}", it.id, it.confidence);
        let choice = match walk.state.plan.as_ref().unwrap().select_best(0.6) {
            Selection::Winner(it) => describe("winner", it),
            Selection::NeedsReview(it) => describe("person", it),
            Selection::NoneVerified(outcome) => outcome.as_str().to_owned(),
        };
        assert_eq!(choice, comes_to, "{ends:?}");
    }
}
