//! A full disk is an infrastructure error (exit 9), never a pass, and the run can be resumed once there is free
//! space. The disk is a small tmpfs in a mount namespace of the test, so the system must allow user namespaces.

use selvedge_testkit::TestEnv;

/// Runs `$SELVEDGE` in a state directory of 3 MB, then enlarges it and resumes.
const SCRIPT: &str = r#"set -e
mkdir -p "$XDG_STATE_HOME"
mount -t tmpfs -o size=3m tmpfs "$XDG_STATE_HOME"
set +e
"$SELVEDGE" run x --agent-cmd 'cp README notes' --check 'head -c 5000000 /dev/zero' --format json
echo "full: $?"
mount -t tmpfs -o remount,size=200m tmpfs "$XDG_STATE_HOME"
"$SELVEDGE" resume --format json
echo "resumed: $?"
"$SELVEDGE" list
"#;

#[test]
fn full_disk_is_9_and_the_run_resumes_with_free_space() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("README", "a repository\n");
    env.create_repo();
    let script = ["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT];
    let out = env
        .command("unshare")
        .args(script)
        .env("SELVEDGE", env!("CARGO_BIN_EXE_selvedge"))
        .run();
    assert!(
        out.stdout.contains("full: 9"),
        "{}\n{}",
        out.stdout,
        out.stderr
    );
    assert!(out.stderr.contains("full"), "no reason: {}", out.stderr);
    assert!(
        out.stdout.contains("resumed: 0"),
        "{}\n{}",
        out.stdout,
        out.stderr
    );
    assert!(
        out.stdout.contains(r#""outcome":"verified""#),
        "{}",
        out.stdout
    );
}
