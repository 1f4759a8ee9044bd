//! Sends events to webhooks: the store has a delivery for each event and receiver, and a hub that claims one tries
//! to send it. A failed delivery is tried again with growing pauses, by any hub.

mod message;
mod network;
mod signature;

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};
use selvedge_store::hub::{ClaimedDelivery, DeliveryFollowUp, DeliveryResult, ReceiverAnswer};
use tokio::task::JoinSet;
use tokio::time::sleep;

use self::network::CheckedResolver;
use crate::hub::Hub;

pub(crate) use self::network::parse_url;
pub(crate) use self::signature::{SECRET_BYTES, secret_text};

/// How often the store is asked for deliveries that are due.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of concurrent requests.
const MAX_CONCURRENT: usize = 32;
/// How long a receiver may take to respond. The body of its response is not read.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a claim lasts: much longer than a try.
const CLAIM: Duration = Duration::from_mins(1);
/// Maximum number of tries. With the default pauses, they take about a day.
const MAX_TRIES: u32 = 10;
/// Maximum pause between two tries.
const MAX_PAUSE: Duration = Duration::from_hours(8);
/// Factor by which each pause is longer than the previous one.
const PAUSE_FACTOR: u32 = 4;

/// Sends deliveries for as long as the hub lives.
pub(crate) async fn run(hub: Arc<Hub>) {
    let client = match build_client(hub.settings.webhooks_allow_private) {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "cannot send webhooks");
            return;
        }
    };
    let mut requests = JoinSet::new();
    loop {
        while requests.try_join_next().is_some() {}
        let free = MAX_CONCURRENT - requests.len();
        if free == 0 {
            requests.join_next().await;
            continue;
        }
        let claim_ms = i64::try_from(CLAIM.as_millis()).unwrap_or(i64::MAX);
        let claimed = hub.store.claim_deliveries(claim_ms, free).await;
        let claimed = claimed.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot read webhook deliveries");
            Vec::new()
        });
        if claimed.is_empty() {
            // A webhook whose requests are all open gets the next one when one of them has ended.
            let poll = sleep(POLL_INTERVAL.min(hub.settings.webhook_retry));
            tokio::select! {
                () = poll => {}
                Some(_) = requests.join_next() => {}
            }
        }
        for delivery in claimed {
            requests.spawn(deliver(Arc::clone(&hub), client.clone(), delivery));
        }
    }
}

fn build_client(allow_private: bool) -> Result<Client, reqwest::Error> {
    // Only the first call has an effect.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(RESPONSE_TIMEOUT)
        // A proxy or a redirect could send a request to a host that was not checked.
        .redirect(Policy::none())
        .no_proxy()
        .dns_resolver(CheckedResolver { allow_private })
        .build()
}

/// Tries a delivery once and records the result.
async fn deliver(hub: Arc<Hub>, client: Client, delivery: ClaimedDelivery) {
    let begun = Instant::now();
    let sent = send(&hub, &client, &delivery).await;
    let (status, error) = match sent {
        Ok(status) => (Some(status), None),
        Err(error) => (None, Some(error)),
    };
    let is_accepted = status.is_some_and(|status| status.is_success());
    let after = if is_accepted {
        DeliveryFollowUp::Delivered
    } else if delivery.try_number >= MAX_TRIES || status == Some(StatusCode::GONE) {
        DeliveryFollowUp::Failed
    } else {
        let pause = pause_after(delivery.try_number, hub.settings.webhook_retry);
        DeliveryFollowUp::Retry(jittered_ms(pause, fastrand::f64()))
    };
    if !is_accepted {
        let (id, error) = (&delivery.message_id, error.as_deref());
        let status = status.map(|status| status.as_u16());
        tracing::warn!(%id, ?status, ?error, ?after, "a webhook was not accepted");
    }
    let result = DeliveryResult {
        number: delivery.number,
        try_number: delivery.try_number,
        answer: ReceiverAnswer {
            status: status.map(|status| status.as_u16()),
            error,
            duration_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
        after,
    };
    // Otherwise it is sent again when the claim ends; the receiver knows the message by its id.
    if let Err(error) = hub.store.record_try(result).await {
        tracing::error!(%error, "cannot record a webhook delivery");
    }
}

async fn send(
    hub: &Hub,
    client: &Client,
    delivery: &ClaimedDelivery,
) -> Result<StatusCode, String> {
    let found = hub.store.task(delivery.event.task_id).await;
    let (view, _) = found
        .map_err(|error| error.to_string())?
        .ok_or("the task does not exist")?;
    let body = message::body(delivery, &view, &hub.settings.public_url());
    // The setting may have changed since the webhook was created.
    let url: Url = parse_url(&delivery.url, hub.settings.webhooks_allow_private)
        .map_err(|error| error.to_string())?;
    let now = hub.store.now().await.map_err(|error| error.to_string())?;
    let seconds = now / 1_000;
    let signature = signature::sign(&delivery.secret, &delivery.message_id, seconds, &body)?;
    let request = client
        .post(url)
        .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
        .header(
            USER_AGENT,
            HeaderValue::from_static(concat!("selvedge/", env!("CARGO_PKG_VERSION"))),
        )
        .header("webhook-id", &delivery.message_id)
        .header("webhook-timestamp", seconds)
        .header("webhook-signature", signature)
        .body(body);
    match request.send().await {
        Ok(response) => Ok(response.status()),
        Err(error) => Err(describe(&error)),
    }
}

/// An error with its causes, without the URL, which may be a secret.
fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "no response in time".to_owned()
    } else if error.is_connect() {
        "cannot connect".to_owned()
    } else {
        "the request failed".to_owned()
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text.chars().take(500).collect()
}

/// The pause after a failed try, growing up to its maximum.
fn pause_after(try_number: u32, first: Duration) -> Duration {
    let factor = PAUSE_FACTOR.saturating_pow(try_number.saturating_sub(1));
    first.saturating_mul(factor).min(MAX_PAUSE)
}

/// A pause that is up to 20 % shorter or longer, by a random number from 0 to 1, so that deliveries that failed
/// together are not tried again together.
#[expect(
    clippy::cast_possible_truncation,
    reason = "the pause is at most a few hours"
)]
fn jittered_ms(pause: Duration, random: f64) -> i64 {
    (pause.mul_f64(0.8 + 0.4 * random).as_millis()) as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_up_to_a_maximum_with_jitter() {
        let first = Duration::from_secs(5);
        assert_eq!(pause_after(1, first), first);
        assert_eq!(pause_after(3, first), first * 16);
        assert_eq!(pause_after(100, first), MAX_PAUSE);
        let total: Duration = (1..MAX_TRIES).map(|it| pause_after(it, first)).sum();
        assert!(total > Duration::from_hours(20), "{total:?}");
        assert_eq!(jittered_ms(first, 0.0), 4_000);
        assert_eq!(jittered_ms(first, 1.0), 6_000);
    }
}
