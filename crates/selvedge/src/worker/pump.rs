//! Sends a lease's entries to the hub in their order, their files first, and again from where the hub
//! stands whenever the connection is a new one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::fleet::FileRef;
use selvedge_store::{OutboxEntry, fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::desk::{Desk, DeskError};
use super::lane::Lane;
use super::link::Link;
use crate::fleet::Hub;

/// Entries that may be on their way.
pub(super) const WINDOW: u64 = 64;
/// Entries read at once.
const PAGE: usize = 16;
/// How long an upload that failed waits before it is tried again.
const PAUSE: Duration = Duration::from_millis(500);

/// A file to be uploaded before its entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Upload {
    pub(super) path: PathBuf,
    pub(super) file: FileRef,
}

/// What sends.
#[derive(Debug, Clone)]
pub(super) struct Pump {
    pub(super) hub: Hub,
    pub(super) link: Link,
    pub(super) desk: Desk,
    pub(super) lane: Arc<Lane>,
}

impl Pump {
    /// Sends until the lease is over; then what is left is sent once more, as late evidence.
    /// An outbox that cannot be used now, for its disk is full, is tried again: nothing else would send.
    pub(super) async fn run(self) {
        let mut watch = self.lane.watch();
        let (mut connection, mut again, mut next, mut forgotten) = (0, 0, 1, 0);
        loop {
            let standing = watch.borrow_and_update().clone();
            if standing.lost.is_some() {
                // Evidence: what cannot be read now is left unsaid.
                let _ = self.late(standing.next_seq).await;
                return;
            }
            if standing.next_seq > forgotten + 1 {
                let (key, seq) = (self.lane.key(), standing.next_seq - 1);
                let gone = self.desk.with(move |it| it.acknowledged(key, seq)).await;
                // What stays is sent to nobody, and goes with the next one.
                forgotten = if gone.is_ok() { seq } else { forgotten };
            }
            if standing.connection != connection || standing.again != again {
                (connection, again) = (standing.connection, standing.again);
                next = standing.next_seq;
            }
            next = next.max(standing.next_seq);
            if connection > 0 && standing.accepted && next < standing.next_seq + WINDOW {
                let (key, from) = (self.lane.key(), next);
                let page = self.desk.with(move |it| it.entries(key, from, PAGE)).await;
                let Ok(page) = page else {
                    tokio::time::sleep(PAUSE).await;
                    continue;
                };
                if !page.is_empty() {
                    for entry in page {
                        let seq = entry.seq;
                        if !self.send(connection, entry).await {
                            break;
                        }
                        next = seq + 1;
                    }
                    continue;
                }
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return },
                () = self.lane.written.notified() => {}
            }
        }
    }

    /// `false` when its files could not be sent now.
    async fn send(&self, connection: u64, entry: OutboxEntry) -> bool {
        let uploads: Vec<Upload> = serde_json::from_str(&entry.files).unwrap_or_default();
        let mut message = entry.message;
        for upload in uploads {
            match self.hub.upload(&upload.path, &upload.file).await {
                Ok(()) => fault::reached("worker.file.uploaded"),
                Err(error) if error.passes() => {
                    tokio::time::sleep(PAUSE).await;
                    return false;
                }
                // A file that is gone, or that the hub will not have, cannot be waited for. What was found out
                // counts without it.
                Err(error) => {
                    let (task, name) = (self.lane.key().task_id.short(), &upload.file.name);
                    crate::worker::say(&format!("task {task}: {name} is not kept: {error}"));
                    message = without(&message, &upload.file);
                }
            }
        }
        self.link.send_text(connection, message).await;
        fault::reached("worker.entry.sent");
        true
    }

    /// What a lease that is over had left to say: what it cost still counts.
    async fn late(&self, from: u64) -> Result<(), DeskError> {
        let key = self.lane.key();
        let page = self
            .desk
            .with(move |it| it.entries(key, from, 4 * PAGE))
            .await?;
        let connection = self.lane.standing().connection;
        if connection > 0 {
            for entry in page {
                self.link.send_text(connection, entry.message).await;
            }
        }
        Ok(())
    }
}

/// An entry that names one file less; the hub takes none that names what it does not have.
fn without(message: &str, file: &FileRef) -> String {
    let Ok(mut entry) = serde_json::from_str::<Value>(message) else {
        return message.to_owned();
    };
    if let Some(files) = entry.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|named| named.get("name").and_then(Value::as_str) != Some(&file.name));
    }
    entry.to_string()
}
