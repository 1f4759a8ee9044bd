//! Tests of what is rejected, capped, filled in and warned of.

use axum::response::IntoResponse;
use selvedge_core::model::{Budget, MicroUsd};
use serde_json::json;

use super::*;

fn fields(task_json: &Value) -> Vec<String> {
    let refused = task(task_json.to_string().as_bytes(), &TaskDefaults::default()).unwrap_err();
    let response = refused.into_response();
    let body = axum::body::to_bytes(response.into_body(), 100_000);
    let body = futures_util::FutureExt::now_or_never(body)
        .unwrap()
        .unwrap();
    let problem: Value = serde_json::from_slice(&body).unwrap();
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    errors
        .iter()
        .map(|error| error["field"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn validate_names_invalid_fields() {
    assert_eq!(fields(&json!({})), ["description"]);
    assert_eq!(
        fields(&json!({"description": "x", "routing_decision": {"target_type": "clode"}})),
        ["routing_decision.target_type"]
    );
    for retries in [json!("many"), json!(-1), json!(1.5)] {
        let odd = json!({"description": "x", "max_verification_retries": retries});
        assert_eq!(fields(&odd), ["max_verification_retries"]);
    }
    let odd = json!({"description": "x", "verification_timeout_ms": -5});
    assert_eq!(fields(&odd), ["verification_timeout_ms"]);
    let odd = json!({"description": "x", "verification_steps": [
        {"type": "command", "target": "true"}, {"type": "horoscope", "target": "x"}]});
    assert_eq!(fields(&odd), ["verification_steps[1].type"]);
    let odd = json!({"description": "x", "labels": ["selvedge:plan"],
        "priority": 10, "verification_tier": 4, "agent": "nobody"});
    assert_eq!(
        fields(&odd),
        ["agent", "verification_tier", "priority", "labels"]
    );
}

#[test]
fn validate_checks_subtasks_and_their_graph() {
    let subtask = |id: &str, needs: &str, more: Value| {
        let mut subtask = json!({"id": id, "description": "y", "depends_on": [needs]});
        if let (Value::Object(subtask), Value::Object(more)) = (&mut subtask, more) {
            subtask.extend(more);
        }
        subtask
    };
    let plan = |subtasks: Vec<Value>| fields(&json!({"subtasks": subtasks}));
    let (nothing, a) = (json!({}), json!({"id": "a", "description": "y"}));
    assert_eq!(
        plan(vec![a.clone(), subtask("b", "c", nothing.clone())]),
        ["subtasks.1.depends_on"]
    );
    assert_eq!(
        plan(vec![
            subtask("a", "b", nothing.clone()),
            subtask("b", "a", nothing.clone())
        ]),
        ["subtasks"]
    );
    assert_eq!(plan(vec![a.clone(), a.clone()]), ["subtasks.1.id"]);
    assert_eq!(plan(vec![json!({"id": "a"})]), ["subtasks.0.description"]);
    let odd = json!({"agent": "nobody", "verification_tier": 7,
        "verification_steps": [{"type": "command", "target": " "}]});
    assert_eq!(
        plan(vec![a.clone(), subtask("b", "a", odd)]),
        [
            "subtasks.1.agent",
            "subtasks.1.verification_tier",
            "subtasks.1.verification_steps.0.target"
        ]
    );
    let of_another = json!({"subtasks": [a], "command": "make",
        "part_of": {"parent_task_id": uuid::Uuid::nil(), "subtask": "x"}});
    assert_eq!(fields(&of_another), ["part_of", "command"]);
    let eager =
        json!({"subtasks": [{"id": "a", "description": "y", "max_verification_retries": 9}]});
    let eager = task(eager.to_string().as_bytes(), &TaskDefaults::default()).unwrap();
    assert_eq!(eager.task.subtasks[0].max_verification_retries, Some(5));
    assert!(
        eager.warnings[0].starts_with("subtasks.0."),
        "{:?}",
        eager.warnings
    );
}

#[test]
fn validate_caps_retries_with_warning() {
    let older = json!({
        "description": "Fix it", "verification_steps": [{"type": "command", "target": "make"}],
        "max_verification_retries": 99, "skip_verification": false,
        "verification_timeout_ms": 1000, "complexity_tier": "standard",
        "routing_decision": {"target_type": "claude"}, "something_new": {"deep": [1]},
    });
    let checked = task(older.to_string().as_bytes(), &TaskDefaults::default()).unwrap();
    assert_eq!(checked.task.max_verification_retries, Some(5));
    assert_eq!(requested_agent(&checked.task), Some("claude"));
    assert!(
        checked.warnings[0].contains("exceeds the maximum; 5 is used"),
        "{:?}",
        checked.warnings
    );
    assert_eq!(
        checked.warnings[1..],
        ["something_new: unknown field, ignored"]
    );
    let quiet = json!({"description": "x"});
    let quiet = task(quiet.to_string().as_bytes(), &TaskDefaults::default()).unwrap();
    assert_eq!(quiet.task.max_verification_retries, Some(0), "opt-in");
    assert!(quiet.warnings.is_empty());
}

#[test]
fn validate_keeps_budget_within_the_hub_limits() {
    let defaults = TaskDefaults {
        budget: Some(Budget {
            cost_micro_usd: Some(MicroUsd(5)),
            tokens: Some(7),
            ..Budget::default()
        }),
        ..TaskDefaults::default()
    };
    let own = |tokens| Budget {
        tokens: Some(tokens),
        duration_ms: Some(9),
        ..defaults.budget.unwrap()
    };
    for (budget, expect, warns) in [
        (json!(null), defaults.budget.unwrap(), None),
        (json!({}), defaults.budget.unwrap(), None),
        (
            json!({"cost_micro_usd": null}),
            defaults.budget.unwrap(),
            None,
        ),
        (
            json!({"max_cost": 5}),
            defaults.budget.unwrap(),
            Some("budget.max_cost: unknown field, ignored"),
        ),
        (json!({"tokens": 6, "wall_ms": 9}), own(6), None),
        (
            json!({"tokens": 8, "wall_ms": 9}),
            own(7),
            Some("budget.tokens: 8 exceeds the hub's maximum; 7 is used"),
        ),
    ] {
        let task_json = json!({"description": "x", "budget": budget});
        let checked = task(task_json.to_string().as_bytes(), &defaults).unwrap();
        assert_eq!(checked.task.budget, Some(expect), "{task_json}");
        assert_eq!(checked.warnings, Vec::from_iter(warns), "{task_json}");
    }
}

#[test]
fn validate_warns_about_unknown_fields_up_to_a_limit() {
    let odd = json!({"description": "x", "metadata": {"theirs": {"deep": 1}},
        "verification_steps": [{"type": "command", "target": "true", "time_out": 1,
            "settings": {"theirs": 1}}],
        "routing_decision": {"target_type": "claude", "because": "x"},
        "subtasks": [{"id": "a", "description": "y", "budgets": {}}]});
    let checked = task(odd.to_string().as_bytes(), &TaskDefaults::default()).unwrap();
    let mut paths: Vec<&str> = checked.warnings.iter().map(String::as_str).collect();
    paths.sort_unstable();
    assert_eq!(
        paths,
        [
            "routing_decision.because: unknown field, ignored",
            "subtasks.0.budgets: unknown field, ignored",
            "verification_steps.0.time_out: unknown field, ignored"
        ]
    );
    let mut many = json!({"description": "x"});
    for number in 0..30 {
        many[format!("{number}{}", "x".repeat(1_000))] = json!(1);
    }
    let checked = task(many.to_string().as_bytes(), &TaskDefaults::default()).unwrap();
    assert_eq!(checked.warnings.len(), 21);
    assert_eq!(checked.warnings[20], "10 more unknown fields, ignored");
    assert!(checked.warnings.iter().all(|it| it.len() < 200));
}

#[test]
fn validate_shell_tasks_need_command_and_permission() {
    let sidecar = json!({"description": "x", "routing_decision": {"target_type": "sidecar"}});
    assert_eq!(fields(&sidecar), ["command"]);
    let with_command = |mut task: Value| {
        task["command"] = json!("make");
        task
    };
    let allowed = task(
        with_command(sidecar.clone()).to_string().as_bytes(),
        &TaskDefaults::default(),
    );
    assert_eq!(requested_agent(&allowed.unwrap().task), Some(SHELL_AGENT));
    assert_eq!(
        fields(&json!({"description": "x", "agent": "sidecar"})),
        ["agent"]
    );
    let models_only = TaskDefaults {
        agents: vec!["claude".to_owned()],
        ..TaskDefaults::default()
    };
    let plain = json!({"description": ""});
    let trivial = json!({"description": "x", "complexity_tier": "trivial"});
    for refused in [sidecar, plain, trivial] {
        let refused = with_command(refused);
        assert!(
            task(refused.to_string().as_bytes(), &models_only).is_err(),
            "{refused}"
        );
    }
}

#[test]
fn validate_rejects_deep_json() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"description": "x", "metadata": {{"a": {deep}}}}}"#);
    let refused = task(body.as_bytes(), &TaskDefaults::default()).unwrap_err();
    assert_eq!(refused.into_response().status(), 400);
}
