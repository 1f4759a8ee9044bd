//! Tiers above the checks: how a task is judged by others than the one that did the work, and what
//! they said. What their answers come to is decided in [`crate::gate`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::money::{Cost, Usage};
use super::report::OutputRef;
use super::spec::AgentSpec;

/// Who judges work whose checks pass, and what it takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgingSpec {
    /// The tiers to be asked, in this order: 2 asks one judge, 3 lets several vote.
    pub tiers: Vec<u8>,
    /// Who is asked: the first in tier 2, in tier 3 one after the other, and again from the first.
    pub judges: Vec<AgentSpec>,
    /// Votes in tier 3.
    pub votes: u32,
    /// The least confidence, 0 to 1, with which work counts as passed; below it a person decides.
    pub confidence_floor: f64,
}

impl JudgingSpec {
    /// How many answers a tier needs.
    pub fn votes_in(&self, tier: u8) -> u32 {
        if tier == 3 { self.votes } else { 1 }
    }
}

/// One judge's answer, or why there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Judgement {
    /// The agent that was asked.
    pub judge: String,
    /// The model that answered, as the agent names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Whether it is the model that did the work: a judge of its own cause.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub same_model: bool,
    /// Whether it holds the task for done; absent where there is no answer that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// 0 to 1, as the judge states it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What it found wrong.
    pub issues: Vec<String>,
    /// What it would do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
    /// Why there is no answer that can be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How often it was asked.
    pub asked: u32,
    /// Tokens, over all that were asked.
    pub usage: Usage,
    /// What it cost.
    pub cost: Cost,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// All that was said, on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub transcript: Option<OutputRef>,
}

/// One tier's verdict.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// 2 for an independent model, 3 for a vote.
    pub tier: u8,
    /// Whether it passed; absent where the gate could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// 0 to 1: the judge's own in tier 2, the share of the majority in a vote.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// What the agent is told when it failed, or a person when it could not decide.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feedback: Option<String>,
    /// Why there is no verdict at all: no judge could be asked, or none gave a usable answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What each judge said.
    #[serde(default)]
    pub judgements: Vec<Judgement>,
    /// Wall time in milliseconds.
    #[serde(default)]
    pub duration_ms: u64,
}

impl GateReport {
    /// What all its judges together cost.
    pub fn cost(&self) -> Cost {
        let costs = self.judgements.iter().map(|judgement| judgement.cost);
        costs.fold(Cost::ZERO, |sum, cost| sum + cost)
    }

    /// The tokens of all its judges together.
    pub fn usage(&self) -> Usage {
        let usages = self.judgements.iter().map(|judgement| judgement.usage);
        usages.fold(Usage::default(), |sum, usage| sum + usage)
    }
}
