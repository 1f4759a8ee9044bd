//! Webhooks and their deliveries. A hub that sends a delivery has claimed it for a while: no other hub sends it
//! meanwhile, and if the hub ends, another one sends it afterwards.

use selvedge_core::model::TaskId;
use selvedge_protocol::TaskState;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresHub;
use super::access::AUDIT_CHANGED;
use super::columns::{NOW, PostgresColumns, int, small, text};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::sqlite::columns::{damaged, outcome};
use crate::hub::sqlite::webhooks::{event_type, format};
use crate::hub::traits::{StoreFuture, WebhookStore};
use crate::hub::webhooks::{
    ClaimedDelivery, DeliveryFollowUp, DeliveryRecord, DeliveryResult, DeliveryTryRow,
    MAX_CLAIMS_PER_WEBHOOK, NewWebhook, ReceiverAnswer, TaskEvent, Webhook,
};

impl WebhookStore for PostgresHub {
    fn insert_webhook(&self, webhook: NewWebhook, by: AuditActor) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "WITH locked_project AS (
                     SELECT deleted_at FROM project WHERE name = $7 FOR KEY SHARE
                 ), changed AS (
                     INSERT INTO webhook (webhook_id, project, name, url, format, events, secret, created_at)
                     SELECT $6, $7, $8, $9, $10, $11, $12, {NOW}
                     WHERE NOT EXISTS (SELECT 1 FROM locked_project WHERE deleted_at IS NOT NULL)
                     ON CONFLICT DO NOTHING
                     RETURNING created_at AS at, project, webhook_id::text AS subject, name AS detail
                 )
                 {AUDIT_CHANGED}"
            );
            let events = serde_json::to_string(&webhook.events).map_err(damaged)?;
            let (project, name, url) = (
                text(&webhook.project),
                text(&webhook.name),
                text(&webhook.url),
            );
            let secret = webhook.secret.as_slice();
            let own: [&(dyn ToSql + Sync); 7] = [
                &webhook.webhook_id,
                &project,
                &name,
                &url,
                &webhook.format.as_str(),
                &events,
                &secret,
            ];
            let action = AuditAction::CreateWebhook;
            let created = self.execute_audited(&sql, &own, &by, action);
            created.await.map(drop)
        })
    }

    fn webhooks(&self, project: String) -> StoreFuture<'_, Vec<Webhook>> {
        Box::pin(async move {
            let sql =
                "SELECT webhook_id, project, name, url, format, events, created_at FROM webhook
                       WHERE project = $1 ORDER BY created_at, webhook_id";
            let rows = self.rows(sql, &[&text(&project)]).await?;
            rows.iter().map(read_webhook).collect()
        })
    }

    fn delete_webhook(&self, webhook: Uuid, by: AuditActor) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let action = AuditAction::DeleteWebhook;
            self.delete_audited("webhook", "webhook_id", webhook, &by, action)
                .await
        })
    }

    fn claim_deliveries(
        &self,
        claim_ms: i64,
        limit: usize,
    ) -> StoreFuture<'_, Vec<ClaimedDelivery>> {
        Box::pin(async move {
            // If the statement is executed twice, the first claims expire and are sent later.
            let sql = format!(
                "WITH due AS (
                     SELECT d.delivery_no FROM webhook w, LATERAL (
                         SELECT delivery_no, due_at FROM webhook_delivery
                         WHERE webhook_id = w.webhook_id AND due_at <= {NOW} ORDER BY due_at
                         LIMIT greatest(0, {MAX_CLAIMS_PER_WEBHOOK} - (
                             SELECT count(*) FROM webhook_delivery c
                             WHERE c.webhook_id = w.webhook_id AND c.due_at > {NOW} AND c.is_claimed))
                         FOR UPDATE SKIP LOCKED
                     ) d ORDER BY d.due_at LIMIT $2
                 )
                 UPDATE webhook_delivery d SET tries = d.tries + 1, due_at = {NOW} + $1, is_claimed = true
                 FROM due, webhook w
                 WHERE d.delivery_no = due.delivery_no AND w.webhook_id = d.webhook_id
                 RETURNING d.delivery_no, d.message_id, d.tries, w.url, w.format, w.secret, d.event, d.task_id,
                           d.state, d.outcome, d.reason, d.attempts, d.at"
            );
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = self.rows(&sql, &[&claim_ms, &limit]).await?;
            rows.iter().map(read_claimed).collect()
        })
    }

    fn record_try(&self, result: DeliveryResult) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let retry_after = match result.after {
                DeliveryFollowUp::Retry(after) => Some(after),
                DeliveryFollowUp::Delivered | DeliveryFollowUp::Failed => None,
            };
            // The webhook may have been removed meanwhile.
            let sql = format!(
                "WITH delivery AS (
                     UPDATE webhook_delivery SET due_at = {NOW} + $3::bigint, delivered = $4, is_claimed = false
                     WHERE delivery_no = $1 AND tries = $2 AND due_at IS NOT NULL
                 )
                 INSERT INTO webhook_try
                 SELECT delivery_no, $2, {NOW}, $5, $6, $7 FROM webhook_delivery WHERE delivery_no = $1
                 ON CONFLICT DO NOTHING"
            );
            let is_delivered = result.after == DeliveryFollowUp::Delivered;
            let answer = &result.answer;
            let error = answer.error.as_deref().map(text);
            let values: [&(dyn ToSql + Sync); 7] = [
                &result.number,
                &small(result.try_number),
                &retry_after,
                &is_delivered,
                &answer.status.map(i32::from),
                &error,
                &int(answer.duration_ms),
            ];
            self.rows(&sql, &values).await.map(drop)
        })
    }

    fn deliveries(&self, webhook: Uuid, limit: usize) -> StoreFuture<'_, Vec<DeliveryRecord>> {
        Box::pin(async move {
            let sql = "SELECT d.delivery_no, d.message_id, d.event, d.task_id, d.at, d.due_at, d.delivered,
                              t.at, t.status, t.error, t.duration_ms
                       FROM (SELECT * FROM webhook_delivery WHERE webhook_id = $1
                             ORDER BY delivery_no DESC LIMIT $2) d
                       LEFT JOIN webhook_try t ON t.delivery_no = d.delivery_no
                       ORDER BY d.delivery_no DESC, t.try_number";
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let rows = self.rows(sql, &[&webhook, &limit]).await?;
            let mut all: Vec<(i64, DeliveryRecord)> = Vec::new();
            for row in &rows {
                let mut cells = PostgresColumns::of(row);
                let number = cells.next()?;
                let record = DeliveryRecord {
                    message_id: cells.next()?,
                    event: event_type(cells.next()?)?,
                    task_id: TaskId::new(cells.next()?),
                    at: cells.next()?,
                    due_at: cells.next()?,
                    is_delivered: cells.next()?,
                    tries: Vec::new(),
                };
                if all.last().is_none_or(|(last, _)| *last != number) {
                    all.push((number, record));
                }
                let tried = read_try(&mut cells)?;
                if let Some((_, record)) = all.last_mut() {
                    record.tries.extend(tried);
                }
            }
            Ok(all.into_iter().map(|(_, record)| record).collect())
        })
    }
}

/// Reads the columns of a try, which are NULL if there is none.
fn read_try(cells: &mut PostgresColumns<'_>) -> Result<Option<DeliveryTryRow>, HubStoreError> {
    let Some(at) = cells.next()? else {
        return Ok(None);
    };
    let status: Option<i32> = cells.next()?;
    Ok(Some(DeliveryTryRow {
        at,
        answer: ReceiverAnswer {
            status: status.map(u16::try_from).transpose().map_err(damaged)?,
            error: cells.next()?,
            duration_ms: cells.count()?,
        },
    }))
}

fn read_webhook(row: &Row) -> Result<Webhook, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(Webhook {
        webhook_id: cells.next()?,
        project: cells.next()?,
        name: cells.next()?,
        url: cells.next()?,
        format: format(cells.next()?)?,
        events: serde_json::from_str(cells.next()?).map_err(damaged)?,
        created_at: cells.next()?,
    })
}

fn read_claimed(row: &Row) -> Result<ClaimedDelivery, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    Ok(ClaimedDelivery {
        number: cells.next()?,
        message_id: cells.next()?,
        try_number: cells.small()?,
        url: cells.next()?,
        format: format(cells.next()?)?,
        secret: cells.next()?,
        event: TaskEvent {
            event: event_type(cells.next()?)?,
            task_id: TaskId::new(cells.next()?),
            state: {
                let state: &str = cells.next()?;
                TaskState::parse(state).ok_or_else(|| damaged(state))?
            },
            outcome: outcome(cells.next()?)?,
            reason: cells.next()?,
            attempts: cells.small()?,
            at: cells.next()?,
        },
    })
}
