//! `cargo xtask e2e`: the end-to-end suite (`crates/selvedge/tests/e2e`) with real agents and test
//! runners. They are installed from npm and pip into folders under `target`, with the versions pinned
//! in the suite; each Python agent has its own folder. Nothing is installed elsewhere. Fails if npm,
//! python3 or their registries are missing; never skips.
//!
//! `--install` only installs them. `--short`, as in CI, leaves out what every agent would repeat of one program of ours.
//! `--newest` tries the newest version of every agent instead, in separate folders, and reports which versions failed
//! which scenarios.

mod matrix;
mod newest;

use std::ffi::OsString;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::ScopedJoinHandle;

use self::matrix::{AGENTS, AgentMatrix, GATE};
use self::newest::package_name;
use crate::XtaskResult;
use crate::dist;
use crate::npm;
use crate::program::{self, cargo};
use crate::workspace::{self, CargoMetadata};

/// The folder of the suite, which pins the agents' versions.
const SUITE: &str = "crates/selvedge/tests/e2e";

/// Agents from pip, and the modules that they import. They need conflicting versions of libraries, so each has its own
/// virtual environment.
const AGENTS_IN_PYTHON: [(&str, &str); 2] = [
    ("aider", "aider.main, aider.coders, litellm"),
    (
        "mini",
        "minisweagent.run.mini, minisweagent.models.litellm_model, minisweagent.environments.local, litellm",
    ),
];

/// The module of the tests that install packages of a release.
const PACKAGE_TESTS: &str = "dist";
/// The folder of the packages; if it is set, they are not written again.
const PACKAGES: &str = "SELVEDGE_E2E_PACKAGES";

/// The targets of a release.
const RELEASE_TARGETS: [&str; 4] = [
    "x86_64-unknown-linux-musl",
    "aarch64-unknown-linux-musl",
    "x86_64-apple-darwin",
    "aarch64-apple-darwin",
];

/// The document that contains the matrices of agents and scenarios.
const DOCUMENT: &str = "docs/reference/agents.md";

/// The number of agents in the matrix of the stop gate.
const GATED_AGENTS: usize = 6;
/// Lines of the document around the matrix of the stop gate, which a run of all of its tests replaces.
const GATE_MARKS: [&str; 2] = [
    "<!-- written by `cargo xtask e2e gate::` -->\n",
    "<!-- end of the matrix -->\n",
];
/// The packages of the agents in that matrix.
const GATE_PACKAGES: [&str; 6] = [
    "@anthropic-ai/claude-code",
    "@github/copilot",
    "@google/gemini-cli",
    "@openai/codex",
    "@qwen-code/qwen-code",
    "opencode-linux-x64",
];

/// Scenarios that the short form leaves out for agents that take long to start: what ends, judges or repeats a session is
/// one program of ours, which the other agents play. The success of an agent is the end of its `fail_then_fix`; those
/// that take longest play only the success.
const REPEATED: [(&str, &[&str], &[&str]); 5] = [
    (
        "agents",
        &["hang", "judge", "killed", "success"],
        &["acp_copilot", "acp_droid", "acp_gemini"],
    ),
    (
        "agents",
        &["fail_then_fix", "hang", "judge", "killed", "refused"],
        &["acp_opencode", "acp_qwen"],
    ),
    (
        "agents",
        &[
            "fail_then_fix",
            "hang",
            "judge",
            "killed",
            "overloaded",
            "turn_limit",
        ],
        &["aider", "mini", "opencode", "qwen"],
    ),
    ("agents", &["hang", "killed"], &["gemini"]),
    (
        "gate",
        &["crash", "give_up", "no_checks", "pass", "two_sessions"],
        &["copilot", "gemini", "opencode", "qwen"],
    ),
];

/// Further tests that it leaves out. Go's standard library is compiled for a minute, which other tests of Go do too.
const REPEATED_TESTS: [&str; 1] = ["builds::go_test"];

/// Runs the suite; `args` are passed to its test runner (names of tests, `--nocapture`, …). Prints the matrices of
/// agents and scenarios. A full run fails if the document contains a different matrix of Selvedge's own agents; the
/// matrix of the stop gate is written to it with its date. With `--newest` as the first argument it runs with the
/// newest agents; with `--short` without scenarios that other agents play too; with `--install` it runs nothing.
pub(crate) fn run(args: &[&str]) -> XtaskResult {
    match args {
        ["--newest", args @ ..] => return newest::run(args),
        ["--install"] => return install(),
        ["--short"] => {
            let tests = repeated_tests().into_iter();
            let skip: Vec<_> = tests.map(|it| format!("--skip={it}")).collect();
            return run(&skip.iter().map(String::as_str).collect::<Vec<_>>());
        }
        _ => {}
    }
    let (ended, agents, gate) = run_suite(&mut suite_command(args)?)?;
    let table = agents.to_markdown();
    for table in [&table, &gate.to_markdown()].into_iter().flatten() {
        println!("{table}");
    }
    if !ended.success() {
        return Err(format!("the end-to-end suite failed: {ended}").into());
    }
    if gate.is_complete(GATED_AGENTS) {
        write_gate_matrix(&gate)?;
    }
    let document = std::fs::read_to_string(workspace::root().join(DOCUMENT))?;
    let differs = args.is_empty() && table.is_some_and(|table| !document.contains(&table));
    if differs {
        return Err(
            format!("{DOCUMENT} has a different matrix: replace it with the one above").into(),
        );
    }
    Ok(())
}

/// The tests that the short form leaves out.
fn repeated_tests() -> Vec<String> {
    let mut tests: Vec<String> = REPEATED_TESTS.map(str::to_owned).into();
    for (kind, scenarios, agents) in REPEATED {
        for agent in agents {
            let of_agent = scenarios.iter().map(|it| format!("{kind}::{agent}::{it}"));
            tests.extend(of_agent);
        }
    }
    tests
}

/// Runs the suite's command, shows its output, and returns its matrices: of Selvedge's own agents, and of the stop gate.
fn run_suite(command: &mut Command) -> XtaskResult<(ExitStatus, AgentMatrix, AgentMatrix)> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let (mut agents, mut gate) = (AgentMatrix::new(AGENTS), AgentMatrix::new(GATE));
    let output = child.stdout.take().ok_or("the suite has no output")?;
    for line in BufReader::new(output).lines() {
        let line = line?;
        println!("{line}");
        agents.read_line(&line);
        gate.read_line(&line);
    }
    Ok((child.wait()?, agents, gate))
}

/// Writes the matrix of the stop gate to the document, with the date and the versions of the agents.
fn write_gate_matrix(gate: &AgentMatrix) -> XtaskResult {
    let path = workspace::root().join(DOCUMENT);
    let document = std::fs::read_to_string(&path)?;
    let [begin, end] = GATE_MARKS;
    let around = document
        .split_once(begin)
        .and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
    let (before, after) = around.ok_or_else(|| format!("{DOCUMENT} has no `{}`", begin.trim()))?;
    let packages = std::fs::read_to_string(workspace::root().join(SUITE).join("package.json"))?;
    let packages: serde_json::Value = serde_json::from_str(&packages)?;
    let versions = GATE_PACKAGES.map(|name| {
        let version = packages["dependencies"][name].as_str().unwrap_or("?");
        format!("`{name}` {version}")
    });
    let mut date = Command::new("date");
    let date = date.args(["-u", "+%Y-%m-%d"]).output()?.stdout;
    let date = String::from_utf8_lossy(&date).trim().to_owned();
    let table = gate.to_markdown().unwrap_or_default();
    let versions = versions.join(",\n");
    let text =
        format!("{before}{begin}\nPlayed on {date} with\n{versions}.\n\n{table}\n{end}{after}");
    std::fs::write(path, text)?;
    Ok(())
}

/// Installs the programs of all tests, without the packages of Selvedge.
fn install() -> XtaskResult {
    std::thread::scope(|scope| {
        let agents = scope.spawn(AgentPrograms::install);
        let managers = scope.spawn(PackageManagers::install);
        join(agents)?;
        join(managers).map(drop)
    })
}

/// Installs what the selected tests need; returns the command that runs them.
pub(crate) fn suite_command(args: &[&str]) -> XtaskResult<Command> {
    let mut tests = test_command(args);
    let filters: Vec<_> = args.iter().filter(|it| !it.starts_with('-')).collect();
    let is_about_packages = |filter: &&&str| filter.starts_with(PACKAGE_TESTS);
    let needs_agents = filters.is_empty() || !filters.iter().all(is_about_packages);
    let needs_packages = filters.is_empty() || filters.iter().any(is_about_packages);
    // Installing mostly waits for registries, and packing is done by one core.
    let (agents, packages) = std::thread::scope(|scope| {
        let agents = needs_agents.then(|| scope.spawn(AgentPrograms::install));
        let packages = needs_packages.then(|| scope.spawn(PackagePrograms::install));
        (agents.map(join), packages.map(join))
    });
    if let Some(agents) = agents {
        agents?.set_variables(&mut tests)?;
    }
    if let Some(packages) = packages {
        packages?.set_variables(&mut tests)?;
    }
    Ok(tests)
}

/// Waits for a thread, and panics if it did.
fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    let joined = thread.join();
    joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

fn test_command(args: &[&str]) -> Command {
    let mut tests = cargo(["test", "--workspace", "--test", "e2e", "--"]);
    tests.args(args);
    tests
}

/// Folders with the programs of agents and test runners.
struct AgentPrograms {
    npm: PathBuf,
    /// Test runners.
    python: PathBuf,
    /// The agents of Python, each in its own environment.
    python_agents: Vec<PathBuf>,
}

impl AgentPrograms {
    fn install() -> XtaskResult<Self> {
        std::thread::scope(|scope| {
            let npm = scope.spawn(|| install_npm("", "e2e-agents"));
            let python = scope.spawn(|| install_python("python", "requirements.txt", None));
            let python_agents = AGENTS_IN_PYTHON.map(|(name, modules)| {
                let requirements = format!("requirements-{name}.txt");
                scope.spawn(move || install_python(name, &requirements, Some(modules)))
            });
            Ok(Self {
                npm: join(npm)?,
                python: join(python)?,
                python_agents: python_agents
                    .into_iter()
                    .map(join)
                    .collect::<XtaskResult<_>>()?,
            })
        })
    }

    /// Lets the suite use the programs.
    fn set_variables(&self, tests: &mut Command) -> XtaskResult {
        let folders = std::iter::once(&self.npm).chain(&self.python_agents);
        tests
            .env("PATH", path_with(&[&self.npm, &self.python])?)
            .env("SELVEDGE_E2E_PROGRAMS", std::env::join_paths(folders)?);
        Ok(())
    }
}

/// Folders of package managers.
struct PackageManagers {
    npm: PathBuf,
    pip: PathBuf,
}

impl PackageManagers {
    fn install() -> XtaskResult<Self> {
        std::thread::scope(|scope| {
            let npm = scope.spawn(|| install_npm("dist", "e2e-dist-npm"));
            let pip = install_python("dist", "dist/requirements.txt", None);
            Ok(Self {
                npm: join(npm)?,
                pip: pip?,
            })
        })
    }
}

/// Package managers, and packages of the program.
struct PackagePrograms {
    managers: PackageManagers,
    /// None: the packages of the variable `PACKAGES`.
    packages: Option<PathBuf>,
}

impl PackagePrograms {
    fn install() -> XtaskResult<Self> {
        std::thread::scope(|scope| {
            let managers = scope.spawn(PackageManagers::install);
            let packages = match std::env::var_os(PACKAGES) {
                Some(_) => None,
                None => Some(write_packages()?),
            };
            Ok(Self {
                managers: join(managers)?,
                packages,
            })
        })
    }

    /// Lets the suite use the programs.
    fn set_variables(&self, tests: &mut Command) -> XtaskResult {
        let folders = std::env::join_paths([&self.managers.npm, &self.managers.pip])?;
        tests.env("SELVEDGE_E2E_DIST_PROGRAMS", folders);
        if let Some(packages) = &self.packages {
            tests.env(PACKAGES, packages);
        }
        Ok(())
    }
}

/// Writes the packages of the debug program, without symbols; returns their folder.
fn write_packages() -> XtaskResult<PathBuf> {
    program::run(&mut cargo(["build", "--workspace", "--bin", "selvedge"]))?;
    let metadata = CargoMetadata::workspace_only()?;
    let folder = metadata.target_directory.join("e2e-packages");
    if folder.exists() {
        std::fs::remove_dir_all(&folder)?;
    }
    let (packages, index) = (folder.join("packages"), folder.join("index"));
    std::fs::create_dir_all(&packages)?;
    std::fs::create_dir_all(&index)?;
    let stripped = folder.join("selvedge");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped);
    program::run(strip.arg(metadata.target_directory.join("debug/selvedge")))?;
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let (stripped, folder_of_packages) = (path(&stripped), path(&packages));
    // A check that is quick; those of a release are in its workflow.
    let check = ["attest", "--check", "bash -n .ci/run"];
    let common = ["--program", &stripped, "--output", &folder_of_packages];
    dist::run(&[&check[..], &common].concat())?;
    // The best compression takes a minute.
    dist::run(&[&common[..], &["--compression", "1"]].concat())?;
    // The files of Homebrew and the AUR need an archive of each target.
    for triple in RELEASE_TARGETS {
        let version = &metadata.package("selvedge")?.version;
        std::fs::write(
            index.join(format!("selvedge-{version}-{triple}.tar.gz")),
            triple,
        )?;
    }
    dist::run(&["index", "--output", &path(&index)])?;
    Ok(folder)
}

/// Installs the pinned packages of a folder of the suite with npm; returns the folder of their programs.
fn install_npm(folder: &str, name: &str) -> XtaskResult<PathBuf> {
    let suite = Path::new(SUITE).join(folder);
    npm::install_pinned(&suite, name).map(|target| programs_in(&target))
}

/// Creates a virtual environment with the pinned packages; returns the folder of its programs. Agents run where they
/// cannot write byte code, so it is written here: that of `modules` and what they import, or of everything. Agents use
/// a tenth of their libraries.
fn install_python(name: &str, requirements: &str, modules: Option<&str>) -> XtaskResult<PathBuf> {
    let pinned = workspace::root().join(SUITE).join(requirements);
    let target = CargoMetadata::workspace_only()?.target_directory;
    let scratch = target.join(format!("e2e-{name}"));
    let (programs, installed_lock) = (scratch.join("bin"), scratch.join("installed.txt"));
    let pinned_lock = std::fs::read(&pinned)?;
    if std::fs::read(&installed_lock).is_ok_and(|installed| installed == pinned_lock) {
        return Ok(programs);
    }
    // Only pip reads the settings of pip, without which a registry may be out of reach.
    if install_by_uv(&target, &scratch, &pinned, modules.is_none()).is_err() {
        create_environment(&scratch, &[])?;
        let mut pip = Command::new(programs.join("python3"));
        pip.args(["-m", "pip", "install", "--quiet", "--requirement"])
            .arg(&pinned);
        program::run(&mut pip).map_err(|error| {
            format!(
                "{error}\nthe end-to-end suite installs {SUITE}/{requirements} with pip into {}; it needs a \
                 reachable registry",
                scratch.display()
            )
        })?;
    }
    if let Some(modules) = modules {
        let mut python = Command::new(programs.join("python3"));
        python.args(["-c", &format!("import {modules}")]);
        program::run(python.env_remove("PYTHONDONTWRITEBYTECODE"))?;
    }
    std::fs::write(installed_lock, pinned_lock)?;
    Ok(programs)
}

/// Installs requirements by uv, which takes a third of pip's time.
fn install_by_uv(target: &Path, scratch: &Path, requirements: &Path, compile: bool) -> XtaskResult {
    /// Environments are created at the same time.
    static UV: Mutex<Option<PathBuf>> = Mutex::new(None);
    let mut installed = UV.lock().unwrap_or_else(PoisonError::into_inner);
    let uv = match installed.take() {
        Some(uv) => uv,
        None => install_uv(target)?,
    };
    *installed = Some(uv.clone());
    drop(installed);
    create_environment(scratch, &["--without-pip"])?;
    let mut install = Command::new(uv);
    install
        .args(["pip", "install", "--quiet"])
        .args(compile.then_some("--compile-bytecode"))
        .arg("--python")
        .arg(scratch.join("bin/python3"))
        .arg("--requirement")
        .arg(requirements);
    program::run(&mut install)
}

/// Installs the pinned uv in an environment of its own, unless it is there.
fn install_uv(target: &Path) -> XtaskResult<PathBuf> {
    let requirements = workspace::root().join(SUITE).join("dist/requirements.txt");
    let pinned = std::fs::read_to_string(requirements)?;
    let pinned = pinned.lines().find(|line| package_name(line) == "uv");
    let pinned = pinned.ok_or("dist/requirements.txt pins no uv")?;
    let scratch = target.join("e2e-uv");
    let (uv, installed) = (scratch.join("bin/uv"), scratch.join("installed.txt"));
    if std::fs::read_to_string(&installed).is_ok_and(|line| line == pinned) {
        return Ok(uv);
    }
    create_environment(&scratch, &[])?;
    let mut pip = Command::new(scratch.join("bin/python3"));
    program::run(pip.args(["-m", "pip", "install", "--quiet", pinned]))?;
    std::fs::write(installed, pinned)?;
    Ok(uv)
}

fn create_environment(scratch: &Path, options: &[&str]) -> XtaskResult {
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).args(options);
    program::run(make.arg(scratch))
}

fn programs_in(scratch: &Path) -> PathBuf {
    scratch.join("node_modules/.bin")
}

/// The search path with these folders first, so that the installed programs take precedence over the
/// machine's.
fn path_with(programs: &[&Path]) -> XtaskResult<OsString> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = programs.iter().map(|folder| folder.to_path_buf());
    let parts = first.chain(std::env::split_paths(&path));
    Ok(std::env::join_paths(parts)?)
}
