//! Qwen Code: `qwen --output-format stream-json`, a new session for every attempt. Its records are
//! like Claude Code's, except that the input includes cached tokens, no cost is reported, and the
//! turn limit ends the session with a special exit code instead of a record. It tries its API seven
//! times by itself, which cannot be configured, so no fresh session follows.

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use selvedge_core::gate;
use serde_json::{Value, json};

use super::claude::ClaudeEventParser;
use super::jsonl::{
    AgentCli, JsonlAgent, ParsedSession, SessionAllowance, has_flag, program_or_default,
    push_option,
};
use super::{SessionRequest, SessionRole};
use crate::environment::EnvironmentMap;

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &["--approval-mode", "-y", "--yolo", "--allowed-tools"];

/// The variable with the path of the settings that have the lowest precedence.
const DEFAULTS: &str = "QWEN_CODE_SYSTEM_DEFAULTS_PATH";
const URL: &str = "OPENAI_BASE_URL";

/// Qwen Code as an agent.
pub type QwenAgent = JsonlAgent<QwenCode>;

/// Qwen Code's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct QwenCode;

impl AgentCli for QwenCode {
    type Parser = ParsedSession<ClaudeEventParser<true>>;

    const TURN_LIMIT_EXIT: Option<i32> = Some(53);

    fn files(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        vec![(settings_file(request), default_settings().to_string())]
    }

    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "qwen");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.push("--output-format=stream-json".to_owned());
        push_option(&mut argv, "--model", request.agent.model.as_ref());
        if request.agent.base_url.is_some() {
            argv.push("--auth-type=openai".to_owned());
        }
        push_option(&mut argv, "--max-session-turns", allowance.turns);
        match request.role {
            SessionRole::Judge => {
                argv.extend(["--approval-mode=plan", "--json-schema"].map(str::to_owned));
                argv.push(gate::schema().to_string());
            }
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
        set_default_settings(request, environment);
        if let Some(url) = &request.agent.base_url {
            environment.insert(URL.into(), url.into());
        }
    }
}

/// Settings below the user's own.
pub(super) fn default_settings() -> Value {
    json!({
        "general": {"enableAutoUpdate": false},
        // The underlying library would retry each of its seven attempts.
        "model": {"generationConfig": {"maxRetries": 0}},
        "privacy": {"usageStatisticsEnabled": false},
    })
}

/// Names the file with these settings, unless the user names one.
pub(super) fn set_default_settings(request: &SessionRequest, environment: &mut EnvironmentMap) {
    let settings = settings_file(request).into_os_string();
    environment.entry(DEFAULTS.into()).or_insert(settings);
}

/// The file with these settings.
pub(super) fn settings_file(request: &SessionRequest) -> PathBuf {
    request.session_file("settings.json")
}
