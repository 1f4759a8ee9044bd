//! Blobs in the database and the object store: uploads, downloads, and the deletion of objects that nothing refers to.

use std::fmt::Write;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{StreamExt, stream};
use selvedge_store::hub::{BlobObject, BlobPart, BlobState, HubStoreError, NewBlobChunk};
use sha2::{Digest, Sha256};
use tokio::time::sleep;

use super::{ObjectStorage, ObjectStoreError};
use crate::hub::Hub;

/// How long the writing of an object may take; afterwards its key is no longer reserved.
const RESERVATION_MS: i64 = 3_600_000;
/// How long another hub does not delete the same object, unless this one fails to.
const DELETE_RETRY_MS: i64 = 60_000;
const DELETE_BATCH: usize = 100;
/// Number of objects that are deleted at the same time.
const PARALLEL_DELETES: usize = 8;
/// Interval between two deletions, if there are no more objects to delete.
const DELETE_INTERVAL: Duration = Duration::from_secs(5);

/// Why a blob cannot be stored or read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BlobStorageError {
    /// The database.
    #[error(transparent)]
    Store(#[from] HubStoreError),
    /// The object store.
    #[error(transparent)]
    Objects(#[from] ObjectStoreError),
    /// The blob is in an object store, and the hub has none.
    #[error(
        "the content of this file is in an object store, but the hub is configured without one: see --s3-bucket"
    )]
    NoObjectStore,
    /// The database has only a part of a complete blob: it is being removed.
    #[error("the content of this file was removed")]
    Removed,
}

impl BlobStorageError {
    /// Whether the content will not be available later either.
    pub(crate) const fn is_content_lost(&self) -> bool {
        match self {
            Self::Objects(error) => error.is_about_object(),
            Self::Removed => true,
            Self::Store(_) | Self::NoObjectStore => false,
        }
    }

    /// Logs the failure, and describes it to clients: without the names of hosts and buckets.
    pub(crate) fn log_and_describe(&self) -> String {
        tracing::error!(error = %self, "cannot store or read the content of a file");
        match self {
            Self::Store(_) => "the hub's store is unavailable; try again",
            Self::NoObjectStore => {
                "the content of this file is in an object store, but the hub is configured without one"
            }
            Self::Removed => "the content of this file was removed",
            Self::Objects(ObjectStoreError::Missing { .. }) => {
                "the content of this file is missing in the hub's object store"
            }
            Self::Objects(ObjectStoreError::Damaged { .. }) => {
                "the content of this file in the hub's object store is not what was stored"
            }
            Self::Objects(_) => {
                "the hub's object store is unavailable, so that content of files can be neither stored nor read; try \
                 again later"
            }
        }
        .to_owned()
    }
}

/// Bytes in lower-case hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Adds a chunk to a blob: in the object store, if there is one.
pub(crate) async fn append(
    hub: &Hub,
    hash: String,
    offset: u64,
    total: u64,
    bytes: Vec<u8>,
) -> Result<BlobState, BlobStorageError> {
    let objects = hub.settings.objects.as_ref();
    let Some(objects) = objects.filter(|_| !bytes.is_empty()) else {
        return Ok(hub.store.append(hash, offset, total, bytes.into()).await?);
    };
    // What the database would refuse is not written first.
    match hub.store.blob_state(hash.clone()).await? {
        complete @ BlobState::Complete { .. } => return Ok(complete),
        BlobState::Partial { offset: received } if offset != 0 && offset != received => {
            return Ok(BlobState::OffsetMismatch { offset: received });
        }
        BlobState::Missing if offset != 0 => return Ok(BlobState::OffsetMismatch { offset: 0 }),
        _ => {}
    }
    let object = BlobObject {
        key: ObjectStorage::new_key(&hash, offset),
        size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        digest: to_hex(&Sha256::digest(&bytes)),
    };
    let key = object.key.clone();
    hub.store.reserve_object(key, RESERVATION_MS).await?;
    let began_at = Instant::now();
    let written = objects.put(&object.key, bytes.clone()).await;
    hub.metrics
        .record_object_request("put", written.is_ok(), began_at.elapsed());
    written?;
    let chunk = NewBlobChunk {
        bytes,
        object: Some(object),
    };
    Ok(hub.store.append(hash, offset, total, chunk).await?)
}

/// Reads a part of a complete blob of the given size; empty at its end.
pub(crate) async fn read(
    hub: &Hub,
    hash: String,
    size: u64,
    offset: u64,
) -> Result<Vec<u8>, BlobStorageError> {
    let part = hub.store.blob_part(hash, offset).await?;
    let bytes = match part.ok_or(BlobStorageError::Removed)? {
        BlobPart::Bytes(bytes) => bytes,
        BlobPart::Object { object, skip } => {
            let objects = hub.settings.objects.as_ref();
            let objects = objects.ok_or(BlobStorageError::NoObjectStore)?;
            let began_at = Instant::now();
            let read = objects.get(&object).await;
            hub.metrics
                .record_object_request("get", read.is_ok(), began_at.elapsed());
            let mut bytes = read?;
            let skip = usize::try_from(skip).unwrap_or(usize::MAX).min(bytes.len());
            bytes.drain(..skip);
            bytes
        }
    };
    if bytes.is_empty() && offset < size {
        return Err(BlobStorageError::Removed);
    }
    Ok(bytes)
}

/// Deletes objects that nothing refers to, for as long as the hub lives.
pub(crate) async fn delete_unused_objects(hub: Arc<Hub>) {
    let Some(objects) = hub.settings.objects.clone() else {
        return;
    };
    loop {
        let claimed = hub
            .store
            .claim_unused_objects(DELETE_RETRY_MS, DELETE_BATCH)
            .await;
        let keys = claimed.unwrap_or_else(|error| {
            tracing::error!(%error, "cannot find unused objects");
            Vec::new()
        });
        let is_full = keys.len() == DELETE_BATCH;
        let (objects, metrics) = (&objects, &hub.metrics);
        let deletions = stream::iter(keys).map(async |key: String| {
            let began_at = Instant::now();
            let deleted = objects.delete(&key).await;
            metrics.record_object_request("delete", deleted.is_ok(), began_at.elapsed());
            deleted.is_ok().then_some(key)
        });
        let results: Vec<Option<String>> =
            deletions.buffer_unordered(PARALLEL_DELETES).collect().await;
        let all_deleted = results.iter().all(Option::is_some);
        let deleted: Vec<String> = results.into_iter().flatten().collect();
        if !deleted.is_empty()
            && let Err(error) = hub.store.forget_objects(deleted).await
        {
            tracing::error!(%error, "cannot record the deletion of objects; it is repeated");
        }
        // The log has the reason of a failure, from the request.
        if !(is_full && all_deleted) {
            sleep(DELETE_INTERVAL).await;
        }
    }
}
