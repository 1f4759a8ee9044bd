//! Which hub is meant, and the token for it.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Url;

use crate::error::CliError;

/// The variable that names the hub.
const HUB_VARIABLE: &str = "SELVEDGE_HUB";
/// The variable that holds the token.
const TOKEN_VARIABLE: &str = "SELVEDGE_TOKEN";
/// A file longer than this holds no token.
const MAX_TOKEN_FILE_BYTES: u64 = 4096;

/// Which hub.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "On a hub")]
pub(crate) struct HubArgs {
    /// The hub's address, `https://hub.example` [default: $SELVEDGE_HUB].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) hub: Option<String>,
    /// A file that holds the token for the hub [default: the token is in $SELVEDGE_TOKEN].
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}

/// A hub, and who we are there.
#[derive(Clone)]
pub(crate) struct HubCredentials {
    /// Where it is; ends with a `/`.
    pub(crate) url: Url,
    /// Our token.
    pub(crate) token: String,
}

impl HubArgs {
    /// The hub that is meant, if one is.
    pub(crate) fn credentials(
        &self,
        environment: &[(String, String)],
    ) -> Result<Option<HubCredentials>, CliError> {
        let variable = |wanted: &str| {
            let found = environment.iter().find(|(name, _)| name == wanted);
            found
                .map(|(_, value)| value.clone())
                .filter(|it| !it.is_empty())
        };
        let Some(address) = self.hub.clone().or_else(|| variable(HUB_VARIABLE)) else {
            if self.token_file.is_some() {
                return Err(CliError::usage("there is a token, but no hub")
                    .hint("name it: --hub https://hub.example, or SELVEDGE_HUB"));
            }
            return Ok(None);
        };
        let url = parse_hub_url(&address)?;
        let token = match &self.token_file {
            Some(file) => read_token_file(file)?,
            None => variable(TOKEN_VARIABLE).ok_or_else(|| {
                CliError::usage(format!("there is no token for {address}"))
                    .hint("name the file that holds it: --token-file FILE, or set SELVEDGE_TOKEN")
            })?,
        };
        let token = token.trim().to_owned();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(CliError::usage(
                "the token for the hub is not one: it is a word on one line",
            ));
        }
        Ok(Some(HubCredentials { url, token }))
    }

    /// The same for what makes no sense without a hub.
    pub(crate) fn require_credentials(
        &self,
        environment: &[(String, String)],
    ) -> Result<HubCredentials, CliError> {
        self.credentials(environment)?.ok_or_else(|| {
            CliError::usage("this needs a hub").hint(
                "name it: --hub https://hub.example --token-file FILE, or SELVEDGE_HUB and SELVEDGE_TOKEN",
            )
        })
    }
}

fn parse_hub_url(address: &str) -> Result<Url, CliError> {
    let refused = |why: &str| {
        Err(
            CliError::usage(format!("`{address}` is no hub's address: {why}"))
                .hint("an address begins with http:// or https:// and names a host"),
        )
    };
    let Ok(mut url) = Url::parse(address) else {
        return refused("it is no URL");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return refused("it is neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("a token belongs into --token-file, not into the address");
    }
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn read_token_file(file: &Path) -> Result<String, CliError> {
    let failed = |why: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "cannot read the token from {}: {why}",
            file.display()
        ))
    };
    let opened = std::fs::File::open(file).map_err(|error| failed(&error))?;
    let mut text = String::new();
    opened
        .take(MAX_TOKEN_FILE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| failed(&error))?;
    Ok(text)
}

impl std::fmt::Debug for HubCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Account")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_held_to_be_one_and_bears_no_token() {
        assert_eq!(
            parse_hub_url("http://127.0.0.1:7700").unwrap().as_str(),
            "http://127.0.0.1:7700/"
        );
        assert_eq!(
            parse_hub_url("https://a.b/hub").unwrap().as_str(),
            "https://a.b/hub/"
        );
        for address in [
            "a.b",
            "ftp://a.b",
            "https://token@a.b",
            "https://u:p@a.b",
            "",
        ] {
            assert!(parse_hub_url(address).is_err(), "{address}");
        }
    }
}
