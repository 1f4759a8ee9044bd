//! Blobs, stored in the received chunks under their SHA-256. After the last chunk, the hash of the whole is
//! verified.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use tokio_postgres::{Row, Transaction};

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, int};
use crate::hub::error::HubStoreError;
use crate::hub::rows::BlobState;
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{BlobStore, StoreFuture};

const SELECT_BLOB: &str = "SELECT total, received, whole FROM blob WHERE hash = $1";

impl BlobStore for PostgresHub {
    fn blob_state(&self, hash: String) -> StoreFuture<'_, BlobState> {
        Box::pin(async move {
            let rows = self.rows(SELECT_BLOB, &[&hash]).await?;
            let known = rows.first().map(read_blob_row).transpose()?;
            Ok(known.map_or(BlobState::Missing, PostgresBlobRow::state))
        })
    }

    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: Vec<u8>,
    ) -> StoreFuture<'_, BlobState> {
        Box::pin(async move {
            let mut client = self.pool.get().await?;
            let transaction = client.transaction().await?;
            let state = append(&transaction, &hash, offset, total, &chunk).await?;
            transaction.commit().await?;
            Ok(state)
        })
    }

    fn bytes(&self, hash: String, offset: u64) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let sql = "SELECT b.whole, c.start, c.bytes FROM blob b LEFT JOIN LATERAL (
                     SELECT start, bytes FROM blob_chunk
                     WHERE hash = b.hash AND start <= $2 ORDER BY start DESC LIMIT 1) c ON true
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
            let (Some(start), Some(bytes)) = (start, bytes) else {
                return Ok(Some(Vec::new()));
            };
            let skip = usize::try_from(int(offset) - start).unwrap_or(usize::MAX);
            Ok(Some(bytes.get(skip..).unwrap_or_default().to_vec()))
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
}

#[derive(Clone, Copy)]
struct PostgresBlobRow {
    total: u64,
    received: u64,
    is_complete: bool,
}

impl PostgresBlobRow {
    fn state(self) -> BlobState {
        if self.is_complete {
            BlobState::Complete { size: self.total }
        } else {
            BlobState::Partial {
                offset: self.received,
            }
        }
    }
}

fn read_blob_row(row: &Row) -> Result<PostgresBlobRow, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(PostgresBlobRow {
        total: cells.count()?,
        received: cells.count()?,
        is_complete: cells.next()?,
    })
}

async fn append(
    db: &Transaction<'_>,
    hash: &str,
    offset: u64,
    total: u64,
    chunk: &[u8],
) -> Result<BlobState, HubStoreError> {
    // Concurrent uploads of the same bytes wait here, and then see the result of this one.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    db.execute(lock, &[&hash]).await?;
    let found = db.query_opt(SELECT_BLOB, &[&hash]).await?;
    let known = found.as_ref().map(read_blob_row).transpose()?;
    if let Some(known) = known.filter(|known| known.is_complete) {
        return Ok(known.state());
    }
    let received = known.map_or(0, |known| known.received);
    let fits = known.is_none_or(|known| known.total == total);
    if offset != received || !fits {
        if offset == 0 {
            // The client restarts the upload.
            remove(db, hash).await?;
        } else {
            return Ok(BlobState::OffsetMismatch { offset: received });
        }
    }
    let end = offset + u64::try_from(chunk.len()).map_err(damaged)?;
    let whole = end >= total;
    let write = format!(
        "INSERT INTO blob VALUES ($1, $2, $3, $4, {NOW})
         ON CONFLICT (hash) DO UPDATE SET received = excluded.received, whole = excluded.whole,
                                          updated_at = excluded.updated_at"
    );
    db.execute(&write, &[&hash, &int(total), &int(end), &whole])
        .await?;
    if !chunk.is_empty() {
        let write = "INSERT INTO blob_chunk VALUES ($1, $2, $3)";
        db.execute(write, &[&hash, &int(offset), &chunk]).await?;
    }
    if !whole {
        return Ok(BlobState::Partial { offset: end });
    }
    if end == total && hash_chunks(db, hash).await? == hash {
        return Ok(BlobState::Complete { size: total });
    }
    remove(db, hash).await?;
    Ok(BlobState::WrongHash)
}

async fn remove(db: &Transaction<'_>, hash: &str) -> Result<(), HubStoreError> {
    db.execute("DELETE FROM blob WHERE hash = $1", &[&hash])
        .await?;
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
    let digest: [u8; 32] = digest.finalize().into();
    let mut name = String::with_capacity(64);
    for byte in digest {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    Ok(name)
}
