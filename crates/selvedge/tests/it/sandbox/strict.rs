//! The profile `strict`: only the workspace, no home, no network.

use std::net::TcpListener;

use super::fixture::SandboxFixture;
use super::on_all;

const STRICT: (&str, &str) = ("SELVEDGE_SANDBOX_CHECKS", "strict");

fn no_network(scene: &SandboxFixture) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!(
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 5); print(\"reached\")'; true"
    );
    let report = scene.verify(&connect, &[]);
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(
        said.contains("reached\n"),
        "the default profile has a network: {said}"
    );
    let report = scene.verify(&connect, &[STRICT]);
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(!said.contains("reached\n"), "{said}");
}

fn nothing_of_the_home(scene: &SandboxFixture) {
    scene.write_home_file("notes.txt", "mine alone");
    let report = scene.verify(
        "cat ~/notes.txt ~/.bashrc; echo done > done.txt; echo evil > ~/evil; true",
        &[STRICT],
    );
    let said = report["checks"][0]["output"].as_str().unwrap();
    assert!(!said.contains("mine"), "{said}");
    assert_eq!(scene.env.read("done.txt"), "done\n");
    assert!(!scene.env.home().join("evil").exists());
}

fn no_cache(scene: &SandboxFixture) {
    let kept = scene.write_home_file(".cargo/registry/kept", "kept");
    scene.verify(
        "echo evil > ~/.cargo/registry/kept; touch ~/.cargo/evil; true",
        &[STRICT],
    );
    assert_eq!(std::fs::read_to_string(kept).unwrap(), "kept");
    assert!(!scene.env.home().join(".cargo/evil").exists());
}

on_all!(no_network, nothing_of_the_home, no_cache);
