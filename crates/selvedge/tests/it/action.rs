//! The GitHub Action: its steps are read from `action.yml` and run by a shell with the variables that GitHub
//! sets, as the runner would run them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use selvedge_testkit::{CommandOutput, TestEnv};

use crate::fixtures::{agent, env_with_repo, make_executable};

/// A step of the action. The values of `env` are expressions.
#[derive(Debug, Default)]
struct Step {
    id: String,
    env: Vec<(String, String)>,
    run: String,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../action")
}

/// Returns the steps and the defaults of the inputs. Parses only the YAML of `action.yml`, with one key per
/// line, and fails on anything else that it would have to understand.
fn read() -> (Vec<Step>, BTreeMap<String, String>) {
    let text = std::fs::read_to_string(folder().join("action.yml")).unwrap();
    let (mut steps, mut inputs) = (Vec::<Step>::new(), BTreeMap::new());
    let (mut section, mut input) = ("", "");
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let (key, value) = line.trim().split_once(':').unwrap();
        let value = value.trim();
        let quoted = value.strip_prefix('"').and_then(|it| it.strip_suffix('"'));
        let value = quoted.unwrap_or(value).to_owned();
        match (section, depth, key) {
            (_, 0, _) => section = key,
            ("inputs", 2, _) => input = key,
            ("inputs", 4, "default") => drop(inputs.insert(input.to_owned(), value)),
            ("runs", 4, "- name") => steps.push(Step::default()),
            ("runs", 6, "id") => steps.last_mut().unwrap().id = value,
            ("runs", 6, "run") => steps.last_mut().unwrap().run = value,
            ("runs", 6, "shell") => assert_eq!(value, "bash"),
            ("runs", 8, _) => steps.last_mut().unwrap().env.push((key.to_owned(), value)),
            _ => {}
        }
    }
    assert!(
        steps
            .iter()
            .all(|step| !step.run.is_empty() && !step.run.contains("${{")),
        "{steps:?}"
    );
    (steps, inputs)
}

/// The result of a job.
struct Job {
    log: String,
    code: i32,
    outputs: BTreeMap<String, String>,
    summary: String,
}

/// Runs the steps until one fails.
fn job(env: &TestEnv, with: &[(&str, &str)], path: &str) -> Job {
    let (steps, mut inputs) = read();
    for (name, value) in with {
        assert!(
            inputs
                .insert((*name).to_owned(), (*value).to_owned())
                .is_some(),
            "{name}"
        );
    }
    let temporary = env.root().join("runner");
    std::fs::create_dir_all(&temporary).unwrap();
    let summary = temporary.join("summary");
    let mut values: BTreeMap<String, String> = inputs
        .iter()
        .map(|(name, value)| (format!("inputs.{name}"), value.clone()))
        .collect();
    let mut job = Job {
        log: String::new(),
        code: 0,
        outputs: BTreeMap::new(),
        summary: String::new(),
    };
    for step in steps {
        let output_file = temporary.join(format!("output-{}", step.id));
        std::fs::write(&output_file, "").unwrap();
        let mut shell = env
            .command("bash")
            .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", &step.run])
            .env("PATH", path)
            .env("GITHUB_ACTION_PATH", folder())
            .env("GITHUB_OUTPUT", &output_file)
            .env("GITHUB_STEP_SUMMARY", &summary)
            .env("RUNNER_TEMP", &temporary);
        for (name, value) in &step.env {
            let expression = value
                .strip_prefix("${{ ")
                .and_then(|it| it.strip_suffix(" }}"))
                .unwrap();
            shell = shell.env(name, values.get(expression).unwrap());
        }
        let CommandOutput {
            stdout,
            stderr,
            code,
        } = shell.run();
        (job.log, job.code) = (job.log + &stdout + &stderr, code);
        let outputs = std::fs::read_to_string(&output_file).unwrap();
        for (name, value) in outputs.lines().map(|line| line.split_once('=').unwrap()) {
            values.insert(
                format!("steps.{}.outputs.{name}", step.id),
                value.to_owned(),
            );
            job.outputs.insert(name.to_owned(), value.to_owned());
        }
        if code != 0 {
            break;
        }
    }
    job.summary = std::fs::read_to_string(summary).unwrap_or_default();
    job
}

fn path() -> String {
    std::env::var("PATH").unwrap()
}

const PROGRAM: (&str, &str) = ("program", env!("CARGO_BIN_EXE_selvedge"));

#[test]
fn action_fails_the_job_and_annotates_the_failure() {
    let env = env_with_repo();
    env.write("app.c", "int main\n");
    // The output of a check must not be interpreted as commands by GitHub.
    let check = "printf '::set-output name=outcome::verified\\napp.c:1:9: error: ::stop-commands::x\\n'; exit 1";
    env.write(
        "selvedge.toml",
        format!("[[checks]]\nname = \"build\"\nrun = \"\"\"{check}\"\"\"\n"),
    );
    let job = job(&env, &[PROGRAM, ("sarif", "../out.sarif")], &path());
    assert_eq!(job.code, 1, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "not_verified");
    assert_eq!(job.outputs["exit-code"], "1");
    assert!(
        job.summary.starts_with("## ❌ Selvedge: not verified"),
        "{}",
        job.summary
    );
    assert!(env.root().join("out.sarif").is_file());
    assert!(Path::new(&job.outputs["result"]).is_file());

    // Only Selvedge's own commands are outside of the stopped section.
    let (before, rest) = job.log.split_once("::stop-commands::").unwrap();
    let (token, rest) = rest.split_once('\n').unwrap();
    let (_, after) = rest.split_once(&format!("\n::{token}::\n")).unwrap();
    assert!(token.len() == 32 && !before.contains("::"), "{}", job.log);
    let commands: Vec<&str> = after
        .lines()
        .filter(|line| line.starts_with("::"))
        .collect();
    assert!(
        commands[0].starts_with("::error title=Selvedge%3A not verified::"),
        "{commands:?}"
    );
    assert!(
        commands[1].starts_with("::error file=app.c,line=1,col=9,title=build::"),
        "{commands:?}"
    );
}

#[test]
fn action_run_passes_arguments_and_reports_outcome() {
    let env = env_with_repo();
    let work = agent(&env, "echo '\"outcome\":\"failed\"'; echo good > out");
    let arguments = format!("write it\n--agent-cmd\n{work}\n--check\ntest -s out");
    let run = [
        PROGRAM,
        ("command", "run"),
        ("arguments", &arguments),
        ("annotations", "false"),
    ];
    let job = job(&env, &run, &path());
    assert_eq!(job.code, 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "verified");
    assert!(job.summary.contains("write it"), "{}", job.summary);
    assert!(!job.log.contains("::notice"), "{}", job.log);
}

#[test]
fn action_can_ignore_failures_but_requires_checks() {
    let env = env_with_repo();
    let checks = [
        PROGRAM,
        ("arguments", "--check\nfalse"),
        ("fail", "false"),
        ("summary", "false"),
    ];
    let ignored = job(&env, &checks, &path());
    assert_eq!(
        (ignored.code, ignored.outputs["exit-code"].as_str()),
        (0, "1")
    );
    assert_eq!(ignored.summary, "");
    // No checks, and an unknown command.
    let refused = job(&env, &[PROGRAM], &path());
    assert_eq!(
        (refused.code, refused.outputs["outcome"].as_str()),
        (2, "infra_failed")
    );
    assert_eq!(
        job(&env, &[PROGRAM, ("command", "digest; true")], &path()).code,
        2
    );
}

#[test]
fn action_builds_the_program_from_its_own_source() {
    let env = env_with_repo();
    // A shell script in place of cargo that installs the tested program.
    let cargo = env.write(
        "../bin/cargo",
        format!(
            "#!/bin/sh\necho \"$@\" > \"{}/cargo\"\nfor word; do [ \"$last\" = --root ] && root=$word; last=$word; done\n\
             mkdir -p \"$root/bin\"\nln -sf '{}' \"$root/bin/selvedge\"\n",
            env.root().display(),
            env!("CARGO_BIN_EXE_selvedge"),
        ),
    );
    make_executable(&cargo);
    let path = format!("{}:/usr/bin:/bin", env.root().join("bin").display());
    let job = job(&env, &[("arguments", "--check\ntrue")], &path);
    assert_eq!(job.code, 0, "{}", job.log);
    assert_eq!(job.outputs["outcome"], "verified");
    let cargo = std::fs::read_to_string(env.root().join("cargo")).unwrap();
    assert!(
        cargo.contains("install --locked") && cargo.trim().ends_with("/crates/selvedge"),
        "{cargo}"
    );
}
