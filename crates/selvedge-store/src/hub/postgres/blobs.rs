//! Blobs, stored in the received chunks under their SHA-256, or as references to objects. After the last chunk, the
//! hash of the whole is verified.

use sha2::{Digest, Sha256};
use tokio_postgres::{Row, Transaction};

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, int};
use crate::hub::blobs::{
    AppendDecision, BlobObject, BlobPart, BlobRow, BlobState, NewBlobChunk, decide_append,
    serialize_state, to_hex,
};
use crate::hub::error::HubStoreError;
use crate::hub::traits::{BlobStore, StoreFuture};

const SELECT_BLOB: &str = "SELECT total, received, whole, hash_state FROM blob WHERE hash = $1";

impl BlobStore for PostgresHub {
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState> {
        Box::pin(async move {
            let rows = self.rows(SELECT_BLOB, &[&hash]).await?;
            let known = rows.first().map(read_blob_row).transpose()?;
            Ok(known.map_or(BlobState::Missing, |row| row.state()))
        })
    }

    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: NewBlobChunk,
    ) -> StoreFuture<'_, BlobState> {
        Box::pin(async move {
            let mut client = self.pool.get().await?;
            let transaction = client.transaction().await?;
            let state = append(&transaction, &hash, offset, total, &chunk).await?;
            transaction.commit().await?;
            Ok(state)
        })
    }

    fn blob_part(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<BlobPart>> {
        Box::pin(async move {
            let sql =
                "SELECT b.whole, c.start, c.bytes, o.start, o.key, o.size, o.digest FROM blob b
                 LEFT JOIN LATERAL (
                     SELECT start, bytes FROM blob_chunk
                     WHERE hash = b.hash AND start <= $2 ORDER BY start DESC LIMIT 1) c ON true
                 LEFT JOIN LATERAL (
                     SELECT start, key, size, digest FROM blob_object
                     WHERE hash = b.hash AND start <= $2 ORDER BY start DESC LIMIT 1) o ON true
                 WHERE b.hash = $1";
            let rows = self.rows(sql, &[&hash, &int(offset)]).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let mut cells = PostgresColumns::of(row);
            if !cells.next::<bool>()? {
                return Ok(None);
            }
            let start: Option<i64> = cells.next()?;
            let bytes: Option<&[u8]> = cells.next()?;
            if let (Some(start), Some(bytes)) = (start, bytes) {
                let skip = usize::try_from(int(offset) - start).unwrap_or(usize::MAX);
                let bytes = bytes.get(skip..).unwrap_or_default().to_vec();
                return Ok(Some(BlobPart::Bytes(bytes)));
            }
            let end = Ok(Some(BlobPart::Bytes(Vec::new())));
            let Some(start) = cells.next::<Option<i64>>()? else {
                return end;
            };
            let object = BlobObject {
                key: cells.next()?,
                size: cells.count()?,
                digest: cells.next()?,
            };
            let skip = u64::try_from(int(offset) - start).unwrap_or(0);
            if skip >= object.size {
                return end;
            }
            Ok(Some(BlobPart::Object { object, skip }))
        })
    }

    fn missing(&self, hashes: Vec<String>) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let sql = "SELECT k.hash FROM unnest($1::text[]) WITH ORDINALITY AS k (hash, at)
                 WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.hash = k.hash AND b.whole)
                 ORDER BY k.at";
            let rows = self.rows(sql, &[&hashes]).await?;
            rows.iter()
                .map(|row| PostgresColumns::of(row).next())
                .collect()
        })
    }

    fn reserve_object(&self, key: String, for_ms: i64) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "INSERT INTO unused_object VALUES ($1, true, {NOW} + $2::bigint) ON CONFLICT DO NOTHING"
            );
            self.rows(&sql, &[&key, &for_ms]).await?;
            Ok(())
        })
    }

    fn claim_unused_objects(&self, retry_ms: i64, limit: usize) -> StoreFuture<'_, Vec<String>> {
        Box::pin(async move {
            let sql = format!(
                "UPDATE unused_object SET is_reserved = false, due_at = {NOW} + $1::bigint
                 WHERE key IN (SELECT key FROM unused_object WHERE due_at <= {NOW}
                               ORDER BY due_at LIMIT $2 FOR UPDATE SKIP LOCKED)
                 RETURNING key"
            );
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = self.rows(&sql, &[&retry_ms, &limit]).await?;
            rows.iter()
                .map(|row| PostgresColumns::of(row).next())
                .collect()
        })
    }

    fn forget_objects(&self, keys: Vec<String>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = "DELETE FROM unused_object WHERE key = ANY ($1) AND NOT is_reserved";
            self.rows(sql, &[&keys]).await?;
            Ok(())
        })
    }

    fn count_unused_objects(&self) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            let sql = format!(
                "SELECT count(*) FROM unused_object WHERE NOT is_reserved OR due_at <= {NOW}"
            );
            let rows = self.rows(&sql, &[]).await?;
            rows.first()
                .map_or(Ok(0), |row| PostgresColumns::of(row).count())
        })
    }

    fn has_objects(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = "SELECT EXISTS (SELECT 1 FROM blob_object)";
            let rows = self.rows(sql, &[]).await?;
            let found = rows.first().map(|row| PostgresColumns::of(row).next());
            found.transpose().map(Option::unwrap_or_default)
        })
    }
}

fn read_blob_row(row: &Row) -> Result<BlobRow, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(BlobRow {
        total: cells.count()?,
        received: cells.count()?,
        is_complete: cells.next()?,
        hash_state: cells.next()?,
    })
}

async fn append(
    db: &Transaction<'_>,
    hash: &str,
    offset: u64,
    total: u64,
    chunk: &NewBlobChunk,
) -> Result<BlobState, HubStoreError> {
    // Concurrent uploads of the same bytes wait here, and then see the result of this one.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    db.execute(lock, &[&hash]).await?;
    let found = db.query_opt(SELECT_BLOB, &[&hash]).await?;
    let known = found.as_ref().map(read_blob_row).transpose()?;
    let (restarts, end, is_last, hashed) = match decide_append(known.as_ref(), offset, total, chunk)
    {
        AppendDecision::Refuse(state) => {
            release_object(db, chunk).await?;
            return Ok(state);
        }
        AppendDecision::Remove => {
            release_object(db, chunk).await?;
            remove(db, hash).await?;
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
        let take = "DELETE FROM unused_object WHERE key = $1 AND is_reserved";
        if db.execute(take, &[&object.key]).await? == 0 {
            return Err(HubStoreError::ReservationExpired);
        }
    }
    if restarts {
        remove(db, hash).await?;
    }
    let state = hashed.as_ref().filter(|_| !is_last).map(serialize_state);
    let write = format!(
        "INSERT INTO blob (hash, total, received, whole, updated_at, hash_state)
         VALUES ($1, $2, $3, $4, {NOW}, $5)
         ON CONFLICT (hash) DO UPDATE SET received = excluded.received, whole = excluded.whole,
                                          updated_at = excluded.updated_at, hash_state = excluded.hash_state"
    );
    db.execute(&write, &[&hash, &int(total), &int(end), &is_last, &state])
        .await?;
    if let Some(object) = &chunk.object {
        let write = "INSERT INTO blob_object VALUES ($1, $2, $3, $4, $5)";
        db.execute(
            write,
            &[
                &hash,
                &int(offset),
                &int(object.size),
                &object.digest,
                &object.key,
            ],
        )
        .await?;
    } else if !chunk.bytes.is_empty() {
        let write = "INSERT INTO blob_chunk VALUES ($1, $2, $3)";
        db.execute(write, &[&hash, &int(offset), &chunk.bytes])
            .await?;
    }
    if !is_last {
        return Ok(BlobState::Partial { offset: end });
    }
    let digest = match hashed {
        Some(hashed) => to_hex(&hashed.finalize()),
        None => hash_chunks(db, hash).await?,
    };
    if end == total && digest == hash {
        return Ok(BlobState::Complete { size: total });
    }
    remove(db, hash).await?;
    Ok(BlobState::WrongHash)
}

/// Removes a blob. Its objects are to be deleted.
async fn remove(db: &Transaction<'_>, hash: &str) -> Result<(), HubStoreError> {
    db.execute("DELETE FROM blob WHERE hash = $1", &[&hash])
        .await?;
    Ok(())
}

/// Lets the object of a chunk that is not used be deleted.
async fn release_object(db: &Transaction<'_>, chunk: &NewBlobChunk) -> Result<(), HubStoreError> {
    if let Some(object) = &chunk.object {
        let release = "UPDATE unused_object SET is_reserved = false, due_at = 0 WHERE key = $1 AND is_reserved";
        db.execute(release, &[&object.key]).await?;
    }
    Ok(())
}

/// Hashes the chunks, with one of them in memory at a time.
async fn hash_chunks(db: &Transaction<'_>, hash: &str) -> Result<String, HubStoreError> {
    let next = db
        .prepare(
            "SELECT start, bytes FROM blob_chunk WHERE hash = $1 AND start > $2 ORDER BY start LIMIT 1",
        )
        .await?;
    let mut digest = Sha256::new();
    let mut after = -1i64;
    while let Some(row) = db.query_opt(&next, &[&hash, &after]).await? {
        let mut cells = PostgresColumns::of(&row);
        after = cells.next()?;
        digest.update(cells.next::<&[u8]>()?);
    }
    Ok(to_hex(&digest.finalize()))
}
