//! Gemini CLI: `gemini --output-format stream-json`, a new session for every attempt.
//!
//! Its turn limit and its number of API retries can only be set in a settings file, and it accepts a system-wide file
//! only if root owns it. So each session gets a home of its own (`GEMINI_CLI_HOME`), whose settings are the user's over
//! our defaults; everything else in it links to the user's `.gemini`. It retries its API silently until all retries are
//! used up, so no further session is started. It reports tokens but no cost.

mod home;
mod record;

pub(super) use home::merge as merge_settings;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::jsonl::{
    AgentCli, JsonlAgent, ParsedSession, SessionAllowance, has_flag, program_or_default,
    push_option,
};
use super::{SessionRequest, SessionRole, env};
use crate::environment::EnvironmentMap;

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &[
    "--approval-mode",
    "-y",
    "--yolo",
    "--policy",
    "--allowed-tools",
];

/// The variable that sets the parent folder of `.gemini`.
const HOME: &str = "GEMINI_CLI_HOME";
const URL: &str = "GOOGLE_GEMINI_BASE_URL";
const KEY: &str = "GEMINI_API_KEY";

/// Gemini CLI as an agent.
pub type GeminiAgent = JsonlAgent<GeminiCli>;

/// Gemini CLI's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct GeminiCli;

impl AgentCli for GeminiCli {
    type Parser = ParsedSession<record::GeminiEventParser>;

    fn prepare(&self, request: &SessionRequest, allowance: SessionAllowance) -> io::Result<()> {
        prepare_home(request, allowance)
    }

    fn written_paths(&self, request: &SessionRequest) -> Vec<PathBuf> {
        vec![session_home(request)]
    }

    fn remove_prepared(&self, request: &SessionRequest) {
        remove_home(request);
    }

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "gemini");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--output-format=stream-json", "--skip-trust"].map(str::to_owned));
        push_option(&mut argv, "--model", request.agent.model.as_ref());
        match request.role {
            SessionRole::Judge => argv.push("--approval-mode=plan".to_owned()),
            SessionRole::Implementer if takes_over => {}
            SessionRole::Implementer => argv.push("--approval-mode=yolo".to_owned()),
        }
        argv
    }

    fn environment(
        &self,
        request: &SessionRequest,
        _: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        set_home(request, environment);
        if let Some(url) = &request.agent.base_url {
            environment.insert(URL.into(), url.into());
        }
    }
}

/// The home of one session.
pub(super) fn session_home(request: &SessionRequest) -> PathBuf {
    request.session_file("home")
}

/// Creates that home, with these limits in its settings.
pub(super) fn prepare_home(
    request: &SessionRequest,
    allowance: SessionAllowance,
) -> io::Result<()> {
    let environment = env::agent_env(&request.agent, &env::host_env());
    let has_key = environment.contains_key(OsStr::new(KEY));
    let users = [HOME, "HOME"]
        .iter()
        .find_map(|name| environment.get(OsStr::new(name)))
        .map(PathBuf::from);
    home::create(
        &session_home(request),
        users.as_deref(),
        build_settings(allowance, has_key),
    )
}

/// Makes the program use that home.
pub(super) fn set_home(request: &SessionRequest, environment: &mut EnvironmentMap) {
    environment.insert(HOME.into(), session_home(request).into_os_string());
}

/// Removes that home.
pub(super) fn remove_home(request: &SessionRequest) {
    // It holds a copy of the user's settings, which may contain credentials. What cannot be removed is
    // removed with the run's directory.
    let _ = crate::removal::remove_all(&session_home(request));
}

fn build_settings(allowance: SessionAllowance, has_key: bool) -> Value {
    let mut settings = json!({
        "general": {
            "maxAttempts": allowance.retries.saturating_add(1),
            "enableAutoUpdate": false,
            "enableAutoUpdateNotification": false,
        },
        "privacy": {"usageStatisticsEnabled": false},
    });
    if let Some(turns) = allowance.turns {
        settings["model"] = json!({"maxSessionTurns": turns});
    }
    // Without a selected login it refuses to run, although there is only one.
    if has_key {
        settings["security"] = json!({"auth": {"selectedType": "gemini-api-key"}});
    }
    settings
}
