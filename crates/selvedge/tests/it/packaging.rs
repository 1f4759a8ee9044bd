//! The files that systemd and container builders read: their form, and that this program takes the commands in
//! them.

use std::path::Path;

use crate::fixtures::env_with_repo;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    std::fs::read_to_string(path.join(name)).unwrap()
}

/// Everything before `--help` is parsed, and refused if it cannot be.
fn is_taken(words: &[&str]) {
    let (program, args) = words.split_first().unwrap();
    assert_eq!(*program, "/usr/local/bin/selvedge");
    let out = env_with_repo().selvedge(args).arg("--help").run();
    out.assert_code(0);
    assert!(out.stdout.contains(args[0]), "{}", out.stdout);
}

#[test]
fn units_are_units_and_start_what_there_is() {
    for name in ["selvedge-hub.service", "selvedge-worker.service"] {
        let text = file(name).replace("\\\n", " ");
        let mut sections = Vec::new();
        let mut command = None;
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(section) = line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
                sections.push(section.to_owned());
                continue;
            }
            let (key, value) = line
                .split_once('=')
                .unwrap_or_else(|| panic!("{name}: {line}"));
            assert!(key.chars().all(char::is_alphanumeric), "{name}: {line}");
            if key == "ExecStart" {
                command = Some(value.to_owned());
            }
        }
        assert_eq!(sections, ["Unit", "Service", "Install"], "{name}");
        let command = command.unwrap();
        is_taken(&command.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn a_container_starts_what_there_is() {
    let text = file("Containerfile");
    let entry = text
        .lines()
        .find_map(|line| line.strip_prefix("ENTRYPOINT "));
    let words: Vec<String> = serde_json::from_str(entry.unwrap()).unwrap();
    let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
    // As its head says to run it.
    words.extend(["--host", "hub.example", "--behind-proxy"]);
    is_taken(&words);
    assert!(text.contains("USER selvedge"), "not as root");
}
