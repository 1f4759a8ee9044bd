//! News by server-sent events: a word that is another one once anything on the page may have changed.
//! The page then fetches itself anew; nothing of it travels here.

use std::convert::Infallible;
use std::time::Duration;

use axum::Extension;
use axum::extract::{Query, State};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use serde::Deserialize;

use super::Shared;
use super::door::Inside;

/// How often it is looked at.
const EVERY: Duration = Duration::from_millis(500);
/// After how long without news the line is shown to be alive.
const ALIVE: Duration = Duration::from_secs(15);

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct About {
    task: Option<String>,
}

/// `GET /events?task=ID`.
pub(super) async fn events(
    State(face): State<Shared>,
    Extension(inside): Extension<Inside>,
    Query(about): Query<About>,
) -> Response {
    let state = (face, inside, about.task, None::<String>);
    let news = stream::unfold(state, async |(face, inside, task, last)| {
        loop {
            if last.is_some() {
                tokio::time::sleep(EVERY).await;
            }
            let asked = face.reading.pulse(&inside.visitor, task.as_deref()).await;
            // What cannot be read now may be read later; the browser keeps the line.
            let Ok(pulse) = asked else {
                tokio::time::sleep(EVERY).await;
                continue;
            };
            if last.as_ref() != Some(&pulse) {
                let event = Event::default()
                    .event("pulse")
                    .retry(Duration::from_secs(1))
                    .data(pulse.clone());
                let state = (face, inside, task, Some(pulse));
                return Some((Ok::<_, Infallible>(event), state));
            }
        }
    });
    Sse::new(news)
        .keep_alive(KeepAlive::new().interval(ALIVE))
        .into_response()
}
