//! Tests of differences between two snapshots.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use selvedge_core::model::TreeId;
use selvedge_engine::workspace::{DiffOptions, FileChangeKind, WorkspaceError};

use super::fixture::WorkspaceFixture;

#[test]
fn changed_files_are_listed_with_how_they_changed() {
    let fixture = WorkspaceFixture::folder();
    for name in ["edited", "gone", "chmod", "retyped", "same"] {
        fixture.write(name, "1\n");
    }
    let from = fixture.snapshot().tree;
    fixture.write("edited", "2\n");
    fs::remove_file(fixture.path("gone")).unwrap();
    fixture.chmod("chmod", 0o755);
    fs::remove_file(fixture.path("retyped")).unwrap();
    fixture.link("retyped", "same");
    let odd = OsStr::from_bytes(b"new\n\xff");
    fixture.write(Path::new("dir").join(odd), "");
    let to = fixture.snapshot().tree;
    let changed = fixture.workspace().changed_files(&from, &to).unwrap();
    let changed: Vec<_> = changed
        .iter()
        .map(|it| (it.path.as_path(), it.change))
        .collect();
    assert_eq!(
        changed,
        [
            (Path::new("chmod"), FileChangeKind::Modified),
            (&Path::new("dir").join(odd), FileChangeKind::Added),
            (Path::new("edited"), FileChangeKind::Modified),
            (Path::new("gone"), FileChangeKind::Removed),
            (Path::new("retyped"), FileChangeKind::Retyped),
        ]
    );
}

#[test]
fn a_diff_is_unified_and_names_files_from_the_workspace() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("src/é.txt", "one\ntwo\nthree\n");
    let from = fixture.snapshot().tree;
    fixture.write("src/é.txt", "one\n2\nthree\n");
    let to = fixture.snapshot().tree;
    let options = DiffOptions {
        context: 0,
        ..DiffOptions::default()
    };
    let diff = fixture.workspace().diff(&from, &to, options).unwrap();
    let text = String::from_utf8(diff.bytes).unwrap();
    assert!(!diff.truncated);
    assert!(
        text.contains("--- a/src/é.txt\n+++ b/src/é.txt\n@@ -2 +2 @@"),
        "{text}"
    );
    assert!(text.ends_with("-two\n+2\n"), "{text}");
}

#[test]
fn a_diff_stops_at_its_size_after_a_whole_line() {
    let fixture = WorkspaceFixture::folder();
    let from = fixture.snapshot().tree;
    fixture.write("long", "0123456789\n".repeat(100_000));
    let to = fixture.snapshot().tree;
    let options = DiffOptions {
        max_bytes: 500,
        ..DiffOptions::default()
    };
    let diff = fixture.workspace().diff(&from, &to, options).unwrap();
    assert!(diff.truncated);
    assert!(
        diff.bytes.len() <= 500 && diff.bytes.ends_with(b"0123456789\n"),
        "{diff:?}"
    );
}

#[test]
fn an_empty_workspace_compares_with_any_other() {
    let fixture = WorkspaceFixture::folder();
    let empty = fixture.snapshot().tree;
    fixture.write("a", "1\n");
    let one = fixture.snapshot().tree;
    let workspace = fixture.workspace();
    assert_eq!(workspace.changed_files(&empty, &one).unwrap().len(), 1);
    assert_eq!(workspace.changed_files(&empty, &empty).unwrap(), []);
    workspace.restore(&empty).unwrap();
    assert!(!fixture.has("a"));
}

#[test]
fn attributes_of_the_workspace_do_not_shape_the_diff() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitattributes", "* -diff\n");
    fixture.write("a", "1\n");
    let from = fixture.snapshot().tree;
    fixture.write("a", "2\n");
    let to = fixture.snapshot().tree;
    let diff = fixture
        .workspace()
        .diff(&from, &to, DiffOptions::default())
        .unwrap();
    assert!(
        diff.bytes.ends_with(b"-1\n+2\n"),
        "{:?}",
        String::from_utf8_lossy(&diff.bytes)
    );
}

#[test]
fn an_unknown_snapshot_is_named() {
    let fixture = WorkspaceFixture::folder();
    let known = fixture.snapshot().tree;
    let unknown: TreeId = "0123456789abcdef".repeat(4).parse().unwrap();
    let workspace = fixture.workspace();
    assert!(!workspace.contains(&unknown).unwrap());
    for (from, to) in [(&known, &unknown), (&unknown, &known)] {
        let error = workspace
            .diff(from, to, DiffOptions::default())
            .unwrap_err();
        assert!(
            matches!(&error, WorkspaceError::UnknownSnapshot { tree, .. } if *tree == unknown),
            "{error}"
        );
        assert!(workspace.changed_files(from, to).is_err());
    }
}
