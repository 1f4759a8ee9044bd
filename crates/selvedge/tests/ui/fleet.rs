//! A hub with workers that are connected to it.

use std::io::{Read, Write};

use selvedge_testkit::{Browser, SpawnedProgram, TestEnv};
use serde_json::{Value, json};

/// A running hub and its URL.
pub(crate) struct DashboardHub {
    pub(crate) program: SpawnedProgram,
    pub(crate) origin: String,
    token: String,
}

impl DashboardHub {
    /// Starts a hub that allows these agents, or the built-in ones if `agents` is empty.
    pub(crate) fn start(env: &TestEnv, listen: &str, agents: &str) -> Self {
        let token = env.root().join("token");
        let mut args = vec!["hub", "--listen", listen];
        args.extend(["--admin-token-file", token.to_str().unwrap()]);
        if !agents.is_empty() {
            args.extend(["--agents", agents]);
        }
        let program = env.selvedge(args).spawn();
        program.wait_for_stdout("listening on ");
        program.wait_for_stdout("\n");
        let stdout = program.stdout();
        let mut lines = stdout.lines();
        let origin = lines.find_map(|line| line.split("listening on ").nth(1));
        let origin = origin.unwrap().trim().to_owned();
        Self {
            program,
            origin,
            token: std::fs::read_to_string(&token).unwrap().trim().to_owned(),
        }
    }

    /// Starts a worker with its own token that may work in the environment's directory; returns once it is
    /// connected.
    pub(crate) fn worker(&self, env: &TestEnv, name: &str) -> SpawnedProgram {
        let created = self.post(
            "/api/v1/tokens",
            &json!({ "name": name, "scopes": ["worker"] }),
        );
        let token = env.root().join(format!("{name}.token"));
        std::fs::write(&token, created["token"].as_str().unwrap()).unwrap();
        let worker = env
            .selvedge(["worker", "--hub", &self.origin, "--name", name])
            .arg("--token-file")
            .arg(token)
            .arg("--workdir")
            .arg(env.root().join(name))
            .arg("--allow-path")
            .arg(env.work_dir())
            .spawn();
        worker.wait_for_stderr("connected");
        worker
    }

    /// Submits a task over the REST API and returns its id.
    pub(crate) fn submit(&self, task: &Value) -> String {
        let answer = self.post("/api/v1/tasks", task);
        answer["task_id"].as_str().unwrap().to_owned()
    }

    /// Cancels a task over the REST API.
    pub(crate) fn cancel(&self, task: &str) {
        let row = self.post(&format!("/api/v1/tasks/{task}/cancel"), &json!({}));
        assert_eq!(row["task_id"], task, "{row}");
    }

    /// Starts a browser that is logged in with the administrator's token.
    pub(crate) fn open_browser(&self, env: &TestEnv) -> Browser {
        let browser = Browser::start(env);
        browser.open_url(&self.origin);
        browser.type_into("#token", &format!("{}\u{e007}", self.token));
        browser.wait_until("location.pathname === '/' && document.querySelector('h1')");
        browser
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        let host = self.origin.strip_prefix("http://").unwrap();
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let body = body.to_string();
        let (token, length) = (&self.token, body.len());
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let body = answer.split("\r\n\r\n").nth(1).unwrap();
        serde_json::from_str(body).unwrap()
    }
}
