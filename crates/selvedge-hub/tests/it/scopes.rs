//! Tests of permissions: every route, with every scope, with none, and with a revoked token.

use selvedge_hub::{OPERATIONS, OperationAccess};
use selvedge_protocol::Scope;

use crate::harness::TestHub;

fn includes(scope: Scope, wanted: Scope) -> bool {
    match wanted {
        Scope::Read => matches!(scope, Scope::Read | Scope::Submit | Scope::Admin),
        Scope::Submit => matches!(scope, Scope::Submit | Scope::Admin),
        Scope::Worker => scope == Scope::Worker,
        Scope::Admin => scope == Scope::Admin,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_allow_exactly_the_declared_routes() {
    let hub = TestHub::start().await;
    let task = "0190163d-8694-739b-aea5-966c26f8ad91";
    // More wrong tokens would be refused with another status.
    let mut wrong_tokens = 20;
    for operation in OPERATIONS {
        let path = operation
            .path
            .replace("{id}", task)
            .replace("{number}", "latest");
        let path = path.replace("{hash}", &"0".repeat(64));
        let ask =
            async |token: Option<&str>| hub.request(operation.method, &path, token, "", b"").await;
        let OperationAccess::Scopes(wanted) = operation.access else {
            assert!(ask(None).await.status < 300, "{path}");
            continue;
        };
        for (token, why) in [(None, "no token"), (Some("slv_wrong"), "a wrong token")] {
            if token.is_some() {
                if wrong_tokens == 0 {
                    continue;
                }
                wrong_tokens -= 1;
            }
            let answer = ask(token).await;
            assert_eq!(answer.status, 401, "{} {path} with {why}", operation.method);
            assert!(
                answer.head.contains("www-authenticate: bearer"),
                "{answer:?}"
            );
        }
        for scope in Scope::ALL {
            let token = hub.token(&[scope]).await;
            let answer = ask(Some(&token)).await;
            let may = wanted.iter().any(|wanted| includes(scope, *wanted));
            let let_in = answer.status != 401 && answer.status != 403;
            assert_eq!(
                let_in,
                may,
                "{} {path} as {}: {answer:?}",
                operation.method,
                scope.as_str()
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn task_of_another_project_is_not_found() {
    let hub = TestHub::start().await;
    let own = hub.token(&[Scope::Admin]).await;
    let foreign = hub.token_of("other", &[Scope::Admin]).await;
    let task = serde_json::json!({"description": "x"});
    let task = hub.submit(&own, &task).await;
    let of_tasks = |path: &str| path.contains("/tasks/{id}");
    for operation in OPERATIONS.iter().filter(|it| of_tasks(it.path)) {
        let path = operation
            .path
            .replace("{id}", &task)
            .replace("{number}", "latest");
        let path = format!("{path}?name=x");
        let body: &[u8] = if operation.path.ends_with("/review") {
            br#"{"decision": "accept"}"#
        } else {
            b""
        };
        let answer = hub
            .request(operation.method, &path, Some(&foreign), "", body)
            .await;
        let is_hidden = answer.status == 404 && answer.body.contains("task not found");
        assert!(is_hidden, "{} {path}: {answer:?}", operation.method);
    }
    let listed = hub.get("/api/v1/tasks", &foreign).await.json();
    assert_eq!(listed["tasks"], serde_json::json!([]));
    let kept = hub.get(&format!("/api/v1/tasks/{task}"), &own).await;
    assert_eq!(kept.json()["state"], "queued");
}

#[tokio::test(flavor = "multi_thread")]
async fn scopes_exclude_workers_from_review_and_revoked_tokens() {
    let hub = TestHub::start().await;
    let worker = hub.token(&[Scope::Worker]).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let path = "/api/v1/tasks/0190163d-8694-739b-aea5-966c26f8ad91/review";
    let body = serde_json::json!({"decision": "accept"});
    assert_eq!(hub.post(path, &worker, &body).await.status, 403);

    let request = serde_json::json!({"name": "ci", "scopes": ["submit"]});
    let created = hub.post("/api/v1/tokens", &admin, &request).await;
    assert_eq!(created.status, 201, "{created:?}");
    let (secret, id) = (
        created.json()["token"].clone(),
        created.json()["id"].clone(),
    );
    let secret = secret.as_str().unwrap();
    assert_eq!(hub.get("/api/v1/tasks", secret).await.status, 200);
    let listed = hub.get("/api/v1/tokens", &admin).await;
    assert!(!listed.body.contains(secret), "a secret is shown once");
    assert!(listed.body.contains(&secret[..10]));
    let id = id.as_str().unwrap();
    let revoked = hub
        .request(
            "DELETE",
            &format!("/api/v1/tokens/{id}"),
            Some(&admin),
            "",
            b"",
        )
        .await;
    assert_eq!(revoked.status, 204, "{revoked:?}");
    assert_eq!(hub.get("/api/v1/tasks", secret).await.status, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_host_or_origin_is_rejected() {
    let hub = TestHub::start().await;
    let token = hub.token(&[Scope::Read]).await;
    let ask = async |host: &str, origin: &str| {
        let request = format!(
            "GET /api/v1/tasks HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nAuthorization: Bearer {token}\r\n{origin}\r\n"
        );
        hub.raw(&request, b"").await.status
    };
    assert_eq!(ask(&hub.host, "").await, 200);
    assert_eq!(ask("evil.example", "").await, 421);
    assert_eq!(ask(&hub.host, "Origin: http://evil.example\r\n").await, 403);
    assert_eq!(ask(&hub.host, "Origin: null\r\n").await, 403);
    assert_eq!(
        ask(&hub.host, &format!("Origin: http://{}\r\n", hub.host)).await,
        200
    );
}
