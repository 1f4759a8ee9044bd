//! API tokens and sessions, found by the hash of their secret, never by the secret.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use uuid::Uuid;

use super::access::TOKEN_IS_VALID;
use super::columns::{damaged, parsed};
use super::{SqliteHub, access};
use crate::hub::access::{AuditAction, AuditActor, LoginSession, NewLoginSession, RevokeOutcome};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{ApiToken, NewApiToken};
use crate::hub::traits::{StoreFuture, TokenStore};

/// The columns of a token `t`.
pub(super) const TOKEN_COLUMNS: &str = "t.token_id, t.name, t.prefix, t.project, t.scopes, \
    t.created_at, t.expires_at, t.last_used_at, t.revoked_at";

impl TokenStore for SqliteHub {
    fn insert_token(&self, token: NewApiToken) -> StoreFuture<'_, ApiToken> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| insert_token(db, &token, clock.now())))
    }

    fn insert_first_token(&self, token: NewApiToken) -> StoreFuture<'_, Option<ApiToken>> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let any: bool =
                db.query_row("SELECT EXISTS (SELECT 1 FROM token)", [], |row| row.get(0))?;
            if any {
                return Ok(None);
            }
            insert_token(db, &token, clock.now()).map(Some)
        }))
    }

    fn find_token_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<ApiToken>> {
        let now = self.clock.now();
        Box::pin(self.readers.read_by_key(move |db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {TOKEN_COLUMNS} FROM token t WHERE hash = :hash AND {TOKEN_IS_VALID}"
            ))?;
            let values = named_params! {":hash": hash, ":now": now};
            let found = query.query_row(values, |row| Ok(read_token(row)));
            found.optional()?.transpose()
        }))
    }

    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>> {
        Box::pin(self.read(|db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {TOKEN_COLUMNS} FROM token t ORDER BY created_at DESC, token_id DESC"
            ))?;
            let mut rows = query.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(read_token(row)?);
            }
            Ok(all)
        }))
    }

    fn revoke(&self, token_id: Uuid, by: AuditActor) -> StoreFuture<'_, RevokeOutcome> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| revoke(db, token_id, &by, clock.now())))
    }

    fn touch_tokens(&self, tokens: Vec<Uuid>) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            for token in &tokens {
                db.prepare_cached("UPDATE token SET last_used_at = ?2 WHERE token_id = ?1")?
                    .execute(params![token.to_string(), clock.now()])?;
            }
            Ok(())
        }))
    }

    fn insert_session(&self, session: NewLoginSession) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| access::insert_session(db, &session, clock.now())))
    }

    fn find_session_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<LoginSession>> {
        let now = self.clock.now();
        let find = move |db: &Connection| access::find_session(db, hash, now);
        Box::pin(self.readers.read_by_key(find))
    }

    fn list_sessions(&self, project: String) -> StoreFuture<'_, Vec<LoginSession>> {
        let now = self.clock.now();
        Box::pin(self.read(move |db| access::list_sessions(db, &project, now)))
    }

    fn end_session(
        &self,
        project: String,
        session_id: Uuid,
        by: AuditActor,
    ) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(
            self.write(move |db| access::end_session(db, &project, session_id, &by, clock.now())),
        )
    }

    fn touch_session(&self, session_id: Uuid) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            db.prepare_cached("UPDATE login_session SET last_used_at = ?2 WHERE session_id = ?1")?
                .execute(params![session_id.to_string(), clock.now()])?;
            Ok(())
        }))
    }

    fn find_ended_access(
        &self,
        tokens: Vec<Uuid>,
        sessions: Vec<Uuid>,
    ) -> StoreFuture<'_, Vec<Uuid>> {
        let now = self.clock.now();
        Box::pin(self.read(move |db| access::find_ended_access(db, &tokens, &sessions, now)))
    }
}

/// Revokes a token. The check and the change are one transaction: two administrators cannot revoke each
/// other's last token at the same time.
fn revoke(
    db: &Connection,
    token_id: Uuid,
    by: &AuditActor,
    now: i64,
) -> Result<RevokeOutcome, HubStoreError> {
    let id = token_id.to_string();
    let mut query = db.prepare_cached(&format!(
        "SELECT {TOKEN_COLUMNS}, {TOKEN_IS_VALID} AS is_valid FROM token t WHERE token_id = :id"
    ))?;
    let values = named_params! {":id": id, ":now": now};
    let found = query.query_row(values, |row| Ok((read_token(row), row.get("is_valid")?)));
    let Some((token, is_valid)) = found.optional()? else {
        return Ok(RevokeOutcome::NotFound);
    };
    let token = token?;
    if token.revoked_at.is_some() {
        return Ok(RevokeOutcome::Revoked);
    }
    let is_last = || -> Result<bool, HubStoreError> {
        Ok(db.query_row(
            &format!(
                "SELECT NOT EXISTS (
                     SELECT 1 FROM token t
                     WHERE project = :project AND token_id <> :id AND {TOKEN_IS_VALID}
                       AND EXISTS (SELECT 1 FROM json_each(scopes) WHERE value = 'admin'))"
            ),
            named_params! {":project": token.project, ":id": id, ":now": now},
            |row| row.get(0),
        )?)
    };
    if is_valid && token.scopes.iter().any(|scope| scope == "admin") && is_last()? {
        return Ok(RevokeOutcome::LastAdministrator);
    }
    db.execute(
        "UPDATE token SET revoked_at = ?2 WHERE token_id = ?1",
        params![id, now],
    )?;
    let what = (AuditAction::RevokeToken, id.as_str(), token.name.as_str());
    access::insert_audit(db, now, &token.project, by, what)?;
    Ok(RevokeOutcome::Revoked)
}

fn insert_token(db: &Connection, token: &NewApiToken, now: i64) -> Result<ApiToken, HubStoreError> {
    let expires_at = token.lasts_ms.map(|period| now.saturating_add(period));
    db.execute(
        "INSERT INTO token (token_id, name, prefix, project, scopes, hash, created_at, expires_at)
         VALUES (:token_id, :name, :prefix, :project, :scopes, :hash, :now, :expires_at)",
        named_params! {
            ":token_id": token.token_id.to_string(),
            ":name": token.name,
            ":prefix": token.prefix,
            ":project": token.project,
            ":scopes": serde_json::to_string(&token.scopes).map_err(damaged)?,
            ":hash": token.hash,
            ":now": now,
            ":expires_at": expires_at,
        },
    )?;
    let (id, detail) = (token.token_id.to_string(), token.audit_detail());
    let what = (AuditAction::CreateToken, id.as_str(), detail.as_str());
    access::insert_audit(db, now, &token.project, &token.created_by, what)?;
    Ok(ApiToken {
        token_id: token.token_id,
        name: token.name.clone(),
        prefix: token.prefix.clone(),
        project: token.project.clone(),
        scopes: token.scopes.clone(),
        created_at: now,
        expires_at,
        last_used_at: None,
        revoked_at: None,
    })
}

pub(super) fn read_token(row: &Row<'_>) -> Result<ApiToken, HubStoreError> {
    let scopes: String = row.get("scopes")?;
    Ok(ApiToken {
        token_id: parsed(&row.get::<_, String>("token_id")?)?,
        name: row.get("name")?,
        prefix: row.get("prefix")?,
        project: row.get("project")?,
        scopes: serde_json::from_str(&scopes).map_err(damaged)?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        last_used_at: row.get("last_used_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
