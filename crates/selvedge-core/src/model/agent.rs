//! The supported agents: the interface of each, and its known capabilities. A run's [`AgentSpec`](super::AgentSpec)
//! configures an agent; the engine runs it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The interface of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AgentKind {
    /// Claude Code's `claude -p` with stream-json.
    Claude,
    /// Codex's `codex exec --json`.
    Codex,
    /// Gemini CLI's `gemini --output-format stream-json`.
    Gemini,
    /// Qwen Code's `qwen --output-format stream-json`.
    Qwen,
    /// `OpenCode`'s `opencode run --format json`.
    Opencode,
    /// `aider --message-file`.
    Aider,
    /// mini-SWE-agent's `mini`.
    Mini,
    /// Any program that speaks the Agent Client Protocol over its standard input and output.
    Acp,
    /// A model behind Ollama's `/api/chat`, with our own file and command tools.
    Ollama,
    /// A model behind the API of Anthropic, OpenAI or Gemini, with the same tools.
    Api,
    /// Any program: the prompt on standard input, or as an argument.
    Command,
    /// The task's own command line: deterministic, never retried.
    Shell,
    /// A program that Selvedge does not start: its result is in the workspace, or its hooks call Selvedge's stop gate.
    /// Not configurable.
    External,
}

/// How reliably an agent's cost is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CostReporting {
    /// It reports its cost, or is free.
    Always,
    /// It reports its tokens; the cost is estimated from the price list if that includes the model.
    FromTokens,
    /// It may report nothing.
    Unreliable,
}

/// Capabilities of a kind of agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentCapabilities {
    /// Its name in a configuration, and of the agent of this kind that needs no configuration.
    pub name: &'static str,
    /// Default number of retries of the model's API within one attempt.
    pub api_retries: u32,
    /// Whether it supports a limit on turns.
    pub supports_turn_limit: bool,
    /// How reliably its cost is known.
    pub cost_reporting: CostReporting,
    /// Whether its reasoning effort can be set.
    pub supports_effort: bool,
    /// Whether it reports its tokens.
    pub reports_tokens: bool,
}

/// Names of preconfigured agents whose kind is [`AgentKind::Acp`] or [`AgentKind::Command`].
pub const PRECONFIGURED_PROGRAMS: [&str; 5] = ["cursor", "amp", "droid", "copilot", "goose"];

impl AgentKind {
    /// All kinds that a configuration can name, in the order in which they are listed.
    pub const ALL: [Self; 12] = [
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Qwen,
        Self::Opencode,
        Self::Aider,
        Self::Mini,
        Self::Acp,
        Self::Ollama,
        Self::Api,
        Self::Command,
        Self::Shell,
    ];

    /// Its capabilities.
    pub const fn capabilities(self) -> AgentCapabilities {
        const AGENT: AgentCapabilities = AgentCapabilities {
            name: "",
            api_retries: 3,
            supports_turn_limit: true,
            cost_reporting: CostReporting::Always,
            reports_tokens: true,
            supports_effort: false,
        };
        match self {
            Self::Claude => AgentCapabilities {
                name: "claude",
                supports_effort: true,
                ..AGENT
            },
            Self::Codex => AgentCapabilities {
                name: "codex",
                supports_turn_limit: false,
                cost_reporting: CostReporting::FromTokens,
                supports_effort: true,
                ..AGENT
            },
            Self::Gemini => AgentCapabilities {
                name: "gemini",
                cost_reporting: CostReporting::FromTokens,
                ..AGENT
            },
            Self::Qwen => AgentCapabilities {
                name: "qwen",
                cost_reporting: CostReporting::FromTokens,
                ..AGENT
            },
            Self::Opencode => AgentCapabilities {
                name: "opencode",
                supports_turn_limit: false,
                cost_reporting: CostReporting::Unreliable,
                supports_effort: true,
                ..AGENT
            },
            Self::Aider => AgentCapabilities {
                name: "aider",
                supports_turn_limit: false,
                cost_reporting: CostReporting::FromTokens,
                supports_effort: true,
                ..AGENT
            },
            Self::Mini => AgentCapabilities {
                name: "mini",
                cost_reporting: CostReporting::FromTokens,
                supports_effort: true,
                ..AGENT
            },
            Self::Acp => AgentCapabilities {
                name: "acp",
                api_retries: 3,
                supports_turn_limit: false,
                cost_reporting: CostReporting::Unreliable,
                reports_tokens: false,
                supports_effort: true,
            },
            Self::Ollama => AgentCapabilities {
                name: "ollama",
                api_retries: 2,
                ..AGENT
            },
            Self::Api => AgentCapabilities {
                name: "api",
                api_retries: 2,
                cost_reporting: CostReporting::FromTokens,
                supports_effort: true,
                ..AGENT
            },
            // An unknown program is not run twice without a request: it may cost money.
            Self::Command => AgentCapabilities {
                name: "command",
                api_retries: 0,
                supports_turn_limit: false,
                cost_reporting: CostReporting::Unreliable,
                reports_tokens: false,
                supports_effort: false,
            },
            Self::Shell => AgentCapabilities {
                name: "shell",
                api_retries: 1,
                supports_turn_limit: false,
                ..AGENT
            },
            Self::External => AgentCapabilities {
                name: "external",
                api_retries: 0,
                supports_turn_limit: false,
                cost_reporting: CostReporting::Unreliable,
                reports_tokens: false,
                supports_effort: false,
            },
        }
    }

    /// Its name in a configuration.
    pub const fn name(self) -> &'static str {
        self.capabilities().name
    }
}
