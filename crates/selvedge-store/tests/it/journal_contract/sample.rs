//! Sample runs and events for the tests.

use selvedge_core::model::{
    AttemptEnd, Cost, ENVELOPE_VERSION, EffectId, Envelope, Event, MicroUsd, ParentPlan, Prompt,
    RunId, SessionOutcome, SessionStatus, Timestamp,
};
use serde_json::json;

use selvedge_store::{AppendOutcome, Journal};

/// A run id that sorts after the ids of smaller numbers, and has a later timestamp.
pub(super) fn run(number: u32) -> RunId {
    format!("0190163d-{:04x}-739b-aea5-{number:012x}", number / 16)
        .parse()
        .unwrap()
}

/// Numbers events from `after_seq`, a second apart.
pub(super) fn numbered(
    run_id: RunId,
    after_seq: u64,
    events: impl IntoIterator<Item = Event>,
) -> Vec<Envelope> {
    (after_seq + 1..)
        .zip(events)
        .map(|(seq, event)| {
            let second = i64::try_from(1_700_000_000 + seq).unwrap();
            let at = Timestamp::from_second(second).unwrap();
            Envelope {
                v: ENVELOPE_VERSION,
                run_id,
                seq,
                at,
                event,
            }
        })
        .collect()
}

/// Appends without a concurrent writer: panics if fenced.
#[track_caller]
pub(super) fn append(
    journal: &impl Journal,
    run: RunId,
    after_seq: u64,
    events: impl IntoIterator<Item = Event>,
) -> Vec<Envelope> {
    let events = numbered(run, after_seq, events);
    assert_eq!(
        journal.append(run, after_seq, &events).unwrap(),
        AppendOutcome::Committed
    );
    events
}

pub(super) const TASK: &str = "0190163d-8694-739b-aea5-966c26f8ad91";

/// The first event of a run with a description and a workspace.
pub(super) fn created(description: &str, workspace: &str) -> Event {
    let spec = json!({
        "task_id": TASK,
        "description": description,
        "workspace": workspace,
        "agent": {"name": "scripted", "kind": "command", "program": ["agent"]},
        "verification": {"mode": "auto_pass"},
        "max_verification_retries": 2,
        "verification_timeout_ms": 120_000,
        "limits": {"wall_ms": 1_000, "silence_ms": 1_000},
        "snapshots": false,
        "selvedge_version": "0.1.0",
    });
    Event::RunCreated {
        spec: Box::new(serde_json::from_value(spec).unwrap()),
    }
}

/// The first event of a run that is a subtask of a plan.
pub(super) fn part_created(plan: RunId, subtask: &str) -> Event {
    let mut event = created("a part of it", "/w");
    if let Event::RunCreated { spec } = &mut event {
        spec.part_of = Some(ParentPlan {
            plan,
            subtask: subtask.to_owned(),
        });
    }
    event
}

pub(super) fn began(attempt_number: u32) -> Event {
    let prompt = Prompt {
        task: "mend it".to_owned(),
        correction: None,
    };
    Event::AttemptBegan {
        attempt_number,
        prompt,
        from_tree: None,
        retry: attempt_number - 1,
    }
}

pub(super) fn session_started() -> Event {
    Event::EffectStarted {
        effect: EffectId(3),
    }
}

pub(super) fn session_ended(attempt_number: u32, cost: Cost) -> Event {
    let outcome = SessionOutcome {
        cost,
        ..SessionOutcome::new(SessionStatus::Success)
    };
    Event::SessionEnded {
        effect: EffectId(3),
        attempt_number,
        outcome: Box::new(outcome),
    }
}

pub(super) fn judged(attempt_number: u32, cost: Cost) -> Event {
    let judgement = json!({"judge": "other", "cost": cost});
    let gate = json!({"tier": 2, "judgements": [judgement]});
    Event::GateJudged {
        effect: EffectId(3),
        attempt_number,
        gate: Box::new(serde_json::from_value(gate).unwrap()),
    }
}

pub(super) fn interrupted(attempt_number: u32) -> Event {
    Event::AttemptClosed {
        attempt_number,
        closing: AttemptEnd::Interrupted,
    }
}

pub(super) fn dollars(usd: f64) -> Cost {
    Cost::reported(MicroUsd::from_usd(usd).unwrap())
}
