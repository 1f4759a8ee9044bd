//! A repository, a scripted model, and the real Claude Code between them.

use std::path::PathBuf;

use selvedge_testkit::{Invocation, ModelServer, TestEnv, Turn};
use serde_json::json;

use crate::corrected::{CHECK, TASK, configure};

/// The folder with the programs of the agents.
const PROGRAMS: &str = "SELVEDGE_E2E_PROGRAMS";

/// The model that the agent asks for.
pub(crate) const MODEL: &str = "claude-sonnet-4-5";

/// Where an agent's program is. Fails when the suite was started without them.
pub(crate) fn program(name: &str) -> PathBuf {
    let installed = std::env::var_os(PROGRAMS).map(|folder| PathBuf::from(folder).join(name));
    installed
        .filter(|program| program.is_file())
        .unwrap_or_else(|| {
            panic!(
                "the end-to-end suite runs the real `{name}`, which is not in ${PROGRAMS}: run the \
                 suite by `cargo xtask e2e`, which installs it from npm first"
            )
        })
}

/// A repository with one commit.
pub(crate) fn stage() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("README", "a repository\n");
    env.repo();
    env
}

/// Makes the agent `claude` the real one, which takes `server` for its model.
pub(crate) fn connect(env: &TestEnv, server: &ModelServer) {
    let claude = json!([program("claude")]);
    let url = server.url();
    configure(
        env,
        &format!(
            "[agents.claude]\nprogram = {claude}\nmodel = \"{MODEL}\"\napi_retries = 2\n\
             env.ANTHROPIC_BASE_URL = \"{url}\"\nenv.ANTHROPIC_API_KEY = \"dummy\"\n"
        ),
    );
}

/// The task, by Claude Code.
pub(crate) fn run(env: &TestEnv, more: &[&str]) -> Invocation {
    let fixed = ["run", TASK, "--agent", "claude", "--check", CHECK];
    env.selvedge(fixed.iter().chain(more))
}

/// The model has the agent write `text` into the file `answer`.
pub(crate) fn writes(env: &TestEnv, text: &str) -> Turn {
    let path = env.work().join("answer");
    let input = json!({"file_path": path, "content": text});
    Turn::tool("Write", input).usage(1_000, 50)
}
