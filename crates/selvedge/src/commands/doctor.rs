//! `selvedge doctor`: what is installed, what works, and what is enforced. It claims nothing that it
//! did not just try.

use std::path::Path;
use std::process::Command;

use selvedge_core::config::{Flags, Resolved};
use selvedge_core::model::{Backend, Profile, SandboxSpec, TreeMethod, exit_code};
use selvedge_engine::agents::{env, preflight};
use selvedge_engine::process::{self, Supervisor};
use selvedge_engine::sandbox::{Scene, Walls, raise};
use serde::Serialize;

use super::once::runtime;
use super::{directory, environment, settings};
use crate::cli::DoctorArgs;
use crate::error::CliError;
use crate::local::{Home, disk};
use crate::output::{json, one_line, style};
use crate::secrets;

/// What one look found.
#[derive(Debug, Serialize)]
struct Finding {
    /// What was looked at.
    what: String,
    /// Whether it is as it should be; nothing where it need not be there.
    ok: Option<bool>,
    /// What was found, or how to mend it.
    found: String,
}

pub(super) fn run(args: &DoctorArgs) -> Result<u8, CliError> {
    let environment = environment();
    let dir = directory(args.dir.as_deref())?;
    let settings = settings(&dir, &Flags::default(), &environment)?.resolved;
    let home = Home::find(&environment)?;
    let mut findings = vec![
        git(),
        state(&home),
        disk(&home),
        workspace(&home, &dir),
        checks(settings.checks.len()),
    ];
    for (name, agent) in &settings.agents {
        let chosen = *name == settings.agent;
        let (ok, found) = match preflight(agent, &dir) {
            Ok(()) => (Some(true), "its program is there".to_owned()),
            Err(missing) => (chosen.then_some(false), missing.to_string()),
        };
        let marks = [
            (chosen, " (default)"),
            (agent.kind.known().is_experimental, " (experimental)"),
        ];
        let marks = marks.iter().filter(|(holds, _)| *holds);
        let what = marks.fold(format!("agent {name}"), |what, (_, mark)| what + mark);
        findings.push(Finding { what, ok, found });
    }
    findings.push(processes());
    findings.extend(variables(&settings));
    findings.extend(sandbox(&settings, &home, &dir)?);
    if args.json {
        json::print(&findings);
    } else {
        for finding in &findings {
            outln!("{}", line(finding));
        }
    }
    let sound = findings.iter().all(|finding| finding.ok != Some(false));
    Ok(if sound {
        exit_code::VERIFIED
    } else {
        exit_code::USAGE
    })
}

fn line(finding: &Finding) -> String {
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

fn git() -> Finding {
    let what = "git".to_owned();
    match Command::new("git").arg("--version").output() {
        Ok(output) if output.status.success() => {
            let found = String::from_utf8_lossy(&output.stdout).trim().to_owned();
            Finding {
                what,
                ok: Some(true),
                found,
            }
        }
        _ => Finding {
            what,
            ok: Some(false),
            found: "not found: install git 2.36 or later".to_owned(),
        },
    }
}

fn state(home: &Home) -> Finding {
    let what = "state".to_owned();
    let root = home.root().display();
    let (ok, found) = if home.journal().is_ok() {
        (true, root.to_string())
    } else {
        (false, format!("{root} cannot be written"))
    };
    Finding {
        what,
        ok: Some(ok),
        found,
    }
}

/// What room the state takes: the parts that grow, the largest first.
fn disk(home: &Home) -> Finding {
    let parts = [
        "journal.db",
        "runs",
        "shadows",
        "copies",
        "checkouts",
        "baselines",
    ];
    let mut sizes = parts.map(|part| (disk::size(&home.root().join(part)), part));
    sizes.sort_by_key(|(bytes, _)| std::cmp::Reverse(*bytes));
    let total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
    let shown = sizes.iter().filter(|(bytes, _)| *bytes > 0);
    let shown: Vec<String> = shown
        .map(|(bytes, part)| format!("{part} {}", disk::readable(*bytes)))
        .collect();
    let of_what = match shown.as_slice() {
        [] => String::new(),
        parts => format!(" ({}); `selvedge gc` frees some", parts.join(", ")),
    };
    Finding {
        what: "disk".to_owned(),
        ok: None,
        found: format!("{}{of_what}", disk::readable(total)),
    }
}

fn workspace(home: &Home, dir: &Path) -> Finding {
    let what = "snapshots".to_owned();
    match home.workspace(dir) {
        Ok(workspace) if workspace.is_git() => Finding {
            what,
            ok: Some(true),
            found: "this directory is in a git repository".to_owned(),
        },
        Ok(_) => {
            let found = "none here: not a git repository (`git init`)".to_owned();
            Finding {
                what,
                ok: None,
                found,
            }
        }
        Err(error) => Finding {
            what,
            ok: Some(false),
            found: error.to_string(),
        },
    }
}

fn checks(count: usize) -> Finding {
    let what = "checks".to_owned();
    match count {
        0 => Finding {
            what,
            ok: None,
            found: "none configured: `selvedge init` finds some".to_owned(),
        },
        count => Finding {
            what,
            ok: Some(true),
            found: format!("{count} configured"),
        },
    }
}

/// Every backend, tried with both profiles, and what the settings make of that.
fn sandbox(settings: &Resolved, home: &Home, dir: &Path) -> Result<Vec<Finding>, CliError> {
    let supervisor = Supervisor::this_program();
    let scene = Scene {
        workspace: dir.to_owned(),
        state: home.root().to_owned(),
        environment: env::ours(),
    };
    runtime()?.block_on(async {
        let mut findings = Vec::new();
        for backend in Backend::BUILDERS
            .into_iter()
            .filter(|it| is_asked(*it, settings))
        {
            for profile in [Profile::Default, Profile::Strict] {
                let spec = SandboxSpec {
                    backend,
                    agents: profile,
                    checks: profile,
                    container: settings.sandbox.container.clone(),
                    ..SandboxSpec::default()
                };
                let found = match raise(&spec, &scene, &supervisor).await {
                    Ok(raised) => raised.agents.map(|walls| walls.held().line()),
                    Err(refused) => Some(refused.0),
                };
                findings.push(Finding {
                    what: format!("sandbox {}", backend.name()),
                    ok: None,
                    found: found.unwrap_or_default(),
                });
            }
        }
        let (ok, found) = match raise(&settings.sandbox, &scene, &supervisor).await {
            Err(refused) => (Some(false), refused.to_string()),
            Ok(raised) => {
                let line = |walls: Option<Walls>| match walls {
                    Some(walls) => format!(
                        "{}, {}",
                        walls.held().backend.name(),
                        walls.held().profile.name()
                    ),
                    None => "none".to_owned(),
                };
                let why = raised
                    .why_none
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
        findings.push(Finding { what, ok, found });
        Ok(findings)
    })
}

/// A container engine means nothing without an image, and its arguments nothing to another one.
fn is_asked(backend: Backend, settings: &Resolved) -> bool {
    let wish = &settings.sandbox;
    let has_image = wish.backend == Backend::Auto && !wish.container.image.is_empty();
    !backend.is_container() || backend == wish.backend || has_image
}

/// What of our environment checks do not see, and what of it is redacted.
fn variables(settings: &Resolved) -> [Finding; 2] {
    let told = |what: &str, names: Vec<String>, more: String| Finding {
        what: what.to_owned(),
        ok: None,
        found: match names.as_slice() {
            [] => format!("none{more}"),
            names => format!("{}{more}", names.join(", ")),
        },
    };
    let held_back = env::held_back(&settings.environment.checks, &env::ours());
    let (redacted, ordinary): (Vec<_>, Vec<_>) = secrets::named_like_secrets()
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

fn processes() -> Finding {
    let found = match process::method_of_this_system() {
        TreeMethod::Subreaper => "every process of a session is found and ended (child subreaper)",
        TreeMethod::EnvironmentSweep | TreeMethod::ProcessGroup => {
            "process groups only: a process that leaves its group can survive a session"
        }
    };
    let exact = process::method_of_this_system() == TreeMethod::Subreaper;
    Finding {
        what: "process trees".to_owned(),
        ok: exact.then_some(true),
        found: found.to_owned(),
    }
}
