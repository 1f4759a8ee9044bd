//! The files for systemd and container builders: their syntax, and that this program accepts their commands.

use std::path::Path;

use crate::fixtures::env_with_repo;

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging");
    std::fs::read_to_string(path.join(name)).unwrap()
}

/// Asserts that this program accepts a command: with `--help`, all arguments before it are parsed.
fn assert_command_is_accepted(command_line: &[&str]) {
    let (program, args) = command_line.split_first().unwrap();
    assert_eq!(*program, "/usr/local/bin/selvedge");
    let out = env_with_repo().selvedge(args).arg("--help").run();
    out.assert_code(0);
    assert!(out.stdout.contains(args[0]), "{}", out.stdout);
}

#[test]
fn systemd_units_have_valid_commands() {
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
        assert_command_is_accepted(&command.split_whitespace().collect::<Vec<_>>());
    }
}

#[test]
fn containerfiles_have_valid_commands() {
    for (role, more) in [
        ("hub", &["--host", "hub.example", "--behind-proxy"][..]),
        (
            "worker",
            &[
                "--hub",
                "https://hub.example:7700",
                "--token-file",
                "/run/secrets/worker-token",
            ],
        ),
    ] {
        let text = file(&format!("Containerfile.{role}"));
        let entry = text
            .lines()
            .find_map(|line| line.strip_prefix("ENTRYPOINT "));
        let command_line: Vec<String> = serde_json::from_str(entry.unwrap()).unwrap();
        let mut command_line: Vec<&str> = command_line.iter().map(String::as_str).collect();
        // The arguments from the comment at the top of the file.
        for argument in more {
            assert!(text.contains(argument), "{argument}");
        }
        command_line.extend(more);
        assert_command_is_accepted(&command_line);
        assert!(
            text.contains("\nUSER 10001:10001\n"),
            "not as root, by number"
        );
    }
}
