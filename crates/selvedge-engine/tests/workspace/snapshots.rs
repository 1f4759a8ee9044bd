//! Tests of what a snapshot covers, what it lists as excluded, and when two snapshots are equal.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;

use selvedge_engine::workspace::{
    ExcludedPaths, ExclusionReason, SnapshotLimits, Workspace, WorkspaceError,
};

use super::fixture::{WorkspaceFixture, make_pipe, reasons};

#[test]
fn equal_content_makes_equal_snapshots_and_any_change_an_unequal_one() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("src/main.rs", "fn main() {}");
    fixture.write("run.sh", "true");
    fixture.link("latest", "src/main.rs");
    let first = fixture.snapshot();
    assert_eq!(first.files, 3);
    assert_eq!(fixture.snapshot().tree, first.tree);

    let mut seen = vec![first.tree];
    let mut differs = |what: &str| {
        let tree = fixture.snapshot().tree;
        assert!(!seen.contains(&tree), "{what} was not noticed");
        seen.push(tree);
    };
    fixture.write("src/main.rs", "fn main() { }");
    differs("a change of bytes");
    fixture.chmod("run.sh", 0o755);
    differs("the executable bit");
    fixture.chmod("run.sh", 0o700);
    differs("another permission bit");
    fs::remove_file(fixture.path("latest")).unwrap();
    fixture.link("latest", "run.sh");
    differs("another target of a link");
    fixture.make_dir("empty");
    differs("an empty folder");
    fs::rename(fixture.path("run.sh"), fixture.path("run")).unwrap();
    differs("a renamed file");
    fs::remove_file(fixture.path("run")).unwrap();
    differs("a removed file");
}

#[test]
fn a_change_that_keeps_size_and_time_of_modification_is_noticed() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("answer", "41");
    let old = FileTimes::new().set_modified(std::time::UNIX_EPOCH);
    let set_old = || {
        File::options()
            .write(true)
            .open(fixture.path("answer"))
            .unwrap()
            .set_times(old)
    };
    set_old().unwrap();
    let before = fixture.snapshot().tree;
    fs::write(fixture.path("answer"), "42").unwrap();
    set_old().unwrap();
    assert_eq!(fs::metadata(fixture.path("answer")).unwrap().mtime(), 0);
    assert_ne!(fixture.snapshot().tree, before);
}

#[test]
fn ignored_files_are_covered_while_they_are_small_and_no_cache() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "*.log\n.env\ntarget/\nnode_modules/\ndata/\n");
    fixture.write("src/lib.rs", "");
    fixture.write(".env", "KEY=1");
    fixture.write("big.log", vec![b'x'; 1024 * 1024 + 1]);
    fixture.write("target/debug/app", "elf");
    fixture.write("web/node_modules/left-pad/index.js", "");
    fixture.write(
        "data/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55",
    );
    fixture.write("data/blob", "");
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.files, 3, ".gitignore, .env and src/lib.rs");
    assert_eq!(
        reasons(&snapshot.excluded),
        [
            ("big.log", ExclusionReason::IgnoredTooLarge),
            ("data", ExclusionReason::Cache),
            ("target", ExclusionReason::Cache),
            ("web/node_modules", ExclusionReason::Cache),
        ]
    );
    assert_eq!(snapshot.excluded.bytes, 1024 * 1024 + 1);
}

#[test]
fn tracked_files_are_covered_even_when_ignored_large_or_in_a_cache() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("node_modules/kept/index.js", "1");
    fixture.write("big.log", vec![b'x'; 1024 * 1024 + 1]);
    fixture.commit_all();
    fixture.write(".gitignore", "node_modules/\n*.log\n");
    fixture.write("node_modules/fetched/index.js", "2");
    let snapshot = fixture.snapshot();
    // An ignored file next to a tracked one is treated like any other: it is small, so it is covered.
    assert_eq!(snapshot.files, 4);
    assert_eq!(reasons(&snapshot.excluded), []);
}

#[test]
fn tracked_files_are_known_from_a_sha256_repository_and_a_sparse_index_too() {
    let sha256 = WorkspaceFixture::folder();
    sha256.git(&["init", "-q", "--object-format=sha256"]);
    let sparse = WorkspaceFixture::repository();
    for fixture in [&sha256, &sparse] {
        fixture.write("node_modules/kept/index.js", "1");
        fixture.write("elsewhere/a/b.txt", "b");
        fixture.commit_all();
    }
    sparse.git(&[
        "sparse-checkout",
        "set",
        "--cone",
        "--sparse-index",
        "node_modules",
    ]);
    for fixture in [&sha256, &sparse] {
        fixture.write(".gitignore", "node_modules/\n");
        let snapshot = fixture.snapshot();
        assert_eq!(reasons(&snapshot.excluded), []);
        assert!(snapshot.files >= 2);
    }
}

#[test]
fn in_a_folder_without_a_repository_caches_are_left_out_and_builds_are_not() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("dist/app.js", "made");
    fixture.write("node_modules/left-pad/index.js", "");
    fixture.write("pkg/__pycache__/a.pyc", "");
    let snapshot = fixture.snapshot();
    assert_eq!(snapshot.files, 1);
    assert_eq!(
        reasons(&snapshot.excluded),
        [
            ("node_modules", ExclusionReason::Cache),
            ("pkg/__pycache__", ExclusionReason::Cache)
        ]
    );
}

#[test]
fn every_limit_is_kept_and_named() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "ignored\n");
    fixture.write("huge", [0; 101]);
    for name in ["a", "b", "c"] {
        fixture.write(format!("ignored/{name}"), [0; 10]);
    }
    make_pipe(&fixture.path("pipe"));
    fixture.link(".gitmodules", "elsewhere");
    let limits = SnapshotLimits {
        file: 100,
        ignored_file: 10,
        ignored_total: 20,
        ignored_count: 9,
    };
    let snapshot = fixture
        .workspace()
        .with_limits(limits)
        .snapshot("")
        .unwrap();
    assert_eq!(
        reasons(&snapshot.excluded),
        [
            ("huge", ExclusionReason::TooLarge),
            ("pipe", ExclusionReason::Special),
            (".gitmodules", ExclusionReason::Unstorable),
            ("ignored/c", ExclusionReason::IgnoredTooMuch),
        ]
    );
    let limits = SnapshotLimits {
        ignored_count: 1,
        ..limits
    };
    let snapshot = fixture
        .workspace()
        .with_limits(limits)
        .snapshot("")
        .unwrap();
    assert_eq!(snapshot.excluded.total, 5, "b and c are one too many");
}

#[test]
fn what_is_left_out_is_counted_in_full_and_listed_in_part() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "*.log\n");
    for n in 0..ExcludedPaths::MAX_LISTED + 5 {
        fixture.write(format!("{n}.log"), "12");
    }
    let limits = SnapshotLimits {
        ignored_file: 1,
        ..SnapshotLimits::default()
    };
    let excluded = fixture
        .workspace()
        .with_limits(limits)
        .snapshot("")
        .unwrap()
        .excluded;
    assert_eq!(excluded.listed.len(), ExcludedPaths::MAX_LISTED);
    assert_eq!(excluded.total, ExcludedPaths::MAX_LISTED as u64 + 5);
    assert_eq!(excluded.bytes, 2 * excluded.total);
}

#[test]
fn names_of_any_bytes_are_stored_as_they_are() {
    let fixture = WorkspaceFixture::folder();
    for name in [
        &b"\xff\xfe"[..],
        b"new\nline",
        b"\"quoted\"",
        b"back\\slash",
        b"-rf",
        b" ",
        b"git~1",
    ] {
        fixture.write(OsStr::from_bytes(name), name);
    }
    let before = fixture.listing();
    let tree = fixture.snapshot().tree;
    for path in before.keys() {
        fs::remove_file(fixture.path(path)).unwrap();
    }
    fixture.restore(&tree);
    assert_eq!(fixture.listing(), before);
}

#[test]
fn large_files_come_back_too() {
    let fixture = WorkspaceFixture::folder();
    let bytes: Vec<u8> = (0..3 * 1024 * 1024_u32)
        .flat_map(u32::to_le_bytes)
        .collect();
    fixture.write("model.bin", &bytes);
    let tree = fixture.snapshot().tree;
    assert_eq!(fixture.snapshot().tree, tree);
    fixture.write("model.bin", "short");
    fixture.restore(&tree);
    assert!(fixture.read("model.bin") == bytes, "12 MiB differ");
}

#[test]
fn one_package_of_a_monorepo_is_covered_alone_under_the_rules_of_the_whole() {
    let fixture = WorkspaceFixture::repository();
    fixture.write(".gitignore", "out.bin\n");
    fixture.write("a/code", "1");
    fixture.write("a/out.bin", vec![0; 2 * 1024 * 1024]);
    fixture.write("b/code", "2");
    let workspace = Workspace::open(&fixture.path("a"), &fixture.shadow()).unwrap();
    assert_eq!(
        workspace.repository_root(),
        Some(fixture.dir().canonicalize().unwrap().as_path())
    );
    let snapshot = workspace.snapshot("").unwrap();
    assert_eq!(snapshot.files, 1);
    assert_eq!(
        reasons(&snapshot.excluded),
        [("out.bin", ExclusionReason::IgnoredTooLarge)]
    );
    fixture.write("a/code", "changed");
    fixture.write("b/code", "changed");
    workspace.restore(&snapshot.tree).unwrap();
    assert_eq!(fixture.read("a/code"), b"1");
    assert_eq!(fixture.read("b/code"), b"changed");
}

#[test]
fn rules_outside_the_work_tree_count_too() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("mine/a", [0; 2]);
    fixture.write("ours/a", [0; 2]);
    fs::write(fixture.path(".git/info/exclude"), "ours\n").unwrap();
    let excludes = fixture.outside("excludes");
    fs::write(&excludes, "mine\n").unwrap();
    let limits = SnapshotLimits {
        ignored_file: 1,
        ..SnapshotLimits::default()
    };
    let workspace = fixture
        .workspace()
        .with_limits(limits)
        .with_excludes(excludes);
    let excluded = workspace.snapshot("").unwrap().excluded;
    assert_eq!(
        reasons(&excluded),
        [
            ("mine/a", ExclusionReason::IgnoredTooLarge),
            ("ours/a", ExclusionReason::IgnoredTooLarge)
        ]
    );
}

#[test]
fn the_shadow_directory_may_not_lie_in_the_workspace_and_is_its_owners_alone() {
    let fixture = WorkspaceFixture::folder();
    let inside = Workspace::open(&fixture.dir(), &fixture.path("state"));
    assert!(
        matches!(inside, Err(WorkspaceError::StateInsideWorkspace { .. })),
        "{inside:?}"
    );
    fixture.workspace();
    assert_eq!(
        fs::metadata(fixture.shadow()).unwrap().mode() & 0o777,
        0o700
    );
}

#[test]
fn a_missing_folder_or_a_shadow_that_cannot_be_made_is_told_where() {
    let fixture = WorkspaceFixture::folder();
    let missing = Workspace::open(&fixture.path("missing"), &fixture.shadow()).unwrap_err();
    assert!(missing.to_string().contains("missing"), "{missing}");
    fixture.write("file", "");
    let file = Workspace::open(&fixture.path("file"), &fixture.shadow()).unwrap_err();
    assert!(matches!(file, WorkspaceError::NotAFolder { .. }), "{file}");
    let below_a_file = Workspace::open(&fixture.dir(), &fixture.path("file/shadow")).unwrap_err();
    assert!(
        below_a_file.to_string().contains("file/shadow"),
        "{below_a_file}"
    );
}

#[test]
fn snapshots_go_on_after_the_shadow_directory_lost_its_objects_or_kept_a_stale_lock() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("a", "1");
    fixture.snapshot();
    fs::remove_dir_all(fixture.shadow().join("objects")).unwrap();
    fs::write(fixture.shadow().join("refs/latest/snapshot.lock"), "").unwrap();
    fixture.write("b", "2");
    let tree = fixture.snapshot().tree;
    fs::remove_file(fixture.path("a")).unwrap();
    fixture.restore(&tree);
    assert_eq!(fixture.read("a"), b"1");
}

/// Each snapshot adds a pack, and each start of git opens all of them.
#[test]
fn packs_of_many_snapshots_are_combined_without_loss() {
    let fixture = WorkspaceFixture::folder();
    let packs = || {
        let entries = fs::read_dir(fixture.shadow().join("objects/pack")).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension() == Some(OsStr::new("pack")))
            .count()
    };
    let trees: Vec<_> = (0..60)
        .map(|number| {
            fixture.write("number", number.to_string());
            fixture.snapshot().tree
        })
        .collect();
    assert!(packs() < 45, "{}", packs());
    // No ref names those before the last one.
    for (number, tree) in trees.iter().enumerate().step_by(7) {
        fixture.restore(tree);
        assert_eq!(fixture.read("number"), number.to_string().as_bytes());
    }
}
