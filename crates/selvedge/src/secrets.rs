//! Collects the secret values of this process: environment variables with secret-like names or listed in the settings,
//! values handed to agents, and credentials of the repository's remotes. Redaction itself is in
//! [`selvedge_core::redact`].

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use selvedge_core::model::{AgentSpec, EnvironmentSpec, RunSpec, Task};
use selvedge_core::redact::{
    MIN_SECRET_BYTES, Redactor, Secret, is_secret_name, is_worth_redacting, secrets_in_value,
};
use selvedge_engine::agents::env::host_env;
use selvedge_engine::environment::EnvironmentMap;
use selvedge_engine::process::Supervisor;

use crate::error::CliError;
use crate::local::check_slots;
use crate::output::print_notice;

/// A git configuration larger than this is not searched for remotes, in bytes.
const MAX_GIT_CONFIG_BYTES: u64 = 1 << 20;

/// The redactor of a run.
pub(crate) fn run_redactor(spec: &RunSpec) -> Redactor {
    let mut secrets = environment_secrets(&spec.environment, &host_env());
    secrets.extend(
        spec.agents()
            .flat_map(|agent| agent_secrets(agent, &host_env())),
    );
    secrets.extend(remote_secrets(&spec.workspace));
    Redactor::new(&secrets)
}

/// The redactor of checks that run without an agent.
pub(crate) fn checks_redactor(environment: &EnvironmentSpec, dir: &Path) -> Redactor {
    let mut secrets = environment_secrets(environment, &host_env());
    secrets.extend(remote_secrets(dir));
    Redactor::new(&secrets)
}

/// The redactor used where there are no settings.
pub(crate) fn host_redactor() -> Redactor {
    Redactor::new(&environment_secrets(
        &EnvironmentSpec::default(),
        &host_env(),
    ))
}

/// The supervisor that starts the processes of checks.
pub(crate) fn checks_supervisor(environment: &EnvironmentSpec, dir: &Path) -> Supervisor {
    Supervisor::this_program()
        .with_redactor(checks_redactor(environment, dir))
        .with_env_allowlist(&environment.checks)
        .with_check_slots(check_slots(environment))
}

/// Rejects a run whose commands contain a secret: commands are executed verbatim, and the journal would record it.
pub(crate) fn reject_secrets_in_commands(spec: &RunSpec) -> Result<(), CliError> {
    let executed = RunSpec {
        description: String::new(),
        acceptance_criteria: None,
        ..spec.clone()
    };
    let executed = serde_json::to_string(&executed).map_err(CliError::infrastructure)?;
    match run_redactor(spec).find_known_value(&executed) {
        None => Ok(()),
        Some(name) => Err(CliError::usage(format!(
            "the value of {name} is in a command, a check or an agent's settings, and would be stored in the journal"
        ))
        .hint("use the variable's name instead: \"$NAME\" in a check with --check-env NAME, or { from = \"NAME\" } for an agent")),
    }
}

/// Prepares a task for a hub, which stores and shows it: redacts the text for the agent, with a notice, and rejects
/// secrets in commands that are executed verbatim.
pub(crate) fn redact_for_hub(task: &Task) -> Result<Task, CliError> {
    let redactor = host_redactor();
    let mut redacted_task = task.clone();
    let criteria = redacted_task.acceptance_criteria.iter_mut();
    let mut redacted = false;
    for text in std::iter::once(&mut redacted_task.description).chain(criteria) {
        if let Cow::Owned(clean) = redactor.redact_text(text) {
            *text = clean;
            redacted = true;
        }
    }
    let sent = serde_json::to_string(&redacted_task).map_err(CliError::infrastructure)?;
    if let Some(name) = redactor.find_known_value(&sent) {
        return Err(CliError::usage(format!(
            "the value of {name} is in the task, and would be stored by the hub"
        ))
        .hint("use the variable's name instead: workers pass to checks the variables that their `environment.checks` names"));
    }
    if redacted {
        print_notice(
            "a secret in the task's text is sent as [redacted:…]: agents do not receive secrets",
        );
    }
    Ok(redacted_task)
}

/// Environment variables that hold secrets: by their names, or because the settings list them.
fn environment_secrets(spec: &EnvironmentSpec, ours: &EnvironmentMap) -> Vec<Secret> {
    let named = |name: &str| spec.secrets.iter().any(|it| it == name);
    let mut secrets = Vec::new();
    for (name, value) in ours {
        let Some(name) = name.to_str() else { continue };
        let value = value.as_bytes();
        if named(name) && value.len() >= MIN_SECRET_BYTES {
            secrets.push(Secret::new(name, value));
        }
        if is_secret_name(name) {
            let found = secrets_in_value(name, value).into_iter();
            secrets.extend(found.map(|value| Secret::new(name, value)));
        }
    }
    secrets
}

/// The secrets handed to an agent: variables passed by name, or values set under a secret-like name.
fn agent_secrets(agent: &AgentSpec, ours: &EnvironmentMap) -> Vec<Secret> {
    let sources = agent.env_from.values();
    let handed = sources.filter_map(|source| {
        let value = ours.get(OsStr::new(source))?.as_bytes();
        is_worth_redacting(value).then(|| Secret::new(source, value))
    });
    let written = agent.env.iter().filter_map(|(name, value)| {
        let secret = is_secret_name(name) && is_worth_redacting(value.as_bytes());
        secret.then(|| Secret::new(name, value.as_bytes()))
    });
    handed.chain(written).collect()
}

/// The passwords in the URLs of a repository's remotes.
fn remote_secrets(dir: &Path) -> Vec<Secret> {
    let config = dir.join(".git/config");
    let is_small = std::fs::metadata(&config).is_ok_and(|it| it.len() <= MAX_GIT_CONFIG_BYTES);
    let Some(Ok(text)) = is_small.then(|| std::fs::read_to_string(&config)) else {
        return Vec::new();
    };
    let passwords = text.lines().filter_map(|line| {
        let (_, address) = line.split_once("://")?;
        let (user, _) = address.split_once('@')?;
        let secret = user.split_once(':').map_or(user, |(_, password)| password);
        is_worth_redacting(secret.as_bytes()).then(|| Secret::new("remote", secret))
    });
    passwords.collect()
}

/// Environment variables with secret-like names, and whether their values are redacted. An ordinary word or a path is
/// not: it would occur in too many other places.
pub(crate) fn secret_like_variables() -> Vec<(String, bool)> {
    let ours = host_env();
    let names = ours.iter().filter_map(|(name, value)| {
        let name = name.to_str().filter(|name| is_secret_name(name))?;
        Some((name.to_owned(), is_worth_redacting(value.as_bytes())))
    });
    names.collect()
}
