//! Plans: subtasks one after the other, each with its own gates, through failures and interruptions.

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo, wait_for};

/// Three subtasks, each of which must create a file with its name.
const PLAN: &str = r#"
description = "the whole of it"
max_verification_retries = 1

[[subtasks]]
id = "ui"
description = "write ui"
depends_on = ["api"]
verification_steps = [{ type = "command", target = "test -s ui" }]

[[subtasks]]
id = "api"
description = "write api"
verification_steps = [{ type = "command", target = "test -s api" }]

[[subtasks]]
id = "docs"
description = "write docs"
verification_steps = [{ type = "command", target = "test -s docs" }]
expected_outputs = ["docs"]
"#;

/// Records in a ledger which subtask was paid for.
const WORKER: &str = r#"name=$(printf '%s' "$prompt" | sed -n 's/^write //p;q')
echo "$name" >> ../ledger
"#;

fn plan(env: &TestEnv, text: &str, work: &str, more: &[&str]) -> Vec<String> {
    let path = env.root().join("plan.toml");
    std::fs::write(&path, text).unwrap();
    let agent = agent(env, &format!("{WORKER}{work}"));
    let path = path.display().to_string();
    let run = ["run", "--file", &path, "--agent-cmd", &agent];
    run.iter().chain(more).map(ToString::to_string).collect()
}

fn ledger(env: &TestEnv) -> Vec<String> {
    let text = std::fs::read_to_string(env.root().join("ledger")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn outcomes(out: &CommandOutput) -> Vec<String> {
    let result = out.json();
    let subtasks = result["subtasks"].as_array().unwrap();
    let describe = |it: &Value| {
        let outcome = it["outcome"].as_str().unwrap_or("-");
        format!("{} {outcome}", it["id"].as_str().unwrap())
    };
    subtasks.iter().map(describe).collect()
}

#[test]
fn plan_runs_subtasks_after_their_dependencies() {
    let env = env_with_repo();
    // `api` is done only in its second attempt.
    let work = "case \"$name$SELVEDGE_RUN_NUMBER\" in api1) ;; *) echo x > \"$name\" ;; esac";
    let out = env
        .selvedge(plan(&env, PLAN, work, &["--format", "json"]))
        .run();
    out.assert_code(0);
    assert_eq!(
        outcomes(&out),
        ["ui verified", "api verified", "docs verified"]
    );
    assert_eq!(ledger(&env), ["api", "api", "ui", "docs"]);
    let result = out.json();
    assert_eq!(result["reason"], "3 of 3 subtasks verified");
    let api = &result["subtasks"][1];
    assert_ne!(api["task_id"], result["task_id"]);
    let history = api["result"]["verification_history"].as_array().unwrap();
    assert_eq!(history.len(), 2, "each has its reports and their history");

    let shown = env.selvedge(["show"]).run();
    assert!(shown.stdout.contains("the whole of it"), "{}", shown.stdout);
    assert!(
        shown.stdout.contains("3 of 3 subtasks verified"),
        "{}",
        shown.stdout
    );
    let listed = env.selvedge(["list", "--format", "json"]).run().json();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 4, "the plan, and a run for each subtask");
    assert_eq!(listed[3]["agent"], "plan");
    assert_eq!(listed[0]["part_of"]["subtask"], "docs");
    assert_eq!(
        env.selvedge(["show", "--format", "json"]).run().json(),
        result
    );
}

#[test]
fn plan_skips_dependents_of_a_failed_subtask() {
    let env = env_with_repo();
    let before = env.read("README");
    let work = "case \"$name\" in api) echo half >> README ;; *) cp README \"$name\" ;; esac";
    let out = env
        .selvedge(plan(&env, PLAN, work, &["--format", "json"]))
        .run();
    out.assert_code(1);
    assert_eq!(
        outcomes(&out),
        ["ui -", "api max_retries_exhausted", "docs verified"]
    );
    assert_eq!(ledger(&env), ["api", "api", "docs"]);
    assert_eq!(
        out.json()["subtasks"][0]["reason"],
        "not started: it depends on `api`, which is not verified"
    );
    assert_eq!(env.read("docs"), before, "on the tree before `api`");
    let jsonl = env.selvedge(["show", "--format", "jsonl"]).run();
    let replaced = jsonl
        .jsonl()
        .iter()
        .find_map(|it| Some(it["data"]["replaced"].as_str()?.to_owned()));
    let tree = replaced.unwrap();
    env.selvedge(["restore", "--tree", &tree])
        .run()
        .assert_code(0);
    assert!(env.read("README").contains("half"), "what it left is kept");
    env.selvedge(["restore", "--original"]).run().assert_code(0);
    assert_eq!(env.read("README"), before);
    env.selvedge(["resume"]).run().assert_code(2);
}

#[test]
fn plan_errors_are_found_before_anything_runs() {
    let env = env_with_repo();
    let refused = |text: &str, why: &str| {
        let out = env.selvedge(plan(&env, text, "", &[])).run();
        out.assert_code(2);
        assert!(out.stderr.contains(why), "{}", out.stderr);
    };
    refused(
        &PLAN.replace("[\"api\"]", "[\"ui\"]"),
        "depend on each other: ui → ui",
    );
    refused(&PLAN.replace("[\"api\"]", "[\"apy\"]"), "depends on `apy`");
    refused(
        &PLAN.replace("depends_on", "depend_on"),
        "unknown key `subtasks.0.depend_on`",
    );
    refused(
        &PLAN.replace("\"docs\"\nd", "\"api\"\nd"),
        "two subtasks have the id `api`",
    );
    refused(
        &PLAN.replace("test -s ui", "no-such-program"),
        "subtask `ui`: ",
    );
    assert!(ledger(&env).is_empty());
    let listed = env.selvedge(["list", "--format", "json"]).run().json();
    assert_eq!(listed, serde_json::json!([]));
}

#[test]
fn plan_subtask_cannot_replace_checks_of_a_later_one() {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"command\"\nrun = \"test -s all\"\n",
    );
    env.git(["add", "."]);
    env.git(["commit", "-qm", "checks"]);
    let text = "[[subtasks]]\nid = \"a\"\ndescription = \"write a\"\n\
                verification_steps = [{ type = \"command\", target = \"true\" }]\n\
                [[subtasks]]\nid = \"b\"\ndescription = \"write b\"\ndepends_on = [\"a\"]\n\
                max_verification_retries = 0\n";
    let work = "sed -i 's/test -s all/true/' selvedge.toml";
    let out = env
        .selvedge(plan(&env, text, work, &["--format", "json"]))
        .run();
    out.assert_code(1);
    assert_eq!(outcomes(&out), ["a verified", "b max_retries_exhausted"]);
}

/// Two subtasks; the second is checked by a script that the first may have changed. `first` are the checks of
/// the first one.
fn checked_by_script(first: &str) -> String {
    format!(
        "max_verification_retries = 0\n\
         [[subtasks]]\nid = \"a\"\ndescription = \"write a\"\nverification_steps = [{first}]\n\
         [[subtasks]]\nid = \"b\"\ndescription = \"write b\"\ndepends_on = [\"a\"]\n\
         verification_steps = [{{ type = \"command\", target = \"sh ci/check.sh\" }}]\n"
    )
}

const TRUE: &str = "{ type = \"command\", target = \"true\" }";

#[test]
fn plan_subtask_cannot_weaken_check_script_of_a_later_one() {
    // For a verified and an unchecked first subtask, and two ways to weaken the script.
    let edits = [
        "echo : > ci/check.sh",
        "mv ci real; ln -s real ci; echo : > real/check.sh",
    ];
    for (edit, first) in edits.iter().flat_map(|edit| [(edit, TRUE), (edit, "")]) {
        let env = env_with_repo();
        env.write("ci/check.sh", "test -s b\n");
        env.commit("check");
        let work = format!("case $name in a) {edit};; b) echo x > other;; esac");
        let text = checked_by_script(first);
        let out = env
            .selvedge(plan(&env, &text, &work, &["--format", "json"]))
            .run();
        out.assert_code(7);
        let outcome = if first.is_empty() {
            "unchecked"
        } else {
            "verified"
        };
        assert_eq!(outcomes(&out), [&format!("a {outcome}"), "b -"], "{edit}");
        // The original check of the later subtask fails in the baseline, and still fails after the work.
        let reason = out.json()["reason"].to_string();
        assert!(
            reason.contains("with the original tests, `sh ci/check.sh` still fails"),
            "{edit}: {reason}"
        );
    }
}

#[test]
fn plan_verifies_later_subtasks_with_original_tests() {
    let env = env_with_repo();
    env.write("ci/check.sh", "test -s b\n");
    env.commit("check");
    let work = "case $name in a) echo : > ci/check.sh;; b) echo x > b;; esac";
    let text = checked_by_script(TRUE);
    let out = env
        .selvedge(plan(&env, &text, work, &["--format", "json"]))
        .run();
    out.assert_code(0);
    assert_eq!(outcomes(&out), ["a verified", "b verified"]);
    assert_eq!(env.read("ci/check.sh"), ":\n", "what was delivered stays");
}

#[test]
fn plan_uses_an_added_check_script_only_if_allowed() {
    let work =
        "case $name in a) mkdir -p ci; echo 'test -s b' > ci/check.sh;; b) echo x > b;; esac";
    let text = checked_by_script(TRUE);
    let allowed = format!("allow = [\"ci/check.sh\"]\n{text}");
    for (text, code) in [(&allowed, 0), (&text, 7)] {
        let env = env_with_repo();
        let out = env
            .selvedge(plan(&env, text, work, &["--format", "json"]))
            .run();
        out.assert_code(code);
    }
}

#[test]
fn plan_resumes_at_the_right_subtask() {
    for kill in [false, true] {
        let env = env_with_repo();
        let work = "test \"$name\" != ui || test -e ../go || { touch ../there; sleep 600; }\n\
                    echo x > \"$name\"";
        let child = env.spawn(plan(&env, PLAN, work, &["--format", "json"]));
        wait_for(&env.root().join("there"));
        if kill {
            child.kill();
            child.wait();
        } else {
            child.interrupt();
            let out = child.wait();
            out.assert_code(130);
            assert_eq!(out.json()["outcome"], "interrupted");
            assert_eq!(outcomes(&out), ["ui -", "api verified", "docs -"]);
        }
        std::fs::write(env.root().join("go"), "").unwrap();
        let out = env.selvedge(["resume", "--format", "json"]).run();
        out.assert_code(0);
        assert_eq!(
            outcomes(&out),
            ["ui verified", "api verified", "docs verified"]
        );
        assert_eq!(ledger(&env), ["api", "ui", "ui", "docs"], "kill: {kill}");
        assert_eq!(env.processes().len(), 0);
    }
}

#[test]
fn plan_waits_for_review_and_continues() {
    for (accept, code, after) in [
        (true, 0, ["ui verified", "api verified", "docs verified"]),
        (
            false,
            1,
            ["ui -", "api max_retries_exhausted", "docs verified"],
        ),
    ] {
        let env = env_with_repo();
        let work = "echo x > \"$name\"; test \"$name\" != api || \
                    printf 'import os\\ndef add(a, b):\\n    os._exit(0)\\n' > shop.py";
        env.write("shop.py", "def add(a, b):\n    return a - b\n");
        env.git(["add", "."]);
        env.git(["commit", "-qm", "app"]);
        let out = env
            .selvedge(plan(&env, PLAN, work, &["--format", "json"]))
            .run();
        out.assert_code(7);
        assert_eq!(out.json()["outcome"], "needs_review");
        assert_eq!(outcomes(&out), ["ui -", "api -", "docs -"]);
        let decision = if accept { "--accept" } else { "--reject" };
        let review = [
            "review",
            decision,
            "--reason",
            "as I see it",
            "--format",
            "json",
        ];
        let out = env.selvedge(review).run();
        out.assert_code(code);
        assert_eq!(outcomes(&out), after);
    }
}
