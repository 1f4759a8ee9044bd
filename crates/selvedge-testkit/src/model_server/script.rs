//! The model's script as data: sessions, each a queue of turns. Built in a test or read from JSON by
//! the `model-server` program; independent of HTTP and of any model API.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The turns of every session, in the order in which the sessions will open.
///
/// As JSON: `{"sessions": [[{"text": "Done."}], [{"tools": [{"name": "Write", "input": {}}]},
/// {"fault": {"status": {"code": 529}}}]], "models": ["qwen3:4b"]}`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelScript {
    pub(crate) sessions: Vec<Vec<ScriptedTurn>>,
    pub(crate) models: Vec<String>,
}

impl ModelScript {
    /// Creates an empty script.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next session, with its turns in order. Each start of an agent program opens a new
    /// session; retries by the agent itself (after a fault) stay in its session.
    #[must_use]
    pub fn session(mut self, turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        self.sessions.push(turns.into_iter().collect());
        self
    }

    /// Sets the models that Ollama's API has; requests for others are answered with 404. Without this
    /// call every model exists.
    #[must_use]
    pub fn models<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.models = names.into_iter().map(Into::into).collect();
        self
    }

    pub(crate) fn has_model(&self, name: &str) -> bool {
        self.models.is_empty() || self.models.iter().any(|model| model == name)
    }
}

impl<const N: usize> From<[ScriptedTurn; N]> for ModelScript {
    /// Creates a script of one session.
    fn from(turns: [ScriptedTurn; N]) -> Self {
        Self::new().session(turns)
    }
}

/// One answer of the model: text, then tool calls, unless it has a fault.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedTurn {
    pub(crate) text: String,
    pub(crate) tools: Vec<ScriptedToolCall>,
    pub(crate) usage: TurnUsage,
    pub(crate) fault: Option<TurnFault>,
}

impl ScriptedTurn {
    /// Answers with `text`; without tool calls this ends the agent's work.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Calls a tool. Use [`ScriptedTurn::and_tool`] for more calls in the same turn.
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::default().and_tool(name, input)
    }

    /// Fails with this HTTP status and the API's own error body.
    pub fn status(code: u16) -> Self {
        Self::default().with_fault(TurnFault::Status {
            code,
            retry_after: None,
        })
    }

    /// Fails with 429 and a `retry-after` header of this many seconds.
    pub fn rate_limited(retry_after: u32) -> Self {
        Self::default().with_fault(TurnFault::Status {
            code: 429,
            retry_after: Some(retry_after),
        })
    }

    /// Fails because the usage limit of the client's subscription is reached; it is reset after this many
    /// seconds. Only the APIs of Anthropic and OpenAI report it.
    pub fn usage_limit(resets_in: u32) -> Self {
        Self::default().with_fault(TurnFault::UsageLimit { resets_in })
    }

    /// Breaks the connection after this many bytes of the body.
    pub fn drop_after(bytes: usize) -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::DropAfter(bytes))
    }

    /// Sends nothing more after this many bytes of the body, but keeps the connection open.
    pub fn stall_after(bytes: usize) -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::StallAfter(bytes))
    }

    /// Accepts the request and never answers it.
    pub fn hang() -> Self {
        Self::default().with_fault(TurnFault::Hang)
    }

    /// Answers 200 with one record whose JSON is cut in half.
    pub fn broken_json() -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::BrokenJson)
    }

    /// Adds a tool call to the turn.
    #[must_use]
    pub fn and_tool(mut self, name: impl Into<String>, input: Value) -> Self {
        self.tools.push(ScriptedToolCall {
            name: name.into(),
            input,
        });
        self
    }

    /// Sets the tokens that the turn reports, without cached tokens.
    #[must_use]
    pub fn usage(self, input: u64, output: u64) -> Self {
        self.with_usage(TurnUsage {
            input,
            output,
            ..TurnUsage::default()
        })
    }

    /// Sets all token counts that the turn reports.
    #[must_use]
    pub fn with_usage(mut self, usage: TurnUsage) -> Self {
        self.usage = usage;
        self
    }

    /// Sets the fault of the turn.
    #[must_use]
    pub fn with_fault(mut self, fault: TurnFault) -> Self {
        self.fault = Some(fault);
        self
    }
}

/// Long enough that a cut falls within it in every API.
const BROKEN_JSON_TEXT: &str =
    "This sentence is long enough to be cut off well before it comes to its end.";

/// A call of one of the client's tools.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptedToolCall {
    /// The tool's name, as the client offers it.
    pub name: String,
    /// Its arguments.
    #[serde(default)]
    pub input: Value,
}

/// The tokens that a turn reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TurnUsage {
    /// Fresh input tokens.
    pub input: u64,
    /// Output tokens.
    pub output: u64,
    /// Input tokens read from the cache (Anthropic only).
    pub cache_read: u64,
    /// Input tokens written to the cache (Anthropic only).
    pub cache_write: u64,
}

impl Default for TurnUsage {
    /// Round numbers that are easy to recognize in a sum over several turns.
    fn default() -> Self {
        Self {
            input: 100,
            output: 10,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

/// A fault of a turn. If the client retries, it gets the next turn of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnFault {
    /// An HTTP error status.
    Status {
        /// The status code, 400 to 599.
        code: u16,
        /// The `retry-after` header, in seconds.
        #[serde(default)]
        retry_after: Option<u32>,
    },
    /// The usage limit of a subscription is reached.
    UsageLimit {
        /// Seconds until it is reset.
        resets_in: u32,
    },
    /// The connection breaks after this many bytes of the body.
    DropAfter(usize),
    /// Nothing is sent after this many bytes of the body; the connection stays open.
    StallAfter(usize),
    /// The request is never answered, not even with a status line.
    Hang,
    /// One record of the body is cut in half; the response itself is complete.
    BrokenJson,
}
