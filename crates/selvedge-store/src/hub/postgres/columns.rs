//! Conversions between task records and rows of the database.

use std::borrow::Cow;

use selvedge_core::model::{MicroUsd, Outcome, ParentPlan, RunId, TaskId};
use selvedge_protocol::TaskState;
use selvedge_protocol::lease::LeaseState;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;
use uuid::Uuid;

use crate::hub::error::HubStoreError;
use crate::hub::rows::{LedgerTotal, TaskRecord, TaskView};
use crate::hub::sqlite::columns::{damaged, outcome, review};

/// The columns for decisions, from `task t` and `request r`.
pub(super) const ROW_COLUMNS: &str = "t.task_no, r.task_id, t.state, t.epoch, t.token, t.worker, t.due_at, \
     t.last_attempt, t.open_attempt, t.reports, t.passed_attempt, t.losses, t.cancel, t.completion, t.outcome, \
     t.feedback, r.max_attempts, t.reason, t.entry_seq, t.event_seq, t.log_seq, r.created_at, t.updated_at";
/// The other columns of a [`TaskView`], with the task's cost as `c`.
pub(super) const VIEW_COLUMNS: &str = "r.project, r.submitted_by, t.submitter_no, r.retry_of, r.part_of, r.subtask, \
     r.title, r.agent, r.place, r.priority, t.labels::text, c.*";
/// Sums over the ledger. A sum that overflows is replaced by the highest value.
pub(super) const LEDGER_SUMS: &str = "count(*) AS calls, \
     count(*) FILTER (WHERE micro_usd IS NULL OR source = 'unknown') AS unknown, \
     count(*) FILTER (WHERE source = 'estimated') AS estimated, \
     least(coalesce(sum(micro_usd), 0), 9223372036854775807)::bigint AS micro_usd, \
     least(coalesce(sum(tokens_in), 0), 9223372036854775807)::bigint AS tokens_in, \
     least(coalesce(sum(tokens_out), 0), 9223372036854775807)::bigint AS tokens_out";
/// The current time by the server's clock, the only one that counts.
pub(super) const NOW: &str = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/// A task's row and its number in the database.
pub(super) struct PostgresTaskRow {
    pub(super) number: i64,
    pub(super) row: TaskRecord,
}

/// Reads columns in order; finding each by name would search all of them.
pub(super) struct PostgresColumns<'a> {
    row: &'a Row,
    next: usize,
}

impl<'a> PostgresColumns<'a> {
    pub(super) fn of(row: &'a Row) -> Self {
        Self { row, next: 0 }
    }

    pub(super) fn next<T: FromSql<'a>>(&mut self) -> Result<T, HubStoreError> {
        let value = self.row.try_get(self.next).map_err(damaged)?;
        self.next += 1;
        Ok(value)
    }

    /// A number that is never negative.
    pub(super) fn count(&mut self) -> Result<u64, HubStoreError> {
        u64::try_from(self.next::<i64>()?).map_err(damaged)
    }

    /// A small number that is never negative.
    pub(super) fn small(&mut self) -> Result<u32, HubStoreError> {
        u32::try_from(self.next::<i32>()?).map_err(damaged)
    }

    /// A small number that is never negative, if there is one.
    fn optional_small(&mut self) -> Result<Option<u32>, HubStoreError> {
        let number: Option<i32> = self.next()?;
        number.map(u32::try_from).transpose().map_err(damaged)
    }
}

/// Reads the columns of [`ROW_COLUMNS`].
pub(super) fn read_task_row(
    cells: &mut PostgresColumns<'_>,
) -> Result<PostgresTaskRow, HubStoreError> {
    let number = cells.next()?;
    let task_id = TaskId::new(cells.next()?);
    let state: &str = cells.next()?;
    let row = TaskRecord {
        task_id,
        lease: LeaseState {
            state: TaskState::parse(state).ok_or_else(|| damaged(state))?,
            epoch: cells.count()?,
            token: cells.next()?,
            worker: cells.next()?,
            due_at: cells.next()?,
            last_attempt: cells.small()?,
            open_attempt: cells.optional_small()?,
            reports: cells.small()?,
            passed_attempt: cells.optional_small()?,
            losses: cells.small()?,
            cancel: cells.next()?,
            completion: cells.next()?,
            outcome: outcome(cells.next()?)?,
            review: review(cells.next()?)?,
        },
        max_attempts: cells.small()?,
        reason: cells.next()?,
        entry_seq: cells.count()?,
        event_seq: cells.count()?,
        log_seq: cells.count()?,
        created_at: cells.next()?,
        updated_at: cells.next()?,
    };
    Ok(PostgresTaskRow { number, row })
}

/// Reads the columns of [`ROW_COLUMNS`] and [`VIEW_COLUMNS`].
pub(super) fn read_task_view(cells: &mut PostgresColumns<'_>) -> Result<TaskView, HubStoreError> {
    let row = read_task_row(cells)?.row;
    let project = cells.next()?;
    let submitted_by = cells.next()?;
    let submitter = cells.next()?;
    let retry_of: Option<Uuid> = cells.next()?;
    let part_of: (Option<Uuid>, Option<String>) = (cells.next()?, cells.next()?);
    let part_of = part_of.0.zip(part_of.1);
    let title = cells.next()?;
    let agent = cells.next()?;
    let place = cells.next()?;
    let priority: i16 = cells.next()?;
    let labels: &str = cells.next()?;
    Ok(TaskView {
        row,
        project,
        submitted_by,
        submitter,
        retry_of: retry_of.map(TaskId::new),
        part_of: part_of.map(|(plan, subtask)| ParentPlan {
            plan: RunId::new(plan),
            subtask,
        }),
        title,
        agent,
        place,
        priority: u8::try_from(priority).map_err(damaged)?,
        labels: serde_json::from_str(labels).map_err(damaged)?,
        cost: read_ledger_total(cells)?,
    })
}

/// Reads the columns of [`LEDGER_SUMS`].
pub(super) fn read_ledger_total(
    cells: &mut PostgresColumns<'_>,
) -> Result<LedgerTotal, HubStoreError> {
    Ok(LedgerTotal {
        calls: cells.count()?,
        unknown: cells.count()?,
        estimated: cells.count()?,
        micro_usd: MicroUsd(cells.count()?),
        tokens_in: cells.count()?,
        tokens_out: cells.count()?,
    })
}

/// A count as the database stores it, capped at the highest value.
pub(super) fn int(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A small count as the database stores it, capped at the highest value.
pub(super) fn small(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// Text without NUL, which the database cannot store.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    if text.contains('\0') {
        Cow::Owned(text.replace('\0', "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// Optional text without NUL.
pub(super) fn optional_text(of: Option<&String>) -> Option<Cow<'_, str>> {
    of.map(|of| text(of))
}

/// Rows to write back, as one array for each column.
#[derive(Default)]
pub(super) struct TaskColumns<'a> {
    numbers: Vec<i64>,
    states: Vec<&'static str>,
    epochs: Vec<i64>,
    tokens: Vec<Option<&'a str>>,
    workers: Vec<Option<Cow<'a, str>>>,
    due: Vec<Option<i64>>,
    last_attempts: Vec<i32>,
    open_attempts: Vec<Option<i32>>,
    reports: Vec<i32>,
    passed_attempts: Vec<Option<i32>>,
    losses: Vec<i32>,
    cancels: Vec<Option<Cow<'a, str>>>,
    completions: Vec<Option<Cow<'a, str>>>,
    outcomes: Vec<Option<&'static str>>,
    feedbacks: Vec<Option<String>>,
    reasons: Vec<Option<Cow<'a, str>>>,
    entry_seqs: Vec<i64>,
    event_seqs: Vec<i64>,
    log_seqs: Vec<i64>,
    updated: Vec<i64>,
    over: Vec<Option<i64>>,
}

/// Writes rows back in one statement.
pub(super) const UPDATE_TASKS: &str = "
    UPDATE task t SET
        state = u.state, epoch = u.epoch, token = u.token, worker = u.worker, due_at = u.due_at,
        last_attempt = u.last_attempt, open_attempt = u.open_attempt, reports = u.reports, losses = u.losses,
        cancel = u.cancel, completion = u.completion, outcome = u.outcome, feedback = u.feedback,
        reason = u.reason, entry_seq = u.entry_seq, event_seq = u.event_seq, log_seq = u.log_seq,
        updated_at = u.updated_at, over_at = u.over_at, passed_attempt = u.passed_attempt
    FROM unnest($1::bigint[], $2::text[], $3::bigint[], $4::text[], $5::text[], $6::bigint[],
                $7::integer[], $8::integer[], $9::integer[], $10::integer[], $11::text[],
                $12::text[], $13::text[], $14::text[], $15::text[], $16::bigint[], $17::bigint[],
                $18::bigint[], $19::bigint[], $20::bigint[], $21::integer[])
         AS u (task_no, state, epoch, token, worker, due_at, last_attempt, open_attempt, reports, losses,
               cancel, completion, outcome, feedback, reason, entry_seq, event_seq, log_seq,
               updated_at, over_at, passed_attempt)
    WHERE t.task_no = u.task_no";

impl<'a> TaskColumns<'a> {
    pub(super) fn of(rows: impl Iterator<Item = &'a PostgresTaskRow>) -> Self {
        let mut columns = Self::default();
        for kept in rows {
            columns.push(kept);
        }
        columns
    }

    fn push(&mut self, PostgresTaskRow { number, row }: &'a PostgresTaskRow) {
        let lease = &row.lease;
        self.numbers.push(*number);
        self.states.push(lease.state.as_str());
        self.epochs.push(int(lease.epoch));
        self.tokens.push(lease.token.as_deref());
        self.workers.push(optional_text(lease.worker.as_ref()));
        self.due.push(lease.due_at);
        self.last_attempts.push(small(lease.last_attempt));
        self.open_attempts.push(lease.open_attempt.map(small));
        self.reports.push(small(lease.reports));
        self.passed_attempts.push(lease.passed_attempt.map(small));
        self.losses.push(small(lease.losses));
        self.cancels.push(optional_text(lease.cancel.as_ref()));
        self.completions
            .push(optional_text(lease.completion.as_ref()));
        self.outcomes.push(lease.outcome.map(Outcome::as_str));
        // A review contains only text, which always has a JSON form.
        let review = lease.review.as_ref();
        self.feedbacks
            .push(review.and_then(|review| serde_json::to_string(review).ok()));
        self.reasons.push(optional_text(row.reason.as_ref()));
        self.entry_seqs.push(int(row.entry_seq));
        self.event_seqs.push(int(row.event_seq));
        self.log_seqs.push(int(row.log_seq));
        self.updated.push(row.updated_at);
        let over = lease.state.is_terminal().then_some(row.updated_at);
        self.over.push(over);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    /// The parameters of [`UPDATE_TASKS`].
    pub(super) fn values(&self) -> [&(dyn tokio_postgres::types::ToSql + Sync); 21] {
        [
            &self.numbers,
            &self.states,
            &self.epochs,
            &self.tokens,
            &self.workers,
            &self.due,
            &self.last_attempts,
            &self.open_attempts,
            &self.reports,
            &self.losses,
            &self.cancels,
            &self.completions,
            &self.outcomes,
            &self.feedbacks,
            &self.reasons,
            &self.entry_seqs,
            &self.event_seqs,
            &self.log_seqs,
            &self.updated,
            &self.over,
            &self.passed_attempts,
        ]
    }
}
