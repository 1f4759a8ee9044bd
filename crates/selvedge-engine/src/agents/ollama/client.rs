//! One question to the model server and its answer, read as it streams. The ways in which that
//! fails are told apart here, because they call for different things: start the server, pull the
//! model, ask again, or give up.

use std::sync::Once;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};
use selvedge_core::model::Usage;
use serde::Serialize;
use serde_json::json;

use super::clocks::{Clocks, Stopped};
use super::endpoint::Endpoint;
use super::wire::{Call, ChatRequest, Chunk, ErrorBody, Shown};
use crate::agents::retry::{is_transient, retry_after};

/// Bytes of one answer: far beyond what `num_predict` lets a model say.
const ANSWER_LIMIT: usize = 8 << 20;
/// Bytes of an error's body that are read.
const ERROR_LIMIT: usize = 64 << 10;
const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Speaks to one model server.
#[derive(Debug)]
pub(super) struct Client<'a> {
    http: reqwest::Client,
    endpoint: &'a Endpoint,
    model: &'a str,
}

/// What the model answered.
#[derive(Debug, Default)]
pub(super) struct Reply {
    pub(super) content: String,
    pub(super) calls: Vec<Call>,
    pub(super) usage: Usage,
    /// It ran into the limit on its length and is not complete.
    pub(super) is_cut: bool,
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChatError {
    /// Nobody listens there.
    #[error("no model server answers at {address}: start it with `ollama serve` ({cause})")]
    Refused { address: String, cause: String },
    /// The server does not have the model.
    #[error("the model server has no model `{model}`: get it with `ollama pull {model}`")]
    NoModel { model: String },
    /// Any other HTTP error.
    #[error("the model server answered {status}: {message}")]
    Rejected {
        status: u16,
        message: String,
        retry_after: Option<Duration>,
    },
    /// The answer began and did not end.
    #[error("the model server's answer broke off: {0}")]
    BrokenOff(String),
    /// No HTTP client could be made.
    #[error("no HTTP client: {0}")]
    NoClient(String),
    /// A clock or the caller ended the wait.
    #[error("stopped")]
    Stopped(Stopped),
}

impl From<Stopped> for ChatError {
    fn from(stopped: Stopped) -> Self {
        Self::Stopped(stopped)
    }
}

impl ChatError {
    /// Whether asking again may help. A server that has answered before may be starting anew; one
    /// that never has is not there.
    pub(super) fn is_passing(&self, has_answered: bool) -> bool {
        match self {
            Self::Refused { .. } => has_answered,
            Self::Rejected { status, .. } => is_transient(*status),
            Self::BrokenOff(_) => true,
            Self::NoModel { .. } | Self::NoClient(_) | Self::Stopped(_) => false,
        }
    }

    /// How long the server asks to be left alone.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Rejected { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

impl<'a> Client<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, model: &'a str) -> Result<Self, ChatError> {
        install_crypto();
        let mut builder = reqwest::Client::builder().connect_timeout(CONNECT_WITHIN);
        if endpoint.is_local() {
            // A proxy reaches its own loopback, not ours.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|error| ChatError::NoClient(chain(&error)))?;
        Ok(Self {
            http,
            endpoint,
            model,
        })
    }

    /// What the server knows of the model. Servers that are only like Ollama may not have this
    /// call: then nothing is known.
    pub(super) async fn show(&self, clocks: &Clocks<'_>) -> Result<Shown, ChatError> {
        match self
            .post("/api/show", &json!({ "model": self.model }), clocks)
            .await
        {
            Ok(response) => match clocks.watch(response.json()).await? {
                Ok(shown) => Ok(shown),
                Err(_) => Ok(Shown::default()),
            },
            Err(ChatError::Rejected { .. }) => Ok(Shown::default()),
            Err(error) => Err(error),
        }
    }

    /// Asks, and reads the answer to its end.
    pub(super) async fn chat(
        &self,
        request: &ChatRequest<'_>,
        clocks: &Clocks<'_>,
    ) -> Result<Reply, ChatError> {
        let response = self.post("/api/chat", request, clocks).await?;
        read(response.bytes_stream(), clocks).await
    }

    async fn post(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        clocks: &Clocks<'_>,
    ) -> Result<Response, ChatError> {
        let sent = self.http.post(self.endpoint.url(path)).json(body).send();
        let response = match clocks.watch(sent).await? {
            Ok(response) => response,
            Err(error) if error.is_connect() => {
                let address = self.endpoint.name().to_owned();
                return Err(ChatError::Refused {
                    address,
                    cause: chain(&error),
                });
            }
            Err(error) => return Err(ChatError::BrokenOff(chain(&error))),
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let header = response.headers().get(RETRY_AFTER);
        let wait = header
            .and_then(|value| value.to_str().ok())
            .and_then(retry_after);
        let message = error_message(response, clocks).await?;
        if status == StatusCode::NOT_FOUND && message.contains("model") {
            return Err(ChatError::NoModel {
                model: self.model.to_owned(),
            });
        }
        Err(ChatError::Rejected {
            status: status.as_u16(),
            message,
            retry_after: wait,
        })
    }
}

/// The `error` of a JSON body, else its text, else the status in words.
async fn error_message(response: Response, clocks: &Clocks<'_>) -> Result<String, Stopped> {
    let in_words = response
        .status()
        .canonical_reason()
        .unwrap_or("no reason given");
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(Ok(piece)) = clocks.watch(stream.next()).await? {
        body.extend_from_slice(&piece);
        if body.len() > ERROR_LIMIT {
            break;
        }
    }
    let said = match serde_json::from_slice::<ErrorBody>(&body) {
        Ok(body) => body.error,
        Err(_) => String::from_utf8_lossy(&body).into_owned(),
    };
    let said = crate::agents::claim::reason(&said);
    Ok(if said.is_empty() {
        in_words.to_owned()
    } else {
        said
    })
}

async fn read<B, E>(
    mut body: impl Stream<Item = Result<B, E>> + Unpin,
    clocks: &Clocks<'_>,
) -> Result<Reply, ChatError>
where
    B: AsRef<[u8]>,
    E: std::error::Error,
{
    let mut reply = Reply::default();
    let mut begun: Vec<u8> = Vec::new();
    let mut length = 0;
    while let Some(piece) = clocks.watch(body.next()).await? {
        let piece = piece.map_err(|error| ChatError::BrokenOff(chain(&error)))?;
        length += piece.as_ref().len();
        if length > ANSWER_LIMIT {
            return Err(ChatError::BrokenOff("it does not end".to_owned()));
        }
        begun.extend_from_slice(piece.as_ref());
        while let Some(end) = begun.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            if reply.take(&line)? {
                return Ok(reply);
            }
        }
    }
    if reply.take(&begun)? {
        return Ok(reply);
    }
    Err(ChatError::BrokenOff(
        "the connection ended in the middle".to_owned(),
    ))
}

impl Reply {
    /// Takes one line; says whether it was the last.
    fn take(&mut self, line: &[u8]) -> Result<bool, ChatError> {
        if line.trim_ascii().is_empty() {
            return Ok(false);
        }
        // A line that cannot be read is a piece of the answer that is missing.
        let chunk: Chunk = serde_json::from_slice(line)
            .map_err(|error| ChatError::BrokenOff(format!("a line is no JSON: {error}")))?;
        if let Some(error) = chunk.error {
            return Err(ChatError::BrokenOff(error));
        }
        if let Some(message) = chunk.message {
            self.content.push_str(&message.content.unwrap_or_default());
            let calls = message.tool_calls.unwrap_or_default();
            self.calls
                .extend(calls.into_iter().map(|call| call.function));
        }
        if chunk.done {
            self.is_cut = chunk.done_reason.as_deref() == Some("length");
            self.usage = Usage {
                input: chunk.prompt_eval_count.unwrap_or(0),
                output: chunk.eval_count.unwrap_or(0),
                ..Usage::default()
            };
        }
        Ok(chunk.done)
    }
}

/// An error with its causes: reqwest's own words say only that something failed.
fn chain(error: &dyn std::error::Error) -> String {
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

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use selvedge_core::model::SessionLimits;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const LIMITS: SessionLimits = SessionLimits {
        wall_ms: 60_000,
        silence_ms: 60_000,
        max_turns: None,
    };

    async fn read_text(text: &str, size: usize) -> Result<Reply, ChatError> {
        let cancel = CancellationToken::new();
        let pieces: Vec<_> = text
            .as_bytes()
            .chunks(size)
            .map(Ok::<_, std::io::Error>)
            .collect();
        read(stream::iter(pieces), &Clocks::start(LIMITS, &cancel)).await
    }

    #[tokio::test]
    async fn an_answer_does_not_depend_on_how_it_is_cut() {
        let text = "{\"message\":{\"content\":\"Grü\"}}\n\n{\"message\":{\"content\":\"ße\"}}\n\
            {\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"a\\\":1}\"}}]}}\n\
            {\"done\":true,\"done_reason\":\"length\",\"prompt_eval_count\":7,\"eval_count\":3}";
        for size in 1..text.len() {
            let reply = read_text(text, size).await.unwrap();
            assert_eq!(reply.content, "Grüße");
            assert_eq!(reply.calls[0].arguments["a"], 1);
            assert_eq!((reply.usage.input, reply.usage.output), (7, 3));
            assert!(reply.is_cut);
        }
    }

    #[tokio::test]
    async fn an_answer_without_its_end_is_none() {
        for text in [
            "",
            "{\"message\":{}}\n",
            "{\"mess\n{\"done\":true}",
            "{\"error\":\"out of memory\"}",
        ] {
            let error = read_text(text, 10).await.unwrap_err();
            assert!(matches!(error, ChatError::BrokenOff(_)), "{error}");
            assert!(error.is_passing(false));
        }
    }
}
