//! Writes the data of a batch of changes, apart from the tasks' rows: parameters are arrays, one for each column, so
//! that a batch is one statement for each table. All statements are sent before the first is answered.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;

use futures_util::future::join_all;
use selvedge_core::model::AttemptEnd;
use selvedge_protocol::{CostEntry, TaskState};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};
use uuid::Uuid;

use super::batch_writer::WriterConnection;
use super::columns::{PostgresTaskRow, TaskColumns, UPDATE_TASKS, int, small, text};
use crate::hub::access::TaskAudit;
use crate::hub::change::WriteSet;
use crate::hub::error::HubStoreError;
use crate::hub::sqlite::columns::{damaged, word};

const LOG: &str = "
    INSERT INTO log SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])";
const BEGUN: &str = "
    INSERT INTO attempt (task_no, attempt_number, epoch, begun_at)
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[])";
const CLOSED: &str = "
    UPDATE attempt r SET closed_at = u.at, closed_as = u.closed_as
    FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::text[])
         AS u (task_no, attempt_number, at, closed_as)
    WHERE r.task_no = u.task_no AND r.attempt_number = u.attempt_number
      AND (r.closed_as IS NULL OR r.closed_as = 'interrupted')";
const REPORTS: &str = "
    INSERT INTO report
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[])
    ON CONFLICT DO NOTHING";
const LATE: &str = "
    INSERT INTO late_report
    SELECT * FROM unnest($1::bigint[], $2::integer[], $3::bigint[], $4::bigint[], $5::bytea[], $6::text[])
    ON CONFLICT DO NOTHING";
const JOURNAL: &str = "
    INSERT INTO journal SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::text[])";
const COSTS: &str = "
    INSERT INTO cost
    SELECT line.* FROM unnest($1::bigint[], $2::integer[], $3::text[], $4::bigint[], $5::bigint[], $6::text[],
                              $7::bigint[], $8::bigint[], $9::text[]) AS line (task_no, run, call)
    WHERE line.call <> 'lost' OR (
        SELECT true FROM cost WHERE cost.task_no = line.task_no AND cost.attempt_number = line.run LIMIT 1) IS NULL
    ON CONFLICT DO NOTHING";
const RESULTS: &str = "
    INSERT INTO result SELECT * FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[])
    ON CONFLICT DO NOTHING";
const FILES: &str = "
    INSERT INTO file SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[])
    ON CONFLICT (task_no, name) DO UPDATE SET hash = excluded.hash, size = excluded.size";

const AUDIT: &str = "
    INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
    SELECT a.at, r.project, a.actor, a.token_id, a.channel, a.action, r.task_id::text, a.detail, a.person
    FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[],
                $8::text[])
         AS a (task_no, at, actor, token_id, channel, action, detail, person)
    JOIN request r ON r.task_no = a.task_no";

/// Adds an event of each of these tasks for the webhooks of its project. Comes after the update of the tasks.
const WEBHOOK_DELIVERIES: &str = "
    INSERT INTO webhook_delivery (message_id, webhook_id, event, task_id, state, outcome, reason, attempts, at, due_at)
    SELECT 'msg_' || replace(gen_random_uuid()::text, '-', ''), w.webhook_id, e.kind, r.task_id, t.state, t.outcome,
           t.reason, t.last_attempt, t.updated_at, t.updated_at
    FROM unnest($1::bigint[]) AS changed (task_no)
    JOIN task t ON t.task_no = changed.task_no
    JOIN request r ON r.task_no = t.task_no
    JOIN webhook w ON w.project = r.project,
    LATERAL (SELECT CASE t.state WHEN 'dead' THEN 'task.dead'
                                 WHEN 'needs_review' THEN 'task.needs_review'
                                 ELSE 'task.finished' END) AS e (kind)
    WHERE EXISTS (SELECT 1 FROM webhook) AND (w.events = '[]' OR w.events::jsonb @> to_jsonb(e.kind))";

/// The prepared statements.
pub(super) struct WriteStatements {
    save: Statement,
    webhook_deliveries: Statement,
    log: Statement,
    begun: Statement,
    closed: Statement,
    reports: Statement,
    late: Statement,
    journal: Statement,
    costs: Statement,
    results: Statement,
    files: Statement,
    audit: Statement,
}

impl WriteStatements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        Ok(Self {
            save: client.prepare(UPDATE_TASKS).await?,
            webhook_deliveries: client.prepare(WEBHOOK_DELIVERIES).await?,
            log: client.prepare(LOG).await?,
            begun: client.prepare(BEGUN).await?,
            closed: client.prepare(CLOSED).await?,
            reports: client.prepare(REPORTS).await?,
            late: client.prepare(LATE).await?,
            journal: client.prepare(JOURNAL).await?,
            costs: client.prepare(COSTS).await?,
            results: client.prepare(RESULTS).await?,
            files: client.prepare(FILES).await?,
            audit: client.prepare(AUDIT).await?,
        })
    }
}

/// Columns of `log` and of `journal`.
#[derive(Default)]
struct EventColumns {
    tasks: Vec<i64>,
    seqs: Vec<i64>,
    at: Vec<i64>,
    events: Vec<String>,
}

impl EventColumns {
    fn push(&mut self, task: i64, seq: u64, at: i64, event: String) {
        self.tasks.push(task);
        self.seqs.push(int(seq));
        self.at.push(at);
        self.events.push(event);
    }
}

/// Columns of `report` and of `late_report`.
#[derive(Default)]
struct ReportColumns {
    tasks: Vec<i64>,
    runs: Vec<i32>,
    epochs: Vec<i64>,
    at: Vec<i64>,
    digests: Vec<Vec<u8>>,
    bodies: Vec<String>,
}

impl ReportColumns {
    fn push(&mut self, task: i64, now: i64, report: (u32, u64, [u8; 32], String)) {
        let (run, epoch, digest, body) = report;
        self.tasks.push(task);
        self.runs.push(small(run));
        self.epochs.push(int(epoch));
        self.at.push(now);
        self.digests.push(digest.to_vec());
        self.bodies.push(body);
    }
}

#[derive(Default)]
struct CostColumns {
    tasks: Vec<i64>,
    runs: Vec<i32>,
    calls: Vec<String>,
    at: Vec<i64>,
    micro_usd: Vec<Option<i64>>,
    sources: Vec<String>,
    tokens_in: Vec<i64>,
    tokens_out: Vec<i64>,
    bodies: Vec<String>,
}

#[derive(Default)]
struct AuditColumns {
    tasks: Vec<i64>,
    at: Vec<i64>,
    actors: Vec<String>,
    tokens: Vec<Option<Uuid>>,
    people: Vec<Option<String>>,
    channels: Vec<&'static str>,
    actions: Vec<&'static str>,
    details: Vec<String>,
}

impl AuditColumns {
    fn push(&mut self, task: i64, now: i64, audit: &TaskAudit) {
        self.tasks.push(task);
        self.at.push(now);
        self.actors.push(text(&audit.actor.name).into_owned());
        self.tokens.push(audit.actor.token_id);
        self.people.push(audit.actor.person_column());
        self.channels.push(audit.actor.channel.as_str());
        self.actions.push(audit.action.as_str());
        self.details.push(text(&audit.detail).into_owned());
    }
}

/// All data that a batch writes.
#[derive(Default)]
pub(super) struct BatchWrites {
    rows: Vec<PostgresTaskRow>,
    /// The tasks whose new states are events for webhooks.
    webhook_events: Vec<i64>,
    log: EventColumns,
    begun: (Vec<i64>, Vec<i32>, Vec<i64>, Vec<i64>),
    /// By task and attempt: a statement must not update a row twice.
    closed: BTreeMap<(i64, i32), (i64, AttemptEnd)>,
    reports: ReportColumns,
    late_reports: ReportColumns,
    journal: EventColumns,
    costs: CostColumns,
    results: (Vec<i64>, Vec<String>, Vec<i64>, Vec<String>),
    files: BTreeMap<(i64, String), (String, i64)>,
    audit: AuditColumns,
}

impl BatchWrites {
    /// Whether the row of any task changes.
    pub(super) const fn changes_tasks(&self) -> bool {
        !self.rows.is_empty()
    }

    /// Adds the row of a task after the last change of it.
    pub(super) fn add_row(&mut self, row: PostgresTaskRow, state_before: TaskState) {
        let state = row.row.lease.state;
        if state != state_before && (state.is_terminal() || state == TaskState::NeedsReview) {
            self.webhook_events.push(row.number);
        }
        self.rows.push(row);
    }

    /// Adds the data of one change of a task, except its row.
    pub(super) fn add(
        &mut self,
        task: i64,
        now: i64,
        written: WriteSet,
    ) -> Result<(), HubStoreError> {
        for (seq, event) in written.log {
            let event = serde_json::to_string(&event).map_err(damaged)?;
            self.log.push(task, seq, now, event);
        }
        for (run, epoch) in written.begun {
            self.begun.0.push(task);
            self.begun.1.push(small(run));
            self.begun.2.push(int(epoch));
            self.begun.3.push(now);
        }
        for (run, closing) in written.closed {
            let closed = self
                .closed
                .entry((task, small(run)))
                .or_insert((now, closing));
            if closed.1 == AttemptEnd::Interrupted {
                *closed = (now, closing);
            }
        }
        for report in written.reports {
            self.reports.push(task, now, report);
        }
        for report in written.late_reports {
            self.late_reports.push(task, now, report);
        }
        for line in written.journal {
            self.journal.push(task, line.seq, now, line.event);
        }
        let cut_off = written.interrupted.into_iter().map(CostEntry::lost);
        for line in written.costs.into_iter().chain(cut_off) {
            self.costs.tasks.push(task);
            self.costs.runs.push(small(line.attempt_number));
            self.costs.calls.push(text(&line.call_id).into_owned());
            self.costs.at.push(now);
            let amount = line.cost.micro_usd.map(|amount| int(amount.0));
            self.costs.micro_usd.push(amount);
            self.costs.sources.push(word(line.cost.source));
            self.costs.tokens_in.push(int(line.usage.tokens_in()));
            self.costs.tokens_out.push(int(line.usage.tokens_out()));
            let body = serde_json::to_string(&line).map_err(damaged)?;
            self.costs.bodies.push(body);
        }
        for file in written.files {
            let name = text(&file.name).into_owned();
            let hash = text(&file.hash).into_owned();
            self.files.insert((task, name), (hash, int(file.size)));
        }
        if let Some(audit) = written.audit {
            self.audit.push(task, now, &audit);
        }
        if let Some((completion, body)) = written.result {
            self.results.0.push(task);
            self.results.1.push(text(&completion).into_owned());
            self.results.2.push(now);
            self.results.3.push(body);
        }
        Ok(())
    }

    /// Sends all statements and the commit, and waits for the answers.
    pub(super) async fn commit<P: Sync>(
        &self,
        link: &WriterConnection<P>,
        with: &WriteStatements,
    ) -> Result<(), Error> {
        let rows = TaskColumns::of(self.rows.iter());
        let closed = ClosedAttemptColumns::of(&self.closed);
        let files = FileColumns::of(&self.files);
        let (log, journal, costs) = (&self.log, &self.journal, &self.costs);
        let (begun, results) = (&self.begun, &self.results);
        let values = rows.values();
        let mut flight = StatementPipeline {
            client: &link.client,
            sent: Vec::new(),
        };
        if !rows.is_empty() {
            flight.add(&with.save, values.to_vec());
        }
        if !self.webhook_events.is_empty() {
            flight.add(&with.webhook_deliveries, vec![&self.webhook_events]);
        }
        if !log.tasks.is_empty() {
            flight.add(&with.log, vec![&log.tasks, &log.seqs, &log.at, &log.events]);
        }
        if !begun.0.is_empty() {
            flight.add(&with.begun, vec![&begun.0, &begun.1, &begun.2, &begun.3]);
        }
        if !closed.tasks.is_empty() {
            let values: Vec<SqlParameter<'_>> =
                vec![&closed.tasks, &closed.runs, &closed.at, &closed.closings];
            flight.add(&with.closed, values);
        }
        for (statement, of) in [
            (&with.reports, &self.reports),
            (&with.late, &self.late_reports),
        ] {
            if !of.tasks.is_empty() {
                let values: Vec<SqlParameter<'_>> = vec![
                    &of.tasks,
                    &of.runs,
                    &of.epochs,
                    &of.at,
                    &of.digests,
                    &of.bodies,
                ];
                flight.add(statement, values);
            }
        }
        if !journal.tasks.is_empty() {
            let values: Vec<SqlParameter<'_>> =
                vec![&journal.tasks, &journal.seqs, &journal.at, &journal.events];
            flight.add(&with.journal, values);
        }
        if !costs.tasks.is_empty() {
            let values: Vec<SqlParameter<'_>> = vec![
                &costs.tasks,
                &costs.runs,
                &costs.calls,
                &costs.at,
                &costs.micro_usd,
                &costs.sources,
                &costs.tokens_in,
                &costs.tokens_out,
                &costs.bodies,
            ];
            flight.add(&with.costs, values);
        }
        if !results.0.is_empty() {
            flight.add(
                &with.results,
                vec![&results.0, &results.1, &results.2, &results.3],
            );
        }
        if !files.tasks.is_empty() {
            let values: Vec<SqlParameter<'_>> =
                vec![&files.tasks, &files.names, &files.hashes, &files.sizes];
            flight.add(&with.files, values);
        }
        let audit = &self.audit;
        if !audit.tasks.is_empty() {
            let values: Vec<SqlParameter<'_>> = vec![
                &audit.tasks,
                &audit.at,
                &audit.actors,
                &audit.tokens,
                &audit.channels,
                &audit.actions,
                &audit.details,
                &audit.people,
            ];
            flight.add(&with.audit, values);
        }
        if !flight.sent.is_empty() {
            flight.sent.push(Box::pin(link.record_commit()));
        }
        flight.commit().await
    }
}

type SqlParameter<'a> = &'a (dyn ToSql + Sync);

type SentStatement<'a> = Pin<Box<dyn Future<Output = Result<(), Error>> + Send + 'a>>;

/// Statements that are sent without waiting for the answers of earlier ones.
struct StatementPipeline<'a> {
    client: &'a Client,
    sent: Vec<SentStatement<'a>>,
}

impl<'a> StatementPipeline<'a> {
    fn add(&mut self, statement: &'a Statement, values: Vec<SqlParameter<'a>>) {
        let client = self.client;
        self.sent.push(Box::pin(async move {
            client.execute(statement, &values).await.map(drop)
        }));
    }

    /// Commits and returns the first error. After an error the server does not commit, whatever is sent.
    async fn commit(mut self) -> Result<(), Error> {
        self.sent
            .push(Box::pin(self.client.batch_execute("COMMIT")));
        // Each one is sent when it is first polled, in this order.
        let answers = join_all(self.sent).await;
        answers.into_iter().collect()
    }
}

#[derive(Default)]
struct ClosedAttemptColumns {
    tasks: Vec<i64>,
    runs: Vec<i32>,
    at: Vec<i64>,
    closings: Vec<String>,
}

impl ClosedAttemptColumns {
    fn of(closed: &BTreeMap<(i64, i32), (i64, AttemptEnd)>) -> Self {
        let mut columns = Self::default();
        for ((task, run), (at, closing)) in closed {
            columns.tasks.push(*task);
            columns.runs.push(*run);
            columns.at.push(*at);
            columns.closings.push(word(*closing));
        }
        columns
    }
}

#[derive(Default)]
struct FileColumns<'a> {
    tasks: Vec<i64>,
    names: Vec<Cow<'a, str>>,
    hashes: Vec<Cow<'a, str>>,
    sizes: Vec<i64>,
}

impl<'a> FileColumns<'a> {
    fn of(files: &'a BTreeMap<(i64, String), (String, i64)>) -> Self {
        let mut columns = Self::default();
        for ((task, name), (hash, size)) in files {
            columns.tasks.push(*task);
            columns.names.push(Cow::Borrowed(name));
            columns.hashes.push(Cow::Borrowed(hash));
            columns.sizes.push(*size);
        }
        columns
    }
}
