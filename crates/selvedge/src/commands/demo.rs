//! `selvedge demo`: a run on a small repository made for it. Only the agent is scripted, and it is labelled as such;
//! git, processes, checks and journal are real.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use selvedge_core::config::{self, Flags};
use selvedge_core::model::{AgentSpec, RunId, Task, exit_code};
use uuid::Uuid;

use super::{environment, load_settings};
use crate::cli::DemoArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::print_notice;
use crate::terminal::style;
use crate::{demo, launch, resolve};

/// The name of the demo's agent in all output.
const SCRIPTED_AGENT_NAME: &str = "scripted agent";

pub(super) fn run(args: &DemoArgs) -> Result<u8, CliError> {
    let environment = environment();
    let home = StateDir::from_environment(&environment)?;
    let dir = create_repository(args.dir.as_deref())?;
    let flags = Flags {
        agent: args.agent.clone(),
        ..Flags::default()
    };
    let mut settings = load_settings(&dir, &flags, &environment)?.resolved;
    if args.agent.is_none() {
        let agent = scripted_agent_spec()?;
        settings.agent.clone_from(&agent.name);
        settings.agents.insert(agent.name.clone(), agent);
    }
    print_introduction(&dir, args.agent.as_deref());
    let task = Task {
        description: demo::TASK.to_owned(),
        verification_steps: Some(demo::checks()),
        ..Task::default()
    };
    let resolved = resolve::run_spec(&task, &settings, &dir, true)?;
    resolved.notices.iter().for_each(|text| print_notice(text));
    let run_id = RunId::new(Uuid::now_v7());
    let code = launch::begin(&home, run_id, &resolved.spec, &args.format.into())?;
    if args.agent.is_none() && code == exit_code::VERIFIED {
        print_next_steps();
    }
    Ok(code)
}

fn print_next_steps() {
    let dim = |text: &str| errln!("{}", style::dim(text));
    dim(
        "\nnext, with a real agent: selvedge demo --agent claude (or another one that `selvedge doctor` finds)",
    );
    dim("in your repository:      selvedge init, then selvedge run \"what to do\"");
}

fn print_introduction(dir: &Path, agent: Option<&str>) {
    let dim = |text: String| errln!("{}", style::dim(text));
    dim(format!(
        "demo repository with failing tests: {}",
        dir.display()
    ));
    dim(match agent {
        None => "scripted agent (no model, no cost); everything else is real".to_owned(),
        Some(agent) => format!("real agent `{agent}`"),
    });
    errln!("{} {}\n", style::strong("task:"), demo::TASK);
}

/// This executable in its internal role as an agent, with Claude Code's output format.
fn scripted_agent_spec() -> Result<AgentSpec, CliError> {
    let program = std::env::current_exe().map_err(CliError::infrastructure)?;
    let defaults = config::resolve([]).map_err(CliError::infrastructure)?;
    let claude = defaults.find_agent("claude").cloned();
    let claude = claude.ok_or_else(|| CliError::infrastructure("the built-in agent is missing"))?;
    let argv = [
        program.display().to_string(),
        "__agent".to_owned(),
        "--demo".to_owned(),
    ];
    Ok(AgentSpec {
        name: SCRIPTED_AGENT_NAME.to_owned(),
        program: argv.to_vec(),
        api_retries: 0,
        ..claude
    })
}

fn create_repository(named: Option<&Path>) -> Result<PathBuf, CliError> {
    let failed =
        |error: io::Error| CliError::usage(format!("cannot create the demo repository: {error}"));
    let dir = match named {
        None => tempfile::Builder::new()
            .prefix("selvedge-demo-")
            .tempdir()
            .map_err(failed)?
            .keep(),
        Some(dir) => {
            fs::create_dir_all(dir).map_err(failed)?;
            if fs::read_dir(dir).map_err(failed)?.next().is_some() {
                return Err(CliError::usage(format!("{} is not empty", dir.display()))
                    .hint("use a new or empty directory"));
            }
            dir.to_owned()
        }
    };
    let dir = dir.canonicalize().map_err(failed)?;
    for file in demo::FILES {
        write_file(&dir.join(file.path), file.contents, file.mode).map_err(failed)?;
    }
    git(&dir, &["init", "--quiet"])?;
    git(&dir, &["add", "--all"])?;
    git(
        &dir,
        &[
            "commit",
            "--quiet",
            "--message",
            "A duration that adds up wrong",
        ],
    )?;
    Ok(dir)
}

fn write_file(path: &Path, contents: &str, mode: u32) -> io::Result<()> {
    let mut file = fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.write_all(contents.as_bytes())
}

fn git(dir: &Path, args: &[&str]) -> Result<(), CliError> {
    let settings = [
        "user.name=Selvedge demo",
        "user.email=demo@localhost",
        "commit.gpgsign=false",
        "core.hooksPath=/dev/null",
        "init.defaultBranch=main",
    ];
    let mut command = Command::new("git");
    for setting in settings {
        command.args(["-c", setting]);
    }
    match command
        .args(args)
        .current_dir(dir)
        .stdin(Stdio::null())
        .output()
    {
        Ok(output) if output.status.success() => Ok(()),
        Ok(output) => {
            let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(CliError::infrastructure(format!(
                "git {} failed: {stderr}",
                args.join(" ")
            )))
        }
        Err(error) => {
            Err(CliError::usage(format!("cannot run git: {error}"))
                .hint("install git 2.36 or later"))
        }
    }
}
