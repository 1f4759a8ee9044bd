//! Assigns tasks to workers and expires unrenewed leases. Rows that another hub has locked are skipped, so
//! that no hub waits for another one.
//!
//! Invariant: a row is read by the statement that locks it, so that no assignment is decided on outdated
//! data.

use std::sync::Arc;

use selvedge_core::model::TaskId;
use selvedge_protocol::lease::{LeaseInput, LeaseRules, decide};
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::batch_writer::{BatchDecision, BatchOp, DecideError, WriterConnection};
use super::changes::SELECT_NOW;
use super::columns::{self, PostgresColumns, PostgresTaskRow, ROW_COLUMNS};
use super::peers::NotifyDebouncer;
use super::submit::json_labels;
use super::writes::{BatchWrites, WriteStatements};
use crate::hub::apply::apply;
use crate::hub::change::{TaskChange, WriteSet};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{Assignment, PollRequest, TaskRecord};

/// Maximum number of tasks that one step of the reaper expires.
const MAX_EXPIRED: i64 = 500;
/// Tolerance beyond all periods. A deadline further ahead was set by a clock that has been set back since.
const SLACK_MS: i64 = 60_000;

fn waiting_tasks_query() -> String {
    format!(
        "SELECT {ROW_COLUMNS}, r.body FROM task t JOIN request r ON r.task_no = t.task_no
         WHERE t.state = 'queued' AND t.labels <@ $1::text::jsonb
           AND t.task_no <> ALL($2::bigint[]) AND r.task_id <> ALL($3::uuid[])
           AND ($5::text[] IS NULL OR r.agent IS NULL OR r.agent LIKE 'acp:%' OR r.agent = ANY($5))
           AND ($6::text[] IS NULL OR r.place IS NULL OR NOT (r.place LIKE '/%' OR r.place LIKE 'file://%')
                OR EXISTS (
                    SELECT 1 FROM unnest($6) folder
                    WHERE starts_with(regexp_replace(r.place, '^file://', '') || '/', folder || '/')))
         ORDER BY t.rank, t.task_no LIMIT $4 FOR NO KEY UPDATE OF t SKIP LOCKED"
    )
}

fn due_tasks_query() -> String {
    format!(
        "SELECT {ROW_COLUMNS} FROM task t JOIN request r ON r.task_no = t.task_no
         WHERE t.state IN ('offered', 'running', 'backoff', 'cancelling')
           AND (t.due_at > $2 OR (t.due_at <= $1 AND NOT ($3 AND t.state IN ('running', 'cancelling'))))
         ORDER BY t.due_at LIMIT $4 FOR NO KEY UPDATE OF t SKIP LOCKED"
    )
}

pub(super) struct AssignmentWriter {
    pub(super) rules: LeaseRules,
    pub(super) notifier: Arc<NotifyDebouncer>,
}

/// A job on the queue as a whole.
pub(super) enum AssignmentJob {
    Assign(Vec<PollRequest>),
    ExpireDue { quiet: bool },
}

pub(super) enum AssignmentResult {
    Assigned(Vec<Assignment>),
    Expired(Vec<TaskRecord>),
}

pub(super) struct AssignmentStatements {
    waiting: Statement,
    due: Statement,
    now: Statement,
    writes: WriteStatements,
}

impl BatchOp for AssignmentWriter {
    type Job = AssignmentJob;
    type Answer = AssignmentResult;
    type Prepared = AssignmentStatements;
    type Draft = BatchWrites;

    async fn prepare(client: &Client) -> Result<AssignmentStatements, Error> {
        let (waiting, due) = (waiting_tasks_query(), due_tasks_query());
        let (waiting, due, moment, writes) = tokio::try_join!(
            client.prepare(&waiting),
            client.prepare(&due),
            client.prepare(SELECT_NOW),
            WriteStatements::prepare(client)
        )?;
        Ok(AssignmentStatements {
            waiting,
            due,
            now: moment,
            writes,
        })
    }

    async fn decide(
        &self,
        link: &WriterConnection<AssignmentStatements>,
        jobs: &[&AssignmentJob],
    ) -> Result<BatchDecision<AssignmentResult, BatchWrites>, DecideError> {
        let (begun, moment) = tokio::join!(
            biased;
            link.client.batch_execute("BEGIN"),
            link.client.query_one(&link.prepared.now, &[])
        );
        begun?;
        let moment = moment?;
        let mut batch = AssignmentBatch {
            connection: link,
            rules: &self.rules,
            now: moment.get(0),
            writes: BatchWrites::default(),
            assigned: Vec::new(),
            is_expired_done: false,
        };
        let mut answers: Vec<AssignmentResult> = jobs
            .iter()
            .map(|job| match job {
                AssignmentJob::Assign(_) => AssignmentResult::Assigned(Vec::new()),
                AssignmentJob::ExpireDue { .. } => AssignmentResult::Expired(Vec::new()),
            })
            .collect();
        for (job, answer) in jobs.iter().zip(&mut answers) {
            if let (AssignmentJob::ExpireDue { quiet }, AssignmentResult::Expired(swept)) =
                (job, answer)
            {
                *swept = batch.expire_due(*quiet).await?;
            }
        }
        for (want, takers) in group_requests(jobs) {
            batch.assign_group(want, &takers, &mut answers).await?;
        }
        Ok(BatchDecision {
            answers,
            draft: batch.writes,
        })
    }

    async fn commit(
        &self,
        link: &WriterConnection<AssignmentStatements>,
        draft: &BatchWrites,
    ) -> Result<(), Error> {
        draft.commit(link, &link.prepared.writes).await?;
        if !draft.rows.is_empty() {
            self.notifier.notify();
        }
        Ok(())
    }
}

/// Polls with the index of their job; polls with the same capabilities share one search.
type RequestGroup<'a> = Vec<(usize, &'a PollRequest)>;

fn group_requests<'a>(jobs: &[&'a AssignmentJob]) -> Vec<(&'a PollRequest, RequestGroup<'a>)> {
    let mut groups: Vec<(&PollRequest, RequestGroup<'_>)> = Vec::new();
    for (job, claim) in jobs.iter().enumerate() {
        let AssignmentJob::Assign(wants) = claim else {
            continue;
        };
        for want in wants {
            let same = |other: &PollRequest| {
                other.capabilities() == want.capabilities() && other.excluded == want.excluded
            };
            match groups.iter_mut().find(|(other, _)| same(other)) {
                Some((_, takers)) => takers.push((job, want)),
                None => groups.push((want, vec![(job, want)])),
            }
        }
    }
    groups
}

struct AssignmentBatch<'a> {
    connection: &'a WriterConnection<AssignmentStatements>,
    rules: &'a LeaseRules,
    now: i64,
    writes: BatchWrites,
    /// Numbers of the tasks that this transaction has assigned.
    assigned: Vec<i64>,
    is_expired_done: bool,
}

impl AssignmentBatch<'_> {
    async fn assign_group(
        &mut self,
        want: &PollRequest,
        takers: &[(usize, &PollRequest)],
        answers: &mut [AssignmentResult],
    ) -> Result<(), DecideError> {
        let slots: usize = takers.iter().map(|(_, want)| want.slots).sum();
        let limit = i64::try_from(slots).unwrap_or(i64::MAX);
        let labels = json_labels(&want.labels)?;
        let not: Vec<Uuid> = want
            .excluded
            .iter()
            .map(|task| TaskId::uuid(*task))
            .collect();
        let (client, waiting) = (&self.connection.client, &self.connection.prepared.waiting);
        let rows = client
            .query(
                waiting,
                &[
                    &labels,
                    &self.assigned,
                    &not,
                    &limit,
                    &want.agents,
                    &want.folders,
                ],
            )
            .await?;
        let mut rows = rows.iter();
        for (job, want) in takers {
            for row in rows.by_ref().take(want.slots) {
                let granted = self.assign(row, &want.worker)?;
                if let (Some(granted), AssignmentResult::Assigned(all)) =
                    (granted, &mut answers[*job])
                {
                    all.push(granted);
                }
            }
        }
        Ok(())
    }

    fn assign(&mut self, found: &Row, worker: &str) -> Result<Option<Assignment>, HubStoreError> {
        let mut cells = PostgresColumns::of(found);
        let PostgresTaskRow { number, mut row } = columns::read_task_row(&mut cells)?;
        let body = cells.next()?;
        let input = LeaseInput::Grant {
            worker: worker.to_owned(),
            token: Uuid::new_v4().simple().to_string(),
        };
        let Ok(decision) = decide(&row.lease, input, self.now, self.rules) else {
            return Ok(None);
        };
        row.lease = decision.lease;
        row.entry_seq = 0;
        row.updated_at = self.now;
        let mut written = WriteSet::default();
        for event in decision.events {
            row.log_seq += 1;
            written.log.push((row.log_seq, event));
        }
        self.writes.add(number, self.now, written)?;
        self.assigned.push(number);
        let kept = row.clone();
        self.writes.rows.push(PostgresTaskRow { number, row: kept });
        Ok(Some(Assignment {
            worker: worker.to_owned(),
            row,
            body,
        }))
    }

    async fn expire_due(&mut self, quiet: bool) -> Result<Vec<TaskRecord>, DecideError> {
        if std::mem::replace(&mut self.is_expired_done, true) {
            return Ok(Vec::new());
        }
        let rules = self.rules;
        let held = rules.ttl_ms + rules.grace_ms;
        let far = self.now + held.max(rules.offer_ms).max(rules.max_backoff_ms()) + SLACK_MS;
        let (client, due) = (&self.connection.client, &self.connection.prepared.due);
        let rows = client
            .query(due, &[&self.now, &far, &quiet, &MAX_EXPIRED])
            .await?;
        let mut swept = Vec::new();
        for row in &rows {
            let PostgresTaskRow { number, mut row } =
                columns::read_task_row(&mut PostgresColumns::of(row))?;
            if row.lease.due_at.is_some_and(|due| due > far) {
                row.lease.due_at = Some(self.now + held);
                self.writes.rows.push(PostgresTaskRow { number, row });
                continue;
            }
            let tick = TaskChange::Lease(LeaseInput::Tick);
            let (_, written) = apply(&mut row, &tick, None, self.now, rules);
            self.writes.add(number, self.now, written)?;
            let kept = row.clone();
            self.writes.rows.push(PostgresTaskRow { number, row: kept });
            swept.push(row);
        }
        Ok(swept)
    }
}
