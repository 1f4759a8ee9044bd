//! API tokens, found by the hash of their secret, never by the secret.

use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, text};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{ApiToken, NewApiToken};
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{StoreFuture, TokenStore};

const COLUMNS: &str = "token_id, name, prefix, tenant, scopes, created_at, expires_at, \
                       last_used_at, revoked_at";

/// Inserts a token if the condition holds; repeating the statement changes nothing.
fn insert_token_query(condition: &str) -> String {
    format!(
        "INSERT INTO token (token_id, name, prefix, tenant, scopes, hash, created_at, expires_at)
         SELECT $1, $2, $3, $4, $5, $6, now, now + least($7::bigint, 9000000000000000)
         FROM (SELECT {NOW} AS now) AS clock WHERE {condition}
         ON CONFLICT (token_id) DO UPDATE SET name = token.name
         RETURNING {COLUMNS}"
    )
}

impl PostgresHub {
    async fn insert_token_if(
        &self,
        condition: &str,
        token: &NewApiToken,
    ) -> Result<Option<ApiToken>, HubStoreError> {
        let scopes = serde_json::to_string(&token.scopes).map_err(damaged)?;
        let (name, prefix, tenant) = (text(&token.name), text(&token.prefix), text(&token.tenant));
        let hash = token.hash.as_slice();
        let rows = self
            .rows(
                &insert_token_query(condition),
                &[
                    &token.token_id,
                    &name,
                    &prefix,
                    &tenant,
                    &scopes,
                    &hash,
                    &token.lasts_ms,
                ],
            )
            .await?;
        rows.first().map(read_token).transpose()
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
            let scopes = serde_json::to_string(&token.scopes).map_err(damaged)?;
            let (name, prefix) = (text(&token.name), text(&token.prefix));
            let (tenant, hash) = (text(&token.tenant), token.hash.as_slice());
            let rows = transaction
                .query(
                    &insert_token_query("NOT EXISTS (SELECT 1 FROM token)"),
                    &[
                        &token.token_id,
                        &name,
                        &prefix,
                        &tenant,
                        &scopes,
                        &hash,
                        &token.lasts_ms,
                    ],
                )
                .await?;
            transaction.commit().await?;
            rows.first().map(read_token).transpose()
        })
    }

    fn find_token_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<ApiToken>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT {COLUMNS} FROM token
                 WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > {NOW})"
            );
            let rows = self.rows(&sql, &[&hash.as_slice()]).await?;
            rows.first().map(read_token).transpose()
        })
    }

    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>> {
        Box::pin(async move {
            let sql =
                format!("SELECT {COLUMNS} FROM token ORDER BY created_at DESC, token_id DESC");
            let rows = self.rows(&sql, &[]).await?;
            rows.iter().map(read_token).collect()
        })
    }

    fn revoke(&self, token_id: Uuid) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = format!(
                "UPDATE token SET revoked_at = coalesce(revoked_at, {NOW}) WHERE token_id = $1
                 RETURNING 1"
            );
            Ok(!self.rows(&sql, &[&token_id]).await?.is_empty())
        })
    }

    fn touch_tokens(&self, tokens: Vec<Uuid>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!("UPDATE token SET last_used_at = {NOW} WHERE token_id = ANY($1)");
            self.rows(&sql, &[&tokens]).await.map(drop)
        })
    }
}

fn read_token(row: &Row) -> Result<ApiToken, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    let token_id = cells.next()?;
    let (name, prefix, tenant) = (cells.next()?, cells.next()?, cells.next()?);
    let scopes: &str = cells.next()?;
    Ok(ApiToken {
        token_id,
        name,
        prefix,
        tenant,
        scopes: serde_json::from_str(scopes).map_err(damaged)?,
        created_at: cells.next()?,
        expires_at: cells.next()?,
        last_used_at: cells.next()?,
        revoked_at: cells.next()?,
    })
}
