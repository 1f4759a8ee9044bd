//! Sends a lease's entries to the hub in order, each after its files. After a reconnection, continues with the first
//! entry that the hub does not have.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use selvedge_protocol::FileRef;
use selvedge_store::{OutboxEntry, fault};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::connection::HubConnection;
use super::lease::WorkerLease;
use super::outbox::{AsyncOutbox, OutboxError};
use crate::hub_client::HubClient;

/// Limit for unacknowledged entries.
pub(super) const SEND_WINDOW: u64 = 64;
/// Entries read at once.
const ENTRIES_PER_READ: usize = 16;
/// Delay before a failed upload or read is repeated.
const UPLOAD_RETRY_DELAY: Duration = Duration::from_millis(500);

/// A file that must be uploaded before its entry is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Upload {
    pub(super) path: PathBuf,
    pub(super) file: FileRef,
}

#[derive(Debug, Clone)]
pub(super) struct EntrySender {
    pub(super) hub: HubClient,
    pub(super) connection: HubConnection,
    pub(super) outbox: AsyncOutbox,
    pub(super) lease: Arc<WorkerLease>,
}

impl EntrySender {
    /// Sends entries until the lease is over; then sends the remaining ones once more as late evidence. An outbox that
    /// cannot be read now, for example because the disk is full, is tried again: nothing else sends its entries.
    pub(super) async fn run(self) {
        let mut watch = self.lease.subscribe();
        let (mut connection, mut resend_count, mut next, mut removed_up_to) = (0, 0, 1, 0);
        loop {
            let status = watch.borrow_and_update().clone();
            if status.lost_reason.is_some() {
                // Late evidence is optional, so errors are ignored.
                let _ = self.send_late_entries(status.next_seq).await;
                return;
            }
            if status.next_seq > removed_up_to + 1 {
                let (key, seq) = (self.lease.key(), status.next_seq - 1);
                let removed = self
                    .outbox
                    .with(move |it| it.mark_acknowledged(key, seq))
                    .await;
                // Rows that could not be removed are not sent again, and are removed with the next ones.
                removed_up_to = if removed.is_ok() { seq } else { removed_up_to };
            }
            if status.connection != connection || status.resend_count != resend_count {
                (connection, resend_count) = (status.connection, status.resend_count);
                next = status.next_seq;
            }
            next = next.max(status.next_seq);
            if connection > 0 && status.accepted && next < status.next_seq + SEND_WINDOW {
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

    /// Sends an entry after its files. Returns `false` if a file cannot be uploaded now.
    async fn send_entry(&self, connection: u64, entry: OutboxEntry) -> bool {
        let uploads: Vec<Upload> = serde_json::from_str(&entry.files).unwrap_or_default();
        let mut message = entry.message;
        for upload in uploads {
            match self.hub.upload(&upload.path, &upload.file).await {
                Ok(()) => fault::failpoint("worker.file.uploaded"),
                // A worker whose token has ended may get another one.
                Err(error) if error.is_retryable() || error.is_unauthorized() => {
                    tokio::time::sleep(UPLOAD_RETRY_DELAY).await;
                    return false;
                }
                // Waiting does not help if a file is gone or the hub rejects it. The entry is sent without it.
                Err(error) => {
                    let (task, name) = (self.lease.key().task_id.short(), &upload.file.name);
                    tracing::error!("task {task}: cannot upload {name}: {error}");
                    message = remove_file_entry(&message, &upload.file);
                }
            }
        }
        self.connection.send_text(connection, message).await;
        fault::failpoint("worker.entry.sent");
        true
    }

    /// Sends the remaining entries of a lost lease: their costs still count.
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

/// Removes a file from an entry. The hub rejects an entry that names a file that it does not have.
fn remove_file_entry(message: &str, file: &FileRef) -> String {
    let Ok(mut entry) = serde_json::from_str::<Value>(message) else {
        return message.to_owned();
    };
    if let Some(files) = entry.get_mut("files").and_then(Value::as_array_mut) {
        files.retain(|named| named.get("name").and_then(Value::as_str) != Some(&file.name));
    }
    entry.to_string()
}
