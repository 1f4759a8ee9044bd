//! Webhooks and their deliveries.

use rusqlite::{Connection, Row, named_params, params};
use selvedge_core::model::TaskId;
use selvedge_protocol::{TaskState, WebhookEventType, WebhookFormat};
use uuid::Uuid;

use super::SqliteHub;
use super::access::{delete_audited, insert_audit};
use super::columns::{damaged, outcome, parsed};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::traits::{StoreFuture, WebhookStore};
use crate::hub::webhooks::{
    ClaimedDelivery, DeliveryFollowUp, DeliveryRecord, DeliveryResult, DeliveryTryRow,
    MAX_CLAIMS_PER_WEBHOOK, NewWebhook, ReceiverAnswer, TaskEvent, Webhook,
};

/// After a start, all claims are free: they belonged to a hub that has ended.
pub(super) fn release_claims_after_restart(db: &Connection, now: i64) -> Result<(), HubStoreError> {
    db.execute(
        "UPDATE webhook_delivery SET due_at = min(due_at, ?1), is_claimed = 0
         WHERE due_at IS NOT NULL AND is_claimed = 1",
        [now],
    )?;
    Ok(())
}

impl WebhookStore for SqliteHub {
    fn insert_webhook(&self, webhook: NewWebhook, by: AuditActor) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let (id, now) = (webhook.webhook_id.to_string(), clock.now());
            let added = db.execute(
                "INSERT INTO webhook (webhook_id, project, name, url, format, events, secret, created_at)
                 SELECT :webhook_id, :project, :name, :url, :format, :events, :secret, :now
                 WHERE NOT EXISTS (SELECT 1 FROM project WHERE name = :project AND deleted_at IS NOT NULL)",
                named_params! {
                    ":webhook_id": id,
                    ":project": webhook.project,
                    ":name": webhook.name,
                    ":url": webhook.url,
                    ":format": webhook.format.as_str(),
                    ":events": serde_json::to_string(&webhook.events).map_err(damaged)?,
                    ":secret": webhook.secret,
                    ":now": now,
                },
            )?;
            if added == 0 {
                return Ok(());
            }
            let what = (AuditAction::CreateWebhook, id.as_str(), webhook.name.as_str());
            insert_audit(db, now, &webhook.project, &by, what)
        }))
    }

    fn webhooks(&self, project: String) -> StoreFuture<'_, Vec<Webhook>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT webhook_id, project, name, url, format, events, created_at FROM webhook
                 WHERE project = ?1 ORDER BY created_at, webhook_id",
            )?;
            let mut rows = query.query([project])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(read_webhook(row)?);
            }
            Ok(all)
        }))
    }

    fn delete_webhook(&self, webhook: Uuid, by: AuditActor) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let row = ("webhook", "webhook_id", webhook);
            delete_audited(db, clock.now(), row, &by, AuditAction::DeleteWebhook)
        }))
    }

    fn claim_deliveries(
        &self,
        claim_ms: i64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<ClaimedDelivery>> {
        let clock = self.clock.clone();
        Box::pin(async move {
            // Usually nothing is due, and a write would wait for the disk.
            let now = clock.now();
            let is_due = self.read(move |db| {
                let sql = "SELECT EXISTS (
                               SELECT 1 FROM webhook w WHERE EXISTS (
                                   SELECT 1 FROM webhook_delivery d
                                   WHERE d.webhook_id = w.webhook_id AND d.due_at <= ?1))";
                Ok(db.prepare_cached(sql)?.query_row([now], |row| row.get(0))?)
            });
            if !is_due.await? {
                return Ok(Vec::new());
            }
            self.write(move |db| claim(db, clock.now(), claim_ms, limit))
                .await
        })
    }

    fn record_try(&self, result: DeliveryResult) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| record_try(db, &result, clock.now())))
    }

    fn deliveries(&self, webhook: Uuid, limit: usize) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT message_id, event, task_id, at, due_at, delivered, delivery_no FROM webhook_delivery
                 WHERE webhook_id = ?1 ORDER BY delivery_no DESC LIMIT ?2",
            )?;
            let mut rows = query.query(params![webhook.to_string(), limit])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(DeliveryRecord {
                    message_id: row.get(0)?,
                    event: event_type(&row.get::<_, String>(1)?)?,
                    task_id: parsed(&row.get::<_, String>(2)?)?,
                    at: row.get(3)?,
                    due_at: row.get(4)?,
                    is_delivered: row.get(5)?,
                    tries: load_tries(db, row.get(6)?)?,
                });
            }
            Ok(all)
        }))
    }
}

fn claim(
    db: &Connection,
    now: i64,
    claim_ms: i64,
    limit: usize,
) -> Result<Vec<ClaimedDelivery>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT delivery_no, message_id, tries + 1, url, format, secret, event, task_id, state, outcome, reason,
                attempts, at, due_at
         FROM webhook_delivery JOIN webhook USING (webhook_id) WHERE webhook_id = ?1 AND due_at <= ?2
         ORDER BY due_at
         LIMIT max(0, ?3 - (SELECT count(*) FROM webhook_delivery c
                            WHERE c.webhook_id = ?1 AND c.due_at > ?2 AND c.is_claimed = 1))",
    )?;
    let mut due: Vec<(i64, ClaimedDelivery)> = Vec::new();
    for webhook in webhook_ids(db)? {
        let mut rows = query.query(params![webhook, now, MAX_CLAIMS_PER_WEBHOOK])?;
        while let Some(row) = rows.next()? {
            due.push((row.get(13)?, read_claimed(row)?));
        }
    }
    due.sort_by_key(|(due_at, _)| *due_at);
    due.truncate(limit);
    let claimed: Vec<ClaimedDelivery> = due.into_iter().map(|(_, delivery)| delivery).collect();
    for delivery in &claimed {
        db.prepare_cached(
            "UPDATE webhook_delivery SET tries = ?2, due_at = ?3, is_claimed = 1 WHERE delivery_no = ?1",
        )?
        .execute(params![delivery.number, delivery.try_number, now + claim_ms])?;
    }
    Ok(claimed)
}

fn webhook_ids(db: &Connection) -> Result<Vec<String>, HubStoreError> {
    let mut query = db.prepare_cached("SELECT webhook_id FROM webhook")?;
    let ids = query.query_map([], |row| row.get(0))?;
    Ok(ids.collect::<Result<_, _>>()?)
}

fn record_try(db: &Connection, result: &DeliveryResult, now: i64) -> Result<(), HubStoreError> {
    let due_at = match result.after {
        DeliveryFollowUp::Retry(after) => Some(now.saturating_add(after)),
        DeliveryFollowUp::Delivered | DeliveryFollowUp::Failed => None,
    };
    db.execute(
        "UPDATE webhook_delivery SET due_at = ?3, delivered = ?4, is_claimed = 0
         WHERE delivery_no = ?1 AND tries = ?2 AND due_at IS NOT NULL",
        params![
            result.number,
            result.try_number,
            due_at,
            result.after == DeliveryFollowUp::Delivered
        ],
    )?;
    // The webhook may have been removed meanwhile.
    db.execute(
        "INSERT INTO webhook_try SELECT delivery_no, ?2, ?3, ?4, ?5, ?6 FROM webhook_delivery WHERE delivery_no = ?1
         ON CONFLICT DO NOTHING",
        params![
            result.number,
            result.try_number,
            now,
            result.answer.status,
            result.answer.error,
            result.answer.duration_ms
        ],
    )?;
    Ok(())
}

fn load_tries(db: &Connection, delivery: i64) -> Result<Vec<DeliveryTryRow>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT at, status, error, duration_ms FROM webhook_try WHERE delivery_no = ?1 ORDER BY try_number",
    )?;
    let tries = query.query_map([delivery], |row| {
        Ok(DeliveryTryRow {
            at: row.get(0)?,
            answer: ReceiverAnswer {
                status: row.get(1)?,
                error: row.get(2)?,
                duration_ms: row.get(3)?,
            },
        })
    })?;
    Ok(tries.collect::<Result<_, _>>()?)
}

fn read_webhook(row: &Row<'_>) -> Result<Webhook, HubStoreError> {
    let events: String = row.get(5)?;
    Ok(Webhook {
        webhook_id: parsed(&row.get::<_, String>(0)?)?,
        project: row.get(1)?,
        name: row.get(2)?,
        url: row.get(3)?,
        format: format(&row.get::<_, String>(4)?)?,
        events: serde_json::from_str(&events).map_err(damaged)?,
        created_at: row.get(6)?,
    })
}

fn read_claimed(row: &Row<'_>) -> Result<ClaimedDelivery, HubStoreError> {
    let state: String = row.get(8)?;
    let task_id: TaskId = parsed(&row.get::<_, String>(7)?)?;
    Ok(ClaimedDelivery {
        number: row.get(0)?,
        message_id: row.get(1)?,
        try_number: row.get(2)?,
        url: row.get(3)?,
        format: format(&row.get::<_, String>(4)?)?,
        secret: row.get(5)?,
        event: TaskEvent {
            event: event_type(&row.get::<_, String>(6)?)?,
            task_id,
            state: TaskState::parse(&state).ok_or_else(|| damaged(state))?,
            outcome: outcome(row.get(9)?)?,
            reason: row.get(10)?,
            attempts: row.get(11)?,
            at: row.get(12)?,
        },
    })
}

pub(in crate::hub) fn event_type(word: &str) -> Result<WebhookEventType, HubStoreError> {
    WebhookEventType::parse(word).ok_or_else(|| damaged(word))
}

pub(in crate::hub) fn format(word: &str) -> Result<WebhookFormat, HubStoreError> {
    WebhookFormat::parse(word).ok_or_else(|| damaged(word))
}
