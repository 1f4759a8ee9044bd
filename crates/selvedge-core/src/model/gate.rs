//! Tiers above the checks: how judges evaluate the work, and their answers. [`crate::gate`] combines the answers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::money::{Cost, Usage};
use super::report::OutputRef;
use super::spec::AgentSpec;

/// Judging of work whose checks pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgingSpec {
    /// The tiers, in the order in which they are asked: 2 asks one judge, 3 lets several vote.
    pub tiers: Vec<u8>,
    /// The judges: tier 2 asks the first, tier 3 all in turn, starting over from the first.
    pub judges: Vec<AgentSpec>,
    /// Votes in tier 3.
    pub votes: u32,
    /// Minimum confidence, 0 to 1, with which work counts as passed; below it a person decides.
    pub confidence_floor: f64,
}

impl JudgingSpec {
    /// Number of answers that a tier needs.
    pub fn votes_in(&self, tier: u8) -> u32 {
        if tier == 3 { self.votes } else { 1 }
    }
}

/// One judge's answer, or the reason why there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Judgement {
    /// The agent that was asked.
    pub judge: String,
    /// The model that answered, by the agent's name for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it is the model that did the work: not an independent judge.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_model: bool,
    /// Whether it considers the task done; absent if there is no usable answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// 0 to 1, as reported by the judge.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The issues that it found.
    pub issues: Vec<String>,
    /// Its suggested next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Why there is no usable answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Number of times that it was asked.
    pub asked: u32,
    /// Tokens of all requests.
    pub usage: Usage,
    /// Cost.
    pub cost: Cost,
    /// Elapsed time in milliseconds.
    pub duration_ms: u64,
    /// The complete conversation, on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<OutputRef>,
}

/// One tier's verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// 2 for an independent model, 3 for a vote.
    pub tier: u8,
    /// Whether it passed; absent if the gate could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// 0 to 1: the judge's own in tier 2, the majority's share in a vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// Feedback for the agent if it failed, or for a person if it could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Why there is no verdict: no judge could be asked, or none gave a usable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The answers of the judges.
    #[serde(default)]
    pub judgements: Vec<Judgement>,
    /// Elapsed time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl GateReport {
    /// Total cost of its judges.
    pub fn cost(&self) -> Cost {
        let costs = self.judgements.iter().map(|judgement| judgement.cost);
        costs.fold(Cost::ZERO, |sum, cost| sum + cost)
    }

    /// Total tokens of its judges.
    pub fn usage(&self) -> Usage {
        let usages = self.judgements.iter().map(|judgement| judgement.usage);
        usages.fold(Usage::default(), |sum, usage| sum + usage)
    }
}
