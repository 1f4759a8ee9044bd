//! What clients ask of a hub, beside reading: to take a task, to stop it, to decide, to make tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::TaskState;
use crate::model::{TaskId, Timestamp, TreeId};

/// The answer to a submitted task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    /// The task.
    pub task_id: TaskId,
    /// Where it stands.
    pub state: TaskState,
    /// What was changed, or could become a disappointment: a capped number of retries, labels that no
    /// connected worker has.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Whether it had been submitted before, under the same idempotency key.
    #[serde(default)]
    pub repeated: bool,
}

/// Stop for good. An empty body will do.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CancelRequest {
    /// Why, in words.
    pub reason: String,
}

/// What a person can decide of work that waits for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// The work is right: the task is verified, by them.
    Accept,
    /// The work is not right: the task is over.
    Reject,
    /// The work is not right: another attempt, with the reason as feedback.
    Retry,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRequest {
    /// What they decide.
    pub decision: ReviewDecision,
    /// With `reject`: another attempt, with the reason as feedback, as `retry` means. Refused with `accept`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// The attempt that they looked at. The decision is refused (409) when another one is awaiting review.
    /// Without it the decision applies to the attempt that is awaiting review when the request arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The tree that they looked at. The decision is refused (409) when another one is awaiting review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// A name to record beside the reviewer, as `stated_by`; the reviewer is always the token's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Why, in their words.
    #[serde(default)]
    pub reason: String,
}

/// What a token may be used for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// To look.
    Read,
    /// To submit, cancel, retry and review.
    Submit,
    /// To carry out tasks.
    Worker,
    /// All of it, and tokens.
    Admin,
}

impl Scope {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Read, Self::Submit, Self::Worker, Self::Admin];

    /// The value as it stands on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Worker => "worker",
            Self::Admin => "admin",
        }
    }

    /// The scope of that word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// A token is to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRequest {
    /// What people call it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRow {
    /// Its id, by which it is revoked; no secret.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// What it may be used for.
    pub scopes: Vec<Scope>,
    /// The first characters of the secret, by which a person knows it again.
    pub prefix: String,
    /// Whose tasks it sees.
    pub tenant: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// A token that was just made: its secret is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedToken {
    /// The secret.
    pub token: String,
    /// All else.
    #[serde(flatten)]
    pub row: TokenRow,
}

/// All tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenPage {
    /// The newest first.
    pub tokens: Vec<TokenRow>,
}
