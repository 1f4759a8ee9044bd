//! Plans on a hub: each subtask is a task, one after the other on one workspace, whichever workers carry them
//! out and whichever process dies meanwhile.

use selvedge_testkit::{CommandOutput, Postgres};
use serde_json::Value;

use super::fixture::HubFixture;
use crate::fixtures::wait_for;

/// Three subtasks; `ui` depends on `api`.
const PLAN: &str = r#"
description = "the whole of it"
max_verification_retries = 1

[[subtasks]]
id = "ui"
description = "write ui"
depends_on = ["api"]
verification_steps = [{ type = "command", target = "sh check.sh" }]

[[subtasks]]
id = "api"
description = "write api"
verification_steps = [{ type = "command", target = "test -s api" }]

[[subtasks]]
id = "docs"
description = "write docs"
verification_steps = [{ type = "command", target = "test -s docs" }]
"#;

/// Records in a ledger which subtask and attempt was paid for.
const AGENT: &str = r#"name=$(printf '%s' "$prompt" | sed -n 's/^write //p;q')
echo "$name $SELVEDGE_RUN_NUMBER" >> "$root/ledger"
"#;

fn fleet(work: &str) -> HubFixture {
    with_script(HubFixture::new(&format!("{AGENT}{work}")))
}

/// Adds the script that checks `ui`.
fn with_script(fleet: HubFixture) -> HubFixture {
    fleet.env.write("check.sh", "test -s ui && test -s api\n");
    fleet.env.commit("check");
    fleet
}

fn ledger(fleet: &HubFixture) -> Vec<String> {
    let text = std::fs::read_to_string(fleet.env.root().join("ledger")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn submit(fleet: &HubFixture, more: &[&str]) -> String {
    let path = fleet.env.root().join("plan.toml");
    std::fs::write(&path, PLAN).unwrap();
    let repo = fleet.env.work_dir();
    let mut args = vec!["submit", "--file", path.to_str().unwrap()];
    args.extend(["--format", "json", "--repo", repo.to_str().unwrap()]);
    args.extend(more);
    let out = fleet.run(&args);
    out.assert_code(0);
    out.json()["task_id"].as_str().unwrap().to_owned()
}

/// Two subtasks; the second one has the checks of the settings, which run a script.
const CHECKED_BY_SCRIPT: &str = r#"
max_verification_retries = 0

[[subtasks]]
id = "a"
description = "write a"
verification_steps = []

[[subtasks]]
id = "b"
description = "write b"
depends_on = ["a"]
"#;

/// Runs the plan; `location` is the option for clones (`--repo`) or for a folder of the worker's machine
/// (`--workspace`).
fn checked_by_its_own_script(location: &str, work: &str) -> CommandOutput {
    let fleet = fleet(work);
    let env = &fleet.env;
    env.write("check.sh", "test -s b\n");
    env.write(
        "selvedge.toml",
        "[[checks]]\ntype = \"command\"\nrun = \"sh check.sh\"\n",
    );
    env.commit("checks");
    let _worker = fleet.worker("one");
    let path = env.root().join("plan.toml");
    std::fs::write(&path, CHECKED_BY_SCRIPT).unwrap();
    let (path, work) = (
        path.display().to_string(),
        env.work_dir().display().to_string(),
    );
    let submit = [
        "submit", "--file", &path, "--format", "json", location, &work,
    ];
    let out = fleet.run(&submit);
    out.assert_code(0);
    fleet.watch(out.json()["task_id"].as_str().unwrap())
}

#[test]
fn plan_subtask_cannot_weaken_check_script_of_a_later_one() {
    for location in ["--repo", "--workspace"] {
        let work = "test $name != a || echo : > check.sh";
        let out = checked_by_its_own_script(location, work);
        out.assert_code(7);
        assert_eq!(outcomes(&out), ["a unchecked", "b -"]);
    }
}

#[test]
fn plan_subtask_cannot_replace_checks_of_a_later_one() {
    for location in ["--repo", "--workspace"] {
        let work = "test $name != a || sed -i 's/sh check.sh/true/' selvedge.toml";
        let out = checked_by_its_own_script(location, work);
        out.assert_code(1);
        assert_eq!(outcomes(&out), ["a unchecked", "b max_retries_exhausted"]);
    }
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

/// `api` is done only in its second attempt.
const LEARNS: &str = r#"case "$name$SELVEDGE_RUN_NUMBER" in api1) ;; *) echo x > "$name" ;; esac"#;

fn assert_subtasks_are_tasks(fleet: &HubFixture) {
    let _one = fleet.worker("one");
    let _two = fleet.worker("two");
    let task = submit(fleet, &["--deliver", "branch"]);
    let out = fleet.watch(&task);
    out.assert_code(0);
    let result = out.json();
    assert_eq!(result["reason"], "3 of 3 subtasks verified", "{result:#}");
    assert_eq!(
        outcomes(&out),
        ["ui verified", "api verified", "docs verified"]
    );
    assert_eq!(ledger(fleet), ["api 1", "api 2", "ui 1", "docs 1"]);
    // Each subtask has its own task, journal, attempt numbers and reports.
    let api = &result["subtasks"][1];
    let history = api["result"]["verification_history"].as_array().unwrap();
    assert_eq!(history.len(), 2);
    assert_eq!(
        fleet.closings(api["task_id"].as_str().unwrap()),
        ["report", "report"]
    );
    assert_eq!(fleet.show_json(&task), result, "`show` tells the same");
    let listed = fleet.run(&["list", "--format", "json"]).json();
    let listed = listed.as_array().unwrap();
    assert_eq!(listed.len(), 4, "the plan, and a task for each subtask");
    let plan = listed.iter().find(|row| row["task_id"] == *task).unwrap();
    assert_eq!(
        (&plan["agent"], &plan["attempts"]),
        (&"plan".into(), &4.into())
    );
    assert_eq!(plan["state"], "succeeded");
    let parts = listed.iter().filter(|row| row["parent_task_id"] == *task);
    assert_eq!(parts.count(), 3, "each says which plan it belongs to");
    // The work of all subtasks is on one branch.
    let log = fleet.env.git([
        "branch",
        "--list",
        "selvedge/*",
        "--format=%(refname:short)",
    ]);
    let branches: Vec<&str> = log.lines().collect();
    assert_eq!(branches.len(), 1, "{branches:?}");
    let files = fleet.env.git(["ls-tree", "--name-only", branches[0]]);
    for file in ["api", "ui", "docs"] {
        assert!(files.lines().any(|it| it == file), "{files}");
    }
    let shown = fleet.run(&["show", &task]);
    shown.assert_code(0);
    assert!(
        shown.stdout.contains("3 of 3 subtasks verified"),
        "{}",
        shown.stdout
    );
}

#[test]
fn plan_runs_subtasks_after_their_dependencies() {
    assert_subtasks_are_tasks(&fleet(LEARNS));
}

#[test]
fn plan_runs_subtasks_on_a_database_server() {
    if !Postgres::is_available() {
        return;
    }
    let database = Some(Postgres::shared().create_database());
    let fleet = HubFixture::with_database(database, &format!("{AGENT}{LEARNS}"));
    assert_subtasks_are_tasks(&with_script(fleet));
}

#[test]
fn plan_skips_dependents_of_a_failed_subtask() {
    let fleet =
        fleet(r#"case "$name" in api) echo half >> README ;; *) cp README "$name" ;; esac"#);
    let _worker = fleet.worker("one");
    let before = fleet.env.read("README");
    let task = submit(&fleet, &[]);
    let out = fleet.watch(&task);
    out.assert_code(1);
    assert_eq!(
        outcomes(&out),
        ["ui -", "api max_retries_exhausted", "docs verified"]
    );
    assert_eq!(ledger(&fleet), ["api 1", "api 2", "docs 1"]);
    assert_eq!(
        out.json()["subtasks"][0]["reason"],
        "not started: it depends on `api`, which is not verified"
    );
    let docs = out.json()["subtasks"][2]["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    let diff = fleet.run(&["show", &docs, "--diff"]);
    diff.assert_code(0);
    assert!(
        diff.stdout.contains("docs") && !diff.stdout.contains("half"),
        "{}",
        diff.stdout
    );
    assert_eq!(fleet.env.read("README"), before);
}

/// The first subtask weakens the check of the second, which waits for the file `go`.
const WAITS: &str = r#"if test "$name" = api; then echo : > check.sh; fi
if test "$name" = ui; then
touch "$root/began-$SELVEDGE_RUN_NUMBER"
while ! test -e "$root/go"; do sleep 0.05; done
fi
echo x > "$name""#;

#[test]
fn plan_continues_on_another_worker_and_restarted_hub() {
    let mut fleet = fleet(WAITS);
    let one = fleet.worker("one");
    let task = submit(&fleet, &[]);
    wait_for(&fleet.env.root().join("began-1"));
    let hub = fleet.hub.take().unwrap();
    hub.kill();
    hub.wait();
    one.kill();
    one.wait();
    fleet.start_hub();
    let _two = fleet.worker("two");
    wait_for(&fleet.env.root().join("began-2"));
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    let out = fleet.watch(&task);
    out.assert_code(0);
    // The work of `api` is present, the interrupted attempt is not charged, and nothing is done twice.
    assert_eq!(ledger(&fleet), ["api 1", "ui 1", "ui 2", "docs 1"]);
    let ui = out.json()["subtasks"][0].clone();
    assert_eq!(ui["result"]["verification_attempts"], 1, "{ui:#}");
    let row = fleet.row(&task);
    assert_eq!(
        (&row["lease_epoch"], &row["infra_losses"]),
        (&1.into(), &0.into())
    );
}

#[test]
fn plan_that_is_cancelled_starts_nothing_more() {
    let fleet = fleet(WAITS);
    let _worker = fleet.worker("one");
    let task = submit(&fleet, &[]);
    wait_for(&fleet.env.root().join("began-1"));
    fleet.run(&["cancel", &task]).assert_code(0);
    let out = fleet.watch(&task);
    out.assert_code(10);
    assert_eq!(outcomes(&out), ["ui cancelled", "api verified", "docs -"]);
    assert_eq!(ledger(&fleet), ["api 1", "ui 1"]);
    let again = fleet.run(&["retry", &task, "--format", "json"]).json();
    let again = again["task_id"].as_str().unwrap();
    std::fs::write(fleet.env.root().join("go"), "").unwrap();
    fleet.watch(again).assert_code(0);
}

#[test]
fn plan_subtask_is_reviewed_by_its_own_id() {
    let fleet = fleet(
        r#"case "$name" in
api) printf 'import os\ndef add(a, b):\n    os._exit(0)\n' > shop.py; echo x > api ;;
*) echo x > "$name" ;;
esac"#,
    );
    fleet
        .env
        .write("shop.py", "def add(a, b):\n    return a - b\n");
    fleet.env.git(["add", "."]);
    fleet.env.git(["commit", "-qm", "shop"]);
    let _worker = fleet.worker("one");
    let task = submit(&fleet, &[]);
    let out = fleet.watch(&task);
    out.assert_code(7);
    assert_eq!(out.json()["outcome"], "needs_review");
    fleet.run(&["review", &task, "--accept"]).assert_code(2);
    let api = out.json()["subtasks"][1]["task_id"]
        .as_str()
        .unwrap()
        .to_owned();
    fleet.run(&["review", &api, "--accept"]).assert_code(0);
    let out = fleet.watch(&task);
    out.assert_code(0);
    assert_eq!(
        outcomes(&out),
        ["ui verified", "api verified", "docs verified"]
    );
}
