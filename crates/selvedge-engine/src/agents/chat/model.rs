//! A model that returns the next turn of a conversation, independent of its server. Failures are
//! distinguished by the action that they require: start the server, install the model, retry, or
//! give up.

use std::sync::Once;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, Usage};
use serde_json::Value;

use super::conversation::{ConversationMessage, FunctionCall};
use super::timeouts::{SessionTimer, WaitError};
use crate::agents::retry::is_transient;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A model that answers.
pub(in crate::agents) trait ChatModel: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// Returns what is known about the model before the first request.
    fn model_info<'a>(
        &'a self,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelInfo, ChatError>>;

    /// Requests the next turn.
    fn next_turn<'a>(
        &'a self,
        question: ModelRequest<'a>,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelReply, ChatError>>;

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
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
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
