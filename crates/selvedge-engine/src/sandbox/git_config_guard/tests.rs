//! How sessions can change what git obeys; tests on files alone.

use std::os::unix::fs::symlink;

use super::*;

#[test]
fn git_config_guard_reverts_only_commands() {
    let workspace = tempfile::tempdir().unwrap();
    let git = workspace.path().join(".git");
    fs::create_dir_all(git.join("hooks")).unwrap();
    fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
    fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nmake lint\n").unwrap();
    let before = GitConfigSnapshot::capture(workspace.path());
    assert_eq!(before.restore(), [] as [String; 0]);

    // A tracking branch is allowed.
    let followed = "[core]\n\tbare = false\n[branch \"x\"]\n\tremote = origin\n";
    fs::write(git.join("config"), followed).unwrap();
    assert_eq!(before.restore(), [] as [String; 0]);
    assert_eq!(fs::read_to_string(git.join("config")).unwrap(), followed);

    fs::write(git.join("config"), "[core] fsmonitor = ./evil\n").unwrap();
    fs::write(git.join("hooks/pre-commit"), "#!/bin/sh\nevil\n").unwrap();
    fs::write(git.join("hooks/post-checkout"), "#!/bin/sh\nevil\n").unwrap();
    let restored = before.restore();
    assert_eq!(
        restored,
        [
            ".git/hooks/post-checkout",
            ".git/hooks/pre-commit",
            ".git/config"
        ]
    );
    assert!(!git.join("hooks/post-checkout").exists());
    assert!(
        fs::read_to_string(git.join("hooks/pre-commit"))
            .unwrap()
            .contains("make lint")
    );
    assert!(
        fs::read_to_string(git.join("config"))
            .unwrap()
            .contains("bare")
    );
}

#[test]
fn git_config_guard_follows_no_link() {
    let workspace = tempfile::tempdir().unwrap();
    let (git, other) = (
        workspace.path().join(".git"),
        workspace.path().join("other"),
    );
    fs::create_dir_all(&git).unwrap();
    fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
    fs::write(&other, "[alias]\n\tx = !evil\n").unwrap();
    let before = GitConfigSnapshot::capture(workspace.path());
    fs::remove_file(git.join("config")).unwrap();
    symlink(&other, git.join("config")).unwrap();
    assert_eq!(before.restore(), [".git/config"]);
    assert!(fs::read_to_string(&other).unwrap().contains("evil"));
    assert!(git.join("config").symlink_metadata().unwrap().is_file());
}
/// Ways to make git read another configuration than the inspected one, or to read it differently.
#[test]
fn git_config_guard_reverts_redirections() {
    type Way = fn(&Path);
    let ways: [(&str, Way); 7] = [
        (".git/commondir", |git| {
            fs::write(git.join("commondir"), "../fake\n").unwrap();
        }),
        (".git/config.worktree", |git| {
            fs::write(git.join("config.worktree"), "[core]\nfsmonitor = ./evil\n").unwrap();
        }),
        (".git/config", |git| {
            fs::write(git.join("config"), "[a] [core] fsmonitor = ./evil\n").unwrap();
        }),
        (".git/config", |git| {
            fs::write(git.join("config"), "[a \"]\"] [core] fsmonitor = ./evil\n").unwrap();
        }),
        (".git/config", |git| {
            fs::write(git.join("config"), "[submodule \"x\"]\nupdate = !evil\n").unwrap();
        }),
        (".git/modules/a/b/config", |git| {
            let folder = git.join("modules/a/b");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("HEAD"), "ref: refs/heads/main\n").unwrap();
            fs::write(folder.join("config"), "[core]\nfsmonitor = ./evil\n").unwrap();
        }),
        (".git", |git| {
            fs::rename(git, git.with_file_name("was")).unwrap();
            fs::write(git, "gitdir: was\n").unwrap();
        }),
    ];
    for (named, way) in ways {
        let workspace = tempfile::tempdir().unwrap();
        let git = workspace.path().join(".git");
        fs::create_dir_all(&git).unwrap();
        fs::write(git.join("config"), "[core]\n\tbare = false\n").unwrap();
        let before = GitConfigSnapshot::capture(workspace.path());
        way(&git);
        assert_eq!(before.restore(), [named]);
        assert_eq!(before.restore(), [] as [String; 0], "{named}");
        let left = fs::read_to_string(git.join(named.trim_start_matches(".git/")));
        assert!(!left.unwrap_or_default().contains("evil"), "{named}");
    }
}

#[test]
fn git_config_guard_keeps_existing_link() {
    let workspace = tempfile::tempdir().unwrap();
    let (git, real) = (workspace.path().join(".git"), workspace.path().join("real"));
    fs::create_dir(&real).unwrap();
    symlink("real", &git).unwrap();
    let before = GitConfigSnapshot::capture(workspace.path());
    assert_eq!(before.restore(), [] as [String; 0]);
    fs::remove_file(&git).unwrap();
    symlink("other", &git).unwrap();
    assert_eq!(before.restore(), [".git"]);
    assert_eq!(fs::read_link(&git).unwrap(), Path::new("real"));
}

/// Ways to make git run or obey something through links and the folders that they lead to.
#[test]
fn git_config_guard_reverts_other_ways() {
    type Way = fn(&Path);
    fn evil(path: &Path) {
        fs::write(path, "[core]\nfsmonitor = ./evil\n").unwrap();
    }
    let ways: [(&str, Way); 8] = [
        ("a link on the way to the configuration", |root| {
            fs::remove_file(root.join("w/first")).unwrap();
            evil(&root.join("w/first"));
        }),
        ("a folder on the way to the hooks", |root| {
            fs::rename(root.join("w/a"), root.join("w/moved")).unwrap();
            fs::create_dir_all(root.join("w/other/hooks")).unwrap();
            fs::write(root.join("w/other/hooks/pre-commit"), "evil").unwrap();
            symlink("other", root.join("w/a")).unwrap();
        }),
        ("a program that a hook is a link to", |root| {
            fs::write(root.join("w/lint"), "evil").unwrap();
        }),
        ("a submodule's folder", |root| {
            let module = root.join("w/.git/modules/sub");
            fs::rename(&module, root.join("w/moved")).unwrap();
            fs::create_dir_all(root.join("w/other")).unwrap();
            evil(&root.join("w/other/config"));
            symlink("../../other", &module).unwrap();
        }),
        ("another worktree", |root| {
            let worktree = root.join("w/.git/worktrees/tree");
            fs::write(worktree.join("commondir"), "../../../evil").unwrap();
        }),
        ("a hook larger than any text", |root| {
            let hook = fs::File::create(root.join("w/a/hooks/pre-push")).unwrap();
            hook.set_len(100 << 20).unwrap();
        }),
        ("a hook that is no file", |root| {
            fs::remove_file(root.join("w/a/hooks/pre-commit")).unwrap();
            fs::create_dir(root.join("w/a/hooks/pre-commit")).unwrap();
        }),
        ("no hooks at all", |root| {
            fs::remove_dir_all(root.join("w/a")).unwrap();
        }),
    ];
    for (name, way) in ways {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        for folder in ["w/.git/modules/sub", "w/.git/worktrees/tree", "w/a/hooks"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (file, text) in [
            ("w/second", "[core]\n\tbare = false\n"),
            ("w/lint", "make lint"),
            ("w/.git/modules/sub/HEAD", "ref: refs/heads/main"),
            ("w/.git/worktrees/tree/commondir", "../.."),
        ] {
            fs::write(root.join(file), text).unwrap();
        }
        symlink("second", root.join("w/first")).unwrap();
        symlink("../first", root.join("w/.git/config")).unwrap();
        symlink(root.join("w/a/hooks"), root.join("w/.git/hooks")).unwrap();
        symlink("../../lint", root.join("w/a/hooks/pre-commit")).unwrap();
        let obeyed = || {
            let links = [
                "w/.git/config",
                "w/.git/hooks",
                "w/first",
                "w/a/hooks/pre-commit",
            ];
            let links = links.map(|link| fs::read_link(root.join(link)).unwrap());
            let files = [
                "w/.git/config",
                "w/.git/hooks/pre-commit",
                "w/.git/worktrees/tree/commondir",
            ];
            let files = files.map(|file| fs::read_to_string(root.join(file)).unwrap());
            let hooks = fs::read_dir(root.join("w/.git/hooks")).unwrap().count();
            (links, files, hooks)
        };
        let was = obeyed();
        let before = GitConfigSnapshot::capture(&root.join("w"));
        assert_eq!(before.restore(), [] as [String; 0], "{name}");
        way(root);
        let restored = before.restore();
        assert!(!restored.is_empty(), "{name}");
        assert!(
            restored.iter().all(|it| !it.contains("not restored")),
            "{name}: {restored:?}"
        );
        assert_eq!(obeyed(), was, "{name}");
        assert!(!root.join("w/.git/modules/sub").is_symlink(), "{name}");
        assert_eq!(before.restore(), [] as [String; 0], "{name}");
    }
}

/// A `.git` that is a link leads to a repository like any other.
#[test]
fn git_config_guard_restores_linked_repository() {
    let root = tempfile::tempdir().unwrap();
    let workspace = root.path();
    fs::create_dir_all(workspace.join("real/hooks")).unwrap();
    fs::write(workspace.join("real/config"), "[core]\n\tbare = false\n").unwrap();
    symlink("real", workspace.join(".git")).unwrap();
    let before = GitConfigSnapshot::capture(workspace);
    fs::write(
        workspace.join("real/config"),
        "[core]\nfsmonitor = ./evil\n",
    )
    .unwrap();
    fs::write(workspace.join("real/hooks/pre-commit"), "evil").unwrap();
    assert_eq!(before.restore(), [".git/hooks/pre-commit", ".git/config"]);
    let config = fs::read_to_string(workspace.join(".git/config")).unwrap();
    assert_eq!(config, "[core]\n\tbare = false\n");
}
