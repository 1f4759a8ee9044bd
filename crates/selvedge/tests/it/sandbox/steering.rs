//! What an agent leaves in the repository's own folder is not carried out by the person's git.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::fixture::SandboxFixture;
use super::on_all;
use crate::fixtures::make_executable;

fn a_hook(scene: &SandboxFixture) {
    let result = scene.run_agent("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout; echo y > done.txt", &[]);
    scene.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!scene.env.root().join("evil").exists());
    assert_eq!(scene.env.read("done.txt"), "y\n");
    assert_eq!(result["outcome"], "verified");
    let story = scene
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let put_back = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    assert_eq!(put_back[0], ".git/hooks/post-checkout", "{story}");
}

fn a_key_of_the_configuration(scene: &SandboxFixture) {
    let evil = scene.env.root().join("evil");
    let hook = scene.env.root().join("monitor.sh");
    fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", evil.display())).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    scene.run_agent(&format!("git config core.fsmonitor {0}; git config core.hooksPath hooks; git config alias.st '!{0}'; git config user.name Agent", hook.display()), &[]);
    scene.env.git(["status"]);
    assert!(!evil.exists());
}

fn by_a_check(scene: &SandboxFixture) {
    scene.check_output("printf '#!/bin/sh\\ntouch ../evil\\n' > .git/hooks/post-checkout; chmod +x .git/hooks/post-checkout");
    scene.env.git(["checkout", "-q", "-b", "later"]);
    assert!(!scene.env.root().join("evil").exists());
}

/// A repository whose hooks and configuration are links, as `place` has them; what is there is given
/// back as it is seen from outside.
fn linked(scene: &SandboxFixture, hooks: &Path, config: &Path) {
    let git = scene.env.work_dir().join(".git");
    let at = |link: &Path| git.join(link);
    fs::remove_dir_all(git.join("hooks")).unwrap();
    fs::create_dir_all(at(hooks)).unwrap();
    fs::write(at(hooks).join("pre-commit"), "#!/bin/sh\nexit 0\n").unwrap();
    make_executable(&at(hooks).join("pre-commit"));
    fs::rename(git.join("config"), at(config)).unwrap();
    fs::set_permissions(at(config), fs::Permissions::from_mode(0o600)).unwrap();
    symlink(hooks, git.join("hooks")).unwrap();
    symlink(config, git.join("config")).unwrap();
    scene.env.commit("Linked");
}

/// Links, files and folders below a path, with nothing followed.
fn seen(path: &Path) -> Vec<(PathBuf, u32, Vec<u8>)> {
    let Ok(found) = path.symlink_metadata() else {
        return Vec::new();
    };
    let mode = found.permissions().mode();
    let content = if found.is_symlink() {
        fs::read_link(path)
            .unwrap()
            .into_os_string()
            .into_encoded_bytes()
    } else if found.is_file() {
        fs::read(path).unwrap()
    } else {
        Vec::new()
    };
    let mut all = vec![(path.to_owned(), mode, content)];
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            all.extend(seen(&entry.unwrap().path()));
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

fn links_into_the_workspace(scene: &SandboxFixture) {
    linked(
        scene,
        Path::new("../githooks"),
        Path::new("../shared-config"),
    );
    leaves_alone(scene, &[HARMLESS, REPLACES, ALTERS]);
}

/// Behind walls nobody can write there.
fn links_out_of_the_workspace(scene: &SandboxFixture) {
    let kept = scene.env.home().join("kept");
    fs::create_dir(&kept).unwrap();
    linked(scene, &kept.join("hooks"), &kept.join("config"));
    leaves_alone(scene, &[HARMLESS, REPLACES, ALTERS]);
    let before = seen(&kept);
    scene.run_agent(ALTERS, &[]);
    assert_eq!(seen(&kept), before);
}

fn a_link_to_nothing(scene: &SandboxFixture) {
    let git = scene.env.work_dir().join(".git");
    fs::remove_dir_all(git.join("hooks")).unwrap();
    symlink("../later", git.join("hooks")).unwrap();
    leaves_alone(
        scene,
        &[
            HARMLESS,
            "mkdir later; echo evil > later/pre-commit; chmod +x later/pre-commit",
        ],
    );
    assert!(!scene.env.work_dir().join("later/pre-commit").exists());
}

fn other_names_and_permissions(scene: &SandboxFixture) {
    let work = scene.env.work_dir();
    let git = work.join(".git");
    fs::hard_link(git.join("config"), scene.env.root().join("other-name")).unwrap();
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
    leaves_alone(
        scene,
        &[HARMLESS, REPLACES, alters, "git config core.fsmonitor evil"],
    );
    let other = fs::metadata(scene.env.root().join("other-name")).unwrap();
    assert_eq!(fs::metadata(git.join("config")).unwrap().ino(), other.ino());
}

/// Whatever a session did, what git obeys is as it was before.
#[track_caller]
fn leaves_alone(scene: &SandboxFixture, sessions: &[&str]) {
    let work = scene.env.work_dir();
    let all = || {
        let places = [".git/config", ".git/hooks", "githooks", "shared-config"];
        places.map(|place| seen(&work.join(place))).concat()
    };
    let inode = |place: &str| work.join(place).symlink_metadata().unwrap().ino();
    let before = all();
    for session in sessions {
        let inodes = [".git/config", ".git/hooks"].map(inode);
        scene.run_agent(session, &[]);
        assert_eq!(all(), before, "{session}");
        if *session == HARMLESS {
            assert_eq!([".git/config", ".git/hooks"].map(inode), inodes);
        }
    }
    scene.env.commit("Afterwards");
    assert!(!scene.env.root().join("evil").exists());
}

/// Without a sandbox an agent can write where a link leads out of the workspace, and Selvedge does not:
/// it says so.
#[test]
fn what_lies_outside_is_reported() {
    let scene = SandboxFixture::create("none");
    let kept = scene.env.home().join("kept");
    fs::create_dir(&kept).unwrap();
    linked(&scene, &kept.join("hooks"), &kept.join("config"));
    scene.run_agent("echo '# more' >> .git/hooks/pre-commit", &[]);
    let hook = fs::read_to_string(kept.join("hooks/pre-commit")).unwrap();
    assert!(hook.ends_with("# more\n"));
    let story = scene
        .env
        .selvedge(["show", "--format", "json"])
        .run()
        .json();
    let put_back = &story["attempts"][0]["session"]["sandbox"]["put_back"];
    let said = put_back[0].as_str().unwrap();
    assert!(
        said.starts_with(".git/hooks/pre-commit (not restored: "),
        "{story}"
    );
    assert!(said.contains("outside the workspace"), "{said}");
}

on_all!(
    a_hook,
    a_key_of_the_configuration,
    by_a_check,
    links_into_the_workspace,
    links_out_of_the_workspace,
    a_link_to_nothing,
    other_names_and_permissions,
);
