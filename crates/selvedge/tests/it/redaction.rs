//! An agent and a check print a secret in many forms. No part of it may be stored, shown, sent, or in the next
//! prompt.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::env_with_repo;
use crate::fleet::fixture::HubFixture;

const SECRET: &str = "hunter2-Zq9/x+Vb7Lk&m\"n3Wd8Yt4";
const TOKEN: &str = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";

/// Prints all lines of `forms`, then the first one again in two writes, to the stream in the first argument.
const LEAK: &str = r#"
here=$(dirname "$0")
cat "$here/forms" >&"$1"
head -c 12 "$here/forms" >&"$1"; sleep 0.05; tail -c +13 "$here/forms" | head -n 1 >&"$1"
"#;

/// Returns the secret as it is, in JSON, in a URL, in hex, and in base64 at its three alignments; and a token.
fn forms() -> Vec<String> {
    let bytes = SECRET.bytes();
    let percent = |byte: u8| {
        if byte.is_ascii_alphanumeric() {
            char::from(byte).to_string()
        } else {
            format!("%{byte:02X}")
        }
    };
    let small = |byte: u8| format!("{byte:02x}");
    let large = |byte: u8| format!("{byte:02X}");
    let mut forms = vec![
        SECRET.to_owned(),
        SECRET.replace('"', "\\\""),
        bytes.clone().map(percent).collect::<Vec<_>>().concat(),
        bytes.clone().map(small).collect::<Vec<_>>().concat(),
        bytes.clone().map(large).collect::<Vec<_>>().concat(),
        bytes.clone().map(small).collect::<Vec<_>>().join(" "),
        bytes.map(large).collect::<Vec<_>>().join(":"),
        TOKEN.to_owned(),
    ];
    forms.extend(["", "x", "xy"].map(|before| base64(&format!("{before}{SECRET}"))));
    forms
}

/// Returns all forms, and the secret and the token with characters inside that are not shown.
fn leaked_text() -> String {
    let hidden = ["\u{1b}[0m", "\u{200b}", "\u{ad}", "\u{3164}", "\0"];
    let split = |secret: &str, hidden: &str| format!("{}{hidden}{}", &secret[..15], &secret[15..]);
    let split = hidden.map(|hidden| [split(SECRET, hidden), split(TOKEN, hidden)].join("\n"));
    [forms(), split.to_vec()].concat().join("\n") + "\n"
}

/// Encodes standard base64 without padding and without the last incomplete digit.
fn base64(text: &str) -> String {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let each = |byte: u8| format!("{byte:08b}");
    let bits = text.bytes().map(each).collect::<Vec<_>>().concat();
    let letter = |at: usize| {
        let six = bits.get(at..at + 6)?;
        let index = usize::from_str_radix(six, 2).ok()?;
        Some(char::from(LETTERS[index]))
    };
    (0..bits.len()).step_by(6).map_while(letter).collect()
}

/// Returns a part of each form, to detect forms that were cut.
fn parts() -> Vec<String> {
    let middle = |form: String| form[form.len() / 3..form.len() / 3 + 12].to_owned();
    forms().into_iter().map(middle).collect()
}

#[track_caller]
fn assert_clean(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for part in parts() {
        assert!(!text.contains(&part), "{what} holds {part}:\n{text}");
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            files.extend(self::files(&path));
        } else {
            files.push(path);
        }
    }
    files
}

#[track_caller]
fn assert_clean_folder(folder: &Path) {
    let files = files(folder);
    assert!(!files.is_empty());
    for file in files {
        if fs::metadata(&file).is_ok_and(|it| it.is_file()) {
            assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
        }
    }
}

#[track_caller]
fn assert_clean_output(out: &CommandOutput) {
    assert_clean("standard output", out.stdout.as_bytes());
    assert_clean("standard error", out.stderr.as_bytes());
}

/// Writes an agent and a check outside of the workspace that print the secret; the agent logs its prompts.
/// Returns their commands.
fn leaks(env: &TestEnv) -> [String; 2] {
    let root = env.root();
    fs::write(root.join("forms"), leaked_text()).unwrap();
    fs::write(root.join("leak.sh"), LEAK).unwrap();
    let leak = root.join("leak.sh").display().to_string();
    let agent = format!(
        "cat >> {root}/told; sh {leak} 1; sh {leak} 2; echo >> out",
        root = root.display()
    );
    fs::write(root.join("leaky.sh"), agent).unwrap();
    // With a zero-width space inside.
    let (start, end) = TOKEN.split_at(15);
    let check = format!(
        "sh {leak} 1; sh {leak} 2; echo 'FAILED test_{SECRET}'; printf 'FAILED test_{start}\\342\\200\\213{end}\\n'; test -e never"
    );
    fs::write(root.join("check.sh"), check).unwrap();
    ["leaky.sh", "check.sh"].map(|name| format!("sh {}", root.join(name).display()))
}

#[test]
fn redaction_covers_stored_shown_and_prompted_text() {
    let env = env_with_repo();
    let [agent, check] = leaks(&env);
    let reports = ["junit", "sarif", "markdown"].map(|kind| {
        let file = env.root().join(format!("report.{kind}"));
        (format!("--{kind}"), file.display().to_string())
    });
    let mut args = vec!["run", "mind the deploy key", "--agent-cmd", &agent];
    args.extend(["--check", &check, "--retries", "1"]);
    for (flag, file) in &reports {
        args.extend([flag.as_str(), file.as_str()]);
    }
    let with_secret = |args: &[&str]| env.selvedge(args).env("DEPLOY_KEY", SECRET).run();
    let out = with_secret(&args);
    out.assert_code(1);
    assert_clean_output(&out);
    let prompts = fs::read_to_string(env.root().join("told")).unwrap();
    assert!(prompts.contains("VERIFICATION RETRY 1/1"), "{prompts}");
    assert!(prompts.contains("[redacted:DEPLOY_KEY]"), "{prompts}");
    assert_clean("what the agent was told", prompts.as_bytes());
    assert_clean_folder(&env.root().join("state"));
    for (_, file) in &reports {
        assert_clean(file, &fs::read(file).unwrap());
    }
    for args in [
        &["show", "--format", "json"][..],
        &["show", "--prompt"],
        &["verify", "--check", &check, "--format", "json"],
        &[
            "run",
            "x",
            "--agent-cmd",
            &agent,
            "--check",
            &check,
            "--format",
            "jsonl",
            "--retries",
            "0",
        ],
    ] {
        let out = with_secret(args);
        assert_clean_output(&out);
        let shown = out.stdout.contains("[redacted:DEPLOY_KEY]");
        assert!(shown, "{args:?}: {}", out.stdout);
    }
    let digest = env
        .selvedge(["digest", "--exit", "1"])
        .env("DEPLOY_KEY", SECRET);
    assert_clean_output(&digest.stdin(leaked_text()).run());
}

#[test]
fn redaction_rejects_a_command_with_a_secret() {
    let env = env_with_repo();
    let check = format!("test '{SECRET}' = x");
    let out = env
        .selvedge(["run", "x", "--agent-cmd", "true", "--check", &check])
        .env("DEPLOY_KEY", SECRET)
        .run();
    out.assert_code(2);
    assert!(
        out.stderr.contains("the value of DEPLOY_KEY"),
        "{}",
        out.stderr
    );
    assert!(!out.stderr.contains(SECRET), "{}", out.stderr);
}

#[test]
fn redaction_hides_secrets_from_checks_unless_named() {
    let env = env_with_repo();
    let check = "echo DEPLOY_KEY is ${DEPLOY_KEY:-gone}; test -n \"$DEPLOY_KEY\"";
    let verify = |more: &[&str]| {
        let args = ["verify", "--check", check, "--format", "json"];
        env.selvedge(args.iter().chain(more))
            .env("DEPLOY_KEY", SECRET)
            .run()
    };
    let out = verify(&[]);
    out.assert_code(1);
    let reason = out.json()["checks"][0]["reason"].to_string();
    assert!(
        reason.contains("DEPLOY_KEY, which checks can read only if"),
        "{reason}"
    );
    let out = verify(&["--check-env", "DEPLOY_KEY"]);
    out.assert_code(0);
    assert!(
        out.stdout.contains("is [redacted:DEPLOY_KEY]"),
        "{}",
        out.stdout
    );
}

#[test]
fn redaction_covers_everything_sent_to_a_hub() {
    let fleet = HubFixture::new("sh \"$root/leak.sh\" 1; echo good > out");
    let [_, check] = leaks(&fleet.env);
    let worker = fleet.worker_with("one", &[("DEPLOY_KEY", SECRET)]);
    let task = fleet.submit(&check, &["--retries", "1"]);
    let out = fleet.watch(&task);
    out.assert_code(1);
    assert_clean_output(&out);
    let repo = fleet.env.work_dir().display().to_string();
    let submit = |description: &str, check: &str| {
        let args = [
            "submit",
            description,
            "--repo",
            &repo,
            "--check",
            check,
            "--format",
            "json",
        ];
        fleet.command(&args).env("DEPLOY_KEY", SECRET).run()
    };
    let out = submit(&format!("log in with {SECRET}"), "true");
    out.assert_code(0);
    assert!(out.stderr.contains("[redacted:"), "{}", out.stderr);
    let redacted = out.json()["task_id"].as_str().unwrap().to_owned();
    let redacted = fleet.run(&["show", &redacted, "--format", "json"]);
    assert!(
        redacted
            .stdout
            .contains("log in with [redacted:DEPLOY_KEY]"),
        "{}",
        redacted.stdout
    );
    let refused = submit("do it", &format!("test '{SECRET}'"));
    refused.assert_code(2);
    assert!(refused.stderr.contains("DEPLOY_KEY"), "{}", refused.stderr);
    let story = fleet.run(&["show", &task, "--format", "json"]);
    assert!(
        story.stdout.contains("[redacted:DEPLOY_KEY]"),
        "{}",
        story.stdout
    );
    assert_clean_output(&story);
    worker.terminate();
    assert_clean_output(&worker.wait());
    for folder in ["state", "one", "hub"] {
        let folder = fleet.env.root().join(folder);
        if folder.exists() {
            assert_clean_folder(&folder);
        }
    }
}
