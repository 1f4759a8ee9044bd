//! The GitHub Action: its steps are read from `action.yml` and run by a shell with the variables that GitHub
//! sets, as the runner would run them. Releases and GitHub's API are on loopback. Also the script of GitLab's
//! component.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use selvedge_testkit::{CommandOutput, TestEnv};
use serde_json::json;

use crate::fixtures::{agent, env_with_repo, has_program, make_executable};

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
/// line. The only step that is another action restores a cache: a test does that by its `RUNNER_TEMP`.
fn read() -> (Vec<Step>, BTreeMap<String, String>) {
    let text = fs::read_to_string(folder().join("action.yml")).unwrap();
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
            ("runs", 6, "uses") => {
                assert!(value.starts_with("actions/cache@"), "{value}");
                drop(steps.pop());
                section = "cache";
            }
            ("cache", 4, "- name") => {
                section = "runs";
                steps.push(Step::default());
            }
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
    job_with(env, with, path, &[])
}

/// Runs the steps with more variables of the runner.
fn job_with(env: &TestEnv, with: &[(&str, &str)], path: &str, variables: &[(&str, &str)]) -> Job {
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
    fs::create_dir_all(&temporary).unwrap();
    let summary = temporary.join("summary");
    let mut values: BTreeMap<String, String> = inputs
        .iter()
        .map(|(name, value)| (format!("inputs.{name}"), value.clone()))
        .collect();
    for (name, value) in [
        ("github.action_ref", "main"),
        ("github.action_repository", "owner/selvedge"),
        ("github.event.pull_request.number", "7"),
    ] {
        values.insert(name.to_owned(), value.to_owned());
    }
    let mut job = Job {
        log: String::new(),
        code: 0,
        outputs: BTreeMap::new(),
        summary: String::new(),
    };
    for step in steps {
        let output_file = temporary.join(format!("output-{}", step.id));
        fs::write(&output_file, "").unwrap();
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
        for (name, value) in variables {
            shell = shell.env(name, value);
        }
        let CommandOutput {
            stdout,
            stderr,
            code,
        } = shell.run();
        (job.log, job.code) = (job.log + &stdout + &stderr, code);
        let outputs = fs::read_to_string(&output_file).unwrap();
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
    job.summary = fs::read_to_string(summary).unwrap_or_default();
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
    let cargo = fs::read_to_string(env.root().join("cargo")).unwrap();
    assert!(
        cargo.contains("install --locked") && cargo.trim().ends_with("/crates/selvedge"),
        "{cargo}"
    );
}

/// A request: its method, its path, and its body.
type Request<'a> = (&'a str, &'a str, &'a str);

/// Answers requests on loopback, one after the other, by the status and the body that `answer` returns.
fn serve(answer: impl Fn(Request<'_>) -> (u16, Vec<u8>) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut head = Vec::new();
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|length| length > 2) {
                head.push(std::mem::take(&mut line).trim().to_owned());
            }
            let length = head.iter().find_map(|it| {
                it.to_lowercase()
                    .strip_prefix("content-length: ")?
                    .parse()
                    .ok()
            });
            let mut body = vec![0; length.unwrap_or(0)];
            stream.read_exact(&mut body).unwrap();
            let mut words = head.first().map_or("", String::as_str).split(' ');
            let (method, path) = (
                words.next().unwrap_or_default(),
                words.next().unwrap_or_default(),
            );
            let (status, content) = answer((method, path, &String::from_utf8_lossy(&body)));
            let head = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
                content.len()
            );
            let stream = stream.get_mut();
            let _ = stream
                .write_all(head.as_bytes())
                .and_then(|()| stream.write_all(&content));
        }
    });
    address
}

/// A release with an archive for this machine, whose program is the tested one.
struct Release {
    address: String,
    sha256: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Release {
    const VERSION: &str = "9.8.7";

    fn publish(env: &TestEnv) -> Self {
        let system = if cfg!(target_os = "macos") {
            "apple-darwin"
        } else {
            "unknown-linux-musl"
        };
        let name = format!(
            "selvedge-{}-{}-{system}",
            Self::VERSION,
            std::env::consts::ARCH
        );
        let script = format!(
            "#!/bin/sh\nexec '{}' \"$@\"\n",
            env!("CARGO_BIN_EXE_selvedge")
        );
        make_executable(&env.write(format!("../release/{name}/selvedge"), script));
        let pack = "tar -czf \"$1.tar.gz\" \"$1\" && { sha256sum \"$1.tar.gz\" || shasum -a 256 \"$1.tar.gz\"; }";
        let packed = env
            .command("sh")
            .args(["-c", pack, "sh", &name])
            .dir("../release")
            .run();
        packed.assert_success();
        let archive = fs::read(env.root().join(format!("release/{name}.tar.gz"))).unwrap();
        let checksums = packed.stdout.clone();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&requests);
        let address = serve(move |(_, path, _)| {
            log.lock().unwrap().push(path.to_owned());
            if path == format!("/v{}/{name}.tar.gz", Self::VERSION) {
                (200, archive.clone())
            } else if path == format!("/v{}/SHA256SUMS", Self::VERSION) {
                (200, checksums.clone().into_bytes())
            } else {
                (404, Vec::new())
            }
        });
        let sha256 = packed.stdout.split(' ').next().unwrap().to_owned();
        Self {
            address,
            sha256,
            requests,
        }
    }

    fn requests(&self) -> Vec<String> {
        std::mem::take(&mut self.requests.lock().unwrap())
    }
}

#[test]
fn action_downloads_a_release_by_its_checksum() {
    if !has_program("curl") {
        return;
    }
    let env = env_with_repo();
    let release = Release::publish(&env);
    let with = |sha256: &'static str| {
        [
            ("version", Release::VERSION),
            ("sha256", sha256),
            ("arguments", "--check\ntrue"),
        ]
    };
    let run = |with: &[(&str, &str)]| {
        let download = [("download", release.address.as_str())];
        job(&env, &[with, &download[..]].concat(), &path())
    };
    // A release that is not what was expected is never run.
    let refused = run(&with(
        "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    ));
    assert_eq!(refused.code, 2, "{}", refused.log);
    assert!(
        refused
            .log
            .contains(&format!("has the checksum {}", release.sha256)),
        "{}",
        refused.log
    );
    assert!(!refused.outputs.contains_key("program"));

    release.requests();
    let verified = run(&with(""));
    assert_eq!(
        (verified.code, verified.outputs["outcome"].as_str()),
        (0, "verified"),
        "{}",
        verified.log
    );
    let requests = release.requests();
    assert!(
        requests[0].ends_with("/SHA256SUMS") && requests.len() == 2,
        "{requests:?}"
    );

    // The downloads of an earlier job were restored: with the checksum, nothing is fetched.
    let sha256 = release.sha256.clone().leak();
    assert_eq!(run(&with(sha256)).code, 0);
    assert_eq!(release.requests(), Vec::<String>::new());
    // A restored file that was changed is fetched again.
    let downloads = env.root().join("runner/selvedge-downloads");
    for file in fs::read_dir(downloads).unwrap() {
        fs::write(file.unwrap().path(), "changed").unwrap();
    }
    assert_eq!(run(&with(sha256)).code, 0);
    assert_eq!(release.requests().len(), 1);
}

#[test]
fn action_replaces_its_comment_on_the_pull_request() {
    if !has_program("curl") || !has_program("jq") {
        return;
    }
    let env = env_with_repo();
    let comments = Arc::new(Mutex::new(vec![(1, "a person's comment".to_owned())]));
    let stored = Arc::clone(&comments);
    let api = serve(move |(method, path, body)| {
        let mut comments = stored.lock().unwrap();
        let path = path.split('?').next().unwrap_or_default();
        let text = || {
            serde_json::from_str::<serde_json::Value>(body).unwrap()["body"]
                .as_str()
                .unwrap()
                .to_owned()
        };
        match (
            method,
            path.strip_prefix("/repos/owner/project/issues/").unwrap(),
        ) {
            ("GET", "7/comments") => {
                let list: Vec<_> = comments
                    .iter()
                    .map(|(id, body)| json!({"id": id, "body": body}))
                    .collect();
                (200, serde_json::to_vec(&list).unwrap())
            }
            ("POST", "7/comments") => {
                let id = comments.len() + 1;
                comments.push((id, text()));
                (
                    201,
                    json!({"html_url": format!("https://host/{id}")})
                        .to_string()
                        .into_bytes(),
                )
            }
            ("PATCH", "comments/2") => {
                comments[1].1 = text();
                (200, b"{}".to_vec())
            }
            other => panic!("{other:?}"),
        }
    });
    let variables = [
        ("GITHUB_API_URL", api.as_str()),
        ("GITHUB_REPOSITORY", "owner/project"),
        ("GITHUB_WORKFLOW", "Check"),
        ("GITHUB_JOB", "selvedge"),
    ];
    let run = |check: &str, api: &str| {
        let arguments = format!("--check\n{check}");
        let with = [
            PROGRAM,
            ("arguments", arguments.as_str()),
            ("comment", "true"),
            ("token", "secret-token"),
        ];
        let mut variables = variables;
        variables[0].1 = api;
        let job = job_with(&env, &with, &path(), &variables);
        assert!(!job.log.contains("secret-token"), "{}", job.log);
        job
    };
    let failed = run("false", &api);
    assert_eq!(failed.code, 1, "{}", failed.log);
    assert!(failed.log.contains("https://host/2"), "{}", failed.log);
    assert!(
        comments.lock().unwrap()[1]
            .1
            .contains("Selvedge: not verified")
    );
    assert_eq!(run("true", &api).code, 0);
    let now = comments.lock().unwrap().clone();
    assert_eq!(now.len(), 2, "{now:?}");
    assert!(now[1].1.contains("Selvedge: verified"), "{now:?}");

    // A token that may not comment does not change the verdict.
    let forbidden = serve(|_| (403, Vec::new()));
    let job = run("true", &forbidden);
    assert_eq!(job.code, 0);
    assert!(
        job.log.contains("::warning title=Selvedge::no comment"),
        "{}",
        job.log
    );
}

#[test]
fn gitlab_component_verifies_a_merge_request() {
    if !has_program("curl") {
        return;
    }
    let env = env_with_repo();
    let release = Release::publish(&env);
    env.git(["update-ref", "refs/remotes/origin/main", "HEAD"]);
    env.write(
        "selvedge.toml",
        "[[checks]]\nname = \"answer\"\nrun = \"grep -q 42 answer\"\n",
    );
    env.write("answer", "41\n");
    env.commit("Answer");
    let component = fs::read_to_string(folder().join("../templates/selvedge.yml")).unwrap();
    let (_, script) = component.split_once("  script:\n    - |\n").unwrap();
    let (script, _) = script.split_once("\n  artifacts:").unwrap();
    let script: String = script
        .lines()
        .map(|line| line.trim_start_matches("      ").to_owned() + "\n")
        .collect();
    let download = format!("{}/v{}", release.address, Release::VERSION);
    let run = |sha256: &str| {
        env.command("bash")
            .args(["-c", &script])
            .env("SELVEDGE_VERSION", Release::VERSION)
            .env("SELVEDGE_DOWNLOAD", &download)
            .env("SELVEDGE_SHA256", sha256)
            .env("SELVEDGE_ARGUMENTS", "--check-env CI")
            .env("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main")
            .run()
    };
    run(&"0".repeat(64)).assert_code(1);
    assert_eq!(release.requests().len(), 1);
    let failed = run(&release.sha256);
    failed.assert_code(1);
    assert!(
        env.read("selvedge-codequality.json").contains("answer"),
        "{failed}"
    );
    assert!(
        env.read("selvedge-junit.xml").contains("<failure"),
        "{failed}"
    );
    env.write("answer", "42\n");
    let verified = run(&release.sha256);
    verified.assert_success();
    // The first download was that of another checksum.
    assert_eq!(release.requests(), [] as [String; 0]);
    assert!(
        !env.git(["status", "--porcelain"])
            .contains(".selvedge-program")
    );
}
