//! API tokens, found by the hash of their secret, never by the secret.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use uuid::Uuid;

use super::SqliteHub;
use super::columns::{damaged, parsed};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{ApiToken, NewApiToken};
use crate::hub::traits::{StoreFuture, TokenStore};

const COLUMNS: &str = "token_id, name, prefix, tenant, scopes, created_at, expires_at, \
                       last_used_at, revoked_at";

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
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM token
                 WHERE hash = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)"
            ))?;
            let found = query.query_row(params![hash, now], |row| Ok(read_token(row)));
            found.optional()?.transpose()
        }))
    }

    fn list_tokens(&self) -> StoreFuture<'_, Vec<ApiToken>> {
        Box::pin(self.read(|db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM token ORDER BY created_at DESC, token_id DESC"
            ))?;
            let mut rows = query.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(read_token(row)?);
            }
            Ok(all)
        }))
    }

    fn revoke(&self, token_id: Uuid) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let changed = db.execute(
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE token_id = ?1",
                params![token_id.to_string(), clock.now()],
            )?;
            Ok(changed > 0)
        }))
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
}

fn insert_token(db: &Connection, token: &NewApiToken, now: i64) -> Result<ApiToken, HubStoreError> {
    let expires_at = token.lasts_ms.map(|period| now.saturating_add(period));
    db.execute(
        "INSERT INTO token (token_id, name, prefix, tenant, scopes, hash, created_at, expires_at)
         VALUES (:token_id, :name, :prefix, :tenant, :scopes, :hash, :now, :expires_at)",
        named_params! {
            ":token_id": token.token_id.to_string(),
            ":name": token.name,
            ":prefix": token.prefix,
            ":tenant": token.tenant,
            ":scopes": serde_json::to_string(&token.scopes).map_err(damaged)?,
            ":hash": token.hash,
            ":now": now,
            ":expires_at": expires_at,
        },
    )?;
    Ok(ApiToken {
        token_id: token.token_id,
        name: token.name.clone(),
        prefix: token.prefix.clone(),
        tenant: token.tenant.clone(),
        scopes: token.scopes.clone(),
        created_at: now,
        expires_at,
        last_used_at: None,
        revoked_at: None,
    })
}

fn read_token(row: &Row<'_>) -> Result<ApiToken, HubStoreError> {
    let scopes: String = row.get("scopes")?;
    Ok(ApiToken {
        token_id: parsed(&row.get::<_, String>("token_id")?)?,
        name: row.get("name")?,
        prefix: row.get("prefix")?,
        tenant: row.get("tenant")?,
        scopes: serde_json::from_str(&scopes).map_err(damaged)?,
        created_at: row.get("created_at")?,
        expires_at: row.get("expires_at")?,
        last_used_at: row.get("last_used_at")?,
        revoked_at: row.get("revoked_at")?,
    })
}
