//! The hub's URL and token, from arguments, environment and files.

use std::io::Read;
use std::path::{Path, PathBuf};

use clap::Args;
use reqwest::Url;

use crate::error::CliError;

const HUB_VARIABLE: &str = "SELVEDGE_HUB";
const TOKEN_VARIABLE: &str = "SELVEDGE_TOKEN";
/// Only this much of a token file is read.
const MAX_TOKEN_FILE_BYTES: u64 = 4096;

/// The hub and the token for it.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Hub")]
pub(crate) struct HubArgs {
    /// Hub URL, such as `https://hub.example` [default: $SELVEDGE_HUB].
    #[arg(long, global = true, value_name = "URL")]
    pub(crate) hub: Option<String>,
    /// File with the token for the hub [default: the token in $SELVEDGE_TOKEN].
    #[arg(long, global = true, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) token_file: Option<PathBuf>,
}

/// A hub's URL and the token for it.
#[derive(Clone)]
pub(crate) struct HubCredentials {
    /// Ends with `/`.
    pub(crate) url: Url,
    pub(crate) token: String,
    /// The file with the token, which may get a new one.
    pub(crate) token_file: Option<PathBuf>,
}

impl HubArgs {
    /// The credentials, or `None` if no hub is given.
    pub(crate) fn credentials(
        &self,
        environment: &[(String, String)],
    ) -> Result<Option<HubCredentials>, CliError> {
        let variable = |variable_name: &str| {
            let found = environment.iter().find(|(name, _)| name == variable_name);
            found
                .map(|(_, value)| value.clone())
                .filter(|it| !it.is_empty())
        };
        let Some(address) = self.hub.clone().or_else(|| variable(HUB_VARIABLE)) else {
            if self.token_file.is_some() {
                return Err(
                    CliError::usage("missing hub URL: a token alone is not enough")
                        .hint("use --hub https://hub.example, or set SELVEDGE_HUB"),
                );
            }
            return Ok(None);
        };
        let url = parse_hub_url(&address)?;
        let token = match &self.token_file {
            Some(file) => read_token_file(file)?,
            None => variable(TOKEN_VARIABLE).ok_or_else(|| {
                CliError::usage(format!("missing token for {address}"))
                    .hint("use --token-file FILE, or set SELVEDGE_TOKEN")
            })?,
        };
        Ok(Some(HubCredentials {
            url,
            token: validate_token(&token)?,
            token_file: self.token_file.clone(),
        }))
    }

    /// Checks the URL, if one is given.
    pub(crate) fn validate_url(&self) -> Result<(), CliError> {
        self.hub
            .as_deref()
            .map_or(Ok(()), |address| parse_hub_url(address).map(drop))
    }

    /// The credentials for commands that need a hub.
    pub(crate) fn require_credentials(
        &self,
        environment: &[(String, String)],
    ) -> Result<HubCredentials, CliError> {
        self.credentials(environment)?.ok_or_else(|| {
            CliError::usage("missing hub URL").hint(
                "use --hub https://hub.example --token-file FILE, or set SELVEDGE_HUB and SELVEDGE_TOKEN",
            )
        })
    }
}

fn parse_hub_url(address: &str) -> Result<Url, CliError> {
    let refused = |why: &str| {
        Err(
            CliError::usage(format!("invalid hub URL `{address}`: {why}"))
                .hint("a hub URL starts with http:// or https:// and a host name"),
        )
    };
    let Ok(mut url) = Url::parse(address) else {
        return refused("not a URL");
    };
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return refused("neither http nor https");
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused("credentials are not allowed in the URL; use --token-file");
    }
    url.set_query(None);
    url.set_fragment(None);
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

fn validate_token(text: &str) -> Result<String, CliError> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(CliError::usage(
            "invalid token for the hub: must be one line without spaces",
        ));
    }
    Ok(token.to_owned())
}

/// The token that a file contains now; `None` while there is none, for example because it is being replaced.
pub(super) fn read_current_token(file: &Path) -> Option<String> {
    validate_token(&read_token_file(file).ok()?).ok()
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
    if text.trim().is_empty() {
        return Err(failed(&"the file is empty"));
    }
    Ok(text)
}

impl std::fmt::Debug for HubCredentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubCredentials")
            .field("url", &self.url.as_str())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hub_url_is_validated_and_has_no_token() {
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
