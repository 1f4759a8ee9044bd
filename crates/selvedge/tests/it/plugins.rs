//! Plug-in checks through the real binary: only their reports count.

use std::path::Path;

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::env_with_repo;

/// A repository whose only check is this plug-in.
fn with_plugin(run: &str, more: &str) -> TestEnv {
    let env = env_with_repo();
    let run = json!(run);
    env.write(
        "selvedge.toml",
        format!("[[checks]]\ntype = \"plugin\"\nname = \"mine\"\nrun = {run}\n{more}\n"),
    );
    env.git(["add", "."]);
    env.git(["commit", "-qm", "checks"]);
    env
}

fn example(name: &str) -> String {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins");
    format!("'{}'", examples.join(name).display())
}

fn verify(env: &TestEnv) -> (CommandOutput, Value) {
    let out = env.selvedge(["verify", "--format", "json"]).run();
    let check = out.json()["checks"][0].clone();
    (out, check)
}

#[test]
fn plugin_report_decides_the_check() {
    let script = r#"sh -c 'cat > ../asked; echo seen >&2; echo "{\"v\":1,\"status\":\"pass\"}"'"#;
    let env = with_plugin(
        script,
        "settings = { strict = true, names = [\"a\"] }\ntimeout = \"9s\"",
    );
    let (out, check) = verify(&env);
    out.assert_code(0);
    assert_eq!(
        (&check["status"], &check["evidence"]),
        (&json!("pass"), &json!("plugin"))
    );
    assert_eq!(check["output"], "seen\n", "standard error is for people");
    let request = std::fs::read_to_string(env.root().join("asked")).unwrap();
    let request: Value = serde_json::from_str(&request).unwrap();
    let work = env.work_dir().canonicalize().unwrap();
    assert_eq!(
        request,
        json!({
            "v": 1, "check": "mine", "workspace": work, "directory": work, "timeout_ms": 9000,
            "settings": {"strict": true, "names": ["a"]},
        })
    );
}

#[test]
fn plugin_without_a_valid_report_is_an_error() {
    let pass = r#"{\"v\":1,\"status\":\"pass\"}"#;
    for (script, why) in [
        ("true".to_owned(), "wrote no answer"),
        ("echo all good".to_owned(), "not a valid report"),
        (format!("echo \"{pass}{pass}\""), "not a valid report"),
        (format!("echo \"{pass}\"; exit 3"), "exited with 3"),
        (format!("echo \"{pass}\"; kill -9 $$"), "ended by signal 9"),
        (
            format!("echo \"{pass}\"; sleep 600"),
            "did not answer within 1 s",
        ),
        ("yes | head -c 5000000".to_owned(), "longer than"),
        (
            r#"echo "{\"v\":7,\"status\":\"pass\"}""#.to_owned(),
            "version 7",
        ),
        (
            r#"echo "{\"v\":1,\"status\":\"fail\"}""#.to_owned(),
            "neither a `reason`",
        ),
        (
            r#"echo "{\"v\":1,\"status\":\"pass\",\"failures\":[{}]}""#.to_owned(),
            "contradicts itself",
        ),
        (
            r#"echo "{\"v\":1,\"status\":\"pass\",\"tests\":{\"executed\":2,\"failed\":1}}""#
                .to_owned(),
            "counts 1 failed",
        ),
        (
            r#"echo "{\"v\":1,\"status\":\"pass\",\"passed\":false}""#.to_owned(),
            "contradicts itself",
        ),
    ] {
        // Only one of them must not answer in time.
        let limit = if script.contains("sleep") { "1s" } else { "1m" };
        let env = with_plugin(
            &format!("sh -c '{script}'"),
            &format!("timeout = \"{limit}\""),
        );
        let (out, check) = verify(&env);
        out.assert_code(9);
        assert_eq!(check["status"], "error", "{script}: {check}");
        let reason = check["reason"].as_str().unwrap();
        assert!(reason.contains(why), "{script}: {reason}");
    }
}

#[test]
fn plugin_examples_work_and_correct_the_agent() {
    let run = format!("python3 {}", example("no_conflict_markers.py"));
    let env = with_plugin(&run, "settings = { except = [\"notes\"] }");
    env.write("notes", "<<<<<<< ours\n");
    verify(&env).0.assert_code(0);
    let agent = crate::fixtures::agent(
        &env,
        "case $SELVEDGE_RUN_NUMBER in 1) printf 'a\\n>>>>>>> theirs\\n' > code ;; *) echo a > code ;; esac",
    );
    let run = ["run", "merge it", "--agent-cmd", &agent, "--format", "json"];
    let out = env.selvedge(run).run();
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    let correction = crate::fixtures::prompt(&env, 2);
    assert!(
        correction.contains("code:2") && correction.contains("conflict's marker"),
        "{correction}"
    );

    let env = with_plugin(&format!("sh {}", example("changelog.sh")), "");
    env.write("CHANGELOG.md", "# Changelog\n");
    env.git(["add", "."]);
    env.git(["commit", "-qm", "changelog"]);
    env.write("src/lib.rs", "");
    let (out, check) = verify(&env);
    out.assert_code(1);
    assert!(
        check["reason"]
            .as_str()
            .unwrap()
            .contains("CHANGELOG.md was not"),
        "{check}"
    );
    env.write("CHANGELOG.md", "# Changelog\n\n- more\n");
    verify(&env).0.assert_code(0);
}

#[test]
fn plugin_rewritten_by_the_agent_does_not_decide() {
    let env = with_plugin("sh checks/mine.sh", "");
    let honest = "echo '{\"v\":1,\"status\":\"fail\",\"failures\":[{\"summary\":\"no\"}]}'\n";
    env.write("checks/mine.sh", honest);
    env.git(["add", "."]);
    env.git(["commit", "-qm", "the plug-in"]);
    let agent = crate::fixtures::agent(
        &env,
        r#"echo "echo '{\"v\":1,\"status\":\"pass\"}'" > checks/mine.sh"#,
    );
    let run = ["run", "do it", "--agent-cmd", &agent, "--format", "json"];
    let out = env.selvedge(run).run();
    out.assert_code(7);
    let crossed = out.json()["verification_report"]["crossed"].clone();
    assert_eq!(crossed["result"], "still_failing", "{crossed}");
}
