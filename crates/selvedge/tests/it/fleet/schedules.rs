//! Schedules on the command line.

use super::fixture::HubFixture;

#[test]
fn schedule_is_created_listed_paused_and_removed() {
    let fleet = HubFixture::new("true");
    let add = |cron: &str| {
        let repo = fleet.env.work_dir();
        let args = ["submit", "update the dependencies", "--check", "true"];
        let command = fleet.command(&args).arg("--repo").arg(repo);
        let command = command.args(["--schedule", cron, "--format", "json"]);
        command.run()
    };
    let refused = add("every night");
    refused.assert_code(2);
    assert!(
        refused.stderr.contains("invalid cron expression"),
        "{}",
        refused.stderr
    );
    let added = add("0 3 * * MON Europe/Berlin");
    added.assert_code(0);
    let id = added.json()["id"].as_str().unwrap().to_owned();
    let listed = fleet.run(&["schedules"]).stdout;
    assert!(listed.starts_with(&id), "{listed}");
    assert!(listed.contains("update the dependencies"), "{listed}");
    assert!(listed.contains("next at "), "{listed}");
    let paused = fleet.run(&["schedules", "pause", &id]);
    paused.assert_code(0);
    assert!(
        paused.stdout.trim().ends_with("paused"),
        "{}",
        paused.stdout
    );
    let resumed = fleet.run(&["schedules", "resume", &id]);
    assert!(resumed.stdout.contains("next at "), "{}", resumed.stdout);
    fleet.run(&["schedules", "remove", &id]).assert_code(0);
    assert_eq!(fleet.run(&["schedules"]).stdout, "");
    let tasks = fleet.run(&["list", "--format", "json"]).json();
    assert!(tasks.as_array().unwrap().is_empty());
}

#[test]
fn schedule_is_named_after_its_task() {
    let fleet = HubFixture::new("true");
    for (task, name) in [
        (r#""command": "make docs""#, "make docs"),
        (r#""description": "\u200b""#, "scheduled task"),
    ] {
        let task = format!(r#"{{"repository": "https://example.invalid/x.git", {task}}}"#);
        fleet.env.write("task.json", &task);
        let file = fleet.env.work_dir().join("task.json");
        let add = fleet.command(&["submit", "--schedule", "0 3 * * *"]);
        let add = add.arg("--file").arg(&file);
        let added = add.args(["--labels", "nowhere"]).run();
        added.assert_code(0);
        assert!(added.stdout.contains(name), "{}", added.stdout);
    }
}
