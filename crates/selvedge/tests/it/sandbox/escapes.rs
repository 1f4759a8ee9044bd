//! Attempts to write outside of the workspace.

use std::fs;

use super::fixture::SandboxFixture;
use super::on_all_profiles;

fn bashrc(fixture: &SandboxFixture) -> String {
    fs::read_to_string(fixture.env.home().join(".bashrc")).unwrap()
}

fn home_file_cannot_be_changed(fixture: &SandboxFixture) {
    fixture.check_output("echo evil >> ~/.bashrc; rm -f ~/.bashrc; mv ~/.bashrc ~/.other; true");
    assert_eq!(bashrc(fixture), "# mine\n");
}

fn home_file_cannot_be_created(fixture: &SandboxFixture) {
    fixture
        .check_output("touch ~/.zshrc ~/.profile; mkdir -p ~/bin && echo evil > ~/bin/git; true");
    for made in [".zshrc", ".profile", "bin"] {
        assert!(!fixture.env.home().join(made).exists(), "{made}");
    }
}

fn system_program_cannot_be_created(fixture: &SandboxFixture) {
    fixture.check_output("echo evil > /usr/local/bin/selvedge-evil; echo evil > /etc/profile.d/selvedge-evil.sh; true");
    for made in [
        "/usr/local/bin/selvedge-evil",
        "/etc/profile.d/selvedge-evil.sh",
    ] {
        assert!(!std::path::Path::new(made).exists(), "{made}");
    }
}

fn symlink_to_file_gives_no_write_access(fixture: &SandboxFixture) {
    fixture.check_output("ln -s ~/.bashrc link; echo evil >> link; cp attempt.sh link; true");
    assert_eq!(bashrc(fixture), "# mine\n");
}

fn symlink_to_folder_gives_no_write_access(fixture: &SandboxFixture) {
    fixture.check_output("ln -s ~ folder; echo evil > folder/.zshrc; rm folder/.bashrc; true");
    assert!(!fixture.env.home().join(".zshrc").exists());
    assert_eq!(bashrc(fixture), "# mine\n");
}

fn hard_link_gives_no_write_access(fixture: &SandboxFixture) {
    fixture.check_output("ln ~/.bashrc hard && echo evil >> hard; true");
    assert_eq!(bashrc(fixture), "# mine\n");
}

fn working_directory_outside_gives_no_write_access(fixture: &SandboxFixture) {
    fixture.check_output("cd ~ && git init -q . && touch here; cd / && touch ./here; true");
    assert!(!fixture.env.home().join("here").exists());
    assert!(!fixture.env.home().join(".git").exists());
}

fn relative_path_gives_no_write_access(fixture: &SandboxFixture) {
    fixture.check_output("touch ../outside ../../../../../../../outside .//..//./outside; true");
    assert!(!fixture.env.root().join("outside").exists());
}

/// Settings that do not exist yet, which programs outside of the sandbox would read.
fn missing_settings_cannot_be_created(fixture: &SandboxFixture) {
    fixture.check_output(
        "mkdir -p \"$XDG_CONFIG_HOME/selvedge\" && echo 'sandbox.backend = \"none\"' > \"$XDG_CONFIG_HOME/selvedge/config.toml\"
        echo '{\"hooks\":{}}' > ~/.claude/settings.json
        mkdir -p ~/.config/git && echo evil > ~/.config/git/config; true",
    );
    let settings = fs::read_to_string(fixture.env.config().join("selvedge/config.toml"));
    assert!(!settings.unwrap_or_default().contains("sandbox.backend"));
    assert!(!fixture.env.home().join(".claude/settings.json").exists());
    assert!(!fixture.env.home().join(".config/git/config").exists());
}

/// A `.git` pointer made in the workspace does not make its target writable.
fn worktree_pointer_to_home_gives_no_write_access(fixture: &SandboxFixture) {
    let other = fixture.env.home().join("other");
    fs::create_dir_all(other.join("objects")).unwrap();
    fs::write(other.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::rename(
        fixture.env.work_dir().join(".git"),
        fixture.env.root().join("was"),
    )
    .unwrap();
    fixture
        .env
        .write(".git", format!("gitdir: {}\n", other.display()));
    fixture.check_output("touch ~/other/evil; true");
    assert!(!other.join("evil").exists());
}

/// A `.git` pointer to a repository made in the workspace, whose `commondir` names another folder, does not
/// make that folder accessible.
fn worktree_with_forged_commondir_gives_no_access(fixture: &SandboxFixture) {
    let ssh = fixture.env.home().join(".ssh");
    fs::create_dir_all(&ssh).unwrap();
    fs::write(ssh.join("id"), "a key\n").unwrap();
    fixture.check_output(
        "mkdir -p made/worktrees/mine
        for place in made made/worktrees/mine; do
            echo \"$PWD/.git\" > $place/gitdir; echo \"$HOME/.ssh\" > $place/commondir
        done; true",
    );
    let was = fixture.env.work_dir().join("was");
    fs::rename(fixture.env.work_dir().join(".git"), was).unwrap();
    for gitdir in ["made", "made/worktrees/mine"] {
        fixture.env.write(".git", format!("gitdir: {gitdir}\n"));
        fixture.check_output("cat ~/.ssh/id > stolen; echo evil > ~/.ssh/authorized_keys; true");
        assert!(!ssh.join("authorized_keys").exists(), "{gitdir}");
        let stolen = fs::read_to_string(fixture.env.work_dir().join("stolen"));
        assert_eq!(stolen.unwrap_or_default(), "", "{gitdir}");
    }
}

/// A report is written where its path led before the run, and never through a link that was in the workspace.
fn report_is_not_written_through_a_link(fixture: &SandboxFixture) {
    let env = &fixture.env;
    let script = format!(
        "#!/bin/sh\ncat > /dev/null\nln -sf '{}' report.xml\n",
        env.home().join(".bashrc").display()
    );
    let agent = env.write("agent.sh", script);
    crate::fixtures::make_executable(&agent);
    env.commit("An agent");
    for _ in 0..2 {
        let run = [
            "run",
            "do it",
            "--agent-cmd",
            "./agent.sh",
            "--check",
            "true",
            "--retries",
            "0",
            "--junit",
            "report.xml",
        ];
        let run = env.selvedge(run).run();
        assert!(
            run.stderr.contains("--junit: cannot write report.xml"),
            "{}",
            run.stderr
        );
        assert_eq!(bashrc(fixture), "# mine\n");
    }
}

/// The sandbox creates no mount points in the user's home.
fn mount_points_are_not_created_in_home(fixture: &SandboxFixture) {
    let listed = || {
        let mut names: Vec<_> = fs::read_dir(fixture.env.home())
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.sort();
        names
    };
    let before = listed();
    fixture.check_output("ls -a ~");
    assert_eq!(listed(), before);
    assert!(!std::path::Path::new("/tmp/.git").exists());
}

on_all_profiles!(
    home_file_cannot_be_changed,
    home_file_cannot_be_created,
    system_program_cannot_be_created,
    symlink_to_file_gives_no_write_access,
    symlink_to_folder_gives_no_write_access,
    hard_link_gives_no_write_access,
    working_directory_outside_gives_no_write_access,
    relative_path_gives_no_write_access,
    missing_settings_cannot_be_created,
    worktree_pointer_to_home_gives_no_write_access,
    worktree_with_forged_commondir_gives_no_access,
    report_is_not_written_through_a_link,
    mount_points_are_not_created_in_home,
);
