//! A hub's store that wraps the real one and has a mutant. Bugs that the store's interface cannot express
//! are changes of the database behind the real store.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use selvedge_core::model::TaskId;
use selvedge_protocol::lease::{LeaseInput, LeaseRules};
use selvedge_protocol::{
    AttemptReport, CostEntry, EntryHeader, EntryKind, FileRef, PersonId, ProjectSettings,
    StreamEntry, TaskState,
};
use selvedge_store::hub::{
    ApiToken, Assignment, AttemptRow, AuditActor, AuditEntry, AuditQuery, AuditStore, BlobPart,
    BlobState, BlobStore, ChangeOutcome, ClaimedDelivery, Completion, DatabaseStatus,
    DeleteProjectOutcome, DeliveryRecord, DeliveryResult, HubStoreError, JournalLine, ListFilter,
    ListPage, LogLine, LoginSession, NewApiToken, NewBlobChunk, NewLoginSession, NewProject,
    NewRunStats, NewSchedule, NewTask, NewWebhook, Overview, PollRequest, Project, ProjectStore,
    ProjectSubmitter, Queue, ReportRow, RevokeOutcome, RunRecords, RunStatsRow, Schedule,
    ScheduleMove, ScheduleStore, SqliteHub, StoreFuture, StoreSettings, SubmitOutcome, TaskAudit,
    TaskChange, TaskCounts, TaskFilter, TaskPageRequest, TaskRecord, TaskView, TokenStore, Webhook,
    WebhookStore,
};
use serde_json::Value;
use uuid::Uuid;

use crate::mutant::Mutant;

/// More tasks than a scenario has.
const MAX_TASKS: usize = 500;

/// A change that writes nothing. Its answer has the same form as that of any other change.
const NO_CHANGE: TaskChange = TaskChange::Lease(LeaseInput::Tick);

/// In the transaction that makes a task assignable again, because an assignment may follow at once.
const REUSE_EPOCHS: &str =
    "CREATE TRIGGER IF NOT EXISTS epoch_is_reused AFTER UPDATE OF state ON task
    WHEN NEW.state = 'queued' AND OLD.state <> 'queued' AND NEW.epoch > 0
    BEGIN UPDATE task SET epoch = NEW.epoch - 1 WHERE task_no = NEW.task_no; END";

const SKIP_LOG: &str = r#"DROP TRIGGER IF EXISTS log_is_kept;
    DELETE FROM log WHERE event = '{"type":"accepted"}'"#;

/// Implements methods by calling the real store.
macro_rules! delegate {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($arg: $kind),*) -> StoreFuture<'_, $answer> {
            self.inner.$name($($arg),*)
        })*
    };
}

/// The file that shows a hub with this database that one of its workers is cut off.
pub(super) fn partition_marker(database: &Path) -> PathBuf {
    database.with_extension("partitioned")
}

/// A store on SQLite with a mutant.
pub(super) struct FaultyStore {
    inner: SqliteHub,
    file: PathBuf,
    mutant: Mutant,
}

impl FaultyStore {
    pub(super) fn open(
        file: PathBuf,
        rules: LeaseRules,
        mutant: Mutant,
    ) -> Result<Self, HubStoreError> {
        let store = Self {
            inner: SqliteHub::open(&file, StoreSettings { rules })?,
            file,
            mutant,
        };
        if mutant == Mutant::DoubleGrant {
            store.run_sql(REUSE_EPOCHS)?;
        }
        Ok(store)
    }

    /// Changes the database behind the real store.
    fn run_sql(&self, sql: &str) -> Result<(), HubStoreError> {
        Ok(Connection::open(&self.file)?.execute_batch(sql)?)
    }

    /// Excludes the tasks that were assigned before: to any worker, or last to the given one.
    async fn exclude_assigned(
        &self,
        poll_request: &mut PollRequest,
        worker: Option<String>,
    ) -> Result<(), HubStoreError> {
        let filter = ListFilter {
            worker,
            ..ListFilter::default()
        };
        let listed = self.inner.tasks(filter, MAX_TASKS).await?.tasks;
        let assigned = listed.iter().filter(|view| view.row.lease.epoch > 0);
        poll_request
            .excluded
            .extend(assigned.map(|view| view.row.task_id));
        Ok(())
    }

    /// Ends the first lease of every running task, long before it expires, once a worker is cut off.
    async fn revoke_first_leases(&self) -> Result<Vec<TaskRecord>, HubStoreError> {
        if !partition_marker(&self.file).exists() {
            return Ok(Vec::new());
        }
        let filter = ListFilter {
            states: vec![TaskState::Running],
            ..ListFilter::default()
        };
        let mut revoked = Vec::new();
        for view in self.inner.tasks(filter, MAX_TASKS).await?.tasks {
            if view.row.lease.epoch == 1 {
                let change = TaskChange::Forget { epoch: 1 };
                let outcome = self.inner.change(view.row.task_id, change).await?;
                revoked.extend(outcome.map(|outcome| outcome.row));
            }
        }
        Ok(revoked)
    }

    /// Applies the mutants that change what a worker sends.
    async fn distort_entry(
        &self,
        task: TaskId,
        mut entry: StreamEntry,
    ) -> Result<TaskChange, HubStoreError> {
        let header = &mut entry.header;
        match (self.mutant, &mut entry.kind) {
            (Mutant::LoseBegin, EntryKind::BeginAttempt(_)) if header.lease.lease_epoch == 1 => {
                return Ok(NO_CHANGE);
            }
            (Mutant::StaleComplete, EntryKind::Complete(_)) => {
                self.forge_lease(task, header).await?;
            }
            (
                Mutant::AlterReport,
                EntryKind::SubmitReport(AttemptReport {
                    report: Value::Object(report),
                    ..
                }),
            ) => {
                report.insert("altered".to_owned(), Value::Bool(true));
            }
            (Mutant::ChargeCrashes, _) => remove_retries(&mut header.events),
            (Mutant::CountTwice, _) => duplicate_costs(&mut header.costs),
            _ => {}
        }
        Ok(TaskChange::Entry(Box::new(entry)))
    }

    /// Renames an entry of an earlier lease to the next one of the task's holder.
    async fn forge_lease(
        &self,
        task: TaskId,
        header: &mut EntryHeader,
    ) -> Result<(), HubStoreError> {
        if let Some(ChangeOutcome { row, .. }) = self.inner.change(task, NO_CHANGE).await?
            && row.lease.is_held()
            && !row.lease.is_held_by(&header.lease)
        {
            header.lease = row.lease_token();
            header.seq = row.entry_seq + 1;
        }
        Ok(())
    }
}

/// Sets the retries of a run to zero in its journal. Its first worker does not read that.
fn remove_retries(events: &mut [Value]) {
    for event in events {
        if let Some(retries) = event.pointer_mut("/data/spec/max_verification_retries") {
            *retries = Value::from(0);
        }
    }
}

fn duplicate_costs(costs: &mut Vec<CostEntry>) {
    for mut cost in costs.clone() {
        cost.call_id.push_str("-again");
        costs.push(cost);
    }
}

fn reopening_sql(task: TaskId) -> String {
    format!(
        r#"INSERT INTO log SELECT task_no, log_seq + 1, updated_at,
               '{{"type":"ended","state":"cancelled","outcome":"cancelled"}}'
           FROM task WHERE task_id = '{task}';
           UPDATE task SET log_seq = log_seq + 1, state = 'cancelled', outcome = 'cancelled'
           WHERE task_id = '{task}'"#
    )
}

impl Queue for FaultyStore {
    fn submit(&self, mut task: NewTask) -> StoreFuture<'_, SubmitOutcome> {
        if self.mutant == Mutant::ForgetKeys {
            task.idempotency = None;
        }
        self.inner.submit(task)
    }

    delegate! {
        count_assignable(want: PollRequest) -> u64;
    }

    fn assign_tasks(
        &self,
        mut poll_requests: Vec<PollRequest>,
    ) -> StoreFuture<'_, Vec<Assignment>> {
        Box::pin(async move {
            for poll_request in &mut poll_requests {
                match self.mutant {
                    Mutant::ForgetRequeued => self.exclude_assigned(poll_request, None).await?,
                    // Otherwise the task might return to the worker that cannot be reached.
                    Mutant::ReassignEarly => {
                        let worker = poll_request.worker.clone();
                        self.exclude_assigned(poll_request, Some(worker)).await?;
                    }
                    _ => {}
                }
            }
            self.inner.assign_tasks(poll_requests).await
        })
    }

    fn change(&self, task: TaskId, change: TaskChange) -> StoreFuture<'_, Option<ChangeOutcome>> {
        Box::pin(async move {
            let is_accept = matches!(change, TaskChange::Lease(LeaseInput::Accept(_)));
            let is_cancel = matches!(change, TaskChange::Cancel { .. });
            let change = match change {
                TaskChange::Entry(entry) => self.distort_entry(task, *entry).await?,
                _ if is_cancel && self.mutant == Mutant::LoseCancel => NO_CHANGE,
                other => other,
            };
            let outcome = self.inner.change(task, change).await?;
            let is_ended = |it: &ChangeOutcome| it.row.lease.state.is_terminal();
            if is_accept && self.mutant == Mutant::SkipLog {
                self.run_sql(SKIP_LOG)?;
            }
            if is_cancel
                && self.mutant == Mutant::ReopenEnded
                && outcome.as_ref().is_some_and(is_ended)
            {
                self.run_sql(&reopening_sql(task))?;
            }
            Ok(outcome)
        })
    }

    fn expire_due(&self, quiet: bool) -> StoreFuture<'_, Vec<TaskRecord>> {
        Box::pin(async move {
            let mut expired = self.inner.expire_due(quiet).await?;
            if self.mutant == Mutant::ReassignEarly {
                expired.extend(self.revoke_first_leases().await?);
            }
            Ok(expired)
        })
    }

    delegate! {
        offers_to(worker: String) -> Vec<TaskRecord>;
        plans() -> Vec<TaskId>;
        now() -> i64;
        task(task: TaskId) -> Option<(TaskView, String)>;
        tasks(filter: ListFilter, limit: usize) -> ListPage;
        list_tasks(filter: TaskFilter, page: TaskPageRequest) -> Vec<TaskView>;
        task_counts(filter: TaskFilter) -> TaskCounts;
        queue_latencies(project: String, limit: usize) -> Vec<i64>;
        run_stats(project: String) -> Vec<RunStatsRow>;
        stale_run_stats(project: String, limit: usize) -> Vec<(TaskId, u64)>;
        saved_run_stats(tasks: Vec<TaskId>) -> Vec<(TaskId, String)>;
        task_bodies(tasks: Vec<TaskId>) -> Vec<(TaskId, String)>;
        save_run_stats(stats: Vec<NewRunStats>) -> ();
        log(task: TaskId, after: u64, limit: usize) -> Vec<LogLine>;
        overview(project: Option<String>) -> Overview;
        purge_expired(older_than_ms: i64, limit: usize) -> u64;
    }
}

impl RunRecords for FaultyStore {
    delegate! {
        journal(task: TaskId, after: u64, limit: usize) -> Vec<JournalLine>;
        runs(task: TaskId) -> Vec<AttemptRow>;
        reports(task: TaskId) -> Vec<ReportRow>;
        report(task: TaskId, attempt_number: u32) -> Option<ReportRow>;
        late_reports(task: TaskId) -> Vec<ReportRow>;
        result(task: TaskId) -> Option<Completion>;
        files(task: TaskId) -> Vec<FileRef>;
    }
}

impl BlobStore for FaultyStore {
    delegate! {
        blob_state(hash: String) -> BlobState;
        append(hash: String, offset: u64, total: u64, chunk: NewBlobChunk) -> BlobState;
        blob_part(hash: String, offset: u64) -> Option<BlobPart>;
        missing(hashes: Vec<String>) -> Vec<String>;
        reserve_object(key: String, for_ms: i64) -> ();
        claim_unused_objects(retry_ms: i64, limit: usize) -> Vec<String>;
        forget_objects(keys: Vec<String>) -> ();
        count_unused_objects() -> u64;
        has_objects() -> bool;
    }
}

impl ScheduleStore for FaultyStore {
    delegate! {
        insert_schedule(schedule: NewSchedule) -> ();
        schedules(project: String) -> Vec<Schedule>;
        due_schedules() -> Vec<Schedule>;
        move_schedule(
            schedule: Uuid,
            expected: Option<i64>,
            next: Option<i64>,
            cause: ScheduleMove
        ) -> bool;
        delete_schedule(schedule: Uuid, by: AuditActor) -> bool;
    }
}

impl ProjectStore for FaultyStore {
    delegate! {
        create_project(project: NewProject) -> bool;
        projects() -> Vec<Project>;
        update_project(
            name: String,
            expected: ProjectSettings,
            settings: ProjectSettings,
            by: AuditActor
        ) -> bool;
        delete_project(name: String, by: AuditActor) -> DeleteProjectOutcome;
        project_usage(name: String) -> Vec<ProjectSubmitter>;
        project_has_blob(project: String, hash: String) -> bool;
    }
}

impl WebhookStore for FaultyStore {
    delegate! {
        insert_webhook(webhook: NewWebhook, by: AuditActor) -> ();
        webhooks(project: String) -> Vec<Webhook>;
        delete_webhook(webhook: Uuid, by: AuditActor) -> bool;
        claim_deliveries(claim_ms: i64, limit: usize) -> Vec<ClaimedDelivery>;
        record_try(result: DeliveryResult) -> ();
        deliveries(webhook: Uuid, limit: usize) -> Vec<DeliveryRecord>;
    }
}

impl TokenStore for FaultyStore {
    delegate! {
        insert_token(token: NewApiToken) -> ApiToken;
        insert_first_token(token: NewApiToken) -> Option<ApiToken>;
        find_token_by_hash(hash: [u8; 32]) -> Option<ApiToken>;
        list_tokens() -> Vec<ApiToken>;
        revoke(token_id: Uuid, by: AuditActor) -> RevokeOutcome;
        touch_tokens(tokens: Vec<Uuid>) -> ();
        insert_session(session: NewLoginSession) -> ();
        find_session_by_hash(hash: [u8; 32]) -> Option<LoginSession>;
        list_sessions(project: String) -> Vec<LoginSession>;
        end_session(project: String, session_id: Uuid, by: AuditActor) -> bool;
        touch_session(session_id: Uuid) -> ();
        find_ended_access(tokens: Vec<Uuid>, sessions: Vec<Uuid>) -> Vec<Uuid>;
    }
}

impl AuditStore for FaultyStore {
    delegate! {
        record_audit(task: TaskId, audit: TaskAudit) -> ();
        audit_entries(query: AuditQuery) -> Vec<AuditEntry>;
        submitting_person(task: TaskId) -> Option<PersonId>;
        purge_audit(older_than_ms: i64, limit: usize) -> u64;
    }
}

impl DatabaseStatus for FaultyStore {
    fn database_id(&self) -> Uuid {
        self.inner.database_id()
    }

    delegate! {
        probe_writes() -> ();
    }
}
