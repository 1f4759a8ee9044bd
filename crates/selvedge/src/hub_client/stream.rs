//! A task's server-sent events: journal events, activities and state changes as they happen. A broken stream can be
//! resumed after the last event received.

use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderName};
use reqwest::{Method, Response};
use selvedge_core::model::{Envelope, TaskId};
use selvedge_protocol::{ProgressEvent, TaskRow};

use tokio::time::timeout;

use super::error::HubError;
use super::http::HubClient;

/// Size limit for one server-sent event.
const MAX_EVENT_BYTES: usize = 64 * 1024 * 1024;

/// How long a stream may be silent.
const SILENCE_TIMEOUT: Duration = Duration::from_mins(1);

/// An item of a task's stream.
#[derive(Debug)]
pub(crate) enum TaskStreamEvent {
    /// A new event of the journal.
    Event(Box<Envelope>),
    Activity(ProgressEvent),
    /// The task's state changed.
    State(Box<TaskRow>),
}

pub(crate) struct TaskStream {
    response: Response,
    pending: Vec<u8>,
    scanned: usize,
}

impl HubClient {
    /// Streams a task from the event after `after`.
    pub(crate) async fn stream_task(
        &self,
        task: TaskId,
        after: u64,
    ) -> Result<TaskStream, HubError> {
        let request = self
            .request(Method::GET, &format!("/tasks/{task}/events"), &[])
            .header(ACCEPT, "text/event-stream")
            .header(HeaderName::from_static("last-event-id"), after.to_string());
        Ok(TaskStream {
            response: self.send(request).await?,
            pending: Vec::new(),
            scanned: 0,
        })
    }
}

impl TaskStream {
    /// The next item; `None` if the stream ended or broke.
    pub(crate) async fn next(&mut self) -> Result<Option<TaskStreamEvent>, HubError> {
        loop {
            while let Some(block) = self.take_block() {
                if let Some(frame) = parse_block(&block)? {
                    return Ok(Some(frame));
                }
            }
            // The hub sends a comment every 15 seconds: a silent connection is broken.
            let Ok(chunk) = timeout(SILENCE_TIMEOUT, self.response.chunk()).await else {
                return Ok(None);
            };
            match chunk {
                Ok(Some(chunk)) if self.pending.len() + chunk.len() <= MAX_EVENT_BYTES => {
                    self.pending.extend_from_slice(&chunk);
                }
                Ok(Some(_)) => {
                    return Err(HubError::InvalidResponse(
                        "event larger than 64 MiB".to_owned(),
                    ));
                }
                Ok(None) | Err(_) => return Ok(None),
            }
        }
    }

    /// Removes the next complete block from the buffer, up to and including its blank line.
    fn take_block(&mut self) -> Option<Vec<u8>> {
        let from = self.scanned.saturating_sub(1);
        let boundary = self.pending[from..]
            .windows(2)
            .position(|two| two == b"\n\n");
        let Some(at) = boundary else {
            self.scanned = self.pending.len();
            return None;
        };
        let rest = self.pending.split_off(from + at + 2);
        self.scanned = 0;
        Some(std::mem::replace(&mut self.pending, rest))
    }
}

/// Parses one block; `None` for a comment or an unknown kind.
fn parse_block(block: &[u8]) -> Result<Option<TaskStreamEvent>, HubError> {
    let text = String::from_utf8_lossy(block);
    let (mut kind, mut data) = ("", String::new());
    for line in text.lines() {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => kind = value,
            "data" => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data += value;
            }
            _ => {}
        }
    }
    let invalid_response = |error: serde_json::Error| HubError::InvalidResponse(error.to_string());
    Ok(match kind {
        "journal" => Some(TaskStreamEvent::Event(
            serde_json::from_str(&data).map_err(invalid_response)?,
        )),
        "activity" => serde_json::from_str(&data)
            .ok()
            .map(TaskStreamEvent::Activity),
        "state" => Some(TaskStreamEvent::State(
            serde_json::from_str(&data).map_err(invalid_response)?,
        )),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_stream_reads_known_blocks_only() {
        let token = b"event: activity\ndata: {\"event_type\":\"token\",\"text\":\"hm\"}\n\n";
        assert!(matches!(
            parse_block(token).unwrap(),
            Some(TaskStreamEvent::Activity(ProgressEvent::Token { text })) if text == "hm"
        ));
        assert!(parse_block(b": still there\n\n").unwrap().is_none());
        assert!(parse_block(b"event: hub\ndata: {}\n\n").unwrap().is_none());
        assert!(parse_block(b"event: journal\ndata: {\n\n").is_err());
    }
}
