//! Tokens: found by the hash of their secret, never by the secret.

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use uuid::Uuid;

use super::SqliteHub;
use super::columns::{damaged, parsed};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{Identity, NewIdentity};
use crate::hub::traits::{Answered, Identities};

const COLUMNS: &str = "token_id, name, prefix, tenant, scopes, created_at, expires_at, \
                       last_used_at, revoked_at";

impl Identities for SqliteHub {
    fn admit(&self, token: NewIdentity) -> Answered<'_, Identity> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| admit(db, &token, clock.now())))
    }

    fn admit_first(&self, token: NewIdentity) -> Answered<'_, Option<Identity>> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let any: bool =
                db.query_row("SELECT EXISTS (SELECT 1 FROM token)", [], |row| row.get(0))?;
            if any {
                return Ok(None);
            }
            admit(db, &token, clock.now()).map(Some)
        }))
    }

    fn by_hash(&self, hash: [u8; 32]) -> Answered<'_, Option<Identity>> {
        let now = self.clock.now();
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM token
                 WHERE hash = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)"
            ))?;
            let found = query.query_row(params![hash, now], |row| Ok(identity(row)));
            found.optional()?.transpose()
        }))
    }

    fn identities(&self) -> Answered<'_, Vec<Identity>> {
        Box::pin(self.read(|db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM token ORDER BY created_at DESC, token_id DESC"
            ))?;
            let mut rows = query.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(identity(row)?);
            }
            Ok(all)
        }))
    }

    fn revoke(&self, token_id: Uuid) -> Answered<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let changed = db.execute(
                "UPDATE token SET revoked_at = coalesce(revoked_at, ?2) WHERE token_id = ?1",
                params![token_id.to_string(), clock.now()],
            )?;
            Ok(changed > 0)
        }))
    }

    fn used(&self, tokens: Vec<Uuid>) -> Answered<'_, ()> {
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

fn admit(db: &Connection, token: &NewIdentity, now: i64) -> Result<Identity, HubStoreError> {
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
    Ok(Identity {
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

fn identity(row: &Row<'_>) -> Result<Identity, HubStoreError> {
    let scopes: String = row.get("scopes")?;
    Ok(Identity {
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
