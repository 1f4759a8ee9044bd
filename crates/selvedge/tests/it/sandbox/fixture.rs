//! A home with secrets, a workspace, and helpers to run scripts in the sandbox.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use selvedge_testkit::{TestEnv, is_available, wait_until};
use serde_json::Value;

use super::containers::Engine;
use crate::fixtures::make_executable;

/// The content of files that must stay hidden in the sandbox.
pub(crate) const SECRET: &str = "s3cret-of-the-home";

pub(crate) struct SandboxFixture {
    pub(crate) env: TestEnv,
    pub(crate) backend: &'static str,
    engine: Option<Engine>,
}

/// Returns an error if a backend cannot be used on this machine.
fn probe(backend: &str) -> Result<(), String> {
    if backend == "landlock" {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create);
        return rules.map(drop).map_err(|error| error.to_string());
    }
    let run = ["--ro-bind", "/", "/", "--unshare-pid", "--", "true"];
    let output = std::process::Command::new("bwrap").args(run).output();
    let output = output.map_err(|error| format!("{error} (Debian: apt install bubblewrap)"))?;
    let why = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    output.status.success().then_some(()).ok_or(why)
}

impl SandboxFixture {
    /// Creates a fixture with one backend; reports and returns `None` if it is not available.
    #[track_caller]
    pub(crate) fn with_backend(backend: &'static str) -> Option<Self> {
        is_available(backend, &probe(backend)).then(|| Self::create(backend))
    }

    /// Creates a fixture with one backend and the profile `strict`.
    #[track_caller]
    pub(crate) fn strict(backend: &'static str) -> Option<Self> {
        let mut fixture = Self::with_backend(backend)?;
        fixture.env = fixture.env.with_sandbox_profile("strict");
        Some(fixture)
    }

    /// Creates a fixture with one backend below a folder.
    #[track_caller]
    pub(crate) fn with_backend_in(backend: &'static str, folder: &Path) -> Option<Self> {
        is_available(backend, &probe(backend)).then(|| Self::create_in(backend, folder))
    }

    /// Creates a fixture with a backend that needs no probe (`none`, `auto`).
    pub(crate) fn create(backend: &'static str) -> Self {
        Self::create_in(backend, Path::new(env!("CARGO_TARGET_TMPDIR")))
    }

    fn create_in(backend: &'static str, folder: &Path) -> Self {
        let env = TestEnv::new_in(folder, env!("CARGO_BIN_EXE_selvedge")).with_sandbox(backend);
        env.create_repo();
        let fixture = Self {
            env,
            backend,
            engine: None,
        };
        for path in [
            ".ssh/id_ed25519",
            ".aws/credentials",
            ".netrc",
            ".codex/auth.json",
            ".claude/.credentials.json",
        ] {
            fixture.write_home_file(path, SECRET);
        }
        fixture.write_home_file(".bashrc", "# mine\n");
        fixture
    }

    /// Creates a fixture with containers; reports and returns `None` if the engine is not available.
    #[track_caller]
    pub(crate) fn in_container(engine: Engine) -> Option<Self> {
        let settings = engine.settings();
        // Our CI has no Docker service.
        let is_left_out = matches!(engine, Engine::Docker) && settings.is_err();
        if is_left_out || !is_available(engine.name(), &settings) {
            return None;
        }
        let settings = settings.unwrap();
        let mut fixture = Self::create(engine.name());
        fixture.engine = Some(engine);
        let path = fixture.env.config().join("selvedge/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, settings).unwrap();
        Some(fixture)
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine.unwrap()
    }

    pub(crate) fn write_home_file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.env.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a script as a check of `verify` and returns the report. Another check before it shows that the sandbox of the
    /// second one, for which no paths are searched again, restricts as much.
    #[track_caller]
    pub(crate) fn verify(&self, script: &str, more: &[(&str, &str)]) -> Value {
        self.env.write("attempt.sh", script);
        let checks = ["--check", "first=true", "--check", "sh attempt.sh"];
        let mut run = self.env.selvedge(["verify", "--format", "json"]);
        run = run.args(checks);
        for (name, value) in more {
            run = run.env(name, value);
        }
        let output = run.run();
        assert!(
            output.stdout.starts_with('{'),
            "is `{}` there (Debian: apt install bubblewrap)? {}",
            self.backend,
            output.stderr
        );
        let mut report = output.json();
        assert_eq!(report["sandbox"]["backend"], self.backend, "{report}");
        report["checks"].as_array_mut().unwrap().remove(0);
        report
    }

    /// Returns what a script printed in the sandbox.
    #[track_caller]
    pub(crate) fn check_output(&self, script: &str) -> String {
        let report = self.verify(script, &[]);
        report["checks"][0]["output"].as_str().unwrap().to_owned()
    }

    /// Asserts that a script, which must succeed whatever is denied, does not print the secret.
    #[track_caller]
    pub(crate) fn assert_no_secret_in(&self, script: &str) {
        let output = self.check_output(script);
        assert!(!output.contains(SECRET), "{script}: {output}");
    }

    /// Runs a script as an agent in the workspace and returns the result.
    #[track_caller]
    pub(crate) fn run_agent(&self, script: &str, more: &[(&str, &str)]) -> Value {
        let path = self.env.work_dir().join("agent.sh");
        fs::write(&path, format!("#!/bin/sh\ncat > /dev/null\n{script}\n")).unwrap();
        make_executable(&path);
        self.env.commit("An agent");
        let run = [
            "run",
            "do it",
            "--agent-cmd",
            "./agent.sh",
            "--check",
            "true",
            "--retries",
            "0",
            "--format",
            "json",
        ];
        let mut run = self.env.selvedge(run);
        for (name, value) in more {
            run = run.env(name, value);
        }
        run.run().json()
    }

    /// Kills the main program and all supervisors at once, so that no process can end or clean up anything.
    pub(crate) fn kill_selvedge_processes(&self) {
        let pids = || {
            let all = self.env.processes().into_iter();
            let processes = all.filter(|process| {
                process.command.contains("selvedge") && !process.command.contains("__sandbox-")
            });
            processes
                .map(|process| process.pid.to_string())
                .collect::<Vec<_>>()
        };
        let killed = std::process::Command::new("kill")
            .arg("-9")
            .args(pids())
            .status();
        killed.unwrap();
        // A killed process holds its locks until the kernel has ended it.
        wait_until("their end", || pids().is_empty());
    }
}
