//! What happens in a task, as server-sent events: the journal from where the client left off, the
//! task's row whenever it changes, and what its worker tells meanwhile.
//!
//! A watcher reads the store at its own pace, and is told that there is something to read; one that
//! is slow misses activity and nothing else, and never holds a worker up.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Extension, Path, Query, State};
use axum::http::HeaderMap;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::Stream;
use selvedge_core::model::TaskId;
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc};
use tokio::time::{Instant, timeout_at};

use super::tasks::{find, shown};
use crate::access::Caller;
use crate::hub::{Activity, Hub, Watched};
use crate::problem::Refused;

/// How long a watcher waits before it looks for what another hub may have written.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Journal events at a time.
const PAGE: usize = 200;
/// Events that wait for a slow reader.
const WAITING: usize = 64;

/// Where to go on, for clients that cannot set the header.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    after: Option<u64>,
}

pub(super) async fn stream(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    Path(task): Path<String>,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Refused> {
    let (view, _) = find(&hub, &caller, &task).await?;
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let after = last
        .and_then(|id| id.parse().ok())
        .or(from.after)
        .unwrap_or(0);
    let (events, waiting) = mpsc::channel(WAITING);
    let watch = Watch {
        activity: hub.watch(),
        _watched: hub.watching(view.row.task_id),
        hub,
        caller,
        task: view.row.task_id,
        after,
        shown: None,
        events,
    };
    tokio::spawn(watch.run());
    let stream = futures_util::stream::unfold(waiting, |mut waiting| async {
        let event = waiting.recv().await?;
        Some((Ok(event), waiting))
    });
    Ok(Sse::new(stream).keep_alive(KeepAlive::default()))
}

struct Watch {
    hub: Arc<Hub>,
    caller: Caller,
    task: TaskId,
    after: u64,
    shown: Option<String>,
    activity: broadcast::Receiver<Activity>,
    events: mpsc::Sender<Event>,
    _watched: Watched,
}

/// The reader has gone, or there is nothing more to come.
struct Over;

impl Watch {
    async fn run(mut self) {
        while self.look().await.is_ok() && self.wait().await.is_ok() {}
    }

    async fn send(&self, event: Event) -> Result<(), Over> {
        self.events.send(event).await.map_err(|_| Over)
    }

    /// Sends what the store has that was not sent yet. Over once the task is.
    async fn look(&mut self) -> Result<(), Over> {
        let row = shown(&self.hub, &self.caller, &self.task.to_string()).await;
        let row = row.map_err(|_| Over)?;
        while self.after < row.last_event_seq {
            let lines = self.hub.store.journal(self.task, self.after, PAGE).await;
            let lines = lines.map_err(|_| Over)?;
            // What is past its time is gone.
            let Some(last) = lines.last() else { break };
            self.after = last.seq;
            for line in &lines {
                let event = Event::default().event("journal").id(line.seq.to_string());
                self.send(event.data(&line.event)).await?;
            }
        }
        let data = serde_json::to_string(&row).map_err(|_| Over)?;
        if self.shown.as_ref() != Some(&data) {
            let event = Event::default().event("state").data(&data);
            self.send(event).await?;
            self.shown = Some(data);
        }
        if row.state.is_terminal() {
            return Err(Over);
        }
        Ok(())
    }

    /// Waits for a change of this task, passing on what its worker tells.
    async fn wait(&mut self) -> Result<(), Over> {
        let until = Instant::now() + LOOK_EVERY;
        loop {
            match timeout_at(until, self.activity.recv()).await {
                Ok(Ok(Activity::Changed(task))) if task == self.task => return Ok(()),
                Ok(Ok(Activity::Progress(task, events))) if task == self.task => {
                    for event in events.iter() {
                        let data = serde_json::to_string(event).map_err(|_| Over)?;
                        // Whoever is slow misses this, and nothing that counts.
                        let event = Event::default().event("activity").data(data);
                        if let Err(mpsc::error::TrySendError::Closed(_)) =
                            self.events.try_send(event)
                        {
                            return Err(Over);
                        }
                    }
                }
                Ok(Ok(_)) => {}
                Ok(Err(RecvError::Lagged(_))) | Err(_) => {
                    return if self.events.is_closed() {
                        Err(Over)
                    } else {
                        Ok(())
                    };
                }
                Ok(Err(RecvError::Closed)) => return Err(Over),
            }
        }
    }
}
