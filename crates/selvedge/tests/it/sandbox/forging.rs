//! Nothing in the sandbox can trace, read, write or take descriptors from the process that reports a check's
//! exit code. The attacker is this test program, which the check runs in the sandbox.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use selvedge_testkit::attack_process;

use super::fixture::SandboxFixture;
use super::on_all;

/// The variable with the id of the process to attack.
const TARGET: &str = "SELVEDGE_TEST_TARGET";

/// The message that a process reporting exits would send.
const FORGED: &[u8] = b"{\"exited\":{\"code\":0}}\n";

/// Not in any snapshot.
const ATTACKER: &str = ".git/attacker";
const REPORT: &str = ".git/report";

#[test]
#[ignore = "runs in the sandbox, started by the tests below"]
fn attacker() {
    let Ok(target) = std::env::var(TARGET) else {
        return;
    };
    let mut report = fs::File::create(REPORT).unwrap();
    let mut control = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    for (name, target) in [
        ("own", control.id().try_into().unwrap()),
        ("reporter", target.parse().unwrap()),
    ] {
        writeln!(
            report,
            "{name}: {}",
            attack_process(target, FORGED).join(" ")
        )
        .unwrap();
    }
    control.kill().unwrap();
    control.wait().unwrap();
}

/// The parent of a check's program reports its exit.
fn exit_code_cannot_be_forged(fixture: &SandboxFixture) {
    let attacker = fixture.env.work_dir().join(ATTACKER);
    let program = std::env::current_exe().unwrap();
    if fs::hard_link(&program, &attacker).is_err() {
        fs::copy(&program, &attacker).unwrap();
    }
    let name = concat!(module_path!(), "::attacker");
    let name = name.split_once("::").unwrap().1;
    let report = fixture.verify(
        &format!("{TARGET}=$PPID {ATTACKER} --ignored --exact {name}; exit 1"),
        &[],
    );
    let attacked = fs::read_to_string(fixture.env.work_dir().join(REPORT)).unwrap_or_default();
    let lines = attacked.split_once('\n');
    assert!(lines.is_some(), "the attacker did not run: {report}");
    let (control, reporter) = lines.unwrap();
    // The same attacks succeed on a process that may be attacked.
    for means in ["ptrace", "process_vm_writev", "mem", "pidfd_getfd"] {
        assert!(control.contains(means), "{means}: {attacked}{report}");
    }
    assert_eq!(reporter, "reporter: \n", "{attacked}{report}");
    assert_eq!(report["checks"][0]["exit_code"], 1, "{report}");
    assert_eq!(report["checks"][0]["status"], "fail", "{report}");
}

on_all!(exit_code_cannot_be_forged);
