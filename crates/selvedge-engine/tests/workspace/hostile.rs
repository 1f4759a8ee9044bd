//! Tests of hostile repositories: nothing that they configure is run, and the user's files stay the same, byte for
//! byte. A test first shows that each trap is triggered by plain git.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use selvedge_engine::workspace::{DiffOptions, ExclusionReason, Workspace, WorkspaceError};

use super::fixture::{TreeListing, WorkspaceFixture, make_pipe, reasons};

/// A repository in which every setting that can run a program does so.
struct TrappedRepository {
    fixture: WorkspaceFixture,
    sprung: PathBuf,
}

impl TrappedRepository {
    fn set() -> Self {
        let trap = Self {
            sprung: PathBuf::new(),
            fixture: WorkspaceFixture::repository(),
        };
        let sprung = trap.fixture.outside("sprung");
        let trap = Self { sprung, ..trap };
        let fixture = &trap.fixture;
        fixture.write("code.txt", "1\n");
        fixture.write("sub/code.txt", "1\n");
        fixture.commit_all();
        let script = trap.script();
        fixture.write(
            ".gitattributes",
            "* filter=trap diff=trap merge=trap ident\n",
        );
        fixture.write("sub/.gitattributes", "*.txt filter=process\n");
        fs::write(fixture.path(".git/info/attributes"), "*.md filter=trap\n").unwrap();
        for setting in [
            "core.fsmonitor",
            "core.sshCommand",
            "core.pager",
            "core.editor",
            "core.alternateRefsCommand",
            "core.askPass",
            "credential.helper",
            "diff.external",
            "diff.trap.command",
            "diff.trap.textconv",
            "filter.trap.clean",
            "filter.trap.smudge",
            "filter.process.process",
            "merge.trap.driver",
            "uploadpack.packObjectsHook",
        ] {
            fixture.git(&["config", setting, &script]);
        }
        fixture.git(&["config", "filter.trap.required", "true"]);
        for alias in ["status", "ls-files", "add", "rev-parse", "config"] {
            fixture.git(&["config", &format!("alias.{alias}"), &format!("!{script}")]);
        }
        for hook in [
            "post-index-change",
            "pre-commit",
            "post-checkout",
            "reference-transaction",
        ] {
            let path = format!(".git/hooks/{hook}");
            fixture.write(&path, format!("#!/bin/sh\n{script}\n"));
            fixture.chmod(&path, 0o755);
        }
        trap.disarm();
        trap
    }

    /// Writes a program that leaves a trace and passes its input on, and returns its path.
    fn script(&self) -> String {
        let script = self.fixture.outside("trap.sh");
        fs::write(
            &script,
            format!("#!/bin/sh\n: > {}\ncat\n", self.sprung.display()),
        )
        .unwrap();
        fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
        script.to_str().unwrap().to_owned()
    }

    fn disarm(&self) {
        // Missing if the setup triggered nothing.
        let _ = fs::remove_file(&self.sprung);
    }

    fn has_sprung(&self) -> bool {
        self.sprung.exists()
    }
}

/// Calls all operations of a workspace.
fn go_through_everything(fixture: &WorkspaceFixture, workspace: &Workspace) {
    let work = workspace.dir().to_owned();
    let first = workspace.snapshot("first").unwrap().tree;
    fs::write(work.join("code.txt"), "2\n").unwrap();
    fs::write(work.join("new.md"), "3\n").unwrap();
    let second = workspace.snapshot("second").unwrap().tree;
    workspace
        .diff(&first, &second, DiffOptions::default())
        .unwrap();
    workspace.changed_files(&first, &second).unwrap();
    if workspace.is_git() {
        workspace.status().unwrap();
    }
    workspace.restore(&first).unwrap();
    assert!(!fixture.path("new.md").exists() || fixture.dir() != work);
}

#[test]
fn the_traps_spring_under_plain_git() {
    let trap = TrappedRepository::set();
    for args in [
        &["status"][..],
        &["add", "-A"],
        &["diff", "HEAD"],
        &["checkout", "-q", "-b", "other"],
    ] {
        trap.fixture.write("code.txt", format!("{args:?}"));
        trap.fixture.try_git_in("", args);
        assert!(trap.has_sprung(), "git {args:?} sprang nothing");
        trap.disarm();
    }
}

#[test]
fn monitors_hooks_filters_and_aliases_do_not_run() {
    let trap = TrappedRepository::set();
    go_through_everything(&trap.fixture, &trap.fixture.workspace());
    assert!(!trap.has_sprung());
}

#[test]
fn a_trap_in_a_nested_repository_or_above_the_folder_does_not_spring() {
    let trap = TrappedRepository::set();
    let below = Workspace::open(&trap.fixture.path("sub"), &trap.fixture.outside("below")).unwrap();
    go_through_everything(&trap.fixture, &below);

    let outer = WorkspaceFixture::repository();
    outer.write("code.txt", "1\n");
    fs::rename(trap.fixture.dir(), outer.path("nested")).unwrap();
    go_through_everything(&outer, &outer.workspace());
    // As a submodule, which `status` examines.
    outer.git(
        &[
            "-c",
            "core.fsmonitor=false",
            "update-index",
            "--add",
            "--cacheinfo",
        ]
        .iter()
        .copied()
        .chain([submodule_entry(&outer).as_str()])
        .collect::<Vec<_>>(),
    );
    outer.workspace().status().unwrap();
    assert!(!trap.has_sprung());
}

fn submodule_entry(outer: &WorkspaceFixture) -> String {
    let head = fs::read_to_string(outer.path("nested/.git/refs/heads/main")).unwrap();
    format!("160000,{},nested", head.trim())
}

#[test]
fn a_git_file_that_points_elsewhere_springs_nothing_there() {
    let trap = TrappedRepository::set();
    let fixture = WorkspaceFixture::folder();
    fixture.write("code.txt", "1\n");
    fixture.write(
        ".git",
        format!("gitdir: {}\n", trap.fixture.path(".git").display()),
    );
    let before = trap.fixture.git_dir_listing();
    go_through_everything(&fixture, &fixture.workspace());
    assert!(!trap.has_sprung());
    assert_eq!(trap.fixture.git_dir_listing(), before);

    for nonsense in [
        "gitdir: /dev\n",
        "gitdir: \n",
        "gitdir: ../../../..\n",
        "",
        "\0",
    ] {
        fixture.write(".git", nonsense);
        go_through_everything(&fixture, &fixture.workspace());
    }
}

#[test]
fn a_bare_repository_inside_is_a_folder_like_any_other() {
    let trap = TrappedRepository::set();
    let fixture = WorkspaceFixture::repository();
    fixture.write("code.txt", "1\n");
    fs::rename(trap.fixture.path(".git"), fixture.path("bare.git")).unwrap();
    let before = fixture.listing();
    go_through_everything(&fixture, &fixture.workspace());
    assert_eq!(fixture.listing(), before);
    let within = Workspace::open(&fixture.path("bare.git"), &fixture.outside("within")).unwrap();
    go_through_everything(&fixture, &within);
    assert!(!trap.has_sprung());
}

#[test]
fn a_remote_that_is_a_program_is_not_asked_for_missing_objects() {
    let trap = TrappedRepository::set();
    let fixture = &trap.fixture;
    for (setting, value) in [
        ("protocol.ext.allow", "always"),
        ("remote.origin.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("core.repositoryFormatVersion", "1"),
    ] {
        fixture.git(&["config", setting, value]);
    }
    let remote = fixture.outside("remote.sh");
    fs::write(
        &remote,
        format!("#!/bin/sh\n: > {}\nexit 1\n", trap.sprung.display()),
    )
    .unwrap();
    fs::set_permissions(&remote, Permissions::from_mode(0o755)).unwrap();
    fixture.git(&[
        "config",
        "remote.origin.url",
        &format!("ext::{}", remote.display()),
    ]);
    fs::remove_dir_all(fixture.path(".git/objects")).unwrap();
    fs::create_dir(fixture.path(".git/objects")).unwrap();
    fixture.try_git_in("", &["log", "-1"]);
    assert!(trap.has_sprung(), "plain git did not ask the remote");
    trap.disarm();
    let workspace = fixture.workspace();
    workspace.snapshot("").unwrap();
    workspace.status().unwrap_err();
    assert!(!trap.has_sprung());
}

#[test]
fn the_persons_repository_is_the_same_afterwards() {
    let fixture = WorkspaceFixture::repository();
    fixture.write("code.txt", "1\n");
    fixture.write("other.txt", "1\n");
    fixture.commit_all();
    fixture.write("other.txt", "stashed\n");
    fixture.git(&["stash"]);
    fixture.write("staged.txt", "staged\n");
    fixture.git(&["add", "staged.txt"]);
    fixture.git(&["branch", "other"]);
    let before = fixture.git_dir_listing();
    go_through_everything(&fixture, &fixture.workspace());
    let after = fixture.git_dir_listing();
    assert_eq!(differing(&before, &after), Vec::<PathBuf>::new());
}

fn differing(before: &TreeListing, after: &TreeListing) -> Vec<PathBuf> {
    let paths = before.keys().chain(after.keys());
    paths
        .filter(|path| before.get(*path) != after.get(*path))
        .cloned()
        .collect()
}

#[test]
fn pipe_that_git_would_open_is_named() {
    let fixture = WorkspaceFixture::repository();
    fs::create_dir(fixture.path("sub")).unwrap();
    let pipe = fixture.path("sub/.gitignore");
    make_pipe(&pipe);
    let error = fixture.workspace().snapshot("").unwrap_err();
    let WorkspaceError::WaitsForPipe { path, .. } = &error else {
        panic!("{error}");
    };
    assert_eq!(path, &pipe);
}

#[test]
fn folders_beyond_the_maximum_depth_are_left_out() {
    let fixture = WorkspaceFixture::folder();
    fixture.write("file", "1\n");
    let mut deep = PathBuf::from("deep");
    for _ in 0..400 {
        deep.push("d");
    }
    fs::create_dir_all(fixture.path(deep.to_str().unwrap())).unwrap();
    let workspace = fixture.workspace();
    let snapshot = workspace.snapshot("").unwrap();
    assert_eq!(snapshot.files, 1);
    let reasons = reasons(&snapshot.excluded);
    assert!(
        matches!(reasons[..], [(path, ExclusionReason::TooDeep)] if path.starts_with("deep/d/d/")),
        "{reasons:?}"
    );
    workspace.restore(&snapshot.tree).unwrap();
}
