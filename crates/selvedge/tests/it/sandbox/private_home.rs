//! Under `default` the top of the home is the session's own with bubblewrap, and what is in it stays visible.

use std::fs;
use std::os::unix::fs::symlink;

use super::behind;
use super::fixture::{SECRET, SandboxFixture};
use crate::fixtures::make_executable;

/// What tests and tools do to a home.
const SCRIPT: &str = "set -e
mkdir ~/.made && echo x > ~/.made/file && mv ~/.made ~/.moved && cat ~/.moved/file
cat ~/notes.txt ~/.linked
test \"$(readlink ~/.dangling)\" = nowhere
if cat ~/.ssh/id_ed25519 ~/keys/id_ed25519 ~/.netrc; then exit 3; fi
if echo evil > ~/notes.txt; then exit 4; fi
if rm -rf ~/notes; then exit 5; fi
if echo evil > ~/notes/made; then exit 6; fi
if mv ~/notes ~/others; then exit 7; fi
rm ~/.linked && echo evil > ~/.linked
echo done";

fn home_is_seen_and_its_top_is_private(fixture: &SandboxFixture) {
    let home = fixture.env.home();
    fixture.write_home_file("notes.txt", "mine\n");
    fixture.write_home_file("notes/one", "mine");
    fixture.write_home_file("dotfiles/linked", "linked\n");
    symlink("dotfiles/linked", home.join(".linked")).unwrap();
    symlink("nowhere", home.join(".dangling")).unwrap();
    symlink(".ssh", home.join("keys")).unwrap();
    let report = fixture.verify(SCRIPT, &[]);
    let check = &report["checks"][0];
    assert_eq!(check["status"], "pass", "{check}");
    assert!(!check.to_string().contains(SECRET), "{check}");

    let agent = fixture.env.write(
        "agent.sh",
        format!("#!/bin/sh\ncat > /dev/null\n({SCRIPT}) > out 2>&1\n"),
    );
    make_executable(&agent);
    fixture.env.commit("An agent");
    let run = fixture
        .env
        .selvedge(["run", "do it", "--agent-cmd", "./agent.sh"]);
    let run = run.args(["--check", "grep -qx done out", "--retries", "0"]);
    run.run().assert_code(0);

    let read = |path: &str| fs::read_to_string(home.join(path)).unwrap();
    assert_eq!(read("notes.txt"), "mine\n");
    assert_eq!(read("dotfiles/linked"), "linked\n");
    assert_eq!(read("notes/one"), "mine");
    for path in [".made", ".moved", "notes/made", "others"] {
        assert!(!home.join(path).exists(), "{path}");
    }
}

/// A home of which a part is the workspace, or that is the workspace.
fn workspace_may_be_in_the_home_or_be_it(fixture: &SandboxFixture) {
    let work = fixture.env.work_dir();
    let script = "echo x > ~/.made && rm ~/.made && git status --short";
    for home in [&work, work.parent().unwrap()] {
        let report = fixture.verify(script, &[("HOME", home.to_str().unwrap())]);
        let check = &report["checks"][0];
        assert_eq!(check["status"], "pass", "{}: {check}", home.display());
        assert!(!home.join(".made").exists());
    }
}

behind!(
    bubblewrap,
    bubblewrap,
    home_is_seen_and_its_top_is_private,
    workspace_may_be_in_the_home_or_be_it,
);
