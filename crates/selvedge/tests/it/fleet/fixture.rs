//! A hub and workers in one hermetic environment.

use std::path::PathBuf;

use selvedge_testkit::{CommandOutput, Invocation, SpawnedProgram, TestCa, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// How long leases last here, in milliseconds: long enough for a loaded machine, short enough to wait for.
const TTL: &str = "6000";

/// A hub at work, and an environment to speak to it in.
pub(crate) struct HubFixture {
    pub(crate) env: TestEnv,
    pub(crate) hub: Option<SpawnedProgram>,
    pub(super) url: String,
    /// Whom everybody trusts, where all of it goes over TLS.
    pub(super) tls: Option<TestCa>,
    /// A server's, in the place of a file.
    database: Option<String>,
}

impl HubFixture {
    /// A hub, a repository in the work directory, and an agent made of shell as every worker's own. The
    /// script finds the environment's root in `$root`.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_database(None, script)
    }

    /// The same on a database server.
    pub(super) fn with_database(database: Option<String>, script: &str) -> Self {
        Self::with_options(database, false, script)
    }

    /// The same with a certificate.
    pub(super) fn with_tls(script: &str) -> Self {
        Self::with_options(None, true, script)
    }

    fn with_options(database: Option<String>, tls: bool, script: &str) -> Self {
        let env = env_with_repo();
        let tls =
            tls.then(|| TestCa::with_server_certificate(&env.root().join("tls"), &["127.0.0.1"]));
        let root = env.root().display().to_string();
        let agent = agent(&env, &format!("root='{root}'\n{script}"));
        env.write(
            "../config/selvedge/config.toml",
            format!(
                "agent = \"scripted\"\n[agents.scripted]\nkind = \"command\"\nprogram = [\"{agent}\"]\n\
                 [verification]\nbaseline = \"off\"\nrerun_failed = false\n"
            ),
        );
        let mut fleet = Self {
            env,
            hub: None,
            url: "http://127.0.0.1:0".to_owned(),
            tls,
            database,
        };
        fleet.start_hub();
        let made = fleet.run(&["tokens"]);
        made.assert_code(0);
        let out = fleet.env.root().join("worker.token");
        let out = out.to_str().unwrap();
        let made = fleet.run(&[
            "tokens", "add", "workers", "--scope", "worker", "--out", out,
        ]);
        made.assert_code(0);
        fleet
    }

    /// Starts the hub, at the address that it had before.
    pub(crate) fn start_hub(&mut self) {
        let (_, listen) = self.url.split_once("://").unwrap();
        let listen = listen.to_owned();
        let (hub, url) = self.spawn_hub(&listen);
        self.hub = Some(hub);
        self.url = url;
    }

    /// Starts a hub on the fleet's database.
    pub(super) fn spawn_hub(&self, listen: &str) -> (SpawnedProgram, String) {
        let token = self.token();
        let mut args = vec!["hub", "--listen", listen, "--lease-ttl", TTL];
        args.extend(["--admin-token-file", token.to_str().unwrap()]);
        if let Some(database) = &self.database {
            args.extend(["--database", database]);
        }
        let mut command = self.env.selvedge(args);
        if let Some(authority) = &self.tls {
            command = command
                .arg("--tls-cert")
                .arg(authority.server_certificate_path());
            command = command.arg("--tls-key").arg(authority.server_key_path());
        }
        let hub = command.spawn();
        hub.wait_for_stdout("listening on http");
        hub.wait_for_stdout("\n");
        let said = hub.stdout();
        let mut lines = said.lines();
        let line = lines.find(|line| line.contains("listening on")).unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        (hub, url)
    }

    /// Speaks to another hub from now on: where it was before.
    pub(super) fn switch_hub(&mut self, url: String) -> String {
        std::mem::replace(&mut self.url, url)
    }

    pub(super) fn token(&self) -> PathBuf {
        self.env.root().join("admin.token")
    }

    /// A command that speaks to the hub.
    pub(crate) fn command(&self, args: &[&str]) -> Invocation {
        let command = self.with_ca(self.env.selvedge(args));
        command
            .env("SELVEDGE_HUB", &self.url)
            .arg("--token-file")
            .arg(self.token())
    }

    /// A command that knows whose certificates to believe.
    fn with_ca(&self, command: Invocation) -> Invocation {
        match &self.tls {
            Some(authority) => command.env("SSL_CERT_FILE", authority.ca_certificate_path()),
            None => command,
        }
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).run()
    }

    /// A worker with a directory of its own; returns once it is connected.
    pub(crate) fn worker(&self, name: &str) -> SpawnedProgram {
        self.worker_with(name, &[])
    }

    /// Likewise, with more in its environment.
    pub(crate) fn worker_with(&self, name: &str, environment: &[(&str, &str)]) -> SpawnedProgram {
        let workdir = self.env.root().join(name);
        let command = self
            .env
            .selvedge(["worker", "--name", name, "--slots", "2"]);
        let worker = environment
            .iter()
            .fold(self.with_ca(command), |command, (name, value)| {
                command.env(name, value)
            })
            .env("SELVEDGE_HUB", &self.url)
            .arg("--token-file")
            .arg(self.env.root().join("worker.token"))
            .arg("--workdir")
            .arg(workdir)
            .arg("--allow-path")
            .arg(self.env.work_dir())
            .spawn();
        worker.wait_for_stderr("connected");
        worker
    }

    /// Submits work in the repository, and gives back the task's id.
    pub(crate) fn submit(&self, check: &str, more: &[&str]) -> String {
        let repo = self.env.work_dir();
        let mut args = vec!["submit", "do it", "--format", "json", "--check", check];
        args.extend(["--repo", repo.to_str().unwrap()]);
        args.extend(more);
        let out = self.run(&args);
        out.assert_code(0);
        out.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// Watches a task to its end.
    pub(crate) fn watch(&self, task: &str) -> CommandOutput {
        self.run(&["watch", task, "--format", "json"])
    }

    pub(crate) fn show_json(&self, task: &str) -> Value {
        let out = self.run(&["show", task, "--format", "json"]);
        out.assert_code(0);
        out.json()
    }

    /// The row of a task in the list.
    pub(crate) fn row(&self, task: &str) -> Value {
        let listed = self.run(&["list", "--format", "json"]).json();
        let rows = listed.as_array().unwrap();
        let row = rows.iter().find(|row| row["task_id"] == task);
        row.cloned().unwrap()
    }

    /// How each attempt was closed.
    pub(crate) fn closings(&self, task: &str) -> Vec<String> {
        let story = self.show_json(task);
        let attempts = story["attempts"].as_array().unwrap();
        let closing = |it: &Value| it["closing"].as_str().unwrap_or("open").to_owned();
        attempts.iter().map(closing).collect()
    }
}
