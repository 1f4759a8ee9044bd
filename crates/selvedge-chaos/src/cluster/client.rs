//! A client that behaves like a user's script: it submits under idempotency keys, retries, cancels and
//! lists tasks, and records every response.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::{ChaosError, now_us};
use crate::history::{
    ClientCancellation, ClientSubmission, FetchedLine, FetchedReport, History, ListedTask,
};

/// A task to be submitted.
#[derive(Debug, Clone)]
pub struct TaskTemplate {
    /// The idempotency key.
    pub key: String,
    /// `good`, `learns`, `fails` or `breaks`; `plan` for a plan.
    pub kind: &'static str,
    /// The kinds of the subtasks of a plan; empty for any other task. The second subtask depends on the
    /// first.
    pub subtask_kinds: Vec<&'static str>,
    /// 0 to 9.
    pub priority: u8,
    /// Number of attempts beyond the first.
    pub retries: u32,
}

impl TaskTemplate {
    /// The key that identifies a subtask in the history; derived from the plan's key.
    fn subtask_key(&self, number: usize) -> String {
        format!("{}.{number}", self.key)
    }
}

/// Builds the body of the submission.
fn request_body(template: &TaskTemplate, repository: &str) -> Value {
    let one = |key: &str, kind: &str| {
        json!({
            "description": format!("chaos key={key} kind={kind}"),
            "max_verification_retries": template.retries,
            "verification_steps": [{"type": "command", "target": "grep -q good out"}],
        })
    };
    let mut body = one(&template.key, template.kind);
    body["repository"] = json!(repository);
    body["priority"] = json!(template.priority);
    let mut subtasks = Vec::new();
    for (number, kind) in template.subtask_kinds.iter().enumerate() {
        let mut subtask = one(&template.subtask_key(number), kind);
        subtask["id"] = json!(number.to_string());
        if number == 1 {
            subtask["depends_on"] = json!(["0"]);
        }
        subtasks.push(subtask);
    }
    if !subtasks.is_empty() {
        body["subtasks"] = Value::Array(subtasks);
        // A plan is verified through its subtasks.
        body["verification_steps"] = json!([]);
    }
    body
}

/// A client of the hubs that records what it observes.
#[derive(Debug, Clone)]
pub struct RecordingClient {
    http: reqwest::Client,
    hubs: Arc<Mutex<Vec<String>>>,
    token: String,
    repository: String,
    history: Arc<Mutex<History>>,
}

impl RecordingClient {
    /// Creates a client with an API token and an empty history.
    pub fn new(hubs: Vec<String>, token: String, repository: String) -> Result<Self, ChaosError> {
        let http = reqwest::Client::builder()
            .timeout(Duration::from_secs(5))
            .no_proxy();
        // Use a new connection for each request: a pooled one may have died with a killed hub.
        let http = http.pool_max_idle_per_host(0).build()?;
        Ok(Self {
            http,
            hubs: Arc::new(Mutex::new(hubs)),
            token,
            repository,
            history: Arc::default(),
        })
    }

    /// Returns a copy of what was observed so far.
    pub fn recorded_history(&self) -> History {
        self.history
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    fn record(&self, note: impl FnOnce(&mut History)) {
        note(&mut self.history.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// Sends a request to the next hub in turn; returns the status and the body.
    pub async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<(StatusCode, String), ChaosError> {
        let hub = {
            let mut hubs = self.hubs.lock().unwrap_or_else(PoisonError::into_inner);
            hubs.rotate_left(1);
            hubs[0].clone()
        };
        let mut request = self
            .http
            .request(method, format!("http://{hub}/api/v1{path}"));
        request = request.bearer_auth(&self.token);
        if let Some((key, body)) = body {
            request = request.json(body);
            if !key.is_empty() {
                request = request.header("idempotency-key", key);
            }
        }
        let sent = request.send().await;
        // The error's `Display` does not distinguish a refused connection from a timeout; `Debug` does.
        let response = sent.map_err(|error| format!("{error:?}"))?;
        Ok((response.status(), response.text().await?))
    }

    async fn get_json(&self, path: &str) -> Result<Value, ChaosError> {
        let (status, text) = self.send(Method::GET, path, None).await?;
        if !status.is_success() {
            return Err(format!("{path}: {status}: {text}").into());
        }
        Ok(serde_json::from_str(&text)?)
    }

    /// Submits once; returns the task's id if a response arrived.
    pub async fn submit(&self, template: &TaskTemplate) -> Option<String> {
        let body = request_body(template, &self.repository);
        let response = self
            .send(Method::POST, "/tasks", Some((&template.key, &body)))
            .await;
        let answered = response.ok().filter(|(status, _)| status.is_success());
        let answer = answered.and_then(|(_, text)| serde_json::from_str::<Value>(&text).ok());
        let answered = answer.and_then(|it| it["task_id"].as_str().map(str::to_owned));
        let one = ClientSubmission {
            priority: template.priority,
            max_attempts: template.retries + 1,
            ..ClientSubmission::default()
        };
        let parts = template.subtask_kinds.len();
        let submission = ClientSubmission {
            key: template.key.clone(),
            max_attempts: one.max_attempts * u32::try_from(parts.max(1)).unwrap_or(u32::MAX),
            subtask_count: parts,
            task_id: answered.clone(),
            ..one
        };
        self.record(|history| {
            history.submissions.push(submission);
            for number in 0..parts {
                let key = template.subtask_key(number);
                history
                    .submissions
                    .push(ClientSubmission { key, ..one.clone() });
            }
        });
        answered
    }

    /// Cancels a task; returns whether the hub acknowledged it.
    pub async fn cancel(&self, task: &str) -> bool {
        let path = format!("/tasks/{task}/cancel");
        let response = self
            .send(Method::POST, &path, Some(("", &json!({"reason": "chaos"}))))
            .await;
        let acknowledged = response.is_ok_and(|(status, _)| status == StatusCode::ACCEPTED);
        if acknowledged {
            let cancel = ClientCancellation {
                task: task.to_owned(),
            };
            self.record(|history| history.cancellations.push(cancel));
        }
        acknowledged
    }

    /// Lists all tasks: their ids and states.
    pub async fn list_tasks(&self) -> Result<Vec<(String, String)>, ChaosError> {
        let (mut states, mut cursor) = (Vec::new(), String::new());
        loop {
            let sent_us = now_us();
            let page = self.get_json(&format!("/tasks?limit=500{cursor}")).await?;
            let received_us = now_us();
            for row in page["tasks"].as_array().into_iter().flatten() {
                let word = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
                let (task, state) = (word("task_id"), word("state"));
                let epoch = row["lease_epoch"].as_u64().unwrap_or(0);
                states.push((task.clone(), state.clone()));
                self.record(|history| {
                    history.observations.push(ListedTask {
                        sent_us,
                        received_us,
                        task,
                        state,
                        epoch,
                    });
                });
            }
            match page["next_cursor"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => return Ok(states),
            }
        }
    }

    /// Returns the last observed state of each task.
    pub fn last_seen_states(&self) -> Vec<(String, String)> {
        let recorded = self.recorded_history();
        let mut last = std::collections::BTreeMap::new();
        for seen in recorded.observations {
            last.insert(seen.task, seen.state);
        }
        last.into_iter().collect()
    }

    /// Reads a task's log, journal and reports as they are now.
    pub async fn read_task(&self, task: &str) -> Result<(), ChaosError> {
        let log = self.get_json(&format!("/tasks/{task}/log")).await?;
        let journal = self
            .get_json(&format!("/tasks/{task}/journal?limit=500"))
            .await?;
        let runs = self.get_json(&format!("/tasks/{task}/runs")).await?;
        let mut lines = Vec::new();
        for line in log["lines"].as_array().into_iter().flatten() {
            if let Some(seq) = line["seq"].as_u64() {
                lines.push((false, seq, line["event"].clone()));
            }
        }
        for event in journal["events"].as_array().into_iter().flatten() {
            if let Some(seq) = event["seq"].as_u64() {
                lines.push((true, seq, event.clone()));
            }
        }
        self.record(|history| {
            history.lines.extend(
                lines
                    .into_iter()
                    .map(|(of_journal, seq, event)| FetchedLine {
                        task: task.to_owned(),
                        of_journal,
                        seq,
                        event,
                    }),
            );
        });
        for run in runs["runs"].as_array().into_iter().flatten() {
            if run["closing"] == "report"
                && let Some(number) = run["run_number"].as_u64()
            {
                let path = format!("/tasks/{task}/reports/{number}");
                let (status, body) = self.send(Method::GET, &path, None).await?;
                if status.is_success() {
                    let run = u32::try_from(number)?;
                    let read = FetchedReport {
                        task: task.to_owned(),
                        run,
                        body,
                    };
                    self.record(|history| history.reports_read.push(read));
                }
            }
        }
        Ok(())
    }

    /// Returns the connected workers and the tasks that each one holds, as the hub reports them.
    pub async fn worker_holdings(&self) -> Result<Vec<(String, Vec<String>)>, ChaosError> {
        let page = self.get_json("/workers").await?;
        let rows = page["workers"].as_array().into_iter().flatten();
        let connected = rows.filter(|row| row["connected"] == true);
        Ok(connected
            .map(|row| {
                let tasks = row["tasks"].as_array().into_iter().flatten();
                let tasks = tasks
                    .filter_map(|task| task.as_str().map(str::to_owned))
                    .collect();
                (row["worker"].as_str().unwrap_or_default().to_owned(), tasks)
            })
            .collect())
    }

    /// Creates a token for workers; returns its secret.
    pub async fn create_worker_token(&self) -> Result<String, ChaosError> {
        let body = json!({"name": "workers", "scopes": ["worker"]});
        let (status, text) = self
            .send(Method::POST, "/tokens", Some(("", &body)))
            .await?;
        let answer: Value = serde_json::from_str(&text)?;
        let token = answer["token"].as_str().map(str::to_owned);
        token.ok_or_else(|| format!("no token: {status}: {text}").into())
    }
}
