//! One change to one project, made by the agent of a real run.

use std::fmt::Write;
use std::path::Path;

use selvedge_testkit::TestEnv;
use serde_json::{Value, json};

use super::control::Controls;
use super::packages;
use super::project::{Change, Files, Project, is_below};
use crate::tools::with_tools;

/// A change to a project.
#[derive(Debug, Clone, Copy)]
pub(super) struct Case<'a> {
    pub(super) project: &'a Project,
    pub(super) change: &'a Change,
}

/// How a run ended.
#[derive(Debug)]
pub(super) struct RunResult {
    pub(super) code: i32,
    pub(super) outcome: String,
    pub(super) reason: String,
}

impl Case<'_> {
    /// Returns the case's title, which the filter matches.
    pub(super) fn title(&self) -> String {
        let Self { project, change } = self;
        format!("{}: {}: {}", project.runner, change.mechanism, change.name)
    }

    /// Runs the control of the case, then a run with its agent. An error means that the case itself is invalid.
    pub(super) fn run(&self, controls: &Controls) -> Result<RunResult, String> {
        controls.prove(self)?;
        let Self { project, change } = self;
        // With the default sandbox, as for a user.
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let env = TestEnv::new_in(folder, env!("CARGO_BIN_EXE_selvedge")).with_sandbox("auto");
        lay_out(&env, &project.before(change));
        packages::install(&project.npm, &env.work_dir());
        env.create_repo();
        let agent = self.write_agent(&env);
        let check = project.run(change);
        let mut task = json!({"description": project.task(change)});
        if !change.expect_test_changes.is_empty() {
            task["expect_test_changes"] = json!(change.expect_test_changes);
        }
        let run = [
            "run",
            "--file",
            "-",
            "--agent-cmd",
            &agent,
            "--check",
            check,
        ];
        let run = env
            .selvedge(run)
            .args(["--retries", "0", "--format", "json"]);
        let output = with_tools(run, &env).stdin(task.to_string()).run();
        let result: Value = serde_json::from_str(&output.stdout)
            .map_err(|error| format!("the run printed no result: {error}\n{output}"))?;
        let text = |name: &str| result[name].as_str().unwrap_or_default().to_owned();
        let ended = RunResult {
            code: output.code,
            outcome: text("outcome"),
            reason: text("reason"),
        };
        // A usage error, a failed agent or an infrastructure error: nothing was judged.
        match ended.code {
            2..=6 | 9.. => Err(format!("the run ended as {}\n{output}", ended.outcome)),
            _ => Ok(ended),
        }
    }

    /// Writes an agent that makes the change in its working directory; returns its command line.
    pub(super) fn write_agent(&self, env: &TestEnv) -> String {
        let before = self.project.before(self.change);
        let after = self.project.after(self.change);
        let written = env.root().join("written");
        std::fs::create_dir(&written).unwrap();
        let mut script = "set -e\ncat > /dev/null\n".to_owned();
        let paths = after.files.keys().chain(after.links.keys());
        // Folders that became files or links, and files that became folders.
        let replaced = paths.flat_map(|path| {
            let replaced = before
                .keys()
                .filter(move |old| *old != path && (is_below(old, path) || is_below(path, old)));
            replaced.map(move |old| if is_below(old, path) { path } else { old })
        });
        let removed = before
            .keys()
            .filter(|path| !after.files.contains_key(*path));
        for path in removed.chain(replaced) {
            let _ = writeln!(script, "rm -rf '{path}'");
        }
        let changed = after.files.iter();
        let changed = changed.filter(|&(path, text)| before.get(path) != Some(text));
        for (path, text) in changed {
            write_file(&written, path, text);
        }
        // Like git, removes empty folders.
        script += "find . -type d -empty -not -path './.git/*' -delete\n";
        let _ = writeln!(script, "cp -R '{}/.' .", written.display());
        for (path, target) in &after.links {
            let _ = writeln!(script, "rm -rf '{path}'\nln -s '{target}' '{path}'");
        }
        script += &self.change.script;
        let path = env.root().join("agent.sh");
        std::fs::write(&path, script).unwrap();
        format!("sh '{}'", path.display())
    }
}

/// Writes files into the working directory of an environment.
pub(super) fn lay_out(env: &TestEnv, files: &Files) {
    for (path, text) in files {
        write_file(&env.work_dir(), path, text);
    }
}

fn write_file(root: &Path, path: &str, text: &str) {
    use std::os::unix::fs::PermissionsExt;

    let target = root.join(path);
    std::fs::create_dir_all(target.parent().unwrap()).unwrap();
    std::fs::write(&target, text).unwrap();
    if text.starts_with("#!") {
        std::fs::set_permissions(&target, PermissionsExt::from_mode(0o755)).unwrap();
    }
}
