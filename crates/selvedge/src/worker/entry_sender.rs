//! Sends a lease's entries to the hub in their order, their files first, and again from where the hub
//! stands whenever the connection is a new one.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::protocol::FileRef;
use selvedge_store::{OutboxEntry, fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connection::HubConnection;
use super::lease::WorkerLease;
use super::outbox::{AsyncOutbox, OutboxError};
use crate::hub_client::HubClient;

/// Entries that may be on their way.
pub(super) const SEND_WINDOW: u64 = 64;
/// Entries read at once.
const ENTRIES_PER_READ: usize = 16;
/// How long an upload that failed waits before it is tried again.
const UPLOAD_RETRY_DELAY: Duration = Duration::from_millis(500);

/// A file to be uploaded before its entry.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Upload {
    pub(super) path: PathBuf,
    pub(super) file: FileRef,
}

/// What sends.
#[derive(Debug, Clone)]
pub(super) struct EntrySender {
    pub(super) hub: HubClient,
    pub(super) connection: HubConnection,
    pub(super) outbox: AsyncOutbox,
    pub(super) lease: Arc<WorkerLease>,
}

impl EntrySender {
    /// Sends until the lease is over; then what is left is sent once more, as late evidence.
    /// An outbox that cannot be used now, for its disk is full, is tried again: nothing else would send.
    pub(super) async fn run(self) {
        let mut watch = self.lease.subscribe();
        let (mut connection, mut again, mut next, mut forgotten) = (0, 0, 1, 0);
        loop {
            let standing = watch.borrow_and_update().clone();
            if standing.lost_reason.is_some() {
                // Evidence: what cannot be read now is left unsaid.
                let _ = self.send_late_entries(standing.next_seq).await;
                return;
            }
            if standing.next_seq > forgotten + 1 {
                let (key, seq) = (self.lease.key(), standing.next_seq - 1);
                let gone = self
                    .outbox
                    .with(move |it| it.mark_acknowledged(key, seq))
                    .await;
                // What stays is sent to nobody, and goes with the next one.
                forgotten = if gone.is_ok() { seq } else { forgotten };
            }
            if standing.connection != connection || standing.resend_count != again {
                (connection, again) = (standing.connection, standing.resend_count);
                next = standing.next_seq;
            }
            next = next.max(standing.next_seq);
            if connection > 0 && standing.accepted && next < standing.next_seq + SEND_WINDOW {
                let (key, from) = (self.lease.key(), next);
                let page = self
                    .outbox
                    .with(move |it| it.entries(key, from, ENTRIES_PER_READ))
                    .await;
                let Ok(page) = page else {
                    tokio::time::sleep(UPLOAD_RETRY_DELAY).await;
                    continue;
                };
                if !page.is_empty() {
                    for entry in page {
                        let seq = entry.seq;
                        if !self.send_entry(connection, entry).await {
                            break;
                        }
                        next = seq + 1;
                    }
                    continue;
                }
            }
            tokio::select! {
                changed = watch.changed() => if changed.is_err() { return },
                () = self.lease.entry_written.notified() => {}
            }
        }
    }

    /// `false` when its files could not be sent now.
    async fn send_entry(&self, connection: u64, entry: OutboxEntry) -> bool {
        let uploads: Vec<Upload> = serde_json::from_str(&entry.files).unwrap_or_default();
        let mut message = entry.message;
        for upload in uploads {
            match self.hub.upload(&upload.path, &upload.file).await {
                Ok(()) => fault::failpoint("worker.file.uploaded"),
                Err(error) if error.is_retryable() => {
                    tokio::time::sleep(UPLOAD_RETRY_DELAY).await;
                    return false;
                }
                // A file that is gone, or that the hub will not have, cannot be waited for. What was found out
                // counts without it.
                Err(error) => {
                    let (task, name) = (self.lease.key().task_id.short(), &upload.file.name);
                    crate::worker::log_line(&format!("task {task}: {name} is not kept: {error}"));
                    message = remove_file_entry(&message, &upload.file);
                }
            }
        }
        self.connection.send_text(connection, message).await;
        fault::failpoint("worker.entry.sent");
        true
    }

    /// What a lease that is over had left to say: what it cost still counts.
    async fn send_late_entries(&self, from: u64) -> Result<(), OutboxError> {
        let key = self.lease.key();
        let page = self
            .outbox
            .with(move |it| it.entries(key, from, 4 * ENTRIES_PER_READ))
            .await?;
        let connection = self.lease.current_status().connection;
        if connection > 0 {
            for entry in page {
                self.connection.send_text(connection, entry.message).await;
            }
        }
        Ok(())
    }
}

/// An entry that names one file less; the hub takes none that names what it does not have.
fn remove_file_entry(message: &str, file: &FileRef) -> String {
    let Ok(mut entry) = serde_json::from_str::<Value>(message) else {
        return message.to_owned();
    };
    if let Some(files) = entry.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|named| named.get("name").and_then(Value::as_str) != Some(&file.name));
    }
    entry.to_string()
}
