//! A hub and workers in one hermetic environment.

use std::path::PathBuf;

use selvedge_testkit::{CommandOutput, Invocation, SpawnedProgram, TestCa, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo};

/// The TTL of leases in milliseconds: long enough for a loaded machine, short enough to wait for.
const TTL: &str = "6000";

/// A running hub and the environment of its clients.
pub(crate) struct HubFixture {
    pub(crate) env: TestEnv,
    pub(crate) hub: Option<SpawnedProgram>,
    pub(super) url: String,
    /// The authority that all programs trust, if the hub uses TLS.
    pub(super) tls: Option<TestCa>,
    /// The URL of a database server; `None` is a SQLite file.
    database: Option<String>,
    /// More arguments of the hub.
    options: Vec<String>,
}

impl HubFixture {
    /// Starts a hub, with a repository in the work directory and a shell script as the agent of every worker.
    /// The script has the environment's root in `$root`.
    pub(crate) fn new(script: &str) -> Self {
        Self::with_database(None, script)
    }

    /// Like [`Self::new`], on a database server.
    pub(super) fn with_database(database: Option<String>, script: &str) -> Self {
        Self::with_options(database, false, &[], script)
    }

    /// Like [`Self::new`], with more arguments of the hub.
    pub(super) fn with_hub_options(script: &str, options: &[&str]) -> Self {
        Self::with_options(None, false, options, script)
    }

    /// Like [`Self::new`], with a certificate.
    pub(super) fn with_tls(script: &str) -> Self {
        Self::with_options(None, true, &[], script)
    }

    fn with_options(database: Option<String>, tls: bool, options: &[&str], script: &str) -> Self {
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
            options: options.iter().map(|&option| option.to_owned()).collect(),
        };
        fleet.start_hub();
        let created = fleet.run(&["tokens"]);
        created.assert_code(0);
        let out = fleet.env.root().join("worker.token");
        let out = out.to_str().unwrap();
        let created = fleet.run(&[
            "tokens", "add", "workers", "--scope", "worker", "--out", out,
        ]);
        created.assert_code(0);
        fleet
    }

    /// Starts the hub at its previous address.
    pub(crate) fn start_hub(&mut self) {
        let (_, listen) = self.url.split_once("://").unwrap();
        let listen = listen.to_owned();
        let (hub, url) = self.spawn_hub(&listen);
        self.hub = Some(hub);
        self.url = url;
    }

    /// Starts another hub on the same database; returns it with its URL.
    pub(super) fn spawn_hub(&self, listen: &str) -> (SpawnedProgram, String) {
        let token = self.token();
        let mut args = vec!["hub", "--listen", listen, "--lease-ttl", TTL];
        args.extend(["--infra-backoff", "0"]);
        args.extend(["--admin-token-file", token.to_str().unwrap()]);
        if let Some(database) = &self.database {
            args.extend(["--database", database]);
        }
        let mut command = self.env.selvedge(args).args(&self.options);
        if let Some(authority) = &self.tls {
            command = command
                .arg("--tls-cert")
                .arg(authority.server_certificate_path());
            command = command.arg("--tls-key").arg(authority.server_key_path());
        }
        let hub = command.spawn();
        hub.wait_for_stdout("listening on http");
        hub.wait_for_stdout("\n");
        let stdout = hub.stdout();
        let mut lines = stdout.lines();
        let line = lines.find(|line| line.contains("listening on")).unwrap();
        let url = line.split_whitespace().last().unwrap().to_owned();
        (hub, url)
    }

    /// Sends further commands to another hub; returns the previous URL.
    pub(super) fn switch_hub(&mut self, url: String) -> String {
        std::mem::replace(&mut self.url, url)
    }

    pub(super) fn token(&self) -> PathBuf {
        self.env.root().join("admin.token")
    }

    /// The administrator's token.
    pub(crate) fn read_token(&self) -> String {
        let token = std::fs::read_to_string(self.token()).unwrap();
        token.trim().to_owned()
    }

    pub(crate) fn hub_url(&self) -> &str {
        &self.url
    }

    /// Prepares a command that connects to the hub.
    pub(crate) fn command(&self, args: &[&str]) -> Invocation {
        let command = self.with_ca(self.env.selvedge(args));
        command
            .env("SELVEDGE_HUB", &self.url)
            .arg("--token-file")
            .arg(self.token())
    }

    /// Makes a command trust the hub's authority.
    fn with_ca(&self, command: Invocation) -> Invocation {
        match &self.tls {
            Some(authority) => command.env("SSL_CERT_FILE", authority.ca_certificate_path()),
            None => command,
        }
    }

    pub(crate) fn run(&self, args: &[&str]) -> CommandOutput {
        self.command(args).run()
    }

    /// Starts a worker with its own directory; returns once it is connected.
    pub(crate) fn worker(&self, name: &str) -> SpawnedProgram {
        self.worker_with(name, &[])
    }

    /// Like [`Self::worker`], with more environment variables.
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

    /// Submits a task on the repository and returns its id.
    pub(crate) fn submit(&self, check: &str, more: &[&str]) -> String {
        let repo = self.env.work_dir();
        let mut args = vec!["submit", "do it", "--format", "json", "--check", check];
        args.extend(["--repo", repo.to_str().unwrap()]);
        args.extend(more);
        let out = self.run(&args);
        out.assert_code(0);
        out.json()["task_id"].as_str().unwrap().to_owned()
    }

    /// Watches a task until it ends.
    pub(crate) fn watch(&self, task: &str) -> CommandOutput {
        self.run(&["watch", task, "--format", "json"])
    }

    pub(crate) fn show_json(&self, task: &str) -> Value {
        let out = self.run(&["show", task, "--format", "json"]);
        out.assert_code(0);
        out.json()
    }

    /// Returns a task's row in the list.
    pub(crate) fn row(&self, task: &str) -> Value {
        let listed = self.run(&["list", "--format", "json"]).json();
        let rows = listed.as_array().unwrap();
        let row = rows.iter().find(|row| row["task_id"] == task);
        row.cloned().unwrap()
    }

    /// Returns how each attempt was closed.
    pub(crate) fn closings(&self, task: &str) -> Vec<String> {
        let story = self.show_json(task);
        let attempts = story["attempts"].as_array().unwrap();
        let closing = |it: &Value| it["closing"].as_str().unwrap_or("open").to_owned();
        attempts.iter().map(closing).collect()
    }
}
