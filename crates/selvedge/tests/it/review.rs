//! Reviews on this machine: they apply to exactly the named attempt and tree, and to the latest run of the
//! directory if no run is named.

use selvedge_testkit::{CommandOutput, TestEnv, is_available};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, run_json, wait_for};

/// Runs an agent whose work passes its check and ends the process that tests it, so that a review is needed.
fn leaves_early(env: &TestEnv, dir: &str) -> CommandOutput {
    let body = "printf 'import os\\ndef add(a, b):\\n    os._exit(0)\\n# %s\\n' \"$SELVEDGE_RUN_NUMBER\" > shop.py";
    let script = agent(env, body);
    let out = run_json(env, &script, "grep -q def shop.py", &["--dir", dir]);
    out.assert_code(7);
    out
}

fn shop() -> TestEnv {
    let env = env_with_repo();
    for dir in ["", "one/", "other/"] {
        env.write(
            format!("{dir}shop.py"),
            "def add(a, b):\n    return a - b\n",
        );
        env.write(format!("{dir}deep/er/file"), "");
    }
    env.commit("shop");
    env
}

#[test]
fn run_that_waits_for_review_names_the_command_that_decides() {
    let env = shop();
    let run = id(&leaves_early(&env, "."));
    let shown = env.selvedge(["show", &run]).run().stdout.clone();
    let command = format!(
        "selvedge review {} --accept, or --reject",
        &run[run.len() - 8..]
    );
    assert!(shown.contains(&command), "{shown}");
}

fn id(out: &CommandOutput) -> String {
    out.json()["run_id"].as_str().unwrap().to_owned()
}

fn run_state(env: &TestEnv, run: &str) -> Value {
    let listed = env.selvedge(["list", "--format", "json"]).run().json();
    let rows = listed.as_array().unwrap();
    let row = rows.iter().find(|row| row["run_id"] == run).unwrap();
    row["standing"].clone()
}

#[test]
fn review_applies_to_the_named_attempt_and_tree() {
    let env = shop();
    let out = leaves_early(&env, ".");
    let run = id(&out);
    let tree = out.json()["verification_report"]["tree"]
        .as_str()
        .unwrap()
        .to_owned();
    let attempt = ["--attempt", "1"];
    let other = "ab12".repeat(16);
    for stale in [
        &["--attempt", "2"][..],
        &["--tree", &other],
        &["--attempt", "1", "--tree", &other],
    ] {
        let out = env
            .selvedge(["review", &run, "--accept"].iter().chain(stale))
            .run();
        out.assert_code(2);
        let current = format!("attempt 1 (tree {tree}) is awaiting review now");
        assert!(out.stderr.contains(&current), "{}", out.stderr);
        assert!(out.stderr.contains("hint:"), "{}", out.stderr);
        assert_eq!(run_state(&env, &run), "awaiting_review");
    }
    let retry = ["review", &run, "--reject", "--retry", "--reason", "stay"];
    env.selvedge(retry.iter().chain(&attempt))
        .run()
        .assert_code(7);
    // A decision on the previous attempt's tree.
    let stale = ["review", &run, "--accept", "--tree", &tree];
    env.selvedge(stale).run().assert_code(2);
    let accept = [
        "review",
        &run,
        "--accept",
        "--attempt",
        "2",
        "--format",
        "json",
    ];
    let out = env.selvedge(accept).env("USER", "ada").run();
    out.assert_code(0);
    assert!(
        out.stderr.contains("accepting attempt 2 (tree "),
        "{}",
        out.stderr
    );

    // Every format shows that a person has accepted the work.
    let result = out.json();
    assert_eq!(result["outcome"], "verified");
    assert_eq!(result["reason"], "accepted by ada");
    let review = &result["review"];
    assert_eq!(
        (&review["accepted"], &review["by"]),
        (&json!(true), &json!("ada"))
    );
    assert_eq!(review["attempt"], 2);
    assert_eq!(review["tree"], result["verification_report"]["tree"]);
    let shown = env
        .selvedge(["show", &run, "--format", "json"])
        .run()
        .json();
    assert_eq!(&shown["result"]["review"], review);
    let reports = [
        "show",
        &run,
        "--junit",
        "junit.xml",
        "--markdown",
        "report.md",
    ];
    env.selvedge(reports.iter().chain(&["--attest", "a.json"]))
        .run()
        .assert_code(0);
    for file in ["junit.xml", "report.md", "a.json"] {
        let text = env.read(file);
        assert!(text.contains("accepted by ada"), "{file}: {text}");
    }
    let statement: Value = serde_json::from_str(&env.read("a.json")).unwrap();
    assert_eq!(statement["predicate"]["review"]["by"], "ada");
    env.selvedge(["attest", "verify", "a.json"])
        .run()
        .assert_code(0);
}

#[test]
fn default_run_is_the_latest_of_the_directory() {
    let env = shop();
    let first = id(&leaves_early(&env, "one"));
    let other = id(&leaves_early(&env, "other"));
    assert!(!env.read("other/shop.py").contains("a - b"));

    let restore = ["restore", "--original"];
    env.selvedge(restore)
        .dir(env.work_dir().join("one/deep/er"))
        .run()
        .assert_code(0);
    assert!(env.read("one/shop.py").contains("a - b"));
    assert!(
        !env.read("other/shop.py").contains("a - b"),
        "of another directory"
    );
    env.selvedge(restore)
        .dir(env.work_dir().join("other/deep"))
        .run()
        .assert_code(0);
    assert!(env.read("other/shop.py").contains("a - b"));

    let accept = env
        .selvedge(["review", "--accept"])
        .dir(env.work_dir().join("one/deep"));
    accept.run().assert_code(0);
    assert_eq!(run_state(&env, &first), "finished");
    assert_eq!(run_state(&env, &other), "awaiting_review");
    let shown = env.selvedge(["show", "--format", "json"]);
    let shown = shown.dir(env.work_dir().join("one")).run().json();
    assert_eq!(shown["run_id"], json!(first));
    let shown = env
        .selvedge(["show", "last", "--format", "json"])
        .run()
        .json();
    assert_eq!(shown["run_id"], json!(other));

    let nowhere = env.root().join("nowhere");
    std::fs::create_dir(&nowhere).unwrap();
    for command in [&["review", "--accept"][..], &["resume"], &restore] {
        let out = env.selvedge(command).dir(&nowhere).run();
        out.assert_code(2);
        assert!(out.stderr.contains("no runs in"), "{}", out.stderr);
    }
}

#[test]
fn review_needs_no_standard_error() {
    const FULL: &str = "/dev/full";
    if !is_available(FULL, &std::fs::metadata(FULL)) {
        return;
    }
    let env = shop();
    let run = id(&leaves_early(&env, "one"));
    let script = format!("\"$0\" review --accept 2> {FULL}");
    let shell = env.command("sh").args(["-c", &script]);
    let review = shell.arg(env!("CARGO_BIN_EXE_selvedge"));
    let review = review.dir(env.work_dir().join("one"));
    review.run().assert_code(0);
    assert_eq!(run_state(&env, &run), "finished");
}

#[test]
fn default_run_error_names_usable_runs() {
    let env = shop();
    let short = |out: &CommandOutput| id(out)[28..].to_owned();
    let waiting = short(&leaves_early(&env, "."));
    let script = agent(&env, "echo half > half; sleep 600");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        &script,
        "--check",
        "true",
        "--format",
        "json",
    ];
    let child = env.spawn(run);
    wait_for(&env.work_dir().join("half"));
    child.interrupt();
    let stopped = child.wait();
    stopped.assert_code(130);
    let stopped = short(&stopped);

    let out = env.selvedge(["review", "--accept"]).run();
    out.assert_code(2);
    let message = format!("{stopped}, is not awaiting review: its state is `suspended`");
    assert!(out.stderr.contains(&message), "{}", out.stderr);
    let message = format!("awaiting review in this directory: {waiting}");
    assert!(out.stderr.contains(&message), "{}", out.stderr);

    let finished = run_json(&env, &agent(&env, "echo work > work"), "true", &[]);
    finished.assert_code(0);
    let out = env.selvedge(["resume"]).run();
    out.assert_code(2);
    assert!(
        out.stderr.contains("is finished: verified"),
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains(&format!("resumable runs: {stopped}")),
        "{}",
        out.stderr
    );
}

#[test]
fn default_run_includes_clones_of_the_repository() {
    let env = shop();
    let body = "printf 'import os\\ndef add(a, b):\\n    os._exit(0)\\n' > shop.py";
    let script = agent(&env, body);
    for dir in [".", "other"] {
        let out = run_json(
            &env,
            &script,
            "grep -q def shop.py",
            &["--isolated", "--dir", dir],
        );
        out.assert_code(7);
        let accept = env
            .selvedge(["review", "--accept"])
            .dir(env.work_dir().join(dir).join("deep"));
        accept.run().assert_code(0);
        assert_eq!(run_state(&env, &id(&out)), "finished");
    }
}
