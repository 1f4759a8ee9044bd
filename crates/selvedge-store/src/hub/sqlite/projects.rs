//! Projects: their settings, what of their limits is used, and the submitters of their tasks.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension, Row, named_params, params};
use selvedge_core::model::MicroUsd;
use selvedge_protocol::{DEFAULT_PROJECT, ProjectSettings, ProjectUsage};

use super::writer_cache::WriterCache;
use super::{SqliteHub, access};
use crate::hub::access::{AuditAction, AuditActor};
use crate::hub::error::HubStoreError;
use crate::hub::fair_share::{FairShare, Submitter};
use crate::hub::projects::{
    DAY_MS, DeleteProjectOutcome, NewProject, Project, ProjectSubmitter, parse_settings,
    refuse_task, settings_json,
};
use crate::hub::rows::{NewTask, SubmitOutcome};
use crate::hub::traits::{ProjectStore, StoreFuture};

/// Maximum number of cached submitters.
const MAX_CACHED_SUBMITTERS: usize = 10_000;

/// What the writer has read of projects and submitters.
#[derive(Debug, Default)]
pub(super) struct ProjectCache {
    /// By name; `None` until all were read, and after a change.
    projects: Option<HashMap<String, StoredProject>>,
    /// Numbers by project, person and name.
    submitters: HashMap<[String; 3], i64>,
}

#[derive(Debug)]
struct StoredProject {
    settings: ProjectSettings,
    is_deleted: bool,
}

impl ProjectCache {
    fn all(&mut self, db: &Connection) -> Result<&HashMap<String, StoredProject>, HubStoreError> {
        match &mut self.projects {
            Some(known) => Ok(known),
            none => Ok(none.insert(read_projects(db)?)),
        }
    }

    /// Must be called with every change of a project.
    fn forget_projects(&mut self) {
        self.projects = None;
    }
}

fn read_projects(db: &Connection) -> Result<HashMap<String, StoredProject>, HubStoreError> {
    let mut query =
        db.prepare_cached("SELECT name, settings, deleted_at IS NOT NULL FROM project")?;
    let mut rows = query.query([])?;
    let mut projects = HashMap::new();
    while let Some(row) = rows.next()? {
        let project = StoredProject {
            settings: parse_settings(&row.get::<_, String>(1)?)?,
            is_deleted: row.get(2)?,
        };
        projects.insert(row.get(0)?, project);
    }
    Ok(projects)
}

impl ProjectStore for SqliteHub {
    fn create_project(&self, project: NewProject) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let settings = settings_json(&project.settings)?;
            let now = clock.now();
            db.projects().forget_projects();
            let made = db.execute(
                "INSERT INTO project VALUES (?1, ?2, ?3, NULL) ON CONFLICT DO NOTHING",
                params![project.name, settings, now],
            )?;
            if made > 0 {
                let what = (
                    AuditAction::CreateProject,
                    &*project.name,
                    settings.as_str(),
                );
                access::insert_audit(db, now, DEFAULT_PROJECT, &project.created_by, what)?;
            }
            Ok(made > 0)
        }))
    }

    fn projects(&self) -> StoreFuture<'_, Vec<Project>> {
        Box::pin(self.read(|db| {
            let mut query = db.prepare_cached(
                "SELECT name, settings, created_at FROM project WHERE deleted_at IS NULL ORDER BY name",
            )?;
            let mut rows = query.query([])?;
            let mut all = Vec::new();
            while let Some(row) = rows.next()? {
                all.push(Project {
                    name: row.get(0)?,
                    settings: parse_settings(&row.get::<_, String>(1)?)?,
                    created_at: row.get(2)?,
                });
            }
            Ok(all)
        }))
    }

    fn update_project(
        &self,
        name: String,
        expected: ProjectSettings,
        settings: ProjectSettings,
        by: AuditActor,
    ) -> StoreFuture<'_, bool> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| {
            let mut query = db.prepare_cached(
                "SELECT settings FROM project WHERE name = ?1 AND deleted_at IS NULL",
            )?;
            let stored = query.query_row([&name], |row| row.get::<_, String>(0));
            let Some(stored) = stored.optional()? else {
                return Ok(false);
            };
            if parse_settings(&stored)? != expected {
                return Ok(false);
            }
            let settings = settings_json(&settings)?;
            db.projects().forget_projects();
            db.execute(
                "UPDATE project SET settings = ?2 WHERE name = ?1",
                params![name, settings],
            )?;
            let what = (AuditAction::UpdateProject, &*name, settings.as_str());
            access::insert_audit(db, clock.now(), DEFAULT_PROJECT, &by, what)?;
            Ok(true)
        }))
    }

    fn delete_project(
        &self,
        name: String,
        by: AuditActor,
    ) -> StoreFuture<'_, DeleteProjectOutcome> {
        let clock = self.clock.clone();
        Box::pin(self.write(move |db| delete(db, &name, &by, clock.now())))
    }

    fn project_usage(&self, name: String) -> StoreFuture<'_, Vec<ProjectSubmitter>> {
        let now = self.clock.now();
        Box::pin(self.write(move |db| project_usage(db, &name, now)))
    }

    fn project_has_blob(&self, project: String, hash: String) -> StoreFuture<'_, bool> {
        Box::pin(self.read(move |db| {
            let mut query = db.prepare_cached(
                "SELECT EXISTS (SELECT 1 FROM file JOIN task USING (task_no) WHERE hash = ?1 AND project = ?2)",
            )?;
            Ok(query.query_row([hash, project], |row| row.get(0))?)
        }))
    }
}

fn delete(
    db: &WriterCache,
    name: &str,
    by: &AuditActor,
    now: i64,
) -> Result<DeleteProjectOutcome, HubStoreError> {
    let unfinished: u64 = db.query_row(
        "SELECT count(*) FROM task
         WHERE project = ?1 AND state NOT IN ('succeeded', 'failed', 'cancelled', 'dead')",
        [name],
        |row| row.get(0),
    )?;
    if unfinished > 0 {
        return Ok(DeleteProjectOutcome::Unfinished(unfinished));
    }
    db.projects().forget_projects();
    let deleted = db.execute(
        "UPDATE project SET deleted_at = ?2 WHERE name = ?1 AND deleted_at IS NULL",
        params![name, now],
    )?;
    if deleted == 0 {
        return Ok(DeleteProjectOutcome::NotFound);
    }
    db.execute(
        "UPDATE token SET revoked_at = ?2 WHERE project = ?1 AND revoked_at IS NULL",
        params![name, now],
    )?;
    db.execute("DELETE FROM webhook WHERE project = ?1", [name])?;
    db.execute("DELETE FROM schedule WHERE project = ?1", [name])?;
    let what = (AuditAction::DeleteProject, name, "");
    access::insert_audit(db, now, DEFAULT_PROJECT, by, what)?;
    Ok(DeleteProjectOutcome::Deleted)
}

fn project_usage(
    db: &WriterCache,
    name: &str,
    now: i64,
) -> Result<Vec<ProjectSubmitter>, HubStoreError> {
    let held = db.held_counts()?.into_iter();
    let held: HashMap<i64, u64> = held
        .map(|(submitter, tasks)| (submitter.number, tasks))
        .collect();
    let mut query = db.prepare_cached(
        "SELECT s.submitter_no, s.name,
                (SELECT count(*) FROM task t WHERE t.submitter_no = s.submitter_no AND state = 'queued'),
                coalesce(c.micro_usd, 0), coalesce(c.unknown_calls, 0)
         FROM submitter s LEFT JOIN daily_cost c ON c.submitter_no = s.submitter_no AND c.day = :day
         WHERE s.project = :project ORDER BY s.name, s.submitter_no",
    )?;
    let values = named_params! {":project": name, ":day": now / DAY_MS};
    let rows = query.query_map(values, |row| {
        let submitter = row.get(0)?;
        let usage = ProjectUsage {
            queued: row.get(2)?,
            running: held.get(&submitter).copied().unwrap_or_default(),
            cost_micro_usd: MicroUsd(row.get(3)?),
            calls_of_unknown_cost: row.get(4)?,
        };
        Ok(ProjectSubmitter {
            submitter,
            name: row.get(1)?,
            usage,
        })
    })?;
    let is_used = |submitter: &rusqlite::Result<ProjectSubmitter>| {
        !submitter
            .as_ref()
            .is_ok_and(|submitter| submitter.usage == ProjectUsage::default())
    };
    Ok(rows.filter(is_used).collect::<Result<_, _>>()?)
}

/// Why the project does not accept a task.
pub(super) fn refuse(
    db: &WriterCache,
    task: &NewTask,
) -> Result<Option<SubmitOutcome>, HubStoreError> {
    let mut cache = db.projects();
    let Some(project) = cache.all(db)?.get(&task.project) else {
        return Ok(None);
    };
    if project.is_deleted {
        return Ok(Some(SubmitOutcome::ProjectDeleted));
    }
    let settings = &project.settings;
    let Some(limit) = settings.max_queued else {
        return refuse_task(settings, 0, task);
    };
    let mut query = db.prepare_cached(
        "SELECT count(*) FROM (
             SELECT 1 FROM submitter s JOIN task t ON t.submitter_no = s.submitter_no
             WHERE s.project = ?1 AND t.state = 'queued' LIMIT ?2)",
    )?;
    let queued = query.query_row(params![task.project, limit], |row| row.get(0))?;
    refuse_task(settings, queued, task)
}

/// The number of a task's submitter: of the token of this name, or of the person, whose name is updated.
pub(super) fn submitter_number(db: &WriterCache, task: &NewTask) -> Result<i64, HubStoreError> {
    let person = task.person_column()?.unwrap_or_default();
    let key = [task.project.clone(), person, task.submitted_by.clone()];
    if let Some(number) = db.projects().submitters.get(&key) {
        return Ok(*number);
    }
    let number = find_or_insert_submitter(db, &key)?;
    let known = &mut db.projects().submitters;
    if known.len() >= MAX_CACHED_SUBMITTERS {
        known.clear();
    }
    // The name of a person is not unique: the last one is in the database.
    known.retain(|other, _| key[1].is_empty() || other[..2] != key[..2]);
    known.insert(key, number);
    Ok(number)
}

fn find_or_insert_submitter(db: &Connection, values: &[String; 3]) -> Result<i64, HubStoreError> {
    let mut query = db.prepare_cached(
        "SELECT submitter_no, name FROM submitter
         WHERE project = ?1 AND person = ?2 AND token_name = CASE ?2 WHEN '' THEN ?3 ELSE '' END",
    )?;
    let found = query.query_row(values.each_ref(), |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?))
    });
    let Some((number, name)) = found.optional()? else {
        db.prepare_cached("INSERT INTO submitter (project, person, name) VALUES (?1, ?2, ?3)")?
            .execute(values.each_ref())?;
        return Ok(db.last_insert_rowid());
    };
    if name != values[2] {
        db.prepare_cached("UPDATE submitter SET name = ?2 WHERE submitter_no = ?1")?
            .execute(params![number, values[2]])?;
    }
    Ok(number)
}

/// The submitters that have queued tasks: each is found with one step in the index.
pub(super) fn queued_submitters(db: &Connection) -> Result<Vec<Submitter>, HubStoreError> {
    let mut query = db.prepare_cached(
        "WITH RECURSIVE waiting_submitter (number) AS (
             SELECT min(submitter_no) FROM task WHERE state = 'queued' AND submitter_no > 0
             UNION ALL
             SELECT (SELECT min(submitter_no) FROM task WHERE state = 'queued' AND submitter_no > number)
             FROM waiting_submitter WHERE number IS NOT NULL
         )
         SELECT submitter_no, project FROM waiting_submitter JOIN submitter ON submitter_no = number",
    )?;
    let rows = query.query_map([], read_submitter)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn read_submitter(row: &Row<'_>) -> rusqlite::Result<Submitter> {
    Ok(Submitter {
        number: row.get(0)?,
        project: row.get(1)?,
    })
}

/// What counts for the choice of a task: usage of all submitters, and the projects' limits.
pub(super) fn load_share(
    db: &WriterCache,
    queued: &[Submitter],
    now: i64,
) -> Result<FairShare, HubStoreError> {
    let mut share = FairShare::default();
    let mut is_cost_limited = false;
    for (name, project) in db.projects().all(db)? {
        let settings = &project.settings;
        is_cost_limited |= settings.limits_daily_costs();
        share.add_project(name, Some(settings.clone()));
    }
    for submitter in queued {
        share.add_usage(submitter, ProjectUsage::default());
    }
    for (submitter, running) in db.held_counts()? {
        let usage = ProjectUsage {
            running,
            ..ProjectUsage::default()
        };
        share.add_usage(&submitter, usage);
    }
    if !is_cost_limited {
        return Ok(share);
    }
    let mut query = db.prepare_cached(
        "SELECT s.submitter_no, s.project, c.micro_usd FROM daily_cost c JOIN submitter s USING (submitter_no)
         WHERE c.day = ?1",
    )?;
    let mut rows = query.query([now / DAY_MS])?;
    while let Some(row) = rows.next()? {
        let usage = ProjectUsage {
            cost_micro_usd: MicroUsd(row.get(2)?),
            ..ProjectUsage::default()
        };
        share.add_usage(&read_submitter(row)?, usage);
    }
    Ok(share)
}
