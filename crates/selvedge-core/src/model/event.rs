//! The journal's events: durable, sequenced, never dropped.
//!
//! Every effect is requested by an [`Event::EffectRequested`] and identified by that event's sequence number. An
//! observation and the decision that follows are appended together, so a journal never contains half a decision. An
//! event of an unknown type is read as [`Event::Unknown`] with its raw data: it can be shown, but the run cannot be
//! resumed.

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

/// The version of the envelope that this version writes.
pub const ENVELOPE_VERSION: u32 = 1;

/// How an attempt ended. Each ends exactly once; only a report counts against the retry limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AttemptEnd {
    /// It was verified.
    Report,
    /// The agent's session failed.
    SessionFailed,
    /// It was interrupted: does not use a retry.
    Interrupted,
    /// The usage limit of the agent's subscription was reached: does not use a retry.
    UsageLimit,
    /// The run was cancelled.
    Cancelled,
}

/// The prompt of an agent: the task verbatim and, from the second attempt on, a correction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Prompt {
    /// The task, with its acceptance criteria and expected outputs, if any.
    pub task: String,
    /// Lists what failed, what passed, and what to do: less than 1,000 tokens, regardless of the number of attempts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub correction: Option<String>,
}

impl Prompt {
    /// The complete text, for agents that take a single message.
    pub fn full_text(&self) -> String {
        match &self.correction {
            None => self.task.clone(),
            Some(correction) => format!("{}\n\n{correction}", self.task),
        }
    }
}

/// An event of a run or a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type", content = "data")]
pub enum Event {
    /// The run was created; its specification is immutable.
    RunCreated {
        /// The specification.
        spec: Box<RunSpec>,
    },
    /// An effect was requested.
    EffectRequested {
        /// The effect.
        effect: EffectKind,
    },
    /// An at-most-once effect is about to start.
    EffectStarted {
        /// The effect.
        effect: EffectId,
    },
    /// An effect could not be carried out: an infrastructure failure.
    EffectFailed {
        /// The effect.
        effect: EffectId,
        /// The error.
        error: String,
    },
    /// A snapshot was taken.
    TreeSnapshotted {
        /// The effect that this ends.
        effect: EffectId,
        /// The tree's id.
        tree: TreeId,
        /// Files that the snapshot's rules left out.
        #[serde(default)]
        left_out: u64,
        /// At the start of a run: content that is too large for snapshots.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        unkept: Option<Box<ExcludedContent>>,
        /// After a session: changes in tool folders.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        changed_tools: Option<Box<ToolFolderChanges>>,
    },
    /// The workspace was restored to a snapshot.
    TreeRestored {
        /// The effect that this ends.
        effect: EffectId,
        /// That tree.
        tree: TreeId,
        /// The snapshot of the previous content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// The baseline is complete.
    BaselineTaken {
        /// The effect that this ends.
        effect: EffectId,
        /// The baseline.
        baseline: Box<Baseline>,
    },
    /// An attempt has its number and its prompt; the agent has not started.
    AttemptBegan {
        /// 1, 2, 3 … without gaps.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// The prompt.
        prompt: Prompt,
        /// The tree from which it begins.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from_tree: Option<TreeId>,
        /// Number of the verification retry; 0 for the first attempt, and for one that repeats an interrupted first
        /// attempt.
        retry: u32,
    },
    /// The agent's session ended.
    SessionEnded {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// Its outcome.
        outcome: Box<SessionOutcome>,
    },
    /// The verification is complete.
    Reported {
        /// The effect that this ends.
        effect: EffectId,
        /// Its report.
        report: Box<Report>,
    },
    /// A tier above the checks is complete.
    GateJudged {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// Its report.
        gate: Box<GateReport>,
    },
    /// A verification that could not be carried out is repeated; does not use a retry.
    VerificationRepeated {
        /// The effect that this ends.
        effect: EffectId,
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// The reason.
        reason: String,
    },
    /// The wait for the reset of a usage limit is over.
    Waited {
        /// The effect that this ends.
        effect: EffectId,
    },
    /// An attempt ended.
    AttemptClosed {
        /// The attempt.
        #[serde(rename = "run_number")]
        attempt_number: u32,
        /// How it ended.
        closing: AttemptEnd,
    },
    /// A cancellation was requested.
    CancelRequested {
        /// The reason.
        reason: String,
    },
    /// A pause was requested.
    SuspendRequested {
        /// The reason.
        reason: String,
    },
    /// All effects have ended; the run can be resumed.
    Suspended,
    /// The run was resumed.
    Resumed {
        /// Whether the previous program ended without recording it.
        after_crash: bool,
    },
    /// A person has to decide.
    ReviewRequested {
        /// The reason.
        reason: String,
    },
    /// A person decided.
    Reviewed {
        /// Whether the work is accepted.
        accepted: bool,
        /// The reviewer; on a hub the name of their token.
        by: String,
        /// The name that the request gave; not verified.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stated_by: Option<String>,
        /// The reviewer's reason: feedback for another attempt, if there is one.
        reason: String,
    },
    /// A plan was created; its subtasks are immutable. Its journal only has the events below about them; each subtask
    /// has a run of its own.
    PlanCreated {
        /// The plan.
        plan: Box<PlanSpec>,
    },
    /// A subtask began, with its own run.
    SubtaskBegan {
        /// The subtask.
        id: String,
        /// Its run.
        run_id: RunId,
        /// The snapshot of the previous content, taken before the work of a failed subtask was reverted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// The run of a subtask ended.
    SubtaskEnded {
        /// The subtask.
        id: String,
        /// How it ended.
        end: Box<SubtaskEnd>,
    },
    /// Best-of-N: the work of this execution was put into the workspace.
    SubtaskChosen {
        /// The execution.
        id: String,
        /// The fraction of verified executions, 0 to 1.
        confidence: f64,
        /// The reason.
        reason: String,
        /// The snapshot of the previous content.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        replaced: Option<TreeId>,
    },
    /// The outcome was decided; the final tree may still have to be restored.
    OutcomeDecided {
        /// The outcome.
        outcome: Outcome,
        /// The reason, in one line.
        reason: String,
        /// The attempt whose tree remains, if one was selected.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        delivered: Option<u32>,
    },
    /// The run ended.
    RunFinished {
        /// The outcome.
        outcome: Outcome,
    },
    /// An event of an unknown type.
    #[serde(skip)]
    Unknown {
        /// Its type.
        kind: String,
        /// Its unmodified data.
        data: Value,
    },
}

/// An event with its position in the journal.
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
    /// The event.
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
    /// Creates an event from its type and data; an unknown event is preserved.
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

    /// Its type and its data, if any: the stored form.
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
    fn event_of_later_release_keeps_raw_value() {
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
    fn event_with_other_data_is_unknown() {
        let event = Event::from_parts(
            "run_finished".into(),
            serde_json::json!({"outcome": "eaten"}),
        );
        assert!(matches!(event, Event::Unknown { .. }));
    }

    #[test]
    fn event_round_trip() {
        for event in [
            Event::Suspended,
            Event::RunFinished {
                outcome: Outcome::Verified,
            },
            Event::EffectRequested {
                effect: EffectKind::Execute { attempt_number: 2 },
            },
        ] {
            let (kind, data) = event.to_parts().unwrap();
            assert_eq!(Event::from_parts(kind, data), event);
        }
    }
}
