//! The demo's checks fail at first; after the first attempt one case is left; after the second all pass. The digest
//! after the first attempt names the missed case.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use selvedge_digest::{Analysis, CommandStatus, DigestBudget, Hints, analyse};

use super::{FILES, checks, script};
use crate::scripted_agent::run_silently;

fn set_up(repository: &Path) {
    for file in FILES {
        let path = repository.join(file.path);
        fs::write(&path, file.contents).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode)).unwrap();
    }
}

/// Runs the checks and analyses their output.
fn verify(repository: &Path) -> [Analysis; 2] {
    let [tests, syntax] = checks().try_into().unwrap();
    [tests, syntax].map(|check| {
        let mut shell = Command::new("sh");
        let ran = shell
            .args(["-c", &check.target])
            .current_dir(repository)
            .output()
            .unwrap();
        assert!(
            ran.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&ran.stderr)
        );
        let exit = CommandStatus::Code(ran.status.code().unwrap());
        analyse(&ran.stdout, Hints::command(check.target), exit)
    })
}

#[test]
fn demo_second_attempt_fixes_the_first() {
    let repository = tempfile::tempdir().unwrap();
    let repository = repository.path();
    set_up(repository);
    let [tests, syntax] = verify(repository);
    assert_eq!(tests.tests.as_ref().unwrap().failed, 7);
    assert!(syntax.failures.is_empty());

    assert_eq!(run_silently(&script(), 1, repository).unwrap(), 0);
    let [tests, syntax] = verify(repository);
    assert!(syntax.failures.is_empty());
    let [failure] = tests.failures.as_slice() else {
        panic!("{:?}", tests.failures)
    };
    assert_eq!(
        (failure.file.as_deref(), failure.line),
        (Some("examples.txt"), Some(8))
    );
    let digest = tests.render(DigestBudget::default()).text;
    for expected in [
        "duration.sh 0",
        "printed '' instead of '0s'",
        "examples.txt:8",
    ] {
        assert!(digest.contains(expected), "{expected} is not in:\n{digest}");
    }

    assert_eq!(run_silently(&script(), 2, repository).unwrap(), 0);
    let [tests, _] = verify(repository);
    let tests = tests.tests.unwrap();
    assert_eq!((tests.executed, tests.passed, tests.complete), (7, 7, true));
    for file in FILES.iter().filter(|file| file.path != super::PROGRAM) {
        assert_eq!(
            fs::read_to_string(repository.join(file.path)).unwrap(),
            file.contents
        );
    }
}
