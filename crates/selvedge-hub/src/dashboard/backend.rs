//! The dashboard's backend over the hub's store. It never returns data of another project.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use selvedge_core::model::{OutputRef, RunId, Task, TaskId};
use selvedge_dashboard::backend::{
    AllowedActions, DashboardBackend, DashboardError, DashboardFuture, DashboardUser, DiffContent,
    DiffRange, FleetOverview, HeldDecisionEnd, LiveActivity, OutputSlice, PendingReview,
    PlanDetail, ReviewSubmission, TaskDetail, TaskHistory, TaskList, TaskQuery,
};
use selvedge_dashboard::command::submit_again;
use selvedge_dashboard::stats::RunStats;
use selvedge_protocol::{
    RESULT_PATCH, ReviewDecision, TaskState, attempt_patch, patch_since_start, whole_patches,
};
use selvedge_store::hub::{AuditAction, AuditChannel, HubStoreError, TaskView};
use tokio::sync::Mutex;

use super::overview;
use super::rows::{apply_plan_totals, fingerprint, plan_parts, row};
use crate::hub::Hub;
use crate::journal_states::load_state;
use crate::object_storage::{self, BlobStorageError};
use crate::service::{self, Actor, ProjectLimits, ReviewOrder, ServiceError, Submission};
use crate::task_rows::{labels, timestamp};
use crate::{plans, result, run_stats, validate};

/// How long cached totals are used, for all visitors. Each open page polls twice a second, and a total reads
/// every task. Changes by this hub itself are noticed immediately.
const TOTALS_TTL: Duration = Duration::from_secs(1);

/// The backend of a hub.
pub(super) struct HubBackend {
    hub: Arc<Hub>,
    /// A fingerprint of the totals, and when it was computed.
    sums: Mutex<Option<(Instant, String)>>,
}

pub(super) fn store_failure(error: HubStoreError) -> DashboardError {
    ServiceError::from(error).into()
}

fn task_not_found() -> DashboardError {
    ServiceError::TaskNotFound.into()
}

fn loaded_id(task: &TaskDetail) -> Result<TaskId, DashboardError> {
    task.row.id.parse().map_err(|_| task_not_found())
}

impl HubBackend {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            sums: Mutex::default(),
        }
    }

    /// A version that changes whenever anything changes, here or at another hub on the same store.
    async fn global_version(&self) -> Result<String, DashboardError> {
        // Locked while it is computed: concurrent callers wait for the same result.
        let mut sums = self.sums.lock().await;
        let now = Instant::now();
        let known = sums.as_ref().filter(|(made, _)| now - *made < TOTALS_TTL);
        let known = if let Some((_, known)) = known {
            known.clone()
        } else {
            let overview = self
                .hub
                .store()
                .overview(None)
                .await
                .map_err(store_failure)?;
            let made = format!("{overview:?}");
            *sums = Some((now, made.clone()));
            made
        };
        drop(sums);
        let workers = self.hub.sessions.worker_states();
        let changes = self.hub.change_count();
        Ok(fingerprint(&format!("{known}{workers:?}{changes}")))
    }

    async fn load_view(
        &self,
        user: &DashboardUser,
        id: &str,
    ) -> Result<(TaskView, String), DashboardError> {
        Ok(service::find(&self.hub, &Actor::from(user), id).await?)
    }

    async fn load_task(
        &self,
        user: &DashboardUser,
        id: &str,
    ) -> Result<TaskDetail, DashboardError> {
        let (view, body) = self.load_view(user, id).await?;
        let state = load_state(&self.hub, view.row.task_id).await;
        let state = state.map_err(store_failure)?;
        let submitted_task: Option<Task> = serde_json::from_str(&body).ok();
        let lease = &view.row.lease;
        let awaits_review = lease.state == TaskState::NeedsReview;
        let mut row = row(&view);
        let parts = if plans::is_plan(&view) {
            Some(plan_parts(
                apply_plan_totals(&self.hub, &view, &mut row, &body).await?,
            ))
        } else {
            None
        };
        let has_patch = parts.is_some() && self.has_patch(view.row.task_id).await?;
        let sessions = &self.hub.sessions;
        let mut about = vec![
            ("Task".to_owned(), row.id.clone()),
            ("Submitted by".to_owned(), view.submitted_by.clone()),
            ("Priority".to_owned(), view.priority.to_string()),
        ];
        let mut add_property = |name: &str, value: Option<String>| {
            about.extend(value.map(|value| (name.to_owned(), value)));
        };
        let labels = labels(&view, submitted_task.as_ref()).join(", ");
        add_property("Labels", Some(labels).filter(|it| !it.is_empty()));
        add_property(
            "Lost leases",
            (lease.losses > 0).then(|| lease.losses.to_string()),
        );
        add_property("Retry of", view.retry_of.map(|task| task.to_string()));
        add_property("Cancellation", lease.cancel.clone());
        let waits_for_worker = lease.state == TaskState::Queued && parts.is_none();
        let unplaceable = waits_for_worker.then(|| sessions.why_unschedulable(&view));
        add_property("Cannot be assigned", unplaceable.flatten());
        if waits_for_worker {
            let limits = ProjectLimits::load(&self.hub, &view.project).await;
            let limits = limits.map_err(store_failure)?;
            add_property("Waits", limits.why_waiting(&view));
        }
        let is_delayed = lease.state == TaskState::Backoff;
        let resumes_at = lease.due_at.filter(|_| is_delayed).map(timestamp);
        add_property(
            "Queued again at",
            resumes_at.map(|at| at.strftime("%F %T UTC").to_string()),
        );
        let sandbox = match &parts {
            Some(_) => String::new(),
            None => sessions
                .workers_of(&view.project)
                .into_iter()
                .find(|worker| Some(worker.worker.as_str()) == lease.worker.as_deref())
                .and_then(|worker| worker.sandbox)
                .unwrap_or_else(|| "not reported by the worker".to_owned()),
        };
        // The command uses the hub from the reader's own environment.
        let mut commands = vec![("Show in a terminal", format!("selvedge show {}", row.id))];
        let again = submitted_task.as_ref().map(submit_again);
        commands.extend(again.map(|command| ("Submit again", command)));
        let description = submitted_task
            .map(|task| task.description)
            .filter(|it| !it.is_empty());
        Ok(TaskDetail {
            description: description.unwrap_or_else(|| row.description.clone()),
            unknown: state.unknown.clone(),
            facts: about,
            review: service::review_target(&self.hub, &view.row)
                .await
                .map(|target| PendingReview {
                    task: row.id.clone(),
                    target,
                }),
            rights: AllowedActions {
                review: awaits_review
                    && user.can_act
                    && service::may_review(&self.hub, &view, &Actor::from(user))
                        .await
                        .map_err(store_failure)?,
                another_attempt: true,
                cancel: !lease.state.is_terminal() && user.can_act,
                retry: lease.state.is_terminal() && user.can_act,
            },
            commands,
            live: LiveActivity::Activity(self.hub.recent_activity(view.row.task_id)),
            sandbox,
            history: match (parts, state.run.clone()) {
                (Some(parts), _) => TaskHistory::Subtasks { parts, has_patch },
                (None, Some(run)) => TaskHistory::Run(Box::new(run)),
                (None, None) => TaskHistory::NotStarted,
            },
            row,
        })
    }

    /// Checks that a user's token is still valid, or the session of a person without a token. A held decision is carried
    /// out later than its form was checked.
    async fn require_valid_access(&self, user: &DashboardUser) -> Result<(), DashboardError> {
        let tokens: Vec<_> = user.token_id.into_iter().collect();
        let sessions = user.person.as_ref().and(user.session_id);
        let sessions = sessions.into_iter().collect();
        let ended = self.hub.store().find_ended_access(tokens, sessions).await;
        if ended.map_err(store_failure)?.is_empty() {
            return Ok(());
        }
        Err(DashboardError::Refused(
            "the reviewer's token or session has ended; nothing was recorded".to_owned(),
        ))
    }

    /// The bytes of a task's stored file.
    async fn read_file_slice(
        &self,
        task: TaskId,
        name: &str,
        from: u64,
        length: usize,
    ) -> Result<OutputSlice, DashboardError> {
        let files = self.hub.store().files(task).await.map_err(store_failure)?;
        let missing = || DashboardError::NotFound("the output is no longer stored".to_owned());
        let file = files
            .into_iter()
            .find(|file| file.name == name)
            .ok_or_else(missing)?;
        let mut bytes = Vec::new();
        while bytes.len() < length {
            let read = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
            let place = from.saturating_add(read);
            if place >= file.size {
                break;
            }
            let read = object_storage::read(&self.hub, file.hash.clone(), file.size, place).await;
            match read {
                Ok(chunk) => bytes.extend(chunk),
                Err(BlobStorageError::Removed) => return Err(missing()),
                Err(BlobStorageError::Store(error)) => return Err(store_failure(error)),
                Err(error) => return Err(DashboardError::failed(error.log_and_describe())),
            }
        }
        bytes.truncate(length);
        Ok(OutputSlice {
            bytes,
            total: file.size,
        })
    }

    /// Whether all changes of a task are stored as one patch.
    async fn has_patch(&self, task: TaskId) -> Result<bool, DashboardError> {
        let files = self.hub.store().files(task).await.map_err(store_failure)?;
        Ok(files.iter().any(|file| file.name == RESULT_PATCH))
    }

    /// The first of these patches that exists.
    async fn patch(&self, task: TaskId, names: Vec<String>) -> Result<DiffContent, DashboardError> {
        const MAX_PATCH_BYTES: usize = 4 * 1024 * 1024;
        for name in names {
            match self.read_file_slice(task, &name, 0, MAX_PATCH_BYTES).await {
                Ok(slice) => {
                    let shown = u64::try_from(slice.bytes.len()).unwrap_or(u64::MAX);
                    return Ok(DiffContent {
                        truncated: shown < slice.total,
                        bytes: slice.bytes,
                    });
                }
                Err(DashboardError::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let error = "no patch is stored for this diff";
        Err(DashboardError::NotFound(error.to_owned()))
    }

    /// A plan's result, and the runs of the subtasks that have begun.
    async fn load_plan(&self, view: &TaskView, body: &str) -> Result<PlanDetail, HubStoreError> {
        let row = service::full_row(&self.hub, view, body).await?;
        let mut runs = BTreeMap::new();
        for part in row.subtasks.iter().filter(|part| part.state.is_some()) {
            let state = load_state(&self.hub, part.task_id).await?;
            runs.extend(state.run.clone().map(|run| (run.run_id, run)));
        }
        let plan_result = result::load_result(&self.hub, view).await?;
        Ok(PlanDetail {
            result: row.plan_result(&runs, plan_result),
            runs,
        })
    }
}

impl DashboardBackend for HubBackend {
    fn tasks<'a>(
        &'a self,
        user: &'a DashboardUser,
        query: &'a TaskQuery,
    ) -> DashboardFuture<'a, TaskList> {
        Box::pin(overview::tasks(&self.hub, user, query))
    }

    fn task<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, TaskDetail> {
        Box::pin(self.load_task(user, id))
    }

    fn plan<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, PlanDetail> {
        Box::pin(async move {
            let (view, body) = self.load_view(user, id).await?;
            self.load_plan(&view, &body).await.map_err(store_failure)
        })
    }

    // Invariant: a journal comes from a worker, so files are looked up by the task that the user was allowed to load,
    // and not by what its journal contains.
    fn output<'a>(
        &'a self,
        of: &'a TaskDetail,
        _: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> DashboardFuture<'a, OutputSlice> {
        Box::pin(async move {
            let task = loaded_id(of)?;
            self.read_file_slice(task, &output.file, from, length).await
        })
    }

    fn diff<'a>(
        &'a self,
        of: &'a TaskDetail,
        between: DiffRange,
    ) -> DashboardFuture<'a, DiffContent> {
        Box::pin(async move {
            let task = loaded_id(of)?;
            let names = match (&of.history, between) {
                (TaskHistory::Run(_), DiffRange::Attempt(number)) => vec![attempt_patch(number)],
                (TaskHistory::Run(run), DiffRange::SinceStart(number)) => {
                    vec![patch_since_start(run, number)]
                }
                (TaskHistory::Run(run), DiffRange::Whole) => whole_patches(run),
                (TaskHistory::Subtasks { .. }, DiffRange::Whole) => vec![RESULT_PATCH.to_owned()],
                _ => return Err(task_not_found()),
            };
            self.patch(task, names).await
        })
    }

    fn run_stats<'a>(&'a self, user: &'a DashboardUser) -> DashboardFuture<'a, Vec<RunStats>> {
        Box::pin(async move {
            let project = user.project.as_deref().unwrap_or_default();
            run_stats::load_all(&self.hub, project)
                .await
                .map_err(store_failure)
        })
    }

    fn fleet<'a>(&'a self, user: &'a DashboardUser) -> DashboardFuture<'a, Option<FleetOverview>> {
        Box::pin(async move { overview::fleet(&self.hub, user).await.map(Some) })
    }

    fn change_token<'a>(
        &'a self,
        user: &'a DashboardUser,
        task: Option<&'a str>,
    ) -> DashboardFuture<'a, String> {
        Box::pin(async move {
            let Some(id) = task else {
                return self.global_version().await;
            };
            let (view, _) = self.load_view(user, id).await?;
            let activity_version = self.hub.activity_version(view.row.task_id);
            Ok(fingerprint(&format!("{:?}{activity_version}", view.row)))
        })
    }

    fn review<'a>(
        &'a self,
        user: &'a DashboardUser,
        id: &'a str,
        decision: ReviewSubmission,
    ) -> DashboardFuture<'a, String> {
        Box::pin(async move {
            self.require_valid_access(user).await?;
            let order = ReviewOrder {
                decision: decision.review,
                stated_by: None,
                reason: decision.reason,
                named: decision.target,
            };
            service::review(&self.hub, &Actor::from(user), id, order).await?;
            Ok("Decided.".to_owned())
        })
    }

    fn record_held_decision<'a>(
        &'a self,
        user: &'a DashboardUser,
        id: &'a str,
        end: HeldDecisionEnd,
        decision: ReviewDecision,
        reviewer: &'a str,
    ) -> DashboardFuture<'a, ()> {
        Box::pin(async move {
            let action = match end {
                HeldDecisionEnd::Undone => AuditAction::UndoReview,
                HeldDecisionEnd::Applied => AuditAction::ApplyReview,
            };
            let actor = Actor::from(user);
            service::record_held_decision(&self.hub, &actor, id, action, decision, reviewer)
                .await?;
            Ok(())
        })
    }

    fn cancel<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, String> {
        Box::pin(async move {
            let reason = "cancelled on the dashboard".to_owned();
            service::cancel(&self.hub, &Actor::from(user), id, reason).await?;
            Ok("The task is being cancelled.".to_owned())
        })
    }

    fn draft<'a>(
        &'a self,
        user: &'a DashboardUser,
        from: Option<&'a str>,
    ) -> DashboardFuture<'a, Task> {
        Box::pin(async move {
            let Some(from) = from else {
                return Ok(Task::default());
            };
            let (_, body) = self.load_view(user, from).await?;
            serde_json::from_str(&body).map_err(DashboardError::failed)
        })
    }

    fn submit<'a>(&'a self, user: &'a DashboardUser, task: Task) -> DashboardFuture<'a, String> {
        Box::pin(async move {
            let body = serde_json::to_vec(&task).map_err(DashboardError::failed)?;
            let defaults = &self.hub.settings().defaults;
            let valid = validate::task(&body, defaults)
                .map_err(|error| DashboardError::Refused(error.detail().to_owned()))?;
            let submission = Submission {
                task: valid.task,
                warnings: valid.warnings,
                retry_of: None,
                idempotency: None,
            };
            let made = service::submit(&self.hub, &Actor::from(user), submission).await?;
            Ok(made.task_id.to_string())
        })
    }

    fn retry<'a>(&'a self, user: &'a DashboardUser, id: &'a str) -> DashboardFuture<'a, String> {
        Box::pin(async move {
            let made = service::retry(&self.hub, &Actor::from(user), id, None).await?;
            Ok(made.task_id.to_string())
        })
    }
}

impl From<&DashboardUser> for Actor {
    fn from(user: &DashboardUser) -> Self {
        Self {
            // Every user of a hub has a project.
            project: user.project.clone().unwrap_or_default(),
            name: user.name.clone(),
            token_id: user.token_id,
            person: user.person.clone(),
            channel: AuditChannel::Dashboard,
        }
    }
}

impl From<ServiceError> for DashboardError {
    fn from(error: ServiceError) -> Self {
        let detail = error.to_string();
        match error {
            ServiceError::TaskNotFound => Self::NotFound(detail),
            ServiceError::Conflict(_)
            | ServiceError::Forbidden(_)
            | ServiceError::LimitReached(_)
            | ServiceError::InvalidFields(_) => Self::Refused(detail),
            ServiceError::Store(_) => Self::Failed(detail),
        }
    }
}
