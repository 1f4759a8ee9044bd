//! The bodies of requests: JSON for programs, and messages for Slack and Microsoft Teams. Texts of tasks and agents
//! are data: they are shortened, and no receiver interprets them as markup.

use selvedge_core::describe;
use selvedge_core::sanitize::sanitize_text;
use selvedge_protocol::{TaskState, WebhookEventType, WebhookFormat, WebhookMessage, WebhookTask};
use selvedge_store::hub::{ClaimedDelivery, TaskView};
use serde_json::{Value, json};

use crate::task_rows::{task_row, timestamp};

/// Maximum length of a text in a message.
const MAX_TEXT_CHARS: usize = 1_000;

/// The body of a delivery.
pub(super) fn body(delivery: &ClaimedDelivery, view: &TaskView, public_url: &str) -> String {
    let message = message(delivery, view, public_url);
    match delivery.format {
        // Contains only maps with string keys, texts and numbers: it always has a JSON form.
        WebhookFormat::Json => serde_json::to_string(&message).unwrap_or_default(),
        WebhookFormat::Slack => slack(&message).to_string(),
        WebhookFormat::Teams => teams(&message).to_string(),
    }
}

fn message(delivery: &ClaimedDelivery, view: &TaskView, public_url: &str) -> WebhookMessage {
    let event = &delivery.event;
    let row = task_row(view, None);
    WebhookMessage {
        event: event.event,
        timestamp: timestamp(event.at),
        data: WebhookTask {
            task_id: event.task_id,
            parent_task_id: row.parent_task_id,
            state: event.state,
            outcome: event.outcome,
            reason: event
                .reason
                .as_deref()
                .map(shorten)
                .filter(|reason| !reason.trim().is_empty()),
            description: shorten(&view.title),
            agent: row.agent,
            workspace: row.workspace,
            submitted_by: view.submitted_by.clone(),
            attempts: event.attempts,
            cost: row.cost,
            url: format!("{public_url}/tasks/{}", event.task_id),
        },
    }
}

fn shorten(text: &str) -> String {
    let text = sanitize_text(text);
    match text.char_indices().nth(MAX_TEXT_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// What happened, in a few words.
fn headline(message: &WebhookMessage) -> String {
    let state = message.data.state;
    match (message.event, message.data.outcome) {
        (WebhookEventType::TaskNeedsReview, _) => "Review required".to_owned(),
        (WebhookEventType::TaskDead, _) => "Task given up".to_owned(),
        (WebhookEventType::TaskFinished, Some(outcome)) if state != TaskState::Cancelled => {
            format!("Task finished: {}", outcome.as_str().replace('_', " "))
        }
        (WebhookEventType::TaskFinished, _) => format!("Task {}", state.as_str()),
    }
}

/// The description. A chat service refuses messages with an empty text, so a task without one is named by its id.
fn title(task: &WebhookTask) -> String {
    if task.description.trim().is_empty() {
        format!("Task {}", task.task_id)
    } else {
        task.description.clone()
    }
}

/// Attempts, cost, agent and so on, each with its name.
fn facts(task: &WebhookTask) -> Vec<(&'static str, String)> {
    let facts = [
        ("Attempts", Some(task.attempts.to_string())),
        ("Cost", Some(describe::cost(task.cost))),
        ("Agent", task.agent.clone()),
        ("Workspace", task.workspace.clone()),
        ("Submitted by", Some(task.submitted_by.clone())),
    ];
    let known = facts.into_iter();
    known
        .filter_map(|(name, value)| Some((name, shorten(&value?))))
        .collect()
}

fn slack(message: &WebhookMessage) -> Value {
    let task = &message.data;
    let plain = |text: &str| json!({"type": "plain_text", "text": text, "emoji": false});
    let headline = headline(message);
    let mut blocks = vec![
        json!({"type": "header", "text": plain(&headline)}),
        json!({
            "type": "section",
            "text": plain(&title(task)),
            "accessory": {"type": "button", "text": plain("Open"), "url": task.url, "action_id": "open"},
        }),
    ];
    if let Some(reason) = &task.reason {
        blocks.push(json!({"type": "section", "text": plain(reason)}));
    }
    let facts = facts(task).into_iter();
    let facts: Vec<Value> = facts
        .map(|(name, value)| plain(&format!("{name}: {value}")))
        .collect();
    blocks.push(json!({"type": "context", "elements": facts}));
    // For notifications; Slack reads it as markup.
    let text = format!("{headline}: {}", title(task));
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    json!({"text": text, "blocks": blocks})
}

fn teams(message: &WebhookMessage) -> Value {
    let task = &message.data;
    // Other blocks would interpret Markdown.
    let plain = |text: &str, weight: &str| json!({"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text, "weight": weight}]});
    let mut body = vec![
        plain(&headline(message), "Bolder"),
        plain(&title(task), "Default"),
    ];
    body.extend(
        task.reason
            .as_deref()
            .map(|reason| plain(reason, "Default")),
    );
    for (name, value) in facts(task) {
        body.push(plain(&format!("{name}: {value}"), "Lighter"));
    }
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "body": body,
                "actions": [{"type": "Action.OpenUrl", "title": "Open", "url": task.url}],
            },
        }],
    })
}
