//! Client of Ollama's API: sends one request to the server and reads its answer as it streams.

use futures_util::future::BoxFuture;
use futures_util::{FutureExt, Stream, StreamExt};
use reqwest::Response;
use selvedge_core::model::{Cost, Usage};
use serde::Serialize;
use serde_json::json;

use super::endpoint::Endpoint;
use super::wire::{OllamaChatRequest, OllamaChunk, OllamaModelInfo, OllamaOptions};
use crate::agents::chat::model::{
    ChatError, ChatModel, FailedTurn, ModelInfo, ModelReply, ModelRequest, error_chain, http_client,
};
use crate::agents::chat::timeouts::{SessionTimer, WaitError};

/// Maximum bytes of one answer: far more than `num_predict` allows.
const ANSWER_LIMIT: usize = 8 << 20;
/// Maximum bytes of an error's body that are read.
const ERROR_LIMIT: usize = 64 << 10;

/// Client of one model server.
#[derive(Debug)]
pub(super) struct OllamaClient<'a> {
    http: reqwest::Client,
    endpoint: &'a Endpoint,
    model: &'a str,
}

impl ChatModel for OllamaClient<'_> {
    fn name(&self) -> &str {
        self.model
    }

    fn model_info<'a>(
        &'a self,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelInfo, ChatError>> {
        let about = |shown: OllamaModelInfo| ModelInfo {
            context: shown.context_length(),
            has_tools: shown.has_tools(),
        };
        self.show_model(clocks)
            .map(move |shown| shown.map(about))
            .boxed()
    }

    fn next_turn<'a>(
        &'a self,
        question: ModelRequest<'a>,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelReply, FailedTurn>> {
        self.chat(question, clocks)
            .map(|reply| reply.map_err(FailedTurn::from))
            .boxed()
    }

    /// A local model costs nothing. Ollama also forwards requests to models that it hosts, and does
    /// not report their cost.
    fn cost_of(&self, _: &Usage) -> Cost {
        if self.model.ends_with("-cloud") || self.model.ends_with(":cloud") {
            Cost::UNKNOWN
        } else {
            Cost::ZERO
        }
    }
}

impl<'a> OllamaClient<'a> {
    pub(super) fn new(endpoint: &'a Endpoint, model: &'a str) -> Result<Self, ChatError> {
        let http = http_client(endpoint.is_local())?;
        Ok(Self {
            http,
            endpoint,
            model,
        })
    }

    /// Requests the model's properties. Servers compatible with Ollama may not have this call: then
    /// nothing is known.
    async fn show_model(&self, clocks: &SessionTimer<'_>) -> Result<OllamaModelInfo, ChatError> {
        match self
            .post("/api/show", &json!({ "model": self.model }), clocks)
            .await
        {
            Ok(response) => match clocks.wait_for(response.json()).await? {
                Ok(shown) => Ok(shown),
                Err(_) => Ok(OllamaModelInfo::default()),
            },
            Err(ChatError::Rejected { .. }) => Ok(OllamaModelInfo::default()),
            Err(error) => Err(error),
        }
    }

    /// Sends a request and reads its answer to the end.
    async fn chat(
        &self,
        question: ModelRequest<'_>,
        clocks: &SessionTimer<'_>,
    ) -> Result<ModelReply, ChatError> {
        let request = OllamaChatRequest {
            model: self.model,
            messages: question.messages,
            tools: question.tools,
            format: question.schema,
            stream: true,
            options: OllamaOptions {
                num_ctx: question.window.context,
                num_predict: question.window.output,
            },
        };
        let response = self.post("/api/chat", &request, clocks).await?;
        read_reply(response.bytes_stream(), clocks).await
    }

    async fn post(
        &self,
        path: &str,
        body: &(impl Serialize + Sync),
        clocks: &SessionTimer<'_>,
    ) -> Result<Response, ChatError> {
        let sent = self.http.post(self.endpoint.url(path)).json(body).send();
        let response = match clocks.wait_for(sent).await? {
            Ok(response) => response,
            Err(error) => {
                let hint = ": start it with `ollama serve`";
                return Err(ChatError::from_transport(
                    &error,
                    self.endpoint.name(),
                    hint,
                ));
            }
        };
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        let headers = response.headers().clone();
        let body = read_error_body(response, clocks).await?;
        let hint = |_: &str| format!("get it with `ollama pull {}`", self.model);
        Err(ChatError::from_response(
            status,
            Some(&headers),
            &body,
            self.model,
            hint,
        ))
    }
}

async fn read_error_body(
    response: Response,
    clocks: &SessionTimer<'_>,
) -> Result<String, WaitError> {
    let mut body = Vec::new();
    let mut stream = response.bytes_stream();
    while let Some(Ok(piece)) = clocks.wait_for(stream.next()).await? {
        body.extend_from_slice(&piece);
        if body.len() > ERROR_LIMIT {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&body).into_owned())
}

async fn read_reply<B, E>(
    mut body: impl Stream<Item = Result<B, E>> + Unpin,
    clocks: &SessionTimer<'_>,
) -> Result<ModelReply, ChatError>
where
    B: AsRef<[u8]>,
    E: std::error::Error,
{
    let mut reply = ModelReply::default();
    let mut begun: Vec<u8> = Vec::new();
    let mut length = 0;
    while let Some(piece) = clocks.wait_for(body.next()).await? {
        let piece = piece.map_err(|error| ChatError::ConnectionLost(error_chain(&error)))?;
        length += piece.as_ref().len();
        if length > ANSWER_LIMIT {
            return Err(ChatError::ConnectionLost("it is too long".to_owned()));
        }
        begun.extend_from_slice(piece.as_ref());
        while let Some(end) = begun.iter().position(|&byte| byte == b'\n') {
            let line: Vec<u8> = begun.drain(..=end).collect();
            if reply.add_line(&line)? {
                return Ok(reply);
            }
        }
    }
    if reply.add_line(&begun)? {
        return Ok(reply);
    }
    Err(ChatError::ConnectionLost(
        "the connection was closed early".to_owned(),
    ))
}

impl ModelReply {
    /// Parses one line; returns whether it was the last.
    fn add_line(&mut self, line: &[u8]) -> Result<bool, ChatError> {
        if line.trim_ascii().is_empty() {
            return Ok(false);
        }
        // An invalid line means that a part of the answer is missing.
        let chunk: OllamaChunk = serde_json::from_slice(line)
            .map_err(|error| ChatError::ConnectionLost(format!("a line is not JSON: {error}")))?;
        if let Some(error) = chunk.error {
            return Err(ChatError::ConnectionLost(error));
        }
        if let Some(message) = chunk.message {
            self.content.push_str(&message.content.unwrap_or_default());
            let calls = message.tool_calls.unwrap_or_default();
            self.calls
                .extend(calls.into_iter().map(|call| call.function));
        }
        if chunk.done {
            self.is_truncated = chunk.done_reason.as_deref() == Some("length");
            self.usage = Some(Usage {
                input: chunk.prompt_eval_count.unwrap_or(0),
                output: chunk.eval_count.unwrap_or(0),
                ..Usage::default()
            });
        }
        Ok(chunk.done)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::stream;
    use selvedge_core::model::SessionLimits;
    use tokio_util::sync::CancellationToken;

    use super::*;

    const LIMITS: SessionLimits = SessionLimits {
        wall_ms: 60_000,
        idle_timeout_ms: 60_000,
        max_turns: None,
    };

    async fn read_text(text: &str, size: usize) -> Result<ModelReply, ChatError> {
        let cancel = CancellationToken::new();
        let pieces: Vec<_> = text
            .as_bytes()
            .chunks(size)
            .map(Ok::<_, std::io::Error>)
            .collect();
        read_reply(stream::iter(pieces), &SessionTimer::start(LIMITS, &cancel)).await
    }

    #[tokio::test]
    async fn ollama_answer_is_independent_of_chunks() {
        let text = "{\"message\":{\"content\":\"Grü\"}}\n\n{\"message\":{\"content\":\"ße\"}}\n\
            {\"message\":{\"tool_calls\":[{\"function\":{\"name\":\"x\",\"arguments\":\"{\\\"a\\\":1}\"}}]}}\n\
            {\"done\":true,\"done_reason\":\"length\",\"prompt_eval_count\":7,\"eval_count\":3}";
        for size in 1..text.len() {
            let reply = read_text(text, size).await.unwrap();
            assert_eq!(reply.content, "Grüße");
            assert_eq!(reply.calls[0].arguments["a"], 1);
            let usage = reply.usage.unwrap();
            assert_eq!((usage.input, usage.output), (7, 3));
            assert!(reply.is_truncated);
        }
    }

    #[tokio::test]
    async fn ollama_answer_needs_its_end() {
        for text in [
            "",
            "{\"message\":{}}\n",
            "{\"mess\n{\"done\":true}",
            "{\"error\":\"out of memory\"}",
        ] {
            let error = read_text(text, 10).await.unwrap_err();
            assert!(matches!(error, ChatError::ConnectionLost(_)), "{error}");
            assert!(error.is_transient(false));
        }
    }
}
