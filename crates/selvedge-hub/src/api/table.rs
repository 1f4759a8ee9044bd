//! The table of all operations: what is not here is not served.

use std::sync::Arc;

use axum::routing::{MethodRouter, delete, get, head, post};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use selvedge_core::fleet::{
    CancelRequest, IssuedToken, JournalPage, ReportPage, ReviewRequest, Scope, SubmitAnswer,
    TaskPage, TaskResult, TaskRow, TokenPage, TokenRequest, WorkerPage,
};
use selvedge_core::model::{Report, Task};

use selvedge_face::stats::Figures;

use super::views::{FilePage, LogPage, RunPage, Stats};
use super::{blobs, events, fleet, openapi, probes, reports, tasks, tokens};
use crate::hub::Hub;
use crate::session;

/// Who may use an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody: it tells nothing of anybody's tasks.
    Open,
    /// Tokens with one of these scopes, or with one that includes it.
    Scopes(&'static [Scope]),
}

type Of = fn(&mut SchemaGenerator) -> Schema;

/// One operation.
#[derive(Debug, Clone, Copy)]
pub struct Operation {
    /// `GET`, `POST`, ….
    pub method: &'static str,
    /// With `{…}` for what varies.
    pub path: &'static str,
    /// Who may.
    pub access: Access,
    /// What it does, in a sentence.
    pub about: &'static str,
    /// What may be asked for behind the `?`, and what it means.
    pub query: &'static [(&'static str, &'static str)],
    /// What it takes.
    pub(crate) takes: Option<Of>,
    /// What it gives when all is well: the status, the media type, and the form of JSON.
    pub(crate) gives: (u16, &'static str, Option<Of>),
    pub(crate) route: fn() -> MethodRouter<Arc<Hub>>,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const JSON: &str = "application/json";
const BYTES: &str = "application/octet-stream";
const STREAM: &str = "text/event-stream";
const READ: Access = Access::Scopes(&[Scope::Read]);
const SUBMIT: Access = Access::Scopes(&[Scope::Submit]);
const WORKER: Access = Access::Scopes(&[Scope::Worker]);
/// What a worker needs that goes on with a task, too.
const EITHER: Access = Access::Scopes(&[Scope::Read, Scope::Worker]);
const ADMIN: Access = Access::Scopes(&[Scope::Admin]);
const PAGE: &[(&str, &str)] = &[
    ("after", "the last one that is known"),
    ("limit", "at most so many"),
];

const LIST: &[(&str, &str)] = &[
    (
        "state",
        "in this state, or in one of several with commas between",
    ),
    ("outcome", "with this outcome"),
    ("agent", "that name this agent"),
    ("worker", "held, or last held, by this worker"),
    ("label", "that ask for this label"),
    ("q", "with this in their description or place"),
    ("limit", "at most so many, 1 to 500; 50 when absent"),
    ("cursor", "where the page before ended"),
];

const fn operation(
    method: &'static str,
    path: &'static str,
    access: Access,
    about: &'static str,
    route: fn() -> MethodRouter<Arc<Hub>>,
) -> Operation {
    Operation {
        method,
        path,
        access,
        about,
        query: &[],
        takes: None,
        gives: (200, JSON, None),
        route,
    }
}

impl Operation {
    const fn query(mut self, query: &'static [(&'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    const fn takes(mut self, takes: Of) -> Self {
        self.takes = Some(takes);
        self
    }

    const fn gives(mut self, status: u16, gives: Of) -> Self {
        self.gives = (status, JSON, Some(gives));
        self
    }

    const fn gives_plain(mut self, status: u16, media: &'static str) -> Self {
        self.gives = (status, media, None);
        self
    }
}

/// All of them.
pub const OPERATIONS: &[Operation] = &[
    operation("POST", "/api/v1/tasks", SUBMIT, "Submits a task.", || post(tasks::submit))
        .takes(of::<Task>)
        .gives(201, of::<SubmitAnswer>),
    operation("GET", "/api/v1/tasks", READ, "Lists tasks, the newest first.", || get(tasks::list))
        .query(LIST)
        .gives(200, of::<TaskPage>),
    operation("GET", "/api/v1/tasks/{id}", READ, "Shows a task.", || get(tasks::show))
        .gives(200, of::<TaskRow>),
    operation("POST", "/api/v1/tasks/{id}/cancel", SUBMIT, "Stops a task for good.", || {
        post(tasks::cancel)
    })
    .takes(of::<CancelRequest>)
    .gives(202, of::<TaskRow>),
    operation(
        "POST",
        "/api/v1/tasks/{id}/retry",
        SUBMIT,
        "Submits a task that is over once more, as a new one that names it.",
        || post(tasks::retry),
    )
    .gives(201, of::<SubmitAnswer>),
    operation(
        "POST",
        "/api/v1/tasks/{id}/review",
        SUBMIT,
        "Decides on work that waits for a person.",
        || post(tasks::review),
    )
    .takes(of::<ReviewRequest>)
    .gives(200, of::<TaskRow>),
    operation("GET", "/api/v1/tasks/{id}/result", READ, "How a task ended.", || {
        get(reports::result_of)
    })
    .gives(200, of::<TaskResult>),
    operation("GET", "/api/v1/tasks/{id}/reports", READ, "All reports of a task.", || {
        get(reports::all)
    })
    .gives(200, of::<ReportPage>),
    operation(
        "GET",
        "/api/v1/tasks/{id}/reports/{number}",
        READ,
        "One report: by its run number, or `latest`.",
        || get(reports::one),
    )
    .gives(200, of::<Report>),
    operation("GET", "/api/v1/tasks/{id}/runs", READ, "The attempts of a task.", || {
        get(reports::runs)
    })
    .gives(200, of::<RunPage>),
    operation("GET", "/api/v1/tasks/{id}/journal", EITHER, "The journal of a task's run.", || {
        get(reports::journal)
    })
    .query(PAGE)
    .gives(200, of::<JournalPage>),
    operation("GET", "/api/v1/tasks/{id}/log", READ, "The hub's own log of a task.", || {
        get(reports::log)
    })
    .query(PAGE)
    .gives(200, of::<LogPage>),
    operation(
        "GET",
        "/api/v1/tasks/{id}/events",
        READ,
        "What happens in a task, live: `journal`, `activity` and `state`. Goes on after `Last-Event-ID`.",
        || get(events::stream),
    )
    .gives_plain(200, STREAM),
    operation("GET", "/api/v1/tasks/{id}/files", EITHER, "The files of a task.", || {
        get(reports::files)
    })
    .gives(200, of::<FilePage>),
    operation("GET", "/api/v1/tasks/{id}/files/content", EITHER, "The bytes of a file.", || {
        get(reports::content)
    })
    .query(&[("name", "the file's name")])
    .gives_plain(200, BYTES),
    operation("GET", "/api/v1/workers", READ, "The workers.", || get(fleet::workers))
        .gives(200, of::<WorkerPage>),
    operation(
        "GET",
        "/api/v1/workers/session",
        WORKER,
        "A worker's session, over WebSocket.",
        || get(session::upgrade),
    )
    .gives_plain(101, "application/octet-stream"),
    operation("HEAD", "/api/v1/blobs/{hash}", EITHER, "Whether a blob is there.", || {
        head(blobs::look)
    })
    .gives_plain(200, BYTES),
    operation("GET", "/api/v1/blobs/{hash}", EITHER, "The bytes of a blob.", || get(blobs::read))
        .gives_plain(200, BYTES),
    operation(
        "PUT",
        "/api/v1/blobs/{hash}",
        WORKER,
        "Adds the next chunk of a blob, as `Content-Range` says.",
        blobs::route,
    )
    .gives_plain(204, BYTES),
    operation("GET", "/api/v1/stats", READ, "Numbers over all tasks.", || get(fleet::stats))
        .gives(200, of::<Stats>),
    operation(
        "GET",
        "/api/v1/figures",
        READ,
        "What the loop buys: how many tasks passed at once, were rescued or were not, and what that cost.",
        || get(fleet::figures),
    )
    .query(&[
        ("days", "tasks of so many last days alone"),
        ("zone", "the IANA name of the time zone that days are counted in; UTC when absent"),
    ])
    .gives(200, of::<Figures>),
    operation("GET", "/api/v1/tokens", ADMIN, "Lists tokens.", || get(tokens::list))
        .gives(200, of::<TokenPage>),
    operation("POST", "/api/v1/tokens", ADMIN, "Makes a token and shows it once.", || {
        post(tokens::make)
    })
    .takes(of::<TokenRequest>)
    .gives(201, of::<IssuedToken>),
    operation("DELETE", "/api/v1/tokens/{id}", ADMIN, "Revokes a token.", || {
        delete(tokens::revoke)
    })
    .gives_plain(204, JSON),
    operation("GET", "/metrics", READ, "Numbers for Prometheus.", || get(probes::metrics))
        .gives_plain(200, "text/plain"),
    operation("GET", "/healthz", Access::Open, "Whether the hub is alive.", || {
        get(probes::alive)
    })
    .gives_plain(200, "text/plain"),
    operation("GET", "/readyz", Access::Open, "Whether its store answers.", || {
        get(probes::ready)
    })
    .gives_plain(200, "text/plain"),
    operation("GET", "/openapi.json", Access::Open, "This interface, as OpenAPI.", || {
        get(openapi::served)
    }),
];
