//! Sign-in of people at an identity provider on loopback, and what they do then.

use std::time::Duration;

use reqwest::header::LOCATION;
use reqwest::redirect::Policy;
use selvedge_hub::{CALLBACK_PATH, ClientSecret, HubSettings, OidcSettings, Role};
use selvedge_protocol::Scope;
use selvedge_testkit::{IdentityProvider, Polling};
use serde_json::{Value, json};

use crate::access::{delete, open_stream, wait_for_end};
use crate::harness::{HttpAnswer, TEST_TIMEOUT, TestDatabase, TestHub, TestWorker, hello};
use crate::reviews::hand_in;

fn settings(provider: &IdentityProvider) -> HubSettings {
    HubSettings {
        oidc: Some(OidcSettings {
            issuer: provider.issuer(),
            client_id: IdentityProvider::CLIENT_ID.to_owned(),
            client_secret: ClientSecret::new(IdentityProvider::CLIENT_SECRET.to_owned()),
            scopes: vec!["openid".to_owned(), "profile".to_owned()],
            groups_claim: "groups".to_owned(),
            roles: vec![
                (Role::Viewer, vec!["staff".to_owned()]),
                (Role::Submitter, vec!["developers".to_owned()]),
            ],
            default_role: None,
            session_lifetime: Duration::from_hours(1),
        }),
        requests_per_second: 1_000_000,
        ..HubSettings::default()
    }
}

fn claims(subject: &str, name: &str, group: &str) -> Value {
    json!({"sub": subject, "name": name, "groups": [group]})
}

async fn get(hub: &TestHub, path: &str, cookie: &str) -> HttpAnswer {
    let headers = format!("Cookie: {cookie}\r\n");
    hub.request("GET", path, None, &headers, b"").await
}

/// The cookies that an answer sets, without those that it removes: each with its attributes.
fn set_cookies(answer: &HttpAnswer) -> Vec<(String, String)> {
    let lines = answer.raw_head.lines();
    let lines = lines.filter(|line| line.to_lowercase().starts_with("set-cookie:"));
    let values = lines.filter_map(|line| line.split_once(": ")?.1.split_once("; "));
    let values = values.filter(|(_, attributes)| !attributes.contains("Max-Age=0"));
    values
        .map(|(cookie, attributes)| (cookie.to_owned(), attributes.to_owned()))
        .collect()
}

/// Begins a sign-in; returns the provider's page and the cookie of the browser.
async fn begin(hub: &TestHub, next: &str) -> (String, String) {
    let answer = get(hub, &format!("/login/sso?next={next}"), "").await;
    assert_eq!(answer.status, 303, "{answer:?}");
    let location = answer.raw_head.lines();
    let location = location.filter_map(|line| line.split_once(": "));
    let location = location
        .filter(|(name, _)| name.eq_ignore_ascii_case("location"))
        .map(|(_, url)| url.to_owned())
        .next();
    let [(cookie, attributes)] = &set_cookies(&answer)[..] else {
        panic!("not one cookie: {answer:?}");
    };
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Max-Age=600");
    (location.unwrap(), cookie.clone())
}

/// Visits the provider's page; returns the path of the hub that it leads back to.
async fn visit_provider(hub: &TestHub, url: &str) -> String {
    let client = reqwest::Client::builder().redirect(Policy::none()).build();
    let answer = client.unwrap().get(url).send().await.unwrap();
    assert_eq!(answer.status(), 302, "{answer:?}");
    let location = answer.headers()[LOCATION].to_str().unwrap();
    let path = location.strip_prefix(&format!("http://{}", hub.host));
    path.unwrap().to_owned()
}

/// Signs in with the provider's current person; returns the last page.
async fn sign_in(hub: &TestHub) -> HttpAnswer {
    let (url, cookie) = begin(hub, "/").await;
    let back = visit_provider(hub, &url).await;
    get(hub, &back, &cookie).await
}

/// The cookie of the session of a person who signs in with these claims.
async fn session_of(hub: &TestHub, provider: &IdentityProvider, claims: &Value) -> String {
    provider.set_claims(claims);
    let page = sign_in(hub).await;
    assert_eq!(page.status, 200, "{page:?}");
    let [(cookie, attributes)] = &set_cookies(&page)[..] else {
        panic!("not one cookie: {page:?}");
    };
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Strict");
    cookie.clone()
}

/// Sends a form of a page, with the token of that page.
async fn post_form(hub: &TestHub, page: &str, path: &str, cookie: &str, form: &str) -> HttpAnswer {
    let page = get(hub, page, cookie).await;
    let (_, rest) = page.body.split_once("name=\"csrf\" value=\"").unwrap();
    let csrf = rest.split_once('"').unwrap().0;
    let headers = format!(
        "Origin: http://{}\r\nCookie: {cookie}\r\nContent-Type: application/x-www-form-urlencoded\r\n",
        hub.host
    );
    let form = format!("csrf={csrf}&{form}");
    hub.request("POST", path, None, &headers, form.as_bytes())
        .await
}

pub(crate) async fn person_signs_in_and_is_recorded(database: TestDatabase) {
    let provider = IdentityProvider::start();
    let hub = TestHub::with_settings(settings(&provider), database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let entry = get(&hub, "/tasks/1?a=b", "").await;
    assert_eq!(entry.status, 401);
    let link = "href=\"/login/sso?next=/tasks/1%3Fa%3Db\"";
    assert!(entry.body.contains(link), "{entry:?}");
    assert!(entry.body.contains("name=\"token\""), "tokens still work");
    assert!(entry.head.contains("form-action 'self';"), "{entry:?}");

    provider.set_claims(&claims("1", "Ada <b>", "developers"));
    let (url, cookie) = begin(&hub, "/tasks/1%3Fa%3Db").await;
    let redirect = format!("http://{}{CALLBACK_PATH}", hub.host);
    let redirect = redirect.replace(':', "%3A").replace('/', "%2F");
    assert!(url.contains(&format!("redirect_uri={redirect}&")), "{url}");
    let back = visit_provider(&hub, &url).await;
    let page = get(&hub, &back, &cookie).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("url=/tasks/1?a=b\""), "{page:?}");
    let session = set_cookies(&page).remove(0).0;
    let tasks = get(&hub, "/", &session).await;
    assert_eq!(tasks.status, 200);
    assert!(tasks.body.contains("Ada &#60;b&#62;"), "{tasks:?}");

    let made = post_form(&hub, "/new", "/new", &session, "description=x").await;
    assert_eq!(made.status, 303, "{made:?}");
    let listed = hub.get("/api/v1/tasks", &admin).await.json();
    let task = listed["tasks"][0]["task_id"].as_str().unwrap();
    let audit = hub.get("/api/v1/audit?limit=2", &admin).await.json();
    for (entry, action) in [(0, "task.submit"), (1, "session.start")] {
        let entry = &audit["entries"][entry];
        assert_eq!(entry["action"], action, "{audit}");
        assert_eq!(entry["actor"], "Ada <b>");
        let person = json!({"issuer": provider.issuer(), "subject": "1"});
        assert_eq!(entry["person"], person);
        assert_eq!(entry["token_id"], Value::Null);
    }
    let listed = hub.get("/api/v1/sessions", &admin).await.json();
    let listed = &listed["sessions"][0];
    assert_eq!(listed["person"]["name"], "Ada <b>");
    let lasts = |key: &str| -> jiff::Timestamp { listed[key].as_str().unwrap().parse().unwrap() };
    let lasts = lasts("expires_at").duration_since(lasts("created_at"));
    assert_eq!(lasts.as_hours(), 1, "{listed}");

    // The page of a viewer has no form.
    let viewer = session_of(&hub, &provider, &claims("2", "Bob", "staff")).await;
    let refused = post_form(&hub, "/", "/new", &viewer, "description=x").await;
    assert_ne!(refused.status, 303, "{refused:?}");
    let page = get(&hub, &format!("/tasks/{task}"), &viewer).await;
    assert_eq!(page.status, 200);
    assert!(page.body.contains("Ada &#60;b&#62;"), "{page:?}");

    // Sessions end if people of the provider may no longer sign in.
    let mut without = hub.hub.settings().clone();
    without.oidc = None;
    let hub = hub.restart_with(without).await;
    assert_eq!(get(&hub, "/", &session).await.status, 401);
}

pub(crate) async fn sign_in_is_bound_to_its_browser_and_completed_once(database: TestDatabase) {
    let provider = IdentityProvider::start();
    let hub = TestHub::with_settings(settings(&provider), database).await;
    provider.set_claims(&claims("1", "Ada", "staff"));
    let (url, cookie) = begin(&hub, "//evil.example/").await;
    let back = visit_provider(&hub, &url).await;
    let (_, other_cookie) = begin(&hub, "/").await;
    let changed = back.replacen("state=", "state=x", 1);
    for (path, cookie) in [(&back, ""), (&back, &other_cookie), (&changed, &cookie)] {
        let refused = get(&hub, path, cookie).await;
        assert_eq!(refused.status, 400, "{path} {cookie}: {refused:?}");
        assert!(refused.body.contains("not started in this browser"));
        // There is no session, and the sign-in of the cookie can still be completed.
        assert!(
            !refused.raw_head.to_lowercase().contains("set-cookie"),
            "{refused:?}"
        );
    }
    let (again, again_cookie) = begin(&hub, "/").await;
    let again = visit_provider(&hub, &again).await;
    let mixed = get(
        &hub,
        &format!("{again}&iss=https://evil.example"),
        &again_cookie,
    )
    .await;
    assert_eq!(mixed.status, 403, "{mixed:?}");
    let head = format!(
        "HEAD {back} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nCookie: {cookie}\r\n\r\n",
        hub.host
    );
    assert_eq!(hub.raw(&head, b"").await.status, 200);
    let page = get(&hub, &back, &cookie).await;
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("content=\"0;url=/\""), "{page:?}");
    let replayed = get(&hub, &back, &cookie).await;
    assert_eq!(replayed.status, 403, "{replayed:?}");
    assert!(
        replayed.body.contains("refused the sign-in"),
        "{replayed:?}"
    );
    let (_, cookie) = begin(&hub, "/").await;
    let state = url.split_once("state=").unwrap().1;
    let state = state.split_once('&').unwrap().0;
    let forged = format!("{CALLBACK_PATH}?code=code-1&state={state}");
    assert_eq!(get(&hub, &forged, &cookie).await.status, 400);
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_id_tokens_are_refused() {
    let provider = IdentityProvider::start();
    let hub = TestHub::with_settings(settings(&provider), TestDatabase::sqlite()).await;
    let refused = async |claims: Value, status: u16, text: &str| {
        provider.set_claims(&claims);
        let page = sign_in(&hub).await;
        assert_eq!(page.status, status, "{claims}: {page:?}");
        assert!(page.body.contains(text), "{claims}: {page:?}");
        assert!(set_cookies(&page).is_empty(), "{page:?}");
    };
    let with = |key: &str, value: Value| {
        let mut claims = claims("1", "Ada", "staff");
        claims[key] = value;
        claims
    };
    for (key, value, text) in [
        (
            "nonce",
            json!("another"),
            "its nonce is not that of this sign-in",
        ),
        (
            "nonce",
            Value::Null,
            "its nonce is not that of this sign-in",
        ),
        ("aud", json!("another"), "it is for another client"),
        (
            "aud",
            json!([IdentityProvider::CLIENT_ID, "another"]),
            "it is for another client",
        ),
        ("azp", json!("another"), "it is for another client"),
        (
            "iss",
            json!("https://evil.example"),
            "it is from another issuer",
        ),
        ("exp", json!(1_000_000), "it has expired"),
        ("exp", json!("never"), "it has no `exp`"),
        ("nbf", json!(4_000_000_000_u64), "it is not valid yet"),
        ("sub", json!(""), "without a usable `sub`"),
    ] {
        refused(with(key, value), 403, text).await;
    }
    let group = "<script>alert(1)</script>\u{202e}";
    let page = "named these groups: &#60;script&#62;alert(1)&#60;/script&#62;. An administrator";
    refused(with("groups", json!([group])), 403, page).await;
    refused(with("groups", json!({"a": 1})), 403, "sent no groups").await;

    // A new key is read when it is first needed; one that is not published verifies nothing.
    let ada = claims("1", "Ada", "staff");
    session_of(&hub, &provider, &ada).await;
    provider.rotate_key("key 2", true);
    session_of(&hub, &provider, &ada).await;
    provider.rotate_key("key 3", false);
    refused(ada.clone(), 403, "no key of the provider verifies").await;
    // Nor does another key of a known name.
    provider.rotate_key("key 2", false);
    refused(ada, 403, "no key of the provider verifies").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_that_is_away_does_not_stop_the_hub() {
    let provider = IdentityProvider::start();
    provider.set_available(false);
    let hub = TestHub::with_settings(settings(&provider), TestDatabase::sqlite()).await;
    let token = hub.token(&[Scope::Read]).await;
    assert_eq!(hub.get("/api/v1/tasks", &token).await.status, 200);
    let away = get(&hub, "/login/sso?next=/stats", "").await;
    assert_eq!(away.status, 503, "{away:?}");
    assert!(away.body.contains("cannot be reached now"), "{away:?}");
    assert!(away.body.contains("name=\"token\""), "{away:?}");
    assert!(away.body.contains("/login/sso?next=/stats"), "{away:?}");
    provider.set_available(true);
    let mut polling = Polling::new(TEST_TIMEOUT);
    while get(&hub, "/login/sso", "").await.status != 303 {
        assert!(polling.pause_async().await, "never back");
    }
    session_of(&hub, &provider, &claims("1", "Ada", "staff")).await;

    // A failure of the provider after the start of a sign-in is reported as well.
    let (url, cookie) = begin(&hub, "/").await;
    let back = visit_provider(&hub, &url).await;
    provider.set_available(false);
    assert_eq!(get(&hub, &back, &cookie).await.status, 503);
    provider.set_available(true);
    let denied = "error=access_denied%1b[31m%3Cb%3E";
    let (url, cookie) = begin(&hub, "/").await;
    let state = url.split_once("state=").unwrap().1;
    let state = state.split_once('&').unwrap().0;
    let path = format!("{CALLBACK_PATH}?{denied}&state={state}");
    let page = get(&hub, &path, &cookie).await;
    assert_eq!(page.status, 403, "{page:?}");
    assert!(page.body.contains("access_denied&#60;b&#62;"), "{page:?}");

    // A refusal of the hub by the provider is reported to the administrator, not to the person.
    let mut wrong = settings(&provider);
    if let Some(oidc) = &mut wrong.oidc {
        oidc.client_secret = ClientSecret::new("wrong".to_owned());
    }
    let hub = TestHub::with_settings(wrong, TestDatabase::sqlite()).await;
    let page = sign_in(&hub).await;
    assert_eq!(page.status, 503, "{page:?}");
    assert!(
        page.body.contains("cannot use the identity provider"),
        "{page:?}"
    );

    let hub = TestHub::start().await;
    let none = get(&hub, "/login", "").await;
    assert!(!none.body.contains("/login/sso"), "{none:?}");
    assert_eq!(get(&hub, "/login/sso", "").await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn provider_may_require_the_secret_in_the_body() {
    let provider = IdentityProvider::start();
    provider.require_secret_in_body();
    let hub = TestHub::with_settings(settings(&provider), TestDatabase::sqlite()).await;
    session_of(&hub, &provider, &claims("1", "Ada", "staff")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_sign_ins_are_limited() {
    let provider = IdentityProvider::start();
    let hub = TestHub::with_settings(settings(&provider), TestDatabase::sqlite()).await;
    let ada = claims("1", "Ada", "staff");
    let callback = format!("{CALLBACK_PATH}?code=x&state=x");
    for _ in 0..100 {
        assert_eq!(get(&hub, &callback, "").await.status, 400);
    }
    session_of(&hub, &provider, &ada).await;
    provider.set_claims(&claims("2", "Bob", "nobody"));
    let mut failed = 0;
    let page = loop {
        let page = sign_in(&hub).await;
        failed += 1;
        assert!(failed < 100, "never limited");
        if page.status != 403 {
            break page;
        }
    };
    assert_eq!(page.status, 503, "{page:?}");
    assert!(page.body.contains("Too many failed sign-ins"), "{page:?}");
}

pub(crate) async fn session_of_a_person_ends_with_its_streams(database: TestDatabase) {
    let provider = IdentityProvider::start();
    let hub = TestHub::with_settings(settings(&provider), database).await;
    let admin = hub.token(&[Scope::Admin]).await;
    let ada = claims("1", "Ada", "staff");
    let first = session_of(&hub, &provider, &ada).await;
    let second = session_of(&hub, &provider, &ada).await;
    let stream = async |cookie: &str| {
        let cookie = format!("Cookie: {cookie}");
        open_stream(&hub, "/events", &cookie, "text/event-stream").await
    };
    let (first_stream, second_stream) = (stream(&first).await, stream(&second).await);
    let sessions = hub.get("/api/v1/sessions", &admin).await.json();
    let id = sessions["sessions"][0]["id"].as_str().unwrap();
    let path = format!("/api/v1/sessions/{id}");
    assert_eq!(delete(&hub, &admin, &path).await.status, 204);
    wait_for_end(second_stream).await;
    assert_eq!(get(&hub, "/", &second).await.status, 401);
    assert_eq!(get(&hub, "/", &first).await.status, 200);
    let left = post_form(&hub, "/", "/logout", &first, "").await;
    assert_eq!(left.status, 303, "{left:?}");
    wait_for_end(first_stream).await;
    assert_eq!(get(&hub, "/", &first).await.status, 401);
    let audit = hub.get("/api/v1/audit?limit=1", &admin).await.json();
    assert_eq!(audit["entries"][0]["detail"], "person Ada", "{audit}");
}

pub(crate) async fn people_of_one_name_may_review_each_other(database: TestDatabase) {
    let provider = IdentityProvider::start();
    let settings = HubSettings {
        forbid_self_review: true,
        ..settings(&provider)
    };
    let hub = TestHub::with_settings(settings, database).await;
    let reader = hub.token(&[Scope::Read]).await;
    let same_name = hub.named_token("Ada", "default", &[Scope::Submit]).await;
    let worker_token = hub.token(&[Scope::Worker]).await;
    let (mut worker, _) = TestWorker::connect(&hub, &worker_token, &hello("one")).await;
    let one = session_of(&hub, &provider, &claims("1", "Ada", "developers")).await;
    let two = session_of(&hub, &provider, &claims("2", "Ada", "developers")).await;
    let made = post_form(&hub, "/new", "/new", &one, "description=x").await;
    assert_eq!(made.status, 303, "{made:?}");
    let listed = hub.get("/api/v1/tasks", &reader).await.json();
    let task = listed["tasks"][0]["task_id"].as_str().unwrap();
    hand_in(&mut worker, 1).await;
    hub.wait_for_state(task, &reader, &["needs_review"]).await;
    let path = format!("/api/v1/tasks/{task}/review");
    let accept = json!({"decision": "accept", "attempt": 1});
    let refused = hub.post(&path, &same_name, &accept).await;
    assert_eq!(refused.status, 403, "a token of the same name: {refused:?}");
    let review = async |cookie: &str| {
        let (page, path) = (format!("/tasks/{task}"), format!("/tasks/{task}/review"));
        let form = "decision=reject&reason=no&attempt=1";
        let decided = post_form(&hub, &page, &path, cookie, form).await;
        let path = format!("/tasks/{task}/review/apply");
        let applied = post_form(&hub, &page, &path, cookie, "").await;
        (decided, applied)
    };
    let (refused, _) = review(&one).await;
    assert!(refused.body.contains("may not review it"), "{refused:?}");
    let state = hub.get(&format!("/api/v1/tasks/{task}"), &reader).await;
    assert_eq!(state.json()["state"], "needs_review");

    // A held decision of a person whose session has ended meanwhile does not take effect.
    let admin = hub.token(&[Scope::Admin]).await;
    let three = session_of(&hub, &provider, &claims("3", "Eve", "developers")).await;
    let (page, path) = (format!("/tasks/{task}"), format!("/tasks/{task}/review"));
    let form = "decision=reject&reason=no&attempt=1";
    let held = post_form(&hub, &page, &path, &three, form).await;
    assert_eq!(held.status, 303, "{held:?}");
    let sessions = hub.get("/api/v1/sessions", &admin).await.json();
    let mut sessions = sessions["sessions"].as_array().unwrap().iter();
    let of_eve = sessions.find(|it| it["person"]["name"] == "Eve").unwrap();
    let of_eve = format!("/api/v1/sessions/{}", of_eve["id"].as_str().unwrap());
    assert_eq!(delete(&hub, &admin, &of_eve).await.status, 204);
    let refused = post_form(&hub, &page, &format!("{path}/apply"), &two, "").await;
    assert!(
        refused.body.contains("token or session has ended"),
        "{refused:?}"
    );

    let (_, done) = review(&two).await;
    assert_eq!(done.status, 303, "{done:?}");
    let row = hub.wait_for_state(task, &reader, &["failed"]).await;
    assert_eq!(row["review"]["by"], "Ada", "{row}");
}
