//! Nothing in the sandbox can trace, read, write or take descriptors from the process that reports a check's
//! exit code, nor from the main program; without a sandbox, no ordinary user can. The attacker is an example of this
//! package, which the check runs.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::fixture::SandboxFixture;
use super::on_all_profiles;
use crate::examples::example;

const REPORT: &str = "report";

/// The parent of a check's program reports its exit.
fn exit_code_cannot_be_forged(fixture: &SandboxFixture) {
    let Some(program) = example("attacker") else {
        return;
    };
    fs::copy(&program, fixture.env.work_dir().join("attacker")).unwrap();
    let script = format!("./attacker $PPID {REPORT}; exit 1");
    let verified = fixture.verify(&script, &[]);
    let report = fixture.env.work_dir().join(REPORT);
    let attacked = fs::read_to_string(&report).unwrap_or_default();
    let lines = attacked.split_once('\n');
    assert!(lines.is_some(), "the attacker did not run: {verified}");
    let (control, others) = lines.unwrap();
    // The same attacks succeed on a process that may be attacked.
    for means in ["ptrace", "process_vm_writev", "mem", "pidfd_getfd"] {
        assert!(control.contains(means), "{means}: {attacked}{verified}");
    }
    assert_eq!(others, "", "{attacked}{verified}");
    assert_eq!(verified["checks"][0]["exit_code"], 1, "{verified}");
    assert_eq!(verified["checks"][0]["status"], "fail", "{verified}");
    fs::remove_file(&report).unwrap();
    let run = [
        "run",
        "do it",
        "--agent-cmd",
        "touch done",
        "--retries",
        "0",
    ];
    let run = run.iter().chain(&["--check", "sh attempt.sh"]);
    fixture.env.selvedge(run).run().assert_code(1);
    // In a verification room, the attacker writes elsewhere.
    let attacked = fs::read_to_string(&report).unwrap_or_default();
    assert!(attacked.lines().count() <= 1, "{attacked}");
}

on_all_profiles!(exit_code_cannot_be_forged);

/// Root can attack every process; then the report lists `processes` as not enforced, as for every user without a
/// sandbox.
#[test]
fn exit_code_cannot_be_forged_by_an_ordinary_user_without_a_sandbox() {
    let fixture = SandboxFixture::create("none");
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        exit_code_cannot_be_forged(&fixture);
    }
}
