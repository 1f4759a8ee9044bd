//! Tests of restores: what is written, removed and left unchanged, and that a restore can be undone.

use std::fs;
use std::os::unix::fs::MetadataExt;

use selvedge_engine::workspace::{ExclusionReason, SnapshotLimits, WorkspaceError};

use super::fixture::{WorkspaceFixture, reasons};

#[test]
fn a_restore_brings_back_bytes_modes_links_and_empty_folders_and_removes_the_rest() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("src/main.rs", "fn main() {}");
    fixture.write("run.sh", "true");
    fixture.chmod("run.sh", 0o750);
    fixture.write("secret/key", "k");
    fixture.chmod("secret/key", 0o600);
    fixture.chmod("secret", 0o700);
    fixture.make_dir("empty/within");
    fixture.link("link", "run.sh");
    let before = fixture.listing();
    let tree = fixture.snapshot().tree;

    fs::remove_dir_all(fixture.path("secret")).unwrap();
    fs::remove_dir_all(fixture.path("empty")).unwrap();
    fs::remove_file(fixture.path("link")).unwrap();
    fixture.write("link/now/a/folder", "");
    fixture.chmod("run.sh", 0o644);
    fs::remove_dir_all(fixture.path("src")).unwrap();
    fixture.write("src", "now a file");
    fixture.write("planted/deep/file", "");
    fixture.make_dir("planted/folder");

    let restored = fixture.restore(&tree);
    assert_eq!(fixture.listing(), before);
    assert_eq!(fixture.snapshot().tree, tree);
    assert_eq!(restored.changed.len(), 4, "{:?}", restored.changed);
    assert_eq!(restored.removed.len(), 3, "{:?}", restored.removed);
}

#[test]
fn a_restore_can_be_undone() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("a", "1");
    let tree = fixture.snapshot().tree;
    fixture.write("a", "edited by hand");
    fixture.write("b", "made by hand");
    let edited = fixture.listing();
    let restored = fixture.restore(&tree);
    assert!(!fixture.has("b"));
    fixture.restore(&restored.backup_tree);
    assert_eq!(fixture.listing(), edited);
}

#[test]
fn caches_and_large_ignored_files_stay() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "target/\n*.db\n");
    let tree = fixture.snapshot().tree;
    fixture.write("target/app", "elf");
    fixture.write("data.db", vec![0; 2 * 1024 * 1024]);
    fixture.write("planted.rs", "");
    fixture.restore(&tree);
    assert!(fixture.has("target/app") && fixture.has("data.db"));
    assert!(!fixture.has("planted.rs"));
}

#[test]
fn what_was_ignored_then_stays_even_when_the_ignore_file_is_gone_now() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "*.db\n");
    fixture.write("data.db", vec![0; 2 * 1024 * 1024]);
    let tree = fixture.snapshot().tree;
    fs::remove_file(fixture.path(".gitignore")).unwrap();
    fixture.restore(&tree);
    assert!(fixture.has("data.db"), "it was there all the time");
}

#[test]
fn what_hides_behind_a_new_ignore_rule_is_kept_back_and_removed() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("code", "1");
    let tree = fixture.snapshot().tree;
    fixture.write(".gitignore", "node_modules/\nplanted.bin\n");
    let bytes = vec![7; 2 * 1024 * 1024];
    fixture.write("planted.bin", &bytes);
    fixture.write("node_modules/planted/index.js", "evil()");
    assert_eq!(fixture.snapshot().excluded.total, 2);
    let restored = fixture.restore(&tree);
    assert!(!fixture.has("planted.bin") && !fixture.has("node_modules"));
    assert_eq!(fixture.snapshot().tree, tree);
    fixture.restore(&restored.backup_tree);
    assert!(fixture.read("planted.bin") == bytes);
    assert_eq!(fixture.read("node_modules/planted/index.js"), b"evil()");
}

#[test]
fn a_file_is_kept_back_before_it_is_overwritten_even_if_it_has_outgrown_the_limits() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "notes.log\n");
    fixture.write("notes.log", "short");
    let limits = SnapshotLimits {
        file: 1000,
        ignored_file: 100,
        ..SnapshotLimits::default()
    };
    let workspace = fixture.workspace().with_limits(limits);
    let tree = workspace.snapshot("").unwrap().tree;
    fixture.write("notes.log", [b'n'; 2000]);
    let restored = workspace.restore(&tree).unwrap();
    assert_eq!(fixture.read("notes.log"), b"short");
    workspace.restore(&restored.backup_tree).unwrap();
    assert_eq!(fixture.read("notes.log"), [b'n'; 2000]);
}

#[test]
fn a_link_in_place_of_a_folder_is_removed_and_never_followed() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("conf/a", "inside");
    let tree = fixture.snapshot().tree;
    let outside = fixture.outside("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("a"), "outside").unwrap();
    fs::write(outside.join("b"), "outside").unwrap();
    fs::remove_dir_all(fixture.path("conf")).unwrap();
    fixture.link("conf", &outside);
    fixture.restore(&tree);
    assert_eq!(fixture.read("conf/a"), b"inside");
    assert_eq!(fs::read(outside.join("a")).unwrap(), b"outside");
    assert_eq!(fs::read(outside.join("b")).unwrap(), b"outside");
}

#[test]
fn another_name_of_a_file_keeps_its_bytes() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("a", "1");
    let tree = fixture.snapshot().tree;
    fixture.write("a", "2");
    let outside = fixture.outside("same-file");
    fs::hard_link(fixture.path("a"), &outside).unwrap();
    fixture.restore(&tree);
    assert_eq!(fixture.read("a"), b"1");
    assert_eq!(fs::read(outside).unwrap(), b"2");
}

#[test]
fn read_only_folders_are_no_hindrance_and_stay_read_only() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("vendor/lib", "1");
    fixture.chmod("vendor", 0o555);
    let tree = fixture.snapshot().tree;
    fixture.chmod("vendor", 0o755);
    fixture.write("vendor/lib", "2");
    fixture.write("vendor/more", "");
    fixture.chmod("vendor", 0o555);
    fixture.restore(&tree);
    assert_eq!(fixture.read("vendor/lib"), b"1");
    assert!(!fixture.has("vendor/more"));
    assert_eq!(fixture.mode("vendor"), 0o555);
    fixture.chmod("vendor", 0o755);
}

#[test]
fn nothing_is_changed_when_something_uncovered_is_in_the_way() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "target/\n");
    fixture.write("code", "1");
    fixture.write("tool", "a file");
    let tree = fixture.snapshot().tree;
    fixture.write("code", "2");
    fs::remove_file(fixture.path("tool")).unwrap();
    fixture.write("tool/target/app", "elf");
    let before = fixture.listing();
    let refused = fixture.workspace().restore(&tree).unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::UncoveredObstacle { .. }),
        "{refused}"
    );
    assert!(refused.to_string().contains("tool/target"), "{refused}");
    assert_eq!(fixture.listing(), before);
}

/// A cache that contains only folders is walked; one that contains a file is not.
#[test]
fn a_file_in_a_cache_where_a_folder_is_to_come_refuses_the_restore() {
    let fixture = WorkspaceFixture::folder();
    let workspace = fixture.workspace();
    fs::create_dir_all(fixture.path("node_modules/a")).unwrap();
    fixture.write("code.txt", "1\n");
    let snapshot = workspace.snapshot("").unwrap();
    fs::remove_dir(fixture.path("node_modules/a")).unwrap();
    fixture.write("node_modules/a", "uncovered");
    fixture.write("code.txt", "2\n");
    let before = fixture.listing();
    let refused = workspace.restore(&snapshot.tree).unwrap_err();
    assert!(
        matches!(refused, WorkspaceError::UncoveredObstacle { .. }),
        "{refused}"
    );
    assert_eq!(fixture.listing(), before);
}

#[test]
fn an_unchanged_file_is_not_written_again() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("same", "1");
    fixture.write("other", "1");
    let tree = fixture.snapshot().tree;
    let inode = fs::metadata(fixture.path("same")).unwrap().ino();
    fixture.write("other", "2");
    let restored = fixture.restore(&tree);
    assert_eq!(restored.changed, [std::path::Path::new("other")]);
    assert_eq!(fs::metadata(fixture.path("same")).unwrap().ino(), inode);
}

#[test]
fn names_that_could_leave_their_place_are_refused() {
    let fixture = WorkspaceFixture::folder();
    let workspace = fixture.workspace();
    for name in [
        "",
        "/",
        "a//b",
        "../heads/main",
        "a/..",
        "-d",
        ".hidden",
        "a.lock",
        "a b",
        "a\n",
        "a/",
    ] {
        let refused = workspace.snapshot_kept(name);
        assert!(
            matches!(refused, Err(WorkspaceError::InvalidName { .. })),
            "{name:?}: {refused:?}"
        );
    }
}

#[test]
fn nested_repositories_come_back_as_files_and_keep_their_own_records() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("code", "1");
    fixture.make_dir("nested");
    fixture.git_in("nested", &["init", "-q"]);
    fixture.write("nested/.gitignore", "big\n");
    fixture.write("nested/code", "1");
    fixture.write("nested/big", vec![0; 2 * 1024 * 1024]);
    fixture.git_in("nested", &["add", "code"]);
    fixture.git_in("nested", &["commit", "-q", "-m", "nested"]);
    let before = fixture.listing();
    let snapshot = fixture.snapshot();
    assert_eq!(
        reasons(&snapshot.excluded),
        [
            ("nested/.git", ExclusionReason::RepositoryRecords),
            ("nested/big", ExclusionReason::IgnoredTooLarge)
        ]
    );
    fixture.write("nested/code", "2");
    fs::remove_file(fixture.path("nested/.gitignore")).unwrap();
    fixture.restore(&snapshot.tree);
    assert_eq!(fixture.listing(), before);
    fixture.git_in("nested", &["log", "-1"]);
}

#[test]
fn records_of_a_repository_made_since_are_never_removed() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("code", "1");
    let tree = fixture.snapshot().tree;
    fixture.make_dir("cloned");
    fixture.git_in("cloned", &["init", "-q"]);
    fixture.write("cloned/code", "2");
    fixture.restore(&tree);
    assert!(!fixture.has("cloned/code"));
    assert!(fixture.has("cloned/.git/HEAD"));
}
