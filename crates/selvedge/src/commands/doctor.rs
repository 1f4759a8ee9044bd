//! `selvedge doctor`: reports what is installed, what works, and what is enforced. Everything it reports was tried just
//! now.

use std::path::Path;
use std::process::Command;

use selvedge_core::config::{Flags, ResolvedConfig};
use selvedge_core::model::{CleanupMethod, SandboxBackend, SandboxProfile, SandboxSpec, exit_code};
use selvedge_engine::agents::{check_program, env};
use selvedge_engine::process::{self, Supervisor};
use selvedge_engine::sandbox::{SandboxContext, WorkspaceSandbox, set_up_sandboxes};
use serde::Serialize;

use super::run_checks::build_runtime;
use super::{canonical_directory, environment, load_settings};
use crate::cli::DoctorArgs;
use crate::error::CliError;
use crate::local::{StateDir, disk};
use crate::output::{json, one_line, style};
use crate::secrets;

/// The result of one check of the installation.
#[derive(Debug, Serialize)]
struct DoctorFinding {
    /// The subject of the check.
    what: String,
    /// Whether it is as it should be; `None` if it is optional.
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
            Ok(()) => (Some(true), "its program is there".to_owned()),
            Err(missing) => (chosen.then_some(false), missing.to_string()),
        };
        let marks = [
            (chosen, " (default)"),
            (agent.kind.capabilities().is_experimental, " (experimental)"),
        ];
        let marks = marks.iter().filter(|(holds, _)| *holds);
        let what = marks.fold(format!("agent {name}"), |what, (_, mark)| what + mark);
        findings.push(DoctorFinding { what, ok, found });
    }
    findings.push(check_process_trees());
    findings.extend(check_variables(&settings));
    findings.extend(check_sandbox(&settings, &home, &dir)?);
    if args.json {
        json::print_json(&findings);
    } else {
        for finding in &findings {
            outln!("{}", finding_line(finding));
        }
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
        one_line(&finding.found, 160)
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
            found: "not found: install git 2.36 or later".to_owned(),
        },
    }
}

fn check_state(home: &StateDir) -> DoctorFinding {
    let what = "state".to_owned();
    let root = home.root().display();
    let (ok, found) = if home.open_journal().is_ok() {
        (true, root.to_string())
    } else {
        (false, format!("{root} cannot be written"))
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
        .map(|(bytes, part)| format!("{part} {}", disk::format_bytes(*bytes)))
        .collect();
    let of_what = match shown.as_slice() {
        [] => String::new(),
        parts => format!(" ({}); `selvedge gc` frees some", parts.join(", ")),
    };
    DoctorFinding {
        what: "disk".to_owned(),
        ok: None,
        found: format!("{}{of_what}", disk::format_bytes(total)),
    }
}

fn check_snapshots(home: &StateDir, dir: &Path) -> DoctorFinding {
    let what = "snapshots".to_owned();
    match home.open_workspace(dir) {
        Ok(workspace) if workspace.is_git() => DoctorFinding {
            what,
            ok: Some(true),
            found: "this directory is in a git repository".to_owned(),
        },
        Ok(_) => {
            let found = "none here: not a git repository (`git init`)".to_owned();
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
            found: "none configured: `selvedge init` finds some".to_owned(),
        },
        count => DoctorFinding {
            what,
            ok: Some(true),
            found: format!("{count} configured"),
        },
    }
}

/// Tries every sandbox backend with both profiles, and reports what the settings select.
fn check_sandbox(
    settings: &ResolvedConfig,
    home: &StateDir,
    dir: &Path,
) -> Result<Vec<DoctorFinding>, CliError> {
    let supervisor = Supervisor::this_program();
    let scene = SandboxContext {
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
                let found = match set_up_sandboxes(&spec, &scene, &supervisor).await {
                    Ok(raised) => raised
                        .agents
                        .map(|walls| walls.verified_restrictions().summary()),
                    Err(refused) => Some(refused.0),
                };
                findings.push(DoctorFinding {
                    what: format!("sandbox {}", backend.name()),
                    ok: None,
                    found: found.unwrap_or_default(),
                });
            }
        }
        let (ok, found) = match set_up_sandboxes(&settings.sandbox, &scene, &supervisor).await {
            Err(refused) => (Some(false), refused.to_string()),
            Ok(raised) => {
                let line = |walls: Option<WorkspaceSandbox>| match walls {
                    Some(walls) => format!(
                        "{}, {}",
                        walls.verified_restrictions().backend.name(),
                        walls.verified_restrictions().profile.name()
                    ),
                    None => "none".to_owned(),
                };
                let why = raised
                    .unavailable_reason
                    .map(|why| format!(" ({why})"))
                    .unwrap_or_default();
                let (agents, checks) = (line(raised.agents), line(raised.checks));
                let stands = agents != "none" && checks != "none";
                (
                    stands.then_some(true),
                    format!("agents: {agents}; checks: {checks}{why}"),
                )
            }
        };
        let what = "sandbox".to_owned();
        findings.push(DoctorFinding { what, ok, found });
        Ok(findings)
    })
}

/// A container engine needs an image, and its arguments apply to no other engine.
fn should_probe(backend: SandboxBackend, settings: &ResolvedConfig) -> bool {
    let wish = &settings.sandbox;
    let has_image = wish.backend == SandboxBackend::Auto && !wish.container.image.is_empty();
    !backend.is_container() || backend == wish.backend || has_image
}

/// Environment variables that checks do not see, and those that are redacted.
fn check_variables(settings: &ResolvedConfig) -> [DoctorFinding; 2] {
    let told = |what: &str, names: Vec<String>, more: String| DoctorFinding {
        what: what.to_owned(),
        ok: None,
        found: match names.as_slice() {
            [] => format!("none{more}"),
            names => format!("{}{more}", names.join(", ")),
        },
    };
    let held_back = env::withheld_variables(&settings.environment.checks, &env::host_env());
    let (redacted, ordinary): (Vec<_>, Vec<_>) = secrets::secret_like_variables()
        .into_iter()
        .partition(|(_, is_redacted)| *is_redacted);
    let names = |them: Vec<(String, bool)>| them.into_iter().map(|(name, _)| name).collect();
    let ordinary: Vec<String> = names(ordinary);
    let passed_over = match ordinary.as_slice() {
        [] => String::new(),
        names => format!("; too ordinary or short: {}", names.join(", ")),
    };
    [
        told("checks do not see", held_back, String::new()),
        told("redacted", names(redacted), passed_over),
    ]
}

fn check_process_trees() -> DoctorFinding {
    let found = match process::supported_tree_method() {
        CleanupMethod::Subreaper => {
            "every process of a session is found and ended (child subreaper)"
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
