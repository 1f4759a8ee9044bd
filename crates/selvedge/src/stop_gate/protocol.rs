//! The input that each agent's program passes to its hooks, and the answers that it understands.

use std::path::PathBuf;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// An agent whose program calls hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HookAgent {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// Qwen Code.
    Qwen,
    /// GitHub Copilot CLI.
    Copilot,
    /// Cursor.
    Cursor,
    /// `OpenCode`.
    #[value(help = "OpenCode")]
    Opencode,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GateEvent {
    /// The session begins or is resumed.
    SessionStart,
    /// The user, or the agent's program after a refusal, submits a prompt.
    Prompt {
        /// Its text.
        text: String,
    },
    /// The agent wants to stop.
    Stop {
        /// The agent's last message, if its program passes it.
        message: String,
    },
    /// The user interrupted the agent, or its program failed: there is nothing to hold.
    Interrupted,
    /// The session is over.
    SessionEnd,
}

/// A call of the hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateRequest {
    /// The agent's id of the session.
    pub(crate) session_id: String,
    /// The directory of the session.
    pub(crate) dir: Option<PathBuf>,
    pub(crate) event: GateEvent,
}

/// The answer of the gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum GateAnswer {
    /// No answer: the event is not a stop, or there was nothing to check.
    Silent,
    /// The agent may stop; the user sees the message.
    Allow { message: String },
    /// The agent has to continue.
    Refuse {
        /// Text for the agent.
        feedback: String,
        /// Text for the user.
        message: String,
    },
}

impl GateAnswer {
    /// The text for the user.
    pub(crate) fn message(&self) -> Option<&str> {
        match self {
            Self::Silent => None,
            Self::Allow { message } | Self::Refuse { message, .. } => Some(message),
        }
    }
}

/// Input that is not a call of this agent's hook.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ParseRequestError {
    #[error("the hook's input is not a JSON object: {0}")]
    NotJson(String),
    #[error("the hook's input has no `{0}`")]
    MissingField(&'static str),
    #[error("unsupported event `{event}`; supported are {supported}")]
    UnsupportedEvent { event: String, supported: String },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKind {
    SessionStart,
    Prompt,
    Stop,
    SessionEnd,
}

/// How an agent's program describes events. Of several names of a field, the first that is present counts.
struct Protocol {
    /// The events by name, in the order of a session.
    events: [(&'static str, EventKind); 4],
    session_id: &'static [&'static str],
    dir: &'static [&'static str],
    /// The field with the agent's last message.
    message: &'static str,
    /// Variables with the project's directory, which take precedence over the session's.
    project_variables: &'static [&'static str],
}

/// The names that Claude Code introduced, and others adopted.
const CLAUDE_PROTOCOL: Protocol = Protocol {
    events: [
        ("SessionStart", EventKind::SessionStart),
        ("UserPromptSubmit", EventKind::Prompt),
        ("Stop", EventKind::Stop),
        ("SessionEnd", EventKind::SessionEnd),
    ],
    session_id: &["session_id"],
    dir: &["cwd"],
    message: "last_assistant_message",
    project_variables: &[],
};

impl HookAgent {
    /// Its name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Qwen => "qwen",
            Self::Copilot => "copilot",
            Self::Cursor => "cursor",
            Self::Opencode => "opencode",
        }
    }

    /// Its name in texts.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Copilot => "Copilot CLI",
            Self::Cursor => "Cursor",
            Self::Opencode => "OpenCode",
        }
    }

    fn protocol(self) -> Protocol {
        match self {
            Self::Claude => Protocol {
                project_variables: &["CLAUDE_PROJECT_DIR"],
                ..CLAUDE_PROTOCOL
            },
            Self::Codex | Self::Copilot | Self::Opencode => CLAUDE_PROTOCOL,
            Self::Gemini => Protocol {
                events: [
                    ("SessionStart", EventKind::SessionStart),
                    ("BeforeAgent", EventKind::Prompt),
                    ("AfterAgent", EventKind::Stop),
                    ("SessionEnd", EventKind::SessionEnd),
                ],
                message: "prompt_response",
                project_variables: &["GEMINI_PROJECT_DIR"],
                ..CLAUDE_PROTOCOL
            },
            Self::Qwen => Protocol {
                project_variables: &["QWEN_PROJECT_DIR"],
                ..CLAUDE_PROTOCOL
            },
            Self::Cursor => Protocol {
                events: [
                    ("sessionStart", EventKind::SessionStart),
                    ("beforeSubmitPrompt", EventKind::Prompt),
                    ("stop", EventKind::Stop),
                    ("sessionEnd", EventKind::SessionEnd),
                ],
                session_id: &["conversation_id", "session_id"],
                dir: &["workspace_roots", "cwd"],
                ..CLAUDE_PROTOCOL
            },
        }
    }

    /// The names of the events that call the hook: start of a session, prompt, stop, end of the session.
    pub(crate) fn event_names(self) -> [&'static str; 4] {
        self.protocol().events.map(|(name, _)| name)
    }

    /// Variables with the project's directory.
    pub(crate) fn project_variables(self) -> &'static [&'static str] {
        self.protocol().project_variables
    }

    /// Parses a hook's input.
    pub(crate) fn parse_request(self, text: &str) -> Result<GateRequest, ParseRequestError> {
        let protocol = self.protocol();
        let input: Map<String, Value> = serde_json::from_str(text)
            .map_err(|error| ParseRequestError::NotJson(error.to_string()))?;
        let session_id = first_text(&input, protocol.session_id)
            .filter(|id| !id.is_empty())
            .ok_or(ParseRequestError::MissingField(protocol.session_id[0]))?;
        let name = first_text(&input, &["hook_event_name"])
            .ok_or(ParseRequestError::MissingField("hook_event_name"))?;
        let kind = protocol
            .events
            .iter()
            .find_map(|(known, kind)| (*known == name).then_some(*kind));
        let kind = kind.ok_or_else(|| ParseRequestError::UnsupportedEvent {
            event: name.to_owned(),
            supported: self.event_names().join(", "),
        })?;
        let event = match kind {
            EventKind::SessionStart => GateEvent::SessionStart,
            EventKind::SessionEnd => GateEvent::SessionEnd,
            EventKind::Prompt => GateEvent::Prompt {
                text: first_text(&input, &["prompt"])
                    .unwrap_or_default()
                    .to_owned(),
            },
            EventKind::Stop if is_interrupted(&input) => GateEvent::Interrupted,
            EventKind::Stop => GateEvent::Stop {
                message: first_text(&input, &[protocol.message])
                    .unwrap_or_default()
                    .to_owned(),
            },
        };
        Ok(GateRequest {
            session_id: session_id.to_owned(),
            dir: first_text(&input, protocol.dir).map(PathBuf::from),
            event,
        })
    }

    /// Whether its answers have a field for the user. Otherwise the message is in the hook's standard error, which
    /// Cursor shows in its log of hooks.
    pub(crate) const fn shows_messages(self) -> bool {
        !matches!(self, Self::Cursor)
    }

    /// The JSON that answers a call of the hook.
    pub(crate) fn format_answer(self, answer: &GateAnswer) -> Value {
        match (self, answer) {
            (_, GateAnswer::Silent) | (Self::Cursor, GateAnswer::Allow { .. }) => json!({}),
            (Self::Cursor, GateAnswer::Refuse { feedback, .. }) => {
                json!({"followup_message": feedback})
            }
            (_, GateAnswer::Allow { message }) => json!({"systemMessage": message}),
            (agent, GateAnswer::Refuse { feedback, message }) => {
                let decision = match agent {
                    Self::Gemini => "deny",
                    _ => "block",
                };
                json!({"decision": decision, "reason": feedback, "systemMessage": message})
            }
        }
    }
}

/// Whether a stop is not the agent's own; only Cursor calls the hook then.
fn is_interrupted(input: &Map<String, Value>) -> bool {
    first_text(input, &["status"]).is_some_and(|status| status != "completed")
}

/// The first of the fields that is present: a text, or a list whose first entry is a text.
fn first_text<'a>(input: &'a Map<String, Value>, names: &[&str]) -> Option<&'a str> {
    names.iter().find_map(|name| match input.get(*name)? {
        Value::Array(entries) => entries.first()?.as_str(),
        value => value.as_str(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGENTS: [HookAgent; 7] = [
        HookAgent::Claude,
        HookAgent::Codex,
        HookAgent::Gemini,
        HookAgent::Qwen,
        HookAgent::Copilot,
        HookAgent::Cursor,
        HookAgent::Opencode,
    ];

    /// Inputs as the programs send them, shortened.
    #[test]
    fn requests_of_every_agent_are_parsed() {
        let claude = |event: &str, more: Value| {
            let mut input = json!({"session_id": "s", "cwd": "/p", "hook_event_name": event});
            input
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            input
        };
        let cursor = |event: &str, more: Value| {
            let mut input = claude(event, more);
            let input_map = input.as_object_mut().unwrap();
            input_map.insert("conversation_id".to_owned(), json!("s"));
            input_map.insert("workspace_roots".to_owned(), json!(["/p", "/q"]));
            input_map.insert("session_id".to_owned(), json!("other"));
            input_map.remove("cwd");
            input
        };
        let stop = |message: &str| GateEvent::Stop {
            message: message.to_owned(),
        };
        let prompt = || GateEvent::Prompt {
            text: "do it".to_owned(),
        };
        let asked = json!({"prompt": "do it"});
        let done = json!({"stop_hook_active": true, "last_assistant_message": "Done."});
        for agent in [
            HookAgent::Claude,
            HookAgent::Codex,
            HookAgent::Qwen,
            HookAgent::Copilot,
            HookAgent::Opencode,
        ] {
            for (input, event) in [
                (
                    claude("SessionStart", json!({"source": "startup"})),
                    GateEvent::SessionStart,
                ),
                (claude("UserPromptSubmit", asked.clone()), prompt()),
                (claude("Stop", done.clone()), stop("Done.")),
                (
                    claude("Stop", json!({"last_assistant_message": null})),
                    stop(""),
                ),
                (claude("SessionEnd", json!({})), GateEvent::SessionEnd),
            ] {
                let request = agent.parse_request(&input.to_string()).unwrap();
                assert_eq!(request.event, event, "{agent:?}");
                assert_eq!(request.session_id, "s");
                assert_eq!(request.dir, Some(PathBuf::from("/p")));
            }
        }
        for (agent, input, event) in [
            (
                HookAgent::Gemini,
                claude("BeforeAgent", asked.clone()),
                prompt(),
            ),
            (
                HookAgent::Gemini,
                claude(
                    "AfterAgent",
                    json!({"prompt_response": "Done.", "stop_hook_active": false}),
                ),
                stop("Done."),
            ),
            (
                HookAgent::Cursor,
                cursor("sessionStart", json!({})),
                GateEvent::SessionStart,
            ),
            (
                HookAgent::Cursor,
                cursor("beforeSubmitPrompt", asked),
                prompt(),
            ),
            (
                HookAgent::Cursor,
                cursor("stop", json!({"status": "aborted", "loop_count": 0})),
                GateEvent::Interrupted,
            ),
            (
                HookAgent::Cursor,
                cursor("stop", json!({"status": "completed", "loop_count": 1})),
                stop(""),
            ),
        ] {
            let request = agent.parse_request(&input.to_string()).unwrap();
            assert_eq!(request.event, event, "{agent:?}");
            assert_eq!(request.session_id, "s");
            assert_eq!(request.dir, Some(PathBuf::from("/p")));
        }
    }

    #[test]
    fn malformed_requests_are_rejected() {
        for agent in AGENTS {
            for text in ["", "{", "[]", "no json", "{}", r#"{"session_id": 7}"#] {
                assert!(agent.parse_request(text).is_err(), "{agent:?} {text}");
            }
            let stop = agent.event_names()[2];
            let empty = json!({"session_id": "", "conversation_id": "", "hook_event_name": stop});
            assert!(
                agent.parse_request(&empty.to_string()).is_err(),
                "{agent:?}"
            );
            let other = json!({"session_id": "s", "hook_event_name": "PreToolUse"}).to_string();
            let error = agent.parse_request(&other).unwrap_err().to_string();
            assert!(
                error.contains("PreToolUse") && error.contains(stop),
                "{error}"
            );
        }
    }

    #[test]
    fn answers_are_in_the_terms_of_each_agent() {
        let (feedback, message) = ("fix it".to_owned(), "not yet".to_owned());
        let refuse = GateAnswer::Refuse { feedback, message };
        let allow = GateAnswer::Allow {
            message: "verified".to_owned(),
        };
        for agent in AGENTS {
            assert_eq!(agent.format_answer(&GateAnswer::Silent), json!({}));
            let (refused, allowed) = match agent {
                HookAgent::Gemini => (
                    json!({"decision": "deny", "reason": "fix it", "systemMessage": "not yet"}),
                    json!({"systemMessage": "verified"}),
                ),
                HookAgent::Cursor => (json!({"followup_message": "fix it"}), json!({})),
                _ => (
                    json!({"decision": "block", "reason": "fix it", "systemMessage": "not yet"}),
                    json!({"systemMessage": "verified"}),
                ),
            };
            assert_eq!(agent.format_answer(&refuse), refused, "{agent:?}");
            assert_eq!(agent.format_answer(&allow), allowed, "{agent:?}");
        }
    }
}
