//! A home with secrets in it, a workspace, and attempts from behind the walls.

use std::fs;
use std::path::{Path, PathBuf};

use landlock::{ABI, Access, AccessFs, CompatLevel, Compatible, Ruleset, RulesetAttr};
use selvedge_testkit::{TestEnv, is_available};
use serde_json::Value;

use super::containers::Engine;
use crate::fixtures::{make_executable, wait_until};

/// What nobody inside may come to see.
pub(crate) const SECRET: &str = "s3cret-of-the-home";

pub(crate) struct SandboxFixture {
    pub(crate) env: TestEnv,
    pub(crate) backend: &'static str,
    engine: Option<Engine>,
}

/// Why a backend cannot be used on this machine.
fn probe(backend: &str) -> Result<(), String> {
    if backend == "landlock" {
        let rules = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::from_all(ABI::V1))
            .and_then(Ruleset::create);
        return rules.map(drop).map_err(|error| error.to_string());
    }
    let run = ["--ro-bind", "/", "/", "--unshare-pid", "--", "true"];
    let tried = std::process::Command::new("bwrap").args(run).output();
    let tried = tried.map_err(|error| format!("{error} (Debian: apt install bubblewrap)"))?;
    let why = String::from_utf8_lossy(&tried.stderr).trim().to_owned();
    tried.status.success().then_some(()).ok_or(why)
}

impl SandboxFixture {
    /// A sandbox by one backend; none where this machine has none by it, which is reported.
    #[track_caller]
    pub(crate) fn with_backend(backend: &'static str) -> Option<Self> {
        is_available(backend, &probe(backend)).then(|| Self::create(backend))
    }

    /// With a backend that needs no probe (`none`, `auto`).
    pub(crate) fn create(backend: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let env = TestEnv::new_in(folder, env!("CARGO_BIN_EXE_selvedge")).with_sandbox(backend);
        env.create_repo();
        let scene = Self {
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
            scene.write_home_file(path, SECRET);
        }
        scene.write_home_file(".bashrc", "# mine\n");
        scene
    }

    /// In a container; none where the engine can run none, which is said.
    #[track_caller]
    pub(crate) fn in_container(engine: Engine) -> Option<Self> {
        let settings = engine.settings();
        // No continuous integration of ours has a Docker service.
        let is_left_out = matches!(engine, Engine::Docker) && settings.is_err();
        if is_left_out || !is_available(engine.name(), &settings) {
            return None;
        }
        let settings = settings.unwrap();
        let mut scene = Self::create(engine.name());
        scene.engine = Some(engine);
        let path = scene.env.config().join("selvedge/config.toml");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, settings).unwrap();
        Some(scene)
    }

    /// Who runs its containers.
    pub(crate) fn engine(&self) -> Engine {
        self.engine.unwrap()
    }

    pub(crate) fn write_home_file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.env.home().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    /// Runs a script as a check of `verify`, and gives back the report.
    #[track_caller]
    pub(crate) fn verify(&self, script: &str, more: &[(&str, &str)]) -> Value {
        self.env.write("attempt.sh", script);
        let run = ["verify", "--check", "sh attempt.sh", "--format", "json"];
        let mut run = self.env.selvedge(run);
        for (name, value) in more {
            run = run.env(name, value);
        }
        let said = run.run();
        assert!(
            said.stdout.starts_with('{'),
            "is `{}` there (Debian: apt install bubblewrap)? {}",
            self.backend,
            said.stderr
        );
        let report = said.json();
        assert_eq!(report["sandbox"]["backend"], self.backend, "{report}");
        report
    }

    /// What a script printed behind the walls.
    #[track_caller]
    pub(crate) fn check_output(&self, script: &str) -> String {
        let report = self.verify(script, &[]);
        report["checks"][0]["output"].as_str().unwrap().to_owned()
    }

    /// A script that ends well whatever it could not do, and must not print the secret.
    #[track_caller]
    pub(crate) fn assert_no_secret_in(&self, script: &str) {
        let said = self.check_output(script);
        assert!(!said.contains(SECRET), "{script}: {said}");
    }

    /// Runs an agent made of a script, in the workspace; gives back the result.
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

    /// Kills the main program and every supervisor at once, so that nobody is left who could end or
    /// clear away anything.
    pub(crate) fn kill_selvedge_processes(&self) {
        let ours = || {
            let all = self.env.processes().into_iter();
            let ours = all.filter(|process| {
                process.command.contains("selvedge") && !process.command.contains("__wall")
            });
            ours.map(|process| process.pid.to_string())
                .collect::<Vec<_>>()
        };
        let killed = std::process::Command::new("kill")
            .arg("-9")
            .args(ours())
            .status();
        killed.unwrap();
        // What is killed holds its locks until the kernel has come round to it.
        wait_until("their end", || ours().is_empty());
    }
}
