//! Reports in exchange formats, written by the real binary and validated by their schemas.

use std::path::Path;

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo, run_json};

/// A compiler that reports one line, and whose message contains control sequences of the report formats.
const OBJECTS: &str = r"printf 'error[E0308]: mismatched \033[31m<types> ]]> ::error::%%0A `x`\n --> src/app.rs:3:7\n  |\n3 | let x: u8 = 1.0;\n  |       ^^\n\nerror: could not compile\n'; exit 101";

/// The options of four report files.
const FILES: [&str; 8] = [
    "--junit",
    "../junit.xml",
    "--sarif",
    "../out.sarif",
    "--markdown",
    "../summary.md",
    "--annotations",
    "gitlab=../quality.json",
];

const SARIF: &str = include_str!("../schemas/sarif-2.1.0.json");
const GITLAB: &str = include_str!("../schemas/gitlab-code-quality.json");

fn written(env: &TestEnv, name: &str) -> String {
    std::fs::read_to_string(env.root().join(name)).unwrap()
}

/// Validates a document by JUnit's schema and returns the errors.
fn junit_errors(text: &str) -> Vec<String> {
    let schema = uppsala::parse(include_str!("../schemas/junit-10.xsd")).unwrap();
    let schema = uppsala::XsdValidator::from_schema(&schema).unwrap();
    let errors = schema.validate(&uppsala::parse(text).unwrap());
    errors.iter().map(ToString::to_string).collect()
}

fn valid_junit(text: &str) {
    let errors = junit_errors(text);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
}

/// Validates a value by a JSON Schema and returns the errors.
fn json_errors(schema: &str, value: &Value) -> Vec<String> {
    // A pattern in SARIF's schema has an extra bracket, which its errata remove.
    let schema = schema.replace("[a-zA-Z]{2}]?$", "[a-zA-Z]{2}$");
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).unwrap()).unwrap();
    let errors = schema.iter_errors(value);
    errors.map(|error| error.to_string()).collect()
}

fn valid_json(schema: &str, text: &str) -> Value {
    let value: Value = serde_json::from_str(text).unwrap();
    let errors = json_errors(schema, &value);
    assert!(errors.is_empty(), "{errors:?}\n{text}");
    value
}

fn sarif(env: &TestEnv) -> Value {
    valid_json(SARIF, &written(env, "out.sarif"))
}

fn gitlab(env: &TestEnv) -> Value {
    valid_json(GITLAB, &written(env, "quality.json"))
}

/// Returns the suites of a valid JUnit file: name, number of cases, and number of failures and errors.
fn suites(env: &TestEnv) -> Vec<(String, usize, usize)> {
    let text = written(env, "junit.xml");
    valid_junit(&text);
    let document = roxmltree::Document::parse(&text).unwrap();
    let suites = document
        .descendants()
        .filter(|it| it.has_tag_name("testsuite"));
    let count = |suite: roxmltree::Node<'_, '_>, name| {
        suite
            .descendants()
            .filter(|it| it.has_tag_name(name))
            .count()
    };
    let red = |suite| count(suite, "failure") + count(suite, "error");
    suites
        .map(|it| {
            (
                it.attribute("name").unwrap().to_owned(),
                count(it, "testcase"),
                red(it),
            )
        })
        .collect()
}

#[test]
fn export_schemas_reject_invalid_documents() {
    for broken in [
        r#"<testsuites><testsuite name="x" tests="1" failures="0"/></testsuites>"#,
        r#"<testsuites><testcase name="x"/></testsuites>"#,
        r#"<testsuite name="x" tests="1" failures="0" errors="0"><testcase name="x" file="x"/></testsuite>"#,
    ] {
        assert!(!junit_errors(broken).is_empty(), "{broken}");
    }
    let sarif = serde_json::json!({"version": "2.1.0", "runs": [{"results": []}]});
    assert!(!json_errors(SARIF, &sarif).is_empty());
    assert!(!json_errors(GITLAB, &serde_json::json!([{"description": "x"}])).is_empty());
}

#[test]
fn export_of_failed_verification_has_every_format() {
    let env = env_with_repo();
    env.write("src/app.rs", "let x: u8 = 1.0;\n");
    env.write(
        "selvedge.toml",
        format!("[[checks]]\nname = \"build\"\nrun = '''{OBJECTS}'''\n"),
    );
    let out = env.selvedge(["verify"].iter().chain(&FILES)).run();
    out.assert_code(1);
    assert_eq!(suites(&env), [("verification".to_owned(), 2, 2)]);

    let sarif = sarif(&env);
    let result = &sarif["runs"][0]["results"][0];
    let location = &result["locations"][0]["physicalLocation"];
    assert_eq!(
        location["artifactLocation"]["uri"], "src/app.rs",
        "{result}"
    );
    assert_eq!(location["region"]["startLine"], 3);
    assert_eq!(
        (&result["level"], &result["ruleId"]),
        (&"error".into(), &"rustc/E0308".into())
    );

    let issue = &gitlab(&env)[0];
    assert_eq!(issue["location"]["path"], "src/app.rs");
    assert_eq!(issue["location"]["lines"]["begin"], 3);

    let summary = written(&env, "summary.md");
    assert!(
        summary.starts_with("## ❌ Selvedge: not verified\n"),
        "{summary}"
    );
    assert!(summary.contains("❌ `build`"), "{summary}");

    let out = env.selvedge(["verify", "--annotations", "github"]).run();
    out.assert_code(1);
    let lines: Vec<&str> = out.stdout.lines().collect();
    assert!(
        lines[0].starts_with("::error title=Selvedge%3A not verified::"),
        "{out}"
    );
    assert!(
        lines[1].starts_with("::error file=src/app.rs,line=3,col=7,title=build::"),
        "{out}"
    );
    assert!(lines.iter().all(|line| line.starts_with("::")), "{out}");
    assert!(lines[1].contains("%250A"), "{out}");
}

/// Runs an agent that passes on its second attempt.
fn run_with_retry(env: &TestEnv, more: &[&str]) -> CommandOutput {
    let work = agent(env, "echo $SELVEDGE_RUN_NUMBER >> tries");
    run_json(env, &work, "test $(wc -l < tries) -ge 2", more)
}

#[test]
fn export_of_run_has_a_suite_per_attempt_also_later() {
    let env = env_with_repo();
    run_with_retry(&env, &FILES).assert_code(0);
    let attempts = [
        ("attempt 1".to_owned(), 1, 1),
        ("attempt 2".to_owned(), 1, 0),
    ];
    assert_eq!(suites(&env), attempts);
    assert_eq!(sarif(&env)["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(gitlab(&env), serde_json::json!([]));
    let names = ["junit.xml", "out.sarif", "summary.md", "quality.json"];
    let original = names.map(|name| written(&env, name));
    for name in names {
        std::fs::remove_file(env.root().join(name)).unwrap();
    }
    env.selvedge(["show", "last"].iter().chain(&FILES))
        .run()
        .assert_code(0);
    assert_eq!(names.map(|name| written(&env, name)), original);
}

#[test]
fn export_of_plan_has_the_suites_of_its_subtasks() {
    let env = env_with_repo();
    let subtask = |id: &str, check: &str| {
        format!(
            "[[subtasks]]\nid = \"{id}\"\ndescription = \"do {id}\"\nverification_steps = [{{ type = \"command\", target = \"{check}\" }}]\n"
        )
    };
    let plan = format!(
        "max_verification_retries = 0\n{}{}",
        subtask("one", "true"),
        subtask("two", "false")
    );
    env.write("../plan.toml", plan);
    let work = agent(&env, "echo $SELVEDGE_RUN_ID >> log");
    let run = [
        "run",
        "--file",
        "../plan.toml",
        "--agent-cmd",
        &work,
        "--format",
        "json",
    ];
    env.selvedge(run.iter().chain(&FILES)).run().assert_code(1);
    // The last suite contains the plan's own outcome.
    let expected = [
        ("one: attempt 1".to_owned(), 1, 0),
        ("two: attempt 1".to_owned(), 2, 2),
    ];
    assert_eq!(suites(&env), expected);
    let results = sarif(&env)["runs"][0]["results"].clone();
    assert_eq!(results.as_array().unwrap().len(), 1, "{results}");
    let original = written(&env, "junit.xml");
    let show = env.selvedge(["show", "last", "--junit", "-"]).run();
    show.assert_code(0);
    assert_eq!(show.stdout, original);
}

#[test]
fn export_of_unverified_run_is_never_green() {
    let env = env_with_repo();
    for (body, check, code) in [
        ("echo 'CANNOT_SATISFY: no'", "true", 3),
        ("exit 1", "true", 3),
        ("echo nothing", "false", 1),
    ] {
        let out = run_json(
            &env,
            &agent(&env, body),
            check,
            &[&FILES[..], &["--retries", "0"]].concat(),
        );
        out.assert_code(code);
        let red: usize = suites(&env).iter().map(|(_, _, red)| red).sum();
        assert!(red > 0, "{out}");
        assert_eq!(sarif(&env)["runs"][0]["results"][0]["level"], "error");
        assert_ne!(gitlab(&env), serde_json::json!([]));
    }
}

#[test]
fn export_to_stdout_excludes_other_output() {
    let env = env_with_repo();
    let work = agent(&env, "date +%N > work");
    let run = ["run", "x", "--agent-cmd", &work, "--check", "true"];
    let out = env.selvedge(run.iter().chain(&["--junit", "-"])).run();
    out.assert_code(0);
    valid_junit(&out.stdout);
    assert!(out.stderr.contains("verified: 1 check passed"), "{out}");
    for more in [
        &["--junit", "-", "--sarif", "-"][..],
        &["--junit", "-", "--format", "json"],
        &["--junit", "../x", "--sarif", "../x"],
        &["--junit", "nowhere/x.xml"],
        &["--junit", "."],
        &["--annotations", "bitbucket"],
        &["--step-summary"],
    ] {
        let out = env.selvedge(run.iter().chain(more)).run();
        out.assert_code(2);
        assert_eq!(out.stdout, "", "{more:?}");
    }
    assert_eq!(
        env.selvedge(["list", "--format", "jsonl"])
            .run()
            .jsonl()
            .len(),
        1
    );
    // Annotations for GitHub are written to standard error, separate from the result.
    let github = ["--format", "json", "--annotations", "github"];
    let out = env.selvedge(run.iter().chain(&github)).run();
    assert_eq!(out.json()["outcome"], "verified");
    assert!(
        out.stderr.contains("::notice title=Selvedge%3A verified::"),
        "{out}"
    );
}

#[test]
fn export_appends_to_the_step_summary() {
    let env = env_with_repo();
    let page = env.root().join("page.md");
    std::fs::write(&page, "before\n").unwrap();
    let verify = ["verify", "--check", "true", "--step-summary"];
    let verify = env.selvedge(verify).env("GITHUB_STEP_SUMMARY", &page);
    verify.run().assert_code(0);
    let page = written(&env, "page.md");
    assert!(
        page.starts_with("before\n## ✅ Selvedge: verified\n"),
        "{page}"
    );
}

#[test]
fn export_failure_does_not_change_the_verdict() {
    let env = env_with_repo();
    // The check removes the report's folder, which exists when the run begins.
    for (check, code) in [("rm -r ../gone", 9), ("rm -r ../gone; false", 1)] {
        std::fs::create_dir(env.root().join("gone")).unwrap();
        let more = ["--junit", "../gone/j.xml", "--sarif", "../out.sarif"];
        let verify = ["verify", "--check", check, "--format", "json"];
        let out = env.selvedge(verify.iter().chain(&more)).run();
        out.assert_code(code);
        assert_eq!(
            out.json()["status"],
            if code == 9 { "pass" } else { "fail" }
        );
        for part in ["cannot write", "j.xml", "the verdict is unaffected"] {
            assert!(out.stderr.contains(part), "{out}");
        }
        sarif(&env);
    }
}

#[test]
fn export_replaces_files_atomically_and_keeps_links() {
    let env = env_with_repo();
    std::fs::write(env.root().join("real.xml"), "old").unwrap();
    std::os::unix::fs::symlink("real.xml", env.root().join("link.xml")).unwrap();
    for target in ["../link.xml", "/dev/null"] {
        let verify = ["verify", "--check", "true", "--junit", target];
        env.selvedge(verify).run().assert_code(0);
    }
    assert!(Path::new(&env.root().join("link.xml")).is_symlink());
    valid_junit(&written(&env, "real.xml"));
    let leftovers = std::fs::read_dir(env.root()).unwrap();
    let leftovers = leftovers.filter(|it| {
        it.as_ref()
            .unwrap()
            .file_name()
            .to_string_lossy()
            .contains(".selvedge")
    });
    assert_eq!(leftovers.count(), 0, "nothing is left behind");
}
