//! A model that can be asked for the next turn of a conversation, whoever serves it. The ways in which
//! that fails are told apart here, because they call for different things: start the server, get the
//! model, ask again, or give up.

use std::sync::Once;
use std::time::Duration;

use futures_util::future::BoxFuture;
use selvedge_core::model::{Cost, Usage};
use serde_json::Value;

use super::conversation::{ConversationMessage, FunctionCall};
use super::timeouts::{SessionTimer, WaitError};
use crate::agents::retry::is_transient;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Whoever answers.
pub(in crate::agents) trait ChatModel: Send + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// What is known of it before it is asked anything.
    fn model_info<'a>(
        &'a self,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelInfo, ChatError>>;

    /// Its next turn.
    fn next_turn<'a>(
        &'a self,
        question: ModelRequest<'a>,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelReply, ChatError>>;

    /// What so much costs.
    fn cost_of(&self, usage: &Usage) -> Cost;
}

/// What is known of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) struct ModelInfo {
    /// Tokens of context that it was made for, where that is known.
    pub(in crate::agents) context: Option<usize>,
    /// Whether it can call tools.
    pub(in crate::agents) has_tools: bool,
}

/// What a model is asked.
#[derive(Debug, Clone)]
pub(in crate::agents) struct ModelRequest<'a> {
    pub(in crate::agents) messages: &'a [ConversationMessage],
    /// The tools it may call, as OpenAI's API describes them.
    pub(in crate::agents) tools: Option<&'a Value>,
    /// A JSON schema for the answer.
    pub(in crate::agents) schema: Option<Value>,
    pub(in crate::agents) window: ContextWindow,
}

/// How long a conversation may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agents) struct ContextWindow {
    /// Tokens of all of it.
    pub(in crate::agents) context: usize,
    /// Tokens of one answer at most: a small model may never stop.
    pub(in crate::agents) output: usize,
}

/// What the model answered.
#[derive(Debug, Default)]
pub(in crate::agents) struct ModelReply {
    pub(in crate::agents) content: String,
    pub(in crate::agents) calls: Vec<FunctionCall>,
    /// The tokens of question and answer; absent where the API did not count them.
    pub(in crate::agents) usage: Option<Usage>,
    /// It ran into the limit on its length and is not complete.
    pub(in crate::agents) is_truncated: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(in crate::agents) enum ChatError {
    /// Nobody listens there.
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
    /// The answer began and did not end.
    #[error("the model server's answer broke off: {0}")]
    ConnectionLost(String),
    /// No HTTP client could be made.
    #[error("no HTTP client: {0}")]
    ClientSetup(String),
    /// A clock or the caller ended the wait.
    #[error("stopped")]
    Stopped(WaitError),
}

impl From<WaitError> for ChatError {
    fn from(stopped: WaitError) -> Self {
        Self::Stopped(stopped)
    }
}

impl ChatError {
    /// Whether asking again may help. A server that has answered before may be starting anew; one
    /// that never has is not there.
    pub(in crate::agents) fn is_transient(&self, has_answered: bool) -> bool {
        match self {
            Self::ConnectionFailed { .. } => has_answered,
            Self::Rejected { status, .. } => is_transient(*status),
            Self::ConnectionLost(_) => true,
            Self::ModelNotFound { .. } | Self::ClientSetup(_) | Self::Stopped(_) => false,
        }
    }

    /// How long the server asks to be left alone.
    pub(in crate::agents) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// An error with its causes: reqwest's own words say only that something failed.
pub(in crate::agents) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        said = format!("{said}: {error}");
        cause = error.source();
    }
    said
}

/// TLS needs a provider of cryptography, chosen once for the whole program.
fn install_crypto() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // It fails only when the program has already chosen one.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}

/// What speaks HTTP to a model's server; one on this machine is never behind a proxy.
pub(in crate::agents) fn http_client(is_local: bool) -> Result<reqwest::Client, ChatError> {
    install_crypto();
    // Not every API's key is in a header that is taken off when a redirect leads to another host.
    let mut builder = reqwest::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .redirect(reqwest::redirect::Policy::none());
    if is_local {
        // A proxy reaches its own loopback, not ours.
        builder = builder.no_proxy();
    }
    builder
        .build()
        .map_err(|error| ChatError::ClientSetup(error_chain(&error)))
}
