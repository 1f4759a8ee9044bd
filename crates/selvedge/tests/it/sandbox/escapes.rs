//! Writing where nothing may be written.

use std::fs;

use super::fixture::SandboxFixture;
use super::on_all;

fn bashrc(scene: &SandboxFixture) -> String {
    fs::read_to_string(scene.env.home().join(".bashrc")).unwrap()
}

fn a_file_of_the_home(scene: &SandboxFixture) {
    scene.check_output("echo evil >> ~/.bashrc; rm -f ~/.bashrc; mv ~/.bashrc ~/.other; true");
    assert_eq!(bashrc(scene), "# mine\n");
}

fn a_new_file_in_the_home(scene: &SandboxFixture) {
    scene.check_output("touch ~/.zshrc ~/.profile; mkdir -p ~/bin && echo evil > ~/bin/git; true");
    for made in [".zshrc", ".profile", "bin"] {
        assert!(!scene.env.home().join(made).exists(), "{made}");
    }
}

fn a_program_of_the_system(scene: &SandboxFixture) {
    scene.check_output("echo evil > /usr/local/bin/selvedge-evil; echo evil > /etc/profile.d/selvedge-evil.sh; true");
    for made in [
        "/usr/local/bin/selvedge-evil",
        "/etc/profile.d/selvedge-evil.sh",
    ] {
        assert!(!std::path::Path::new(made).exists(), "{made}");
    }
}

fn through_a_link_in_the_workspace(scene: &SandboxFixture) {
    scene.check_output("ln -s ~/.bashrc link; echo evil >> link; cp attempt.sh link; true");
    assert_eq!(bashrc(scene), "# mine\n");
}

fn through_a_linked_folder(scene: &SandboxFixture) {
    scene.check_output("ln -s ~ folder; echo evil > folder/.zshrc; rm folder/.bashrc; true");
    assert!(!scene.env.home().join(".zshrc").exists());
    assert_eq!(bashrc(scene), "# mine\n");
}

fn through_a_hard_link(scene: &SandboxFixture) {
    scene.check_output("ln ~/.bashrc hard && echo evil >> hard; true");
    assert_eq!(bashrc(scene), "# mine\n");
}

fn from_another_working_directory(scene: &SandboxFixture) {
    scene.check_output("cd ~ && git init -q . && touch here; cd / && touch ./here; true");
    assert!(!scene.env.home().join("here").exists());
    assert!(!scene.env.home().join(".git").exists());
}

fn by_dots_and_slashes(scene: &SandboxFixture) {
    scene.check_output("touch ../outside ../../../../../../../outside .//..//./outside; true");
    assert!(!scene.env.root().join("outside").exists());
}

/// A settings file that is not there yet, which a program outside would obey.
fn settings_that_are_missing(scene: &SandboxFixture) {
    scene.check_output(
        "mkdir -p \"$XDG_CONFIG_HOME/selvedge\" && echo 'sandbox.backend = \"none\"' > \"$XDG_CONFIG_HOME/selvedge/config.toml\"
        echo '{\"hooks\":{}}' > ~/.claude/settings.json
        mkdir -p ~/.config/git && echo evil > ~/.config/git/config; true",
    );
    let settings = fs::read_to_string(scene.env.config().join("selvedge/config.toml"));
    assert!(!settings.unwrap_or_default().contains("sandbox.backend"));
    assert!(!scene.env.home().join(".claude/settings.json").exists());
    assert!(!scene.env.home().join(".config/git/config").exists());
}

/// A pointer that the workspace made itself makes nothing writable.
fn a_worktree_of_somebody_elses(scene: &SandboxFixture) {
    let other = scene.env.home().join("other");
    fs::create_dir_all(other.join("objects")).unwrap();
    fs::write(other.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::rename(
        scene.env.work_dir().join(".git"),
        scene.env.root().join("was"),
    )
    .unwrap();
    scene
        .env
        .write(".git", format!("gitdir: {}\n", other.display()));
    scene.check_output("touch ~/other/evil; true");
    assert!(!other.join("evil").exists());
}

/// Nor does one whose repository it made itself, which then calls another folder its own.
fn a_worktree_of_its_own_making(scene: &SandboxFixture) {
    let theirs = scene.env.home().join(".ssh");
    fs::create_dir_all(&theirs).unwrap();
    fs::write(theirs.join("id"), "a key\n").unwrap();
    scene.check_output(
        "mv .git was; mkdir -p made/worktrees/mine
        for place in made made/worktrees/mine; do
            echo \"$PWD/.git\" > $place/gitdir; echo \"$HOME/.ssh\" > $place/commondir
        done; true",
    );
    for place in ["made", "made/worktrees/mine"] {
        scene.env.write(".git", format!("gitdir: {place}\n"));
        scene.check_output("cat ~/.ssh/id > stolen; echo evil > ~/.ssh/authorized_keys; true");
        assert!(!theirs.join("authorized_keys").exists(), "{place}");
        let stolen = fs::read_to_string(scene.env.work_dir().join("stolen"));
        assert_eq!(stolen.unwrap_or_default(), "", "{place}");
    }
}

/// The mount points of masks and caches are none of the user's.
fn nothing_is_made_in_the_home(scene: &SandboxFixture) {
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(scene.env.home())
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = listed();
    scene.check_output("ls -a ~");
    assert_eq!(listed(), before);
    assert!(!std::path::Path::new("/tmp/.git").exists());
}

on_all!(
    a_file_of_the_home,
    a_new_file_in_the_home,
    a_program_of_the_system,
    through_a_link_in_the_workspace,
    through_a_linked_folder,
    through_a_hard_link,
    from_another_working_directory,
    by_dots_and_slashes,
    settings_that_are_missing,
    a_worktree_of_somebody_elses,
    a_worktree_of_its_own_making,
    nothing_is_made_in_the_home,
);
