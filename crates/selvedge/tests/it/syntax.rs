//! The syntax check of tier 1: every changed file must parse, and none may be emptied.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::{Value, json};

use crate::fixtures::{agent, env_with_repo, has_program, prompt, run_json};

/// Returns the syntax check in an attempt's report, or null if there is none.
fn syntax_check(out: &CommandOutput, attempt: usize) -> Value {
    let history = out.json()["verification_history"].clone();
    let checks = history[attempt - 1]["checks"].as_array().unwrap().clone();
    let check = checks.into_iter().find(|check| check["type"] == "syntax");
    check.unwrap_or(Value::Null)
}

#[test]
fn syntax_error_is_corrected_by_its_location() {
    let env = env_with_repo();
    let work = r#"case $SELVEDGE_RUN_NUMBER in
1) printf '{\n  "a": 1,\n  "b" 2\n}\n' > data.json
   printf 'def f():\n    return (1\n\nx = 2\n' > tool.py
   printf 'a = \n' > app.toml; printf 'fine\n' > notes ;;
*) echo '{}' > data.json; echo 'x = 1' > tool.py; echo 'a = 1' > app.toml ;;
esac"#;
    let out = run_json(&env, &agent(&env, work), "true", &[]);
    out.assert_code(0);
    assert_eq!(out.json()["verification_attempts"], 2);
    let correction = prompt(&env, 2);
    for part in [
        "- syntax (changed files): FAIL (3 changed files do not parse)",
        "data.json:3:7",
        "tool.py:2:12",
        "app.toml:1:5",
    ] {
        assert!(
            correction.contains(part),
            "`{part}` is missing in:\n{correction}"
        );
    }
    let failed = syntax_check(&out, 1);
    assert_eq!(failed["status"], "fail");
    let locations: Vec<Value> = failed["failures"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["file"], it["line"], it["kind"]]))
        .collect();
    assert!(
        locations.contains(&json!(["data.json", 3, "compile"])),
        "{locations:?}"
    );
    assert_eq!(syntax_check(&out, 2)["status"], "pass");
    assert_eq!(syntax_check(&out, 2)["reason"], "3 changed files parse");
    let shown = env.selvedge(["show"]).run();
    shown.assert_code(0);
    assert!(shown.stdout.contains("changed files"), "{}", shown.stdout);
}

#[test]
fn syntax_of_typescript_is_checked_by_the_projects_own() {
    if !has_program("node") {
        return;
    }
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write(".gitignore", "node_modules\n");
    env.write("node_modules/typescript/package.json", "{}");
    env.write(
        "node_modules/typescript/index.js",
        "exports.ScriptTarget = exports.ScriptKind = {};
        exports.createSourceFile = (name, text) => {
            const start = text.indexOf('?');
            return { parseDiagnostics: start < 0 ? [] : [{ start, messageText: 'Unexpected mark.' }] };
        };",
    );
    env.create_repo();
    let work = "mkdir src; echo 'let a = ?;' > src/app.ts; echo 'let b;' > src/list.tsx";
    let out = run_json(&env, &agent(&env, work), "true", &["--retries", "0"]);
    out.assert_code(1);
    let syntax_check = syntax_check(&out, 1);
    assert_eq!(
        syntax_check["reason"],
        "1 changed file does not parse, 1 changed file parses"
    );
    assert_eq!(syntax_check["output"], "src/app.ts:1:9: Unexpected mark.");
}

#[test]
fn syntax_error_from_before_is_not_charged() {
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
    let syntax_check = syntax_check(&out, 1);
    assert_eq!(
        syntax_check["reason"],
        "1 changed file parses, 1 did not parse before either"
    );
    assert!(
        syntax_check["output"]
            .as_str()
            .unwrap()
            .contains("old.json:1"),
        "{syntax_check}"
    );
}

#[test]
fn syntax_fails_emptied_files_unless_normally_empty() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    for file in ["a.txt", "src/lib.py", "pkg/__init__.py", "log.md"] {
        env.write(file, "something\n");
    }
    env.write(".keep", "x\n");
    env.create_repo();
    let work = "printf '\\n' > a.txt; : > src/lib.py; : > pkg/__init__.py; : > .keep; rm log.md; : > new.py";
    let out = run_json(&env, &agent(&env, work), "true", &["--retries", "0"]);
    out.assert_code(1);
    let syntax_check = syntax_check(&out, 1);
    assert_eq!(syntax_check["reason"], "2 files were emptied");
    let digest = syntax_check["digest"].as_str().unwrap();
    for part in ["a.txt", "src/lib.py", "was emptied: it had 10 bytes before"] {
        assert!(digest.contains(part), "`{part}` is missing in:\n{digest}");
    }
}

#[test]
fn syntax_notes_uncertain_files_and_can_be_disabled() {
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
    let noted = syntax_check(&out, 1);
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
    assert_eq!(syntax_check(&out, 1), Value::Null);

    env.write(
        "selvedge.toml",
        "[verification]\nsyntax_except = [\"a{\"]\n",
    );
    run(&[]).assert_code(2);
}

#[test]
fn syntax_handles_hostile_file_names() {
    let env = env_with_repo();
    let work = r#"printf '{' > './-rf.json'; printf '{' > "$(printf 'a\nb.json')"; printf 'x = (' > "$(printf '\377.py')"
ln -s /etc/passwd link.json; mkdir 'd;touch owned'; echo '(' > 'd;touch owned/c.sh'"#;
    let out = run_json(&env, &agent(&env, work), "true", &["--retries", "0"]);
    out.assert_code(1);
    assert_eq!(
        syntax_check(&out, 1)["reason"],
        "4 changed files do not parse"
    );
    assert!(!env.work_dir().join("owned").exists());
}

#[test]
fn expected_outputs_must_exist_and_not_be_empty() {
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
        ("../up", Some("`../up` is outside the workspace")),
        ("out.json", Some("`out.json` is not valid JSON")),
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
