//! Webhooks and their deliveries, which are added in the transaction that changes a task's state, so that no event is
//! lost and none is invented.

use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::{TaskState, WebhookEventType, WebhookFormat};
use uuid::Uuid;

/// Maximum number of deliveries of one webhook that are being sent, so that a slow receiver does not delay others.
pub(super) const MAX_CLAIMS_PER_WEBHOOK: u32 = 8;

/// A webhook to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWebhook {
    /// Its id.
    pub webhook_id: Uuid,
    /// The project whose tasks it informs about.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The URL of the receiver.
    pub url: String,
    /// The form of the requests.
    pub format: WebhookFormat,
    /// The events to send; all if empty.
    pub events: Vec<WebhookEventType>,
    /// The key of the signatures. It must be stored itself: a hash cannot sign.
    pub secret: Vec<u8>,
}

/// A stored webhook, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    /// Its id.
    pub webhook_id: Uuid,
    /// The project whose tasks it informs about.
    pub project: String,
    /// Its name.
    pub name: String,
    /// The URL of the receiver.
    pub url: String,
    /// The form of the requests.
    pub format: WebhookFormat,
    /// The events to send; all if empty.
    pub events: Vec<WebhookEventType>,
    /// Milliseconds since 1970.
    pub created_at: i64,
}

/// An event of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskEvent {
    /// The type.
    pub event: WebhookEventType,
    /// The task.
    pub task_id: TaskId,
    /// The new state.
    pub state: TaskState,
    /// The outcome.
    pub outcome: Option<Outcome>,
    /// The reason.
    pub reason: Option<String>,
    /// The number of attempts.
    pub attempts: u32,
    /// Milliseconds since 1970.
    pub at: i64,
}

/// A delivery that a hub must send now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDelivery {
    /// Its number in the database.
    pub number: i64,
    /// The message's id, the same in all tries.
    pub message_id: String,
    /// The number of this try, from 1.
    pub try_number: u32,
    /// The URL of the receiver.
    pub url: String,
    /// The form of the request.
    pub format: WebhookFormat,
    /// The key of the signature.
    pub secret: Vec<u8>,
    /// The event.
    pub event: TaskEvent,
}

/// The next step after a try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeliveryFollowUp {
    /// Nothing: the receiver accepted it.
    Delivered,
    /// Another try after so many milliseconds.
    Retry(i64),
    /// Nothing: it failed for good.
    Failed,
}

/// How a receiver answered a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiverAnswer {
    /// The status of the response.
    pub status: Option<u16>,
    /// Why there was no response.
    pub error: Option<String>,
    /// How long the request took, in milliseconds.
    pub duration_ms: u64,
}

/// The result of a try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryResult {
    /// The delivery.
    pub number: i64,
    /// The number of the try. It decides nothing if another hub has begun a later one.
    pub try_number: u32,
    /// The answer.
    pub answer: ReceiverAnswer,
    /// The next step.
    pub after: DeliveryFollowUp,
}

/// A try in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryTryRow {
    /// When it ended: milliseconds since 1970.
    pub at: i64,
    /// The answer.
    pub answer: ReceiverAnswer,
}

/// A delivery in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryRecord {
    /// The message's id.
    pub message_id: String,
    /// The type of the event.
    pub event: WebhookEventType,
    /// The task.
    pub task_id: TaskId,
    /// When the event happened: milliseconds since 1970.
    pub at: i64,
    /// When it is sent, or sent again; `None` if it is delivered or failed.
    pub due_at: Option<i64>,
    /// Whether the receiver accepted it.
    pub is_delivered: bool,
    /// The tries, in order.
    pub tries: Vec<DeliveryTryRow>,
}
