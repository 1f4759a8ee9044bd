//! An `[agents.NAME]` table as written in a file, and the agent that it defines.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::check::TableError;
use super::diagnostic::with_hint;
use super::values::{BoundedInteger, CommandLine, EnvValue};
use crate::model::{AgentKind, AgentSpec};

/// An agent as written, not yet validated as a whole.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(expecting = "a table")]
pub(super) struct AgentTable {
    #[serde(default, deserialize_with = "configurable_kind")]
    #[schemars(transform = remove_other_kinds)]
    kind: Option<AgentKind>,
    program: Option<CommandLine>,
    args: Option<Vec<String>>,
    model: Option<String>,
    effort: Option<String>,
    max_turns: Option<BoundedInteger<1, 1_000_000>>,
    base_url: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, EnvValue>,
    api_retries: Option<BoundedInteger<0, 10>>,
    prompt: Option<PromptInput>,
}

/// How a `command` agent receives its prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PromptInput {
    Stdin,
    Argument,
}

/// Limits the schema of a kind to those that can be configured.
fn remove_other_kinds(schema: &mut Schema) {
    let is_configurable = |kind: &Value| {
        let name = kind.get("const").and_then(Value::as_str);
        name.is_none_or(|name| AgentKind::ALL.iter().any(|kind| kind.name() == name))
    };
    let choices = schema.get_mut("anyOf").and_then(Value::as_array_mut);
    for choice in choices.into_iter().flatten() {
        if let Some(kinds) = choice.get_mut("oneOf").and_then(Value::as_array_mut) {
            kinds.retain(is_configurable);
        }
    }
}

/// Reads a kind that an agent can have.
fn configurable_kind<'de, D: Deserializer<'de>>(input: D) -> Result<Option<AgentKind>, D::Error> {
    let name = String::deserialize(input)?;
    let kind = AgentKind::ALL.into_iter().find(|kind| kind.name() == name);
    kind.map(Some).ok_or_else(|| {
        let known = AgentKind::ALL.map(|kind| format!("`{}`", kind.name()));
        D::Error::custom(format_args!(
            "unknown value `{name}`, expected one of {}",
            known.join(", ")
        ))
    })
}

/// All agents, each completed from the one that is named like its kind. The error has the agent's name and the problem.
pub(super) fn resolve_agents(
    agents: &BTreeMap<String, AgentTable>,
) -> Result<BTreeMap<String, AgentSpec>, (String, TableError)> {
    let spec = |(name, agent): (&String, &AgentTable)| match agent.resolve(name, agents) {
        Ok(spec) => Ok((name.clone(), spec)),
        Err(complaint) => Err((name.clone(), complaint)),
    };
    agents.iter().map(spec).collect()
}

impl AgentTable {
    fn resolve(
        &self,
        name: &str,
        agents: &BTreeMap<String, Self>,
    ) -> Result<AgentSpec, TableError> {
        let Some(kind) = self.kind else {
            let kinds: Vec<_> = AgentKind::ALL.iter().map(|kind| kind.name()).collect();
            let hint = format!("set kind = \"claude\", or one of: {}", kinds.join(", "));
            return Err((
                "",
                with_hint(format_args!("agent `{name}` needs a `kind`"), hint),
            ));
        };
        let agent = match agents.get(kind.name()) {
            Some(model) if model.kind == self.kind => {
                self.clone().with_defaults_from(model.clone())
            }
            _ => self.clone(),
        };
        agent.check_required_keys(name, kind)?;

        let mut program = agent.program.map(|words| words.0).unwrap_or_default();
        program.extend(agent.args.unwrap_or_default());
        let mut spec = AgentSpec {
            name: name.to_owned(),
            kind,
            program,
            model: agent.model,
            effort: agent.effort,
            max_turns: agent
                .max_turns
                .and_then(|BoundedInteger(turns)| u32::try_from(turns).ok()),
            price: None,
            base_url: agent.base_url,
            env: BTreeMap::new(),
            env_from: BTreeMap::new(),
            api_retries: agent
                .api_retries
                .and_then(|BoundedInteger(retries)| u32::try_from(retries).ok())
                .unwrap_or(kind.capabilities().api_retries),
            deterministic: kind == AgentKind::Shell,
            prompt_as_argument: agent.prompt == Some(PromptInput::Argument),
            server_by_repository: false,
        };
        for (variable, value) in agent.env {
            match value {
                EnvValue::Text(text) => spec.env.insert(variable, text),
                EnvValue::From { from } => spec.env_from.insert(variable, from),
            };
        }
        Ok(spec)
    }

    fn with_defaults_from(self, model: Self) -> Self {
        let mut env = model.env;
        env.extend(self.env);
        Self {
            kind: self.kind,
            program: self.program.or(model.program),
            args: self.args.or(model.args),
            model: self.model.or(model.model),
            effort: self.effort.or(model.effort),
            max_turns: self.max_turns.or(model.max_turns),
            base_url: self.base_url.or(model.base_url),
            env,
            api_retries: self.api_retries.or(model.api_retries),
            prompt: self.prompt.or(model.prompt),
        }
    }

    fn check_required_keys(&self, name: &str, kind: AgentKind) -> Result<(), TableError> {
        let kind_name = kind.name();
        let needs = |key, example| {
            let message = format!("agent `{name}` of kind `{kind_name}` needs `{key}`");
            Err(("", with_hint(message, format_args!("such as {example}"))))
        };
        let has_no = |key, why| {
            Err((
                key,
                with_hint(
                    format_args!("agents of kind `{kind_name}` have no `{key}`"),
                    why,
                ),
            ))
        };
        let known = kind.capabilities();
        match kind {
            _ if self.effort.is_some() && !known.supports_effort => has_no(
                "effort",
                "their reasoning effort cannot be set; choose another `model`",
            ),
            _ if self.max_turns.is_some() && !known.supports_turn_limit => has_no(
                "max_turns",
                "they do not support a turn limit; use the limits on time",
            ),
            AgentKind::Ollama if self.model.is_none() => {
                needs("model", "model = \"qwen2.5-coder:7b\"")
            }
            AgentKind::Ollama if self.base_url.is_none() => {
                needs("base_url", "base_url = \"http://127.0.0.1:11434\"")
            }
            AgentKind::Api if self.model.is_none() => needs("model", "model = \"openai/gpt-5\""),
            AgentKind::Ollama | AgentKind::Api if self.program.is_some() => {
                has_no("program", "they are HTTP services; set `base_url`")
            }
            AgentKind::Shell if self.program.is_some() => has_no(
                "program",
                "they run the task's own command; use kind = \"command\" to run a program",
            ),
            AgentKind::Ollama | AgentKind::Api | AgentKind::Shell => Ok(()),
            _ if self.program.is_none() => {
                needs("program", "program = [\"aider\", \"--yes\", \"--message\"]")
            }
            _ => Ok(()),
        }
    }
}
