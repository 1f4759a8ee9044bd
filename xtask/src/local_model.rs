//! `cargo xtask local-model`: one tiny task through the whole loop with a real model, so that one path has no
//! script in it at all. No weights are shipped or fetched: either a server that runs already is named, or a
//! file in GGUF, which llama.cpp's server from pip then serves on loopback. Opt-in, and slow on a CPU.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::Done;
use crate::program::{self, cargo};
use crate::workspace::Metadata;

/// What the model is asked for: small enough for a small model, and nothing that a check cannot see.
const TASK: &str = "Write a file named answer.txt that holds the word done.";
const CHECK: &str = "grep -qi done answer.txt";

/// The server of models, by its package; its wheel may have to be compiled.
const SERVER: &str = "llama-cpp-python[server]";
/// How long a server may take to load its model.
const PATIENCE: Duration = Duration::from_mins(5);

const USAGE: &str = "\
usage: cargo xtask local-model --server URL --model NAME   a server compatible with OpenAI's, such as
                                                           http://127.0.0.1:11434/v1 (Ollama's)
       cargo xtask local-model --gguf FILE                 a file of weights, served by llama.cpp";

/// A server that is ended with us.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // One that is gone already is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Takes the task through the loop, with the model that is named.
pub(crate) fn run(args: &[&str]) -> Done {
    match args {
        ["--server", url, "--model", model] => loop_with(url, model),
        ["--gguf", file] => {
            let (server, url) = serve(Path::new(file))?;
            let done = loop_with(&url, "local");
            drop(server);
            done
        }
        _ => Err(USAGE.into()),
    }
}

/// Serves a file of weights on a free port of loopback.
fn serve(weights: &Path) -> Done<(Server, String)> {
    if !weights.is_file() {
        return Err(format!("{}: no such file", weights.display()).into());
    }
    let python = install()?;
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let mut server = Command::new(python);
    server
        .args([
            "-m",
            "llama_cpp.server",
            "--host",
            "127.0.0.1",
            "--model_alias",
            "local",
        ])
        .args(["--port", &port.to_string(), "--n_ctx", "8192", "--model"])
        .arg(weights)
        .stdin(Stdio::null());
    let server = Server(server.spawn()?);
    let began = Instant::now();
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        if began.elapsed() > PATIENCE {
            return Err("the server of the model does not answer".into());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    Ok((server, format!("http://127.0.0.1:{port}/v1")))
}

/// Makes a virtual environment with the server; gives its Python.
fn install() -> Done<PathBuf> {
    let scratch = Metadata::own()?.target_directory.join("local-model");
    let python = scratch.join("bin/python3");
    let has_it = Command::new(&python)
        .args(["-c", "import llama_cpp.server"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !has_it {
        let mut make = Command::new("python3");
        program::run(make.args(["-m", "venv", "--clear"]).arg(&scratch))?;
        let mut pip = Command::new(&python);
        program::run(pip.args(["-m", "pip", "install", "--quiet", SERVER]))?;
    }
    Ok(python)
}

/// The task by our own session, in a repository that is gone afterwards.
fn loop_with(url: &str, model: &str) -> Done {
    program::run(&mut cargo(["build", "--quiet", "--package", "selvedge"]))?;
    let binary = Metadata::own()?.target_directory.join("debug/selvedge");
    let place = tempfile::tempdir()?;
    let work = place.path().join("work");
    std::fs::create_dir(&work)?;
    let mut init = Command::new("git");
    program::run(init.args(["init", "--quiet"]).current_dir(&work))?;
    let config = place.path().join("selvedge");
    std::fs::create_dir(&config)?;
    let [url, model] = [url, &format!("openai/{model}")].map(serde_json::Value::from);
    std::fs::write(
        config.join("config.toml"),
        format!("[agents.local]\nkind = \"api\"\nmodel = {model}\nbase_url = {url}\n"),
    )?;
    let mut run = Command::new(binary);
    run.args(["run", TASK, "--agent", "local", "--check", CHECK])
        .args(["--timeout", "10m", "--max-turns", "20"])
        .current_dir(&work)
        .env("XDG_CONFIG_HOME", place.path())
        .env("XDG_STATE_HOME", place.path().join("state"));
    program::run(&mut run)
}
