//! Changes of an agent to the `.git` folder are not executed by the user's git.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::fixture::SandboxFixture;
use super::on_all_profiles;
use crate::fixtures::make_executable;

fn git_hook_of_agent_is_removed(fixture: &SandboxFixture) {
    let result = fixture.run_agent("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo y > done.txt", &[]);
    fixture.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!fixture.env.root().join("evil").exists());
    assert_eq!(fixture.env.read("done.txt"), "y\n");
    assert_eq!(result["outcome"], "verified");
    let story = fixture
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let put_back = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    assert_eq!(put_back[0], ".git/hooks/post-checkout", "{story}");
}

fn git_config_of_agent_is_restored(fixture: &SandboxFixture) {
    let evil = fixture.env.root().join("evil");
    let hook = fixture.env.root().join("monitor.sh");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", evil.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    fixture.run_agent(&format!("git config core.fsmonitor {0}; git config core.hooksPath hooks; git config alias.st '!{0}'; git config user.name Agent", hook.display()), &[]);
    fixture.env.git(["status"]);
    assert!(!evil.exists());
}

fn git_hook_of_check_is_removed(fixture: &SandboxFixture) {
    fixture.check_output("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout");
    fixture.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!fixture.env.root().join("evil").exists());
}

/// Replaces the repository's hooks and configuration by links to these paths, which are relative to `.git` or
/// absolute.
fn linked(fixture: &SandboxFixture, hooks: &Path, config: &Path) {
    let git = fixture.env.work_dir().join(".git");
    let at = |link: &Path| git.join(link);
    fs::remove_dir_all(git.join("hooks")).unwrap();
    fs::create_dir_all(at(hooks)).unwrap();
    fs::write(at(hooks).join("pre-commit"), "#!/bin/sh\nexit 0\n").unwrap();
    make_executable(&at(hooks).join("pre-commit"));
    fs::rename(git.join("config"), at(config)).unwrap();
    fs::set_permissions(at(config), fs::Permissions::from_mode(0o600)).unwrap();
    symlink(hooks, git.join("hooks")).unwrap();
    symlink(config, git.join("config")).unwrap();
    fixture.env.commit("Linked");
}

/// Returns the links, files and folders below a path with their modes and contents; links are not followed.
fn read_tree(path: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let Ok(metadata) = path.symlink_metadata() else {
        return Vec::new();
    };
    let mode = metadata.permissions().mode();
    let content = if metadata.is_symlink() {
        fs::read_link(path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else if metadata.is_file() {
        fs::read(path).unwrap()
    } else {
        Vec::new()
    };
    let mut all = vec![(path.to_owned(), mode, content)];
    if metadata.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all.extend(read_tree(&entry.unwrap().path()));
        }
    }
    all.sort();
    all
}

const HARMLESS: &str = "git status > /dev/null; echo y > done.txt";

const REPLACES: &str = "rm -rf .git/hooks .git/config; mkdir .git/hooks
printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit
printf '[core]\\n\\tfsmonitor = touch ../evil\\n' > .git/config";

const ALTERS: &str = "printf 'touch ../evil\\n' >> .git/hooks/pre-commit; cp .git/hooks/pre-commit .git/hooks/post-commit
chmod 777 .git/hooks/pre-commit .git/config; git config core.fsmonitor 'touch ../evil'";

fn git_links_into_the_workspace_are_restored(fixture: &SandboxFixture) {
    linked(
        fixture,
        Path::new("../githooks"),
        Path::new("../shared-config"),
    );
    assert_git_is_restored(fixture, &[HARMLESS, REPLACES, ALTERS]);
}

/// The sandbox denies writes outside of the workspace.
fn git_links_out_of_the_workspace_stay_unchanged(fixture: &SandboxFixture) {
    let outside = fixture.env.home().join("kept");
    fs::create_dir(&outside).unwrap();
    linked(fixture, &outside.join("hooks"), &outside.join("config"));
    assert_git_is_restored(fixture, &[HARMLESS, REPLACES, ALTERS]);
    let before = read_tree(&outside);
    fixture.run_agent(ALTERS, &[]);
    assert_eq!(read_tree(&outside), before);
}

fn git_dangling_link_is_restored(fixture: &SandboxFixture) {
    let git = fixture.env.work_dir().join(".git");
    fs::remove_dir_all(git.join("hooks")).unwrap();
    symlink("../later", git.join("hooks")).unwrap();
    assert_git_is_restored(
        fixture,
        &[
            HARMLESS,
            "mkdir later; echo evil > later/pre-commit; chmod +x later/pre-commit",
        ],
    );
    assert!(!fixture.env.work_dir().join("later/pre-commit").exists());
}

fn git_hard_links_and_permissions_are_kept(fixture: &SandboxFixture) {
    let work = fixture.env.work_dir();
    let git = work.join(".git");
    fs::hard_link(git.join("config"), fixture.env.root().join("other-name")).unwrap();
    fs::create_dir(git.join("hooks/parts")).unwrap();
    fs::write(git.join("hooks/parts/lint"), "exit 0\n").unwrap();
    for (path, mode) in [
        ("config", 0o640),
        ("hooks/parts/lint", 0o4711),
        ("hooks/parts", 0o555),
    ] {
        fs::set_permissions(git.join(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let alters = "chmod 777 .git/hooks/parts; echo evil > .git/hooks/parts/lint; echo evil > .git/hooks/parts/more";
    assert_git_is_restored(
        fixture,
        &[HARMLESS, REPLACES, alters, "git config core.fsmonitor evil"],
    );
    let other = fs::metadata(fixture.env.root().join("other-name")).unwrap();
    assert_eq!(fs::metadata(git.join("config")).unwrap().ino(), other.ino());
}

/// Asserts that everything in `.git` that git executes or obeys is unchanged after each session.
#[track_caller]
fn assert_git_is_restored(fixture: &SandboxFixture, sessions: &[&str]) {
    let work = fixture.env.work_dir();
    let all = || {
        let paths = [".git/config", ".git/hooks", "githooks", "shared-config"];
        paths.map(|path| read_tree(&work.join(path))).concat()
    };
    let inode = |path: &str| work.join(path).symlink_metadata().unwrap().ino();
    let before = all();
    for session in sessions {
        let inodes = [".git/config", ".git/hooks"].map(inode);
        fixture.run_agent(session, &[]);
        assert_eq!(all(), before, "{session}");
        if *session == HARMLESS {
            assert_eq!([".git/config", ".git/hooks"].map(inode), inodes);
        }
    }
    fixture.env.commit("Afterwards");
    assert!(!fixture.env.root().join("evil").exists());
}

/// Without a sandbox, an agent can write to a link's target outside of the workspace, which Selvedge does not
/// restore but reports.
#[test]
fn git_changes_outside_the_workspace_are_reported() {
    let fixture = SandboxFixture::create("none");
    let outside = fixture.env.home().join("kept");
    fs::create_dir(&outside).unwrap();
    linked(&fixture, &outside.join("hooks"), &outside.join("config"));
    fixture.run_agent("echo '# more' >> .git/hooks/pre-commit", &[]);
    let hook = fs::read_to_string(outside.join("hooks/pre-commit")).unwrap();
    assert!(hook.ends_with("# more\n"));
    let story = fixture
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let put_back = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    let hooks = outside.join("hooks");
    let notice = format!(
        "{} (not restored: it is outside the workspace)",
        hooks.display()
    );
    assert_eq!(put_back[0], notice, "{story}");
}

on_all_profiles!(
    git_hook_of_agent_is_removed,
    git_config_of_agent_is_restored,
    git_hook_of_check_is_removed,
    git_links_into_the_workspace_are_restored,
    git_links_out_of_the_workspace_stay_unchanged,
    git_dangling_link_is_restored,
    git_hard_links_and_permissions_are_kept,
);
