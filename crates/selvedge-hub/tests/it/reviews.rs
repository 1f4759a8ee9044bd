//! Reviews over the REST API: the work that they name, the recorded reviewer, and the task's state afterwards.

use selvedge_core::model::Outcome;
use selvedge_hub::HubSettings;
use selvedge_protocol::{Scope, TaskResult};
use serde_json::{Value, json};

use crate::access::sign_in;
use crate::harness::{
    HttpAnswer, TestDatabase, TestHub, TestWorker, begin_run, by_test, complete, entry, hello,
    submit_report,
};

/// Hands in an attempt that needs a review.
pub(crate) async fn hand_in(worker: &mut TestWorker, attempt: u32) {
    let lease = worker.next_assignment().await.lease;
    let begin = begin_run(entry(&lease, 1), attempt);
    worker.send_acknowledged(&begin, 1).await;
    let report = submit_report(
        entry(&lease, 2),
        attempt,
        json!({"run_number": attempt, "status": "pass"}),
    );
    worker.send_acknowledged(&report, 2).await;
    let result = TaskResult::without_run(Outcome::NeedsReview, "a person has to look");
    let complete = complete(entry(&lease, 3), &format!("completion {attempt}"), result);
    worker.send_acknowledged(&complete, 3).await;
}

fn values(object: &Value, keys: &[&str]) -> Vec<Value> {
    keys.iter().map(|key| object[*key].clone()).collect()
}

pub(crate) async fn review_applies_to_named_work_and_updates_the_result(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let task = json!({"description": "x", "max_verification_retries": 1});
    let task = hub.submit(&submit, &task).await;
    let path = format!("/api/v1/tasks/{task}");
    let decide = async |body: Value| hub.post(&format!("{path}/review"), &submit, &body).await;
    let result = async || hub.get(&format!("{path}/result"), &submit).await;

    hand_in(&mut worker, 1).await;
    let row = hub.wait_for_state(&task, &submit, &["needs_review"]).await;
    assert_eq!(row["awaiting_review"], json!({"attempt": 1}));
    let both = decide(json!({"decision": "accept", "retry": true})).await;
    assert_eq!(both.status, 422, "{both:?}");
    assert!(both.body.contains("retry"), "{both:?}");
    let tree = "ab12".repeat(16);
    for other in [json!({"attempt": 2}), json!({"attempt": 1, "tree": tree})] {
        let mut body = other.clone();
        body["decision"] = json!("accept");
        let refused = decide(body).await;
        assert_eq!(refused.status, 409, "{other}: {refused:?}");
        assert!(
            refused.body.contains("attempt 1 is awaiting review"),
            "{refused:?}"
        );
    }
    let again = json!({"decision": "reject", "retry": true, "attempt": 1, "reason": "more"});
    assert_eq!(decide(again).await.status, 200);
    assert_eq!(result().await.status, 404, "the task goes on");

    hand_in(&mut worker, 2).await;
    hub.wait_for_state(&task, &submit, &["needs_review"]).await;
    let stale = decide(json!({"decision": "accept", "attempt": 1})).await;
    assert_eq!(stale.status, 409, "{stale:?}");
    // An earlier client does not name the reviewed attempt.
    let accepted = decide(json!({"decision": "accept", "by": "mallory", "reason": "fine"})).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    let row = accepted.json();
    let review = json!({
        "accepted": true, "by": "test", "stated_by": "mallory", "reason": "fine", "attempt": 2
    });
    let expected = [json!("verified"), json!("accepted by test: fine"), review];
    assert_eq!(row["state"], "succeeded");
    assert_eq!(values(&row, &["outcome", "reason", "review"]), expected);
    let handed_in = result().await.json();
    assert_eq!(
        values(&handed_in, &["outcome", "reason", "review"]),
        expected
    );
    assert_eq!(
        values(&handed_in, &["status", "verification_status"]),
        ["completed", "verified"]
    );
    let over = decide(json!({"decision": "reject", "reason": "no"})).await;
    assert_eq!(over.status, 409);
    assert!(
        over.body.contains("not awaiting review: it is succeeded"),
        "{over:?}"
    );
}

pub(crate) async fn review_rejection_or_cancellation_updates_the_result(database: TestDatabase) {
    let hub = TestHub::with_database(database).await;
    let submit = hub.token(&[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    for (action, body, expected) in [
        (
            "review",
            json!({"decision": "reject", "reason": "no"}),
            [
                "failed",
                "max_retries_exhausted",
                "partial_pass",
                "rejected by test: no",
            ],
        ),
        (
            "cancel",
            json!({"reason": "not needed"}),
            [
                "cancelled",
                "cancelled",
                "execution_failed",
                "cancelled: not needed",
            ],
        ),
    ] {
        let task = hub.submit(&submit, &json!({"description": "x"})).await;
        hand_in(&mut worker, 1).await;
        hub.wait_for_state(&task, &submit, &["needs_review"]).await;
        let path = format!("/api/v1/tasks/{task}");
        let done = hub.post(&format!("{path}/{action}"), &submit, &body).await;
        assert!(done.status < 300, "{done:?}");
        let result = hub.get(&format!("{path}/result"), &submit).await.json();
        let keys = ["status", "outcome", "verification_status", "reason"];
        assert_eq!(values(&result, &keys), expected, "{action}");
        assert_eq!(done.json()["outcome"], expected[1]);
    }
}

pub(crate) async fn review_by_the_submitter_can_be_forbidden(database: TestDatabase) {
    let settings = HubSettings {
        forbid_self_review: true,
        ..HubSettings::default()
    };
    let hub = TestHub::with_settings(settings, database).await;
    let ada = hub.named_token("ada", "default", &[Scope::Submit]).await;
    let bob = hub.named_token("bob", "default", &[Scope::Submit]).await;
    let token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &token, &hello("one")).await;
    let task = hub.submit(&ada, &json!({"description": "x"})).await;
    hand_in(&mut worker, 1).await;
    hub.wait_for_state(&task, &ada, &["needs_review"]).await;
    let path = format!("/api/v1/tasks/{task}/review");
    let accept = json!({"decision": "accept", "attempt": 1, "by": "bob"});
    let refused = hub.post(&path, &ada, &accept).await;
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("may not review it"), "{refused:?}");
    let accepted = hub.post(&path, &bob, &accept).await;
    assert_eq!(accepted.status, 200, "{accepted:?}");
    assert_eq!(accepted.json()["review"]["by"], "bob");
}

/// A user of the dashboard.
struct BrowserUser<'a> {
    hub: &'a TestHub,
    cookie: String,
}

impl<'a> BrowserUser<'a> {
    async fn sign_in(hub: &'a TestHub, token: &str) -> Self {
        let cookie = sign_in(hub, token).await;
        Self { hub, cookie }
    }

    async fn post(&self, page: &str, form: &str, fields: &str) -> HttpAnswer {
        let headers = format!("Cookie: {}\r\n", self.cookie);
        let shown = self.hub.request("GET", page, None, &headers, b"").await;
        let csrf = shown.body.split_once("name=\"csrf\" value=\"").unwrap().1;
        let csrf = csrf.split('"').next().unwrap();
        let headers = format!(
            "{headers}Origin: http://{}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            self.hub.host
        );
        let body = format!("csrf={csrf}&{fields}");
        self.hub
            .request("POST", form, None, &headers, body.as_bytes())
            .await
    }
}

pub(crate) async fn held_decision_needs_a_valid_token_and_another_user(database: TestDatabase) {
    let settings = HubSettings {
        forbid_self_review: true,
        ..HubSettings::default()
    };
    let hub = TestHub::with_settings(settings, database).await;
    let tokens = [
        hub.named_token("ada", "default", &[Scope::Submit]).await,
        hub.named_token("bob", "default", &[Scope::Submit]).await,
        hub.named_token("eve", "default", &[Scope::Submit]).await,
    ];
    let worker = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &worker, &hello("one")).await;
    let task = hub.submit(&tokens[0], &json!({"description": "x"})).await;
    hand_in(&mut worker, 1).await;
    hub.wait_for_state(&task, &tokens[0], &["needs_review"])
        .await;
    let [ada, bob, eve] = &tokens;
    let ada = BrowserUser::sign_in(&hub, ada).await;
    let bob = BrowserUser::sign_in(&hub, bob).await;
    let eve_page = BrowserUser::sign_in(&hub, eve).await;
    let page = format!("/tasks/{task}");
    let decide = async |user: &BrowserUser<'_>, fields: &str| {
        user.post(&page, &format!("{page}/review"), fields).await
    };
    let act = async |user: &BrowserUser<'_>, action: &str| {
        user.post(&page, &format!("{page}/review/{action}"), "")
            .await
    };
    let accept = "decision=accept&attempt=1";
    let refuses = |answer: HttpAnswer, why: &str| {
        assert_eq!(answer.status, 409, "{answer:?}");
        assert!(answer.body.contains(why), "{why}: {answer:?}");
    };

    // The submitter can neither hold a decision nor act on those of others.
    refuses(decide(&ada, accept).await, "may not review it");
    assert_eq!(decide(&eve_page, accept).await.status, 303);
    refuses(decide(&bob, accept).await, "undo it first");
    refuses(act(&ada, "undo").await, "may not review");
    refuses(act(&ada, "apply").await, "may not review");

    // A decision of a token that was revoked meanwhile does not take effect.
    let found = hub.hub.store().list_tokens().await;
    let found = found.unwrap();
    let eve = found.iter().find(|token| token.name == "eve").unwrap();
    hub.hub
        .store()
        .revoke(eve.token_id, by_test())
        .await
        .unwrap();
    refuses(act(&bob, "apply").await, "token or session has ended");
    refuses(
        act(&bob, "undo").await,
        "no decision about this work is held",
    );
    let row = hub.get(&format!("/api/v1{page}"), &tokens[0]).await.json();
    assert_eq!(row["state"], "needs_review");

    assert_eq!(decide(&bob, accept).await.status, 303);
    assert_eq!(act(&bob, "undo").await.status, 303);
    assert_eq!(decide(&bob, accept).await.status, 303);
    assert_eq!(act(&bob, "apply").await.status, 303);
    let row = hub.get(&format!("/api/v1{page}"), &tokens[0]).await.json();
    assert_eq!(row["review"]["by"], "bob");
    refuses(act(&bob, "undo").await, "a decision has taken effect");

    let admin = hub.token(&[Scope::Admin]).await;
    let path = format!("/api/v1/audit?subject={task}");
    let log = hub.get(&path, &admin).await.json();
    let entries = log["entries"].as_array().unwrap().iter().rev();
    let mut entries: Vec<_> = entries
        .map(|it| format!("{} {} {}", it["actor"], it["action"], it["detail"]).replace('"', ""))
        .collect();
    // The last two are written at the same time.
    entries[3..].sort_unstable();
    assert_eq!(
        entries[1..],
        [
            "bob review.apply review.accept of eve",
            "bob review.undo review.accept of bob",
            "bob review.accept attempt 1",
            "bob review.apply review.accept of bob",
        ]
    );
}
