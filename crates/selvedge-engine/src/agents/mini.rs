//! mini-SWE-agent: `mini`, a new session for every attempt. It prints text for people and writes
//! its state after each step to a file, its *trajectory*, which is read after the session. Task,
//! limits and model are in a configuration file of ours with precedence over its own, so no process
//! list shows the prompt.

mod trajectory;

#[cfg(test)]
mod tests;

use std::fmt::Write as _;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::SessionRequest;
use super::jsonl::{AgentCli, JsonlAgent, SessionAllowance, has_flag, program_or_default};
use crate::environment::EnvironmentMap;

/// Flags with which a user sets configuration files, which then replace its default one.
const CONFIG_FLAGS: &[&str] = &["-c", "--config"];
/// The variable with which a user sets another default configuration.
const CONFIG_VARIABLE: &str = "MSWEA_MINI_CONFIG_PATH";
/// The variable for the number of API attempts.
const API_RETRIES: &str = "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT";

/// It asks no questions, prints no greeting, and continues if a model is not in its price list,
/// which is always the bundled one.
const QUIET_ENVIRONMENT: [(&str, &str); 4] = [
    ("MSWEA_CONFIGURED", "true"),
    ("MSWEA_SILENT_STARTUP", "1"),
    ("MSWEA_COST_TRACKING", "ignore_errors"),
    ("LITELLM_LOCAL_MODEL_COST_MAP", "True"),
];

/// mini-SWE-agent as an agent.
pub type MiniSweAgent = JsonlAgent<MiniSwe>;

/// mini-SWE-agent's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct MiniSwe;

impl AgentCli for MiniSwe {
    type Parser = trajectory::MiniSweSessionParser;

    fn files(
        &self,
        request: &SessionRequest,
        allowance: SessionAllowance,
    ) -> Vec<(PathBuf, String)> {
        let settings = to_yaml(&build_settings(request, allowance));
        vec![
            (settings_file(request), settings),
            (trajectory_file(request), String::new()),
        ]
    }

    fn written_paths(&self, request: &SessionRequest) -> Vec<PathBuf> {
        vec![trajectory_file(request)]
    }

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "mini");
        if !has_flag(&argv, CONFIG_FLAGS) {
            let usual = request
                .agent
                .env
                .get(CONFIG_VARIABLE)
                .map_or("mini.yaml", String::as_str);
            argv.extend(["-c".to_owned(), usual.to_owned()]);
        }
        let files = [
            ("-c", settings_file(request)),
            ("-o", trajectory_file(request)),
        ];
        for (flag, path) in files {
            argv.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
        }
        argv
    }

    fn environment(
        &self,
        _: &SessionRequest,
        allowance: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        for (name, value) in QUIET_ENVIRONMENT {
            environment
                .entry(name.into())
                .or_insert_with(|| value.into());
        }
        let tries = allowance.retries.saturating_add(1).to_string();
        let entry = environment.entry(API_RETRIES.into());
        entry.or_insert_with(|| tries.into());
    }
}

fn build_settings(request: &SessionRequest, allowance: SessionAllowance) -> Value {
    let mut agent = json!({
        "mode": "yolo",
        "confirm_exit": false,
        // Disables its own limits: only the requested ones apply.
        "step_limit": allowance.turns.unwrap_or(0),
        "cost_limit": 0,
    });
    if let Some(cost) = allowance.cost {
        agent["cost_limit"] = json!(cost.as_usd());
    }
    let mut model = Map::new();
    if let Some(name) = &request.agent.model {
        model.insert("model_name".to_owned(), json!(name));
    }
    // The underlying libraries would retry each of its attempts.
    let mut options = json!({"max_retries": 0});
    if let Some(effort) = &request.agent.effort {
        options["reasoning_effort"] = json!(effort);
    }
    if let Some(url) = &request.agent.base_url {
        options["api_base"] = json!(url);
    }
    model.insert("model_kwargs".to_owned(), options);
    json!({"run": {"task": request.prompt.full_text()}, "agent": agent, "model": model})
}

/// JSON that is valid YAML: characters that YAML rejects or treats as a line end are escaped.
fn to_yaml(value: &Value) -> String {
    let mut text = String::new();
    for character in value.to_string().chars() {
        let is_special = matches!(character, '\u{2028}' | '\u{2029}' | '\u{fffe}' | '\u{ffff}');
        if character.is_control() || is_special {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\u{:04x}", u32::from(character));
        } else {
            text.push(character);
        }
    }
    text
}

fn settings_file(request: &SessionRequest) -> PathBuf {
    request.session_file("settings.yaml")
}

/// The path of the trajectory.
fn trajectory_file(request: &SessionRequest) -> PathBuf {
    request.session_file("trajectory.json")
}
