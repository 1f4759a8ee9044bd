//! The table `event`: converts between rows and envelopes.

use rusqlite::{Connection, Row, params};
use selvedge_core::model::{Envelope, Event, RunId};
use serde_json::Value;

use super::text::{damaged, parsed};
use crate::error::StoreError;

/// An event encoded for its row.
pub(super) struct EncodedEvent {
    run: String,
    seq: u64,
    v: u32,
    at: String,
    kind: String,
    data: Option<String>,
}

/// Encodes events. Called before the write lock is taken, to hold the lock as briefly as possible.
pub(super) fn encode(events: &[Envelope]) -> Result<Vec<EncodedEvent>, StoreError> {
    let encode_one = |envelope: &Envelope| {
        let (kind, data) = envelope.event.to_parts()?;
        let data = (!data.is_null())
            .then(|| serde_json::to_string(&data))
            .transpose()?;
        Ok(EncodedEvent {
            run: envelope.run_id.to_string(),
            seq: envelope.seq,
            v: envelope.v,
            at: envelope.at.to_string(),
            kind,
            data,
        })
    };
    events
        .iter()
        .map(|envelope| {
            encode_one(envelope).map_err(|source| StoreError::Encode {
                seq: envelope.seq,
                source,
            })
        })
        .collect()
}

pub(super) fn insert(db: &Connection, events: &[EncodedEvent]) -> Result<(), StoreError> {
    let mut insert = db.prepare_cached(
        "INSERT INTO event (run_id, seq, v, at, type, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for event in events {
        insert.execute(params![
            event.run, event.seq, event.v, event.at, event.kind, event.data
        ])?;
    }
    Ok(())
}

/// The last event's sequence number, 0 when the run has none.
pub(super) fn last_seq(db: &Connection, run: RunId) -> Result<u64, StoreError> {
    let mut query =
        db.prepare_cached("SELECT coalesce(max(seq), 0) FROM event WHERE run_id = ?1")?;
    Ok(query.query_row([run.to_string()], |row| row.get(0))?)
}

pub(super) fn page(
    db: &Connection,
    run: RunId,
    after_seq: u64,
    limit: usize,
) -> Result<Vec<Envelope>, StoreError> {
    let mut query = db.prepare_cached(
        "SELECT seq, v, at, type, data FROM event
         WHERE run_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let mut rows = query.query(params![run.to_string(), after_seq, limit])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(envelope(run, row)?);
    }
    Ok(events)
}

/// Passes all events of a run to a function, one at a time.
pub(super) fn for_each_event(
    db: &Connection,
    run: RunId,
    mut visit: impl FnMut(Envelope),
) -> Result<(), StoreError> {
    let mut query = db.prepare_cached(
        "SELECT seq, v, at, type, data FROM event WHERE run_id = ?1 ORDER BY seq",
    )?;
    let mut rows = query.query([run.to_string()])?;
    while let Some(row) = rows.next()? {
        visit(envelope(run, row)?);
    }
    Ok(())
}

fn envelope(run: RunId, row: &Row<'_>) -> Result<Envelope, StoreError> {
    let data: Option<String> = row.get("data")?;
    let data = match data {
        None => Value::Null,
        Some(json) => serde_json::from_str(&json).map_err(|error| damaged(&error))?,
    };
    Ok(Envelope {
        v: row.get("v")?,
        run_id: run,
        seq: row.get("seq")?,
        at: parsed(&row.get::<_, String>("at")?)?,
        event: Event::from_parts(row.get("type")?, data),
    })
}

/// All runs that have events.
pub(super) fn runs(db: &Connection) -> Result<Vec<RunId>, StoreError> {
    let mut query = db.prepare_cached("SELECT run_id FROM event WHERE seq = 1")?;
    let ids = query.query_map([], |row| row.get::<_, String>(0))?;
    ids.map(|id| parsed(&id?)).collect()
}
