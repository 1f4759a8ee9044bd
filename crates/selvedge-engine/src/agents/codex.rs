//! Codex: `codex exec --json`, a new session for every attempt, nothing of it kept on disk.
//!
//! It has no limit on turns and reports no cost; its tokens are priced if the model is known. The
//! number of its API retries can be configured only for a custom provider, which is used if
//! `base_url` is configured; the retries of its built-in provider are counted and reduce the same
//! allowance.

mod record;

#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::path::PathBuf;

use selvedge_core::gate;
use serde_json::Value;

use super::jsonl::{
    AgentCli, JsonlAgent, ParsedSession, SessionAllowance, has_flag, program_or_default,
    push_option,
};
use super::{SessionRequest, SessionRole, env};

/// Flags with which a user controls permissions.
const PERMISSION_FLAGS: &[&str] = &[
    "-s",
    "--sandbox",
    "-p",
    "--profile",
    "--approve-for-me",
    "--dangerously-bypass-approvals-and-sandbox",
];

/// JSON records, in any directory; no stored session, no look-ups of updates, plug-ins and apps.
const FIXED_FLAGS: [&str; 11] = [
    "exec",
    "--json",
    "--color=never",
    "--skip-git-repo-check",
    "--ephemeral",
    "--disable",
    "plugins",
    "--disable",
    "apps",
    "-c",
    "check_for_update_on_startup=false",
];

/// The credential that OpenAI's clients use.
const API_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Codex as an agent.
pub type CodexAgent = JsonlAgent<CodexExec>;

/// Codex's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodexExec;

impl AgentCli for CodexExec {
    type Parser = ParsedSession<record::CodexEventParser>;

    fn files(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        match request.role {
            SessionRole::Implementer => Vec::new(),
            SessionRole::Judge => vec![(schema_file(request), gate::schema().to_string())],
        }
    }

    fn command_line(&self, request: &SessionRequest, allowance: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "codex");
        let takes_over = has_flag(&argv, PERMISSION_FLAGS);
        argv.extend(FIXED_FLAGS.map(str::to_owned));
        push_option(&mut argv, "--model", request.agent.model.as_ref());
        // Values are TOML; JSON strings are valid basic strings of TOML.
        let effort = request.agent.effort.as_deref().map(Value::from);
        let effort = effort.map(|effort| format!("model_reasoning_effort={effort}"));
        push_option(&mut argv, "-c", effort);
        if let Some(url) = &request.agent.base_url {
            argv.extend(provider_flags(request, url, allowance.retries));
        }
        // Inside our sandbox its own sandbox cannot always be set up, and then its commands
        // silently do not run: the flag is meant for that case. A judge may write nothing there.
        let own = match request.role {
            _ if request.supervisor.sandbox().is_some() => {
                "--dangerously-bypass-approvals-and-sandbox"
            }
            SessionRole::Judge => "--sandbox=read-only",
            SessionRole::Implementer => "--sandbox=workspace-write",
        };
        if request.role == SessionRole::Judge || !takes_over {
            argv.push(own.to_owned());
        }
        if request.role == SessionRole::Judge {
            argv.push("--output-schema".to_owned());
            argv.push(schema_file(request).to_string_lossy().into_owned());
        }
        // The prompt is read from standard input.
        argv.push("-".to_owned());
        argv
    }
}

fn schema_file(request: &SessionRequest) -> PathBuf {
    request.session_file("schema.json")
}

/// A custom provider for the server at `url` with this number of request retries. A broken stream
/// is retried, but not a request within that retry, or the two numbers would multiply.
fn provider_flags(request: &SessionRequest, url: &str, retries: u32) -> Vec<String> {
    let environment = env::agent_env(&request.agent, &env::host_env());
    // Values are TOML; JSON strings are valid basic strings of TOML.
    let url = Value::from(url);
    let mut settings = vec![
        "model_provider=\"selvedge\"".to_owned(),
        "model_providers.selvedge.name=\"selvedge\"".to_owned(),
        "model_providers.selvedge.wire_api=\"responses\"".to_owned(),
        "model_providers.selvedge.request_max_retries=0".to_owned(),
        format!("model_providers.selvedge.stream_max_retries={retries}"),
        format!("model_providers.selvedge.base_url={url}"),
    ];
    if environment.contains_key(OsStr::new(API_KEY_VARIABLE)) {
        settings.push(format!(
            "model_providers.selvedge.env_key=\"{API_KEY_VARIABLE}\""
        ));
    }
    let setting = |setting| ["-c".to_owned(), setting];
    settings.into_iter().flat_map(setting).collect()
}
