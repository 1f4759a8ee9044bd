//! The journal's events: durable, sequenced, never dropped.
//!
//! Every effect is asked for by an [`Event::EffectRequested`] and named by that event's sequence
//! number. What was observed and what was decided from it are appended together, so a journal is
//! never half a decision. An event of a type that this program does not know reads as
//! [`Event::Unknown`] with its raw data: viewers show it, resuming refuses it.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::effect::{EffectId, EffectKind};
use super::excluded::ExcludedContent;
use super::gate::GateReport;
use super::ids::{RunId, TreeId};
use super::outcome::Outcome;
use super::plan::{PlanSpec, SubtaskEnd};
use super::report::{Baseline, Report};
use super::session::SessionOutcome;
use super::spec::RunSpec;
use super::tools::ToolFolderChanges;

/// The version of the envelope that this program writes.
pub const ENVELOPE_VERSION: u32 = 1;

/// How a begun attempt was closed. Each is closed exactly once; only a report is charged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// It was verified.
    Report,
    /// The agent's session did not succeed.
    SessionFailed,
    /// It was cut off: costs no retry.
    Interrupted,
    /// The run was cancelled.
    Cancelled,
}

/// What an agent is told: the task word for word, and from the second attempt on a correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// The task, with its acceptance criteria and expected outputs when it has any.
    pub task: String,
    /// What failed, what passed, what to do: under 1,000 tokens, however many attempts there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<String>,
}

impl Prompt {
    /// The whole text, for agents that take one message.
    pub fn full_text(&self) -> String {
        match &self.correction {
            None => self.task.clone(),
            Some(correction) => format!("{}\n\n{correction}", self.task),
        }
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type", content = "data")]
pub enum Event {
    /// The run exists; its specification is frozen.
    RunCreated {
        /// Everything that the loop depends on.
        spec: Box<RunSpec>,
    },
    /// Something is to be done.
    EffectRequested {
        /// What.
        effect: EffectKind,
    },
    /// A once-only effect is about to be carried out.
    EffectStarted {
        /// Which.
        effect: EffectId,
    },
    /// An effect could not be carried out: infrastructure.
    EffectFailed {
        /// Which.
        effect: EffectId,
        /// Why.
        error: String,
    },
    /// A tree was kept.
    TreeSnapshotted {
        /// The effect that this ends.
        effect: EffectId,
        /// Its name.
        tree: TreeId,
        /// Files that the snapshot's rules left out.
        #[serde(default)]
        left_out: u64,
        /// At the start of a run: what is too large to be kept.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unkept: Option<Box<ExcludedContent>>,
        /// After a session: what is not as it was in folders of installed tools.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed_tools: Option<Box<ToolFolderChanges>>,
    },
    /// The workspace is equal to a kept tree.
    TreeRestored {
        /// The effect that this ends.
        effect: EffectId,
        /// That tree.
        tree: TreeId,
        /// What stood there before, kept first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// How the checks stood before the agent began.
    BaselineTaken {
        /// The effect that this ends.
        effect: EffectId,
        /// What they said.
        baseline: Box<Baseline>,
    },
    /// An attempt has its number and its prompt; the agent has not started.
    AttemptBegan {
        /// 1, 2, 3 … without gaps.
        run_number: u32,
        /// What the agent is told.
        prompt: Prompt,
        /// The tree that it begins from.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_tree: Option<TreeId>,
        /// Which verification retry this is; 0 for the first try, and for one that repeats an
        /// interrupted first try.
        retry: u32,
    },
    /// The agent's session is over.
    SessionEnded {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        run_number: u32,
        /// Its account.
        outcome: Box<SessionOutcome>,
    },
    /// The checks have spoken.
    Reported {
        /// The effect that this ends.
        effect: EffectId,
        /// All that they found.
        report: Box<Report>,
    },
    /// A tier above the checks has spoken.
    GateJudged {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        run_number: u32,
        /// What it said.
        gate: Box<GateReport>,
    },
    /// A verification run that could not be carried out is tried again, uncharged.
    VerificationRepeated {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        run_number: u32,
        /// Why.
        reason: String,
    },
    /// An attempt is over.
    AttemptClosed {
        /// Which.
        run_number: u32,
        /// How.
        closing: AttemptEnd,
    },
    /// Somebody asked to stop for good.
    CancelRequested {
        /// Why, in words.
        reason: String,
    },
    /// Somebody asked to stop for now.
    SuspendRequested {
        /// Why, in words.
        reason: String,
    },
    /// All effects have ended; the run can be resumed.
    Suspended,
    /// The run is taken up again.
    Resumed {
        /// Whether the program that ran it before ended without saying so.
        after_crash: bool,
    },
    /// A person has to decide.
    ReviewRequested {
        /// Why.
        reason: String,
    },
    /// A person decided.
    Reviewed {
        /// Whether the work is accepted.
        accepted: bool,
        /// Who: on a hub the name of their token.
        by: String,
        /// The name that the request gave; not verified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stated_by: Option<String>,
        /// Why, in their words: feedback for another attempt when there is one.
        reason: String,
    },
    /// A plan exists: its subtasks are frozen. Its journal tells nothing else of them than what follows;
    /// each has a run of its own.
    PlanCreated {
        /// All that is to be done.
        plan: Box<PlanSpec>,
    },
    /// A subtask begins, by a run of its own.
    SubtaskBegan {
        /// Which subtask.
        id: String,
        /// Its run.
        run_id: RunId,
        /// What stood in the workspace, kept before the work of a subtask that failed was put back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// A subtask's run is over.
    SubtaskEnded {
        /// Which subtask.
        id: String,
        /// How.
        end: Box<SubtaskEnd>,
    },
    /// Of a contest: the work of this execution was put into the workspace.
    SubtaskChosen {
        /// Which.
        id: String,
        /// The share of the executions that are verified, 0 to 1.
        confidence: f64,
        /// Why, in words.
        reason: String,
        /// What stood there before, kept first.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// How the run will end; the tree to leave behind may still have to be restored.
    OutcomeDecided {
        /// How.
        outcome: Outcome,
        /// Why, in one line.
        reason: String,
        /// The attempt whose tree stays, where that was chosen.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivered: Option<u32>,
    },
    /// The run is over.
    RunFinished {
        /// How.
        outcome: Outcome,
    },
    /// An event that this program does not know.
    #[serde(skip)]
    Unknown {
        /// Its type.
        kind: String,
        /// Its data, untouched.
        data: Value,
    },
}

/// An event with its place in the journal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Envelope {
    /// Version of the envelope.
    pub v: u32,
    /// The run.
    pub run_id: RunId,
    /// 1, 2, 3 … without gaps.
    pub seq: u64,
    /// When it was appended.
    pub at: jiff::Timestamp,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}

#[derive(Deserialize)]
struct RawEnvelope {
    v: u32,
    run_id: RunId,
    seq: u64,
    at: jiff::Timestamp,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    data: Value,
}

impl<'de> Deserialize<'de> for Envelope {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let RawEnvelope {
            v,
            run_id,
            seq,
            at,
            kind,
            data,
        } = RawEnvelope::deserialize(deserializer)?;
        Ok(Self {
            v,
            run_id,
            seq,
            at,
            event: Event::from_parts(kind, data),
        })
    }
}

impl Event {
    /// Reads an event from its type and data; what is not understood is kept as it is.
    pub fn from_parts(kind: String, data: Value) -> Self {
        let mut tagged = serde_json::Map::new();
        tagged.insert("type".to_owned(), Value::String(kind));
        if !data.is_null() {
            tagged.insert("data".to_owned(), data);
        }
        let tagged = Value::Object(tagged);
        Self::deserialize(&tagged).unwrap_or_else(|_| Self::Unknown {
            kind: tagged["type"].as_str().unwrap_or_default().to_owned(),
            data: tagged.get("data").cloned().unwrap_or(Value::Null),
        })
    }

    /// Its type, and its data when it has any: what a store keeps.
    pub fn to_parts(&self) -> Result<(String, Value), serde_json::Error> {
        if let Self::Unknown { kind, data } = self {
            return Ok((kind.clone(), data.clone()));
        }
        let mut tagged = serde_json::to_value(self)?;
        let kind = tagged["type"].as_str().unwrap_or_default().to_owned();
        Ok((
            kind,
            tagged.get_mut("data").map(Value::take).unwrap_or_default(),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_a_later_release_keeps_its_raw_value() {
        let line = r#"{"v":1,"run_id":"0190163d-8694-739b-aea5-966c26f8ad91","seq":3,
            "at":"2026-01-02T03:04:05Z","type":"moon_phase_changed","data":{"phase":"full"}}"#;
        let envelope: Envelope = serde_json::from_str(line).unwrap();
        let Event::Unknown { kind, data } = &envelope.event else {
            panic!("{envelope:?}")
        };
        assert_eq!(kind, "moon_phase_changed");
        assert_eq!(data["phase"], "full");
        assert_eq!(envelope.event.to_parts().unwrap().0, "moon_phase_changed");
    }

    #[test]
    fn a_known_type_with_data_of_another_shape_is_unknown_too() {
        let event = Event::from_parts(
            "run_finished".into(),
            serde_json::json!({"outcome": "eaten"}),
        );
        assert!(matches!(event, Event::Unknown { .. }));
    }

    #[test]
    fn events_survive_the_way_there_and_back() {
        for event in [
            Event::Suspended,
            Event::RunFinished {
                outcome: Outcome::Verified,
            },
            Event::EffectRequested {
                effect: EffectKind::Execute { run_number: 2 },
            },
        ] {
            let (kind, data) = event.to_parts().unwrap();
            assert_eq!(Event::from_parts(kind, data), event);
        }
    }
}
