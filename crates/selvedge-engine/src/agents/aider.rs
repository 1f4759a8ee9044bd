//! aider: `aider --message-file`, a new chat for every attempt. It prints text for people and
//! always exits with 0, so two of its logs are read after it has ended: the analytics log (which
//! stays on this machine) shows whether the model answered and what it cost, and the chat contains
//! the text. It retries its API for a minute, which cannot be configured.

mod session_parser;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use super::jsonl::{
    AgentCli, JsonlAgent, SessionAllowance, has_flag, program_or_default, push_option,
};
use super::{SessionRequest, SessionRole, program};
use crate::environment::EnvironmentMap;

/// No questions, no look-ups, no terminal decoration, no commits: the tree is delivered, and
/// commits are left to the user.
const NON_INTERACTIVE_FLAGS: &[&str] = &[
    "--yes-always",
    "--no-stream",
    "--no-pretty",
    "--no-check-update",
    "--no-analytics",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--no-suggest-shell-commands",
    "--no-detect-urls",
    "--no-gitignore",
];

/// Flags with which a user controls commits.
const COMMIT_FLAGS: &[&str] = &["--auto-commits", "--dirty-commits"];

/// Keeps the underlying library from fetching its price list.
const LOCAL_PRICES: &str = "LITELLM_LOCAL_MODEL_COST_MAP";

/// aider as an agent.
pub type AiderAgent = JsonlAgent<AiderChat>;

/// aider's program.
#[derive(Debug, Clone, Copy, Default)]
pub struct AiderChat;

impl AgentCli for AiderChat {
    type Parser = session_parser::AiderSessionParser;

    fn files(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<(PathBuf, String)> {
        // The logs are appended to: an earlier session's content does not belong to this one.
        let logs = self.written_paths(request).into_iter();
        logs.map(|path| (path, String::new())).collect()
    }

    fn written_paths(&self, request: &SessionRequest) -> Vec<PathBuf> {
        vec![
            analytics_file(request),
            chat_history_file(request),
            input_history_file(request),
        ]
    }

    fn command_line(&self, request: &SessionRequest, _: SessionAllowance) -> Vec<String> {
        let mut argv = program_or_default(request, "aider");
        let commits = has_flag(&argv, COMMIT_FLAGS);
        argv.extend(NON_INTERACTIVE_FLAGS.iter().map(|&flag| flag.to_owned()));
        if !commits {
            argv.extend(["--no-auto-commits", "--no-dirty-commits"].map(str::to_owned));
        }
        push_option(&mut argv, "--model", request.agent.model.as_ref());
        push_option(
            &mut argv,
            "--reasoning-effort",
            request.agent.effort.as_ref(),
        );
        if request.role == SessionRole::Judge {
            // It answers, edits nothing, and does not configure a repository that its folder happens to be in.
            argv.extend(["--chat-mode", "ask", "--no-git"].map(str::to_owned));
        }
        let files = [
            ("--message-file", program::prompt_path(request)),
            ("--analytics-log", analytics_file(request)),
            ("--chat-history-file", chat_history_file(request)),
            ("--input-history-file", input_history_file(request)),
        ];
        for (flag, path) in files {
            argv.extend([flag.to_owned(), path.to_string_lossy().into_owned()]);
        }
        argv
    }

    fn environment(
        &self,
        request: &SessionRequest,
        _: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) {
        let prices = environment.entry(LOCAL_PRICES.into());
        prices.or_insert_with(|| "True".into());
        if let Some(url) = &request.agent.base_url {
            let model = request.agent.model.as_deref().unwrap_or_default();
            let variable = match model.split('/').next() {
                Some("anthropic") => "ANTHROPIC_API_BASE",
                Some("ollama" | "ollama_chat") => "OLLAMA_API_BASE",
                _ => "OPENAI_API_BASE",
            };
            environment.insert(variable.into(), url.into());
        }
    }
}

/// The analytics log.
fn analytics_file(request: &SessionRequest) -> PathBuf {
    request.session_file("ledger.jsonl")
}

/// The chat, in Markdown.
fn chat_history_file(request: &SessionRequest) -> PathBuf {
    request.session_file("chat.md")
}

fn input_history_file(request: &SessionRequest) -> PathBuf {
    request.session_file("input")
}
