//! Assigns tasks to workers and expires unrenewed leases. Rows that another hub has locked are skipped, so
//! that no hub waits for another one; other tasks are chosen instead.
//!
//! Invariant: a row is read by the statement that locks it, so that no assignment is decided on outdated
//! data.

use std::collections::{HashMap, HashSet, VecDeque};
use std::iter;
use std::sync::Arc;

use selvedge_core::model::TaskId;
use selvedge_protocol::lease::{LeaseInput, LeaseRules, decide};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::batch_writer::{BatchDecision, BatchOp, DecideError, WriterConnection};
use super::changes::SELECT_NOW;
use super::columns::{self, PostgresColumns, PostgresTaskRow, ROW_COLUMNS};
use super::peers::NotifyDebouncer;
use super::projects::ShareStatements;
use super::submit::json_labels;
use super::writes::{BatchWrites, WriteStatements};
use crate::hub::apply::apply;
use crate::hub::change::{TaskChange, WriteSet};
use crate::hub::error::HubStoreError;
use crate::hub::fair_share::{FairShare, Submitter, SubmitterQueue, open_submitters};
use crate::hub::rows::{Assignment, PollRequest, TaskRecord};

/// Maximum number of tasks that one step of the reaper expires.
const MAX_EXPIRED: i64 = 500;
/// How often tasks are chosen for a group of polls, because other hubs have locked or assigned some. What is lost is not
/// chosen again, so that more than a few times are rare.
const MAX_CHOICES: usize = 50;
/// Tolerance beyond all periods. A deadline further ahead was set by a clock that has been set back since.
const SLACK_MS: i64 = 60_000;

/// The first queued tasks of each of these submitters that a worker can run; no row is locked.
const WAITING_TASKS: &str = "
    SELECT l.number, w.rank, w.task_no FROM unnest($1::bigint[], $2::bigint[]) AS l (number, tasks), LATERAL (
        SELECT t.rank, t.task_no FROM task t JOIN request r ON r.task_no = t.task_no
        WHERE t.state = 'queued' AND t.submitter_no = l.number AND t.labels <@ $3::text::jsonb
          AND r.task_id <> ALL($4::uuid[])
          AND ($5::text[] IS NULL OR r.agent IS NULL OR r.agent LIKE 'acp:%' OR r.agent = ANY($5))
          AND ($6::text[] IS NULL OR r.place IS NULL OR NOT (r.place LIKE '/%' OR r.place LIKE 'file://%')
               OR EXISTS (
                   SELECT 1 FROM unnest($6) folder
                   WHERE starts_with(regexp_replace(r.place, '^file://', '') || '/', folder || '/')))
        ORDER BY t.rank, t.task_no LIMIT l.tasks) w
    ORDER BY l.number, w.rank, w.task_no";

/// Reads and locks chosen tasks that no other hub has locked. The state is compared afterwards: a condition could make the
/// database search all queued tasks instead of these.
fn chosen_tasks_query() -> String {
    format!(
        "SELECT {ROW_COLUMNS}, r.body FROM task t JOIN request r ON r.task_no = t.task_no
         WHERE t.task_no = ANY($1::bigint[]) FOR NO KEY UPDATE OF t SKIP LOCKED"
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
    share: ShareStatements,
    waiting: Statement,
    chosen: Statement,
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
        let (chosen, due) = (chosen_tasks_query(), due_tasks_query());
        let (share, waiting, chosen, due, moment, writes) = tokio::try_join!(
            ShareStatements::prepare(client),
            client.prepare(WAITING_TASKS),
            client.prepare(&chosen),
            client.prepare(&due),
            client.prepare(SELECT_NOW),
            WriteStatements::prepare(client)
        )?;
        Ok(AssignmentStatements {
            share,
            waiting,
            chosen,
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
            taken: TakenTasks::new(),
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
        let groups = group_requests(jobs);
        if !groups.is_empty() {
            let (mut share, submitters) = link.prepared.share.load(&link.client, batch.now).await?;
            for (want, takers) in groups {
                batch
                    .assign_group(want, &takers, &mut share, &submitters, &mut answers)
                    .await?;
            }
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
        if draft.changes_tasks() {
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

/// The first queued tasks of each of these submitters that a worker can run, at most `limit` of each, except those that
/// are taken.
async fn waiting_tasks(
    client: &Client,
    waiting: &Statement,
    want: &PollRequest,
    limit: usize,
    open: &[i64],
    taken: &TakenTasks,
) -> Result<Vec<SubmitterQueue>, DecideError> {
    if open.is_empty() {
        return Ok(Vec::new());
    }
    // Taken tasks are read as well: comparing each task with all of them would take longer.
    let limits: Vec<usize> = open
        .iter()
        .map(|submitter| limit + taken.get(submitter).map_or(0, HashSet::len))
        .collect();
    let sql_limits: Vec<i64> = limits
        .iter()
        .map(|limit| i64::try_from(*limit).unwrap_or(i64::MAX))
        .collect();
    let labels = json_labels(&want.labels)?;
    let not: Vec<Uuid> = want
        .excluded
        .iter()
        .map(|task| TaskId::uuid(*task))
        .collect();
    let values: [&(dyn ToSql + Sync); 6] = [
        &open,
        &sql_limits,
        &labels,
        &not,
        &want.agents,
        &want.folders,
    ];
    let mut found: HashMap<i64, VecDeque<(i64, i64)>> = HashMap::with_capacity(open.len());
    for row in &client.query(waiting, &values).await? {
        let task = (row.try_get(1)?, row.try_get(2)?);
        found.entry(row.try_get(0)?).or_default().push_back(task);
    }
    let queue = |(submitter, limit): (&i64, usize)| {
        let mut tasks = found.remove(submitter)?;
        let is_complete = tasks.len() < limit;
        if let Some(taken) = taken.get(submitter) {
            tasks.retain(|(_, task)| !taken.contains(task));
        }
        Some(SubmitterQueue {
            submitter: *submitter,
            tasks,
            is_complete,
        })
    };
    Ok(open.iter().zip(limits).filter_map(queue).collect())
}

/// Number of tasks that a worker would be given now. Locks nothing.
pub(super) async fn count_assignable(
    client: &Client,
    want: &PollRequest,
) -> Result<u64, DecideError> {
    let statements = ShareStatements::prepare_unlocked(client).await?;
    let waiting = client.prepare(WAITING_TASKS).await?;
    let now = client.query_one(SELECT_NOW, &[]).await?.try_get(0)?;
    let (mut share, submitters) = statements.load(client, now).await?;
    let open = open_submitters(want, &submitters, &share);
    let nothing = TakenTasks::new();
    let queues = waiting_tasks(client, &waiting, want, want.slots, &open, &nothing).await?;
    let chosen = share.choose(queues, want.slots);
    Ok(u64::try_from(chosen.len()).unwrap_or(u64::MAX))
}

/// Numbers of tasks by submitter.
type TakenTasks = HashMap<i64, HashSet<i64>>;

struct AssignmentBatch<'a> {
    connection: &'a WriterConnection<AssignmentStatements>,
    rules: &'a LeaseRules,
    now: i64,
    writes: BatchWrites,
    /// Tasks that this transaction has assigned, or that another hub had locked or assigned.
    taken: TakenTasks,
    is_expired_done: bool,
}

impl AssignmentBatch<'_> {
    async fn assign_group(
        &mut self,
        want: &PollRequest,
        takers: &[(usize, &PollRequest)],
        share: &mut FairShare,
        submitters: &[Submitter],
        answers: &mut [AssignmentResult],
    ) -> Result<(), DecideError> {
        let mut free: VecDeque<(usize, &str)> = takers
            .iter()
            .flat_map(|(job, want)| iter::repeat_n((*job, want.worker.as_str()), want.slots))
            .collect();
        for round in 0..MAX_CHOICES {
            let open = open_submitters(want, submitters, share);
            // The choice is usually almost even among submitters.
            let even = free.len() / open.len().max(1);
            let limit = ((even + even / 8 + 4) << round.min(16)).min(free.len());
            let (client, prepared) = (&self.connection.client, &self.connection.prepared);
            let (waiting, taken) = (&prepared.waiting, &self.taken);
            let queues = waiting_tasks(client, waiting, want, limit, &open, taken).await?;
            let is_complete = queues.iter().all(|queue| queue.is_complete);
            let chosen = share.choose(queues, free.len());
            if chosen.is_empty() {
                return Ok(());
            }
            let numbers: Vec<i64> = chosen.iter().map(|choice| choice.task).collect();
            let rows = client.query(&prepared.chosen, &[&numbers]).await?;
            let mut found = HashMap::with_capacity(rows.len());
            for row in &rows {
                found.insert(row.try_get::<_, i64>(0)?, row);
            }
            let mut has_lost = false;
            for choice in chosen {
                let taken = self.taken.entry(choice.submitter).or_default();
                taken.insert(choice.task);
                let taker = free.front().copied();
                let granted = match (found.get(&choice.task), taker) {
                    (Some(row), Some((_, worker))) => self.assign(row, worker)?,
                    _ => None,
                };
                if let (Some(granted), Some((job, _))) = (granted, taker) {
                    free.pop_front();
                    if let AssignmentResult::Assigned(all) = &mut answers[job] {
                        all.push(granted);
                    }
                } else {
                    // Another hub has locked or assigned it.
                    share.undo_choice(choice);
                    has_lost = true;
                }
            }
            if free.is_empty() || (is_complete && !has_lost) {
                return Ok(());
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
        let state_before = std::mem::replace(&mut row.lease, decision.lease).state;
        row.entry_seq = 0;
        row.updated_at = self.now;
        let mut written = WriteSet::default();
        for event in decision.events {
            row.log_seq += 1;
            written.log.push((row.log_seq, event));
        }
        self.writes.add(number, self.now, written)?;
        let kept = row.clone();
        let changed = PostgresTaskRow { number, row: kept };
        self.writes.add_row(changed, state_before);
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
            let state_before = row.lease.state;
            if row.lease.due_at.is_some_and(|due| due > far) {
                row.lease.due_at = Some(self.now + held);
                self.writes
                    .add_row(PostgresTaskRow { number, row }, state_before);
                continue;
            }
            let tick = TaskChange::Lease(LeaseInput::Tick);
            let (_, written) = apply(&mut row, &tick, None, self.now, rules);
            self.writes.add(number, self.now, written)?;
            let kept = row.clone();
            let changed = PostgresTaskRow { number, row: kept };
            self.writes.add_row(changed, state_before);
            swept.push(row);
        }
        Ok(swept)
    }
}
