//! Blobs, stored in the received chunks under their SHA-256. After the last chunk, the hash of the whole is
//! verified.

use std::fmt::Write;

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::SqliteHub;
use super::columns::damaged;
use crate::hub::error::HubStoreError;
use crate::hub::rows::BlobState;
use crate::hub::traits::{BlobStore, StoreFuture};

impl BlobStore for SqliteHub {
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState> {
        Box::pin(self.read(move |db| {
            Ok(read_blob_row(db, &hash)?.map_or(BlobState::Missing, blob_state_of))
        }))
    }

    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: Vec<u8>,
    ) -> StoreFuture<'_, BlobState> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| append(db, &hash, offset, total, &chunk, clock.now())))
    }

    fn bytes(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(self.read(move |db| {
            let Some(BlobState::Complete { .. }) = read_blob_row(db, &hash)?.map(blob_state_of)
            else {
                return Ok(None);
            };
            let mut query = db.prepare_cached(
                "SELECT start, bytes FROM blob_chunk WHERE hash = ?1 AND start <= ?2
                 ORDER BY start DESC LIMIT 1",
            )?;
            let found = query
                .query_row(params![hash, offset], |row| {
                    Ok((row.get::<_, u64>(0)?, row.get::<_, Vec<u8>>(1)?))
                })
                .optional()?;
            let Some((start, mut bytes)) = found else {
                return Ok(Some(Vec::new()));
            };
            let skip = usize::try_from(offset - start).unwrap_or(usize::MAX);
            Ok(Some(bytes.split_off(skip.min(bytes.len()))))
        }))
    }

    fn missing(&self, hashes: Vec<String>) -> StoreFuture<'_, Vec<String>> {
        Box::pin(self.read(move |db| {
            let mut missing = Vec::new();
            for hash in hashes {
                if !matches!(
                    read_blob_row(db, &hash)?.map(blob_state_of),
                    Some(BlobState::Complete { .. })
                ) {
                    missing.push(hash);
                }
            }
            Ok(missing)
        }))
    }
}

#[derive(Clone, Copy)]
struct SqliteBlobRow {
    total: u64,
    received: u64,
    is_complete: bool,
}

fn blob_state_of(known: SqliteBlobRow) -> BlobState {
    if known.is_complete {
        BlobState::Complete { size: known.total }
    } else {
        BlobState::Partial {
            offset: known.received,
        }
    }
}

fn read_blob_row(db: &Connection, hash: &str) -> Result<Option<SqliteBlobRow>, HubStoreError> {
    let mut query = db.prepare_cached("SELECT total, received, whole FROM blob WHERE hash = ?1")?;
    let found = query.query_row([hash], |row| {
        Ok(SqliteBlobRow {
            total: row.get(0)?,
            received: row.get(1)?,
            is_complete: row.get(2)?,
        })
    });
    Ok(found.optional()?)
}

fn append(
    db: &Connection,
    hash: &str,
    offset: u64,
    total: u64,
    chunk: &[u8],
    now: i64,
) -> Result<BlobState, HubStoreError> {
    let known = read_blob_row(db, hash)?;
    if let Some(known) = known.filter(|known| known.is_complete) {
        return Ok(blob_state_of(known));
    }
    let received = known.map_or(0, |known| known.received);
    let fits = known.is_none_or(|known| known.total == total);
    if offset != received || !fits {
        if offset == 0 {
            // The client restarts the upload.
            db.execute("DELETE FROM blob WHERE hash = ?1", [hash])?;
        } else {
            return Ok(BlobState::OffsetMismatch { offset: received });
        }
    }
    let end = offset + u64::try_from(chunk.len()).map_err(damaged)?;
    let whole = end >= total;
    db.prepare_cached(
        "INSERT INTO blob VALUES (?1, ?2, ?3, ?4, ?5)
         ON CONFLICT DO UPDATE SET received = excluded.received, whole = excluded.whole,
                                   updated_at = excluded.updated_at",
    )?
    .execute(params![hash, total, end, whole, now])?;
    if !chunk.is_empty() {
        db.prepare_cached("INSERT INTO blob_chunk VALUES (?1, ?2, ?3)")?
            .execute(params![hash, offset, chunk])?;
    }
    if !whole {
        return Ok(BlobState::Partial { offset: end });
    }
    if end == total && hash_chunks(db, hash)? == hash {
        return Ok(BlobState::Complete { size: total });
    }
    db.execute("DELETE FROM blob WHERE hash = ?1", [hash])?;
    Ok(BlobState::WrongHash)
}

fn hash_chunks(db: &Connection, hash: &str) -> Result<String, HubStoreError> {
    let mut query =
        db.prepare_cached("SELECT bytes FROM blob_chunk WHERE hash = ?1 ORDER BY start")?;
    let mut rows = query.query([hash])?;
    let mut digest = Sha256::new();
    while let Some(row) = rows.next()? {
        digest.update(row.get_ref(0)?.as_blob().map_err(damaged)?);
    }
    let digest: [u8; 32] = digest.finalize().into();
    let mut name = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}
