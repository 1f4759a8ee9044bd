//! Reading what nobody inside may read.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::fixture::{SECRET, SandboxFixture};
use super::on_all;

fn keys_and_logins(scene: &SandboxFixture) {
    scene.assert_no_secret_in(
        "cat ~/.ssh/id_ed25519 ~/.aws/credentials ~/.netrc; grep -ra s3cret ~/.ssh ~/.aws; true",
    );
}

fn by_another_way_to_write_the_path(scene: &SandboxFixture) {
    scene.assert_no_secret_in("cat ~/./.ssh/../.ssh/id_ed25519 ~//.ssh//id_ed25519 ~/.SSH/id_ed25519; cd ~/.ssh && cat id_ed25519; true");
}

fn through_links(scene: &SandboxFixture) {
    scene.assert_no_secret_in("ln -s ~/.ssh keys; cat keys/id_ed25519; ln ~/.ssh/id_ed25519 hard; cat hard; cp -r ~/.ssh copy; cat copy/*; true");
}

fn what_an_agent_keeps(scene: &SandboxFixture) {
    scene.assert_no_secret_in("cat ~/.codex/auth.json ~/.claude/.credentials.json; true");
}

fn after_moving_what_masks_it(scene: &SandboxFixture) {
    scene.assert_no_secret_in(
        "mv ~/.ssh ~/.ssh2; cat ~/.ssh2/id_ed25519; umount ~/.ssh; cat ~/.ssh/id_ed25519; true",
    );
}

fn our_own_state(scene: &SandboxFixture) {
    scene.run_agent("true", &[]);
    let state = scene.env.state().join("selvedge");
    fs::write(state.join("secret"), SECRET).unwrap();
    scene.assert_no_secret_in("cat \"$XDG_STATE_HOME/selvedge/secret\"; strings \"$XDG_STATE_HOME/selvedge/journal.db\" | head; echo evil > \"$XDG_STATE_HOME/selvedge/journal.db\"; rm -rf \"$XDG_STATE_HOME/selvedge\"; true");
    assert_eq!(fs::read_to_string(state.join("secret")).unwrap(), SECRET);
    scene.env.selvedge(["list"]).run().assert_success();
}

/// An agent's environment is an allow-list; other processes' environments would give the rest away.
fn other_processes_environments(scene: &SandboxFixture) {
    let script = "cat /proc/*/environ /proc/self/environ /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' > seen.txt";
    scene.run_agent(script, &[("PAYROLL_PASSWORD", SECRET)]);
    let seen = scene.env.read("seen.txt");
    assert!(seen.contains("SELVEDGE_RUN_ID"), "it saw its own");
    assert!(!seen.contains(SECRET));
}

fn through_another_process(scene: &SandboxFixture) {
    let (pid, home) = (std::process::id(), scene.env.home());
    let home = home.display();
    scene.assert_no_secret_in(&format!(
        "cat /proc/{pid}/root{home}/.ssh/id_ed25519; ls -l /proc/{pid}/fd; chroot /proc/{pid}/root cat {home}/.ssh/id_ed25519
        nsenter -t {pid} -m cat {home}/.ssh/id_ed25519; cat /proc/1/root{home}/.ssh/id_ed25519; true"
    ));
}

fn a_socket_by_its_name(scene: &SandboxFixture) {
    let name = format!("selvedge-test-{}-{}", std::process::id(), scene.backend);
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let said = scene.check_output(&format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\"); print(\"reached\")'; true"
    ));
    assert!(!said.contains("reached\n"), "{said}");
}

/// Landlock has no rule for it, and says so.
fn an_agents_socket_by_its_path(scene: &SandboxFixture) {
    let socket = scene.env.root().join("agent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let path = socket.display().to_string();
    let script = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\"); print(\"reached\")'; true"
    );
    let report = scene.verify(&script, &[("SSH_AUTH_SOCK", &path)]);
    let reached = report["checks"][0]["output"]
        .as_str()
        .unwrap()
        .contains("reached\n");
    let open = report["sandbox"]["open"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it == "sockets");
    assert_eq!(reached, open, "{report}");
    assert_eq!(reached, scene.backend == "landlock");
}

/// Landlock shares them, and says so.
fn temporary_files_of_others(scene: &SandboxFixture) {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(&file, "somebody's").unwrap();
    let name = file
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let report = scene.verify(&format!("cat $(printf /tm)$(printf p/{name}); echo mine > \"$TMPDIR/mine\" && cat \"$TMPDIR/mine\""), &[]);
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(said.contains("mine"), "{said}");
    let open = report["sandbox"]["open"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it == "temporary");
    assert_eq!(said.contains("somebody's"), open, "{said}");
    assert_eq!(open, scene.backend == "landlock");
}

on_all!(
    keys_and_logins,
    by_another_way_to_write_the_path,
    through_links,
    what_an_agent_keeps,
    after_moving_what_masks_it,
    our_own_state,
    other_processes_environments,
    through_another_process,
    a_socket_by_its_name,
    an_agents_socket_by_its_path,
    temporary_files_of_others,
);
