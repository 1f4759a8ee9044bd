//! `selvedge doctor`: reports what is installed, what works, and what is enforced. Everything is tested when the
//! command runs.

use std::path::Path;
use std::process::Command;

use selvedge_core::config::{Flags, ResolvedConfig};
use selvedge_core::format;
use selvedge_core::model::{CleanupMethod, SandboxBackend, SandboxProfile, SandboxSpec, exit_code};
use selvedge_engine::agents::{check_program, env};
use selvedge_engine::environment::is_this_process_protected;
use selvedge_engine::process::{self, Supervisor};
use selvedge_engine::sandbox::{SandboxContext, WorkspaceSandbox, set_up_sandboxes};
use serde::Serialize;

use super::run_checks::build_runtime;
use super::{canonical_directory, environment, load_settings};
use crate::cli::DoctorArgs;
use crate::error::CliError;
use crate::local::{StateDir, disk};
use crate::output::{OutputFormat, json};
use crate::secrets;
use crate::terminal::{one_line, style};

/// The result of one check of the installation.
#[derive(Debug, Serialize)]
struct DoctorFinding {
    /// The subject of the check.
    what: String,
    /// Whether the check succeeded; `None` if it is optional.
    ok: Option<bool>,
    /// The result, or how to fix the problem.
    found: String,
}

pub(super) fn run(args: &DoctorArgs) -> Result<u8, CliError> {
    let environment = environment();
    let dir = canonical_directory(args.dir.as_deref())?;
    let settings = load_settings(&dir, &Flags::default(), &environment)?.resolved;
    let home = StateDir::from_environment(&environment)?;
    let mut findings = vec![
        check_git(),
        check_state(&home),
        check_disk(&home),
        check_snapshots(&home, &dir),
        check_checks(settings.checks.len()),
    ];
    for (name, agent) in &settings.agents {
        let chosen = *name == settings.agent;
        let (ok, found) = match check_program(agent, &dir) {
            Ok(()) => (Some(true), "program found".to_owned()),
            Err(missing) => (chosen.then_some(false), missing.to_string()),
        };
        let mark = if chosen { " (default)" } else { "" };
        let what = format!("agent {name}{mark}");
        findings.push(DoctorFinding { what, ok, found });
    }
    findings.push(check_process_trees());
    findings.push(check_own_processes());
    findings.extend(check_variables(&settings));
    findings.extend(check_sandbox(&settings, &home, &dir)?);
    match args.format {
        OutputFormat::Json => json::print_json(&findings),
        OutputFormat::Jsonl => findings.iter().for_each(json::print_json),
        OutputFormat::Human => findings
            .iter()
            .for_each(|finding| outln!("{}", finding_line(finding))),
    }
    let sound = findings.iter().all(|finding| finding.ok != Some(false));
    Ok(if sound {
        exit_code::VERIFIED
    } else {
        exit_code::USAGE
    })
}

fn finding_line(finding: &DoctorFinding) -> String {
    let mark = match finding.ok {
        Some(true) => style::good("✓"),
        Some(false) => style::bad("✗"),
        None => style::dim("-"),
    };
    format!(
        "{mark} {:<24} {}",
        finding.what,
        one_line(&finding.found, usize::MAX)
    )
}

fn check_git() -> DoctorFinding {
    let what = "git".to_owned();
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            DoctorFinding {
                what,
                ok: Some(true),
                found,
            }
        }
        _ => DoctorFinding {
            what,
            ok: Some(false),
            found: "not found; install git 2.36 or later".to_owned(),
        },
    }
}

fn check_state(home: &StateDir) -> DoctorFinding {
    let what = "state".to_owned();
    let root = home.root().display();
    let (ok, found) = if home.open_journal().is_ok() {
        (true, root.to_string())
    } else {
        (false, format!("{root} is not writable"))
    };
    DoctorFinding {
        what,
        ok: Some(ok),
        found,
    }
}

/// Disk usage of the state directory: the parts that grow, the largest first.
fn check_disk(home: &StateDir) -> DoctorFinding {
    let parts = [
        "journal.db",
        "runs",
        "shadows",
        "copies",
        "checkouts",
        "baselines",
    ];
    let mut sizes = parts.map(|part| (disk::disk_usage(&home.root().join(part)), part));
    sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
    let shown = sizes.iter().filter(|(bytes, _)| *bytes > 0);
    let shown: Vec<String> = shown
        .map(|(bytes, part)| format!("{part} {}", format::bytes(*bytes)))
        .collect();
    let of_what = match shown.as_slice() {
        [] => String::new(),
        parts => format!(" ({}); free space with `selvedge gc`", parts.join(", ")),
    };
    DoctorFinding {
        what: "disk".to_owned(),
        ok: None,
        found: format!("{}{of_what}", format::bytes(total)),
    }
}

fn check_snapshots(home: &StateDir, dir: &Path) -> DoctorFinding {
    let what = "snapshots".to_owned();
    match home.open_workspace(dir) {
        Ok(workspace) if workspace.is_git() => DoctorFinding {
            what,
            ok: Some(true),
            found: "available: this directory is in a git repository".to_owned(),
        },
        Ok(_) => {
            let found = "not available: not a git repository (run `git init`)".to_owned();
            DoctorFinding {
                what,
                ok: None,
                found,
            }
        }
        Err(error) => DoctorFinding {
            what,
            ok: Some(false),
            found: error.to_string(),
        },
    }
}

fn check_checks(count: usize) -> DoctorFinding {
    let what = "checks".to_owned();
    match count {
        0 => DoctorFinding {
            what,
            ok: None,
            found: "none configured; run `selvedge init` to detect some".to_owned(),
        },
        count => DoctorFinding {
            what,
            ok: Some(true),
            found: format!("{count} configured"),
        },
    }
}

/// Tests every sandbox backend with both profiles, and reports what the settings select.
fn check_sandbox(
    settings: &ResolvedConfig,
    home: &StateDir,
    dir: &Path,
) -> Result<Vec<DoctorFinding>, CliError> {
    let supervisor = Supervisor::this_program();
    let context = SandboxContext {
        workspace: dir.to_owned(),
        state: home.root().to_owned(),
        environment: env::host_env(),
    };
    build_runtime()?.block_on(async {
        let mut findings = Vec::new();
        for backend in SandboxBackend::BUILDERS
            .into_iter()
            .filter(|it| should_probe(*it, settings))
        {
            for profile in [SandboxProfile::Default, SandboxProfile::Strict] {
                let spec = SandboxSpec {
                    backend,
                    agents: profile,
                    checks: profile,
                    container: settings.sandbox.container.clone(),
                    ..SandboxSpec::default()
                };
                let found = match set_up_sandboxes(&spec, &context, &supervisor).await {
                    Ok(sandboxes) => sandboxes
                        .agents
                        .map(|sandbox| sandbox.verified_restrictions().summary()),
                    Err(refused) => Some(refused.reason()),
                };
                findings.push(DoctorFinding {
                    what: format!("sandbox {}", backend.name()),
                    ok: None,
                    found: found.unwrap_or_default(),
                });
            }
            let limits = backend.limits();
            if !limits.is_empty() {
                findings.push(DoctorFinding {
                    what: format!("sandbox {}", backend.name()),
                    ok: None,
                    found: format!("cannot enforce: {}", limits.join("; ")),
                });
            }
        }
        let (ok, found) = match set_up_sandboxes(&settings.sandbox, &context, &supervisor).await {
            Err(refused) => (Some(false), refused.to_string()),
            Ok(sandboxes) => {
                let line = |sandbox: Option<WorkspaceSandbox>| match sandbox {
                    Some(sandbox) => format!(
                        "{}, {}",
                        sandbox.verified_restrictions().backend.name(),
                        sandbox.verified_restrictions().profile.name()
                    ),
                    None => "none".to_owned(),
                };
                let why = sandboxes
                    .unavailable_reason
                    .map(|why| format!(" ({why})"))
                    .unwrap_or_default();
                let (agents, checks) = (line(sandboxes.agents), line(sandboxes.checks));
                let both_sandboxed = agents != "none" && checks != "none";
                (
                    both_sandboxed.then_some(true),
                    format!("agents: {agents}; checks: {checks}{why}"),
                )
            }
        };
        let what = "sandbox".to_owned();
        findings.push(DoctorFinding { what, ok, found });
        Ok(findings)
    })
}

/// Whether a backend can be tested: a container engine needs an image, and the configured arguments apply to one engine
/// only.
fn should_probe(backend: SandboxBackend, settings: &ResolvedConfig) -> bool {
    let sandbox = &settings.sandbox;
    let has_image = sandbox.backend == SandboxBackend::Auto && !sandbox.container.image.is_empty();
    !backend.is_container() || backend == sandbox.backend || has_image
}

/// Environment variables that checks do not see, and those that are redacted.
fn check_variables(settings: &ResolvedConfig) -> [DoctorFinding; 2] {
    let finding = |what: &str, names: Vec<String>, more: String| DoctorFinding {
        what: what.to_owned(),
        ok: None,
        found: match names.as_slice() {
            [] => format!("none{more}"),
            names => format!("{}{more}", names.join(", ")),
        },
    };
    let withheld = env::withheld_variables(&settings.environment.checks, &env::host_env());
    let (redacted, ordinary): (Vec<_>, Vec<_>) = secrets::secret_like_variables()
        .into_iter()
        .partition(|(_, is_redacted)| *is_redacted);
    let names = |them: Vec<(String, bool)>| them.into_iter().map(|(name, _)| name).collect();
    let ordinary: Vec<String> = names(ordinary);
    let passed_over = match ordinary.as_slice() {
        [] => String::new(),
        names => format!("; not redacted, too common or short: {}", names.join(", ")),
    };
    [
        finding("hidden from checks", withheld, String::new()),
        finding("redacted", names(redacted), passed_over),
    ]
}

/// Whether a session without a sandbox can reach the processes that run and judge it.
fn check_own_processes() -> DoctorFinding {
    let is_protected = is_this_process_protected();
    let found = if is_protected {
        "other programs of this user can neither trace them nor read their environment"
    } else {
        "a session without a sandbox that runs as root can read their memory and forge exit codes"
    };
    DoctorFinding {
        what: "own processes".to_owned(),
        ok: is_protected.then_some(true),
        found: found.to_owned(),
    }
}

fn check_process_trees() -> DoctorFinding {
    let found = match process::supported_tree_method() {
        CleanupMethod::Subreaper => {
            "every process of a session is found and terminated (child subreaper)"
        }
        CleanupMethod::EnvironmentSweep | CleanupMethod::ProcessGroup => {
            "process groups only: a process that leaves its group can survive a session"
        }
    };
    let exact = process::supported_tree_method() == CleanupMethod::Subreaper;
    DoctorFinding {
        what: "process trees".to_owned(),
        ok: exact.then_some(true),
        found: found.to_owned(),
    }
}
