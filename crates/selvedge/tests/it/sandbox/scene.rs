//! A home with secrets in it, a workspace, and attempts from behind the walls.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_testkit::TestEnv;
use serde_json::Value;

use super::containers::Engine;
use crate::stage::{executable, wait_until};

/// What nobody inside may come to see.
pub(crate) const SECRET: &str = "s3cret-of-the-home";

pub(crate) struct Scene {
    pub(crate) env: TestEnv,
    pub(crate) backend: &'static str,
    engine: Option<Engine>,
}

impl Scene {
    /// Not below the folder for temporary files, where a home usually is not.
    pub(crate) fn behind(backend: &'static str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let env = TestEnv::below(folder, env!("CARGO_BIN_EXE_selvedge")).behind(backend);
        env.repo();
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
            scene.in_home(path, SECRET);
        }
        scene.in_home(".bashrc", "# mine\n");
        scene
    }

    /// In a container; none where the engine can run none, which is said.
    #[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
    pub(crate) fn in_container(engine: Engine) -> Option<Self> {
        let settings = match engine.settings() {
            Ok(settings) => settings,
            Err(why) => {
                let name = engine.name();
                eprintln!("SKIPPED: {name} can run no container here: {why}");
                return None;
            }
        };
        let mut scene = Self::behind(engine.name());
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

    pub(crate) fn in_home(&self, path: &str, text: &str) -> PathBuf {
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
    pub(crate) fn attempt(&self, script: &str) -> String {
        let report = self.verify(script, &[]);
        report["checks"][0]["output"].as_str().unwrap().to_owned()
    }

    /// A script that ends well whatever it could not do, and must not print the secret.
    #[track_caller]
    pub(crate) fn learns_nothing(&self, script: &str) {
        let said = self.attempt(script);
        assert!(!said.contains(SECRET), "{script}: {said}");
    }

    /// Runs an agent made of a script, in the workspace; gives back the result.
    #[track_caller]
    pub(crate) fn work(&self, script: &str, more: &[(&str, &str)]) -> Value {
        let path = self.env.work().join("agent.sh");
        fs::write(&path, format!("#!/bin/sh\ncat > /dev/null\n{script}\n")).unwrap();
        executable(&path);
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
    pub(crate) fn kill_ours(&self) {
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
