//! Change notifications by server-sent events: for each topic (one task, or the list of all) a token that changes
//! whenever a page about it may have changed. The page then reloads itself; no content is sent here.
//!
//! One stream serves any number of topics, because a browser opens few connections to a server, and all of its
//! tabs share them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use super::SharedDashboard;
use super::auth::RequestSession;

/// The topic of pages about all tasks; every other topic is a task's id.
pub(super) const ALL_TASKS: &str = "all";
/// Maximum number of topics of one stream.
const MAX_TOPICS: usize = 100;
/// How often the change tokens are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval of keep-alive messages.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct EventsQuery {
    /// Topics, comma-separated; by default all tasks.
    topics: Option<String>,
}

/// `GET /events?topics=all,ID,ID`: events `pulse` with a topic, a space and its token.
pub(super) async fn stream_events(
    State(dashboard): State<SharedDashboard>,
    Extension(login): Extension<RequestSession>,
    Query(events_query): Query<EventsQuery>,
) -> Response {
    let topics = events_query.topics.unwrap_or_else(|| ALL_TASKS.to_owned());
    let watcher = TopicWatcher {
        dashboard,
        login,
        topics: topics
            .split(',')
            .take(MAX_TOPICS)
            .map(|name| (name.to_owned(), None))
            .collect(),
        changed: VecDeque::new(),
        has_polled: false,
    };
    let events = stream::unfold(watcher, async |mut watcher| {
        let event = watcher.next_event().await;
        Some((Ok::<_, Infallible>(event), watcher))
    });
    Sse::new(events)
        .keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL))
        .into_response()
}

struct TopicWatcher {
    dashboard: SharedDashboard,
    login: RequestSession,
    /// Topics with the last token that was sent.
    topics: Vec<(String, Option<String>)>,
    changed: VecDeque<Event>,
    has_polled: bool,
}

impl TopicWatcher {
    async fn next_event(&mut self) -> Event {
        loop {
            if let Some(event) = self.changed.pop_front() {
                return event;
            }
            if self.has_polled {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
            self.poll().await;
            self.has_polled = true;
        }
    }

    async fn poll(&mut self) {
        for (topic, last) in &mut self.topics {
            let task = Some(topic.as_str()).filter(|topic| *topic != ALL_TASKS);
            let user = &self.login.user;
            // A read error may be temporary; the connection stays open.
            let Ok(token) = self.dashboard.change_token(user, task).await else {
                continue;
            };
            if last.as_ref() != Some(&token) {
                let event = Event::default()
                    .event("pulse")
                    .retry(Duration::from_secs(1))
                    .data(format!("{topic} {token}"));
                self.changed.push_back(event);
                *last = Some(token);
            }
        }
    }
}
