//! Whose API a model is behind, where that is, and with which key it is asked.

use genai::adapter::AdapterKind;
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use reqwest::Url;
use selvedge_core::model::AgentSpec;

use crate::agents::env;

/// An API.
#[derive(Debug)]
struct KnownProvider {
    /// What stands before a model's name.
    names: &'static [&'static str],
    adapter: AdapterKind,
    base_url: &'static str,
    /// Variables that hold the key; the first that is set counts.
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

/// Models that give at most so many tokens in one answer, by how their names begin, and refuse to be asked for
/// more: as their makers' lists of models said in 2026.
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

/// The most tokens that a model gives in one answer, where that is known to be few.
fn max_output_tokens(name: &str) -> Option<u32> {
    let short = OUTPUT_TOKEN_LIMITS.iter();
    let mut short = short.filter(|(head, _)| name.starts_with(head));
    short.next().map(|(_, tokens)| *tokens)
}

/// Whether a variable holds the key of an API. The model's own commands never see it.
pub(in crate::agents) fn is_api_key(variable: &str) -> bool {
    KNOWN_PROVIDERS
        .iter()
        .any(|known| known.key_variables.contains(&variable))
}

/// Why an agent's API cannot be asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(in crate::agents) enum ProviderError {
    /// The model's name does not say.
    #[error(
        "`{0}` does not say whose model it is: write anthropic/…, openai/… (also for servers that are \
         compatible with it) or gemini/…"
    )]
    Unknown(String),
    /// The server's address is none.
    #[error(
        "`{0}` is not the address of a model server: expected something like http://127.0.0.1:8080/v1"
    )]
    InvalidAddress(String),
    /// A server elsewhere wants a key.
    #[error("agent `{agent}` needs a key: set {variable}")]
    MissingKey {
        /// The agent.
        agent: String,
        /// Where it is looked for first.
        variable: &'static str,
    },
    /// The same, and the environment's is not for it.
    #[error(
        "agent `{agent}` needs a key of its own, for this repository names its server: say {variable} under \
         [agents.{agent}.env] in your own ~/.config/selvedge/config.toml"
    )]
    MissingOwnKey {
        /// The agent.
        agent: String,
        /// Where it is looked for first.
        variable: &'static str,
    },
}

/// A model and the API that it is behind.
#[derive(Debug)]
pub(in crate::agents) struct Provider {
    pub(super) target: ServiceTarget,
    /// The most tokens of one answer, where that is known to be few.
    pub(super) max_output_tokens: Option<u32>,
    /// The model's name with its provider's.
    pub(super) model: String,
    /// The server as people write it.
    pub(super) address: String,
    /// Whether it is on this machine.
    pub(super) is_local: bool,
}

impl Provider {
    /// The provider of an agent's model.
    pub(in crate::agents) fn for_agent(agent: &AgentSpec) -> Result<Self, ProviderError> {
        let model = agent.model.as_deref().unwrap_or_default();
        let unknown = || ProviderError::Unknown(model.to_owned());
        let (provider, name) = model.split_once('/').ok_or_else(unknown)?;
        let known = KNOWN_PROVIDERS
            .iter()
            .find(|known| known.names.contains(&provider))
            .filter(|_| !name.is_empty())
            .ok_or_else(unknown)?;
        let told = agent.base_url.as_deref().unwrap_or(known.base_url);
        let address = Url::parse(told)
            .ok()
            .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
            .ok_or_else(|| ProviderError::InvalidAddress(told.to_owned()))?;
        let is_local = is_loopback(&address);
        let key = api_key(agent, known);
        let auth = match key {
            Some(key) => AuthData::Key(key),
            // Servers on one's own machine ask for none, but the header must say something.
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
            address: told.trim_end_matches('/').to_owned(),
            is_local,
        })
    }
}

/// The agent's own setting, else our environment's; that one goes to no server that a repository names.
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

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
