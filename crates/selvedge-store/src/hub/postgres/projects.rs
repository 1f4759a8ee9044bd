//! Projects: their settings, and what of their limits is used.

use std::collections::{HashMap, HashSet};

use selvedge_core::model::MicroUsd;
use selvedge_protocol::{DEFAULT_PROJECT, ProjectSettings, ProjectUsage};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Row, Statement};
use uuid::Uuid;

use super::PostgresHub;
use super::access::AUDIT_CHANGED;
use super::batch_writer::DecideError;
use super::columns::{NOW, PostgresColumns, text};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::fair_share::{FairShare, Submitter};
use crate::hub::projects::{
    DAY_MS, DeleteProjectOutcome, NewProject, Project, ProjectSubmitter, parse_settings,
    refuse_task, settings_json,
};
use crate::hub::rows::{NewTask, SubmitOutcome};
use crate::hub::traits::{ProjectStore, StoreFuture};

/// The states of tasks that workers hold, as in the index.
const IS_HELD: &str = "t.state IN ('offered', 'running', 'cancelling')";

impl ProjectStore for PostgresHub {
    fn create_project(&self, project: NewProject) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = format!(
                "WITH changed AS (
                     INSERT INTO project (name, settings, created_at) VALUES ($6, $7, {NOW})
                     ON CONFLICT DO NOTHING
                     RETURNING created_at AS at, '{DEFAULT_PROJECT}' AS project, name AS subject, settings AS detail
                 )
                 {AUDIT_CHANGED}"
            );
            let settings = settings_json(&project.settings)?;
            let (by, action) = (&project.created_by, AuditAction::CreateProject);
            self.execute_audited(&sql, &[&text(&project.name), &text(&settings)], by, action)
                .await
        })
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        Box::pin(async {
            let sql = "SELECT name, settings, created_at FROM project WHERE deleted_at IS NULL
                       ORDER BY name COLLATE \"C\"";
            let rows = self.rows(sql, &[]).await?;
            let all = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                Ok(Project {
                    name: cells.next()?,
                    settings: parse_settings(cells.next()?)?,
                    created_at: cells.next()?,
                })
            });
            all.collect()
        })
    }

    fn update_project(
        &self,
        name: String,
        expected: ProjectSettings,
        settings: ProjectSettings,
        by: AuditActor,
    ) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            // Another release may have written the same settings as another text.
            let sql = "SELECT settings FROM project WHERE name = $1 AND deleted_at IS NULL";
            let rows = self.rows(sql, &[&text(&name)]).await?;
            let Some(row) = rows.first() else {
                return Ok(false);
            };
            let stored: &str = row.try_get(0)?;
            if parse_settings(stored)? != expected {
                return Ok(false);
            }
            let sql = format!(
                "WITH changed AS (
                     UPDATE project SET settings = $7
                     WHERE name = $6 AND settings = $8 AND deleted_at IS NULL
                     RETURNING {NOW} AS at, '{DEFAULT_PROJECT}' AS project, name AS subject, settings AS detail
                 )
                 {AUDIT_CHANGED}"
            );
            let settings = settings_json(&settings)?;
            let action = AuditAction::UpdateProject;
            let values: [&(dyn ToSql + Sync); 3] = [&text(&name), &text(&settings), &text(stored)];
            self.execute_audited(&sql, &values, &by, action).await
        })
    }

    fn delete_project(
        &self,
        name: String,
        by: AuditActor,
    ) -> StoreFuture<'_, DeleteProjectOutcome> {
        Box::pin(async move { self.delete_project_rows(&name, &by).await })
    }

    fn project_usage(&self, name: String) -> StoreFuture<'_, Vec<ProjectSubmitter>> {
        Box::pin(async move {
            let sql = format!(
                "SELECT * FROM (
                     SELECT s.submitter_no, s.name,
                            (SELECT count(*) FROM task t WHERE t.submitter_no = s.submitter_no AND t.state = 'queued')
                                AS queued,
                            coalesce(h.held, 0) AS held, c.*
                     FROM submitter s
                     LEFT JOIN (SELECT t.submitter_no, count(*) AS held FROM task t WHERE {IS_HELD} GROUP BY 1) h
                          ON h.submitter_no = s.submitter_no,
                     LATERAL (
                         SELECT least(coalesce(sum(micro_usd), 0), 9223372036854775807)::bigint AS cost,
                                coalesce(sum(unknown_calls), 0)::bigint AS unknown
                         FROM daily_cost d WHERE d.submitter_no = s.submitter_no AND d.day = {NOW} / {DAY_MS}) c
                     WHERE s.project = $1) AS usage
                 WHERE queued > 0 OR held > 0 OR cost > 0 OR unknown > 0
                 ORDER BY name COLLATE \"C\", submitter_no"
            );
            let rows = self.rows(&sql, &[&text(&name)]).await?;
            let submitters = rows.iter().map(|row| {
                let mut cells = PostgresColumns::of(row);
                let (submitter, name) = (cells.next()?, cells.next()?);
                let usage = ProjectUsage {
                    queued: cells.count()?,
                    running: cells.count()?,
                    cost_micro_usd: MicroUsd(cells.count()?),
                    calls_of_unknown_cost: cells.count()?,
                };
                Ok(ProjectSubmitter {
                    submitter,
                    name,
                    usage,
                })
            });
            submitters.collect()
        })
    }

    fn project_has_blob(&self, project: String, hash: String) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let sql = "SELECT EXISTS (SELECT 1 FROM file f JOIN request r ON r.task_no = f.task_no
                                      WHERE f.hash = $1 AND r.project = $2)";
            let rows = self.rows(sql, &[&hash, &text(&project)]).await?;
            let found = rows.first().map(|row| PostgresColumns::of(row).next());
            found.transpose().map(Option::unwrap_or_default)
        })
    }
}

impl PostgresHub {
    async fn delete_project_rows(
        &self,
        name: &str,
        by: &AuditActor,
    ) -> Result<DeleteProjectOutcome, HubStoreError> {
        let name = text(name);
        let mut client = self.pool.get().await?;
        let transaction = client.transaction().await?;
        // Waits for transactions that add to the project; later ones see that it was deleted.
        let sql = "SELECT 1 FROM project WHERE name = $1 AND deleted_at IS NULL FOR UPDATE";
        if transaction.query_opt(sql, &[&name]).await?.is_none() {
            return Ok(DeleteProjectOutcome::NotFound);
        }
        let sql = "SELECT count(*) FROM request r JOIN task t ON t.task_no = r.task_no
                   WHERE r.project = $1 AND t.state NOT IN ('succeeded', 'failed', 'cancelled', 'dead')";
        let unfinished = transaction.query_one(sql, &[&name]).await?;
        let unfinished = PostgresColumns::of(&unfinished).count()?;
        if unfinished > 0 {
            return Ok(DeleteProjectOutcome::Unfinished(unfinished));
        }
        let revoke = format!(
            "UPDATE token SET revoked_at = {NOW} WHERE project = $1 AND revoked_at IS NULL"
        );
        let delete = format!("UPDATE project SET deleted_at = {NOW} WHERE name = $1");
        for sql in [
            delete.as_str(),
            revoke.as_str(),
            "DELETE FROM webhook WHERE project = $1",
            "DELETE FROM schedule WHERE project = $1",
        ] {
            transaction.execute(sql, &[&name]).await?;
        }
        let sql = format!(
            "INSERT INTO audit (at, project, actor, token_id, channel, action, subject, detail, person)
             VALUES ({NOW}, '{DEFAULT_PROJECT}', $1, $2, $3, $4, $5, '', $6)"
        );
        let (channel, action) = (by.channel.as_str(), AuditAction::DeleteProject.as_str());
        let values: [&(dyn ToSql + Sync); 6] = [
            &text(&by.name),
            &by.token_id,
            &channel,
            &action,
            &name,
            &by.person_column(),
        ];
        transaction.execute(&sql, &values).await?;
        transaction.commit().await?;
        Ok(DeleteProjectOutcome::Deleted)
    }
}

/// The settings of projects. One whose running tasks are limited is locked until the end of the transaction, so that two
/// hubs do not exceed the limit together; if another hub has locked it, it is left out.
const SHARE_PROJECTS: &str = "
    SELECT name, settings, CASE WHEN settings::jsonb ?| ARRAY['max_running', 'max_running_per_submitter']
                                THEN pg_try_advisory_xact_lock(hashtext('selvedge project'), hashtext(name))
                                ELSE true END
    FROM project WHERE deleted_at IS NULL";

/// The same without locks.
const SHARE_PROJECTS_UNLOCKED: &str =
    "SELECT name, settings, true FROM project WHERE deleted_at IS NULL";

/// The submitters that have queued tasks: each is found with one step in the index.
const SHARE_QUEUED: &str = "
    WITH RECURSIVE waiting_submitter (number) AS (
        (SELECT submitter_no FROM task WHERE state = 'queued' AND submitter_no > 0 ORDER BY submitter_no LIMIT 1)
        UNION ALL
        SELECT (SELECT submitter_no FROM task WHERE state = 'queued' AND submitter_no > number
                ORDER BY submitter_no LIMIT 1)
        FROM waiting_submitter WHERE number IS NOT NULL
    )
    SELECT submitter_no, project FROM waiting_submitter JOIN submitter ON submitter_no = number";

const SHARE_COSTS: &str = "
    SELECT s.submitter_no, s.project, c.micro_usd FROM daily_cost c JOIN submitter s ON s.submitter_no = c.submitter_no
    WHERE c.day = $1";

fn share_running_query() -> String {
    format!(
        "SELECT s.submitter_no, s.project, held.running FROM (
             SELECT t.submitter_no, count(*) AS running FROM task t WHERE {IS_HELD} AND t.submitter_no > 0
             GROUP BY t.submitter_no) held
         JOIN submitter s ON s.submitter_no = held.submitter_no"
    )
}

/// Statements that read what the fair share depends on.
pub(super) struct ShareStatements {
    projects: Statement,
    queued: Statement,
    running: Statement,
    costs: Statement,
}

impl ShareStatements {
    /// For the assignment of tasks.
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        Self::prepare_with(client, SHARE_PROJECTS).await
    }

    /// For counting: no project is locked.
    pub(super) async fn prepare_unlocked(client: &Client) -> Result<Self, Error> {
        Self::prepare_with(client, SHARE_PROJECTS_UNLOCKED).await
    }

    async fn prepare_with(client: &Client, projects: &str) -> Result<Self, Error> {
        let running = share_running_query();
        let (projects, queued, running, costs) = tokio::try_join!(
            client.prepare(projects),
            client.prepare(SHARE_QUEUED),
            client.prepare(&running),
            client.prepare(SHARE_COSTS)
        )?;
        Ok(Self {
            projects,
            queued,
            running,
            costs,
        })
    }

    /// Reads the submitters that have queued tasks, the projects' limits, and, where the choice depends on it, what all
    /// submitters use.
    pub(super) async fn load(
        &self,
        client: &Client,
        now: i64,
    ) -> Result<(FairShare, Vec<Submitter>), DecideError> {
        // The locks come first: each statement sees what was committed before it began.
        let (projects, queued) = tokio::join!(
            biased;
            client.query(&self.projects, &[]),
            client.query(&self.queued, &[])
        );
        let mut share = FairShare::default();
        let (mut is_cost_limited, mut is_running_limited) = (false, false);
        for row in &projects? {
            let mut cells = PostgresColumns::of(row);
            let name: &str = cells.next()?;
            let settings = parse_settings(cells.next()?)?;
            let is_locked: bool = cells.next()?;
            is_cost_limited |= settings.limits_daily_costs();
            is_running_limited |= settings.limits_running_tasks();
            share.add_project(name, is_locked.then_some(settings));
        }
        let mut submitters = Vec::new();
        for row in &queued? {
            let submitter = read_submitter(&mut PostgresColumns::of(row))?;
            share.add_usage(&submitter, ProjectUsage::default());
            submitters.push(submitter);
        }
        if submitters.len() > 1 || is_running_limited {
            for row in &client.query(&self.running, &[]).await? {
                let mut cells = PostgresColumns::of(row);
                let submitter = read_submitter(&mut cells)?;
                let usage = ProjectUsage {
                    running: cells.count()?,
                    ..ProjectUsage::default()
                };
                share.add_usage(&submitter, usage);
            }
        }
        if is_cost_limited {
            for row in &client.query(&self.costs, &[&(now / DAY_MS)]).await? {
                let mut cells = PostgresColumns::of(row);
                let submitter = read_submitter(&mut cells)?;
                let usage = ProjectUsage {
                    cost_micro_usd: MicroUsd(cells.count()?),
                    ..ProjectUsage::default()
                };
                share.add_usage(&submitter, usage);
            }
        }
        Ok((share, submitters))
    }
}

fn read_submitter(cells: &mut PostgresColumns<'_>) -> Result<Submitter, HubStoreError> {
    Ok(Submitter {
        number: cells.next()?,
        project: cells.next()?,
    })
}

/// The settings of projects, which cannot be deleted until the end of the transaction.
const ADMISSION_PROJECTS: &str = "
    SELECT name, settings, deleted_at IS NOT NULL FROM project WHERE name = ANY($1::text[])
    ORDER BY name FOR KEY SHARE";
/// Locks projects until the end of the transaction, so that two hubs do not exceed a limit of the queue together.
const ADMISSION_LOCK: &str =
    "SELECT name FROM project WHERE name = ANY($1::text[]) ORDER BY name FOR NO KEY UPDATE";
const ADMISSION_QUEUED: &str = "
    SELECT s.project, count(*) FROM submitter s JOIN task t ON t.submitter_no = s.submitter_no
    WHERE s.project = ANY($1::text[]) AND t.state = 'queued' GROUP BY s.project";

/// The ids among these of existing tasks.
const ADMISSION_KNOWN: &str = "SELECT task_id FROM request WHERE task_id = ANY($1::uuid[])";

/// Statements that decide whether projects accept tasks.
pub(super) struct AdmissionStatements {
    projects: Statement,
    lock: Statement,
    queued: Statement,
    known: Statement,
}

/// The data that decides whether projects accept tasks. Projects without a row have no limits.
pub(super) struct Admission {
    /// Settings, and whether the project was deleted.
    projects: HashMap<String, (ProjectSettings, bool)>,
    queued: HashMap<String, u64>,
    /// Tasks that exist, of projects that may refuse some, and those that were accepted.
    known: HashSet<Uuid>,
}

impl AdmissionStatements {
    pub(super) async fn prepare(client: &Client) -> Result<Self, Error> {
        let (projects, lock, queued, known) = tokio::try_join!(
            client.prepare(ADMISSION_PROJECTS),
            client.prepare(ADMISSION_LOCK),
            client.prepare(ADMISSION_QUEUED),
            client.prepare(ADMISSION_KNOWN)
        )?;
        Ok(Self {
            projects,
            lock,
            queued,
            known,
        })
    }

    /// Reads what the projects of these tasks accept.
    pub(super) async fn load(
        &self,
        client: &Client,
        jobs: &[&NewTask],
    ) -> Result<Admission, DecideError> {
        let mut names: Vec<_> = jobs.iter().map(|job| text(&job.project)).collect();
        names.sort_unstable();
        names.dedup();
        let rows: Vec<Row> = client.query(&self.projects, &[&names]).await?;
        let mut projects = HashMap::new();
        for row in &rows {
            let mut cells = PostgresColumns::of(row);
            let name: String = cells.next()?;
            let settings = parse_settings(cells.next()?)?;
            projects.insert(name, (settings, cells.next()?));
        }
        let mut queued = HashMap::new();
        let limited = projects
            .iter()
            .filter(|(_, (settings, _))| settings.max_queued.is_some());
        let limited: Vec<&String> = limited.map(|(name, _)| name).collect();
        if !limited.is_empty() {
            client.query(&self.lock, &[&limited]).await?;
            for row in &client.query(&self.queued, &[&limited]).await? {
                let mut cells = PostgresColumns::of(row);
                queued.insert(cells.next()?, cells.count()?);
            }
        }
        // A task that exists is not refused for another reason.
        let may_refuse = |job: &&&NewTask| {
            let found = projects.get(&*text(&job.project));
            found.is_some_and(|(settings, is_deleted): &(ProjectSettings, bool)| {
                *is_deleted || settings.max_queued.is_some() || !settings.repositories.is_empty()
            })
        };
        let ids: Vec<Uuid> = jobs
            .iter()
            .filter(may_refuse)
            .map(|job| job.task_id.uuid())
            .collect();
        let known = if ids.is_empty() {
            HashSet::new()
        } else {
            let rows = client.query(&self.known, &[&ids]).await?;
            rows.iter().map(|row| row.get(0)).collect()
        };
        Ok(Admission {
            projects,
            queued,
            known,
        })
    }
}

impl Admission {
    /// Why the project does not accept a task; one that is accepted is counted, unless it is a `plan`.
    pub(super) fn refuse(
        &mut self,
        task: &NewTask,
        is_plan: bool,
    ) -> Result<Option<SubmitOutcome>, HubStoreError> {
        let id = task.task_id.uuid();
        if self.known.contains(&id) {
            return Ok(Some(SubmitOutcome::IdTaken));
        }
        let queued = self.queued.entry(task.project.clone()).or_default();
        let refused = match self.projects.get(&*text(&task.project)) {
            None => None,
            Some((_, true)) => Some(SubmitOutcome::ProjectDeleted),
            Some((settings, false)) => refuse_task(settings, *queued, task)?,
        };
        if refused.is_none() {
            self.known.insert(id);
            *queued += u64::from(!is_plan);
        }
        Ok(refused)
    }
}
