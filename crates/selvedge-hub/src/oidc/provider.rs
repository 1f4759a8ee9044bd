//! Requests to the provider: its configuration, its keys, and ID tokens for codes. Responses are bounded in size and time.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jsonwebtoken::jwk::Jwk;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use reqwest::redirect::Policy;
use reqwest::{Client, RequestBuilder, StatusCode, Url};
use selvedge_core::format::percent_encode;
use serde::Deserialize;
use serde_json::Value;
use tokio::sync::Mutex;

use super::person::shown_text;
use super::settings::{OidcSettings, parse_endpoint};

/// Characters of a form's field that are not encoded.
const UNRESERVED: &[u8] = b"-._~";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a whole request may take: less than the hub's limit of a browser's request.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(8);
/// Longest response, in bytes.
const MAX_RESPONSE_BYTES: usize = 1024 * 1024;
/// Number of keys that are read.
const MAX_KEYS: usize = 100;
/// How long the provider's configuration and keys are used before they are read again.
const DISCOVERY_TTL: Duration = Duration::from_hours(1);
/// How long a failure to read it is returned without another request, because many people may try to sign in.
const FAILURE_TTL: Duration = Duration::from_secs(1);
/// Time until keys that could not be read again are requested once more.
const KEYS_RETRY: Duration = Duration::from_mins(1);

/// Why the provider cannot be used.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum IdentityProviderError {
    /// It cannot be reached, or fails.
    #[error("cannot reach the identity provider: {0}")]
    Unavailable(String),
    /// It refused the code of a sign-in.
    #[error("the identity provider refused the code: {0}")]
    Refused(String),
    /// It does not behave like a provider of OpenID Connect.
    #[error("cannot use the identity provider: {0}")]
    Protocol(String),
}

/// The parts of the provider's configuration that are used.
#[derive(Debug)]
pub(super) struct Discovery {
    pub(super) authorization_endpoint: Url,
    token_endpoint: Url,
    jwks_uri: Url,
    /// Whether the client secret is sent in the body, because the header is not supported.
    secret_in_body: bool,
}

#[derive(Debug, Deserialize)]
struct DiscoveryDocument {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
struct KeysDocument {
    keys: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct TokenDocument {
    id_token: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ErrorDocument {
    error: String,
    error_description: String,
}

/// Cached data of the provider.
#[derive(Debug, Default)]
struct ProviderCache {
    discovery: Option<(Instant, Arc<Discovery>)>,
    failure: Option<(Instant, IdentityProviderError)>,
    keys: Option<(Instant, Arc<Vec<Jwk>>)>,
}

/// The provider of the settings.
#[derive(Debug)]
pub(super) struct Provider {
    issuer: String,
    client_id: String,
    client_secret: super::ClientSecret,
    client: Result<Client, String>,
    /// Locked while it is completed: concurrent callers wait for the same response.
    known: Mutex<ProviderCache>,
}

impl Provider {
    pub(super) fn new(settings: &OidcSettings) -> Self {
        // Only the first call has an effect.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .timeout(REQUEST_TIMEOUT)
            // A code or a secret must not be sent elsewhere.
            .redirect(Policy::none())
            .build();
        Self {
            issuer: settings.issuer.clone(),
            client_id: settings.client_id.clone(),
            client_secret: settings.client_secret.clone(),
            client: client.map_err(|error| error.to_string()),
            known: Mutex::default(),
        }
    }

    fn client(&self) -> Result<&Client, IdentityProviderError> {
        self.client
            .as_ref()
            .map_err(|error| IdentityProviderError::Unavailable(error.clone()))
    }

    /// The provider's configuration. If it cannot be read again, the earlier one stays in use.
    pub(super) async fn discovery(&self) -> Result<Arc<Discovery>, IdentityProviderError> {
        let mut known = self.known.lock().await;
        let earlier = known.discovery.clone();
        if let Some((at, found)) = &earlier
            && at.elapsed() < DISCOVERY_TTL
        {
            return Ok(Arc::clone(found));
        }
        let failure = known.failure.as_ref();
        let error = match failure.filter(|(at, _)| at.elapsed() < FAILURE_TTL) {
            Some((_, error)) => error.clone(),
            None => match self.discover().await {
                Ok(found) => {
                    let found = Arc::new(found);
                    known.discovery = Some((Instant::now(), Arc::clone(&found)));
                    return Ok(found);
                }
                Err(error) => {
                    known.failure = Some((Instant::now(), error.clone()));
                    error
                }
            },
        };
        earlier.map(|(_, found)| found).ok_or(error)
    }

    async fn discover(&self) -> Result<Discovery, IdentityProviderError> {
        let base = self.issuer.trim_end_matches('/');
        let url = format!("{base}/.well-known/openid-configuration");
        let document: DiscoveryDocument = self.get(&url).await?;
        if document.issuer != self.issuer {
            return Err(IdentityProviderError::Protocol(format!(
                "its configuration names the issuer `{}` instead of `{}`",
                shown_text(&document.issuer),
                self.issuer
            )));
        }
        let endpoint = |name: &str, text: &str| {
            parse_endpoint(text).map_err(|error| {
                let text = shown_text(text);
                IdentityProviderError::Protocol(format!("its `{name}` `{text}` {error}"))
            })
        };
        let methods = document.token_endpoint_auth_methods_supported;
        let secret_in_body = methods.is_some_and(|methods| {
            let has = |name: &str| methods.iter().any(|method| method == name);
            has("client_secret_post") && !has("client_secret_basic")
        });
        Ok(Discovery {
            authorization_endpoint: endpoint(
                "authorization_endpoint",
                &document.authorization_endpoint,
            )?,
            token_endpoint: endpoint("token_endpoint", &document.token_endpoint)?,
            jwks_uri: endpoint("jwks_uri", &document.jwks_uri)?,
            secret_in_body,
        })
    }

    /// The provider's keys. They are requested again if the known ones are old, or are the `insufficient` ones. If that
    /// fails, old ones stay in use.
    pub(super) async fn keys(
        &self,
        insufficient: Option<&Arc<Vec<Jwk>>>,
    ) -> Result<Arc<Vec<Jwk>>, IdentityProviderError> {
        let discovery = self.discovery().await?;
        let mut known = self.known.lock().await;
        let usable = known.keys.clone();
        let usable =
            usable.filter(|(_, keys)| !insufficient.is_some_and(|it| Arc::ptr_eq(it, keys)));
        if let Some((at, keys)) = &usable
            && at.elapsed() < DISCOVERY_TTL
        {
            return Ok(Arc::clone(keys));
        }
        let document: KeysDocument = match self.get(discovery.jwks_uri.as_str()).await {
            Ok(document) => document,
            Err(error) => {
                let Some((_, keys)) = usable else {
                    return Err(error);
                };
                tracing::warn!(%error, "the provider's keys cannot be read again; the old ones stay in use");
                let known_at = Instant::now()
                    .checked_sub(DISCOVERY_TTL.saturating_sub(KEYS_RETRY))
                    .unwrap_or_else(Instant::now);
                known.keys = Some((known_at, Arc::clone(&keys)));
                return Ok(keys);
            }
        };
        // Keys of unknown kinds are left out.
        let keys = document.keys.into_iter().take(MAX_KEYS);
        let keys = keys.filter_map(|key| serde_json::from_value(key).ok());
        let keys = Arc::new(keys.collect());
        known.keys = Some((Instant::now(), Arc::clone(&keys)));
        Ok(keys)
    }

    /// Exchanges a code for an ID token.
    pub(super) async fn id_token(
        &self,
        code: &str,
        verifier: &str,
        redirect_url: &str,
    ) -> Result<String, IdentityProviderError> {
        let discovery = self.discovery().await?;
        let secret = self.client_secret.expose();
        let mut fields = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_url),
            ("code_verifier", verifier),
        ];
        if discovery.secret_in_body {
            fields.extend([("client_id", &*self.client_id), ("client_secret", secret)]);
        }
        let request = self
            .client()?
            .post(discovery.token_endpoint.clone())
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .body(form_encode(&fields));
        // RFC 6749, section 2.3.1: both are encoded like a form first.
        let encode = |text: &str| percent_encode(text, UNRESERVED);
        let request = if discovery.secret_in_body {
            request
        } else {
            request.basic_auth(encode(&self.client_id), Some(encode(secret)))
        };
        let (status, body) = send(request).await?;
        if status.is_client_error() && status != StatusCode::TOO_MANY_REQUESTS {
            // Any other body than an error document has no details.
            let error: ErrorDocument = serde_json::from_slice(&body).unwrap_or_default();
            let details = shown_text(&format!("{} {}", error.error, error.error_description));
            let text = [status.to_string(), details].join(" ");
            let is_of_client = status == StatusCode::UNAUTHORIZED
                || ["invalid_client", "unauthorized_client"].contains(&error.error.as_str());
            return Err(if is_of_client {
                IdentityProviderError::Protocol(format!(
                    "it refused the hub's client id or secret: {text}"
                ))
            } else {
                IdentityProviderError::Refused(text)
            });
        }
        let document: TokenDocument = parse(status, &body, "its token endpoint")?;
        Ok(document.id_token)
    }

    async fn get<T: for<'de> Deserialize<'de>>(
        &self,
        url: &str,
    ) -> Result<T, IdentityProviderError> {
        let (status, body) = send(self.client()?.get(url)).await?;
        parse(status, &body, url)
    }
}

/// Encodes the fields of a form.
fn form_encode(fields: &[(&str, &str)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("{name}={}", percent_encode(value, UNRESERVED)));
    fields.collect::<Vec<_>>().join("&")
}

async fn send(request: RequestBuilder) -> Result<(StatusCode, Vec<u8>), IdentityProviderError> {
    let unavailable = |error: reqwest::Error| IdentityProviderError::Unavailable(describe(&error));
    let request = request.header(ACCEPT, "application/json");
    let mut response = request.send().await.map_err(unavailable)?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(unavailable)? {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_RESPONSE_BYTES {
            return Err(IdentityProviderError::Protocol(
                "a response is too long".to_owned(),
            ));
        }
    }
    Ok((response.status(), body))
}

fn parse<T: for<'de> Deserialize<'de>>(
    status: StatusCode,
    body: &[u8],
    source: &str,
) -> Result<T, IdentityProviderError> {
    if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
        return Err(IdentityProviderError::Unavailable(format!(
            "{source} answers {status}"
        )));
    }
    if !status.is_success() {
        return Err(IdentityProviderError::Protocol(format!(
            "{source} answers {status}"
        )));
    }
    serde_json::from_slice(body)
        .map_err(|error| IdentityProviderError::Protocol(format!("{source}: {error}")))
}

/// An error with its causes.
fn describe(error: &reqwest::Error) -> String {
    let mut text = if error.is_timeout() {
        "no response in time".to_owned()
    } else {
        "the request failed".to_owned()
    };
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    shown_text(&text)
}
