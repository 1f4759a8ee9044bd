//! An agent that changes no files receives one corrective prompt about it, and is never verified; every format reports
//! it.

use selvedge_testkit::TestEnv;
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, prompt, run_json};

const SENTENCE: &str = "the agent changed no files";

/// A repository whose check passes from the start.
fn passing() -> TestEnv {
    let env = env_with_repo();
    env.write("out", "good\n");
    env.commit("Good");
    env
}

#[test]
fn unchanged_work_is_reported_in_every_format() {
    let env = passing();
    let out = run_json(&env, &agent(&env, ""), "grep -q good out", &[]);
    out.assert_code(11);
    let result = out.json();
    assert_eq!(
        (&result["outcome"], &result["unchanged"]),
        (&"unchanged".into(), &true.into())
    );
    assert_eq!(result["verification_attempts"], 2);
    let correction = prompt(&env, 2);
    assert!(
        correction.contains("Independent checks pass, but the agent changed no files"),
        "{correction}"
    );
    assert!(
        result["reason"].as_str().unwrap().ends_with(SENTENCE),
        "{result}"
    );

    let output_of = |args: &[&str]| env.selvedge(args.iter()).run().stdout.clone();
    for form in ["--junit", "--sarif", "--markdown", "--annotations=github"] {
        let form: Vec<&str> = match form.split_once('=') {
            Some((option, value)) => vec!["show", option, value],
            None => vec!["show", form, "-"],
        };
        let text = output_of(&form);
        assert!(text.contains(SENTENCE), "{form:?}: {text}");
    }
    assert!(output_of(&["show"]).contains(SENTENCE));
    let statement = output_of(&["show", "--attest", "-"]);
    assert!(
        statement.contains(SENTENCE) && statement.contains("\"unchanged\""),
        "{statement}"
    );

    let human = [
        "run",
        "do it",
        "--agent-cmd",
        "true",
        "--check",
        "grep -q good out",
    ];
    assert!(output_of(&human).contains(SENTENCE));
}

#[test]
fn unchanged_compares_with_the_start_of_the_run() {
    let env = passing();
    let reverts = agent(
        &env,
        "case $SELVEDGE_RUN_NUMBER in 1) echo bad > out ;; *) git checkout -q out ;; esac",
    );
    let out = run_json(&env, &reverts, "grep -q good out", &[]);
    out.assert_code(11);
    assert_eq!(
        out.json()["verification_attempts"],
        3,
        "told once that nothing is changed"
    );
    assert_eq!(out.json()["unchanged"], true);

    let works = agent(&env, "echo more > more");
    let out = run_json(&env, &works, "grep -q good out", &[]);
    assert_eq!(out.json()["unchanged"], false);
    assert!(!out.stdout.contains(SENTENCE), "{}", out.stdout);

    // Without snapshots it is unknown whether anything was changed.
    env.write("selvedge.toml", "[workspace]\nsnapshots = false\n");
    env.commit("No snapshots");
    let out = run_json(&env, &agent(&env, ""), "grep -q good out", &[]);
    out.assert_code(0);
    assert_eq!(out.json()["unchanged"], json!(null));
    assert!(!out.stdout.contains(SENTENCE), "{}", out.stdout);
}

#[test]
fn unchanged_is_not_reported_for_shell_tasks() {
    let env = passing();
    let task = json!({
        "description": "do nothing",
        "complexity_tier": "trivial",
        "command": "true",
        "verification_steps": [{"type": "command", "target": "grep -q good out"}],
    });
    let run = ["run", "--file", "-", "--format", "json"];
    let out = env.selvedge(run).stdin(task.to_string()).run();
    out.assert_code(0);
    assert_eq!(out.json()["unchanged"], json!(null));
}

#[test]
fn unchanged_subtasks_and_executions_are_named() {
    let env = passing();
    let idle = agent(&env, "");
    let step = json!([{"type": "command", "target": "grep -q good out"}]);
    let plan = json!({
        "description": "all",
        "subtasks": [
            {"id": "a", "description": "a", "verification_steps": step},
            {"id": "b", "description": "b", "verification_steps": step},
        ],
    });
    let run = [
        "run",
        "--file",
        "-",
        "--agent-cmd",
        &idle,
        "--format",
        "json",
    ];
    let out = env.selvedge(run).stdin(plan.to_string()).run();
    out.assert_code(11);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(SENTENCE), "{reason}");

    // An earlier subtask may have done the work of a later one.
    let works_once = agent(&env, "test -e work || echo done > work");
    let run = [&run[..4], &[works_once.as_str()], &run[5..]].concat();
    let out = env.selvedge(run).stdin(plan.to_string()).run();
    out.assert_code(0);
    let reason = out.json()["reason"].as_str().unwrap().to_owned();
    assert!(reason.contains(&format!("`b`: {SENTENCE}")), "{reason}");

    let out = run_json(&env, &idle, "grep -q good out", &["--best-of", "3"]);
    assert_ne!(out.code, 0);
    assert!(out.json()["reason"].as_str().unwrap().contains(SENTENCE));
}

/// A repository with ignored files that are too large for snapshots, and with folders that tools fill.
fn with_large_files() -> TestEnv {
    let env = passing();
    env.write(".gitignore", "*.bin\nbuild/\nnode_modules/\n");
    env.commit("Ignore");
    for name in ["data/a.bin", "b.bin"] {
        env.write(name, "x".repeat((1 << 20) + 1));
    }
    env.write("build/out", "x");
    env.write("node_modules/m/index.js", "x");
    env
}

#[test]
fn unkept_files_are_listed_before_the_agent_starts() {
    let env = with_large_files();
    let human = [
        "run",
        "do it",
        "--agent-cmd",
        "echo AT WORK",
        "--check",
        "grep -q good out",
    ];
    let out = env.selvedge(human).run();
    out.assert_code(11);
    let notice = out
        .stderr
        .find("cannot be restored if the agent deletes them: 2 files");
    let notice = notice.unwrap_or_else(|| panic!("{}", out.stderr));
    assert!(
        out.stderr
            .find("attempt 1")
            .is_some_and(|begins| notice < begins),
        "{}",
        out.stderr
    );
    assert!(
        out.stderr.contains("data/a.bin (1.0 MiB)"),
        "{}",
        out.stderr
    );

    let out = run_json(
        &env,
        &agent(&env, "rm -r build/out"),
        "grep -q good out",
        &[],
    );
    let result = out.json();
    assert_eq!(result["unkept"]["files"], 2);
    assert_eq!(
        result["unkept"]["listed_folders"],
        json!(["build", "node_modules"])
    );
    assert_eq!(result["deleted_unkept"], json!(null));
}

#[test]
fn unkept_files_that_were_deleted_are_reported() {
    let env = with_large_files();
    let deletes = agent(
        &env,
        "rm b.bin; : > data/a.bin; rm -r build node_modules; exit 1",
    );
    let out = run_json(&env, &deletes, "grep -q good out", &[]);
    out.assert_code(3);
    let deleted = &out.json()["deleted_unkept"];
    let files: Vec<&str> = deleted["listed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["path"].as_str().unwrap())
        .collect();
    assert_eq!(files, ["b.bin", "data/a.bin"]);
    assert_eq!(
        deleted["listed_folders"],
        json!(["build"]),
        "node_modules comes back"
    );
    assert_eq!(out.json()["unchanged"], json!(null));
    for form in [
        &["show"][..],
        &["show", "--junit", "-"],
        &["show", "--sarif", "-"],
        &["show", "--markdown", "-"],
        &["show", "--annotations", "github"],
    ] {
        let shown = env.selvedge(form.iter()).run();
        assert!(shown.stdout.contains("b.bin"), "{form:?}: {}", shown.stdout);
    }

    // An attempt that only deleted a file is not unchanged.
    env.write("b.bin", "x".repeat((1 << 20) + 1));
    let out = run_json(&env, &agent(&env, "rm b.bin"), "grep -q good out", &[]);
    out.assert_code(0);
    assert_eq!(out.json()["unchanged"], false);
}
