//! Gemini CLI: `gemini --output-format stream-json`, a new session for every attempt.
//!
//! Its limit on turns and its own retries are settings of its own, which it gets as defaults: what
//! the user's settings say of them comes first. It retries in silence, up to the whole allowance, so
//! no fresh session follows. Its tokens are told, its cost is not.

mod record;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::env::Environment;
use super::records::{Allowance, Folded, Program, Recorded, has_flag, program_or};
use super::{Role, SessionRequest, env};

/// Flags by which a user takes permissions into their own hands.
const PERMISSION_FLAGS: &[&str] = &[
    "--approval-mode",
    "-y",
    "--yolo",
    "--policy",
    "--allowed-tools",
];

/// Where Gemini CLI reads settings that stand below all others.
const DEFAULTS: &str = "GEMINI_CLI_SYSTEM_DEFAULTS_PATH";
const URL: &str = "GOOGLE_GEMINI_BASE_URL";
const KEY: &str = "GEMINI_API_KEY";

/// Gemini CLI as an agent.
pub type Gemini = Recorded<GeminiCli>;

/// Gemini CLI's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct GeminiCli;

impl Program for GeminiCli {
    type Reading = Folded<record::Records>;

    fn files(&self, request: &SessionRequest, allowance: Allowance) -> Vec<(PathBuf, String)> {
        let environment = env::for_agent(&request.agent, &env::ours());
        let has_key = environment.contains_key(OsStr::new(KEY));
        vec![(
            settings_file(request),
            settings(allowance, has_key).to_string(),
        )]
    }

    fn command_line(&self, request: &SessionRequest, _: Allowance) -> Vec<String> {
        let mut argv = program_or(request, "gemini");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(["--output-format=stream-json", "--skip-trust"].map(str::to_owned));
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        match request.role {
            Role::Judge => argv.push("--approval-mode=plan".to_owned()),
            Role::Worker if takes_over => {}
            Role::Worker => argv.push("--approval-mode=yolo".to_owned()),
        }
        argv
    }

    fn environment(&self, request: &SessionRequest, _: Allowance, environment: &mut Environment) {
        let settings = settings_file(request).into_os_string();
        environment.entry(DEFAULTS.into()).or_insert(settings);
        if let Some(url) = &request.agent.base_url {
            environment.insert(URL.into(), url.into());
        }
    }
}

fn settings_file(request: &SessionRequest) -> PathBuf {
    request
        .run_dir
        .join(format!("{}.settings.json", request.files))
}

fn settings(allowance: Allowance, has_key: bool) -> Value {
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
    // Without a choice it refuses to run, though there is nothing to choose from.
    if has_key {
        settings["security"] = json!({"auth": {"selectedType": "gemini-api-key"}});
    }
    settings
}
