//! Attestations through the program: written by verifications and runs, checked against a tree by anybody with
//! the public key, and invalid once anything differs.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::Value;

use crate::fixtures::{agent, env_with_repo, make_executable, run_json};

/// A project with a check that passes, and a key.
fn project() -> TestEnv {
    let env = env_with_repo();
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"test -s answer\"\n",
    );
    env.write("answer", "42\n");
    env.write("answers/more", "43\n");
    env.write(".gitignore", "ignored\n");
    env.write("ignored", "of no interest\n");
    make_executable(&env.write("run.sh", "#!/bin/sh\n"));
    symlink("answer", env.work_dir().join("link")).unwrap();
    env.commit("Answer");
    env.selvedge(["attest", "keygen", "../key"])
        .run()
        .assert_code(0);
    env
}

const SIGNED: [&str; 4] = ["--attest", "../a.json", "--attest-key", "../key"];

fn attested(env: &TestEnv, command: &[&str]) -> CommandOutput {
    env.selvedge(command.iter().chain(&SIGNED)).run()
}

fn check(env: &TestEnv, more: &[&str]) -> CommandOutput {
    env.selvedge(["attest", "verify", "../a.json"].iter().chain(more))
        .run()
}

const KEY: [&str; 2] = ["--key", "../key.pub"];

/// Returns the statement in the envelope.
fn statement(env: &TestEnv) -> Value {
    let out = env.command("python3").args([
        "-c",
        "import base64, json, sys; print(base64.b64decode(json.load(open(sys.argv[1]))['payload']).decode())",
        "../a.json",
    ]);
    out.run().assert_success().json()
}

#[test]
fn attest_names_the_tree_by_its_git_hash() {
    let env = project();
    attested(&env, &["verify"]).assert_code(0);
    let statement = statement(&env);
    assert_eq!(statement["_type"], "https://in-toto.io/Statement/v1");
    assert_eq!(statement["predicateType"], "urn:selvedge:verification:v1");
    let committed = env.git(["rev-parse", "HEAD^{tree}"]);
    assert_eq!(
        statement["subject"][0]["digest"]["gitTree"],
        committed.trim()
    );
    assert_eq!(statement["predicate"]["outcome"], "verified");
    assert_eq!(statement["predicate"]["checks"][0]["evidence"], "exit_code");
    let out = check(&env, &KEY);
    out.assert_code(0);
    assert!(out.stdout.contains("verified: 1 check passed"), "{out}");
    // In a clone, with nothing but the public key.
    env.git(["clone", "--quiet", ".", "../clone"]);
    check(&env, &["../clone", "--key", "../key.pub"]).assert_code(0);
    // Ignored files are not attested.
    env.write("ignored", "changed\n");
    check(&env, &KEY).assert_code(0);
    let mode = std::fs::metadata(env.root().join("key"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    env.selvedge(["attest", "keygen", "../key"])
        .run()
        .assert_code(2);
}

#[test]
fn attest_verify_detects_any_other_tree() {
    type Edit = fn(&Path);
    let edits: [Edit; 6] = [
        |dir| std::fs::write(dir.join("answer"), "42 \n").unwrap(),
        |dir| std::fs::write(dir.join("new"), "").unwrap(),
        |dir| std::fs::remove_file(dir.join("answers/more")).unwrap(),
        |dir| make_executable(&dir.join("answer")),
        |dir| std::fs::rename(dir.join("answer"), dir.join("answers/answer")).unwrap(),
        |dir| {
            std::fs::remove_file(dir.join("link")).unwrap();
            symlink("run.sh", dir.join("link")).unwrap();
        },
    ];
    for edit in edits {
        let env = project();
        attested(&env, &["verify"]).assert_code(0);
        edit(&env.work_dir());
        let out = check(&env, &KEY);
        out.assert_code(1);
        assert!(out.stderr.contains("the files differ"), "{out}");
    }
}

#[test]
fn attest_verify_accepts_only_the_right_key() {
    let env = project();
    attested(&env, &["verify"]).assert_code(0);
    let out = check(&env, &[]);
    out.assert_code(2);
    assert!(out.stderr.contains("no key was given"), "{out}");
    env.selvedge(["attest", "keygen", "../other"])
        .run()
        .assert_code(0);
    check(&env, &["--key", "../other.pub"]).assert_code(1);
    check(&env, &["--key", "../key"]).assert_code(2);
    check(&env, &["--key", "../nowhere"]).assert_code(2);
    let file = env.root().join("a.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("payloadType\":", "payloadType\" :")).unwrap();
    let out = check(&env, &KEY);
    out.assert_code(1);
    assert!(out.stderr.contains("in the exact format"), "{out}");
    // An attestation without a signature could be from anybody; this is reported.
    env.selvedge(["verify", "--attest", "../a.json"])
        .run()
        .assert_code(0);
    check(&env, &KEY).assert_code(1);
    let out = check(&env, &[]);
    out.assert_code(0);
    assert!(out.stdout.contains("not signed"), "{out}");
    std::fs::write(&file, "{}").unwrap();
    check(&env, &[]).assert_code(1);
    env.selvedge(["attest", "verify", "../nowhere"])
        .run()
        .assert_code(2);
}

#[test]
fn attest_verify_fails_for_failed_verification() {
    let env = project();
    env.write("answer", "");
    attested(&env, &["verify"]).assert_code(1);
    assert_eq!(statement(&env)["predicate"]["outcome"], "not_verified");
    let out = check(&env, &KEY);
    out.assert_code(1);
    assert!(
        out.stdout.contains("not verified: 1 of 1 check failed"),
        "{out}"
    );
}

#[test]
fn attest_of_run_names_agent_and_baseline() {
    let env = project();
    let work = agent(&env, "echo 44 > answers/third");
    let out = run_json(&env, &work, "test -s answers/third", &SIGNED);
    out.assert_code(0);
    let then = statement(&env);
    let run = &then["predicate"]["run"];
    assert_eq!(
        (&run["attempts"], &run["agent"]["kind"]),
        (&1.into(), &"command".into())
    );
    assert_eq!(run["baseline"], serde_json::json!(["fail"]));
    assert_eq!(
        then["predicate"]["checks"][0]["marks"],
        serde_json::json!(["fixed"])
    );
    check(&env, &KEY).assert_code(0);
    // The stored run has the same statement, as long as the workspace contains its tree.
    std::fs::remove_file(env.root().join("a.json")).unwrap();
    attested(&env, &["show", "last"]).assert_code(0);
    assert_eq!(statement(&env), then);
    env.write("answer", "45\n");
    let out = attested(&env, &["show", "last"]);
    out.assert_code(9);
    assert!(
        out.stderr.contains("was changed after the run (answer)"),
        "{out}"
    );
}

#[test]
fn attest_names_files_written_by_the_command_as_not_covered() {
    let env = project();
    let verify = [
        "verify",
        "--junit",
        "out.xml",
        "--attest",
        "a.json",
        "--attest-key",
        "../key",
    ];
    for _ in 0..2 {
        env.selvedge(verify).run().assert_code(0);
        let out = env
            .selvedge(["attest", "verify", "a.json", "--key", "../key.pub"])
            .run();
        out.assert_code(0);
        assert!(out.stdout.contains("not covered: out.xml"), "{out}");
    }
}

#[test]
fn attest_errors_are_found_before_anything_runs() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_selvedge"));
    env.write("a", "b");
    let work = agent(&env, "echo good > out");
    let out = run_json(&env, &work, "true", &["--attest", "../a.json"]);
    out.assert_code(2);
    assert!(
        !env.root().join("prompts/1").exists(),
        "the agent must not have run"
    );
    let key = [
        "verify",
        "--check",
        "true",
        "--attest",
        "../a.json",
        "--attest-key",
        "a",
    ];
    env.selvedge(key).run().assert_code(2);
    // Outside of a repository, a verification covers all files.
    env.selvedge(["verify", "--check", "true", "--attest", "../a.json"])
        .run()
        .assert_code(0);
    check(&env, &[]).assert_code(0);
    env.write("a", "c");
    check(&env, &[]).assert_code(1);
}
