//! Nothing in the sandbox can trace, read, write or take descriptors from the process that reports a check's
//! exit code, nor from the main program; without a sandbox, no ordinary user can. The attacker is this test
//! program, which the check runs.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

use selvedge_testkit::attack_process;

use super::fixture::SandboxFixture;
use super::on_all_profiles;

/// The variable with the id of the process to attack. Its parent is attacked too, if it is visible.
const TARGET: &str = "SELVEDGE_TEST_TARGET";

/// The message that a process reporting exits would send.
const FORGED: &[u8] = b"{\"exited\":{\"code\":0}}\n";

/// Not in any snapshot.
const ATTACKER: &str = "./attacker";
const REPORT: &str = "report";

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
    let reporter = target.parse().unwrap();
    let control_target = control.id().try_into().unwrap();
    writeln!(
        report,
        "{}",
        attack_process(control_target, FORGED).join(" ")
    )
    .unwrap();
    for target in [Some(reporter), parent_of(reporter)].into_iter().flatten() {
        for means in attack_process(target, FORGED) {
            writeln!(report, "{target}: {means}").unwrap();
        }
    }
    control.kill().unwrap();
    control.wait().unwrap();
}

/// A container's first process has no visible parent.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, fields) = stat.rsplit_once(')').unwrap();
    let parent = fields.split_whitespace().nth(1).unwrap().parse().unwrap();
    Some(parent).filter(|pid| *pid > 0)
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
    let script = format!("{TARGET}=$PPID {ATTACKER} --ignored --exact {name}; exit 1");
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
