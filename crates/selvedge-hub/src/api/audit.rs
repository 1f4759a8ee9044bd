//! The audit log: who did what.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, State};
use selvedge_protocol::{AuditPage, AuditRow};
use selvedge_store::hub::{AuditAction, AuditEntry, AuditOrder, AuditQuery};
use serde::Deserialize;

use crate::access::Caller;
use crate::hub::Hub;
use crate::problem::{ApiError, QueryParams};
use crate::task_rows::timestamp;

/// Number of entries of a page if the request has no `limit`.
const DEFAULT_ENTRIES: usize = 100;
/// Maximum number of entries of a page.
const MAX_ENTRIES: usize = 1_000;

/// Query parameters of the audit log.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct AuditParams {
    after: Option<u64>,
    before: Option<u64>,
    actor: Option<String>,
    action: Option<String>,
    subject: Option<String>,
    limit: Option<usize>,
}

pub(super) async fn list(
    State(hub): State<Arc<Hub>>,
    Extension(caller): Extension<Caller>,
    QueryParams(params): QueryParams<AuditParams>,
) -> Result<Json<AuditPage>, ApiError> {
    let order = match (params.after, params.before) {
        (Some(_), Some(_)) => {
            return Err(ApiError::field("before", "cannot be combined with `after`"));
        }
        (Some(after), None) => AuditOrder::OldestFirst { after },
        (None, before) => AuditOrder::NewestFirst { before },
    };
    let action = params.action.map(|word| {
        AuditAction::parse(&word).ok_or_else(|| {
            let all = AuditAction::ALL.map(AuditAction::as_str).join(", ");
            ApiError::field("action", format!("unknown action; one of: {all}"))
        })
    });
    let limit = params.limit.unwrap_or(DEFAULT_ENTRIES);
    if !(1..=MAX_ENTRIES).contains(&limit) {
        let detail = format!("must be a number from 1 to {MAX_ENTRIES}");
        return Err(ApiError::field("limit", detail));
    }
    let entries = hub.store.audit_entries(AuditQuery {
        project: caller.0.project,
        actor: params.actor,
        action: action.transpose()?,
        subject: params.subject,
        order,
        limit,
    });
    Ok(Json(AuditPage {
        entries: entries.await?.into_iter().map(audit_row).collect(),
    }))
}

fn audit_row(entry: AuditEntry) -> AuditRow {
    AuditRow {
        seq: entry.seq,
        at: timestamp(entry.at),
        actor: entry.actor.name,
        token_id: entry.actor.token_id.map(|id| id.to_string()),
        person: entry.actor.person,
        channel: entry.actor.channel.as_str().to_owned(),
        action: entry.action.as_str().to_owned(),
        subject: entry.subject,
        detail: entry.detail,
    }
}
