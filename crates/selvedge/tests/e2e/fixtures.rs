//! A repository, a scripted model, and a real agent: Claude Code unless another one is named.

use std::path::{Path, PathBuf};

use selvedge_testkit::{Invocation, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use crate::corrected::{CHECK, TASK, configure};

/// The folders with the agents' programs.
pub(crate) const PROGRAMS: &str = "SELVEDGE_E2E_PROGRAMS";

pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// Returns the path of an agent's program. Panics if the suite was started without it.
pub(crate) fn program(name: &str) -> PathBuf {
    let folders = std::env::var_os(PROGRAMS).unwrap_or_default();
    // The platform packages of OpenCode and Droid are installed alone, without a link to their programs.
    let candidates = [
        name.to_owned(),
        format!("../{name}-linux-x64/bin/{name}"),
        format!("../@factory/cli-linux-x64/bin/{name}"),
    ];
    let mut installed = std::env::split_paths(&folders).flat_map(|folder| {
        candidates
            .iter()
            .map(move |candidate| folder.join(candidate))
    });
    installed
        .find(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "the end-to-end suite runs the real `{name}`, which is not in ${PROGRAMS}: run the \
                 suite by `cargo xtask e2e`, which installs it first"
            )
        })
}

/// A repository with one commit.
pub(crate) fn env_with_repo() -> TestEnv {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // With the default sandbox, as for a user.
    let env = TestEnv::new_in(folder, env!("CARGO_BIN_EXE_selvedge")).with_sandbox("auto");
    env.write("README", "a repository\n");
    env.create_repo();
    env
}

/// Claude Code's configuration table, with `server` as its model.
pub(crate) fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let claude = json!([program("claude")]);
    let url = server.url();
    format!(
        "program = {claude}\nmodel = \"{MODEL}\"\n\
         env.ANTHROPIC_BASE_URL = \"{url}\"\nenv.ANTHROPIC_API_KEY = \"dummy\"\n"
    )
}

/// Configures the agent `claude` as the real one, with `server` as its model.
pub(crate) fn connect(env: &TestEnv, server: &ModelServer) {
    configure(env, &format!("[agents.claude]\n{}", settings(env, server)));
}

pub(crate) fn run(env: &TestEnv, more: &[&str]) -> Invocation {
    let fixed = ["run", TASK, "--agent", "claude", "--check", CHECK];
    env.selvedge(fixed.iter().chain(more))
}

/// A turn in which the model makes the agent write `text` into the file `answer`.
pub(crate) fn writes(env: &TestEnv, text: &str) -> ScriptedTurn {
    let path = env.work_dir().join("answer");
    let input = json!({"file_path": path, "content": text});
    ScriptedTurn::tool("Write", input).usage(1_000, 50)
}
