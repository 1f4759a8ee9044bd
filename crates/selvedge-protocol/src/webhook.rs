//! Webhooks: requests of the hub that inform other programs of what happened to tasks, as the Standard Webhooks
//! specification defines them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use selvedge_core::model::{Cost, Outcome, TaskId, Timestamp};

use super::state::TaskState;

/// The type of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum WebhookEventType {
    /// A task ended with an outcome, or was cancelled.
    #[serde(rename = "task.finished")]
    TaskFinished,
    /// A task needs review.
    #[serde(rename = "task.needs_review")]
    TaskNeedsReview,
    /// A task was given up after infrastructure failures.
    #[serde(rename = "task.dead")]
    TaskDead,
}

impl WebhookEventType {
    /// All types.
    pub const ALL: [Self; 3] = [Self::TaskFinished, Self::TaskNeedsReview, Self::TaskDead];

    /// The wire value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::TaskFinished => "task.finished",
            Self::TaskNeedsReview => "task.needs_review",
            Self::TaskDead => "task.dead",
        }
    }

    /// Parses a wire value.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// The form of a webhook's requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// A `WebhookMessage`.
    #[default]
    Json,
    /// A message for an incoming webhook of Slack.
    Slack,
    /// An Adaptive Card for a workflow of Microsoft Teams.
    Teams,
}

impl WebhookFormat {
    /// All formats.
    pub const ALL: [Self; 3] = [Self::Json, Self::Slack, Self::Teams];

    /// The wire value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Slack => "slack",
            Self::Teams => "teams",
        }
    }

    /// Parses a wire value.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.as_str() == word)
    }
}

/// Creates a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookRequest {
    /// Display name.
    pub name: String,
    /// The URL that receives the requests.
    pub url: String,
    /// The events to send; all if empty.
    #[serde(default)]
    pub events: Vec<WebhookEventType>,
    /// The form of the requests.
    #[serde(default)]
    pub format: WebhookFormat,
}

/// A webhook, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookRow {
    /// Its id.
    pub id: String,
    /// Display name.
    pub name: String,
    /// The URL; of Slack and Teams only its origin, because the rest is a secret.
    pub url: String,
    /// The events that are sent; all if empty.
    pub events: Vec<WebhookEventType>,
    /// The form of the requests.
    pub format: WebhookFormat,
    /// Creation time.
    pub created_at: Timestamp,
}

/// A new webhook: its secret is only shown once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IssuedWebhook {
    /// The key of the signatures: `whsec_` and base64.
    pub secret: String,
    /// The other fields.
    #[serde(flatten)]
    pub row: WebhookRow,
}

/// All webhooks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookPage {
    /// The webhooks, oldest first.
    pub webhooks: Vec<WebhookRow>,
}

/// The body of a webhook's request in the format `json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookMessage {
    /// The type of the event.
    #[serde(rename = "type")]
    pub event: WebhookEventType,
    /// When it happened.
    pub timestamp: Timestamp,
    /// The task.
    pub data: WebhookTask,
}

/// A task in a webhook's message, at the time of the event except for its cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookTask {
    /// The task.
    pub task_id: TaskId,
    /// The plan that it is a subtask of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// The state.
    pub state: TaskState,
    /// The outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Outcome>,
    /// The reason, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The first non-empty line of the description, or else of the command or a subtask, shortened; may be empty.
    pub description: String,
    /// The requested agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The repository, or the directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The name of the token that submitted it.
    pub submitted_by: String,
    /// The number of attempts.
    pub attempts: u32,
    /// The cost when the request is sent, which may include attempts after the event.
    pub cost: Cost,
    /// The task's page on the dashboard.
    pub url: String,
}

/// The state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DeliveryState {
    /// It will be sent, or sent again.
    Pending,
    /// The receiver accepted it.
    Delivered,
    /// The receiver never accepted it; it is not sent again.
    Failed,
}

/// One request of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryTry {
    /// When it ended.
    pub at: Timestamp,
    /// The status of the response, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// Why there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// An event that a webhook delivers, and its requests.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryRow {
    /// The header `webhook-id`, the same in all requests.
    pub id: String,
    /// The type of the event.
    pub event: WebhookEventType,
    /// The task.
    pub task_id: TaskId,
    /// When the event happened.
    pub at: Timestamp,
    /// Whether it was delivered.
    pub state: DeliveryState,
    /// When it is sent, or sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try_at: Option<Timestamp>,
    /// The requests, in order.
    pub tries: Vec<DeliveryTry>,
}

/// The latest deliveries of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryPage {
    /// The deliveries, newest first.
    pub deliveries: Vec<DeliveryRow>,
}
