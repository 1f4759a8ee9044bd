//! The hub's store as the dashboard asks it. Nothing of another tenant's is ever found.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::LOCATION;
use selvedge_core::fleet::{
    RESULT_PATCH, TaskState, attempt_patch, patch_since_start, whole_patches,
};
use selvedge_core::model::{OutputRef, RunId, Task as Asked, TaskId};
use selvedge_face::command::submit_again;
use selvedge_face::reading::{
    Answer, Between, Decision, Diff, Fleet, Live, PendingReview, Reading, Rights, Slice, Story,
    Task, TaskQuery, Tasks, Trouble, Visitor, WholePlan,
};
use selvedge_face::stats::RunFacts;
use selvedge_store::hub::{Change, HubStoreError, Identity, TaskView};
use tokio::sync::Mutex;
use uuid::Uuid;

use super::board;
use super::rows::{parts, row, sum_of_plan, word};
use crate::access::Caller;
use crate::api::{labels, tasks};
use crate::facts;
use crate::hub::Hub;
use crate::plans;
use crate::problem::Refused;
use crate::review::{self, ReviewOrder};

/// How long the sums over everything are taken for those of now, by all who look. Each page that is open asks
/// for news twice a second, and a sum reads every task; what this hub itself changed is known at once besides.
const SUMS: Duration = Duration::from_secs(1);

/// A hub.
pub(super) struct HubReading {
    hub: Arc<Hub>,
    /// The sums over everything in a word, and when they were made.
    sums: Mutex<Option<(Instant, String)>>,
}

pub(super) fn failed(error: HubStoreError) -> Trouble {
    Trouble::failed(error)
}

fn no_task() -> Trouble {
    Trouble::NotFound("there is no such task".to_owned())
}

impl HubReading {
    pub(super) fn new(hub: Arc<Hub>) -> Self {
        Self {
            hub,
            sums: Mutex::default(),
        }
    }

    /// Another word once anything changed, here or at another hub over the same store.
    async fn everything(&self) -> Result<String, Trouble> {
        // Held while they are made: whoever comes meanwhile waits for the same.
        let mut sums = self.sums.lock().await;
        let now = Instant::now();
        let known = sums.as_ref().filter(|(made, _)| now - *made < SUMS);
        let known = if let Some((_, known)) = known {
            known.clone()
        } else {
            let overview = self.hub.store().overview().await.map_err(failed)?;
            let made = format!("{overview:?}");
            *sums = Some((now, made.clone()));
            made
        };
        drop(sums);
        let workers = self.hub.sessions.workers().into_iter();
        let workers: Vec<_> = workers
            .map(|worker| (worker.worker, worker.connected, worker.tasks.len()))
            .collect();
        let changes = self.hub.changes();
        Ok(word(&format!("{known}{workers:?}{changes}")))
    }

    async fn view(&self, visitor: &Visitor, id: &str) -> Result<(TaskView, String), Trouble> {
        let id: TaskId = id.parse().map_err(|_| no_task())?;
        let found = self.hub.store().task(id).await.map_err(failed)?;
        let own = |view: &TaskView| visitor.tenant.as_deref() == Some(view.tenant.as_str());
        found.filter(|(view, _)| own(view)).ok_or_else(no_task)
    }

    async fn task_of(&self, visitor: &Visitor, id: &str) -> Result<Task, Trouble> {
        let (view, body) = self.view(visitor, id).await?;
        let state = facts::state(&self.hub, view.row.task_id).await;
        let state = state.map_err(failed)?;
        let asked: Option<Asked> = serde_json::from_str(&body).ok();
        let lease = &view.row.lease;
        let waits = lease.state == TaskState::NeedsReview;
        let mut row = row(&view);
        let parts = if plans::is_plan(&view) {
            Some(parts(sum_of_plan(&self.hub, &view, &mut row, &body).await?))
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
        let mut also = |name: &str, value: Option<String>| {
            about.extend(value.map(|value| (name.to_owned(), value)));
        };
        let labels = labels(&view, asked.as_ref()).join(", ");
        also("Labels", Some(labels).filter(|it| !it.is_empty()));
        also(
            "Leases lost",
            (lease.losses > 0).then(|| lease.losses.to_string()),
        );
        also(
            "Made again from",
            view.retry_of.map(|task| task.to_string()),
        );
        also("To be stopped", lease.cancel.clone());
        let waits_for_worker = lease.state == TaskState::Queued && parts.is_none();
        let unplaceable = waits_for_worker.then(|| sessions.unplaceable(&view.labels));
        also("Nobody can take it", unplaceable.flatten());
        also("Why", view.row.reason.clone());
        let sandbox = match &parts {
            Some(_) => String::new(),
            None => sessions
                .workers()
                .into_iter()
                .find(|worker| Some(worker.worker.as_str()) == lease.worker.as_deref())
                .and_then(|worker| worker.sandbox)
                .unwrap_or_else(|| "not told by the worker.".to_owned()),
        };
        // Which hub is meant stands in the reader's own environment.
        let mut commands = vec![("See it in a terminal", format!("selvedge show {}", row.id))];
        let again = asked.as_ref().map(submit_again);
        commands.extend(again.map(|command| ("Submit it again", command)));
        let description = asked
            .map(|task| task.description)
            .filter(|it| !it.is_empty());
        Ok(Task {
            description: description.unwrap_or_else(|| row.description.clone()),
            unknown: state.unknown,
            facts: about,
            review: review::target(&self.hub, &view.row)
                .await
                .map(|target| PendingReview {
                    task: row.id.clone(),
                    target,
                }),
            rights: Rights {
                review: waits && visitor.may_act,
                another_attempt: true,
                cancel: !lease.state.is_terminal() && visitor.may_act,
                retry: lease.state.is_terminal() && visitor.may_act,
            },
            commands,
            live: Live::Told(self.hub.told(view.row.task_id)),
            sandbox,
            story: match (parts, state.run) {
                (Some(parts), _) => Story::Parts { parts, has_patch },
                (None, Some(run)) => Story::Run(Box::new(run)),
                (None, None) => Story::Untold,
            },
            row,
        })
    }

    /// The bytes of a stored file of a task.
    async fn file(
        &self,
        task: TaskId,
        name: &str,
        from: u64,
        length: usize,
    ) -> Result<Slice, Trouble> {
        let files = self.hub.store().files(task).await.map_err(failed)?;
        let missing = || Trouble::NotFound("what was printed is not kept any more".to_owned());
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
            let chunk = self
                .hub
                .store()
                .bytes(file.hash.clone(), place)
                .await
                .map_err(failed)?;
            match chunk {
                Some(chunk) if !chunk.is_empty() => bytes.extend(chunk),
                _ => break,
            }
        }
        bytes.truncate(length);
        Ok(Slice {
            bytes,
            total: file.size,
        })
    }

    /// Whether all work of a task is kept as one patch.
    async fn has_patch(&self, task: TaskId) -> Result<bool, Trouble> {
        let files = self.hub.store().files(task).await.map_err(failed)?;
        Ok(files.iter().any(|file| file.name == RESULT_PATCH))
    }

    /// The first of these patches that was handed in.
    async fn patch(&self, task: TaskId, names: Vec<String>) -> Result<Diff, Trouble> {
        const LONGEST: usize = 4 * 1024 * 1024;
        for name in names {
            match self.file(task, &name, 0, LONGEST).await {
                Ok(slice) => {
                    let shown = u64::try_from(slice.bytes.len()).unwrap_or(u64::MAX);
                    return Ok(Diff {
                        truncated: shown < slice.total,
                        bytes: slice.bytes,
                    });
                }
                Err(Trouble::NotFound(_)) => {}
                Err(error) => return Err(error),
            }
        }
        let error = "no patch was handed in for that";
        Err(Trouble::NotFound(error.to_owned()))
    }

    async fn change(&self, task: TaskId, change: Change) -> Result<(), Trouble> {
        let done = tasks::changed(&self.hub, task, change).await;
        done.map_err(|refused| told(&refused))
    }
}

impl Reading for HubReading {
    fn tasks<'a>(&'a self, visitor: &'a Visitor, query: &'a TaskQuery) -> Answer<'a, Tasks> {
        Box::pin(board::tasks(&self.hub, visitor, query))
    }

    fn task<'a>(&'a self, visitor: &'a Visitor, id: &'a str) -> Answer<'a, Task> {
        Box::pin(self.task_of(visitor, id))
    }

    fn plan<'a>(&'a self, visitor: &'a Visitor, id: &'a str) -> Answer<'a, WholePlan> {
        Box::pin(async move {
            let (view, body) = self.view(visitor, id).await?;
            plans::whole(&self.hub, &view, &body).await.map_err(failed)
        })
    }

    fn output<'a>(
        &'a self,
        run: RunId,
        output: &'a OutputRef,
        from: u64,
        length: usize,
    ) -> Answer<'a, Slice> {
        Box::pin(async move {
            let task: TaskId = run.to_string().parse().map_err(|_| no_task())?;
            self.file(task, &output.file, from, length).await
        })
    }

    fn diff<'a>(&'a self, of: &'a Task, run: RunId, between: Between) -> Answer<'a, Diff> {
        Box::pin(async move {
            let task: TaskId = run.to_string().parse().map_err(|_| no_task())?;
            let names = match (&of.story, between) {
                (Story::Run(_), Between::Attempt(number)) => vec![attempt_patch(number)],
                (Story::Run(run), Between::SinceStart(number)) => {
                    vec![patch_since_start(run, number)]
                }
                (Story::Run(run), Between::Whole) => whole_patches(run),
                (Story::Parts { .. }, Between::Whole) => vec![RESULT_PATCH.to_owned()],
                _ => return Err(no_task()),
            };
            self.patch(task, names).await
        })
    }

    fn facts<'a>(&'a self, visitor: &'a Visitor) -> Answer<'a, Vec<RunFacts>> {
        Box::pin(async move {
            let tenant = visitor.tenant.as_deref().unwrap_or_default();
            facts::all(&self.hub, tenant).await.map_err(failed)
        })
    }

    fn fleet<'a>(&'a self, visitor: &'a Visitor) -> Answer<'a, Option<Fleet>> {
        Box::pin(async move { board::fleet(&self.hub, visitor).await.map(Some) })
    }

    fn pulse<'a>(&'a self, visitor: &'a Visitor, task: Option<&'a str>) -> Answer<'a, String> {
        Box::pin(async move {
            let Some(id) = task else {
                return self.everything().await;
            };
            let (view, _) = self.view(visitor, id).await?;
            let heard = self.hub.heard(view.row.task_id);
            Ok(word(&format!("{:?}{heard}", view.row)))
        })
    }

    fn review<'a>(
        &'a self,
        visitor: &'a Visitor,
        id: &'a str,
        decision: Decision,
    ) -> Answer<'a, String> {
        Box::pin(async move {
            let (view, _) = self.view(visitor, id).await?;
            let order = ReviewOrder {
                review: decision.review,
                by: visitor.name.clone(),
                stated_by: None,
                reason: decision.reason,
                named: decision.named,
            };
            let change = review::change(&self.hub, &view.row, order).await;
            let change = change.map_err(|refused| told(&refused))?;
            self.change(view.row.task_id, change).await?;
            Ok("Decided.".to_owned())
        })
    }

    fn cancel<'a>(&'a self, visitor: &'a Visitor, id: &'a str) -> Answer<'a, String> {
        Box::pin(async move {
            let (view, _) = self.view(visitor, id).await?;
            let change = Change::Cancel {
                by: visitor.name.clone(),
                reason: "stopped on the dashboard".to_owned(),
            };
            self.change(view.row.task_id, change).await?;
            if plans::is_plan(&view) {
                let stopped = plans::cancelled(&self.hub, view.row.task_id).await;
                stopped.map_err(failed)?;
            }
            Ok("It is being stopped.".to_owned())
        })
    }

    fn retry<'a>(&'a self, visitor: &'a Visitor, id: &'a str) -> Answer<'a, String> {
        Box::pin(async move {
            let (view, body) = self.view(visitor, id).await?;
            let caller = Caller(Identity {
                token_id: Uuid::nil(),
                name: visitor.name.clone(),
                prefix: String::new(),
                tenant: view.tenant.clone(),
                scopes: Vec::new(),
                created_at: 0,
                expires_at: None,
                last_used_at: None,
                revoked_at: None,
            });
            let made = tasks::again(&self.hub, &caller, &view, &body, &HeaderMap::new()).await;
            let made = made.map_err(|refused| told(&refused))?;
            let place = made.headers().get(LOCATION);
            let place = place
                .and_then(|place| place.to_str().ok())
                .unwrap_or_default();
            Ok(place.rsplit('/').next().unwrap_or_default().to_owned())
        })
    }
}

/// What the hub refuses, as a page says it.
fn told(refused: &Refused) -> Trouble {
    let problem = refused.problem();
    let detail = problem
        .detail
        .clone()
        .unwrap_or_else(|| problem.title.clone());
    match problem.status {
        404 => no_task(),
        500.. => Trouble::Failed(detail),
        _ => Trouble::Refused(detail),
    }
}
