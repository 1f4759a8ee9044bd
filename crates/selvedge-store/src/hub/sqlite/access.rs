//! Sessions of the dashboard, the audit log, and the state of the database file.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use selvedge_core::model::TaskId;
use selvedge_protocol::PersonId;
use uuid::Uuid;

use super::SqliteHub;
use super::columns::{damaged, parsed};
use super::tokens::{TOKEN_COLUMNS, read_token};

use crate::hub::access::{
    AuditAction, AuditActor, AuditChannel, AuditEntry, AuditOrder, AuditQuery, LoginSession,
    NewLoginSession, Person, SessionOwner, TaskAudit, person_column, read_person_column,
};
use crate::hub::error::HubStoreError;
use crate::hub::traits::{AuditStore, DatabaseStatus, StoreFuture};

/// Whether a token `t` is valid at `:now`.
pub(super) const TOKEN_IS_VALID: &str = "t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > :now) \
     AND NOT EXISTS (SELECT 1 FROM project p WHERE p.name = t.project AND p.deleted_at IS NOT NULL)";
/// Whether a session `s` has not ended by itself at `:now`.
const SESSION_IS_OPEN: &str =
    "s.ended_at IS NULL AND s.expires_at > :now AND s.last_used_at + s.idle_ms > :now";
const SESSION_COLUMNS: &str = "s.session_id, s.created_at AS session_created_at, \
    s.last_used_at AS session_last_used_at, s.expires_at AS session_expires_at, s.idle_ms, \
    s.person, s.name AS person_name, s.project AS person_project, s.scopes AS person_scopes";

/// Whether the token of a session `s`, or the project of its person, is valid at `:now`.
fn owner_is_valid() -> String {
    format!(
        "(s.token_id IS NULL OR ({TOKEN_IS_VALID}))
         AND NOT EXISTS (SELECT 1 FROM project p WHERE p.name = s.project AND p.deleted_at IS NOT NULL)"
    )
}

/// Identifies a file, whatever its name is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    pub(super) fn of(path: &Path) -> Result<Self, HubStoreError> {
        let metadata = fs::metadata(path)
            .map_err(|error| HubStoreError::Unavailable(format!("{}: {error}", path.display())))?;
        Ok(Self {
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

/// Writes an entry of the audit log.
pub(super) fn insert_audit(
    db: &Connection,
    now: i64,
    project: &str,
    actor: &AuditActor,
    (action, subject, detail): (AuditAction, &str, &str),
) -> Result<(), HubStoreError> {
    db.prepare_cached(
        "INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?
    .execute(params![
        now,
        project,
        actor.name,
        actor.token_id.map(|id| id.to_string()),
        actor.channel.as_str(),
        action.as_str(),
        subject,
        detail,
        actor.person_column(),
    ])?;
    Ok(())
}

/// Deletes a row of a table whose rows have a project and a name; `false` if there is none.
pub(super) fn delete_audited(
    db: &Connection,
    now: i64,
    (table, key, id): (&str, &str, Uuid),
    actor: &AuditActor,
    action: AuditAction,
) -> Result<bool, HubStoreError> {
    let id = id.to_string();
    let sql = format!("DELETE FROM {table} WHERE {key} = ?1 RETURNING project, name");
    let deleted = db.query_row(&sql, [&id], |row| Ok((row.get(0)?, row.get(1)?)));
    let deleted: Option<(String, String)> = deleted.optional()?;
    if let Some((project, name)) = &deleted {
        insert_audit(db, now, project, actor, (action, &id, name))?;
    }
    Ok(deleted.is_some())
}

/// Writes the entry of a change of a task.
pub(super) fn insert_task_audit(
    db: &Connection,
    task_no: i64,
    now: i64,
    audit: &TaskAudit,
) -> Result<(), HubStoreError> {
    let mut query = db.prepare_cached("SELECT project, task_id FROM task WHERE task_no = ?1")?;
    let (project, task): (String, String) =
        query.query_row([task_no], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let what = (audit.action, task.as_str(), audit.detail.as_str());
    insert_audit(db, now, &project, &audit.actor, what)
}

pub(super) fn insert_session(
    db: &Connection,
    session: &NewLoginSession,
    now: i64,
) -> Result<(), HubStoreError> {
    let person = session.owner.person();
    let scopes = person.map(|it| serde_json::to_string(&it.scopes));
    db.execute(
        "INSERT INTO login_session (session_id, token_id, hash, created_at, last_used_at, expires_at, idle_ms,
                                    person, name, project, scopes)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            session.session_id.to_string(),
            session.owner.token_id().map(|id| id.to_string()),
            session.hash,
            now,
            now.saturating_add(session.lasts_ms),
            session.idle_ms,
            person.map(|it| person_column(&it.id)).transpose()?,
            person.map(|it| &it.name),
            person.map(|it| &it.project),
            scopes.transpose().map_err(damaged)?,
        ],
    )?;
    audit_session(
        db,
        now,
        session.session_id,
        &session.actor,
        AuditAction::StartSession,
    )
}

fn audit_session(
    db: &Connection,
    now: i64,
    session: Uuid,
    actor: &AuditActor,
    action: AuditAction,
) -> Result<(), HubStoreError> {
    let (project, detail): (String, String) = db.query_row(
        "SELECT coalesce(t.project, s.project), coalesce('token ' || t.name, 'person ' || s.name)
         FROM login_session s LEFT JOIN token t USING (token_id) WHERE s.session_id = ?1",
        [session.to_string()],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let what = (action, &*session.to_string(), detail.as_str());
    insert_audit(db, now, &project, actor, what)
}

pub(super) fn find_session(
    db: &Connection,
    hash: [u8; 32],
    now: i64,
) -> Result<Option<LoginSession>, HubStoreError> {
    let mut query = db.prepare_cached(&format!(
        "SELECT {TOKEN_COLUMNS}, {SESSION_COLUMNS} FROM login_session s LEFT JOIN token t USING (token_id)
         WHERE s.hash = :hash AND {SESSION_IS_OPEN} AND {}",
        owner_is_valid()
    ))?;
    let found = query.query_row(named_params! {":hash": hash, ":now": now}, |row| {
        Ok(read_session(row))
    });
    found.optional()?.transpose()
}

pub(super) fn list_sessions(
    db: &Connection,
    project: &str,
    now: i64,
) -> Result<Vec<LoginSession>, HubStoreError> {
    let mut query = db.prepare_cached(&format!(
        "SELECT {TOKEN_COLUMNS}, {SESSION_COLUMNS} FROM login_session s LEFT JOIN token t USING (token_id)
         WHERE coalesce(t.project, s.project) = :project AND {SESSION_IS_OPEN} AND {}
         ORDER BY s.created_at DESC, s.session_id DESC",
        owner_is_valid()
    ))?;
    let mut rows = query.query(named_params! {":project": project, ":now": now})?;
    let mut sessions = Vec::new();
    while let Some(row) = rows.next()? {
        sessions.push(read_session(row)?);
    }
    Ok(sessions)
}

fn read_session(row: &Row<'_>) -> Result<LoginSession, HubStoreError> {
    let person: Option<String> = row.get("person")?;
    let owner = match person {
        None => SessionOwner::Token(read_token(row)?),
        Some(person) => {
            let scopes: String = row.get("person_scopes")?;
            SessionOwner::Person(Person {
                id: read_person_column(&person)?,
                name: row.get("person_name")?,
                project: row.get("person_project")?,
                scopes: serde_json::from_str(&scopes).map_err(damaged)?,
            })
        }
    };
    Ok(LoginSession {
        session_id: parsed(&row.get::<_, String>("session_id")?)?,
        owner,
        created_at: row.get("session_created_at")?,
        last_used_at: row.get("session_last_used_at")?,
        expires_at: row.get("session_expires_at")?,
        idle_ms: row.get("idle_ms")?,
    })
}

pub(super) fn end_session(
    db: &Connection,
    project: &str,
    session: Uuid,
    by: &AuditActor,
    now: i64,
) -> Result<bool, HubStoreError> {
    let changed = db.execute(
        &format!(
            "UPDATE login_session AS s SET ended_at = :now
             WHERE s.session_id = :session AND {SESSION_IS_OPEN}
               AND (s.project = :project
                    OR s.token_id IN (SELECT token_id FROM token WHERE project = :project))"
        ),
        named_params! {":session": session.to_string(), ":project": project, ":now": now},
    )?;
    if changed > 0 {
        audit_session(db, now, session, by, AuditAction::EndSession)?;
    }
    Ok(changed > 0)
}

pub(super) fn find_ended_access(
    db: &Connection,
    tokens: &[Uuid],
    sessions: &[Uuid],
    now: i64,
) -> Result<Vec<Uuid>, HubStoreError> {
    let mut token_query = db.prepare_cached(&format!(
        "SELECT EXISTS (SELECT 1 FROM token t WHERE t.token_id = :id AND {TOKEN_IS_VALID})"
    ))?;
    let mut session_query = db.prepare_cached(&format!(
        "SELECT EXISTS (
             SELECT 1 FROM login_session s LEFT JOIN token t USING (token_id)
             WHERE s.session_id = :id AND {SESSION_IS_OPEN} AND {})",
        owner_is_valid()
    ))?;
    let mut ended = Vec::new();
    for (query, ids) in [(&mut token_query, tokens), (&mut session_query, sessions)] {
        for id in ids {
            let values = named_params! {":id": id.to_string(), ":now": now};
            if !query.query_row(values, |row| row.get::<_, bool>(0))? {
                ended.push(*id);
            }
        }
    }
    Ok(ended)
}

fn audit_entries(db: &Connection, query: &AuditQuery) -> Result<Vec<AuditEntry>, HubStoreError> {
    let (after, before, direction) = match query.order {
        AuditOrder::NewestFirst { before } => (0, before, "DESC"),
        AuditOrder::OldestFirst { after } => (after, None, "ASC"),
    };
    let number = |seq: u64| i64::try_from(seq).unwrap_or(i64::MAX);
    let mut statement = db.prepare_cached(&format!(
        "SELECT seq, at, project, actor, token_id, channel, action, subject, detail, person FROM audit
         WHERE project = :project AND seq > :after AND (:before IS NULL OR seq < :before)
           AND (:actor IS NULL OR actor = :actor)
           AND (:action IS NULL OR action = :action)
           AND (:subject IS NULL OR subject = :subject)
         ORDER BY seq {direction} LIMIT :limit"
    ))?;
    let mut rows = statement.query(named_params! {
        ":project": query.project,
        ":after": number(after),
        ":before": before.map(number),
        ":actor": query.actor,
        ":action": query.action.map(AuditAction::as_str),
        ":subject": query.subject,
        ":limit": query.limit,
    })?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next()? {
        let channel: String = row.get("channel")?;
        let action: String = row.get("action")?;
        let token: Option<String> = row.get("token_id")?;
        let person: Option<String> = row.get("person")?;
        entries.push(AuditEntry {
            seq: row.get("seq")?,
            at: row.get("at")?,
            project: row.get("project")?,
            actor: AuditActor {
                name: row.get("actor")?,
                token_id: token.map(|id| parsed(&id)).transpose()?,
                person: person.as_deref().map(read_person_column).transpose()?,
                channel: AuditChannel::parse(&channel).ok_or_else(|| damaged(&channel))?,
            },
            action: AuditAction::parse(&action).ok_or_else(|| damaged(&action))?,
            subject: row.get("subject")?,
            detail: row.get("detail")?,
        });
    }
    Ok(entries)
}

impl AuditStore for SqliteHub {
    fn record_audit(&self, task: TaskId, audit: TaskAudit) -> StoreFuture<'_, ()> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let mut query = db.prepare_cached("SELECT task_no FROM task WHERE task_id = ?1")?;
            let task = query.query_row([task.to_string()], |row| row.get(0));
            let task: Option<i64> = task.optional()?;
            task.map_or(Ok(()), |task| {
                insert_task_audit(db, task, clock.now(), &audit)
            })
        }))
    }

    fn audit_entries(&self, query: AuditQuery) -> StoreFuture<'_, Vec<AuditEntry>> {
        Box::pin(self.read(move |db| audit_entries(db, &query)))
    }

    fn submitting_person(&self, task: TaskId) -> StoreFuture<'_, Option<PersonId>> {
        Box::pin(self.read(move |db| {
            let mut query =
                db.prepare_cached("SELECT person FROM task_submitter WHERE task_id = ?1")?;
            let found = query.query_row([task.to_string()], |row| row.get::<_, String>(0));
            let found = found.optional()?;
            found.as_deref().map(read_person_column).transpose()
        }))
    }

    fn purge_audit(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let before = clock.now().saturating_sub(older_than_ms);
            // Reads only the oldest entries: there is no index over the times.
            let gone = db.execute(
                "DELETE FROM audit WHERE seq IN (
                     SELECT seq FROM (SELECT seq, at FROM audit ORDER BY seq LIMIT ?2) WHERE at < ?1)",
                params![before, limit],
            )?;
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        }))
    }
}

impl DatabaseStatus for SqliteHub {
    fn database_id(&self) -> Uuid {
        self.database_id
    }

    fn probe_writes(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            // A removed file can still be written until it is closed.
            if FileIdentity::of(&self.path)? != self.file {
                let reason = format!("{} was replaced", self.path.display());
                return Err(HubStoreError::Unavailable(reason));
            }
            let clock = self.clock.clone();
            self.write(move |db| {
                db.prepare_cached("INSERT OR REPLACE INTO write_probe VALUES (1, ?1)")?
                    .execute([clock.now()])?;
                Ok(())
            })
            .await
        })
    }
}

/// The identity of the database.
pub(super) fn load_database_id(db: &Connection) -> Result<Uuid, HubStoreError> {
    let id: String = db.query_row("SELECT database_id FROM database_identity", [], |row| {
        row.get(0)
    })?;
    parsed(&id)
}
