//! What the model will say, as data: sessions, each a queue of turns. Built fluently in a test or
//! read from JSON by the `model-server` program; knows nothing of HTTP or of any one model API.

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
    /// A script in which nothing is said yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the session that opens next, with its turns in order. An agent program that is started
    /// anew opens a new one; what it asks again by itself (after a fault) stays in its own.
    #[must_use]
    pub fn session(mut self, turns: impl IntoIterator<Item = ScriptedTurn>) -> Self {
        self.sessions.push(turns.into_iter().collect());
        self
    }

    /// Names the models that Ollama's API has; any other is answered with 404. Without this call
    /// the server has every model that it is asked for.
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
    /// A script of one session.
    fn from(turns: [ScriptedTurn; N]) -> Self {
        Self::new().session(turns)
    }
}

/// One answer of the model: text, then tool calls, unless a fault comes in between.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScriptedTurn {
    pub(crate) text: String,
    pub(crate) tools: Vec<ScriptedToolCall>,
    pub(crate) usage: TurnUsage,
    pub(crate) fault: Option<TurnFault>,
}

impl ScriptedTurn {
    /// Says `text`; with no tool call beside it this ends the agent's work.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// Calls a tool. More calls in the same turn: [`ScriptedTurn::and_tool`].
    pub fn tool(name: impl Into<String>, input: Value) -> Self {
        Self::default().and_tool(name, input)
    }

    /// Refuses with this HTTP status and the API's own error body.
    pub fn status(code: u16) -> Self {
        Self::default().with_fault(TurnFault::Status {
            code,
            retry_after: None,
        })
    }

    /// Refuses with 429 and asks to come back after so many seconds.
    pub fn rate_limited(retry_after: u32) -> Self {
        Self::default().with_fault(TurnFault::Status {
            code: 429,
            retry_after: Some(retry_after),
        })
    }

    /// Breaks the connection after so many bytes of the body.
    pub fn drop_after(bytes: usize) -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::DropAfter(bytes))
    }

    /// Falls silent after so many bytes of the body, with the connection left open.
    pub fn stall_after(bytes: usize) -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::StallAfter(bytes))
    }

    /// Accepts the request and never answers it.
    pub fn hang() -> Self {
        Self::default().with_fault(TurnFault::Hang)
    }

    /// Answers 200 with JSON that breaks off in the middle of a record.
    pub fn broken_json() -> Self {
        Self::text(BROKEN_JSON_TEXT).with_fault(TurnFault::BrokenJson)
    }

    /// Adds a tool call after what the turn already says.
    #[must_use]
    pub fn and_tool(mut self, name: impl Into<String>, input: Value) -> Self {
        self.tools.push(ScriptedToolCall {
            name: name.into(),
            input,
        });
        self
    }

    /// Sets the tokens that the turn reports, without any cached ones.
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

    /// Lets the turn go wrong in the given way.
    #[must_use]
    pub fn with_fault(mut self, fault: TurnFault) -> Self {
        self.fault = Some(fault);
        self
    }
}

/// Long enough that a cut lands in the middle of it, in either API.
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
    /// Round numbers that a sum over several turns can be recognised by.
    fn default() -> Self {
        Self {
            input: 100,
            output: 10,
            cache_read: 0,
            cache_write: 0,
        }
    }
}

/// A way in which a turn goes wrong. The client may ask again; it gets the session's next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TurnFault {
    /// An HTTP error.
    Status {
        /// The status, 400 to 599.
        code: u16,
        /// The `retry-after` header, in seconds.
        #[serde(default)]
        retry_after: Option<u32>,
    },
    /// The connection breaks after so many bytes of the body.
    DropAfter(usize),
    /// Nothing more comes after so many bytes of the body.
    StallAfter(usize),
    /// Not even the response's head comes.
    Hang,
    /// One record of the body is cut in half; the response itself ends well.
    BrokenJson,
}
