//! Blobs as both databases see them: chunks in the database, or references to objects in an object store.

use std::fmt::Write;

use sha2::digest::common::hazmat::SerializableState;
use sha2::{Digest, Sha256};

/// The state of a blob's upload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BlobState {
    /// All bytes are stored.
    Complete {
        /// Its size in bytes.
        size: u64,
    },
    /// The beginning is stored.
    Partial {
        /// Number of stored bytes.
        offset: u64,
    },
    /// The chunk does not begin at the end of the stored bytes.
    OffsetMismatch {
        /// Number of stored bytes.
        offset: u64,
    },
    /// All bytes were received, but their hash does not match the name: nothing is stored.
    WrongHash,
    /// Nothing is stored.
    Missing,
}

/// A chunk of a blob in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlobObject {
    /// The object's key, which no other chunk has ever had.
    pub key: String,
    /// Size in bytes.
    pub size: u64,
    /// SHA-256 of its bytes, in lower-case hexadecimal digits.
    pub digest: String,
}

/// A chunk to add to a blob.
#[derive(Debug, Clone)]
pub struct NewBlobChunk {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// The object that contains them, whose key was reserved; otherwise the database stores them.
    pub object: Option<BlobObject>,
}

impl From<Vec<u8>> for NewBlobChunk {
    /// A chunk for the database.
    fn from(bytes: Vec<u8>) -> Self {
        let object = None;
        Self { bytes, object }
    }
}

/// A part of a blob.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BlobPart {
    /// Bytes that the database stores; none at the end of the blob.
    Bytes(Vec<u8>),
    /// The part is in an object store.
    Object {
        /// The object.
        object: BlobObject,
        /// Where in the object the part begins.
        skip: u64,
    },
}

/// Bytes in lower-case hexadecimal digits.
pub(super) fn to_hex(digest: &[u8]) -> String {
    let mut name = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// The state of an upload, from the row of its blob.
#[derive(Debug, Clone)]
pub(super) struct BlobRow {
    pub(super) total: u64,
    pub(super) received: u64,
    pub(super) is_complete: bool,
    /// The hash of what was received, if the chunks are objects and the blob is not complete.
    pub(super) hash_state: Option<Vec<u8>>,
}

impl BlobRow {
    pub(super) const fn state(&self) -> BlobState {
        if self.is_complete {
            BlobState::Complete { size: self.total }
        } else {
            BlobState::Partial {
                offset: self.received,
            }
        }
    }
}

/// What becomes of a blob's rows when a chunk arrives.
#[derive(Debug)]
pub(super) enum AppendDecision {
    /// Nothing is written, and the chunk's object is not used.
    Refuse(BlobState),
    /// The stored beginning is removed, because it cannot be continued, and the chunk's object is not used.
    Remove,
    /// The chunk is added, after the removal of what is stored if it `restarts` the upload.
    Store {
        restarts: bool,
        /// The end of the chunk.
        end: u64,
        is_last: bool,
        /// The hash of everything up to the end of the chunk, if the chunks are objects.
        hash: Option<Sha256>,
    },
}

/// Decides about a chunk.
pub(super) fn decide_append(
    known: Option<&BlobRow>,
    offset: u64,
    total: u64,
    chunk: &NewBlobChunk,
) -> AppendDecision {
    if let Some(known) = known.filter(|known| known.is_complete) {
        return AppendDecision::Refuse(known.state());
    }
    let received = known.map_or(0, |known| known.received);
    let fits = offset == received && known.is_none_or(|known| known.total == total);
    if !fits && offset != 0 {
        return AppendDecision::Refuse(BlobState::OffsetMismatch { offset: received });
    }
    let restarts = !fits;
    let state = known
        .filter(|_| !restarts)
        .and_then(|it| it.hash_state.as_deref());
    // Whether chunks are objects may have changed since the upload began; and a state may be from another release.
    let previous = match (&chunk.object, state) {
        (None, None) => None,
        (Some(_), None) if offset == 0 => Some(Sha256::new()),
        (Some(_), Some(state)) => match parse_state(state) {
            Some(hash) => Some(hash),
            None => return AppendDecision::Remove,
        },
        (None, Some(_)) | (Some(_), None) => return AppendDecision::Remove,
    };
    let end = offset.saturating_add(u64::try_from(chunk.bytes.len()).unwrap_or(u64::MAX));
    AppendDecision::Store {
        restarts,
        end,
        is_last: end >= total,
        hash: previous.map(|hash| hash.chain_update(&chunk.bytes)),
    }
}

/// The state of a hash, for [`BlobRow::hash_state`].
pub(super) fn serialize_state(hash: &Sha256) -> Vec<u8> {
    hash.serialize().to_vec()
}

fn parse_state(state: &[u8]) -> Option<Sha256> {
    Sha256::deserialize(&state.try_into().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn state_of_hash_continues_it() {
        let half = Sha256::new().chain_update(vec![7; 100]);
        let resumed = parse_state(&serialize_state(&half)).unwrap();
        let whole = Sha256::digest(vec![7; 250]);
        assert_eq!(resumed.chain_update(vec![7; 150]).finalize(), whole);
        assert!(parse_state(b"of another release").is_none());
    }
}
