//! Shared fixtures: a journal with real runs, its dashboard, and a browser.

use selvedge_testkit::{Browser, SpawnedProgram, TestEnv};
use serde_json::{Value, json};

/// The dashboard of an environment's journal.
pub(crate) struct Ui {
    pub(crate) origin: String,
    pub(crate) link: String,
    pub(crate) program: SpawnedProgram,
}

pub(crate) fn env_with_repo() -> TestEnv {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.create_repo();
    env
}

/// Starts the dashboard; it ends with the environment.
pub(crate) fn serve(env: &TestEnv) -> Ui {
    let program = env.selvedge(["ui", "--format", "json"]).spawn();
    program.wait_for_stdout("}\n");
    let output: Value = serde_json::from_str(program.stdout().trim()).unwrap();
    let link = output["link"].as_str().unwrap().to_owned();
    let origin = link.split("/login").next().unwrap().to_owned();
    Ui {
        origin,
        link,
        program,
    }
}

/// Starts a browser that is logged in.
pub(crate) fn open_browser(env: &TestEnv, ui: &Ui) -> Browser {
    let browser = Browser::start(env);
    browser.open_url(&ui.link);
    browser.wait_until("location.pathname === '/' && document.querySelector('h1')");
    browser
}

/// The end of a session that reports its cost.
pub(crate) fn ending(usd: f64) -> Value {
    let usage = json!({ "input_tokens": 1800, "output_tokens": 240 });
    json!({ "result": { "cost_usd": usd, "usage": usage } })
}

/// Configures scripted agents that print Claude Code's records, so that their costs are known.
pub(crate) fn agents(env: &TestEnv, scripts: &[(&str, Value)]) {
    let mut toml = String::new();
    for (name, script) in scripts {
        let path = env.root().join(format!("{name}.json"));
        std::fs::write(&path, script.to_string()).unwrap();
        let program = env!("CARGO_BIN_EXE_selvedge");
        let command = [program, "__agent", "--script", path.to_str().unwrap()];
        let command = serde_json::to_string(&command).unwrap();
        toml.push_str(&format!(
            "[agents.{name}]\nkind = \"claude\"\nprogram = {command}\n\n"
        ));
    }
    env.write("../config/selvedge/config.toml", toml);
}

/// Returns the id of the newest run.
pub(crate) fn newest(env: &TestEnv) -> String {
    let runs = env.selvedge(["list", "--format", "json"]).run().json();
    runs[0]["run_id"].as_str().unwrap().to_owned()
}

/// A step in which the scripted agent writes a file.
pub(crate) fn write(path: &str, text: &str) -> Value {
    json!({ "write": { "path": path, "text": text } })
}

/// Runs a task and ignores its outcome.
pub(crate) fn run(env: &TestEnv, task: &str, agent: &str, more: &[&str]) {
    let fixed = ["run", task, "--agent", agent, "--format", "json"];
    env.selvedge(fixed.iter().chain(more)).run();
}

/// A journal with various runs: verified at once, recovered, not recovered, failed, in need of a review, and
/// the demo.
pub(crate) fn env_with_runs() -> TestEnv {
    let env = env_with_repo();
    env.write("test.sh", TESTS);
    env.write("shop.py", "def add(a, b):\n    return a - b\n");
    env.commit("Add tests");
    let right =
        json!([[{ "say": "Reading `test.sh`." }, write("greeting", "hello\n"), ending(0.0312)]]);
    let second = json!([
        [{ "say": "I think that is all." }, write("greeting", "helo\n"), ending(0.0284)],
        [{ "say": "A letter was missing." }, write("greeting", "hello\n"), ending(0.0191)],
    ]);
    let never = json!([[write("greeting", "goodbye\n"), { "say": "Done." }, ending(0.022)]]);
    let fails = json!([[{ "result": { "subtype": "error_during_execution", "is_error": true, "cost_usd": 0.004 } }]]);
    let weakens = json!([[
        write("greeting", "hello\n"),
        write("shop.py", "import os\n\ndef add(a, b):\n    os._exit(0)\n"),
        ending(0.03)
    ]]);
    agents(
        &env,
        &[
            ("opus", right),
            ("sonnet", second),
            ("haiku", never),
            ("broken", fails),
            ("sly", weakens),
        ],
    );
    let check = ["--check", "sh test.sh", "--check", "test -s greeting"];
    let reset = || {
        env.git(["checkout", "--quiet", "."]);
        env.git(["clean", "-fdq"]);
    };
    run(&env, "Write a greeting that says hello", "opus", &check);
    reset();
    run(
        &env,
        "Make the greeting a friendly one, and keep it short",
        "sonnet",
        &check,
    );
    reset();
    run(
        &env,
        "Say goodbye in three languages without breaking the greeting",
        "haiku",
        &check,
    );
    reset();
    run(
        &env,
        "Let the greeting read its name from the environment",
        "broken",
        &check,
    );
    reset();
    run(&env, "Check that the greeting is complete", "sly", &check);
    reset();
    env.selvedge(["demo"]).run().assert_success();
    env
}

const TESTS: &str = "\
out=$(cat greeting 2>/dev/null)
printf '\\033[1mgreets\\033[0m ... '
if [ \"$out\" = hello ]; then printf '\\033[32mok\\033[0m\\n'; else printf '\\033[31mFAILED\\033[0m\\n'; echo \"error: expected hello, got '$out'\"; exit 1; fi
";
