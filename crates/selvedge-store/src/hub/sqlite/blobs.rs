//! Blobs, stored in the received chunks under their SHA-256, or as references to objects. After the last chunk, the
//! hash of the whole is verified.

use rusqlite::{Connection, OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::SqliteHub;
use super::columns::damaged;
use crate::hub::blobs::{
    AppendDecision, BlobObject, BlobPart, BlobRow, BlobState, NewBlobChunk, decide_append,
    serialize_state, to_hex,
};
use crate::hub::error::HubStoreError;
use crate::hub::traits::{BlobStore, StoreFuture};

impl BlobStore for SqliteHub {
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState> {
        Box::pin(self.read(move |db| {
            Ok(read_blob_row(db, &hash)?.map_or(BlobState::Missing, |row| row.state()))
        }))
    }

    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: NewBlobChunk,
    ) -> StoreFuture<'_, BlobState> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| append(db, &hash, offset, total, &chunk, clock.now())))
    }

    fn blob_part(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<BlobPart>> {
        Box::pin(self.read(move |db| {
            if !read_blob_row(db, &hash)?.is_some_and(|row| row.is_complete) {
                return Ok(None);
            }
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
                let part = read_object(db, &hash, offset)?;
                return Ok(Some(part.unwrap_or(BlobPart::Bytes(Vec::new()))));
            };
            let skip = usize::try_from(offset - start).unwrap_or(usize::MAX);
            Ok(Some(BlobPart::Bytes(
                bytes.split_off(skip.min(bytes.len())),
            )))
        }))
    }

    fn missing(&self, hashes: Vec<String>) -> StoreFuture<'_, Vec<String>> {
        Box::pin(self.read(move |db| {
            let mut missing = Vec::new();
            for hash in hashes {
                if !read_blob_row(db, &hash)?.is_some_and(|row| row.is_complete) {
                    missing.push(hash);
                }
            }
            Ok(missing)
        }))
    }

    fn reserve_object(&self, key: String, for_ms: i64) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let due_at = clock.now().saturating_add(for_ms);
            // A repeated reservation, if the commit of the first one is unknown.
            db.prepare_cached(
                "INSERT INTO unused_object VALUES (?1, 1, ?2) ON CONFLICT DO NOTHING",
            )?
            .execute(params![key, due_at])?;
            Ok(())
        }))
    }

    fn claim_unused_objects(&self, retry_ms: i64, limit: usize) -> StoreFuture<'_, Vec<String>> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let now = clock.now();
            let mut update = db.prepare_cached(
                "UPDATE unused_object SET is_reserved = 0, due_at = ?2
                 WHERE key IN (SELECT key FROM unused_object WHERE due_at <= ?1 ORDER BY due_at LIMIT ?3)
                 RETURNING key",
            )?;
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let keys = update.query_map(params![now, now.saturating_add(retry_ms), limit], |row| {
                row.get(0)
            })?;
            Ok(keys.collect::<Result<_, _>>()?)
        }))
    }

    fn forget_objects(&self, keys: Vec<String>) -> StoreFuture<'_, ()> {
        Box::pin(self.write(move |db| {
            let mut delete =
                db.prepare_cached("DELETE FROM unused_object WHERE key = ?1 AND is_reserved = 0")?;
            for key in &keys {
                delete.execute([key])?;
            }
            Ok(())
        }))
    }

    fn count_unused_objects(&self) -> StoreFuture<'_, u64> {
        let clock = self.clock.clone();
        Box::pin(self.read(move |db| {
            let sql = "SELECT count(*) FROM unused_object WHERE is_reserved = 0 OR due_at <= ?1";
            let mut query = db.prepare_cached(sql)?;
            Ok(query.query_row([clock.now()], |row| row.get(0))?)
        }))
    }

    fn has_objects(&self) -> StoreFuture<'_, bool> {
        Box::pin(self.read(move |db| {
            let sql = "SELECT EXISTS (SELECT 1 FROM blob_object)";
            Ok(db.query_row(sql, [], |row| row.get(0))?)
        }))
    }
}

fn read_blob_row(db: &Connection, hash: &str) -> Result<Option<BlobRow>, HubStoreError> {
    let mut query =
        db.prepare_cached("SELECT total, received, whole, hash_state FROM blob WHERE hash = ?1")?;
    let found = query.query_row([hash], |row| {
        Ok(BlobRow {
            total: row.get(0)?,
            received: row.get(1)?,
            is_complete: row.get(2)?,
            hash_state: row.get(3)?,
        })
    });
    Ok(found.optional()?)
}

/// The object with the part of a blob at an offset; `None` at its end.
fn read_object(
    db: &Connection,
    hash: &str,
    offset: u64,
) -> Result<Option<BlobPart>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT start, key, size, digest FROM blob_object WHERE hash = ?1 AND start <= ?2
         ORDER BY start DESC LIMIT 1",
    )?;
    let found = query.query_row(params![hash, offset], |row| {
        let start: u64 = row.get(0)?;
        let object = BlobObject {
            key: row.get(1)?,
            size: row.get(2)?,
            digest: row.get(3)?,
        };
        let skip = offset - start;
        Ok((skip < object.size).then_some(BlobPart::Object { object, skip }))
    });
    Ok(found.optional()?.flatten())
}

fn append(
    db: &Connection,
    hash: &str,
    offset: u64,
    total: u64,
    chunk: &NewBlobChunk,
    now: i64,
) -> Result<BlobState, HubStoreError> {
    let known = read_blob_row(db, hash)?;
    let (restarts, end, is_last, hashed) = match decide_append(known.as_ref(), offset, total, chunk)
    {
        AppendDecision::Refuse(state) => {
            release_object(db, chunk)?;
            return Ok(state);
        }
        AppendDecision::Remove => {
            release_object(db, chunk)?;
            remove(db, hash)?;
            return Ok(BlobState::OffsetMismatch { offset: 0 });
        }
        AppendDecision::Store {
            restarts,
            end,
            is_last,
            hash,
        } => (restarts, end, is_last, hash),
    };
    if let Some(object) = &chunk.object {
        let sql = "DELETE FROM unused_object WHERE key = ?1 AND is_reserved = 1";
        if db.prepare_cached(sql)?.execute([&object.key])? == 0 {
            return Err(HubStoreError::ReservationExpired);
        }
    }
    if restarts {
        remove(db, hash)?;
    }
    let state = hashed.as_ref().filter(|_| !is_last).map(serialize_state);
    db.prepare_cached(
        "INSERT INTO blob (hash, total, received, whole, updated_at, hash_state) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO UPDATE SET received = excluded.received, whole = excluded.whole,
                                   updated_at = excluded.updated_at, hash_state = excluded.hash_state",
    )?
    .execute(params![hash, total, end, is_last, now, state])?;
    if let Some(object) = &chunk.object {
        db.prepare_cached("INSERT INTO blob_object VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![
                hash,
                offset,
                object.size,
                object.digest,
                object.key
            ])?;
    } else if !chunk.bytes.is_empty() {
        db.prepare_cached("INSERT INTO blob_chunk VALUES (?1, ?2, ?3)")?
            .execute(params![hash, offset, chunk.bytes])?;
    }
    if !is_last {
        return Ok(BlobState::Partial { offset: end });
    }
    let digest = match hashed {
        Some(hashed) => to_hex(&hashed.finalize()),
        None => hash_chunks(db, hash)?,
    };
    if end == total && digest == hash {
        return Ok(BlobState::Complete { size: total });
    }
    remove(db, hash)?;
    Ok(BlobState::WrongHash)
}

/// Removes a blob. Its objects are to be deleted.
fn remove(db: &Connection, hash: &str) -> Result<(), HubStoreError> {
    db.prepare_cached("DELETE FROM blob WHERE hash = ?1")?
        .execute([hash])?;
    Ok(())
}

/// Lets the object of a chunk that is not used be deleted.
fn release_object(db: &Connection, chunk: &NewBlobChunk) -> Result<(), HubStoreError> {
    if let Some(object) = &chunk.object {
        let sql = "UPDATE unused_object SET is_reserved = 0, due_at = 0 WHERE key = ?1 AND is_reserved = 1";
        db.prepare_cached(sql)?.execute([&object.key])?;
    }
    Ok(())
}

fn hash_chunks(db: &Connection, hash: &str) -> Result<String, HubStoreError> {
    let mut query =
        db.prepare_cached("SELECT bytes FROM blob_chunk WHERE hash = ?1 ORDER BY start")?;
    let mut rows = query.query([hash])?;
    let mut digest = Sha256::new();
    while let Some(row) = rows.next()? {
        digest.update(row.get_ref(0)?.as_blob().map_err(damaged)?);
    }
    Ok(to_hex(&digest.finalize()))
}
