//! `cargo xtask e2e --newest`: the scenarios of the agents with the newest versions in their registries, for a
//! scheduled job. It fails if a version does, and names the version and the scenarios.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use super::{
    AGENTS_IN_PYTHON, AgentPrograms, SUITE, create_environment, install_python, programs_in,
    run_suite, test_command,
};
use crate::XtaskResult;
use crate::npm::MANIFESTS;
use crate::program;
use crate::workspace::{self, CargoMetadata};

/// The npm packages of the agents, and the names of their rows in the matrix.
const AGENTS_IN_NPM: [(&str, &[&str]); 8] = [
    ("@agentclientprotocol/codex-acp", &["acp-codex"]),
    ("@anthropic-ai/claude-code", &["claude"]),
    ("@factory/cli-linux-x64", &["acp-droid"]),
    ("@github/copilot", &["acp-copilot"]),
    ("@google/gemini-cli", &["gemini", "acp-gemini"]),
    ("@openai/codex", &["codex"]),
    ("@qwen-code/qwen-code", &["qwen", "acp-qwen"]),
    ("opencode-linux-x64", &["opencode", "acp-opencode"]),
];
/// The Python packages of the agents.
const PYTHON_PACKAGES: [(&str, &str); 2] = [("aider", "aider-chat"), ("mini", "mini-swe-agent")];

/// An agent's versions.
struct AgentVersion {
    package: &'static str,
    /// Rows of the matrix.
    rows: Vec<String>,
    pinned: String,
    newest: String,
}

/// Installs the newest agents, runs their scenarios, and reports each version.
pub(super) fn run(args: &[&str]) -> XtaskResult {
    let target = CargoMetadata::workspace_only()?.target_directory;
    let npm = target.join("e2e-agents-newest");
    install_npm(&npm)?;
    let mut versions = npm_versions(&npm)?;
    let mut python_agents = Vec::new();
    for (name, package) in PYTHON_PACKAGES {
        let (folder, version) = install_newest_python(&target, name, package)?;
        python_agents.push(folder);
        versions.push(version);
    }
    // Test runners stay as pinned.
    let python = install_python("python", "requirements.txt", None)?;
    let filters = match args {
        [] => &["agents::", "claude_code::", "usage_limits::"],
        args => args,
    };
    let mut tests = test_command(filters);
    let programs = AgentPrograms {
        npm: programs_in(&npm),
        python,
        python_agents,
    };
    programs.set_variables(&mut tests)?;
    let (ended, matrix, _) = run_suite(&mut tests)?;
    let mut rows = versions.iter().flat_map(|version| &version.rows);
    if !ended.success() && !rows.any(|row| matrix.has_agent(row)) {
        return Err(format!("the end-to-end suite did not run: {ended}").into());
    }
    let mut report = String::from("| agent | pinned | newest | result |\n|---|---|---|---|\n");
    let mut has_failed = !ended.success();
    for version in &versions {
        let AgentVersion {
            package,
            pinned,
            newest,
            ..
        } = version;
        let rows = version.rows.iter();
        let failed: Vec<_> = rows.flat_map(|row| matrix.failures(row)).collect();
        has_failed |= !failed.is_empty();
        let result = match failed.as_slice() {
            _ if !version.rows.iter().any(|row| matrix.has_agent(row)) => "not run".to_owned(),
            [] => "✓".to_owned(),
            failed => format!("✗ {}", failed.join(", ")),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(report, "| `{package}` | {pinned} | {newest} | {result} |");
    }
    println!("{report}");
    if has_failed {
        return Err("a newest version of an agent fails: see the table above".into());
    }
    Ok(())
}

/// Installs the suite's npm packages with the agents at their newest versions; every time again, because these change.
fn install_npm(scratch: &Path) -> XtaskResult {
    let suite = workspace::root().join(SUITE);
    std::fs::create_dir_all(scratch)?;
    for file in MANIFESTS
        .iter()
        .filter(|file| **file != "package-lock.json")
    {
        std::fs::copy(suite.join(file), scratch.join(file))
            .map_err(|error| format!("{SUITE}/{file}: {error}"))?;
    }
    let mut manifest = pinned_manifest()?;
    if let Some(Value::Object(dependencies)) = manifest.get_mut("dependencies") {
        for (package, _) in AGENTS_IN_NPM {
            dependencies.insert(package.to_owned(), "latest".into());
        }
    }
    std::fs::write(
        scratch.join("package.json"),
        Value::Object(manifest).to_string(),
    )?;
    // Otherwise npm keeps what is installed.
    let _ = std::fs::remove_file(scratch.join("package-lock.json"));
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"])
        .current_dir(scratch);
    program::run(&mut npm)
}

fn pinned_manifest() -> XtaskResult<Map<String, Value>> {
    let path = workspace::root().join(SUITE).join("package.json");
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

fn npm_versions(scratch: &Path) -> XtaskResult<Vec<AgentVersion>> {
    let pinned = pinned_manifest()?;
    let text = |value: Option<&Value>| {
        let text = value.and_then(Value::as_str);
        text.unwrap_or("unknown").to_owned()
    };
    let mut versions = Vec::new();
    for (package, rows) in AGENTS_IN_NPM {
        let folder = scratch.join("node_modules").join(package);
        let manifest = std::fs::read(folder.join("package.json"))?;
        let installed: Value = serde_json::from_slice(&manifest)?;
        let pinned = pinned.get("dependencies").and_then(|all| all.get(package));
        versions.push(AgentVersion {
            package,
            rows: rows.iter().map(|row| (*row).to_owned()).collect(),
            pinned: text(pinned),
            newest: text(installed.get("version")),
        });
    }
    Ok(versions)
}

/// Installs the newest version of an agent into a virtual environment; returns the folder of its programs.
fn install_newest_python(
    target: &Path,
    name: &str,
    package: &'static str,
) -> XtaskResult<(PathBuf, AgentVersion)> {
    debug_assert!(AGENTS_IN_PYTHON.iter().any(|(agent, _)| *agent == name));
    let requirements = format!("{SUITE}/requirements-{name}.txt");
    let pinned = std::fs::read_to_string(workspace::root().join(&requirements))
        .map_err(|error| format!("{requirements}: {error}"))?;
    let packages = pinned.lines().map(package_name);
    let scratch = target.join(format!("e2e-{name}-newest"));
    let programs = scratch.join("bin");
    let python = programs.join("python3");
    if !python.exists() {
        create_environment(&scratch, &[])?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--upgrade"])
        .args(packages);
    program::run(&mut pip)?;
    let show = format!("import importlib.metadata as it; print(it.version('{package}'))");
    let shown = Command::new(&python).args(["-c", &show]).output()?;
    let line = pinned.lines().find(|line| package_name(line) == package);
    Ok((
        programs,
        AgentVersion {
            package,
            rows: vec![name.to_owned()],
            pinned: line
                .and_then(|line| line.split_once("=="))
                .map_or("unknown", |(_, version)| version)
                .to_owned(),
            newest: String::from_utf8_lossy(&shown.stdout).trim().to_owned(),
        },
    ))
}

/// The name in a line such as `aider-chat==0.86.2`.
pub(super) fn package_name(line: &str) -> &str {
    line.split("==").next().unwrap_or(line).trim()
}
