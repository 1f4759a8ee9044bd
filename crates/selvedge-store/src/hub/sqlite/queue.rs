//! The queue: submitting, assigning, changing and expiring tasks.

use std::collections::{BTreeMap, VecDeque};
use std::iter;

use rusqlite::{Connection, OptionalExtension, named_params, params};
use selvedge_core::model::{Outcome, TaskId};
use selvedge_protocol::lease::{LeaseEvent, LeaseInput, LeaseRules, decide};
use selvedge_protocol::{PLAN_LABEL, TaskState};
use uuid::Uuid;

use super::columns::{self, ROW_COLUMNS, SqliteTaskRow, VIEW_COLUMNS, damaged, parsed};
use super::retention::RETENTION_STEPS;
use super::writer_cache::WriterCache;
use super::{SqliteHub, access, projects, reader_pool, reports, task_queries};
use crate::hub::apply::apply;
use crate::hub::change::{ChangeOutcome, TaskChange};
use crate::hub::error::HubStoreError;
use crate::hub::fair_share::{FairShare, Submitter, SubmitterQueue, open_submitters};
use crate::hub::rows::{
    Assignment, ListFilter, ListPage, LogLine, NewTask, Overview, PollRequest, SubmitOutcome,
    TaskRecord, TaskView,
};
use crate::hub::task_queries::{NewRunStats, RunStatsRow, TaskCounts, TaskFilter, TaskPageRequest};
use crate::hub::traits::{PRIORITY_STEP_MS, Queue, StoreFuture};

/// Maximum number of tasks that one step of the reaper expires.
const MAX_EXPIRED: usize = 500;

/// After a start, all leases are set to expire one period later, because workers could not renew them meanwhile. A
/// pause that is longer than the maximum is shortened to it: after the clock was set back, a deadline would otherwise
/// be far ahead.
pub(super) fn extend_leases_after_restart(
    db: &Connection,
    now: i64,
    rules: &LeaseRules,
) -> Result<(), HubStoreError> {
    let due = now + rules.ttl_ms + rules.grace_ms;
    let longest_pause = now + rules.max_backoff_ms();
    db.execute(
        "UPDATE task SET due_at = ?1 WHERE state IN ('offered', 'running', 'cancelling')",
        [due],
    )?;
    db.execute(
        "UPDATE task SET due_at = min(due_at, ?1) WHERE state = 'backoff'",
        [longest_pause],
    )?;
    Ok(())
}

impl Queue for SqliteHub {
    fn submit(&self, task: NewTask) -> StoreFuture<'_, SubmitOutcome> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| submit(db, &task, clock.now())))
    }

    fn assign_tasks(&self, wants: Vec<PollRequest>) -> StoreFuture<'_, Vec<Assignment>> {
        let (clock, rules) = (self.clock.clone(), self.settings.rules);
        Box::pin(self.write(move |db| {
            let mut granted = Vec::new();
            let submitters = projects::queued_submitters(db)?;
            if submitters.is_empty() {
                return Ok(granted);
            }
            let mut share = projects::load_share(db, &submitters, clock.now())?;
            for group in group_by_capabilities(&wants) {
                let given = assign_group(db, &group, &submitters, &mut share, clock.now(), &rules)?;
                granted.extend(given);
            }
            Ok(granted)
        }))
    }

    fn count_assignable(&self, want: PollRequest) -> StoreFuture<'_, u64> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let submitters = projects::queued_submitters(db)?;
            let mut share = projects::load_share(db, &submitters, clock.now())?;
            let open = open_submitters(&want, &submitters, &share);
            let waiting = waiting_tasks(db, &want, &open, want.slots)?;
            let chosen = share.choose(waiting, want.slots);
            Ok(u64::try_from(chosen.len()).unwrap_or(u64::MAX))
        }))
    }

    fn change(&self, task: TaskId, change: TaskChange) -> StoreFuture<'_, Option<ChangeOutcome>> {
        let (clock, rules) = (self.clock.clone(), self.settings.rules);
        Box::pin(self.write(move |db| apply_change(db, task, &change, clock.now(), &rules)))
    }

    fn offers_to(&self, worker: String) -> StoreFuture<'_, Vec<TaskRecord>> {
        Box::pin(self.write(move |db| db.offers_to(&worker)))
    }

    fn plans(&self) -> StoreFuture<'_, Vec<TaskId>> {
        Box::pin(self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT task_id FROM plan JOIN task USING (task_no)
                 WHERE state NOT IN ('succeeded', 'failed', 'cancelled', 'dead') ORDER BY task_no",
            )?;
            let ids = query.query_map([], |row| row.get::<_, String>(0))?;
            ids.map(|id| parsed(&id?)).collect()
        }))
    }

    fn expire_due(&self, quiet: bool) -> StoreFuture<'_, Vec<TaskRecord>> {
        let (clock, rules) = (self.clock.clone(), self.settings.rules);
        Box::pin(self.write(move |db| expire_due(db, quiet, clock.now(), &rules)))
    }

    fn now(&self) -> StoreFuture<'_, i64> {
        Box::pin(async { Ok(self.clock.now()) })
    }

    fn task(&self, task: TaskId) -> StoreFuture<'_, Option<(TaskView, String)>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(&format!(
                "SELECT {VIEW_COLUMNS}, (SELECT body FROM task_body b WHERE b.task_no = task.task_no) AS body
                 FROM task WHERE task_id = ?1"
            ))?;
            let found = query
                .query_row([task.to_string()], |row| {
                    Ok((columns::read_task_view(row), row.get::<_, Option<String>>("body")?))
                })
                .optional()?;
            found
                .map(|(view, body)| Ok((view?, body.unwrap_or_default())))
                .transpose()
        }))
    }

    fn tasks(&self, filter: ListFilter, limit: usize) -> StoreFuture<'_, ListPage> {
        Box::pin(self.read(move |db| list(db, &filter, limit)))
    }

    fn list_tasks(
        &self,
        filter: TaskFilter,
        page: TaskPageRequest,
    ) -> StoreFuture<'_, Vec<TaskView>> {
        Box::pin(self.read(move |db| task_queries::page(db, &filter, &page)))
    }

    fn task_counts(&self, filter: TaskFilter) -> StoreFuture<'_, TaskCounts> {
        Box::pin(self.read(move |db| task_queries::task_counts(db, &filter)))
    }

    fn queue_latencies(&self, project: String, limit: usize) -> StoreFuture<'_, Vec<i64>> {
        Box::pin(self.read(move |db| task_queries::queue_latencies(db, &project, limit)))
    }

    fn run_stats(&self, project: String) -> StoreFuture<'_, Vec<RunStatsRow>> {
        Box::pin(self.read(move |db| task_queries::run_stats(db, &project)))
    }

    fn stale_run_stats(
        &self,
        project: String,
        limit: usize,
    ) -> StoreFuture<'_, Vec<(TaskId, u64)>> {
        Box::pin(self.read(move |db| task_queries::stale_run_stats(db, &project, limit)))
    }

    fn saved_run_stats(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>> {
        Box::pin(self.read(move |db| task_queries::saved_run_stats(db, &tasks)))
    }

    fn task_bodies(&self, tasks: Vec<TaskId>) -> StoreFuture<'_, Vec<(TaskId, String)>> {
        Box::pin(self.read(move |db| task_queries::task_bodies(db, &tasks)))
    }

    fn save_run_stats(&self, stats: Vec<NewRunStats>) -> StoreFuture<'_, ()> {
        Box::pin(self.write(move |db| task_queries::save_run_stats(db, &stats)))
    }

    fn log(&self, task: TaskId, after: u64, limit: usize) -> StoreFuture<'_, Vec<LogLine>> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT seq, at, event FROM log
                 WHERE task_no = (SELECT task_no FROM task WHERE task_id = ?1) AND seq > ?2 ORDER BY seq LIMIT ?3",
            )?;
            let lines = query.query_map(params![task.to_string(), after, limit], |row| {
                Ok(LogLine {
                    seq: row.get(0)?,
                    at: row.get(1)?,
                    event: row.get(2)?,
                })
            })?;
            Ok(lines.collect::<Result<_, _>>()?)
        }))
    }

    fn overview(&self, project: Option<String>) -> StoreFuture<'_, Overview> {
        Box::pin(self.read(move |db| reader_pool::overview(db, project.as_deref())))
    }

    fn purge_expired(&self, older_than_ms: i64, limit: usize) -> StoreFuture<'_, u64> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let before = clock.now() - older_than_ms;
            let mut gone = 0;
            for sql in RETENTION_STEPS {
                gone += db.execute(sql, params![before, limit])?;
            }
            Ok(u64::try_from(gone).unwrap_or(u64::MAX))
        }))
    }
}

fn submit(db: &WriterCache, task: &NewTask, now: i64) -> Result<SubmitOutcome, HubStoreError> {
    if let Some((key, hash)) = &task.idempotency {
        let mut query = db.prepare_cached(
            "SELECT task_id, hash FROM idempotency i JOIN task USING (task_no)
             WHERE i.project = ?1 AND key = ?2",
        )?;
        let known = query
            .query_row(params![task.project, key], |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, Vec<u8>>(1)?))
            })
            .optional()?;
        if let Some((known, known_hash)) = known {
            let known = parsed(&known)?;
            return Ok(if known_hash == hash {
                SubmitOutcome::Duplicate(known)
            } else {
                SubmitOutcome::IdempotencyConflict(known)
            });
        }
    }
    // The client may have sent it before, so this answer is more useful than a limit that is reached by now.
    if columns::load(db, task.task_id)?.is_some() {
        return Ok(SubmitOutcome::IdTaken);
    }
    if let Some(refused) = projects::refuse(db, task)? {
        return Ok(refused);
    }
    let number = insert(db, task, now)?;
    if let Some((key, hash)) = &task.idempotency {
        db.prepare_cached("INSERT INTO idempotency VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![task.project, key, hash, number, now])?;
    }
    Ok(SubmitOutcome::New(task.task_id))
}

/// Inserts a task and returns its number.
fn insert(db: &WriterCache, task: &NewTask, now: i64) -> Result<i64, HubStoreError> {
    // No worker runs a plan.
    let is_plan = task.labels == [PLAN_LABEL];
    let submitter = if is_plan {
        None
    } else {
        Some(projects::submitter_number(db, task)?)
    };
    db.prepare_cached(
        "INSERT INTO task (task_id, project, submitted_by, submitter_no, retry_of, part_of, subtask, title, agent, place,
                           priority, labels, max_attempts, rank, created_at, updated_at, state, log_seq)
         VALUES (:task_id, :project, :submitted_by, :submitter, :retry_of, :part_of, :subtask, :title, :agent, :place,
                 :priority, :labels, :max_attempts, :rank, :now, :now, 'queued', 1)",
    )?
    .execute(named_params! {
        ":task_id": task.task_id.to_string(),
        ":project": task.project,
        ":submitted_by": task.submitted_by,
        ":submitter": submitter,
        ":retry_of": task.retry_of.map(|id| id.to_string()),
        ":part_of": task.part_of.as_ref().map(|part| part.plan.to_string()),
        ":subtask": task.part_of.as_ref().map(|part| &part.subtask),
        ":title": task.title,
        ":agent": task.agent,
        ":place": task.place,
        ":priority": task.priority,
        ":labels": serde_json::to_string(&task.labels).map_err(damaged)?,
        ":max_attempts": task.max_attempts,
        ":rank": now - i64::from(task.priority) * PRIORITY_STEP_MS,
        ":now": now,
    })?;
    let number = db.last_insert_rowid();
    db.prepare_cached("INSERT INTO task_body VALUES (?1, ?2)")?
        .execute(params![number, task.body])?;
    if is_plan {
        db.execute("INSERT INTO plan VALUES (?1)", [number])?;
    }
    reports::insert_log_line(db, number, 1, now, &LeaseEvent::Submitted)?;
    if let Some(actor) = &task.actor {
        let (action, detail) = task.audit();
        let what = (action, &*task.task_id.to_string(), detail.as_str());
        access::insert_audit(db, now, &task.project, actor, what)?;
    }
    if let Some(person) = task.person_column()? {
        db.prepare_cached("INSERT INTO task_submitter VALUES (?1, ?2)")?
            .execute(params![task.task_id.to_string(), person])?;
    }
    Ok(number)
}

/// Groups of workers that can run the same tasks. A worker that excludes tasks is alone.
fn group_by_capabilities(wants: &[PollRequest]) -> Vec<Vec<&PollRequest>> {
    let mut groups = BTreeMap::new();
    let mut alone = Vec::new();
    for want in wants {
        if want.excluded.is_empty() {
            let group: &mut Vec<_> = groups.entry(want.capabilities()).or_default();
            group.push(want);
        } else {
            alone.push(vec![want]);
        }
    }
    alone.extend(groups.into_values());
    alone
}

/// Assigns tasks to workers that can run the same ones.
fn assign_group(
    db: &WriterCache,
    workers: &[&PollRequest],
    submitters: &[Submitter],
    share: &mut FairShare,
    now: i64,
    rules: &LeaseRules,
) -> Result<Vec<Assignment>, HubStoreError> {
    let Some(want) = workers.first() else {
        return Ok(Vec::new());
    };
    let slots = workers
        .iter()
        .flat_map(|want| iter::repeat_n(want.worker.as_str(), want.slots));
    let mut slots: VecDeque<&str> = slots.collect();
    let mut query = db.prepare_cached(&format!(
        "SELECT {ROW_COLUMNS}, (SELECT body FROM task_body b WHERE b.task_no = task.task_no) AS body FROM task
         WHERE task_no = ?1"
    ))?;
    let mut granted = Vec::new();
    // The choice is usually even among submitters.
    let mut limit = slots.len() / submitters.len() + 1;
    loop {
        let open = open_submitters(want, submitters, share);
        let waiting = waiting_tasks(db, want, &open, limit)?;
        let is_complete = waiting.iter().all(|queue| queue.is_complete);
        let granted_before = granted.len();
        for choice in share.choose(waiting, slots.len()) {
            let (kept, body) = query.query_row([choice.task], |row| {
                Ok((columns::read_task_row(row), row.get("body")?))
            })?;
            let worker = slots.front().copied().unwrap_or_default();
            match assign_task(db, kept?, body, worker, now, rules)? {
                Some(assignment) => {
                    granted.push(assignment);
                    slots.pop_front();
                }
                None => share.undo_choice(choice),
            }
        }
        if is_complete || slots.is_empty() || granted.len() == granted_before {
            return Ok(granted);
        }
        limit *= 2;
    }
}

/// The first queued tasks of each of these submitters that the worker can run, at most `limit` of each.
fn waiting_tasks(
    db: &Connection,
    want: &PollRequest,
    submitters: &[i64],
    limit: usize,
) -> Result<Vec<SubmitterQueue>, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT rank, task_no FROM task
         WHERE state = 'queued' AND submitter_no = ?6
           AND (labels = '[]' OR NOT EXISTS (
                 SELECT 1 FROM json_each(labels) needed
                 WHERE needed.value NOT IN (SELECT value FROM json_each(?1))))
           AND (?2 = '[]' OR task_id NOT IN (SELECT value FROM json_each(?2)))
           AND (?4 IS NULL OR agent IS NULL OR agent LIKE 'acp:%' OR agent IN (SELECT value FROM json_each(?4)))
           AND (?5 IS NULL OR place IS NULL OR NOT (place LIKE '/%' OR place LIKE 'file://%') OR EXISTS (
                 SELECT 1 FROM json_each(?5) folder
                 WHERE substr(place || '/', CASE WHEN place LIKE 'file://%' THEN 8 ELSE 1 END,
                              length(folder.value) + 1) = folder.value || '/'))
         ORDER BY rank, task_no LIMIT ?3",
    )?;
    let optional =
        |words: &Option<Vec<String>>| words.as_ref().map(serde_json::to_string).transpose();
    let agents = optional(&want.agents).map_err(damaged)?;
    let folders = optional(&want.folders).map_err(damaged)?;
    let not: Vec<String> = want.excluded.iter().map(ToString::to_string).collect();
    let offers = serde_json::to_string(&want.labels).map_err(damaged)?;
    let not = serde_json::to_string(&not).map_err(damaged)?;
    let mut found = Vec::new();
    for submitter in submitters {
        let parameters = params![offers, not, limit, agents, folders, submitter];
        let tasks = query.query_map(parameters, |row| Ok((row.get(0)?, row.get(1)?)))?;
        let tasks: VecDeque<_> = tasks.collect::<Result<_, _>>()?;
        found.push(SubmitterQueue {
            submitter: *submitter,
            is_complete: tasks.len() < limit,
            tasks,
        });
    }
    Ok(found)
}

fn assign_task(
    db: &WriterCache,
    mut kept: SqliteTaskRow,
    body: String,
    worker: &str,
    now: i64,
    rules: &LeaseRules,
) -> Result<Option<Assignment>, HubStoreError> {
    let input = LeaseInput::Grant {
        worker: worker.to_owned(),
        token: Uuid::new_v4().simple().to_string(),
    };
    let Ok(decision) = decide(&kept.row.lease, input, now, rules) else {
        return Ok(None);
    };
    kept.row.lease = decision.lease;
    kept.row.entry_seq = 0;
    kept.row.updated_at = now;
    for event in &decision.events {
        kept.row.log_seq += 1;
        reports::insert_log_line(db, kept.number, kept.row.log_seq, now, event)?;
    }
    let row = kept.row.clone();
    db.save(kept)?;
    Ok(Some(Assignment {
        worker: worker.to_owned(),
        row,
        body,
    }))
}

fn apply_change(
    db: &WriterCache,
    task: TaskId,
    change: &TaskChange,
    now: i64,
    rules: &LeaseRules,
) -> Result<Option<ChangeOutcome>, HubStoreError> {
    let Some(mut record) = db.load(task)? else {
        return Ok(None);
    };
    // Nothing is stored yet of an attempt that is open.
    let open = record.row.lease.open_attempt;
    let closed = change.closed_attempt().filter(|run| open != Some(*run));
    let stored = match closed {
        Some(attempt_number) => reports::load_stored_attempt(db, record.number, attempt_number)?,
        None => None,
    };
    let (answer, written) = apply(&mut record.row, change, stored, now, rules);
    reports::insert_writes(db, record.number, now, &written)?;
    let row = record.row.clone();
    if written.row {
        db.save(record)?;
    }
    Ok(Some(ChangeOutcome {
        answer,
        row,
        has_begun: written.begins_first_attempt(),
        has_ended: written.has_ended,
    }))
}

fn expire_due(
    db: &WriterCache,
    quiet: bool,
    now: i64,
    rules: &LeaseRules,
) -> Result<Vec<TaskRecord>, HubStoreError> {
    db.prepare_cached(
        "DELETE FROM plan WHERE task_no IN (
             SELECT task_no FROM plan JOIN task USING (task_no)
             WHERE state IN ('succeeded', 'failed', 'cancelled', 'dead'))",
    )?
    .execute([])?;
    let at_work = |state| matches!(state, TaskState::Running | TaskState::Cancelling);
    let due = db.due(now, |state| !quiet || !at_work(state), MAX_EXPIRED)?;
    let mut swept = Vec::new();
    for task in due {
        let tick = TaskChange::Lease(LeaseInput::Tick);
        let verdict = apply_change(db, task, &tick, now, rules)?;
        swept.extend(verdict.map(|verdict| verdict.row));
    }
    Ok(swept)
}

fn list(db: &Connection, filter: &ListFilter, limit: usize) -> Result<ListPage, HubStoreError> {
    let mut query = db.prepare_cached(&format!(
        "SELECT {VIEW_COLUMNS} FROM task
         WHERE (:before IS NULL OR task_id < :before)
           AND (:states = '[]' OR state IN (SELECT value FROM json_each(:states)))
           AND (:outcome IS NULL OR outcome = :outcome)
           AND (:agent IS NULL OR agent = :agent)
           AND (:worker IS NULL OR worker = :worker)
           AND (:project IS NULL OR project = :project)
           AND (:label IS NULL OR :label IN (SELECT value FROM json_each(labels)))
           AND (:text IS NULL OR instr(lower(title), lower(:text)) > 0
                OR instr(lower(coalesce(place, '')), lower(:text)) > 0)
           AND NOT (:without_retried AND EXISTS (SELECT 1 FROM task again WHERE again.retry_of = task.task_id))
         ORDER BY task_id DESC LIMIT :limit"
    ))?;
    let states: Vec<&str> = filter.states.iter().map(|state| state.as_str()).collect();
    let mut rows = query.query(named_params! {
        ":before": filter.before.map(|id| id.to_string()),
        ":states": serde_json::to_string(&states).map_err(damaged)?,
        ":outcome": filter.outcome.map(Outcome::as_str),
        ":agent": filter.agent,
        ":worker": filter.worker,
        ":project": filter.project,
        ":label": filter.label,
        ":text": filter.text,
        ":without_retried": filter.without_retried,
        ":limit": limit + 1,
    })?;
    let mut tasks = Vec::new();
    while let Some(row) = rows.next()? {
        tasks.push(columns::read_task_view(row)?);
    }
    let more = tasks.len() > limit;
    tasks.truncate(limit);
    Ok(ListPage { tasks, more })
}
