//! Requests to a hub's REST API.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use reqwest::header::{ACCEPT, AUTHORIZATION, HeaderName, HeaderValue, InvalidHeaderValue};
use reqwest::{Client, Method, RequestBuilder, Response, Url};
use selvedge_core::sanitize::sanitize_text;
use selvedge_protocol::{API_PATH, Problem};
use serde::Serialize;
use serde::de::DeserializeOwned;
use uuid::Uuid;

use super::credentials::{HubCredentials, read_current_token};
use super::error::HubError;
use crate::output::print_notice;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit for a response that is not a stream.
const RESPONSE_TIMEOUT: Duration = Duration::from_mins(1);
const IDEMPOTENCY_HEADER: &str = "idempotency-key";
/// How long a request whose answer was lost is sent again.
const RESEND_PERIOD: Duration = Duration::from_secs(30);
/// First and longest delay before it is sent again.
const MIN_RESEND_DELAY: Duration = Duration::from_millis(200);
const MAX_RESEND_DELAY: Duration = Duration::from_secs(5);
/// Size limit for the description of a rejected request.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

/// A client of a hub. Clones share the token.
#[derive(Debug, Clone)]
pub(crate) struct HubClient {
    http: Client,
    base: Url,
    /// The header with the token.
    authorization: Arc<RwLock<HeaderValue>>,
    token_file: Option<PathBuf>,
}

impl HubClient {
    /// Creates a client; sends nothing.
    pub(crate) fn new(credentials: &HubCredentials) -> Result<Self, HubError> {
        install_crypto();
        let base = credentials.url.clone();
        let failed = |why: &dyn std::fmt::Display| HubError::Unreachable {
            hub: base.to_string(),
            why: why.to_string(),
            was_sent: false,
        };
        let authorization =
            authorization_header(&credentials.token).map_err(|error| failed(&error))?;
        // A redirect could send the token to another host.
        let mut builder = Client::builder()
            .http1_only()
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(reqwest::redirect::Policy::none());
        if is_local(&base) {
            builder = builder.no_proxy();
        }
        let http = builder.build().map_err(|error| failed(&error))?;
        Ok(Self {
            http,
            base,
            authorization: Arc::new(RwLock::new(authorization)),
            token_file: credentials.token_file.clone(),
        })
    }

    /// The file that the token was read from.
    pub(crate) fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// Reads the token file again; returns whether it contains another token, which is used from now on.
    pub(crate) fn reload_token(&self) -> bool {
        let token = self.token_file.as_deref().and_then(read_current_token);
        let Some(header) = token.and_then(|token| authorization_header(&token).ok()) else {
            return false;
        };
        let mut authorization = self.authorization.write();
        let is_new = *authorization != header;
        *authorization = header;
        is_new
    }

    /// The hub's URL, for messages.
    pub(crate) fn base_url(&self) -> &str {
        self.base.as_str()
    }

    /// Whether the token is sent over a network without encryption.
    pub(crate) fn is_unencrypted(&self) -> bool {
        self.base.scheme() == "http" && !is_local(&self.base)
    }

    pub(crate) async fn get<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<T, HubError> {
        self.send_for_json(self.request(Method::GET, path, query))
            .await
    }

    pub(crate) async fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        headers: &[(&'static str, String)],
    ) -> Result<T, HubError> {
        let mut request = self.request(Method::POST, path, &[]).json(body);
        for (name, value) in headers {
            request = request.header(HeaderName::from_static(name), value);
        }
        self.send_for_json(request).await
    }

    pub(crate) async fn patch<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, HubError> {
        self.send_for_json(self.request(Method::PATCH, path, &[]).json(body))
            .await
    }

    pub(crate) async fn delete(&self, path: &str) -> Result<(), HubError> {
        let request = self.request(Method::DELETE, path, &[]);
        self.send(request.timeout(RESPONSE_TIMEOUT)).await.map(drop)
    }

    pub(crate) async fn get_bytes(
        &self,
        path: &str,
        query: &[(&str, String)],
    ) -> Result<Vec<u8>, HubError> {
        let request = self.request(Method::GET, path, query).header(ACCEPT, "*/*");
        let response = self.send(request.timeout(RESPONSE_TIMEOUT)).await?;
        let bytes = response
            .bytes()
            .await
            .map_err(|e| self.unreachable_error(&e))?;
        Ok(bytes.into())
    }

    /// Builds a request to a path below the API's root, without a time limit.
    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        query: &[(&str, String)],
    ) -> RequestBuilder {
        let mut url = self.base.clone();
        let full_path = format!("{}{}{path}", url.path().trim_end_matches('/'), API_PATH);
        url.set_path(&full_path);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        let authorization = self.authorization.read().clone();
        self.http
            .request(method, url)
            .header(AUTHORIZATION, authorization)
    }

    /// Posts a request that the hub carries out once, however often it is sent: after a lost answer it is sent
    /// again with the same key. Without a key, a random one is used.
    pub(crate) async fn post_once<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &impl Serialize,
        key: Option<&str>,
    ) -> Result<T, HubError> {
        let key = key.map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
        let give_up_at = Instant::now() + RESEND_PERIOD;
        let (mut wait, mut may_be_done) = (MIN_RESEND_DELAY, false);
        loop {
            let headers = [(IDEMPOTENCY_HEADER, key.clone())];
            let error = match self.post(path, body, &headers).await {
                Err(error) if error.is_retryable() => error,
                answer => return answer,
            };
            // If no request has reached the hub, nothing is lost by failing at once.
            may_be_done |= error.may_have_arrived();
            if !may_be_done || Instant::now() + wait > give_up_at {
                return Err(error);
            }
            print_notice(&format!(
                "{}; sending it again",
                sanitize_text(&error.to_string())
            ));
            tokio::time::sleep(wait).await;
            wait = (wait * 2).min(MAX_RESEND_DELAY);
        }
    }

    /// Sends a request; any status but success and 1xx is an error.
    pub(super) async fn send(&self, request: RequestBuilder) -> Result<Response, HubError> {
        let response = request
            .send()
            .await
            .map_err(|e| self.unreachable_error(&e))?;
        let status = response.status();
        if status.is_success() || status.is_informational() {
            return Ok(response);
        }
        let status = status.as_u16();
        let mut body = response.bytes().await.unwrap_or_default();
        body.truncate(MAX_PROBLEM_BYTES);
        let problem = serde_json::from_slice::<Problem>(&body).unwrap_or_else(|_| Problem {
            kind: String::new(),
            title: String::from_utf8_lossy(&body).chars().take(300).collect(),
            status,
            detail: None,
            errors: Vec::new(),
        });
        Err(HubError::Refused {
            status,
            problem: Box::new(Problem { status, ..problem }),
        })
    }

    async fn send_for_json<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
    ) -> Result<T, HubError> {
        let response = self.send(request.timeout(RESPONSE_TIMEOUT)).await?;
        let body = response
            .bytes()
            .await
            .map_err(|e| self.unreachable_error(&e))?;
        let body: &[u8] = if body.is_empty() { b"null" } else { &body };
        serde_json::from_slice(body).map_err(|error| HubError::InvalidResponse(error.to_string()))
    }

    /// An error with all its causes, because the first one is rarely specific enough.
    pub(super) fn unreachable_error(&self, error: &reqwest::Error) -> HubError {
        let mut why = String::new();
        let mut cause: Option<&dyn std::error::Error> = Some(error);
        while let Some(error) = cause {
            let message = error.to_string();
            // The error contains the URL already.
            if !message.contains(self.base.as_str()) {
                if !why.is_empty() {
                    why += ": ";
                }
                why += &message;
            }
            cause = error.source();
        }
        HubError::Unreachable {
            hub: self.base.to_string(),
            why: if why.is_empty() {
                error.to_string()
            } else {
                why
            },
            was_sent: !error.is_connect(),
        }
    }
}

fn authorization_header(token: &str) -> Result<HeaderValue, InvalidHeaderValue> {
    let mut header = HeaderValue::from_str(&format!("Bearer {token}"))?;
    header.set_sensitive(true);
    Ok(header)
}

fn is_local(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// rustls needs a process-wide cryptography provider.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
