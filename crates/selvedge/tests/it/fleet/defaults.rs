//! The hub's defaults for tasks, and its restrictions.

use serde_json::json;

use crate::fixtures::env_with_repo;

#[test]
fn hub_defaults_apply_to_tasks_and_limit_them() {
    let env = env_with_repo();
    let token = env.root().join("admin.token");
    let hub = env
        .selvedge(["hub", "--listen", "127.0.0.1:0"])
        .args([
            "--default-max-verification-retries",
            "3",
            "--default-tier",
            "2",
        ])
        .args([
            "--default-max-cost",
            "1.5",
            "--agents",
            "claude,fixer",
            "--checks",
            "command",
        ])
        .arg("--admin-token-file")
        .arg(&token)
        .spawn();
    hub.wait_for_stdout("listening on http://");
    hub.wait_for_stdout("\n");
    let stdout = hub.stdout();
    let url = stdout.split_whitespace().last().unwrap().to_owned();
    let run = |args: &[&str], stdin: &serde_json::Value| {
        env.selvedge(args)
            .env("SELVEDGE_HUB", &url)
            .arg("--token-file")
            .arg(&token)
            .stdin(stdin.to_string())
            .run()
    };
    let submit = ["submit", "--file", "-", "--format", "json"];
    let minimal = json!({"description": "x", "repository": "https://example.com/r.git"});
    let out = run(&submit, &minimal);
    out.assert_code(0);
    let shown = run(&["show", "last", "--format", "json"], &json!(null)).json();
    let task = &shown["task"];
    assert_eq!(task["max_verification_retries"], 3, "{shown:#}");
    assert_eq!(task["verification_tier"], 2);
    assert_eq!(task["budget"]["cost_micro_usd"], 1_500_000);

    for (budget, tokens, warned) in [
        (json!({}), json!(null), ""),
        (json!({"tokens": 9}), json!(9), ""),
        (
            json!({"tokens": 9, "max_cost": 5}),
            json!(9),
            "budget.max_cost",
        ),
    ] {
        let mut capped = minimal.clone();
        capped["budget"] = budget;
        let out = run(&submit, &capped);
        out.assert_code(0);
        assert!(out.stderr.contains(warned), "{}", out.stderr);
        let shown = run(&["show", "last", "--format", "json"], &json!(null)).json();
        assert_eq!(shown["task"]["budget"]["cost_micro_usd"], 1_500_000);
        assert_eq!(shown["task"]["budget"]["tokens"], tokens);
    }

    let mut limited = submit.to_vec();
    limited.extend(["--max-cost", "0.5", "--max-duration", "20m"]);
    let mut budgeted = minimal.clone();
    budgeted["budget"] = json!({"cost_micro_usd": 7, "tokens": 9});
    run(&limited, &budgeted).assert_code(0);
    let shown = run(&["show", "last", "--format", "json"], &json!(null)).json();
    assert_eq!(
        shown["task"]["budget"],
        json!({"cost_micro_usd": 500_000, "tokens": 9, "wall_ms": 1_200_000}),
        "options replace values of the file"
    );

    let mut many = minimal.clone();
    many["max_verification_retries"] = json!(99);
    let out = run(&submit, &many);
    out.assert_code(0);
    assert!(out.json()["warnings"][0].as_str().unwrap().contains('5'));

    let mut disallowed = minimal;
    disallowed["agent"] = json!("codex");
    disallowed["verification_steps"] = json!([{"type": "git_clean"}]);
    disallowed["subtasks"] = json!([{"id": "a", "description": "y", "agent": "gemini"}]);
    let out = run(&submit, &disallowed);
    out.assert_code(2);
    for field in [
        "agent: unknown agent",
        "verification_steps.0.type",
        "subtasks.0.agent",
    ] {
        assert!(out.stderr.contains(field), "{field}: {}", out.stderr);
    }
    let shell = json!({"description": "x", "complexity_tier": "trivial", "command": "id",
        "repository": "https://example.com/r.git"});
    let out = run(&submit, &shell);
    out.assert_code(2);
    assert!(
        out.stderr.contains("needs the agent `shell`"),
        "{}",
        out.stderr
    );

    let on_hub = [
        "run",
        "x",
        "--hub",
        &url,
        "--repo",
        "https://example.com/r.git",
    ];
    let out = run(
        &[
            &on_hub[..],
            &["--sandbox", "none", "--require-cost-reporting"],
        ]
        .concat(),
        &json!(null),
    );
    out.assert_code(2);
    assert!(
        out.stderr.contains("--require-cost-reporting, --sandbox"),
        "{}",
        out.stderr
    );
}

/// Otherwise no token of that hub could ever be created.
#[test]
fn hub_creates_no_admin_token_that_it_cannot_write() {
    let env = env_with_repo();
    let nowhere = env.root().join("nowhere/admin.token");
    let hub = ["hub", "--listen", "127.0.0.1:0", "--admin-token-file"];
    let out = env.selvedge(hub).arg(&nowhere).run();
    out.assert_code(9);
    assert!(out.stderr.contains("nowhere"), "{}", out.stderr);
    let token = env.root().join("admin.token");
    let hub = env.selvedge(hub).arg(&token).spawn();
    hub.wait_for_stdout("listening on http://");
    assert!(std::fs::read_to_string(&token).unwrap().trim().len() > 20);
}
