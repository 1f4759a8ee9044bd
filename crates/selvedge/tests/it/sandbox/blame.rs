//! Failures that the sandbox causes are errors, not failed checks; all other failures are failed checks.

use super::fixture::SandboxFixture;
use super::on_both;

fn status(fixture: &SandboxFixture, script: &str, more: &[(&str, &str)]) -> (String, String) {
    let report = fixture.verify(script, more);
    let check = &report["checks"][0];
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    (text(&check["status"]), text(&check["reason"]))
}

fn denial_names_the_path(fixture: &SandboxFixture) {
    let notes = fixture.write_home_file("notes/one", "mine");
    let made = notes.with_file_name("made");
    let (status, reason) = status(fixture, "echo x > ~/notes/made", &[]);
    assert_eq!(status, "error", "{reason}");
    assert!(reason.contains("the sandbox denied access to"), "{reason}");
    assert!(reason.contains(&made.display().to_string()), "{reason}");
}

fn denial_is_not_assumed_for_ordinary_failures(fixture: &SandboxFixture) {
    for script in [
        "echo 'assertion failed: left == right'; exit 1",
        "echo \"PermissionError: [Errno 13] Permission denied: $PWD/kept\"; exit 1",
        "touch missing/file",
    ] {
        let (status, reason) = status(fixture, script, &[]);
        assert_eq!(status, "fail", "{script}: {reason}");
    }
}

fn denial_names_the_missing_network(fixture: &SandboxFixture) {
    let script = "python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'";
    let (status, reason) = status(fixture, script, &[("SELVEDGE_SANDBOX_CHECKS", "strict")]);
    assert_eq!(status, "error", "{reason}");
    assert!(reason.contains("no network"), "{reason}");
}

/// Under `strict` the home is hidden: as missing by mounts, as denied by Landlock.
fn denial_names_a_hidden_path(fixture: &SandboxFixture) {
    fixture.write_home_file("notes.txt", "mine");
    let strict = [("SELVEDGE_SANDBOX_CHECKS", "strict")];
    let (hidden, reason) = status(fixture, "cat ~/notes.txt", &strict);
    assert_eq!(hidden, "error", "{reason}");
    assert!(reason.contains("notes.txt"), "{reason}");
    let (missing, reason) = status(fixture, "cat ~/never.txt", &strict);
    assert_eq!(missing, "fail", "{reason}");
}

/// Under `strict` Landlock allows no sockets of the network, not even for a server of the check itself.
fn denial_of_a_server_is_not_a_failure(fixture: &SandboxFixture) {
    let script = "python3 -c 'import socket; socket.socket().bind((\"127.0.0.1\", 0))'";
    let (status, reason) = status(fixture, script, &[("SELVEDGE_SANDBOX_CHECKS", "strict")]);
    let expected = if fixture.backend == "landlock" {
        "error"
    } else {
        "pass"
    };
    assert_eq!(status, expected, "{reason}");
}

/// A denial in the baseline stops the run before the agent begins. Without a baseline the check is repeated
/// without charge, then the run fails as infrastructure; the agent never receives a corrective prompt.
fn denial_is_never_reported_to_the_agent(fixture: &SandboxFixture) {
    fixture.write_home_file("notes/one", "mine");
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "sh -c 'cat >> told.txt'",
        "--check",
        "touch ~/notes/made",
        "--retries",
        "2",
        "--format",
        "json",
    ];
    let result = fixture.env.selvedge(run).run().assert_code(9).json();
    assert_eq!(result["outcome"], "infra_failed");
    assert!(!fixture.env.work_dir().join("told.txt").exists());
    let run = run.iter().chain(&["--baseline", "off"]);
    let result = fixture.env.selvedge(run).run().assert_code(9).json();
    assert_eq!(result["outcome"], "infra_failed");
    assert!(!fixture.env.read("told.txt").contains("VERIFICATION RETRY"));
}

on_both!(
    denial_names_the_path,
    denial_is_not_assumed_for_ordinary_failures,
    denial_names_the_missing_network,
    denial_names_a_hidden_path,
    denial_of_a_server_is_not_a_failure,
    denial_is_never_reported_to_the_agent,
);
