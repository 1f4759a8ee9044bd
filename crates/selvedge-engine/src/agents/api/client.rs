//! Sends one request to a provider's API and reads its answer as it streams.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::{BoxFuture, ready};
use futures_util::{FutureExt, StreamExt};
use genai::chat::{
    ChatOptions, ChatResponseFormat, ChatStreamEvent, JsonSpec, ReasoningEffort, StopReason,
    StreamEnd,
};
use genai::{Error, webc};
use selvedge_core::model::{AgentSpec, Cost, Usage};
use serde_json::Value;

use super::messages;
use super::provider::Provider;
use crate::agents::chat::model::{
    ChatError, ChatModel, FailedTurn, ModelInfo, ModelReply, ModelRequest, http_client,
};
use crate::agents::chat::timeouts::SessionTimer;
use crate::agents::final_message::reason_from_text;

/// Maximum bytes of one answer.
const ANSWER_LIMIT: usize = 8 << 20;

/// Client for one model.
#[derive(Debug)]
pub(super) struct GenaiClient {
    genai: genai::Client,
    provider: Provider,
    agent: AgentSpec,
}

impl GenaiClient {
    pub(super) fn new(provider: Provider, agent: &AgentSpec) -> Result<Self, ChatError> {
        let http = http_client(provider.is_local)?;
        let genai = genai::Client::builder()
            .with_reqwest(http)
            .build()
            .map_err(|error| ChatError::ClientSetup(error.to_string()))?;
        let agent = agent.clone();
        Ok(Self {
            genai,
            provider,
            agent,
        })
    }

    async fn ask(
        &self,
        question: ModelRequest<'_>,
        clocks: &SessionTimer<'_>,
        reported: Arc<Mutex<Usage>>,
    ) -> Result<ModelReply, ChatError> {
        let request = messages::chat_request(question.messages, question.tools);
        let answer = u32::try_from(question.window.output).unwrap_or(u32::MAX);
        let answer = answer.min(self.provider.max_output_tokens.unwrap_or(u32::MAX));
        let mut options = ChatOptions::default()
            .with_capture_usage(true)
            .with_capture_content(true)
            .with_capture_tool_calls(true)
            .with_raw_frame_fn(move |_, frame| {
                if let Some(usage) = usage_so_far(frame.data) {
                    let mut reported = reported.lock().unwrap_or_else(PoisonError::into_inner);
                    *reported = reported.max(usage);
                }
            })
            .with_max_tokens(answer);
        if let Some(effort) = &self.agent.effort {
            let effort = effort.parse::<ReasoningEffort>();
            let effort = effort.map_err(|error| ChatError::ClientSetup(error.to_string()))?;
            options = options.with_reasoning_effort(effort);
        }
        if let Some(schema) = question.schema {
            let format = ChatResponseFormat::JsonSpec(JsonSpec::new("verdict", schema));
            options = options.with_response_format(format);
        }
        let target = self.provider.target.clone();
        let opening = self.genai.exec_chat_stream(target, request, Some(&options));
        let mut stream = clocks
            .wait_for(opening)
            .await?
            .map_err(|error| self.convert_error(&error))?
            .stream;
        let mut length = 0;
        while let Some(event) = clocks.wait_for(stream.next()).await? {
            match event.map_err(|error| self.convert_error(&error))? {
                ChatStreamEvent::Chunk(chunk) | ChatStreamEvent::ReasoningChunk(chunk) => {
                    length += chunk.content.len();
                }
                ChatStreamEvent::End(end) => return model_reply(end),
                _ => {}
            }
            if length > ANSWER_LIMIT {
                return Err(ChatError::ConnectionLost("it is too long".to_owned()));
            }
        }
        Err(connection_lost())
    }

    /// Converts an error of the library.
    fn convert_error(&self, error: &Error) -> ChatError {
        if let Error::WebStream { error, .. } = error
            && let Some(inner) = error.downcast_ref::<Error>()
        {
            return self.convert_error(inner);
        }
        if let Some(status) = error.status() {
            let (body, model) = (error_body(error), &self.provider.model);
            return ChatError::from_response(status, error.headers(), body, model, str::to_owned);
        }
        let transport = match error {
            Error::WebModelCall { webc_error, .. } | Error::WebAdapterCall { webc_error, .. } => {
                match webc_error {
                    webc::Error::Reqwest(error) => Some(error),
                    _ => None,
                }
            }
            Error::WebStream { error, .. } => error.downcast_ref::<reqwest::Error>(),
            _ => None,
        };
        match transport {
            Some(error) => ChatError::from_transport(error, &self.provider.address, ""),
            None => ChatError::ConnectionLost(reason_from_text(&error.to_string())),
        }
    }
}

/// The reply from a stream that the API has marked as complete.
fn model_reply(end: StreamEnd) -> Result<ModelReply, ChatError> {
    let Some(stop) = end.captured_stop_reason else {
        return Err(connection_lost());
    };
    let content = end.captured_content.unwrap_or_default();
    let text = content.joined_texts().unwrap_or_default();
    Ok(ModelReply {
        content: text,
        calls: content
            .into_tool_calls()
            .into_iter()
            .map(messages::function_call)
            .collect(),
        usage: end.captured_usage.as_ref().map(usage),
        is_truncated: matches!(stop, StopReason::MaxTokens(_)),
    })
}

fn connection_lost() -> ChatError {
    ChatError::ConnectionLost("the connection was closed early".to_owned())
}

/// The library includes cached tokens in the input; they have a different price.
fn usage(reported: &genai::chat::Usage) -> Usage {
    let count = |count: Option<i32>| u64::try_from(count.unwrap_or(0)).unwrap_or(0);
    let details = reported.prompt_tokens_details.as_ref();
    let cache_read = count(details.and_then(|it| it.cached_tokens));
    let cache_write = count(details.and_then(|it| it.cache_creation_tokens));
    Usage {
        input: count(reported.prompt_tokens).saturating_sub(cache_read + cache_write),
        output: count(reported.completion_tokens),
        cache_read,
        cache_write,
    }
}

/// The tokens that one record of a stream reports. Anthropic reports the input in its first record and
/// Gemini all tokens in every record, so that they are known of an answer that breaks off; the library
/// reports them only at the end.
fn usage_so_far(record: &str) -> Option<Usage> {
    if !record.contains("\"usage") {
        return None;
    }
    let record: Value = serde_json::from_str(record).ok()?;
    let usage = ["/message/usage", "/usage", "/usageMetadata"]
        .iter()
        .find_map(|path| record.pointer(path))?;
    let count = |names: &[&str]| {
        let mut counts = names
            .iter()
            .filter_map(|name| usage.pointer(name)?.as_u64());
        counts.next().unwrap_or_default()
    };
    let cached = count(&[
        "/prompt_tokens_details/cached_tokens",
        "/cachedContentTokenCount",
    ]);
    let prompt = count(&["/prompt_tokens", "/promptTokenCount"]).saturating_sub(cached);
    Some(Usage {
        input: count(&["/input_tokens"]).max(prompt),
        output: count(&[
            "/output_tokens",
            "/completion_tokens",
            "/candidatesTokenCount",
        ]),
        cache_read: count(&["/cache_read_input_tokens"]).max(cached),
        cache_write: count(&["/cache_creation_input_tokens"]),
    })
}

/// The body of an HTTP error.
fn error_body(error: &Error) -> &str {
    match error {
        Error::HttpError { body, .. }
        | Error::WebModelCall {
            webc_error: webc::Error::ResponseFailedStatus { body, .. },
            ..
        } => body.as_str(),
        _ => "",
    }
}

impl ChatModel for GenaiClient {
    fn name(&self) -> &str {
        &self.provider.model
    }

    /// No API reports it; all of them support tool calls.
    fn model_info<'a>(
        &'a self,
        _: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelInfo, ChatError>> {
        let about = ModelInfo {
            context: None,
            has_tools: true,
        };
        ready(Ok(about)).boxed()
    }

    fn next_turn<'a>(
        &'a self,
        question: ModelRequest<'a>,
        clocks: &'a SessionTimer<'_>,
    ) -> BoxFuture<'a, Result<ModelReply, FailedTurn>> {
        async {
            let reported = Arc::new(Mutex::new(Usage::default()));
            let reply = self.ask(question, clocks, Arc::clone(&reported)).await;
            reply.map_err(|error| {
                let usage = *reported.lock().unwrap_or_else(PoisonError::into_inner);
                FailedTurn { error, usage }
            })
        }
        .boxed()
    }

    fn cost_of(&self, usage: &Usage) -> Cost {
        let price = self.agent.price_of(&self.provider.model);
        price.map_or(Cost::UNKNOWN, |price| Cost::estimated(price.of(usage)))
    }
}
