//! A check's exit code is reported by a process that nothing in the sandbox can trace, read, write or
//! take descriptors from. The attacker is this test program, which the check runs in the sandbox.

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use selvedge_testkit::attack_process;

use super::fixture::SandboxFixture;
use super::on_all;

/// Names the process to attack, in the environment of the attacker.
const TARGET: &str = "SELVEDGE_TEST_TARGET";

/// What the process that reports exits would send, whichever it is.
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
    let mut own = Command::new("sleep")
        .arg("600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    for (name, target) in [
        ("own", own.id().try_into().unwrap()),
        ("reporter", target.parse().unwrap()),
    ] {
        writeln!(
            report,
            "{name}: {}",
            attack_process(target, FORGED).join(" ")
        )
        .unwrap();
    }
    own.kill().unwrap();
    own.wait().unwrap();
}

/// The parent of a check's program reports its exit.
fn an_exit_cannot_be_forged(scene: &SandboxFixture) {
    let attacker = scene.env.work_dir().join(ATTACKER);
    let own = std::env::current_exe().unwrap();
    if fs::hard_link(&own, &attacker).is_err() {
        fs::copy(&own, &attacker).unwrap();
    }
    let name = concat!(module_path!(), "::attacker");
    let name = name.split_once("::").unwrap().1;
    let report = scene.verify(
        &format!("{TARGET}=$PPID {ATTACKER} --ignored --exact {name}; exit 1"),
        &[],
    );
    let attacked = fs::read_to_string(scene.env.work_dir().join(REPORT)).unwrap_or_default();
    let lines = attacked.split_once('\n');
    assert!(lines.is_some(), "the attacker did not run: {report}");
    let (own, reporter) = lines.unwrap();
    // The same attacks are possible on a process that may be attacked.
    for means in ["ptrace", "process_vm_writev", "mem", "pidfd_getfd"] {
        assert!(own.contains(means), "{means}: {attacked}{report}");
    }
    assert_eq!(reporter, "reporter: \n", "{attacked}{report}");
    assert_eq!(report["checks"][0]["exit_code"], 1, "{report}");
    assert_eq!(report["checks"][0]["status"], "fail", "{report}");
}

on_all!(an_exit_cannot_be_forged);
