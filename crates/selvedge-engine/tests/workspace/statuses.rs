//! Tests of the uncommitted changes of the user's repository.

use std::fs::{self, File, FileTimes};
use std::path::PathBuf;

use selvedge_engine::workspace::{UncommittedChange, WorkspaceError, is_clean, status};

use super::fixture::WorkspaceFixture;

fn dirty(fixture: &WorkspaceFixture, folder: &str) -> Vec<(PathBuf, UncommittedChange)> {
    let dirty = status(&fixture.path(folder)).unwrap();
    let mut files: Vec<_> = dirty
        .files
        .into_iter()
        .map(|file| (file.path, file.change))
        .collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files
}

fn file(path: &str, change: UncommittedChange) -> (PathBuf, UncommittedChange) {
    (path.into(), change)
}

/// Sets times that are not in the index, so that git compares bytes.
fn touch(fixture: &WorkspaceFixture, path: &str) {
    let old = FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    File::options()
        .write(true)
        .open(fixture.path(path))
        .unwrap()
        .set_times(old)
        .unwrap();
}

#[test]
fn clean_means_that_everything_is_committed() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("a", "1");
    assert_eq!(
        dirty(&fixture, ""),
        [file("a", UncommittedChange::Untracked)]
    );
    fixture.git(&["add", "a"]);
    assert_eq!(
        dirty(&fixture, ""),
        [file("a", UncommittedChange::Changed)],
        "nothing is committed yet"
    );
    fixture.commit_all();
    assert!(is_clean(&fixture.dir()).unwrap());
    touch(&fixture, "a");
    assert!(is_clean(&fixture.dir()).unwrap(), "a time is no change");
    fixture.write("a", "2");
    fixture.write("b\nc", "");
    assert_eq!(
        dirty(&fixture, ""),
        [
            file("a", UncommittedChange::Changed),
            file("b\nc", UncommittedChange::Untracked)
        ]
    );
    fixture.write(".git/info/exclude", "b*\n");
    fs::remove_file(fixture.path("a")).unwrap();
    assert_eq!(dirty(&fixture, ""), [file("a", UncommittedChange::Changed)]);
}

#[test]
fn only_what_is_below_the_folder_counts() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("a/code", "1");
    fixture.write("b/code", "1");
    fixture.commit_all();
    fixture.write("b/code", "2");
    assert!(is_clean(&fixture.path("a")).unwrap());
    assert_eq!(
        dirty(&fixture, "b"),
        [file("code", UncommittedChange::Changed)]
    );
}

#[test]
fn a_conflict_is_told_apart() {
    let fixture = WorkspaceFixture::repository();
    for (branch, text) in [("main", "1"), ("other", "2")] {
        fixture.git(&["checkout", "-q", "--orphan", branch]);
        fixture.write("a", text);
        fixture.commit_all();
    }
    let merge = fixture.try_git_in("", &["merge", "--allow-unrelated-histories", "main"]);
    assert!(!merge.status.success());
    assert_eq!(
        dirty(&fixture, ""),
        [file("a", UncommittedChange::Conflicted)]
    );
}

#[test]
fn a_submodule_counts_with_its_own_work_tree() {
    let fixture = WorkspaceFixture::repository();
    fixture.make_dir("packages/sub");
    fixture.git_in("packages/sub", &["init", "-q"]);
    fixture.write("packages/sub/code", "1");
    fixture.git_in("packages/sub", &["add", "code"]);
    fixture.git_in("packages/sub", &["commit", "-q", "-m", "sub"]);
    fixture.commit_all();
    assert!(is_clean(&fixture.dir()).unwrap());
    fixture.write("packages/sub/code", "2");
    assert_eq!(
        dirty(&fixture, ""),
        [file("packages/sub/code", UncommittedChange::Changed)]
    );
    assert_eq!(
        dirty(&fixture, "packages"),
        [file("sub/code", UncommittedChange::Changed)]
    );
    fixture.git_in("packages/sub", &["commit", "-q", "-a", "-m", "more"]);
    assert_eq!(
        dirty(&fixture, ""),
        [file("packages/sub", UncommittedChange::Changed)]
    );
}

#[test]
fn harmless_settings_and_attributes_count() {
    let fixture = WorkspaceFixture::repository();
    fixture.git(&["config", "core.fileMode", "false"]);
    fixture.write(".gitattributes", "*.txt text eol=crlf\n");
    fixture.write("a.txt", "one\r\n");
    fixture.commit_all();
    fixture.chmod("a.txt", 0o755);
    touch(&fixture, "a.txt");
    assert_eq!(dirty(&fixture, ""), []);
}

#[test]
fn linked_work_trees_split_indexes_and_sha256_are_understood() {
    let linked = WorkspaceFixture::repository();
    linked.write("a", "1");
    linked.commit_all();
    linked.git(&["worktree", "add", "-q", "linked"]);
    linked.write("linked/a", "2");
    assert_eq!(
        dirty(&linked, "linked"),
        [file("a", UncommittedChange::Changed)]
    );

    let split = WorkspaceFixture::repository();
    split.git(&["config", "core.splitIndex", "true"]);
    let sha256 = WorkspaceFixture::folder();
    sha256.git(&["init", "-q", "--object-format=sha256"]);
    for fixture in [&split, &sha256] {
        fixture.write("a", "1");
        fixture.commit_all();
        assert_eq!(dirty(fixture, ""), []);
        fixture.write("a", "2");
        assert_eq!(dirty(fixture, ""), [file("a", UncommittedChange::Changed)]);
    }
}

#[test]
fn a_folder_without_a_repository_is_an_error_of_its_own() {
    let fixture = WorkspaceFixture::folder();
    let error = status(&fixture.dir()).unwrap_err();
    assert!(
        matches!(error, WorkspaceError::NotARepository { .. }),
        "{error}"
    );
}
