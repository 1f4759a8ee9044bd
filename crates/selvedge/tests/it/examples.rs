//! The examples of the published libraries, which `cargo test --workspace` builds: they do what their comments claim.

use std::path::{Path, PathBuf};

use selvedge_testkit::is_available;
use serde_json::json;

use crate::fixtures::env_with_repo;
use crate::fleet::fixture::HubFixture;

/// Returns an example of any crate of the workspace.
pub(crate) fn example(name: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_BIN_EXE_selvedge"));
    let path = program.with_file_name("examples").join(name);
    let built = path
        .metadata()
        .map_err(|_| "`cargo test --workspace` builds it");
    is_available(&format!("the example `{name}`"), &built).then_some(path)
}

#[test]
fn digest_example_condenses_the_output_of_a_child() {
    let Some(program) = example("child_process") else {
        return;
    };
    let env = env_with_repo();
    let script = "echo out; echo 'src/a.c:3:7: error: expected expression' >&2; exit 2";
    let out = env.command(program).args(["sh", "-c", script]).run();
    out.assert_code(2);
    assert_eq!(out.stdout, "out\nsrc/a.c:3:7: error: expected expression\n");
    let digest = out.stderr.trim_start();
    assert!(digest.starts_with("FAILED (exit 2): 1 failure"), "{out}");
    assert!(digest.contains("src/a.c:3:7"), "{out}");
}

#[test]
fn hub_client_example_submits_and_waits() {
    let Some(program) = example("hub_client") else {
        return;
    };
    let fleet = HubFixture::new("echo good > out");
    let _worker = fleet.worker("one");
    let task = json!({
        "description": "do it",
        "repository": fleet.env.work_dir(),
        "verification_steps": [{"type": "command", "target": "grep -q good out"}],
    });
    let out = fleet
        .env
        .command(program)
        .env("SELVEDGE_HUB", fleet.hub_url())
        .env("SELVEDGE_TOKEN", fleet.read_token())
        .stdin(task.to_string())
        .run();
    out.assert_code(0);
    assert!(out.stdout.contains(": Succeeded, 1 attempts"), "{out}");
    assert!(out.stdout.contains("Some(Verified)"), "{out}");
}
