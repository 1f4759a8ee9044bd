//! Programs that speak the protocol and need more than it: variables and arguments for the model's
//! server, settings that bound their own API retries, a mode in which they can work unattended, and a
//! login by key. A program is recognised by its name in the command line.

use std::ffi::OsStr;
use std::io;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::agents::jsonl::{SessionAllowance, has_flag, push_option};
use crate::agents::{SessionRequest, SessionRole, env, gemini, qwen};
use crate::environment::EnvironmentMap;

/// The name of the provider that Codex gets for `base_url`.
const CODEX_PROVIDER: &str = "selvedge";

/// A program with known needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KnownProgram {
    /// The adapter of Claude Code.
    ClaudeAgent,
    /// The adapter of Codex.
    Codex,
    Copilot,
    Droid,
    Gemini,
    Opencode,
    Qwen,
    /// Any other: started as configured.
    Other,
}

/// Why a program cannot be given its model's server.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ServerError {
    #[error(
        "agent `{0}` has a `base_url`, which its program cannot be given over the Agent Client Protocol; remove it \
         and set the program's own variable under [agents.{0}.env]"
    )]
    Unsupported(String),
    #[error(
        "agent `{0}` of kind `opencode` needs a `model` such as \"provider/model\" for its `base_url`"
    )]
    NoProvider(String),
    #[error(
        "this repository sets the server of agent `{0}`, which would get your key: set its `base_url` in your own \
         ~/.config/selvedge/config.toml"
    )]
    SetByRepository(String),
    #[error("{variable} is not valid JSON: {message}")]
    InvalidVariable {
        variable: &'static str,
        message: String,
    },
}

impl KnownProgram {
    /// Recognises the program of a command line, also behind `npx` and an absolute path.
    pub(super) fn recognize(argv: &[String]) -> Self {
        let names = argv.iter().filter_map(|word| {
            let name = word.rsplit('/').next()?;
            // A package may be named with its version.
            name.split('@').next()
        });
        let mut known = names.filter_map(|name| {
            Some(match name {
                "claude-agent-acp" | "claude-code-acp" => Self::ClaudeAgent,
                "codex-acp" => Self::Codex,
                "copilot" => Self::Copilot,
                "droid" => Self::Droid,
                "gemini" | "gemini-cli" => Self::Gemini,
                "opencode" => Self::Opencode,
                "qwen" | "qwen-code" => Self::Qwen,
                _ => return None,
            })
        });
        known.next().unwrap_or(Self::Other)
    }

    /// Whether it retries a failing API by itself, so that no fresh session follows.
    pub(super) fn retries_itself(self) -> bool {
        self != Self::Other
    }

    /// Whether it reports the tokens of every session that a model answered.
    pub(super) fn reports_tokens(self) -> bool {
        matches!(self, Self::Codex | Self::Copilot)
    }

    /// Whether it takes the model from its arguments, so that it need not offer it.
    pub(super) fn takes_model_argument(self) -> bool {
        matches!(self, Self::Copilot | Self::Gemini | Self::Qwen)
    }

    /// The command line with the arguments that select a model and a way to log in.
    pub(super) fn command_line(self, request: &SessionRequest) -> Vec<String> {
        let mut argv = request.agent.program.clone();
        if self.takes_model_argument() && !has_flag(&argv, &["--model", "-m"]) {
            push_option(&mut argv, "--model", request.agent.model.as_ref());
        }
        if self == Self::Qwen && !has_flag(&argv, &["--auth-type"]) {
            let environment = env::agent_env(&request.agent, &env::host_env());
            let has_key = environment.contains_key(OsStr::new("OPENAI_API_KEY"));
            if request.agent.base_url.is_some() || has_key {
                argv.push("--auth-type=openai".to_owned());
            }
        }
        argv
    }

    /// Writes the files that the program reads.
    pub(super) fn prepare(
        self,
        request: &SessionRequest,
        allowance: SessionAllowance,
    ) -> io::Result<()> {
        match self {
            Self::Gemini => gemini::prepare_home(request, allowance),
            Self::Qwen => {
                let settings = qwen::default_settings().to_string();
                std::fs::write(qwen::settings_file(request), settings)
            }
            _ => Ok(()),
        }
    }

    /// Removes what it prepared and must not stay.
    pub(super) fn remove_prepared(self, request: &SessionRequest) {
        if self == Self::Gemini {
            gemini::remove_home(request);
        }
    }

    /// Folders that the program writes to.
    pub(super) fn written_paths(self, request: &SessionRequest) -> Vec<PathBuf> {
        match self {
            Self::Gemini => vec![gemini::session_home(request)],
            _ => Vec::new(),
        }
    }

    /// Adds the variables for the model's server, for the model, and for the number of retries.
    pub(super) fn set_environment(
        self,
        request: &SessionRequest,
        allowance: SessionAllowance,
        environment: &mut EnvironmentMap,
    ) -> Result<(), ServerError> {
        let agent = &request.agent;
        let url = agent.base_url.as_deref();
        if url.is_some() && agent.server_by_repository {
            return Err(ServerError::SetByRepository(agent.name.clone()));
        }
        let mut set_url = |variable: &str| {
            if let Some(url) = url {
                environment.insert(variable.into(), url.into());
            }
        };
        match self {
            Self::Droid | Self::Other if url.is_some() => {
                return Err(ServerError::Unsupported(agent.name.clone()));
            }
            Self::Droid | Self::Other => {}
            Self::Copilot => set_url("COPILOT_PROVIDER_BASE_URL"),
            Self::ClaudeAgent => {
                set_url("ANTHROPIC_BASE_URL");
                let mut set_default = |variable: &str, value: String| {
                    environment.entry(variable.into()).or_insert(value.into());
                };
                // Offers the model even if it is not one of the usual aliases.
                if let Some(model) = &agent.model {
                    set_default("ANTHROPIC_CUSTOM_MODEL_OPTION", model.clone());
                }
                set_default("CLAUDE_CODE_MAX_RETRIES", allowance.retries.to_string());
                set_default("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned());
                if is_sandboxed(request) {
                    // As root it does not start otherwise.
                    set_default("IS_SANDBOX", "1".to_owned());
                }
            }
            Self::Gemini => {
                set_url("GOOGLE_GEMINI_BASE_URL");
                gemini::set_home(request, environment);
            }
            Self::Qwen => {
                set_url("OPENAI_BASE_URL");
                qwen::set_default_settings(request, environment);
            }
            Self::Opencode => {
                if let Some(url) = url {
                    let model = agent.model.as_deref().unwrap_or_default();
                    let Some((provider, _)) = model.split_once('/') else {
                        return Err(ServerError::NoProvider(agent.name.clone()));
                    };
                    let options = json!({"options": {"baseURL": url}});
                    let settings = json!({"provider": {provider: options}});
                    merge_json(environment, "OPENCODE_CONFIG_CONTENT", settings)?;
                }
            }
            Self::Codex => set_codex_environment(request, allowance, environment)?,
        }
        Ok(())
    }

    /// The modes in which the program can do its work, the best one first; `None` leaves the mode that
    /// it begins with.
    pub(super) fn preferred_modes(self, request: &SessionRequest) -> &'static [&'static str] {
        match (self, request.role) {
            (Self::Codex, SessionRole::Judge) => &["read-only"],
            (Self::Droid, SessionRole::Judge) => &["spec"],
            (_, SessionRole::Judge) => &["plan"],
            // Inside our sandbox its own cannot always be set up, and then its commands do not run.
            (Self::Codex, SessionRole::Implementer) if is_sandboxed(request) => {
                &["agent-full-access", "full-access"]
            }
            (Self::Codex, SessionRole::Implementer) => &["workspace-write", "auto", "agent"],
            // Its own default asks a model whether a command is safe.
            (Self::Qwen, SessionRole::Implementer) => &["default"],
            _ => &[],
        }
    }
}

fn is_sandboxed(request: &SessionRequest) -> bool {
    request.supervisor.sandbox().is_some()
}

/// Codex reads settings from a variable; a server of one's own is a provider in them.
fn set_codex_environment(
    request: &SessionRequest,
    allowance: SessionAllowance,
    environment: &mut EnvironmentMap,
) -> Result<(), ServerError> {
    let mut settings = json!({"check_for_update_on_startup": false});
    if let Some(model) = &request.agent.model {
        settings["model"] = json!(model);
    }
    if let Some(url) = &request.agent.base_url {
        let mut provider = json!({
            "name": CODEX_PROVIDER,
            "base_url": url,
            "wire_api": "responses",
            // A broken stream is retried, but not a request within that retry.
            "request_max_retries": 0,
            "stream_max_retries": allowance.retries,
        });
        let keys = ["CODEX_API_KEY", "OPENAI_API_KEY"];
        let mut keys = keys
            .iter()
            .filter(|name| environment.contains_key(OsStr::new(name)));
        if let Some(key) = keys.next() {
            provider["env_key"] = json!(key);
        }
        settings["model_providers"] = json!({CODEX_PROVIDER: provider});
        environment.insert("MODEL_PROVIDER".into(), CODEX_PROVIDER.into());
    }
    merge_json(environment, "CODEX_CONFIG", settings)
}

/// Adds settings to those in a variable, over the user's own.
fn merge_json(
    environment: &mut EnvironmentMap,
    variable: &'static str,
    settings: Value,
) -> Result<(), ServerError> {
    let own = environment.get(OsStr::new(variable));
    let own = own.map_or(Ok(Value::Null), |text| {
        serde_json::from_slice(text.as_encoded_bytes())
    });
    let own = own.map_err(|error| ServerError::InvalidVariable {
        variable,
        message: error.to_string(),
    })?;
    let merged = gemini::merge_settings(own, settings).to_string();
    environment.insert(variable.into(), merged.into());
    Ok(())
}

/// The methods with which a program logs in by a key in its environment, and the variables of the key.
const KEY_LOGINS: &[(&str, &[&str])] = &[
    ("api-key", &["CODEX_API_KEY", "OPENAI_API_KEY"]),
    ("codex-api-key", &["CODEX_API_KEY"]),
    ("factory-api-key", &["FACTORY_API_KEY"]),
    ("openai-api-key", &["OPENAI_API_KEY"]),
    ("gemini-api-key", &["GEMINI_API_KEY"]),
];

/// Selects a login that needs no person, among the methods that a program offers.
pub(super) fn find_key_login<'a>(
    offered: impl Iterator<Item = &'a str>,
    environment: &EnvironmentMap,
) -> Option<&'a str> {
    let has_key = |names: &&[&str]| {
        names
            .iter()
            .any(|name| environment.contains_key(OsStr::new(name)))
    };
    let mut offered = offered.filter(|method| {
        let known = KEY_LOGINS.iter().find(|(name, _)| name == method);
        known.map(|(_, keys)| keys).is_some_and(&has_key)
    });
    offered.next()
}

#[cfg(test)]
mod tests {
    use super::KnownProgram::{ClaudeAgent, Codex, Gemini, Other, Qwen};
    use super::*;

    #[test]
    fn known_program_is_recognised_by_its_name() {
        let recognize = |line: &str| {
            let words: Vec<_> = line.split(' ').map(str::to_owned).collect();
            KnownProgram::recognize(&words)
        };
        assert_eq!(recognize("claude-agent-acp"), ClaudeAgent);
        assert_eq!(
            recognize("npx -y @agentclientprotocol/codex-acp@2.6.0"),
            Codex
        );
        assert_eq!(recognize("/opt/node/bin/gemini --acp"), Gemini);
        assert_eq!(recognize("qwen --acp"), Qwen);
        assert_eq!(recognize("goose acp"), Other);
    }

    #[test]
    fn known_program_logs_in_by_key_only_with_key() {
        let offered = ["chat-gpt", "api-key"];
        let find = |name: &str| {
            let environment = [(name.into(), "k".into())].into();
            find_key_login(offered.into_iter(), &environment)
        };
        assert_eq!(find("OPENAI_API_KEY"), Some("api-key"));
        assert_eq!(find("HOME"), None);
    }
}
