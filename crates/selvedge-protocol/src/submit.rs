//! Requests of clients other than queries: submit, cancel and review tasks, and create tokens.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::state::TaskState;
use selvedge_core::model::{TaskId, Timestamp, TreeId};

/// The response to a submitted task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitAnswer {
    /// The task.
    pub task_id: TaskId,
    /// The state.
    pub state: TaskState,
    /// Changes and possible problems: a reduced number of retries, labels that no connected worker has.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Whether it had been submitted before, under the same idempotency key.
    #[serde(default)]
    pub repeated: bool,
}

/// Cancels a task. The body may be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CancelRequest {
    /// The reason.
    pub reason: String,
}

/// Submits finished tasks again, each as a new task that names it: those that match all filters. Without any, the tasks
/// that ended `dead`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BulkRetryRequest {
    /// Final states; `dead` if empty.
    pub states: Vec<TaskState>,
    /// Tasks that name this agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Tasks that this worker held last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
    /// Tasks that require this label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Tasks with this text in their description, repository or workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub q: Option<String>,
    /// Tasks older than this one: the `next_cursor` of the previous response.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<TaskId>,
}

/// A task that was submitted again, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RetriedTask {
    /// The finished task.
    pub task_id: TaskId,
    /// The new one; absent if it was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_task_id: Option<TaskId>,
    /// Whether another request at the same time had already submitted it again.
    #[serde(default)]
    pub repeated: bool,
    /// Why it was refused: the hub's rules may have changed since it was submitted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// The response to a [`BulkRetryRequest`]: a limited number of tasks, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BulkRetryAnswer {
    /// The tasks.
    pub tasks: Vec<RetriedTask>,
    /// The `cursor` of the next request; absent if there are no more tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<TaskId>,
}

/// A person's decisions about work that awaits review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewDecision {
    /// Accept the work: the task is verified, by the reviewer.
    Accept,
    /// Reject the work: the task ends.
    Reject,
    /// Reject the work and make another attempt, with the reason as feedback.
    Retry,
}

/// A person's decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewRequest {
    /// The decision.
    pub decision: ReviewDecision,
    /// With `reject`: another attempt, with the reason as feedback, like `retry`. Rejected with `accept`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retry: bool,
    /// The reviewed attempt. The request is rejected (409) if a different one awaits review. Without it, the decision
    /// applies to the attempt that awaits review when the request arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The reviewed tree. The request is rejected (409) if a different one awaits review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<TreeId>,
    /// A name to record in addition to the reviewer, as `stated_by`; the reviewer is always the token's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason.
    #[serde(default)]
    pub reason: String,
}

/// The permissions of a token.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read everything.
    Read,
    /// To submit, cancel, retry and review.
    Submit,
    /// Run tasks.
    Worker,
    /// All permissions, and managing tokens.
    Admin,
}

impl Scope {
    /// All scopes.
    pub const ALL: [Self; 4] = [Self::Read, Self::Submit, Self::Worker, Self::Admin];

    /// The wire value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Worker => "worker",
            Self::Admin => "admin",
        }
    }

    /// Parses a wire value.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.as_str() == word)
    }
}

/// Creates a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRequest {
    /// Display name.
    pub name: String,
    /// Its permissions.
    pub scopes: Vec<Scope>,
    /// Expiry time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// The project that it belongs to, if it is another one than that of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenRow {
    /// Its id, which is needed to revoke it; not secret.
    pub id: String,
    /// Display name.
    pub name: String,
    /// Its permissions.
    pub scopes: Vec<Scope>,
    /// The first characters of the secret, by which a person recognizes it.
    pub prefix: String,
    /// The project whose tasks it can access; called `tenant` by older hubs.
    #[serde(alias = "tenant")]
    pub project: String,
    /// Creation time.
    pub created_at: Timestamp,
    /// Expiry time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// A new token: its secret is only shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedToken {
    /// The secret.
    pub token: String,
    /// The other fields.
    #[serde(flatten)]
    pub row: TokenRow,
}

/// All tokens.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenPage {
    /// The tokens, newest first.
    pub tokens: Vec<TokenRow>,
}
