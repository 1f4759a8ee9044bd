//! A repository, a scripted model, and a real agent between them: Claude Code, unless another is named.

use std::path::{Path, PathBuf};

use selvedge_testkit::{Invocation, ModelServer, ScriptedTurn, TestEnv};
use serde_json::json;

use crate::corrected::{CHECK, TASK, configure};

/// The folders with the programs of the agents.
pub(crate) const PROGRAMS: &str = "SELVEDGE_E2E_PROGRAMS";

/// The model that the agent asks for.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// Where an agent's program is. Fails when the suite was started without them.
pub(crate) fn program(name: &str) -> PathBuf {
    let folders = std::env::var_os(PROGRAMS).unwrap_or_default();
    // A package of OpenCode's for one platform is installed alone, and links no program.
    let places = [name.to_owned(), format!("../{name}-linux-x64/bin/{name}")];
    let mut installed = std::env::split_paths(&folders)
        .flat_map(|folder| places.iter().map(move |place| folder.join(place)));
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
    // As a person has it: behind the best walls that there are.
    let env = TestEnv::new_in(folder, env!("CARGO_BIN_EXE_selvedge")).with_sandbox("auto");
    env.write("README", "a repository\n");
    env.create_repo();
    env
}

/// Claude Code's table in the configuration, with `server` for its model.
pub(crate) fn settings(_: &TestEnv, server: &ModelServer) -> String {
    let claude = json!([program("claude")]);
    let url = server.url();
    format!(
        "program = {claude}\nmodel = \"{MODEL}\"\n\
         env.ANTHROPIC_BASE_URL = \"{url}\"\nenv.ANTHROPIC_API_KEY = \"dummy\"\n"
    )
}

/// Makes the agent `claude` the real one, which takes `server` for its model.
pub(crate) fn connect(env: &TestEnv, server: &ModelServer) {
    configure(env, &format!("[agents.claude]\n{}", settings(env, server)));
}

/// The task, by Claude Code.
pub(crate) fn run(env: &TestEnv, more: &[&str]) -> Invocation {
    let fixed = ["run", TASK, "--agent", "claude", "--check", CHECK];
    env.selvedge(fixed.iter().chain(more))
}

/// The model has the agent write `text` into the file `answer`.
pub(crate) fn writes(env: &TestEnv, text: &str) -> ScriptedTurn {
    let path = env.work_dir().join("answer");
    let input = json!({"file_path": path, "content": text});
    ScriptedTurn::tool("Write", input).usage(1_000, 50)
}
