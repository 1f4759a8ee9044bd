//! The provider of a model: which API, its address, and the key for it.

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use reqwest::Url;
use selvedge_core::model::AgentSpec;

use crate::agents::chat::model::is_local;
use crate::agents::env;

/// A supported API.
#[derive(Debug)]
struct KnownProvider {
    /// Prefixes of model names.
    names: &'static [&'static str],
    adapter: AdapterKind,
    base_url: &'static str,
    /// Variables that hold the key; the first one that is set counts.
    key_variables: &'static [&'static str],
}

const KNOWN_PROVIDERS: [KnownProvider; 3] = [
    KnownProvider {
        names: &["anthropic"],
        adapter: AdapterKind::Anthropic,
        base_url: "https://api.anthropic.com/v1/",
        key_variables: &["ANTHROPIC_API_KEY"],
    },
    KnownProvider {
        names: &["openai"],
        adapter: AdapterKind::OpenAI,
        base_url: "https://api.openai.com/v1/",
        key_variables: &["OPENAI_API_KEY"],
    },
    KnownProvider {
        names: &["gemini", "google"],
        adapter: AdapterKind::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta/",
        key_variables: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    },
];

/// Models with a low limit on the tokens of one answer, by the beginning of their names; they
/// reject requests for more. From their providers' model lists of 2026.
const OUTPUT_TOKEN_LIMITS: &[(&str, u32)] = &[
    ("claude-3-5", 8_192),
    ("claude-3-", 4_096),
    ("deepseek-chat", 8_192),
    ("gemini-1.5", 8_192),
    ("gemini-2.0", 8_192),
    ("gpt-3.5", 4_096),
    ("gpt-4-turbo", 4_096),
    ("gpt-4o", 16_384),
];

/// Maximum tokens of one answer, for models with a known low limit.
fn max_output_tokens(name: &str) -> Option<u32> {
    let short = OUTPUT_TOKEN_LIMITS.iter();
    let mut short = short.filter(|(head, _)| name.starts_with(head));
    short.next().map(|(_, tokens)| *tokens)
}

/// Whether a variable holds the key of an API. The model's commands never see it.
pub(in crate::agents) fn is_api_key(variable: &str) -> bool {
    KNOWN_PROVIDERS
        .iter()
        .any(|known| known.key_variables.contains(&variable))
}

/// Why an agent's API cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::agents) enum ProviderError {
    /// The model's name has no provider prefix.
    #[error(
        "`{0}` does not name the model's provider: use anthropic/…, openai/… (also for compatible \
         servers) or gemini/…"
    )]
    Unknown(String),
    /// The server's address is invalid.
    #[error("invalid model server URL `{0}`: expected a URL such as http://127.0.0.1:8080/v1")]
    InvalidAddress(String),
    /// A remote server requires a key.
    #[error("agent `{agent}` needs an API key: set {variable}")]
    MissingKey {
        /// The agent.
        agent: String,
        /// The variable that is searched first.
        variable: &'static str,
    },
    /// A key is required, and the environment's key must not be used for this server.
    #[error(
        "agent `{agent}` needs its own API key because this repository sets its server: set {variable} under \
         [agents.{agent}.env] in your own ~/.config/selvedge/config.toml"
    )]
    MissingOwnKey {
        /// The agent.
        agent: String,
        /// The variable that is searched first.
        variable: &'static str,
    },
}

/// A model and the API that serves it.
#[derive(Debug)]
pub(in crate::agents) struct Provider {
    pub(super) target: ServiceTarget,
    /// Maximum tokens of one answer, for models with a known low limit.
    pub(super) max_output_tokens: Option<u32>,
    /// The model's name with the provider prefix.
    pub(super) model: String,
    /// The server's address for display.
    pub(super) address: String,
    /// Whether the server is on this machine.
    pub(super) is_local: bool,
}

impl Provider {
    /// Determines the provider of an agent's model.
    pub(in crate::agents) fn for_agent(agent: &AgentSpec) -> Result<Self, ProviderError> {
        let model = agent.model.as_deref().unwrap_or_default();
        let unknown = || ProviderError::Unknown(model.to_owned());
        let (provider, name) = model.split_once('/').ok_or_else(unknown)?;
        let known = KNOWN_PROVIDERS
            .iter()
            .find(|known| known.names.contains(&provider))
            .filter(|_| !name.is_empty())
            .ok_or_else(unknown)?;
        let base_url = agent.base_url.as_deref().unwrap_or(known.base_url);
        let address = Url::parse(base_url)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ProviderError::InvalidAddress(base_url.to_owned()))?;
        let is_local = is_local(&address);
        let key = api_key(agent, known);
        let auth = match key {
            Some(key) => AuthData::Key(key),
            // Local servers require no key, but the header must have a value.
            None if is_local => AuthData::Key("none".to_owned()),
            None => {
                let name = agent.name.clone();
                let variable = known.key_variables.first().copied().unwrap_or_default();
                return Err(if agent.server_by_repository {
                    ProviderError::MissingOwnKey {
                        agent: name,
                        variable,
                    }
                } else {
                    ProviderError::MissingKey {
                        agent: name,
                        variable,
                    }
                });
            }
        };
        let base = format!("{}/", address.as_str().trim_end_matches('/'));
        Ok(Self {
            target: ServiceTarget {
                endpoint: Endpoint::from_owned(base),
                auth,
                model: ModelIden::new(known.adapter, name),
            },
            max_output_tokens: max_output_tokens(name.rsplit('/').next().unwrap_or(name)),
            model: model.to_owned(),
            address: base_url.trim_end_matches('/').to_owned(),
            is_local,
        })
    }
}

/// The key from the agent's own settings, otherwise from our environment; that one is not sent to a
/// server that the repository configures.
fn api_key(agent: &AgentSpec, known: &KnownProvider) -> Option<String> {
    let ours = env::host_env();
    let of_agent = env::agent_settings(agent, &ours);
    let value = |variable: &&str| {
        let name = std::ffi::OsStr::new(variable);
        let general = || ours.get(name).filter(|_| !agent.server_by_repository);
        let value = of_agent.get(name).or_else(general)?;
        value.to_str().map(str::trim).map(str::to_owned)
    };
    known
        .key_variables
        .iter()
        .filter_map(value)
        .find(|key| !key.is_empty())
}
