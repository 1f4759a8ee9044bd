//! Tasks given to workers, and taken back when they are due. Whatever another hub has under its hands
//! is passed over: nobody waits for anybody here.
//!
//! Invariant: a row is read by the very statement that locks it, so that no grant is decided on what
//! stood there before another one.

use std::sync::Arc;

use selvedge_core::lease::{Fence, Input, Rules, decide};
use selvedge_core::model::TaskId;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::changes::MOMENT;
use super::columns::{self, Cells, Kept, ROW};
use super::lane::{Decided, HubStoreErrorOr, Link, Work};
use super::neighbours::Bell;
use super::submit::json_labels;
use super::writes::{Statements, Writes};
use crate::hub::apply::apply;
use crate::hub::change::{Change, Written};
use crate::hub::error::HubStoreError;
use crate::hub::rows::{Granted, TaskRow, Want};

/// Tasks that one sweep takes back at most.
const SWEPT: i64 = 500;
/// Beyond all periods: a time so far ahead was set by a clock that has been set back since.
const SLACK_MS: i64 = 60_000;

fn waiting() -> String {
    format!(
        "SELECT {ROW}, r.body FROM task t JOIN request r ON r.task_no = t.task_no
         WHERE t.state = 'queued' AND t.labels <@ $1::text::jsonb
           AND t.task_no <> ALL($2::bigint[]) AND r.task_id <> ALL($3::uuid[])
         ORDER BY t.rank, t.task_no LIMIT $4 FOR NO KEY UPDATE OF t SKIP LOCKED"
    )
}

fn due() -> String {
    format!(
        "SELECT {ROW} FROM task t JOIN request r ON r.task_no = t.task_no
         WHERE t.state IN ('offered', 'running', 'backoff', 'cancelling')
           AND (t.due_at > $2 OR (t.due_at <= $1 AND NOT ($3 AND t.state IN ('running', 'cancelling'))))
         ORDER BY t.due_at LIMIT $4 FOR NO KEY UPDATE OF t SKIP LOCKED"
    )
}

pub(super) struct Claims {
    pub(super) rules: Rules,
    pub(super) bell: Arc<Bell>,
}

/// What is asked of the queue as a whole.
pub(super) enum Claim {
    Grant(Vec<Want>),
    Sweep { quiet: bool },
}

pub(super) enum Claimed {
    Granted(Vec<Granted>),
    Swept(Vec<TaskRow>),
}

pub(super) struct Prepared {
    waiting: Statement,
    due: Statement,
    moment: Statement,
    writes: Statements,
}

impl Work for Claims {
    type Job = Claim;
    type Answer = Claimed;
    type Prepared = Prepared;
    type Draft = Writes;

    async fn prepare(client: &Client) -> Result<Prepared, Error> {
        let (waiting, due) = (waiting(), due());
        let (waiting, due, moment, writes) = tokio::try_join!(
            client.prepare(&waiting),
            client.prepare(&due),
            client.prepare(MOMENT),
            Statements::prepare(client)
        )?;
        Ok(Prepared {
            waiting,
            due,
            moment,
            writes,
        })
    }

    async fn decide(
        &self,
        link: &Link<Prepared>,
        jobs: &[&Claim],
    ) -> Result<Decided<Claimed, Writes>, HubStoreErrorOr> {
        let (begun, moment) = tokio::join!(
            biased;
            link.client.batch_execute("BEGIN"),
            link.client.query_one(&link.prepared.moment, &[])
        );
        begun?;
        let moment = moment?;
        let mut batch = Batch {
            link,
            rules: &self.rules,
            now: moment.get(0),
            writes: Writes::default(),
            taken: Vec::new(),
            swept: false,
        };
        let mut answers: Vec<Claimed> = jobs
            .iter()
            .map(|job| match job {
                Claim::Grant(_) => Claimed::Granted(Vec::new()),
                Claim::Sweep { .. } => Claimed::Swept(Vec::new()),
            })
            .collect();
        for (job, answer) in jobs.iter().zip(&mut answers) {
            if let (Claim::Sweep { quiet }, Claimed::Swept(swept)) = (job, answer) {
                *swept = batch.sweep(*quiet).await?;
            }
        }
        for (want, takers) in alike(jobs) {
            batch.grant(want, &takers, &mut answers).await?;
        }
        Ok(Decided {
            answers,
            draft: batch.writes,
        })
    }

    async fn commit(&self, link: &Link<Prepared>, draft: &Writes) -> Result<(), Error> {
        draft.commit(link, &link.prepared.writes).await?;
        if !draft.rows.is_empty() {
            self.bell.ring();
        }
        Ok(())
    }
}

/// Who takes what, by job: those who offer the same share one search.
type Takers<'a> = Vec<(usize, &'a Want)>;

fn alike<'a>(jobs: &[&'a Claim]) -> Vec<(&'a Want, Takers<'a>)> {
    let mut groups: Vec<(&Want, Takers<'_>)> = Vec::new();
    for (job, claim) in jobs.iter().enumerate() {
        let Claim::Grant(wants) = claim else { continue };
        for want in wants {
            let same = |other: &Want| other.labels == want.labels && other.not == want.not;
            match groups.iter_mut().find(|(other, _)| same(other)) {
                Some((_, takers)) => takers.push((job, want)),
                None => groups.push((want, vec![(job, want)])),
            }
        }
    }
    groups
}

struct Batch<'a> {
    link: &'a Link<Prepared>,
    rules: &'a Rules,
    now: i64,
    writes: Writes,
    /// Numbers of the tasks that this transaction has given out.
    taken: Vec<i64>,
    swept: bool,
}

impl Batch<'_> {
    async fn grant(
        &mut self,
        want: &Want,
        takers: &[(usize, &Want)],
        answers: &mut [Claimed],
    ) -> Result<(), HubStoreErrorOr> {
        let slots: usize = takers.iter().map(|(_, want)| want.slots).sum();
        let limit = i64::try_from(slots).unwrap_or(i64::MAX);
        let labels = json_labels(&want.labels)?;
        let not: Vec<Uuid> = want.not.iter().map(|task| TaskId::uuid(*task)).collect();
        let (client, waiting) = (&self.link.client, &self.link.prepared.waiting);
        let rows = client
            .query(waiting, &[&labels, &self.taken, &not, &limit])
            .await?;
        let mut rows = rows.iter();
        for (job, want) in takers {
            for row in rows.by_ref().take(want.slots) {
                let granted = self.give(row, &want.worker)?;
                if let (Some(granted), Claimed::Granted(all)) = (granted, &mut answers[*job]) {
                    all.push(granted);
                }
            }
        }
        Ok(())
    }

    fn give(&mut self, found: &Row, worker: &str) -> Result<Option<Granted>, HubStoreError> {
        let mut cells = Cells::of(found);
        let Kept { number, mut row } = columns::kept(&mut cells)?;
        let body = cells.next()?;
        let token = Uuid::new_v4().simple().to_string();
        let input = Input::Grant {
            worker: worker.to_owned(),
            token: token.clone(),
        };
        let Ok(decision) = decide(&row.lease, input, self.now, self.rules) else {
            return Ok(None);
        };
        row.lease = decision.lease;
        row.entry_seq = 0;
        row.updated_at = self.now;
        let mut written = Written::default();
        for event in decision.events {
            row.log_seq += 1;
            written.log.push((row.log_seq, event));
        }
        self.writes.add(number, self.now, written)?;
        self.taken.push(number);
        let kept = row.clone();
        self.writes.rows.push(Kept { number, row: kept });
        let epoch = row.lease.epoch;
        Ok(Some(Granted {
            worker: worker.to_owned(),
            fence: Fence { epoch, token },
            row,
            body,
        }))
    }

    async fn sweep(&mut self, quiet: bool) -> Result<Vec<TaskRow>, HubStoreErrorOr> {
        if std::mem::replace(&mut self.swept, true) {
            return Ok(Vec::new());
        }
        let rules = self.rules;
        let held = rules.ttl_ms + rules.grace_ms;
        let far = self.now + held.max(rules.offer_ms).max(rules.backoff_ms << 6) + SLACK_MS;
        let (client, due) = (&self.link.client, &self.link.prepared.due);
        let rows = client
            .query(due, &[&self.now, &far, &quiet, &SWEPT])
            .await?;
        let mut swept = Vec::new();
        for row in &rows {
            let Kept { number, mut row } = columns::kept(&mut Cells::of(row))?;
            if row.lease.due_at.is_some_and(|due| due > far) {
                row.lease.due_at = Some(self.now + held);
                self.writes.rows.push(Kept { number, row });
                continue;
            }
            let (_, written) = apply(&mut row, &Change::Tick, None, self.now, rules);
            self.writes.add(number, self.now, written)?;
            let kept = row.clone();
            self.writes.rows.push(Kept { number, row: kept });
            swept.push(row);
        }
        Ok(swept)
    }
}
