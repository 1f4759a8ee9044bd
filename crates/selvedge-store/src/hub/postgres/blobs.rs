//! Bytes under their hash, in chunks as they came. The last chunk proves the whole.

use std::fmt::Write;

use sha2::{Digest, Sha256};
use tokio_postgres::{Row, Transaction};

use super::PostgresHub;
use super::columns::{Cells, NOW, int};
use crate::hub::error::HubStoreError;
use crate::hub::rows::BlobState;
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{Answered, Blobs};

const KNOWN: &str = "SELECT total, received, whole FROM blob WHERE hash = $1";

impl Blobs for PostgresHub {
    fn blob(&self, hash: String) -> Answered<'_, BlobState> {
        Box::pin(async move {
            let rows = self.rows(KNOWN, &[&hash]).await?;
            let known = rows.first().map(known).transpose()?;
            Ok(known.map_or(BlobState::Missing, Known::state))
        })
    }

    fn append(
        &self,
        hash: String,
        offset: u64,
        total: u64,
        chunk: Vec<u8>,
    ) -> Answered<'_, BlobState> {
        Box::pin(async move {
            let mut client = self.pool.get().await?;
            let transaction = client.transaction().await?;
            let state = append(&transaction, &hash, offset, total, &chunk).await?;
            transaction.commit().await?;
            Ok(state)
        })
    }

    fn bytes(&self, hash: String, offset: u64) -> Answered<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let sql = "SELECT b.whole, c.start, c.bytes FROM blob b LEFT JOIN LATERAL (
                     SELECT start, bytes FROM blob_chunk
                     WHERE hash = b.hash AND start <= $2 ORDER BY start DESC LIMIT 1) c ON true
                 WHERE b.hash = $1";
            let rows = self.rows(sql, &[&hash, &int(offset)]).await?;
            let Some(row) = rows.first() else {
                return Ok(None);
            };
            let mut cells = Cells::of(row);
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

    fn missing(&self, hashes: Vec<String>) -> Answered<'_, Vec<String>> {
        Box::pin(async move {
            let sql = "SELECT k.hash FROM unnest($1::text[]) WITH ORDINALITY AS k (hash, at)
                 WHERE NOT EXISTS (SELECT 1 FROM blob b WHERE b.hash = k.hash AND b.whole)
                 ORDER BY k.at";
            let rows = self.rows(sql, &[&hashes]).await?;
            rows.iter().map(|row| Cells::of(row).next()).collect()
        })
    }
}

#[derive(Clone, Copy)]
struct Known {
    total: u64,
    received: u64,
    whole: bool,
}

impl Known {
    fn state(self) -> BlobState {
        if self.whole {
            BlobState::Whole { size: self.total }
        } else {
            BlobState::Part {
                offset: self.received,
            }
        }
    }
}

fn known(row: &Row) -> Result<Known, HubStoreError> {
    let mut cells = Cells::of(row);
    Ok(Known {
        total: cells.count()?,
        received: cells.count()?,
        whole: cells.next()?,
    })
}

async fn append(
    db: &Transaction<'_>,
    hash: &str,
    offset: u64,
    total: u64,
    chunk: &[u8],
) -> Result<BlobState, HubStoreError> {
    // Whoever sends the same bytes at the same time waits here, and finds what this one leaves.
    let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
    db.execute(lock, &[&hash]).await?;
    let found = db.query_opt(KNOWN, &[&hash]).await?;
    let known = found.as_ref().map(known).transpose()?;
    if let Some(known) = known.filter(|known| known.whole) {
        return Ok(known.state());
    }
    let received = known.map_or(0, |known| known.received);
    let fits = known.is_none_or(|known| known.total == total);
    if offset != received || !fits {
        if offset == 0 {
            // Somebody begins anew.
            remove(db, hash).await?;
        } else {
            return Ok(BlobState::Elsewhere { offset: received });
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
        return Ok(BlobState::Part { offset: end });
    }
    if end == total && hashed(db, hash).await? == hash {
        return Ok(BlobState::Whole { size: total });
    }
    remove(db, hash).await?;
    Ok(BlobState::WrongHash)
}

async fn remove(db: &Transaction<'_>, hash: &str) -> Result<(), HubStoreError> {
    db.execute("DELETE FROM blob WHERE hash = $1", &[&hash])
        .await?;
    Ok(())
}

/// One chunk in memory at a time.
async fn hashed(db: &Transaction<'_>, hash: &str) -> Result<String, HubStoreError> {
    let next = db
        .prepare(
            "SELECT start, bytes FROM blob_chunk WHERE hash = $1 AND start > $2 ORDER BY start LIMIT 1",
        )
        .await?;
    let mut digest = Sha256::new();
    let mut after = -1i64;
    while let Some(row) = db.query_opt(&next, &[&hash, &after]).await? {
        let mut cells = Cells::of(&row);
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
