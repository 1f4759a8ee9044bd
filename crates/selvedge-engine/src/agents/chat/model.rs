//! A model that returns the next turn of a conversation, independent of its server. Failures are
//! distinguished by the action that they require: start the server, install the model, retry, or
//! give up.

use std::net::IpAddr;
use std::sync::Once;
use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use selvedge_core::model::{Cost, Usage};
use serde_json::Value;

use super::conversation::{ConversationMessage, FunctionCall};
use super::timeouts::{SessionTimer, WaitError};
use crate::agents::final_message::reason_from_text;
use crate::agents::retry::{is_busy, is_transient, parse_retry_after};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A model that answers.
pub(in crate::agents) trait ChatModel: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Returns data about the model before the first request.
    fn model_info<'a>(
        &'a self,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelInfo, ChatError>>;

    /// Requests the next turn.
    fn next_turn<'a>(
        &'a self,
        question: ModelRequest<'a>,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelReply, FailedTurn>>;

    /// The cost of this usage.
    fn cost_of(&self, usage: &Usage) -> Cost;
}

/// Properties of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) struct ModelInfo {
    /// Tokens of its context window, if known.
    pub(in crate::agents) context: Option<usize>,
    /// Whether it can call tools.
    pub(in crate::agents) has_tools: bool,
}

/// A request for the next turn.
#[derive(Debug, Clone)]
pub(in crate::agents) struct ModelRequest<'a> {
    pub(in crate::agents) messages: &'a [ConversationMessage],
    /// The tools it may call, as OpenAI's API describes them.
    pub(in crate::agents) tools: Option<&'a Value>,
    /// A JSON schema of the answer.
    pub(in crate::agents) schema: Option<Value>,
    pub(in crate::agents) window: ContextWindow,
}

/// Limits on the length of a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) struct ContextWindow {
    /// Tokens of the whole conversation.
    pub(in crate::agents) context: usize,
    /// Maximum tokens of one answer: a small model may never stop.
    pub(in crate::agents) output: usize,
}

/// The model's answer.
#[derive(Debug, Default)]
pub(in crate::agents) struct ModelReply {
    pub(in crate::agents) content: String,
    pub(in crate::agents) calls: Vec<FunctionCall>,
    /// Tokens of request and answer; `None` if the API did not count them.
    pub(in crate::agents) usage: Option<Usage>,
    /// Whether the answer reached the length limit and is incomplete.
    pub(in crate::agents) is_truncated: bool,
}

/// A turn without an answer.
#[derive(Debug)]
pub(in crate::agents) struct FailedTurn {
    pub(in crate::agents) error: ChatError,
    /// Tokens that the server reported before the answer broke off.
    pub(in crate::agents) usage: Usage,
}

impl From<ChatError> for FailedTurn {
    fn from(error: ChatError) -> Self {
        let usage = Usage::default();
        Self { error, usage }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::agents) enum ChatError {
    /// No server answers at the address.
    #[error("no model server answers at {address}{hint} ({cause})")]
    ConnectionFailed {
        address: String,
        hint: &'static str,
        cause: String,
    },
    /// The server does not have the model.
    #[error("the model server has no model `{model}`{hint}")]
    ModelNotFound { model: String, hint: String },
    /// Any other HTTP error.
    #[error("the model server answered {status}: {message}")]
    Rejected {
        status: u16,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The answer began but is incomplete.
    #[error("the model server's answer is incomplete: {0}")]
    ConnectionLost(String),
    /// The HTTP client could not be created.
    #[error("cannot create an HTTP client: {0}")]
    ClientSetup(String),
    /// A time limit or the caller ended the wait.
    #[error("stopped")]
    Stopped(WaitError),
}

impl From<WaitError> for ChatError {
    fn from(stopped: WaitError) -> Self {
        Self::Stopped(stopped)
    }
}

impl ChatError {
    /// The server did not answer, or its answer broke off. `hint` explains how to start the server
    /// at `address`.
    pub(in crate::agents) fn from_transport(
        error: &reqwest::Error,
        address: &str,
        hint: &'static str,
    ) -> Self {
        let cause = error_chain(error);
        if error.is_connect() {
            let address = address.to_owned();
            Self::ConnectionFailed {
                address,
                hint,
                cause,
            }
        } else {
            Self::ConnectionLost(cause)
        }
    }

    /// The server answered with an HTTP error. `hint` explains how to get the model if it is missing; it gets the
    /// server's message.
    pub(in crate::agents) fn from_response(
        status: StatusCode,
        headers: Option<&HeaderMap>,
        body: &str,
        model: &str,
        hint: impl FnOnce(&str) -> String,
    ) -> Self {
        let mut message = error_message(body);
        if message.is_empty() {
            let reason = status.canonical_reason();
            reason.unwrap_or("no reason given").clone_into(&mut message);
        }
        if status == StatusCode::NOT_FOUND && message.contains("model") {
            return Self::ModelNotFound {
                model: model.to_owned(),
                hint: format!(": {}", hint(&message)),
            };
        }
        let retry_after = headers.and_then(|headers| headers.get(RETRY_AFTER));
        Self::Rejected {
            status: status.as_u16(),
            message,
            retry_after: retry_after
                .and_then(|value| value.to_str().ok())
                .and_then(|value| parse_retry_after(value, SystemTime::now())),
        }
    }

    /// Whether a retry may help. A server that has answered before may be restarting; one that
    /// never has answered is not running.
    pub(in crate::agents) fn is_transient(&self, has_answered: bool) -> bool {
        match self {
            Self::ConnectionFailed { .. } => has_answered,
            Self::Rejected { status, .. } => is_transient(*status),
            Self::ConnectionLost(_) => true,
            Self::ModelNotFound { .. } | Self::ClientSetup(_) | Self::Stopped(_) => false,
        }
    }

    /// Whether the server is busy without naming a time.
    pub(in crate::agents) fn is_busy(&self) -> bool {
        matches!(self, Self::Rejected { status, retry_after: None, .. } if is_busy(*status))
    }

    /// Whether the provider may charge for the request although there is no complete answer.
    pub(in crate::agents) fn may_be_charged(&self) -> bool {
        matches!(self, Self::ConnectionLost(_) | Self::Stopped(_))
    }

    /// The wait that the server asks for.
    pub(in crate::agents) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// An error with its causes: reqwest's own message contains only the outermost failure.
pub(in crate::agents) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut chain = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        chain = format!("{chain}: {error}");
        cause = error.source();
    }
    chain
}

/// The `error.message` or the `error` of a JSON body, otherwise its text.
fn error_message(body: &str) -> String {
    let parsed: Option<Value> = serde_json::from_str(body).ok();
    let message = parsed.as_ref().and_then(|body| {
        // Gemini's body is a list with one element when a stream was requested.
        let error = body.get(0).unwrap_or(body).get("error")?;
        error.get("message").unwrap_or(error).as_str()
    });
    reason_from_text(message.unwrap_or(body))
}

/// The host of a URL, without the brackets of an IPv6 address.
pub(in crate::agents) fn url_host(url: &Url) -> &str {
    url.host_str().unwrap_or_default().trim_matches(['[', ']'])
}

/// Whether a server is on this machine.
pub(in crate::agents) fn is_local(url: &Url) -> bool {
    let host = url_host(url);
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// TLS needs a cryptography provider, chosen once per process.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // Fails only if the process has already chosen one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// The HTTP client for a model's server; a proxy is never used for a server on this machine.
pub(in crate::agents) fn http_client(is_local: bool) -> Result<reqwest::Client, ChatError> {
    install_crypto();
    // Not every API's key is in a header that is removed when a redirect leads to another host.
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    if is_local {
        // A proxy would reach its own loopback interface, not ours.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| ChatError::ClientSetup(error_chain(&error)))
}
