//! Projects: a token of one cannot see or change anything of another one; and their limits.

use selvedge_hub::{OPERATIONS, OperationAccess};
use selvedge_protocol::{FileRef, HubMessage, Scope, WorkerMessage};
use selvedge_store::hub::{ListFilter, NewLoginSession, NewSessionOwner, TaskChange};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::time::timeout;
use uuid::Uuid;

use crate::harness::{
    HttpAnswer, TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, begin_run, by_test, entry, hello,
    submit_report,
};

const ALL_SCOPES: [Scope; 2] = [Scope::Admin, Scope::Worker];

/// Everything that belongs to a project.
struct Belongings {
    task: String,
    blob: String,
    schedule: String,
    webhook: String,
    token: String,
    session: String,
}

async fn created(hub: &TestHub, token: &str, path: &str, body: Value) -> String {
    let answer = hub.post(path, token, &body).await;
    assert_eq!(answer.status, 201, "{path}: {answer:?}");
    answer.json()["id"].as_str().unwrap().to_owned()
}

/// Creates one object of each kind in the project of a token.
async fn fill(hub: &TestHub, project: &str, token: &str) -> Belongings {
    let task = hub
        .submit(token, &json!({"description": format!("of {project}")}))
        .await;
    let secret = format!("content of {project}");
    let hash = selvedge_core::format::hex(&Sha256::digest(&secret));
    let put = format!("/api/v1/blobs/{hash}");
    let answer = hub
        .request("PUT", &put, Some(token), "", secret.as_bytes())
        .await;
    assert_eq!(answer.status, 204, "{answer:?}");
    let name = format!("worker-{project}");
    let (mut worker, _) = TestWorker::connect(hub, token, &hello(&name)).await;
    let lease = worker.next_assignment().await.lease;
    assert_eq!(lease.task_id.to_string(), task);
    let mut header = entry(&lease, 1);
    header.files = vec![FileRef {
        name: "output".to_owned(),
        hash: hash.clone(),
        size: secret.len() as u64,
    }];
    worker.send_acknowledged(&begin_run(header, 1), 1).await;
    let report = submit_report(entry(&lease, 2), 1, json!({"status": "fail"}));
    worker.send_acknowledged(&report, 2).await;
    let schedule = json!({"name": "nightly", "cron": "0 3 * * *", "task": {"description": "x"}});
    let webhook = json!({"name": "hook", "url": "https://hook.example"});
    let session = Uuid::now_v7();
    let token_id = created(
        hub,
        token,
        "/api/v1/tokens",
        json!({"name": format!("of {project}"), "scopes": ["read"]}),
    )
    .await;
    let login = NewLoginSession {
        session_id: session,
        owner: NewSessionOwner::Token(token_id.parse().unwrap()),
        hash: Sha256::digest(project).into(),
        idle_ms: 60_000,
        lasts_ms: 60_000,
        actor: by_test(),
    };
    hub.hub.store().insert_session(login).await.unwrap();
    Belongings {
        task,
        blob: hash,
        schedule: created(hub, token, "/api/v1/schedules", schedule).await,
        webhook: created(hub, token, "/api/v1/webhooks", webhook).await,
        token: token_id,
        session: session.to_string(),
    }
}

/// The expected answer to a request about another project.
enum Expected {
    /// It does not exist.
    Missing,
    /// The token may not do it.
    Refused,
    /// Success, with data of the token's own project only.
    Own,
    /// It is the same for all projects.
    Open,
}

fn expected(method: &str, path: &str) -> Expected {
    match (method, path) {
        ("GET", "/metrics" | "/api/v1/projects")
        | ("POST", "/api/v1/projects")
        | ("PATCH" | "DELETE", "/api/v1/projects/{id}") => Expected::Refused,
        // A worker uploads what is missing.
        ("PUT" | "HEAD", "/api/v1/blobs/{hash}") | (_, "/api/v1/workers/session") => Expected::Open,
        (_, path) if path.contains("/{") => Expected::Missing,
        (
            _,
            "/api/v1/tasks"
            | "/api/v1/tasks/retry"
            | "/api/v1/workers"
            | "/api/v1/stats"
            | "/api/v1/queue/assignable"
            | "/api/v1/figures"
            | "/api/v1/schedules"
            | "/api/v1/tokens"
            | "/api/v1/sessions"
            | "/api/v1/audit"
            | "/api/v1/webhooks",
        ) => Expected::Own,
        (_, other) => panic!("what does {method} {other} answer to another project?"),
    }
}

fn request_body(path: &str) -> Value {
    match path {
        "/api/v1/tasks" => json!({"description": "x"}),
        "/api/v1/tasks/retry" => json!({"states": ["cancelled", "failed", "succeeded", "dead"]}),
        "/api/v1/tasks/{id}/review" => json!({"decision": "accept"}),
        "/api/v1/schedules" => {
            json!({"name": "n", "cron": "0 3 * * *", "task": {"description": "x"}})
        }
        "/api/v1/tokens" => json!({"name": "n", "scopes": ["read"]}),
        "/api/v1/webhooks" => json!({"name": "n", "url": "https://n.example"}),
        "/api/v1/projects" => json!({"name": "third"}),
        "/api/v1/projects/{id}" => json!({"max_running": 1}),
        _ => json!({}),
    }
}

/// Tries every operation of the API with a token of one project on objects of another one.
async fn assert_hidden(hub: &TestHub, token: &str, project: &str, of_other: &Belongings) {
    for operation in OPERATIONS {
        let OperationAccess::Scopes(_) = operation.access else {
            continue;
        };
        let (method, pattern) = (operation.method, operation.path);
        let id = match pattern.split('/').nth(3).unwrap_or_default() {
            "tasks" => &of_other.task,
            "schedules" => &of_other.schedule,
            "webhooks" => &of_other.webhook,
            "tokens" => &of_other.token,
            "sessions" => &of_other.session,
            _ => project,
        };
        let path = pattern
            .replace("{id}", id)
            .replace("{number}", "latest")
            .replace("{hash}", &of_other.blob);
        let path = format!("{path}?name=output");
        let body = request_body(pattern).to_string();
        let body = if method == "GET" { "" } else { body.as_str() };
        let ask = async || -> HttpAnswer {
            let answer = hub.request(method, &path, Some(token), "", body.as_bytes());
            answer.await
        };
        let expected = expected(method, pattern);
        if matches!(expected, Expected::Open) {
            continue;
        }
        let answer = ask().await;
        let context = format!("{method} {path}: {answer:?}");
        match expected {
            Expected::Missing => assert_eq!(answer.status, 404, "{context}"),
            Expected::Refused => assert_eq!(answer.status, 403, "{context}"),
            Expected::Own => {
                assert!((200..300).contains(&answer.status), "{context}");
                let of_other = [
                    &of_other.task,
                    &of_other.schedule,
                    &of_other.webhook,
                    &of_other.token,
                    &of_other.session,
                    &of_other.blob,
                ];
                let shown = of_other.iter().find(|id| answer.body.contains(**id));
                assert_eq!(shown, None, "{context}");
            }
            Expected::Open => {}
        }
    }
}

pub(crate) async fn token_of_a_project_sees_and_changes_nothing_of_another(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let admin = hub.token(&ALL_SCOPES).await;
    for name in ["web", "ops"] {
        let request = json!({"name": name});
        let answer = hub.post("/api/v1/projects", &admin, &request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let (web, ops) = (
        hub.named_token("web-admin", "web", &ALL_SCOPES).await,
        hub.named_token("ops-admin", "ops", &ALL_SCOPES).await,
    );
    let of_default = fill(&hub, "default", &admin).await;
    let of_web = fill(&hub, "web", &web).await;
    assert_hidden(&hub, &web, "default", &of_default).await;
    assert_hidden(&hub, &ops, "web", &of_web).await;
    // The refused requests changed nothing.
    for (token, own) in [(&admin, &of_default), (&web, &of_web)] {
        let row = hub
            .get(&format!("/api/v1/tasks/{}", own.task), token)
            .await
            .json();
        assert_eq!(row["state"], "running", "{row}");
        for (path, id) in [
            ("schedules", &own.schedule),
            ("webhooks", &own.webhook),
            ("tokens", &own.token),
            ("sessions", &own.session),
        ] {
            let listed = hub.get(&format!("/api/v1/{path}"), token).await;
            assert!(listed.body.contains(id.as_str()), "{path}: {listed:?}");
        }
        let blob = hub.get(&format!("/api/v1/blobs/{}", own.blob), token).await;
        assert_eq!(blob.status, 200, "{blob:?}");
    }
    let reader = hub.named_token("reader", "ops", &[Scope::Read]).await;
    let blob = format!("/api/v1/blobs/{}", of_web.blob);
    let hidden = hub.request("HEAD", &blob, Some(&reader), "", b"").await;
    assert_eq!(hidden.status, 404, "{hidden:?}");
    // Statistics and workers are those of the token's own project.
    let stats = hub.get("/api/v1/stats", &ops).await.json();
    assert_eq!(stats["states"]["running"], 0, "{stats}");
    let workers = hub.get("/api/v1/workers", &ops).await.json();
    let names = workers["workers"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|row| (&row["worker"], &row["tasks"])).collect();
    assert_eq!(names, [(&json!("worker-default"), &json!([]))]);
    // An administrator of another project cannot create a token of the default one, but the reverse is possible.
    let elsewhere = |project: &str| json!({"name": "n", "scopes": ["read"], "project": project});
    let refused = hub
        .post("/api/v1/tokens", &web, &elsewhere("default"))
        .await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let refused = hub.get("/api/v1/tokens?project=default", &web).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    let unknown = hub.post("/api/v1/tokens", &admin, &elsewhere("none")).await;
    assert_eq!(unknown.status, 422, "{unknown:?}");
    let unknown = hub.get("/api/v1/tokens?project=none", &admin).await;
    assert_eq!(unknown.status, 422, "{unknown:?}");
    let made = hub.post("/api/v1/tokens", &admin, &elsewhere("web")).await;
    assert_eq!(made.json()["project"], "web", "{made:?}");
    let listed = hub.get("/api/v1/tokens?project=web", &admin).await.json();
    assert!(listed["tokens"].to_string().contains("web-admin"));
    // A token that only reads sees its own project's limits.
    let reader = hub.named_token("reader", "web", &[Scope::Read]).await;
    let shown = hub.get("/api/v1/projects/web", &reader).await.json();
    assert_eq!(shown["usage"]["running"], 1, "{shown}");
    let reader = hub.token(&[Scope::Read]).await;
    let hidden = hub.get("/api/v1/projects/web", &reader).await;
    assert_eq!(hidden.status, 404, "{hidden:?}");
}

pub(crate) async fn worker_of_a_project_is_not_that_of_another(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let admin = hub.token(&ALL_SCOPES).await;
    for name in ["web", "ops"] {
        let request = json!({"name": name});
        let answer = hub.post("/api/v1/projects", &admin, &request).await;
        assert_eq!(answer.status, 201, "{answer:?}");
    }
    let (web, ops) = (
        hub.named_token("web-admin", "web", &ALL_SCOPES).await,
        hub.named_token("ops-admin", "ops", &ALL_SCOPES).await,
    );
    let connect = async |token: &str, name: &str, boot_id: &str| {
        let mut hello = hello(name);
        boot_id.clone_into(&mut hello.boot_id);
        TestWorker::connect(&hub, token, &hello).await
    };
    let submit = async |token: &str| hub.submit(token, &json!({"description": "x"})).await;
    let unplaceable = async |task: &str| {
        let path = format!("/api/v1/tasks/{task}");
        hub.get(&path, &ops).await.json()["unplaceable"].clone()
    };
    let (mut of_web, _) = connect(&web, "one", "of web").await;
    let of_ops = submit(&ops).await;
    let reason = "no connected worker takes tasks of this project";
    assert_eq!(unplaceable(&of_ops).await, reason);
    // Both are connected under the same name, and neither gets messages for the other one.
    let (mut shared, _) = connect(&admin, "one", "shared").await;
    let assigned = shared.next_assignment().await.lease;
    assert_eq!(assigned.task_id.to_string(), of_ops);
    let of_web_task = submit(&web).await;
    let lease = of_web.next_assignment().await.lease;
    assert_eq!(lease.task_id.to_string(), of_web_task);
    let accept = WorkerMessage::TaskAccept { lease };
    of_web.send_acknowledged(&accept, 0).await;
    let path = format!("/api/v1/tasks/{of_ops}/cancel");
    let accept = WorkerMessage::TaskAccept { lease: assigned };
    shared.send_acknowledged(&accept, 0).await;
    assert_eq!(hub.post(&path, &ops, &json!({})).await.status, 202);
    let HubMessage::Cancel { key, .. } = shared.next().await else {
        panic!("no cancellation");
    };
    assert_eq!(key.task_id.to_string(), of_ops);
    let path = format!("/api/v1/tasks/{of_web_task}/cancel");
    assert_eq!(hub.post(&path, &web, &json!({})).await.status, 202);
    let HubMessage::Cancel { key, .. } = of_web.next().await else {
        panic!("no cancellation");
    };
    assert_eq!(key.task_id.to_string(), of_web_task);
    let workers = hub.get("/api/v1/workers", &web).await.json();
    let names = workers["workers"].as_array().unwrap().iter();
    let names: Vec<_> = names.map(|row| row["worker"].as_str().unwrap()).collect();
    assert_eq!(names, ["one", "web/one"]);
    // A shared worker cannot take the name of a project's.
    let mut forged = TestWorker::open(&hub, &admin).await;
    forged.send(&WorkerMessage::Hello(hello("web/one"))).await;
    let reason = timeout(TEST_TIMEOUT, forged.close_reason()).await.unwrap();
    assert!(reason.contains("contains no `/`"), "{reason}");
}

pub(crate) async fn limits_of_a_project_refuse_or_delay_tasks(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let admin = hub.token(&ALL_SCOPES).await;
    let settings = json!({
        "repositories": ["https://git.example/web/*"],
        "max_queued": 2,
        "max_running": 0,
    });
    let body = json!({"name": "web", "settings": settings});
    let answer = hub.post("/api/v1/projects", &admin, &body).await;
    assert_eq!(answer.status, 201, "{answer:?}");
    for invalid in [
        json!({"name": "Web"}),
        json!({"name": "../x"}),
        json!({"name": "x", "settings": {"max_runing": 1}}),
        json!({"name": "x", "settings": {"repositories": ["a{b"]}}),
        json!({"name": "x", "settings": {"repositories": ["a\u{0}"]}}),
        json!({"name": "x", "max_running": 1}),
    ] {
        let answer = hub.post("/api/v1/projects", &admin, &invalid).await;
        assert_eq!(answer.status, 422, "{answer:?}");
    }
    let web = hub.named_token("ada", "web", &[Scope::Submit]).await;
    let task = |repository: &str| json!({"description": "x", "repository": repository});
    let refused = hub
        .post("/api/v1/tasks", &web, &task("https://git.example/ops/x"))
        .await;
    assert_eq!(refused.status, 422, "{refused:?}");
    assert_eq!(refused.json()["errors"][0]["field"], "repository");
    assert!(refused.body.contains("https://git.example/web/*"));
    let ours = task("https://git.example/web/shop");
    let first = hub.submit(&web, &ours).await;
    hub.submit(&web, &ours).await;
    let refused = hub.post("/api/v1/tasks", &web, &ours).await;
    assert_eq!(refused.status, 429, "{refused:?}");
    let problem = refused.json();
    assert_eq!(problem["type"], "urn:selvedge:problem:limit");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("2 queued tasks (`max_queued`)"), "{detail}");
    // The limit of running tasks is the reason, in the task, the list and on the dashboard.
    let reason = "the project's limit of 0 running tasks is reached";
    let path = format!("/api/v1/tasks/{first}");
    assert_eq!(hub.get(&path, &web).await.json()["waits"], reason);
    let listed = hub.get("/api/v1/tasks", &web).await.json();
    assert_eq!(listed["tasks"][1]["waits"], reason);
    let cookie = crate::access::sign_in(&hub, &web).await;
    for page in ["/".to_owned(), format!("/tasks/{first}")] {
        let headers = format!("Cookie: {cookie}\r\n");
        let shown = hub.request("GET", &page, None, &headers, b"").await;
        assert!(
            shown.body.contains("limit of 0 running tasks"),
            "{page}: {shown:?}"
        );
    }
    // Autoscalers start no workers for them.
    let labelled = json!({"description": "x", "labels": ["gpu"]});
    hub.submit(&admin, &labelled).await;
    let assignable = async |token: &str, query: &str| {
        let path = format!("/api/v1/queue/assignable{query}");
        hub.get(&path, token).await.json()["assignable"].clone()
    };
    assert_eq!(assignable(&admin, "").await, 0);
    assert_eq!(assignable(&admin, "?labels=linux,gpu").await, 1);
    assert_eq!(
        assignable(&web, "?labels=gpu").await,
        0,
        "of another project"
    );
    let request = format!(
        "GET /metrics HTTP/1.1\r\nHost: 10.0.0.9\r\nConnection: close\r\nAuthorization: Bearer {admin}\r\n\r\n"
    );
    let metrics = hub.raw(&request, b"").await.body;
    assert!(
        metrics.contains("\nselvedge_tasks_assignable 1\n"),
        "{metrics}"
    );
    // Without the limit, they are assigned; a limit that is not named stays.
    let (mut worker, _) = TestWorker::connect(&hub, &admin, &hello("w")).await;
    let path = "/api/v1/projects/web";
    for invalid in [r#"{"max_runing": null}"#, r#"{"max_runing": 1}"#] {
        let answer = hub.request("PATCH", path, Some(&admin), "", invalid.as_bytes());
        let answer = answer.await;
        assert_eq!(answer.status, 422, "{answer:?}");
        assert!(answer.body.contains("max_runing"), "{answer:?}");
    }
    let change = json!({"max_running": null}).to_string();
    let changed = hub
        .request("PATCH", path, Some(&admin), "", change.as_bytes())
        .await;
    assert_eq!(changed.json()["settings"]["max_queued"], 2, "{changed:?}");
    let assigned = worker.next_assignment().await;
    assert_eq!(assigned.lease.task_id.to_string(), first);
    // A worker of the default project reads the journals of the tasks of other projects, which it may continue.
    let machine = hub.token(&[Scope::Worker]).await;
    let journal = format!("/api/v1/tasks/{first}/journal");
    assert_eq!(hub.get(&journal, &machine).await.status, 200);
    let refused = hub.request("DELETE", path, Some(&admin), "", b"").await;
    assert_eq!(refused.status, 409, "{refused:?}");
    for view in hub
        .hub
        .store()
        .tasks(ListFilter::default(), 10)
        .await
        .unwrap()
        .tasks
    {
        let cancel = TaskChange::Cancel {
            actor: by_test(),
            reason: String::new(),
        };
        let epoch = view.row.lease.epoch;
        let id = view.row.task_id;
        hub.hub
            .store()
            .change(id, TaskChange::Forget { epoch })
            .await
            .unwrap();
        hub.hub.store().change(id, cancel).await.unwrap();
    }
    let deleted = hub.request("DELETE", path, Some(&admin), "", b"").await;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert_eq!(hub.get("/api/v1/tasks", &web).await.status, 401);
    let default = "/api/v1/projects/default";
    let refused = hub.request("DELETE", default, Some(&admin), "", b"").await;
    assert_eq!(refused.status, 409, "{refused:?}");
}

pub(crate) async fn changes_of_different_settings_are_all_kept(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let admin = hub.token(&ALL_SCOPES).await;
    let path = "/api/v1/projects/default";
    let change = async |name: &str, limit: u32| {
        let change = json!({name: limit}).to_string();
        let answer = hub.request("PATCH", path, Some(&admin), "", change.as_bytes());
        assert_eq!(answer.await.status, 200);
    };
    for limit in 1..=20 {
        tokio::join!(
            change("max_running", limit),
            change("max_queued", limit),
            change("max_running_per_submitter", limit)
        );
        let settings = hub.get(path, &admin).await.json()["settings"].clone();
        let expected = json!({
            "repositories": [],
            "max_running": limit,
            "max_queued": limit,
            "max_running_per_submitter": limit,
        });
        assert_eq!(settings, expected);
    }
}
