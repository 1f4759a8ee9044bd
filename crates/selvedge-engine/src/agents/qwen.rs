//! Qwen Code: `qwen --output-format stream-json`, a new session for every attempt. Its records are
//! like Claude Code's, except that the input includes cached tokens, no cost is reported, and the
//! turn limit ends the session with a special exit code instead of a record. It tries its API seven
//! times by itself, which cannot be configured, so no fresh session follows.

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Instant;

use selvedge_core::gate;
use selvedge_core::model::{Cost, CostSource, MicroUsd, SessionOutcome, SessionStatus, Usage};
use serde_json::json;

use super::claude;
use super::jsonl::{
    AgentCli, JsonlAgent, SessionAllowance, SessionParser, has_flag, program_or_default,
};
use super::{SessionRequest, SessionRole};
use crate::activity::Activity;
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
    type Parser = QwenSessionParser;

    const TURN_LIMIT_EXIT: Option<i32> = Some(53);

    fn files(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        // The underlying library would retry each of its seven attempts.
        let settings = json!({
            "general": {"enableAutoUpdate": false},
            "model": {"generationConfig": {"maxRetries": 0}},
            "privacy": {"usageStatisticsEnabled": false},
        });
        vec![(settings_file(request), settings.to_string())]
    }

    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "qwen");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.push("--output-format=stream-json".to_owned());
        if let Some(model) = &request.agent.model {
            argv.extend(["--model".to_owned(), model.clone()]);
        }
        if request.agent.base_url.is_some() {
            argv.push("--auth-type=openai".to_owned());
        }
        if let Some(turns) = allowance.turns {
            argv.extend(["--max-session-turns".to_owned(), turns.to_string()]);
        }
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
        .join(format!("{}.settings.json", request.file_prefix))
}

/// Records like Claude Code's, with tokens counted as OpenAI counts them.
#[derive(Debug, Default)]
pub(in crate::agents) struct QwenSessionParser(claude::ClaudeSessionParser);

impl SessionParser for QwenSessionParser {
    fn parse_line(&mut self, line: &[u8], told: &mut dyn FnMut(Activity)) {
        self.0.line(line, told);
    }

    fn count_unknown(&mut self) {
        self.0.unknown();
    }

    fn outcome(
        &self,
        request: &SessionRequest,
        by_exit: SessionOutcome,
        stopped_at: Option<Instant>,
    ) -> SessionOutcome {
        let outcome = SessionParser::outcome(&self.0, request, by_exit, stopped_at);
        let usage = Usage {
            input: outcome.usage.input.saturating_sub(outcome.usage.cache_read),
            ..outcome.usage
        };
        let model = outcome.model.as_deref();
        let estimate = model.and_then(|model| request.agent.cost_of(model, &usage));
        let cost = match outcome.cost.source {
            CostSource::Estimated => estimate.map_or(Cost::UNKNOWN, Cost::estimated),
            _ => outcome.cost,
        };
        SessionOutcome {
            usage,
            cost,
            ..outcome
        }
    }

    fn usage_so_far(&self, request: &SessionRequest) -> (u64, MicroUsd) {
        // As if it had just been interrupted: the outcome takes the price of cached tokens into
        // account.
        let now = self.outcome(request, SessionOutcome::new(SessionStatus::Failed), None);
        (now.usage.total(), now.cost.at_least())
    }

    fn transient_api_failures(&self) -> Option<u32> {
        None
    }
}
