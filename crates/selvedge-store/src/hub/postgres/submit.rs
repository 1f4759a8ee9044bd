//! Submits tasks in batches. Idempotency keys are claimed before any task is inserted: if two hubs receive
//! the same key at once, both claim keys in the same order, and the second one sees what the first one has
//! stored.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use selvedge_core::model::TaskId;
use selvedge_protocol::PLAN_LABEL;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::batch_writer::{BatchDecision, BatchOp, DecideError, WriterConnection};
use super::columns::{optional_text, small, text};
use super::peers::NotifyDebouncer;
use super::projects::AdmissionStatements;
use crate::hub::error::HubStoreError;
use crate::hub::rows::{NewTask, SubmitOutcome};
use crate::hub::sqlite::columns::damaged;
use crate::hub::traits::PRIORITY_STEP_MS;

const TAKE_KEYS: &str = "
    INSERT INTO idempotency
    SELECT project, key, hash, task_id, (extract(epoch FROM clock_timestamp()) * 1000)::bigint
    FROM unnest($1::text[], $2::text[], $3::bytea[], $4::uuid[]) AS k (project, key, hash, task_id)
    ORDER BY project, key
    ON CONFLICT DO NOTHING
    RETURNING project, key";
const KEYS: &str = "
    SELECT i.project, i.key, i.hash, i.task_id
    FROM unnest($1::text[], $2::text[]) AS k (project, key)
    JOIN idempotency i ON i.project = k.project AND i.key = k.key";
const RELEASE_KEYS: &str = "DELETE FROM idempotency WHERE project = $1 AND key = $2";
/// Adds new submitters of the tasks that workers run, and updates the names of people.
const ADD_SUBMITTERS: &str = "
    WITH submitting AS (
        SELECT DISTINCT project, name, person, CASE person WHEN '' THEN name ELSE '' END AS token_name
        FROM unnest($1::text[], $2::text[], $3::text[]) AS a (project, name, person)
    ), renamed AS (
        UPDATE submitter s SET name = a.name FROM submitting a
        WHERE s.project = a.project AND s.person = a.person AND s.token_name = a.token_name AND s.name <> a.name
    )
    INSERT INTO submitter (project, name, person)
    SELECT project, name, person FROM submitting a
    WHERE NOT EXISTS (SELECT 1 FROM submitter s
                      WHERE s.project = a.project AND s.person = a.person AND s.token_name = a.token_name)
    ORDER BY project, person, name
    ON CONFLICT DO NOTHING";
/// Inserts the request, the task, the first line of its log, and the entry of the audit log. Returns the ids of the
/// inserted tasks, and whether the submitter of each has to be added.
const INSERT: &str = "
    WITH requested AS (
        SELECT *, (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now
        FROM unnest($1::uuid[], $2::text[], $3::text[], $4::uuid[], $5::text[], $6::text[],
                    $7::text[], $8::smallint[], $9::text[], $10::integer[], $11::text[], $13::uuid[],
                    $14::text[], $15::uuid[], $16::text[], $17::text[], $18::text[],
                    $19::text[], $20::boolean[])
             AS a (task_id, project, submitted_by, retry_of, title, agent, place, priority, labels,
                   max_attempts, body, part_of, subtask, actor_token, channel, action, detail, person,
                   is_plan)
    ), taken AS (
        INSERT INTO request (task_id, project, submitted_by, retry_of, title, agent, place, priority,
                             max_attempts, created_at, body, part_of, subtask)
        SELECT task_id, project, submitted_by, retry_of, title, agent, place, priority, max_attempts,
               now, body, part_of, subtask
        FROM requested ORDER BY task_id
        ON CONFLICT (task_id) DO NOTHING
        RETURNING task_no, task_id, priority, created_at
    ), waiting AS (
        INSERT INTO task (task_no, rank, labels, state, log_seq, updated_at, submitter_no)
        SELECT t.task_no, t.created_at - t.priority * $12::bigint, a.labels::jsonb, 'queued', 1,
               t.created_at,
               (SELECT s.submitter_no FROM submitter s
                WHERE s.project = a.project AND s.person = coalesce(a.person, '')
                  AND s.token_name = CASE WHEN a.person IS NULL THEN a.submitted_by ELSE '' END AND NOT a.is_plan)
        FROM taken t JOIN requested a ON a.task_id = t.task_id
        RETURNING task_no, submitter_no
    ), audited AS (
        INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
        SELECT t.created_at, a.project, a.submitted_by, a.actor_token, a.channel, a.action,
               a.task_id::text, a.detail, a.person
        FROM taken t JOIN requested a ON a.task_id = t.task_id WHERE a.channel IS NOT NULL
    ), submitting_people AS (
        INSERT INTO task_submitter
        SELECT a.task_id, a.person
        FROM taken t JOIN requested a ON a.task_id = t.task_id WHERE a.person IS NOT NULL
    ), log_lines AS (
        INSERT INTO log SELECT task_no, 1, created_at, '{\"type\":\"submitted\"}' FROM taken
    )
    SELECT a.task_id, w.submitter_no IS NULL AND NOT a.is_plan
    FROM waiting w JOIN taken t ON t.task_no = w.task_no JOIN requested a ON a.task_id = t.task_id";
/// Sets the submitters of tasks whose tokens had not submitted before.
const SET_SUBMITTERS: &str = "
    UPDATE task t SET submitter_no = s.submitter_no
    FROM request r JOIN submitter s ON s.project = r.project AND s.person = '' AND s.token_name = r.submitted_by
    WHERE r.task_no = t.task_no AND r.task_id = ANY($1::uuid[])";

pub(super) struct SubmissionWriter {
    pub(super) notifier: Arc<NotifyDebouncer>,
}

pub(super) struct SubmissionStatements {
    take_keys: Statement,
    keys: Statement,
    release_keys: Statement,
    admission: AdmissionStatements,
    add_submitters: Statement,
    insert: Statement,
    set_submitters: Statement,
}

type IdempotencyKey<'a> = (&'a str, &'a str);

impl BatchOp for SubmissionWriter {
    type Job = NewTask;
    type Answer = SubmitOutcome;
    type Prepared = SubmissionStatements;
    type Draft = bool;

    async fn prepare(client: &Client) -> Result<SubmissionStatements, Error> {
        // Hash joins suit the joins with the parameters: both sides are as small as the batch.
        client.batch_execute("SET enable_hashjoin = on").await?;
        let (take_keys, keys, give_back, admission, add_submitters, insert, set_submitters) = tokio::try_join!(
            client.prepare(TAKE_KEYS),
            client.prepare(KEYS),
            client.prepare(RELEASE_KEYS),
            AdmissionStatements::prepare(client),
            client.prepare(ADD_SUBMITTERS),
            client.prepare(INSERT),
            client.prepare(SET_SUBMITTERS)
        )?;
        Ok(SubmissionStatements {
            take_keys,
            keys,
            release_keys: give_back,
            admission,
            add_submitters,
            insert,
            set_submitters,
        })
    }

    async fn decide(
        &self,
        link: &WriterConnection<SubmissionStatements>,
        jobs: &[&NewTask],
    ) -> Result<BatchDecision<SubmitOutcome, bool>, DecideError> {
        link.client.batch_execute("BEGIN").await?;
        let KeyAnswers {
            mut answers,
            repeats,
        } = resolve_keys(link, jobs).await?;
        let new: Vec<&NewTask> = jobs
            .iter()
            .zip(&answers)
            .filter_map(|(job, answer)| answer.is_none().then_some(*job))
            .collect();
        let mut admission = if new.is_empty() {
            None
        } else {
            Some(link.prepared.admission.load(&link.client, &new).await?)
        };
        let mut open: Vec<&NewTask> = Vec::new();
        for (job, answer) in jobs.iter().zip(&mut answers) {
            let Some(admission) = admission.as_mut().filter(|_| answer.is_none()) else {
                continue;
            };
            *answer = admission.refuse(job, is_plan(job))?;
            match answer {
                None => open.push(job),
                Some(_) => release_key(link, job).await?,
            }
        }
        let taken = insert(link, &open).await?;
        for (job, answer) in jobs.iter().zip(&mut answers) {
            if answer.is_some() {
                continue;
            }
            *answer = Some(if taken.contains(&job.task_id.uuid()) {
                SubmitOutcome::New(job.task_id)
            } else {
                release_key(link, job).await?;
                SubmitOutcome::IdTaken
            });
        }
        for (repeat, first) in repeats {
            // A refused task does not exist.
            if !matches!(answers[first], Some(SubmitOutcome::New(_))) {
                let answer = answers[first].clone();
                answers[repeat] = answer;
            }
        }
        Ok(BatchDecision {
            answers: answers.into_iter().flatten().collect(),
            draft: !taken.is_empty(),
        })
    }

    async fn commit(
        &self,
        link: &WriterConnection<SubmissionStatements>,
        draft: &bool,
    ) -> Result<(), Error> {
        if !draft {
            return link.client.batch_execute("COMMIT").await;
        }
        let (marked, committed) = tokio::join!(
            biased;
            link.record_commit(),
            link.client.batch_execute("COMMIT")
        );
        marked.and(committed)?;
        self.notifier.notify();
        Ok(())
    }
}

/// Whether the hub itself carries out the task.
fn is_plan(job: &NewTask) -> bool {
    job.labels == [PLAN_LABEL]
}

/// Releases the key of a submission that is refused, so that it can be repeated.
async fn release_key(
    link: &WriterConnection<SubmissionStatements>,
    job: &NewTask,
) -> Result<(), Error> {
    if let Some((project, key)) = idempotency_key(job) {
        let release = &link.prepared.release_keys;
        link.client.execute(release, &[&project, &key]).await?;
    }
    Ok(())
}

fn idempotency_key(job: &NewTask) -> Option<IdempotencyKey<'_>> {
    let (key, _) = job.idempotency.as_ref()?;
    Some((&job.project, key))
}

/// Results of claiming the keys of submissions.
struct KeyAnswers {
    /// The answers for keys that were already taken; `None`: the key, if there is one, belongs to the submission.
    answers: Vec<Option<SubmitOutcome>>,
    /// The indices of each submission that repeats another one of the batch, and of that one.
    repeats: Vec<(usize, usize)>,
}

/// Claims the keys.
async fn resolve_keys(
    link: &WriterConnection<SubmissionStatements>,
    jobs: &[&NewTask],
) -> Result<KeyAnswers, DecideError> {
    let mut answers = vec![None; jobs.len()];
    let mut repeats = Vec::new();
    let keyed: Vec<_> = jobs
        .iter()
        .enumerate()
        .filter_map(|(index, job)| {
            let (key, hash) = job.idempotency.as_ref()?;
            Some((index, job.task_id, (text(&job.project), text(key)), hash))
        })
        .collect();
    if keyed.is_empty() {
        return Ok(KeyAnswers { answers, repeats });
    }
    let names = keyed
        .iter()
        .map(|(_, _, (project, key), _)| (&**project, &**key));
    let (projects, keys): (Vec<&str>, Vec<&str>) = names.unzip();
    let (tasks, hashes): (Vec<Uuid>, Vec<&[u8]>) = keyed
        .iter()
        .map(|(_, task, _, hash)| (task.uuid(), hash.as_slice()))
        .unzip();
    let take: [&(dyn tokio_postgres::types::ToSql + Sync); 4] = [&projects, &keys, &hashes, &tasks];
    let look: [&(dyn tokio_postgres::types::ToSql + Sync); 2] = [&projects, &keys];
    let (taken, known) = tokio::join!(
        biased;
        link.client.query(&link.prepared.take_keys, &take),
        link.client.query(&link.prepared.keys, &look)
    );
    let (taken, known) = (taken?, known?);
    let taken: HashSet<IdempotencyKey<'_>> =
        taken.iter().map(|row| (row.get(0), row.get(1))).collect();
    let known = known_keys(&known)?;
    let find = |project: &str, key: &str| {
        let found = known.get(&(project, key)).copied();
        found.ok_or_else(|| damaged("an existing idempotency key was not found"))
    };
    // The submissions that the keys now belong to.
    let mut owners = HashMap::new();
    for (index, task, (project, key), _) in &keyed {
        if taken.contains(&(&**project, &**key)) && find(project, key)?.1 == task.uuid() {
            owners.entry((&**project, &**key)).or_insert(*index);
        }
    }
    for (index, _, (project, key), hash) in &keyed {
        let (stored, task) = find(project, key)?;
        let owner = owners.get(&(&**project, &**key));
        answers[*index] = if owner == Some(index) {
            None
        } else if stored == hash.as_slice() {
            repeats.extend(owner.map(|owner| (*index, *owner)));
            Some(SubmitOutcome::Duplicate(TaskId::new(task)))
        } else {
            Some(SubmitOutcome::IdempotencyConflict(TaskId::new(task)))
        };
    }
    Ok(KeyAnswers { answers, repeats })
}

fn known_keys(rows: &[Row]) -> Result<HashMap<IdempotencyKey<'_>, (&[u8], Uuid)>, HubStoreError> {
    let each = rows.iter().map(|row| {
        let key = (row.try_get(0)?, row.try_get(1)?);
        Ok((key, (row.try_get(2)?, row.try_get(3)?)))
    });
    each.collect::<Result<_, Error>>().map_err(damaged)
}

/// Adds the submitters of these tasks.
async fn add_submitters(
    link: &WriterConnection<SubmissionStatements>,
    jobs: impl Iterator<Item = &NewTask>,
) -> Result<(), DecideError> {
    let mut columns = (Vec::new(), Vec::new(), Vec::new());
    for job in jobs {
        columns.0.push(text(&job.project));
        columns.1.push(text(&job.submitted_by));
        columns.2.push(job.person_column()?.unwrap_or_default());
    }
    if !columns.0.is_empty() {
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
            [&columns.0, &columns.1, &columns.2];
        let add_submitters = &link.prepared.add_submitters;
        link.client.execute(add_submitters, &values).await?;
    }
    Ok(())
}

/// Inserts the tasks whose ids are free, and returns these ids.
async fn insert(
    link: &WriterConnection<SubmissionStatements>,
    jobs: &[&NewTask],
) -> Result<HashSet<Uuid>, DecideError> {
    if jobs.is_empty() {
        return Ok(HashSet::new());
    }
    let column = |of: fn(&NewTask) -> &str| -> Vec<Cow<'_, str>> {
        jobs.iter().map(|job| text(of(job))).collect()
    };
    let ids: Vec<Uuid> = jobs.iter().map(|job| job.task_id.uuid()).collect();
    let projects = column(|job| &job.project);
    let by = column(|job| &job.submitted_by);
    let retries: Vec<Option<Uuid>> = jobs
        .iter()
        .map(|job| job.retry_of.map(TaskId::uuid))
        .collect();
    let titles = column(|job| &job.title);
    let agents: Vec<_> = jobs
        .iter()
        .map(|job| optional_text(job.agent.as_ref()))
        .collect();
    let places: Vec<_> = jobs
        .iter()
        .map(|job| optional_text(job.place.as_ref()))
        .collect();
    let priorities: Vec<i16> = jobs.iter().map(|job| i16::from(job.priority)).collect();
    let labels: Vec<String> = jobs
        .iter()
        .map(|job| json_labels(&job.labels))
        .collect::<Result<_, _>>()?;
    let attempts: Vec<i32> = jobs.iter().map(|job| small(job.max_attempts)).collect();
    let bodies = column(|job| &job.body);
    let parts = jobs.iter().map(|job| job.part_of.as_ref());
    let plans: Vec<Option<Uuid>> = parts.clone().map(|it| Some(it?.plan.uuid())).collect();
    let subtasks: Vec<_> = parts
        .map(|it| optional_text(it.map(|it| &it.subtask)))
        .collect();
    let actors = jobs.iter().map(|job| job.actor.as_ref());
    let actor_tokens: Vec<Option<Uuid>> = actors.clone().map(|it| it?.token_id).collect();
    let people: Vec<Option<String>> = jobs
        .iter()
        .map(|job| job.person_column())
        .collect::<Result<_, _>>()?;
    let channels: Vec<Option<&str>> = actors.map(|it| Some(it?.channel.as_str())).collect();
    let audits = jobs.iter().map(|job| job.audit());
    let (actions, details): (Vec<&str>, Vec<String>) = audits
        .map(|(action, detail)| (action.as_str(), detail))
        .unzip();
    let plans_only: Vec<bool> = jobs.iter().map(|job| is_plan(job)).collect();
    // The names of people change. Those of tokens do not, and they have nearly always submitted before.
    let of_people = jobs
        .iter()
        .filter(|job| job.person.is_some() && !is_plan(job));
    add_submitters(link, of_people.copied()).await?;
    let rows = link
        .client
        .query(
            &link.prepared.insert,
            &[
                &ids,
                &projects,
                &by,
                &retries,
                &titles,
                &agents,
                &places,
                &priorities,
                &labels,
                &attempts,
                &bodies,
                &PRIORITY_STEP_MS,
                &plans,
                &subtasks,
                &actor_tokens,
                &channels,
                &actions,
                &details,
                &people,
                &plans_only,
            ],
        )
        .await?;
    let taken: HashSet<Uuid> = rows.iter().map(|row| row.get(0)).collect();
    let new = rows.iter().filter(|row| row.get(1));
    let new: Vec<Uuid> = new.map(|row| row.get(0)).collect();
    if !new.is_empty() {
        let of_new = jobs.iter().filter(|job| new.contains(&job.task_id.uuid()));
        add_submitters(link, of_new.copied()).await?;
        let set_submitters = &link.prepared.set_submitters;
        link.client.execute(set_submitters, &[&new]).await?;
    }
    Ok(taken)
}

/// Labels as a JSON array without NUL.
pub(super) fn json_labels(labels: &[String]) -> Result<String, HubStoreError> {
    let labels: Vec<Cow<'_, str>> = labels.iter().map(|label| text(label)).collect();
    serde_json::to_string(&labels).map_err(damaged)
}
