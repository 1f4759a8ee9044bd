//! `selvedge webhooks`: creates, lists and removes a hub's webhooks, and shows the log of their deliveries.

use selvedge_core::model::exit_code;
use selvedge_protocol::{
    DeliveryPage, DeliveryRow, DeliveryState, IssuedWebhook, WebhookEventType, WebhookFormat,
    WebhookPage, WebhookRequest, WebhookRow,
};

use super::{check_id, print_rows};
use crate::cli::{WebhookEventArg, WebhookFormatArg, WebhooksArgs, WebhooksCommand};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json};
use crate::streams::output_failed;
use crate::terminal::{one_line, style};

pub(super) async fn webhooks(hub: &HubClient, args: &WebhooksArgs) -> Result<u8, CliError> {
    match &args.command {
        None => list(hub, args.format).await?,
        Some(WebhooksCommand::Add {
            name,
            url,
            events,
            body,
        }) => {
            let request = WebhookRequest {
                name: name.clone(),
                url: url.clone(),
                events: events.iter().map(|event| event_type(*event)).collect(),
                format: format(*body),
            };
            let issued: IssuedWebhook = hub.post("/webhooks", &request, &[]).await?;
            print_secret(&issued, args.format)?;
        }
        Some(WebhooksCommand::Remove { id }) => {
            check_id("webhook", id, "selvedge webhooks")?;
            hub.delete(&format!("/webhooks/{id}")).await?;
            if args.format == OutputFormat::Human {
                outln!("removed: {id}");
            }
        }
        Some(WebhooksCommand::Deliveries { id, limit }) => {
            check_id("webhook", id, "selvedge webhooks")?;
            let path = format!("/webhooks/{id}/deliveries");
            let query = [("limit", limit.to_string())];
            let page: DeliveryPage = hub.get(&path, &query).await?;
            print_rows(&page.deliveries, args.format, delivery_line);
        }
    }
    Ok(exit_code::VERIFIED)
}

async fn list(hub: &HubClient, format: OutputFormat) -> Result<(), CliError> {
    let page: WebhookPage = hub.get("/webhooks", &[]).await?;
    print_rows(&page.webhooks, format, webhook_line);
    Ok(())
}

fn webhook_line(row: &WebhookRow) -> String {
    let events: Vec<&str> = row.events.iter().map(|event| event.as_str()).collect();
    let events = if events.is_empty() {
        "all events".to_owned()
    } else {
        events.join(",")
    };
    format!(
        "{}  {:<24}  {:<5}  {}  {}",
        style::strong(&row.id),
        one_line(&row.name, 24),
        row.format.as_str(),
        one_line(&row.url, 120),
        style::dim(events),
    )
}

fn delivery_line(row: &DeliveryRow) -> String {
    let state = match row.state {
        DeliveryState::Pending => "pending".to_owned(),
        DeliveryState::Delivered => style::good("delivered"),
        DeliveryState::Failed => style::bad("failed"),
    };
    let last = row
        .tries
        .last()
        .map(|tried| match (tried.status, &tried.error) {
            (Some(status), _) => format!("status {status}"),
            (None, error) => one_line(error.as_deref().unwrap_or("no response"), 100),
        });
    let mut details = vec![selvedge_core::format::counted(
        u64::try_from(row.tries.len()).unwrap_or(u64::MAX),
        "request",
    )];
    details.extend(last);
    details.extend(
        row.next_try_at
            .map(|at| format!("next at {}", at.strftime("%Y-%m-%d %H:%M:%S"))),
    );
    format!(
        "{}  {}  {:<17}  {}  {state}  {}",
        style::strong(&row.id),
        row.at.strftime("%Y-%m-%d %H:%M:%S"),
        row.event.as_str(),
        row.task_id,
        style::dim(details.join(", ")),
    )
}

fn print_secret(issued: &IssuedWebhook, format: OutputFormat) -> Result<(), CliError> {
    match format {
        OutputFormat::Human => outln!("{}", issued.secret),
        OutputFormat::Json | OutputFormat::Jsonl => json::print_json(issued),
    }
    if output_failed() {
        let id = &issued.row.id;
        let message = "the webhook was created but its secret could not be printed";
        return Err(CliError::infrastructure(message).hint(format!(
            "remove it (selvedge webhooks remove {id}), then create it again"
        )));
    }
    Ok(())
}

const fn event_type(event: WebhookEventArg) -> WebhookEventType {
    match event {
        WebhookEventArg::Finished => WebhookEventType::TaskFinished,
        WebhookEventArg::NeedsReview => WebhookEventType::TaskNeedsReview,
        WebhookEventArg::Dead => WebhookEventType::TaskDead,
    }
}

const fn format(format: WebhookFormatArg) -> WebhookFormat {
    match format {
        WebhookFormatArg::Json => WebhookFormat::Json,
        WebhookFormatArg::Slack => WebhookFormat::Slack,
        WebhookFormatArg::Teams => WebhookFormat::Teams,
    }
}
