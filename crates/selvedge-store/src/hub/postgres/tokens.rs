//! API tokens and sessions, found by the hash of their secret, never by the secret.

use std::borrow::Cow;

use tokio_postgres::types::ToSql;
use uuid::Uuid;

use super::PostgresHub;
use super::access::token_is_valid;
use super::columns::{NOW, PostgresColumns, text};
use crate::hub::access::{AuditAction, AuditActor, LoginSession, NewLoginSession, RevokeOutcome};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{ApiToken, NewApiToken};
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{StoreFuture, TokenStore};

/// The columns of a token `t`.
pub(super) const TOKEN_COLUMNS: &str = "t.token_id, t.name, t.prefix, t.project, t.scopes, \
    t.created_at, t.expires_at, t.last_used_at, t.revoked_at";

/// Inserts a token if the condition holds; repeating the statement changes nothing.
fn insert_token_query(condition: &str) -> String {
    format!(
        "WITH t AS (
             INSERT INTO token (token_id, name, prefix, project, scopes, hash, created_at, expires_at)
             SELECT $1, $2, $3, $4, $5, $6, now, now + CASE WHEN $7::bigint IS NOT NULL THEN least($7::bigint, 9000000000000000) END
             FROM (SELECT {NOW} AS now) AS clock WHERE {condition}
             ON CONFLICT (token_id) DO UPDATE SET name = token.name
             RETURNING *, xmax = 0 AS is_new
         ), audited AS (
             INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
             SELECT created_at, project, $8, $9, $10, $11, token_id::text, $12, $13 FROM t WHERE is_new
         )
         SELECT {TOKEN_COLUMNS} FROM t"
    )
}

impl PostgresHub {
    async fn insert_token_if(
        &self,
        condition: &str,
        token: &NewApiToken,
    ) -> Result<Option<ApiToken>, HubStoreError> {
        let columns = NewTokenColumns::of(token)?;
        let query = insert_token_query(condition);
        let rows = self.rows(&query, &columns.values()).await?;
        let first = rows.first().map(PostgresColumns::of);
        first.map(|mut cells| read_token(&mut cells)).transpose()
    }

    /// Revokes a token. The lock keeps two administrators from revoking each other's last token at the same
    /// time.
    async fn revoke_token(
        &self,
        token_id: Uuid,
        by: &AuditActor,
    ) -> Result<RevokeOutcome, HubStoreError> {
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        transaction
            .batch_execute("LOCK TABLE token IN SHARE ROW EXCLUSIVE MODE")
            .await?;
        let valid = token_is_valid();
        let sql = format!(
            "SELECT given.project, given.name, given.revoked_at IS NOT NULL,
                    EXISTS (SELECT 1 FROM token t
                            WHERE t.token_id = $1 AND t.scopes::jsonb ? 'admin' AND {valid})
                    AND NOT EXISTS (SELECT 1 FROM token t
                            WHERE t.project = given.project AND t.token_id <> $1
                              AND t.scopes::jsonb ? 'admin' AND {valid})
             FROM token given WHERE given.token_id = $1"
        );
        let Some(row) = transaction.query_opt(&sql, &[&token_id]).await? else {
            return Ok(RevokeOutcome::NotFound);
        };
        let (is_revoked, is_last): (bool, bool) = (row.try_get(2)?, row.try_get(3)?);
        if is_revoked {
            return Ok(RevokeOutcome::Revoked);
        }
        if is_last {
            return Ok(RevokeOutcome::LastAdministrator);
        }
        let (project, name): (&str, &str) = (row.try_get(0)?, row.try_get(1)?);
        let sql = format!(
            "WITH gone AS (
                 UPDATE token SET revoked_at = {NOW} WHERE token_id = $1 RETURNING token_id, revoked_at
             )
             INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
             SELECT revoked_at, $2, $3, $4, $5, $6, token_id::text, $7, $8 FROM gone"
        );
        let actor = text(&by.name);
        let (channel, action) = (by.channel.as_str(), AuditAction::RevokeToken.as_str());
        let person = by.person_column();
        let values: [&(dyn ToSql + Sync); 8] = [
            &token_id,
            &project,
            &actor,
            &by.token_id,
            &channel,
            &action,
            &name,
            &person,
        ];
        transaction.execute(&sql, &values).await?;
        transaction.commit().await?;
        Ok(RevokeOutcome::Revoked)
    }
}

/// The parameters of a new token.
struct NewTokenColumns<'a> {
    token: &'a NewApiToken,
    name: Cow<'a, str>,
    prefix: Cow<'a, str>,
    project: Cow<'a, str>,
    scopes: String,
    hash: &'a [u8],
    actor: Cow<'a, str>,
    channel: &'static str,
    action: &'static str,
    detail: String,
    person: Option<String>,
}

impl<'a> NewTokenColumns<'a> {
    fn of(token: &'a NewApiToken) -> Result<Self, HubStoreError> {
        Ok(Self {
            token,
            name: text(&token.name),
            prefix: text(&token.prefix),
            project: text(&token.project),
            scopes: serde_json::to_string(&token.scopes).map_err(damaged)?,
            hash: token.hash.as_slice(),
            actor: text(&token.created_by.name),
            channel: token.created_by.channel.as_str(),
            action: AuditAction::CreateToken.as_str(),
            detail: text(&token.audit_detail()).into_owned(),
            person: token.created_by.person_column(),
        })
    }

    fn values(&self) -> [&(dyn ToSql + Sync); 13] {
        [
            &self.token.token_id,
            &self.name,
            &self.prefix,
            &self.project,
            &self.scopes,
            &self.hash,
            &self.token.lasts_ms,
            &self.actor,
            &self.token.created_by.token_id,
            &self.channel,
            &self.action,
            &self.detail,
            &self.person,
        ]
    }
}

impl TokenStore for PostgresHub {
    fn insert_token(&self, token: NewApiToken) -> StoreFuture<'_, ApiToken> {
        Box::pin(async move {
            let inserted = self.insert_token_if("true", &token).await?;
            inserted.ok_or_else(|| damaged("a stored token was not found"))
        })
    }

    fn insert_first_token(&self, token: NewApiToken) -> StoreFuture<'_, Option<ApiToken>> {
        Box::pin(async move {
            // If several hubs start at once, only one creates the first token. The lock is acquired before
            // the statement that checks for tokens begins.
            let mut client = self.pool.get().await?;
            let transaction = client.transaction().await?;
            transaction
                .batch_execute("LOCK TABLE token IN SHARE ROW EXCLUSIVE MODE")
                .await?;
            let columns = NewTokenColumns::of(&token)?;
            let query = insert_token_query("NOT EXISTS (SELECT 1 FROM token)");
            let rows = transaction.query(&query, &columns.values()).await?;
            transaction.commit().await?;
            let first = rows.first().map(PostgresColumns::of);
            first.map(|mut cells| read_token(&mut cells)).transpose()
        })
    }

    fn find_token_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<ApiToken>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {TOKEN_COLUMNS} FROM token t WHERE hash = $1 AND {}",
                token_is_valid()
            );
            let rows = self.rows_by_key(&sql, &[&hash.as_slice()]).await?;
            let first = rows.first().map(PostgresColumns::of);
            first.map(|mut cells| read_token(&mut cells)).transpose()
        })
    }

    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {TOKEN_COLUMNS} FROM token t ORDER BY created_at DESC, token_id DESC"
            );
            let rows = self.rows(&sql, &[]).await?;
            let cells = rows.iter().map(PostgresColumns::of);
            cells.map(|mut cells| read_token(&mut cells)).collect()
        })
    }

    fn revoke(&self, token_id: Uuid, by: AuditActor) -> StoreFuture<'_, RevokeOutcome> {
        Box::pin(async move { self.revoke_token(token_id, &by).await })
    }

    fn touch_tokens(&self, tokens: Vec<Uuid>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!("UPDATE token SET last_used_at = {NOW} WHERE token_id = ANY($1)");
            self.rows(&sql, &[&tokens]).await.map(drop)
        })
    }

    fn insert_session(&self, session: NewLoginSession) -> StoreFuture<'_, ()> {
        Box::pin(async move { self.insert_session_row(&session).await })
    }

    fn find_session_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<LoginSession>> {
        Box::pin(self.session_by_hash(hash))
    }

    fn list_sessions(&self, project: String) -> StoreFuture<'_, Vec<LoginSession>> {
        Box::pin(async move { self.sessions_of(&project).await })
    }

    fn end_session(
        &self,
        project: String,
        session_id: Uuid,
        by: AuditActor,
    ) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.end_session_row(&project, session_id, &by).await })
    }

    fn touch_session(&self, session_id: Uuid) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql =
                format!("UPDATE login_session SET last_used_at = {NOW} WHERE session_id = $1");
            self.rows(&sql, &[&session_id]).await.map(drop)
        })
    }

    fn find_ended_access(
        &self,
        tokens: Vec<Uuid>,
        sessions: Vec<Uuid>,
    ) -> StoreFuture<'_, Vec<Uuid>> {
        Box::pin(async move { self.ended_access(&tokens, &sessions).await })
    }
}

pub(super) fn read_token(cells: &mut PostgresColumns<'_>) -> Result<ApiToken, HubStoreError> {
    let token_id = cells.next()?;
    let (name, prefix, project) = (cells.next()?, cells.next()?, cells.next()?);
    let scopes: &str = cells.next()?;
    Ok(ApiToken {
        token_id,
        name,
        prefix,
        project,
        scopes: serde_json::from_str(scopes).map_err(damaged)?,
        created_at: cells.next()?,
        expires_at: cells.next()?,
        last_used_at: cells.next()?,
        revoked_at: cells.next()?,
    })
}
