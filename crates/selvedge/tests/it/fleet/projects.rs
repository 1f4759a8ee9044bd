//! Projects on the command line.

use selvedge_testkit::assert_contains;

use super::fixture::HubFixture;

#[test]
fn project_limits_its_tasks() {
    let fleet = HubFixture::new("echo done > work.txt");
    let limits = ["--max-queued", "1", "--max-cost-usd-per-day", "0"];
    fleet
        .run(&[&["projects", "add", "web"][..], &limits].concat())
        .assert_code(0);
    let token = fleet.token().with_file_name("web.token");
    let out = token.to_str().unwrap();
    let add = [
        "tokens",
        "add",
        "ada",
        "--scope",
        "admin",
        "--project",
        "web",
        "--out",
        out,
    ];
    fleet.run(&add).assert_code(0);
    let as_ada = |args: &[&str]| {
        let command = fleet
            .env
            .selvedge(args)
            .env("SELVEDGE_HUB", fleet.hub_url());
        command.arg("--token-file").arg(&token).run()
    };
    let repo = fleet.env.work_dir().to_str().unwrap().to_owned();
    let submit = [
        "submit", "do it", "--format", "json", "--check", "true", "--repo", &repo,
    ];
    let first = as_ada(&submit);
    first.assert_code(0);
    let task = first.json()["task_id"].as_str().unwrap().to_owned();
    let refused = as_ada(&submit);
    assert_ne!(refused.code, 0);
    assert_contains(&refused.stderr, &["limit is 1 queued task"]);
    assert!(
        !refused.stderr.contains("sending it again"),
        "{}",
        refused.stderr
    );
    let reason = "the project's limit of $0.00 a day is reached, until 00:00 UTC";
    let shown = as_ada(&["show", &task]);
    assert_contains(&shown.stdout, &[&format!("waits: {reason}")]);
    let listed = as_ada(&["list"]);
    assert_contains(&listed.stderr, &[&format!("1 task waits: {reason}")]);
    let other = fleet.run(&["show", &task]);
    assert_ne!(other.code, 0, "{}", other.stdout);

    // The option would have no effect there, and the token would be of the own project.
    let misplaced = [
        "tokens",
        "--project",
        "web",
        "add",
        "bob",
        "--scope",
        "read",
    ];
    let refused = fleet.run(&misplaced);
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("tokens add NAME --project"),
        "{}",
        refused.stderr
    );

    let shown = fleet.run(&["projects", "show", "web"]);
    shown.assert_code(0);
    let usage = ["at most 1 task queued", "0 running, 1 queued, $0.00 today"];
    assert_contains(&shown.stdout, &usage);
    let allowed = [
        "projects",
        "update",
        "web",
        "--max-cost-usd-per-day",
        "none",
        "--repository",
        "/none/*",
    ];
    fleet.run(&allowed).assert_code(0);
    let listed = fleet.run(&["projects", "--format", "json"]).json();
    let settings = serde_json::json!({"repositories": ["/none/*"], "max_queued": 1});
    assert_eq!(listed[1]["settings"], settings, "{listed}");
    let refused = as_ada(&submit);
    assert_contains(&refused.stderr, &["allowed: /none/*"]);
    let worker = fleet.worker("w");
    let watched = as_ada(&["watch", &task, "--format", "json"]);
    watched.assert_code(0);
    worker.terminate();
    fleet.run(&["projects", "remove", "web"]).assert_code(0);
    assert_ne!(as_ada(&["list"]).code, 0, "its tokens are revoked");
}
