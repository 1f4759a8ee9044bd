//! Tests that a folder is locked by one run at a time.

use std::fs;
use std::os::unix::fs::symlink;

use selvedge_engine::workspace::{LockError, WorkspaceLock};

use super::fixture::WorkspaceFixture;

#[test]
fn a_second_run_is_refused_with_the_name_of_the_first() {
    let fixture = WorkspaceFixture::folder();
    let state = fixture.outside("state");
    let first = WorkspaceLock::lock(&state, &fixture.dir(), "run-1").unwrap();
    let by_another_name = fixture.outside("alias");
    symlink(fixture.dir(), &by_another_name).unwrap();
    for dir in [fixture.dir(), by_another_name] {
        let refused = WorkspaceLock::lock(&state, &dir, "run-2").unwrap_err();
        assert!(
            matches!(&refused, LockError::InUse { run_id, .. } if run_id.as_deref() == Some("run-1")),
            "{refused}"
        );
        assert!(refused.to_string().contains("run-1"));
    }
    drop(first);
    let third = WorkspaceLock::lock(&state, &fixture.dir(), "run-3-with-a-longer-name").unwrap();
    let refused = WorkspaceLock::lock(&state, &fixture.dir(), "run-4").unwrap_err();
    assert!(
        refused.to_string().contains("run-3-with-a-longer-name"),
        "{refused}"
    );
    drop(third);
}

/// For example, a worker and a user's own run.
#[test]
fn whoever_keeps_his_state_elsewhere_is_refused_as_well() {
    let fixture = WorkspaceFixture::folder();
    let (state, other_state) = (fixture.outside("state"), fixture.outside("elsewhere"));
    let first = WorkspaceLock::lock(&state, &fixture.dir(), "run-1").unwrap();
    let refused = WorkspaceLock::lock(&other_state, &fixture.dir(), "run-2").unwrap_err();
    assert!(
        matches!(&refused, LockError::InUse { run_id: None, .. }),
        "{refused}"
    );
    drop(first);
    WorkspaceLock::lock(&other_state, &fixture.dir(), "run-2").unwrap();
}

#[test]
fn two_folders_do_not_share_a_lock() {
    let fixture = WorkspaceFixture::folder();
    fixture.make_dir("inner");
    let state = fixture.outside("state");
    let _outer = WorkspaceLock::lock(&state, &fixture.dir(), "run-1").unwrap();
    let _inner = WorkspaceLock::lock(&state, &fixture.path("inner"), "run-2").unwrap();
}

#[test]
fn a_file_left_by_a_dead_process_locks_nothing() {
    let fixture = WorkspaceFixture::folder();
    let state = fixture.outside("state");
    drop(WorkspaceLock::lock(&state, &fixture.dir(), "run-1").unwrap());
    let file = fs::read_dir(state.join("locks"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(file, "a run that was killed").unwrap();
    let second = WorkspaceLock::lock(&state, &fixture.dir(), "run-2").unwrap();
    let refused = WorkspaceLock::lock(&state, &fixture.dir(), "run-3").unwrap_err();
    assert!(
        matches!(&refused, LockError::InUse { run_id, .. } if run_id.as_deref() == Some("run-2")),
        "{refused}"
    );
    drop(second);
}

/// For example, two sessions of an agent that start in a new project.
#[test]
fn new_workspace_is_opened_by_several_at_once() {
    for _ in 0..20 {
        let fixture = WorkspaceFixture::folder();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| fixture.workspace());
            }
        });
    }
}
