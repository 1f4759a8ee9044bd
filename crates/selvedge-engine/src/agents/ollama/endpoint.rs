//! The address of the model server: from the agent's configuration, otherwise from `OLLAMA_HOST` as
//! Ollama's own programs parse it, otherwise Ollama's default address.

use std::ffi::OsStr;
use std::net::IpAddr;

use reqwest::Url;
use selvedge_core::model::AgentSpec;

use crate::agents::chat::model::{is_local, url_host};
use crate::environment::host_env;

const DEFAULT_ADDRESS: &str = "127.0.0.1";
const DEFAULT_PORT: u16 = 11434;

/// The address of a model server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::agents) struct Endpoint {
    base: Url,
}

/// The address cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("invalid model server URL `{0}`: expected a URL such as http://127.0.0.1:11434")]
pub(in crate::agents) struct InvalidAddressError(String);

impl Endpoint {
    /// Determines the server of an agent.
    pub(in crate::agents) fn for_agent(agent: &AgentSpec) -> Result<Self, InvalidAddressError> {
        let ours = || {
            host_env()
                .get(OsStr::new("OLLAMA_HOST"))?
                .clone()
                .into_string()
                .ok()
        };
        let configured = agent
            .base_url
            .clone()
            .or_else(|| agent.env.get("OLLAMA_HOST").cloned());
        let configured = configured
            .or_else(ours)
            .filter(|address| !address.trim().is_empty());
        Self::parse(configured.as_deref().unwrap_or(DEFAULT_ADDRESS))
    }

    fn parse(address: &str) -> Result<Self, InvalidAddressError> {
        let bad = || InvalidAddressError(address.to_owned());
        let trimmed = address.trim();
        let has_scheme = trimmed.contains("://");
        let text = if has_scheme {
            trimmed.to_owned()
        } else {
            format!("http://{trimmed}")
        };
        let mut base = Url::parse(&text).map_err(|_| bad())?;
        if !matches!(base.scheme(), "http" | "https") {
            return Err(bad());
        }
        if !has_scheme && base.port().is_none() {
            base.set_port(Some(DEFAULT_PORT)).map_err(|()| bad())?;
        }
        // A server is configured with `0.0.0.0` to listen on all addresses; a client cannot connect
        // to that.
        match url_host(&base).parse::<IpAddr>() {
            Ok(IpAddr::V4(any)) if any.is_unspecified() => base.set_host(Some("127.0.0.1")),
            Ok(IpAddr::V6(any)) if any.is_unspecified() => base.set_host(Some("[::1]")),
            _ => Ok(()),
        }
        .map_err(|_| bad())?;
        Ok(Self { base })
    }

    /// The URL of one call.
    pub(super) fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_str().trim_end_matches('/'))
    }

    /// The address for display.
    pub(super) fn name(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether the server is on this machine.
    pub(in crate::agents) fn is_local(&self) -> bool {
        is_local(&self.base)
    }

    /// Host and port to connect to.
    pub(in crate::agents) fn host_and_port(&self) -> (String, u16) {
        (
            url_host(&self.base).to_owned(),
            self.base.port_or_known_default().unwrap_or(DEFAULT_PORT),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ollama_address_is_parsed_like_ollama() {
        for (address, url) in [
            ("127.0.0.1", "http://127.0.0.1:11434/api/chat"),
            ("0.0.0.0", "http://127.0.0.1:11434/api/chat"),
            ("[::]:8080", "http://[::1]:8080/api/chat"),
            ("gpu.lan:1234", "http://gpu.lan:1234/api/chat"),
            ("http://gpu.lan", "http://gpu.lan/api/chat"),
            (
                " https://models.example/ollama/ ",
                "https://models.example/ollama/api/chat",
            ),
        ] {
            assert_eq!(Endpoint::parse(address).unwrap().url("/api/chat"), url);
        }
        for address in ["", "http://", "ftp://x", "http://a b"] {
            assert!(Endpoint::parse(address).is_err(), "{address}");
        }
    }

    #[test]
    fn ollama_only_loopback_is_local() {
        let is_local = |address| Endpoint::parse(address).unwrap().is_local();
        assert!(is_local("localhost") && is_local("[::1]:1") && is_local("127.0.0.2"));
        assert!(!is_local("gpu.lan") && !is_local("10.0.0.1"));
    }
}
