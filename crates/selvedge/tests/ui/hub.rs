//! The same pages on a hub: who comes in, what can be done there, and that a hub which is started anew
//! is nothing that a reader has to care about.

use selvedge_testkit::{Browser, Child, TestEnv};
use serde_json::json;

use crate::stage::stage;

/// A hub, and where it listens.
struct Hub {
    program: Child,
    origin: String,
    token: String,
}

fn hub(env: &TestEnv, listen: &str) -> Hub {
    let token = env.root().join("token");
    let file = token.to_str().unwrap();
    let program = env.selvedge(["hub", "--listen", listen, "--admin-token-file", file]);
    let program = program.patience(std::time::Duration::from_mins(5)).spawn();
    program.wait_for_stdout("listening on ");
    program.wait_for_stdout("\n");
    let stdout = program.stdout();
    let origin = stdout
        .split("listening on ")
        .nth(1)
        .unwrap()
        .trim()
        .to_owned();
    Hub {
        program,
        origin,
        token: std::fs::read_to_string(&token).unwrap().trim().to_owned(),
    }
}

impl Hub {
    /// Submits a task on the wire, as any program would, and gives its id.
    fn submit(&self, description: &str) -> String {
        let task = json!({
            "description": description, "repository": "https://example.org/greeting.git", "labels": ["gpu"],
            "agent": "claude", "max_verification_retries": 2,
            "verification_steps": [{ "type": "command", "target": "true" }],
        });
        let answer = self.post("/api/v1/tasks", &task.to_string());
        let answer: serde_json::Value = serde_json::from_str(&answer).unwrap();
        answer["task_id"].as_str().unwrap().to_owned()
    }

    fn post(&self, path: &str, body: &str) -> String {
        use std::io::{Read, Write};
        let host = self.origin.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split("\r\n\r\n").nth(1).unwrap().to_owned()
    }
}

#[test]
fn a_hub_is_entered_with_a_token_acted_upon_and_seen_through_its_restart() {
    let env = stage();
    let first = hub(&env, "127.0.0.1:0");
    let browser = Browser::start(&env);
    browser.go(&first.origin);
    browser.type_into("#token", "slv_not-one-of-ours\u{e007}");
    browser.wait_for_text("[role=alert]", "not known");
    browser.type_into("#token", &format!("{}\u{e007}", first.token));
    browser.wait_until("location.pathname === '/'");
    browser.wait_for_text("#nothing", "No tasks yet");
    browser.script("window.before = true", &[]);

    let id = first.submit("Greet <script>window.pwned=1</script> the world");
    browser.wait_for_text("#tasks", "queued");
    first.submit("Greet the moon");
    browser.wait_for_text("#tasks", "moon");
    assert_eq!(
        browser.script("return [window.before, typeof window.pwned]", &[]),
        json!([true, "undefined"])
    );

    // The page stays open while its hub is killed and started anew on the same port.
    let listen = first.origin.strip_prefix("http://").unwrap().to_owned();
    first.program.kill();
    browser.wait_until("document.querySelector('#line').dataset.state === 'lost'");
    first.program.wait();
    let again = hub(&env, &listen);
    browser.wait_until("document.querySelector('#line').dataset.state === 'live'");
    again.submit("Greet the stars");
    browser.wait_for_text("#tasks", "stars");
    assert_eq!(
        browser.script("return window.before", &[]),
        json!(true),
        "nobody reloaded, nobody entered again"
    );

    browser.click("nav a[href='/fleet']");
    browser.wait_for_text("#unplaced", "no worker is connected");
    browser.go(&format!("{}/tasks/{id}", again.origin));
    browser.click("#actions form[action$=cancel] button");
    browser.wait_for_text(".title .badge", "cancelled");
    browser.click("#actions form[action$=retry] button");
    browser.wait_for_text(".title .badge", "queued");
    assert!(!browser.address().contains(&id), "a task of its own");
    browser.wait_for_text("#facts", "Made again from");

    browser.click(".visitor button");
    browser.wait_until("document.querySelector('#token')");
    browser.go(&format!("{}/tasks/{id}", again.origin));
    browser.wait_until("document.querySelector('#token')");
}
