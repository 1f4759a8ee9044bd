//! Attempts to read secrets.

use std::fs;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use super::fixture::{SECRET, SandboxFixture};
use super::on_all_profiles;

fn secrets_in_keys_and_logins_are_hidden(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in(
        "cat ~/.ssh/id_ed25519 ~/.aws/credentials ~/.netrc; grep -ra s3cret ~/.ssh ~/.aws; true",
    );
}

fn secrets_are_hidden_under_other_path_spellings(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in("cat ~/./.ssh/../.ssh/id_ed25519 ~//.ssh//id_ed25519 ~/.SSH/id_ed25519; cd ~/.ssh && cat id_ed25519; true");
}

fn secrets_are_hidden_behind_links(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in("ln -s ~/.ssh keys; cat keys/id_ed25519; ln ~/.ssh/id_ed25519 hard; cat hard; cp -r ~/.ssh copy; cat copy/*; true");
}

fn secrets_of_agents_are_hidden_from_checks(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in("cat ~/.codex/auth.json ~/.claude/.credentials.json; true");
}

fn secrets_stay_hidden_after_moving_the_mask(fixture: &SandboxFixture) {
    fixture.assert_no_secret_in(
        "mv ~/.ssh ~/.ssh2; cat ~/.ssh2/id_ed25519; umount ~/.ssh; cat ~/.ssh/id_ed25519; true",
    );
}

fn secrets_in_the_state_directory_are_hidden(fixture: &SandboxFixture) {
    fixture.run_agent("true", &[]);
    let state = fixture.env.state().join("selvedge");
    fs::write(state.join("secret"), SECRET).unwrap();
    fixture.assert_no_secret_in("cat \"$XDG_STATE_HOME/selvedge/secret\"; strings \"$XDG_STATE_HOME/selvedge/journal.db\" | head; echo evil > \"$XDG_STATE_HOME/selvedge/journal.db\"; rm -rf \"$XDG_STATE_HOME/selvedge\"; true");
    assert_eq!(fs::read_to_string(state.join("secret")).unwrap(), SECRET);
    fixture.env.selvedge(["list"]).run().assert_success();
}

/// An agent's environment is an allow-list; the environments of other processes would reveal the rest.
fn secrets_in_other_environments_are_hidden(fixture: &SandboxFixture) {
    let script = "cat /proc/*/environ /proc/self/environ /proc/$PPID/environ 2>/dev/null | tr '\\0' '\\n' > seen.txt";
    fixture.run_agent(script, &[("PAYROLL_PASSWORD", SECRET)]);
    let seen = fixture.env.read("seen.txt");
    assert!(seen.contains("SELVEDGE_RUN_ID"), "it saw its own");
    assert!(!seen.contains(SECRET));
}

/// Without a sandbox, no process of Selvedge shows its environment: not to an ordinary user, and secrets not even to
/// root.
#[test]
fn secrets_of_selvedge_are_hidden_without_a_sandbox() {
    let fixture = SandboxFixture::create("none");
    let script = "cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n' > seen.txt";
    let secret = format!("s3cret-{}", std::process::id());
    fixture.run_agent(
        script,
        &[
            ("PAYROLL_PASSWORD", &secret),
            ("ORDERS_DB", &format!("postgres://me:{secret}@db/orders")),
        ],
    );
    let seen = fixture.env.read("seen.txt");
    assert!(seen.contains("SELVEDGE_RUN_ID"), "it saw its own");
    assert!(!seen.contains(&secret), "{seen}");
}

fn secrets_are_hidden_behind_proc(fixture: &SandboxFixture) {
    let (pid, home) = (std::process::id(), fixture.env.home());
    let home = home.display();
    fixture.assert_no_secret_in(&format!(
        "cat /proc/{pid}/root{home}/.ssh/id_ed25519; ls -l /proc/{pid}/fd; chroot /proc/{pid}/root cat {home}/.ssh/id_ed25519
        nsenter -t {pid} -m cat {home}/.ssh/id_ed25519; cat /proc/1/root{home}/.ssh/id_ed25519; true"
    ));
}

fn socket_with_abstract_name_is_unreachable(fixture: &SandboxFixture) {
    let name = format!("selvedge-test-{}-{}", std::process::id(), fixture.backend);
    let _listener =
        UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
    let output = fixture.check_output(&format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{name}\"); print(\"reached\")'; true"
    ));
    assert!(!output.contains("reached\n"), "{output}");
}

/// Landlock cannot deny this, and the report says so.
fn socket_of_ssh_agent_is_unreachable(fixture: &SandboxFixture) {
    let socket = fixture.env.root().join("agent.sock");
    let _listener = UnixListener::bind(&socket).unwrap();
    let path = socket.display().to_string();
    let script = format!(
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{path}\"); print(\"reached\")'; true"
    );
    let report = fixture.verify(&script, &[("SSH_AUTH_SOCK", &path)]);
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
    assert_eq!(reached, fixture.backend == "landlock");
}

/// With Landlock the folder of temporary files is shared, and the report says so.
fn temporary_files_of_others_are_hidden(fixture: &SandboxFixture) {
    let file = tempfile::NamedTempFile::new_in("/tmp").unwrap();
    fs::write(&file, "somebody's").unwrap();
    let name = file
        .path()
        .file_name()
        .unwrap()
        .to_string_lossy()
        .into_owned();
    let report = fixture.verify(&format!("cat $(printf /tm)$(printf p/{name}); echo mine > \"$TMPDIR/mine\" && cat \"$TMPDIR/mine\""), &[]);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(output.contains("mine"), "{output}");
    let open = report["sandbox"]["open"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it == "temporary");
    assert_eq!(output.contains("somebody's"), open, "{output}");
    assert_eq!(open, fixture.backend == "landlock");
}

on_all_profiles!(
    secrets_in_keys_and_logins_are_hidden,
    secrets_are_hidden_under_other_path_spellings,
    secrets_are_hidden_behind_links,
    secrets_of_agents_are_hidden_from_checks,
    secrets_stay_hidden_after_moving_the_mask,
    secrets_in_the_state_directory_are_hidden,
    secrets_in_other_environments_are_hidden,
    secrets_are_hidden_behind_proc,
    socket_with_abstract_name_is_unreachable,
    socket_of_ssh_agent_is_unreachable,
    temporary_files_of_others_are_hidden,
);
