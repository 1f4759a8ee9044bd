//! Tier 1's own look at what an attempt changed: every changed file parses, and none was emptied.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, prompt, run_json};

/// The look's record in the report of an attempt; null where there is none.
fn look(out: &CommandOutput, attempt: usize) -> Value {
    let history = out.json()["verification_history"].clone();
    let checks = history[attempt - 1]["checks"].as_array().unwrap().clone();
    let found = checks.into_iter().find(|check| check["type"] == "syntax");
    found.unwrap_or(Value::Null)
}

#[test]
fn a_broken_file_goes_back_with_its_place_and_is_mended() {
    let env = env_with_repo();
    let work = r#"case $SELVEDGE_RUN_NUMBER in
1) printf '{\n  "a": 1,\n  "b" 2\n}\n' > data.json
   printf 'def f():\n    return (1\n\nx = 2\n' > tool.py
   printf 'const x = ;\n' > app.ts; printf 'fine\n' > notes ;;
*) echo '{}' > data.json; echo 'x = 1' > tool.py; echo 'const x = 1;' > app.ts ;;
esac"#;
    let out = run_json(&env, &agent(&env, work), "true", &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    let told = prompt(&env, 2);
    for part in [
        "- syntax (changed files): FAIL (3 changed files do not parse)",
        "data.json:3:7",
        "tool.py:2:12",
        "app.ts:1:11",
    ] {
        assert!(told.contains(part), "`{part}` is missing in:\n{told}");
    }
    let failed = look(&out, 1);
    assert_eq!(failed["status"], "fail");
    let places: Vec<Value> = failed["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["file"], it["line"], it["kind"]]))
        .collect();
    assert!(
        places.contains(&json!(["data.json", 3, "compile"])),
        "{places:?}"
    );
    assert_eq!(look(&out, 2)["status"], "pass");
    assert_eq!(look(&out, 2)["reason"], "3 changed files parse");
    let shown = env.selvedge(["show"]).run();
    shown.assert_code(0);
    assert!(shown.stdout.contains("changed files"), "{}", shown.stdout);
}

#[test]
fn what_did_not_parse_before_either_is_not_charged() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("old.json", "{\"a\": }\n");
    env.write("good.json", "{}\n");
    env.write("untouched.py", "def (\n");
    env.create_repo();
    let out = run_json(
        &env,
        &agent(&env, "echo '{\"b\": }' > old.json; echo '[1]' > good.json"),
        "true",
        &["--retries", "0"],
    );
    out.assert_code(0);
    let look = look(&out, 1);
    assert_eq!(
        look["reason"],
        "1 changed file parses, 1 did not parse before either"
    );
    assert!(
        look["output"].as_str().unwrap().contains("old.json:1"),
        "{look}"
    );
}

#[test]
fn an_emptied_file_fails_where_emptiness_is_not_normal() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    for file in ["a.txt", "src/lib.py", "pkg/__init__.py", "log.md"] {
        env.write(file, "something\n");
    }
    env.write(".keep", "x\n");
    env.create_repo();
    let work = "printf '\\n' > a.txt; : > src/lib.py; : > pkg/__init__.py; : > .keep; rm log.md; : > new.py";
    let out = run_json(&env, &agent(&env, work), "true", &["--retries", "0"]);
    out.assert_code(1);
    let look = look(&out, 1);
    assert_eq!(look["reason"], "2 files were emptied");
    let digest = look["digest"].as_str().unwrap();
    for part in ["a.txt", "src/lib.py", "was emptied: it had 10 bytes before"] {
        assert!(digest.contains(part), "`{part}` is missing in:\n{digest}");
    }
}

#[test]
fn what_is_not_certain_is_noted_and_settings_switch_it_off() {
    let env = env_with_repo();
    let broken = agent(
        &env,
        "mkdir -p gen chart; echo \"{ $$\" > gen/a.json; printf 'a: %s\\n  {{- if x }}\\n b: 1\\n' $$ > chart/b.yaml",
    );
    let run =
        |more: &[&str]| run_json(&env, &broken, "true", &[&["--retries", "0"], more].concat());
    run(&[]).assert_code(1);

    env.write(
        "selvedge.toml",
        "[verification]\nsyntax_except = [\"gen/**\"]\n",
    );
    let out = run(&[]);
    out.assert_code(0);
    let noted = look(&out, 1);
    assert!(
        noted["reason"]
            .as_str()
            .unwrap()
            .contains("1 is not certain"),
        "{noted}"
    );
    assert!(
        noted["output"].as_str().unwrap().contains("template"),
        "{noted}"
    );

    env.write("selvedge.toml", "[verification]\nsyntax = false\n");
    let out = run(&[]);
    out.assert_code(0);
    assert_eq!(look(&out, 1), Value::Null);

    env.write(
        "selvedge.toml",
        "[verification]\nsyntax_except = [\"a{\"]\n",
    );
    run(&[]).assert_code(2);
}

#[test]
fn hostile_names_are_looked_at_like_any_other() {
    let env = env_with_repo();
    let work = r#"printf '{' > './-rf.json'; printf '{' > "$(printf 'a\nb.json')"; printf 'x = (' > "$(printf '\377.py')"
ln -s /etc/passwd link.json; mkdir 'd;touch owned'; echo '(' > 'd;touch owned/c.sh'"#;
    let out = run_json(&env, &agent(&env, work), "true", &["--retries", "0"]);
    out.assert_code(1);
    assert_eq!(look(&out, 1)["reason"], "4 changed files do not parse");
    assert!(!env.work_dir().join("owned").exists());
}

#[test]
fn expected_outputs_are_there_of_their_kind_and_not_empty() {
    let env = env_with_repo();
    let work = "mkdir -p dist hollow; echo '{\"a\": ' > out.json; : > empty.txt; echo x > dist/x; echo x > plain; printf ' \\n' > blank.md";
    let cases = [
        ("plain", None),
        ("dist/", None),
        ("missing.txt", Some("`missing.txt` does not exist")),
        ("empty.txt", Some("`empty.txt` is empty")),
        ("blank.md", Some("`blank.md` is blank")),
        ("dist", Some("`dist` is a directory, not a file")),
        ("plain/", Some("`plain/` is a file, not a directory")),
        ("hollow/", Some("`hollow/` is empty")),
        ("../up", Some("`../up` leads outside the workspace")),
        ("out.json", Some("`out.json` is no JSON")),
    ];
    let outputs: Vec<&str> = cases.iter().map(|(output, _)| *output).collect();
    let task = json!({"description": "x", "expected_outputs": outputs, "max_verification_retries": 0,
        "verification_steps": [{"type": "command", "target": "true"}]});
    let agent = agent(&env, work);
    let run = [
        "run",
        "--file",
        "-",
        "--agent-cmd",
        &agent,
        "--format",
        "json",
    ];
    let out = env.selvedge(run).stdin(task.to_string()).run();
    out.assert_code(1);
    let checks = out.json()["verification_report"]["checks"].clone();
    for (check, (output, reason)) in checks.as_array().unwrap().iter().zip(cases) {
        assert_eq!(
            (&check["type"], &check["target"]),
            (&json!("output"), &json!(output))
        );
        let status = if reason.is_some() { "fail" } else { "pass" };
        assert_eq!(check["status"], status, "{output}: {check}");
        if let Some(reason) = reason {
            assert_eq!(check["reason"], reason);
        }
    }
    let broken = &checks[9]["failures"][0];
    assert_eq!(
        (&broken["line"], &broken["file"]),
        (&json!(2), &json!("out.json"))
    );
}
