//! What walls bring about is nobody's failure, and what they did not is.

use super::fixture::SandboxFixture;
use super::on_both;

fn status(scene: &SandboxFixture, script: &str, more: &[(&str, &str)]) -> (String, String) {
    let report = scene.verify(script, more);
    let check = &report["checks"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(&check["status"]), text(&check["reason"]))
}

fn a_path_that_the_walls_shut(scene: &SandboxFixture) {
    let home = scene.env.home();
    let (status, reason) = status(scene, "echo x > ~/made", &[]);
    assert_eq!(status, "error", "{reason}");
    assert!(reason.contains("the sandbox shut"), "{reason}");
    assert!(
        reason.contains(&home.join("made").display().to_string()),
        "{reason}"
    );
}

fn an_ordinary_failure(scene: &SandboxFixture) {
    for script in [
        "echo 'assertion failed: left == right'; exit 1",
        "echo \"PermissionError: [Errno 13] Permission denied: $PWD/kept\"; exit 1",
        "touch missing/file",
    ] {
        let (status, reason) = status(scene, script, &[]);
        assert_eq!(status, "fail", "{script}: {reason}");
    }
}

fn no_network_under_strict(scene: &SandboxFixture) {
    let script = "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'";
    let (status, reason) = status(scene, script, &[("SELVEDGE_SANDBOX_CHECKS", "strict")]);
    assert_eq!(status, "error", "{reason}");
    assert!(reason.contains("no network"), "{reason}");
}

/// It stops the run before the agent begins. Without a baseline it is tried again uncharged, then it is
/// infrastructure; the agent is never told.
fn it_never_reaches_the_agent(scene: &SandboxFixture) {
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "sh -c 'cat >> told.txt'",
        "--check",
        "touch ~/made",
        "--retries",
        "2",
        "--format",
        "json",
    ];
    let result = scene.env.selvedge(run).run().assert_code(9).json();
    assert_eq!(result["outcome"], "infra_failed");
    assert!(!scene.env.work_dir().join("told.txt").exists());
    let run = run.iter().chain(&["--baseline", "off"]);
    let result = scene.env.selvedge(run).run().assert_code(9).json();
    assert_eq!(result["outcome"], "infra_failed");
    assert!(!scene.env.read("told.txt").contains("VERIFICATION RETRY"));
}

on_both!(
    a_path_that_the_walls_shut,
    an_ordinary_failure,
    no_network_under_strict,
    it_never_reaches_the_agent,
);
