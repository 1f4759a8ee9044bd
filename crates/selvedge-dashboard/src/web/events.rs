//! Change notifications by server-sent events: a token that changes whenever the page may have changed. The
//! page then reloads itself; no content is sent here.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use super::SharedDashboard;
use super::auth::LoginSession;

/// How often the change token is polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of keep-alive messages.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventsQuery {
    task: Option<String>,
}

/// `GET /events?task=ID`.
pub(super) async fn stream_events(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<LoginSession>,
    Query(events_query): Query<EventsQuery>,
) -> Response {
    let state = (dashboard, login, events_query.task, None::<String>);
    let events = stream::unfold(state, async |(dashboard, login, task, last)| {
        loop {
            if last.is_some() {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            let token_result = dashboard
                .backend
                .change_token(&login.user, task.as_deref())
                .await;
            // A read error may be temporary; the connection stays open.
            let Ok(token) = token_result else {
                tokio::time::sleep(POLL_INTERVAL).await;
                continue;
            };
            if last.as_ref() != Some(&token) {
                let event = Event::default()
                    .event("pulse")
                    .retry(Duration::from_secs(1))
                    .data(token.clone());
                let state = (dashboard, login, task, Some(token));
                return Some((Ok::<_, Infallible>(event), state));
            }
        }
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
        .into_response()
}
