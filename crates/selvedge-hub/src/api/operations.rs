//! The table of all operations: nothing else is served.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, head, patch, post};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use selvedge_core::model::{Report, Task};
use selvedge_protocol::{
    AuditPage, BulkRetryAnswer, BulkRetryRequest, CancelRequest, CreatedSchedule, DeliveryPage,
    IssuedToken, IssuedWebhook, JournalPage, ProjectPage, ProjectRequest, ProjectRow,
    ProjectSettings, ReportPage, ReviewRequest, SchedulePage, ScheduleRequest, ScheduleRow, Scope,
    SessionPage, SubmitAnswer, TaskPage, TaskResult, TaskRow, TokenPage, TokenRequest, WebhookPage,
    WebhookRequest, WorkerPage,
};

use selvedge_dashboard::stats::StatsReport;

use super::views::{AssignableTasks, AttemptPage, FilePage, HubStats, LogPage};
use super::{
    audit, blobs, events, fleet, openapi, probes, projects, reports, schedules, sessions, tasks,
    tokens, webhooks,
};
use crate::hub::Hub;
use crate::session;

/// Access to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationAccess {
    /// Anyone: it reveals nothing about tasks.
    Open,
    /// Tokens with one of these scopes, or with a scope that includes one.
    Scopes(&'static [Scope]),
}

pub(crate) type SchemaFn = fn(&mut SchemaGenerator) -> Schema;

/// The body of a request.
#[derive(Debug, Clone, Copy)]
pub(crate) enum RequestBody {
    /// There is none.
    None,
    /// JSON of this schema.
    Json(SchemaFn),
    /// JSON of this schema, or nothing.
    OptionalJson(SchemaFn),
    /// Any bytes.
    Bytes,
}

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// `GET`, `POST`, ….
    pub method: &'static str,
    /// The path, with `{…}` for parameters.
    pub path: &'static str,
    /// The required scopes.
    pub access: OperationAccess,
    /// A description in one sentence.
    pub summary: &'static str,
    /// Query parameters and their meanings.
    pub query: &'static [(&'static str, &'static str)],
    /// Optional request headers and their meanings.
    pub headers: &'static [(&'static str, &'static str)],
    /// The request body.
    pub(crate) request: RequestBody,
    /// A successful response: the status, the media type, and the schema of the JSON.
    pub(crate) response: (u16, &'static str, Option<SchemaFn>),
    /// Statuses of errors beside those that follow from the access, the path and the body.
    pub(crate) errors: &'static [u16],
    pub(crate) route: fn() -> MethodRouter<Arc<Hub>>,
}

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const JSON: &str = "application/json";
pub(super) const BYTES: &str = "application/octet-stream";
const STREAM: &str = "text/event-stream";
const READ: OperationAccess = OperationAccess::Scopes(&[Scope::Read]);
const SUBMIT: OperationAccess = OperationAccess::Scopes(&[Scope::Submit]);
const WORKER: OperationAccess = OperationAccess::Scopes(&[Scope::Worker]);
/// Also needed by a worker that continues a task.
const READ_OR_WORKER: OperationAccess = OperationAccess::Scopes(&[Scope::Read, Scope::Worker]);
const ADMIN: OperationAccess = OperationAccess::Scopes(&[Scope::Admin]);
const PAGE_QUERY: &[(&str, &str)] = &[
    ("after", "return entries after this sequence number"),
    ("limit", "maximum number of entries"),
];

const LIST_QUERY: &[(&str, &str)] = &[
    ("state", "tasks in one of these states (comma-separated)"),
    ("outcome", "tasks with this outcome"),
    ("agent", "tasks that name this agent"),
    ("worker", "tasks that this worker holds or held last"),
    ("label", "tasks that require this label"),
    (
        "q",
        "tasks with this text in their description, repository or workspace",
    ),
    ("limit", "maximum number of tasks, 1 to 500 (default: 50)"),
    ("cursor", "`next_cursor` of the previous page"),
];

const AUDIT_QUERY: &[(&str, &str)] = &[
    (
        "after",
        "entries after this number, oldest first: to export or to follow the log",
    ),
    ("before", "entries before this number, newest first"),
    ("actor", "entries of the token with this name"),
    ("action", "entries with this action, such as `task.cancel`"),
    (
        "subject",
        "entries about the task, token or session with this id",
    ),
    (
        "limit",
        "maximum number of entries, 1 to 1000 (default: 100)",
    ),
];

const IDEMPOTENCY: &[(&str, &str)] = &[(
    "Idempotency-Key",
    "1 to 200 characters; a repeated request with the same key and body returns the first response",
)];

const fn operation(
    method: &'static str,
    path: &'static str,
    access: OperationAccess,
    about: &'static str,
    route: fn() -> MethodRouter<Arc<Hub>>,
) -> Operation {
    Operation {
        method,
        path,
        access,
        summary: about,
        query: &[],
        headers: &[],
        request: RequestBody::None,
        response: (200, JSON, None),
        errors: &[],
        route,
    }
}

impl Operation {
    const fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    const fn headers(mut self, headers: &'static [(&'static str, &'static str)]) -> Self {
        self.headers = headers;
        self
    }

    const fn request_schema(mut self, takes: SchemaFn) -> Self {
        self.request = RequestBody::Json(takes);
        self
    }

    const fn optional_request_schema(mut self, takes: SchemaFn) -> Self {
        self.request = RequestBody::OptionalJson(takes);
        self
    }

    const fn request_bytes(mut self) -> Self {
        self.request = RequestBody::Bytes;
        self
    }

    const fn errors(mut self, statuses: &'static [u16]) -> Self {
        self.errors = statuses;
        self
    }

    const fn response_schema(mut self, status: u16, gives: SchemaFn) -> Self {
        self.response = (status, JSON, Some(gives));
        self
    }

    const fn plain_response(mut self, status: u16, media: &'static str) -> Self {
        self.response = (status, media, None);
        self
    }
}

/// All operations.
pub const OPERATIONS: &[Operation] = &[
    operation("POST", "/api/v1/tasks", SUBMIT, "Submits a task.", || post(tasks::submit))
        .headers(IDEMPOTENCY)
        .request_schema(schema_of::<Task>)
        .response_schema(201, schema_of::<SubmitAnswer>)
        .errors(&[409]),
    operation("GET", "/api/v1/tasks", READ, "Lists tasks, newest first.", || get(tasks::list))
        .query(LIST_QUERY)
        .response_schema(200, schema_of::<TaskPage>)
        .errors(&[422]),
    operation("GET", "/api/v1/tasks/{id}", READ, "Shows a task.", || get(tasks::show))
        .response_schema(200, schema_of::<TaskRow>),
    operation("POST", "/api/v1/tasks/{id}/cancel", SUBMIT, "Cancels a task.", || {
        post(tasks::cancel)
    })
    .optional_request_schema(schema_of::<CancelRequest>)
    .response_schema(202, schema_of::<TaskRow>)
    .errors(&[409]),
    operation(
        "POST",
        "/api/v1/tasks/{id}/retry",
        SUBMIT,
        "Submits a finished task again, as a new task that names it.",
        || post(tasks::retry),
    )
    .headers(IDEMPOTENCY)
    .response_schema(201, schema_of::<SubmitAnswer>)
    .errors(&[409]),
    operation(
        "POST",
        "/api/v1/tasks/retry",
        SUBMIT,
        "Submits finished tasks again that were not retried before: by default those that ended `dead`.",
        || post(tasks::retry_all),
    )
    .request_schema(schema_of::<BulkRetryRequest>)
    .response_schema(200, schema_of::<BulkRetryAnswer>),
    operation(
        "POST",
        "/api/v1/tasks/{id}/review",
        SUBMIT,
        "Records a review decision for a task that needs review.",
        || post(tasks::review),
    )
    .request_schema(schema_of::<ReviewRequest>)
    .response_schema(200, schema_of::<TaskRow>)
    .errors(&[409]),
    operation("GET", "/api/v1/tasks/{id}/result", READ, "Result of a task.", || {
        get(reports::show_result)
    })
    .response_schema(200, schema_of::<TaskResult>),
    operation("GET", "/api/v1/tasks/{id}/reports", READ, "Lists the reports of a task.", || {
        get(reports::list_reports)
    })
    .response_schema(200, schema_of::<ReportPage>),
    operation(
        "GET",
        "/api/v1/tasks/{id}/reports/{number}",
        READ,
        "Returns one report: by its run number, or `latest`.",
        || get(reports::show_report),
    )
    .response_schema(200, schema_of::<Report>),
    operation("GET", "/api/v1/tasks/{id}/runs", READ, "Lists the attempts of a task.", || {
        get(reports::list_attempts)
    })
    .response_schema(200, schema_of::<AttemptPage>),
    operation("GET", "/api/v1/tasks/{id}/journal", READ_OR_WORKER, "Lists the journal events of a task's run.", || {
        get(reports::journal)
    })
    .query(PAGE_QUERY)
    .response_schema(200, schema_of::<JournalPage>),
    operation("GET", "/api/v1/tasks/{id}/log", READ, "Lists the hub's log of a task.", || {
        get(reports::log)
    })
    .query(PAGE_QUERY)
    .response_schema(200, schema_of::<LogPage>),
    operation(
        "GET",
        "/api/v1/tasks/{id}/events",
        READ,
        "Streams the events of a task: `journal`, `activity` and `state`. Resumes after `Last-Event-ID`.",
        || get(events::stream),
    )
    .query(&[("after", "return journal events after this sequence number")])
    .headers(&[("Last-Event-ID", "the last journal event that the client has received")])
    .plain_response(200, STREAM),
    operation("GET", "/api/v1/tasks/{id}/files", READ_OR_WORKER, "Lists the files of a task.", || {
        get(reports::files)
    })
    .response_schema(200, schema_of::<FilePage>),
    operation("GET", "/api/v1/tasks/{id}/files/content", READ_OR_WORKER, "Returns the content of a file.", || {
        get(reports::download_file)
    })
    .query(&[("name", "file name")])
    .plain_response(200, BYTES)
    .errors(&[410]),
    operation("GET", "/api/v1/workers", READ, "Lists workers.", || get(fleet::workers))
        .response_schema(200, schema_of::<WorkerPage>),
    operation(
        "GET",
        "/api/v1/workers/session",
        WORKER,
        "Opens a worker session over WebSocket.",
        || get(session::upgrade),
    )
    .plain_response(101, "application/octet-stream"),
    operation("HEAD", "/api/v1/blobs/{hash}", READ_OR_WORKER, "Checks whether a blob is stored.", || {
        head(blobs::show_size)
    })
    .plain_response(200, BYTES),
    operation("GET", "/api/v1/blobs/{hash}", READ_OR_WORKER, "Returns the content of a blob.", || get(blobs::read))
        .plain_response(200, BYTES)
        .errors(&[410]),
    operation(
        "PUT",
        "/api/v1/blobs/{hash}",
        WORKER,
        "Uploads the chunk of a blob that `Content-Range` names.",
        blobs::route,
    )
    .headers(&[("Content-Range", "the chunk's place in the blob: `bytes FIRST-LAST/TOTAL` (default: the whole)")])
    .request_bytes()
    .plain_response(204, BYTES)
    .errors(&[409]),
    operation("GET", "/api/v1/stats", READ, "Returns statistics of all tasks of the project.", || get(fleet::stats))
        .response_schema(200, schema_of::<HubStats>),
    operation(
        "GET",
        "/api/v1/queue/assignable",
        READ,
        "Counts the queued tasks that a worker could be given now; for autoscalers.",
        || get(fleet::assignable),
    )
    .query(&[("labels", "labels that the worker offers, with commas between them (default: none)")])
    .response_schema(200, schema_of::<AssignableTasks>),
    operation(
        "GET",
        "/api/v1/figures",
        READ,
        "Returns retry statistics: tasks verified at the first attempt, recovered or failed, and their cost.",
        || get(fleet::retry_figures),
    )
    .query(&[
        ("days", "only tasks of this many last days"),
        ("zone", "IANA time zone of the days (default: UTC)"),
    ])
    .response_schema(200, schema_of::<StatsReport>)
    .errors(&[422]),
    operation("GET", "/api/v1/schedules", READ, "Lists schedules.", || get(schedules::list))
        .response_schema(200, schema_of::<SchedulePage>),
    operation(
        "POST",
        "/api/v1/schedules",
        SUBMIT,
        "Creates a schedule, which submits a task repeatedly.",
        || post(schedules::create),
    )
    .request_schema(schema_of::<ScheduleRequest>)
    .response_schema(201, schema_of::<CreatedSchedule>)
    .errors(&[409]),
    operation(
        "POST",
        "/api/v1/schedules/{id}/pause",
        SUBMIT,
        "Pauses a schedule.",
        || post(schedules::pause),
    )
    .response_schema(200, schema_of::<ScheduleRow>),
    operation(
        "POST",
        "/api/v1/schedules/{id}/resume",
        SUBMIT,
        "Resumes a paused schedule with its next time.",
        || post(schedules::resume),
    )
    .response_schema(200, schema_of::<ScheduleRow>),
    operation(
        "DELETE",
        "/api/v1/schedules/{id}",
        SUBMIT,
        "Removes a schedule; its tasks stay.",
        || delete(schedules::remove),
    )
    .plain_response(204, JSON),
    operation("GET", "/api/v1/projects", ADMIN, "Lists projects.", || get(projects::list))
        .response_schema(200, schema_of::<ProjectPage>),
    operation("POST", "/api/v1/projects", ADMIN, "Creates a project.", || post(projects::create))
        .request_schema(schema_of::<ProjectRequest>)
        .response_schema(201, schema_of::<ProjectRow>)
        .errors(&[409]),
    operation(
        "GET",
        "/api/v1/projects/{id}",
        READ,
        "Shows a project by its name, with the usage of its submitters.",
        || get(projects::show),
    )
    .response_schema(200, schema_of::<ProjectRow>),
    operation(
        "PATCH",
        "/api/v1/projects/{id}",
        ADMIN,
        "Changes settings of a project; `null` removes a limit.",
        || patch(projects::update),
    )
    .request_schema(schema_of::<ProjectSettings>)
    .response_schema(200, schema_of::<ProjectRow>),
    operation(
        "DELETE",
        "/api/v1/projects/{id}",
        ADMIN,
        "Deletes a project without unfinished tasks, with its tokens, sessions, webhooks and schedules.",
        || delete(projects::remove),
    )
    .plain_response(204, JSON)
    .errors(&[409]),
    operation("GET", "/api/v1/tokens", ADMIN, "Lists tokens.", || get(tokens::list))
        .query(&[("project", "tokens of another project; only for tokens of the project `default`")])
        .response_schema(200, schema_of::<TokenPage>),
    operation("POST", "/api/v1/tokens", ADMIN, "Creates a token and returns its secret, once.", || {
        post(tokens::create_token)
    })
    .request_schema(schema_of::<TokenRequest>)
    .response_schema(201, schema_of::<IssuedToken>),
    operation("DELETE", "/api/v1/tokens/{id}", ADMIN, "Revokes a token, unless it is the last one of an administrator.", || {
        delete(tokens::revoke)
    })
    .plain_response(204, JSON)
    .errors(&[409]),
    operation("GET", "/api/v1/sessions", ADMIN, "Lists the sessions of the dashboard.", || {
        get(sessions::list)
    })
    .response_schema(200, schema_of::<SessionPage>),
    operation("DELETE", "/api/v1/sessions/{id}", ADMIN, "Ends a session of the dashboard.", || {
        delete(sessions::end)
    })
    .plain_response(204, JSON),
    operation(
        "GET",
        "/api/v1/audit",
        ADMIN,
        "Lists the audit log: who did what, newest first, or oldest first with `after`.",
        || get(audit::list),
    )
    .query(AUDIT_QUERY)
    .response_schema(200, schema_of::<AuditPage>)
    .errors(&[422]),
    operation("GET", "/api/v1/webhooks", ADMIN, "Lists webhooks.", || get(webhooks::list))
        .response_schema(200, schema_of::<WebhookPage>),
    operation(
        "POST",
        "/api/v1/webhooks",
        ADMIN,
        "Creates a webhook and returns the secret of its signatures, once.",
        || post(webhooks::create),
    )
    .request_schema(schema_of::<WebhookRequest>)
    .response_schema(201, schema_of::<IssuedWebhook>)
    .errors(&[409]),
    operation(
        "DELETE",
        "/api/v1/webhooks/{id}",
        ADMIN,
        "Removes a webhook; what it has not delivered yet is not sent.",
        || delete(webhooks::remove),
    )
    .plain_response(204, JSON),
    operation(
        "GET",
        "/api/v1/webhooks/{id}/deliveries",
        ADMIN,
        "Lists the latest deliveries of a webhook with their requests, newest first.",
        || get(webhooks::list_deliveries),
    )
    .query(&[("limit", "maximum number of deliveries, 1 to 500 (default: 50)")])
    .response_schema(200, schema_of::<DeliveryPage>),
    operation("GET", "/metrics", READ, "Returns metrics for Prometheus.", || get(probes::metrics))
        .plain_response(200, "text/plain"),
    operation("GET", "/healthz", OperationAccess::Open, "Checks whether the hub is running.", || {
        get(probes::liveness)
    })
    .plain_response(200, "text/plain"),
    operation("GET", "/readyz", OperationAccess::Open, "Checks whether the hub's store is available.", || {
        get(probes::readiness)
    })
    .plain_response(200, "text/plain")
    .errors(&[503]),
    operation("GET", "/openapi.json", OperationAccess::Open, "Returns this API as an OpenAPI document.", || {
        get(openapi::serve_document)
    }),
];
