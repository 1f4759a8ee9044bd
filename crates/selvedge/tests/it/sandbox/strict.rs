//! The profile `strict`: only the workspace, no home, no network.

use std::net::TcpListener;

use super::fixture::SandboxFixture;
use super::on_all;

const STRICT: (&str, &str) = ("SELVEDGE_SANDBOX_CHECKS", "strict");

fn strict_has_no_network(fixture: &SandboxFixture) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(\"reached\")'; true"
    );
    let report = fixture.verify(&connect, &[]);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(
        output.contains("reached\n"),
        "the default profile has a network: {output}"
    );
    let report = fixture.verify(&connect, &[STRICT]);
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains("reached\n"), "{output}");
}

fn strict_hides_the_home(fixture: &SandboxFixture) {
    fixture.write_home_file("notes.txt", "mine alone");
    let report = fixture.verify(
        "cat ~/notes.txt ~/.bashrc; echo done > done.txt; echo evil > ~/evil; true",
        &[STRICT],
    );
    let output = report["checks"][0]["output"].as_str().unwrap();
    assert!(!output.contains("mine"), "{output}");
    assert_eq!(fixture.env.read("done.txt"), "done\n");
    assert!(!fixture.env.home().join("evil").exists());
}

fn strict_has_no_caches(fixture: &SandboxFixture) {
    let cached = fixture.write_home_file(".cargo/registry/kept", "kept");
    fixture.verify(
        "echo evil > ~/.cargo/registry/kept; touch ~/.cargo/evil; true",
        &[STRICT],
    );
    assert_eq!(std::fs::read_to_string(cached).unwrap(), "kept");
    assert!(!fixture.env.home().join(".cargo/evil").exists());
}

on_all!(
    strict_has_no_network,
    strict_hides_the_home,
    strict_has_no_caches
);
