//! Server-sent events of a task: the journal after the client's last event, the task's row whenever it changes, and the
//! live activity of its worker.
//!
//! A watcher reads the store at its own pace after a notification. A slow one misses only activity, and never
//! slows a worker down.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Path, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use selvedge_core::model::TaskId;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, timeout_at};

use crate::access::Caller;
use crate::hub::{Hub, HubActivity, WatchGuard};
use crate::problem::{ApiError, QueryParams};
use crate::service::{self, Actor};

/// How often a watcher polls for changes by another hub.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of journal events per read.
const PAGE_EVENTS: usize = 200;
/// Capacity of the buffer for a slow client.
const EVENT_BUFFER: usize = 64;

/// Where to resume, for clients that cannot set the header.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ResumeParams {
    after: Option<u64>,
}

pub(super) async fn stream(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    QueryParams(from): QueryParams<ResumeParams>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, ApiError> {
    let actor = Actor::from(caller);
    let (view, _) = service::find(&hub, &actor, &task).await?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = last
        .and_then(|id| id.parse().ok())
        .or(from.after)
        .unwrap_or(0);
    let (events, waiting) = mpsc::channel(EVENT_BUFFER);
    let watch = TaskWatcher {
        activity: hub.watch(),
        _watched: hub.watch_guard(view.row.task_id),
        hub,
        actor,
        task: view.row.task_id,
        after,
        last_state: None,
        events,
    };
    tokio::spawn(watch.run());
    let stream = futures_util::stream::unfold(waiting, |mut waiting| async {
        let event = waiting.recv().await?;
        Some((Ok(event), waiting))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

struct TaskWatcher {
    hub: Arc<Hub>,
    actor: Actor,
    task: TaskId,
    after: u64,
    last_state: Option<String>,
    activity: broadcast::Receiver<HubActivity>,
    events: mpsc::Sender<Event>,
    _watched: WatchGuard,
}

/// The client has gone, or there are no more events.
struct EventStreamEnd;

impl TaskWatcher {
    async fn run(mut self) {
        while self.send_new_events().await.is_ok() && self.wait_for_change().await.is_ok() {}
    }

    async fn send(&self, event: Event) -> Result<(), EventStreamEnd> {
        self.events.send(event).await.map_err(|_| EventStreamEnd)
    }

    /// Sends everything new from the store. Ends once the task is finished.
    async fn send_new_events(&mut self) -> Result<(), EventStreamEnd> {
        let row = service::show(&self.hub, &self.actor, &self.task.to_string()).await;
        let row = row.map_err(|_| EventStreamEnd)?;
        while self.after < row.last_event_seq {
            let lines = self
                .hub
                .store
                .journal(self.task, self.after, PAGE_EVENTS)
                .await;
            let lines = lines.map_err(|_| EventStreamEnd)?;
            // Expired lines are gone.
            let Some(last) = lines.last() else { break };
            self.after = last.seq;
            for line in &lines {
                let event = Event::default().event("journal").id(line.seq.to_string());
                self.send(event.data(&line.event)).await?;
            }
        }
        let data = serde_json::to_string(&row).map_err(|_| EventStreamEnd)?;
        if self.last_state.as_ref() != Some(&data) {
            let event = Event::default().event("state").data(&data);
            self.send(event).await?;
            self.last_state = Some(data);
        }
        if row.state.is_terminal() {
            return Err(EventStreamEnd);
        }
        Ok(())
    }

    /// Waits for a change of this task and forwards its worker's activity meanwhile.
    async fn wait_for_change(&mut self) -> Result<(), EventStreamEnd> {
        let until = Instant::now() + POLL_INTERVAL;
        loop {
            match timeout_at(until, self.activity.recv()).await {
                Ok(Ok(HubActivity::Changed(task))) if task == self.task => return Ok(()),
                Ok(Ok(HubActivity::Progress(task, events))) if task == self.task => {
                    for event in events.iter() {
                        let data = serde_json::to_string(event).map_err(|_| EventStreamEnd)?;
                        // A slow client misses this activity, but no journal event.
                        let event = Event::default().event("activity").data(data);
                        if let Err(mpsc::error::TrySendError::Closed(_)) =
                            self.events.try_send(event)
                        {
                            return Err(EventStreamEnd);
                        }
                    }
                }
                Ok(Ok(_)) => {}
                Ok(Err(RecvError::Lagged(_))) | Err(_) => {
                    return if self.events.is_closed() {
                        Err(EventStreamEnd)
                    } else {
                        Ok(())
                    };
                }
                Ok(Err(RecvError::Closed)) => return Err(EventStreamEnd),
            }
        }
    }
}
