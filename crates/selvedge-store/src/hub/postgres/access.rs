//! Sessions of the dashboard, the audit log, and the state of the database.

use selvedge_core::model::TaskId;
use selvedge_protocol::PersonId;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::PostgresHub;
use super::columns::{NOW, PostgresColumns, int, text};
use super::tokens::{TOKEN_COLUMNS, read_token};
use crate::hub::access::{
    AuditAction, AuditActor, AuditChannel, AuditEntry, AuditOrder, AuditQuery, LoginSession,
    NewLoginSession, Person, SessionOwner, TaskAudit, person_column, read_person_column,
};
use crate::hub::error::HubStoreError;
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::{AuditStore, DatabaseStatus, StoreFuture};

/// Inserts the entries of the audit log about the rows of `changed`, which have the columns `at`, `project`, `subject` and
/// `detail`; see [`PostgresHub::execute_audited`].
pub(super) const AUDIT_CHANGED: &str =
    "INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
     SELECT at, project, $1, $2, $3, $4, subject, detail, $5 FROM changed RETURNING 1";

/// SQL condition: whether a token `t` and a session `s` give access now.
pub(super) fn token_is_valid() -> String {
    format!(
        "t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > {NOW})
         AND NOT EXISTS (SELECT 1 FROM project p WHERE p.name = t.project AND p.deleted_at IS NOT NULL)"
    )
}

/// Whether the token of a session `s`, or the project of its person, is valid now.
fn owner_is_valid() -> String {
    format!(
        "(s.token_id IS NULL OR ({}))
         AND NOT EXISTS (SELECT 1 FROM project p WHERE p.name = s.project AND p.deleted_at IS NOT NULL)",
        token_is_valid()
    )
}

fn session_is_open() -> String {
    format!("s.ended_at IS NULL AND s.expires_at > {NOW} AND s.last_used_at + s.idle_ms > {NOW}")
}

/// Columns of a session.
const SESSION_COLUMNS: &str =
    "s.session_id, s.created_at, s.last_used_at, s.expires_at, s.idle_ms, s.person";
/// Columns of the person whose session it is.
const PERSON_COLUMNS: &str = "s.name, s.project, s.scopes";

fn read_session(row: &Row) -> Result<LoginSession, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    let (session_id, created_at, last_used_at) = (cells.next()?, cells.next()?, cells.next()?);
    let (expires_at, idle_ms) = (cells.next()?, cells.next()?);
    let person: Option<&str> = cells.next()?;
    let (name, project): (Option<String>, Option<String>) = (cells.next()?, cells.next()?);
    let scopes: Option<&str> = cells.next()?;
    let owner = match person {
        None => SessionOwner::Token(read_token(&mut cells)?),
        Some(person) => SessionOwner::Person(Person {
            id: read_person_column(person)?,
            name: name.unwrap_or_default(),
            project: project.unwrap_or_default(),
            scopes: serde_json::from_str(scopes.unwrap_or_default()).map_err(damaged)?,
        }),
    };
    Ok(LoginSession {
        session_id,
        owner,
        created_at,
        last_used_at,
        expires_at,
        idle_ms,
    })
}

impl PostgresHub {
    /// Executes a statement that ends with [`AUDIT_CHANGED`] and whose own parameters begin with $6; `false` if it changes
    /// nothing.
    pub(super) async fn execute_audited(
        &self,
        sql: &str,
        own: &[&(dyn ToSql + Sync)],
        by: &AuditActor,
        action: AuditAction,
    ) -> Result<bool, HubStoreError> {
        let (actor, person) = (text(&by.name), by.person_column());
        let (channel, action) = (by.channel.as_str(), action.as_str());
        let mut values: Vec<&(dyn ToSql + Sync)> =
            vec![&actor, &by.token_id, &channel, &action, &person];
        values.extend(own);
        Ok(!self.rows(sql, &values).await?.is_empty())
    }

    /// Deletes a row of a table whose rows have a project and a name; `false` if there is none.
    pub(super) async fn delete_audited(
        &self,
        table: &str,
        key: &str,
        id: Uuid,
        by: &AuditActor,
        action: AuditAction,
    ) -> Result<bool, HubStoreError> {
        let sql = format!(
            "WITH changed AS (
                 DELETE FROM {table} WHERE {key} = $6
                 RETURNING {NOW} AS at, project, {key}::text AS subject, name AS detail
             )
             {AUDIT_CHANGED}"
        );
        self.execute_audited(&sql, &[&id], by, action).await
    }

    /// Inserts a session; repeating the statement changes nothing.
    pub(super) async fn insert_session_row(
        &self,
        session: &NewLoginSession,
    ) -> Result<(), HubStoreError> {
        let sql = format!(
            "WITH made AS (
                 INSERT INTO login_session (session_id, token_id, hash, created_at, last_used_at, expires_at, idle_ms,
                                            person, name, project, scopes)
                 SELECT $1, $2, $3, now, now, now + $4::bigint, $5::bigint, $11, $12, $13, $14
                 FROM (SELECT {NOW} AS now) AS clock
                 ON CONFLICT (session_id) DO NOTHING
                 RETURNING token_id, created_at, name, project
             )
             INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
             SELECT made.created_at, coalesce(t.project, made.project), $6, $7, $8, $9, $10,
                    coalesce('token ' || t.name, 'person ' || made.name), $15
             FROM made LEFT JOIN token t USING (token_id)"
        );
        let person = session.owner.person();
        let id = person.map(|it| person_column(&it.id)).transpose()?;
        let scopes = person.map(|it| serde_json::to_string(&it.scopes));
        let scopes = scopes.transpose().map_err(damaged)?;
        let actor = &session.actor;
        let (name, channel) = (text(&actor.name), actor.channel.as_str());
        let subject = session.session_id.to_string();
        self.rows(
            &sql,
            &[
                &session.session_id,
                &session.owner.token_id(),
                &session.hash.as_slice(),
                &session.lasts_ms,
                &session.idle_ms,
                &name,
                &actor.token_id,
                &channel,
                &AuditAction::StartSession.as_str(),
                &subject,
                &id,
                &person.map(|it| text(&it.name)),
                &person.map(|it| text(&it.project)),
                &scopes,
                &actor.person_column(),
            ],
        )
        .await
        .map(drop)
    }

    pub(super) async fn session_by_hash(
        &self,
        hash: [u8; 32],
    ) -> Result<Option<LoginSession>, HubStoreError> {
        let sql = format!(
            "SELECT {SESSION_COLUMNS}, {PERSON_COLUMNS}, {TOKEN_COLUMNS}
             FROM login_session s LEFT JOIN token t USING (token_id) WHERE s.hash = $1 AND {} AND {}",
            session_is_open(),
            owner_is_valid()
        );
        let rows = self.rows_by_key(&sql, &[&hash.as_slice()]).await?;
        rows.first().map(read_session).transpose()
    }

    pub(super) async fn sessions_of(
        &self,
        project: &str,
    ) -> Result<Vec<LoginSession>, HubStoreError> {
        let sql = format!(
            "SELECT {SESSION_COLUMNS}, {PERSON_COLUMNS}, {TOKEN_COLUMNS}
             FROM login_session s LEFT JOIN token t USING (token_id)
             WHERE coalesce(t.project, s.project) = $1 AND {} AND {}
             ORDER BY s.created_at DESC, s.session_id DESC",
            session_is_open(),
            owner_is_valid()
        );
        let rows = self.rows(&sql, &[&text(project)]).await?;
        rows.iter().map(read_session).collect()
    }

    /// Ends a session. If the connection is lost after the commit, the repeated statement finds the session
    /// ended and returns `false`.
    pub(super) async fn end_session_row(
        &self,
        project: &str,
        session: Uuid,
        by: &AuditActor,
    ) -> Result<bool, HubStoreError> {
        let sql = format!(
            "WITH gone AS (
                 UPDATE login_session s SET ended_at = {NOW}
                 WHERE s.session_id = $1 AND {}
                   AND (s.project = $2 OR EXISTS (
                        SELECT 1 FROM token t WHERE t.token_id = s.token_id AND t.project = $2))
                 RETURNING s.ended_at, s.token_id, s.name
             )
             INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
             SELECT ended_at, $2, $3, $4, $5, $6, $7,
                    coalesce('token ' || t.name, 'person ' || gone.name), $8
             FROM gone LEFT JOIN token t USING (token_id)
             RETURNING 1",
            session_is_open()
        );
        let rows = self
            .rows(
                &sql,
                &[
                    &session,
                    &text(project),
                    &text(&by.name),
                    &by.token_id,
                    &by.channel.as_str(),
                    &AuditAction::EndSession.as_str(),
                    &session.to_string(),
                    &by.person_column(),
                ],
            )
            .await?;
        Ok(!rows.is_empty())
    }

    pub(super) async fn ended_access(
        &self,
        tokens: &[Uuid],
        sessions: &[Uuid],
    ) -> Result<Vec<Uuid>, HubStoreError> {
        let sql = format!(
            "SELECT id FROM unnest($1::uuid[]) AS given (id) WHERE NOT EXISTS (
                 SELECT 1 FROM token t WHERE t.token_id = id AND {valid})
             UNION ALL
             SELECT id FROM unnest($2::uuid[]) AS given (id) WHERE NOT EXISTS (
                 SELECT 1 FROM login_session s LEFT JOIN token t USING (token_id)
                 WHERE s.session_id = id AND {open} AND {owner})",
            open = session_is_open(),
            owner = owner_is_valid(),
            valid = token_is_valid()
        );
        let rows = self.rows(&sql, &[&tokens, &sessions]).await?;
        rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
    }
}

async fn audit_entries(
    hub: &PostgresHub,
    query: AuditQuery,
) -> Result<Vec<AuditEntry>, HubStoreError> {
    let (after, before, order) = match query.order {
        AuditOrder::NewestFirst { before } => (0, before, "ORDER BY seq DESC"),
        // Only transactions that ended before every running one: none of them can add an earlier entry. Ids that no
        // transaction has reached yet come from the database that this one was restored from.
        AuditOrder::OldestFirst { after } => (
            after,
            None,
            "AND (transaction_id < txid_snapshot_xmin(txid_current_snapshot())
                  OR transaction_id >= txid_snapshot_xmax(txid_current_snapshot())) ORDER BY seq",
        ),
    };
    let sql = format!(
        "SELECT seq, at, project, actor, token_id, channel, action, subject, detail, person FROM audit
         WHERE project = $1 AND seq > $2 AND ($3::bigint IS NULL OR seq < $3)
           AND ($4::text IS NULL OR actor = $4)
           AND ($5::text IS NULL OR action = $5)
           AND ($6::text IS NULL OR subject = $6)
           {order} LIMIT $7"
    );
    let rows = hub
        .rows(
            &sql,
            &[
                &text(&query.project),
                &int(after),
                &before.map(int),
                &query.actor.as_deref().map(text),
                &query.action.map(AuditAction::as_str),
                &query.subject.as_deref().map(text),
                &i64::try_from(query.limit).unwrap_or(i64::MAX),
            ],
        )
        .await?;
    rows.iter().map(read_entry).collect()
}

fn read_entry(row: &Row) -> Result<AuditEntry, HubStoreError> {
    let mut cells = PostgresColumns::of(row);
    let (seq, at, project) = (cells.count()?, cells.next()?, cells.next()?);
    let (name, token_id) = (cells.next()?, cells.next()?);
    let (channel, action): (&str, &str) = (cells.next()?, cells.next()?);
    let (subject, detail) = (cells.next()?, cells.next()?);
    let person: Option<&str> = cells.next()?;
    Ok(AuditEntry {
        seq,
        at,
        project,
        actor: AuditActor {
            name,
            token_id,
            person: person.map(read_person_column).transpose()?,
            channel: AuditChannel::parse(channel).ok_or_else(|| damaged(channel))?,
        },
        action: AuditAction::parse(action).ok_or_else(|| damaged(action))?,
        subject,
        detail,
    })
}

impl AuditStore for PostgresHub {
    fn record_audit(&self, task: TaskId, audit: TaskAudit) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
                 SELECT {NOW}, project, $2, $3, $4, $5, task_id::text, $6, $7 FROM request WHERE task_id = $1"
            );
            let TaskAudit {
                actor,
                action,
                detail,
            } = &audit;
            self.rows(
                &sql,
                &[
                    &task.uuid(),
                    &text(&actor.name),
                    &actor.token_id,
                    &actor.channel.as_str(),
                    &action.as_str(),
                    &text(detail),
                    &actor.person_column(),
                ],
            )
            .await
            .map(drop)
        })
    }

    fn audit_entries(&self, query: AuditQuery) -> StoreFuture<'_, Vec<AuditEntry>> {
        Box::pin(audit_entries(self, query))
    }

    fn submitting_person(&self, task: TaskId) -> StoreFuture<'_, Option<PersonId>> {
        Box::pin(async move {
            let sql = "SELECT person FROM task_submitter WHERE task_id = $1";
            let rows = self.rows(sql, &[&task.uuid()]).await?;
            let first = rows.first().map(|row| row.try_get::<_, &str>(0));
            first.transpose()?.map(read_person_column).transpose()
        })
    }

    fn purge_audit(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64> {
        Box::pin(async move {
            // Reads only the oldest entries: there is no index over the times.
            let sql = format!(
                "DELETE FROM audit WHERE seq IN (
                     SELECT seq FROM (SELECT seq, at FROM audit ORDER BY seq LIMIT $2) AS oldest
                     WHERE at < {NOW} - $1::bigint)
                 RETURNING 1"
            );
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            let gone = self.rows(&sql, &[&older_than_ms, &limit]).await?;
            Ok(u64::try_from(gone.len()).unwrap_or(u64::MAX))
        })
    }
}

impl DatabaseStatus for PostgresHub {
    fn database_id(&self) -> Uuid {
        self.database_id
    }

    fn probe_writes(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let sql = format!(
                "INSERT INTO write_probe VALUES (true, {NOW})
                 ON CONFLICT (only_row) DO UPDATE SET at = excluded.at"
            );
            self.rows(&sql, &[]).await.map(drop)
        })
    }
}

/// The identity of the database.
pub(super) async fn load_database_id(client: &Client) -> Result<Uuid, HubStoreError> {
    let sql = "SELECT database_id FROM database_identity";
    Ok(client.query_one(sql, &[]).await?.try_get(0)?)
}
