//! The arguments of each tool: types and JSON schemas. Unknown arguments are rejected, because the caller expects them
//! to have an effect.

use std::fmt::Display;
use std::path::PathBuf;

use rmcp::ErrorData;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Arguments of `verify`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct VerifyCall {}

/// Arguments of `digest`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DigestCall {
    pub(super) output: String,
    pub(super) command: Option<String>,
    pub(super) exit_code: Option<i32>,
    pub(super) tokens: Option<usize>,
}

/// Arguments of `show`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ShowCall {
    #[serde(default = "last")]
    pub(super) run: String,
    pub(super) attempt: Option<u32>,
}

/// Arguments of `explain`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExplainCall {
    #[serde(default = "last")]
    pub(super) run: String,
}

/// Arguments of `run`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunCall {
    task: String,
    pub(super) dir: Option<PathBuf>,
    agent: Option<String>,
    #[serde(default)]
    checks: Vec<String>,
    retries: Option<u32>,
    tier: Option<u8>,
    #[serde(default)]
    isolated: bool,
    max_cost: Option<f64>,
    max_duration: Option<String>,
}

impl RunCall {
    pub(super) fn command_line(&self) -> Vec<String> {
        CommandLine::new("run")
            .work_options(self.agent.as_ref(), &self.checks, self.retries, self.tier)
            .flag("isolated", self.isolated)
            .option("max-cost", self.max_cost)
            .option("max-duration", self.max_duration.as_ref())
            .with_operand(Some(&self.task))
    }
}

/// Arguments of `submit`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SubmitCall {
    task: String,
    repo: Option<String>,
    rev: Option<String>,
    workspace: Option<String>,
    agent: Option<String>,
    #[serde(default)]
    checks: Vec<String>,
    retries: Option<u32>,
    tier: Option<u8>,
    idempotency_key: Option<String>,
}

impl SubmitCall {
    pub(super) fn command_line(&self) -> Vec<String> {
        CommandLine::new("submit")
            .option("repo", self.repo.as_ref())
            .option("rev", self.rev.as_ref())
            .option("workspace", self.workspace.as_ref())
            .work_options(self.agent.as_ref(), &self.checks, self.retries, self.tier)
            .option("idempotency-key", self.idempotency_key.as_ref())
            .with_operand(Some(&self.task))
    }
}

/// Arguments of `watch`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WatchCall {
    #[serde(default = "last")]
    task: String,
}

impl WatchCall {
    pub(super) fn command_line(&self) -> Vec<String> {
        CommandLine::new("watch").with_operand(Some(&self.task))
    }
}

/// A person's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ReviewDecision {
    Accept,
    Reject,
    Retry,
}

/// Arguments of `review`. The attempt is required, so that no other work is decided on.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewCall {
    run: String,
    decision: ReviewDecision,
    attempt: u32,
    tree: Option<String>,
    reason: Option<String>,
}

impl ReviewCall {
    pub(super) fn command_line(&self) -> Vec<String> {
        CommandLine::new("review")
            .flag("accept", self.decision == ReviewDecision::Accept)
            .flag("reject", self.decision != ReviewDecision::Accept)
            .flag("retry", self.decision == ReviewDecision::Retry)
            .option("attempt", Some(self.attempt))
            .option("tree", self.tree.as_ref())
            .option("reason", self.reason.as_ref())
            .with_operand(Some(&self.run))
    }
}

/// Arguments of `restore`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RestoreCall {
    pub(super) run: Option<String>,
    attempt: Option<u32>,
    tree: Option<String>,
    #[serde(default)]
    original: bool,
}

impl RestoreCall {
    pub(super) fn command_line(&self) -> Vec<String> {
        CommandLine::new("restore")
            .option("attempt", self.attempt)
            .option("tree", self.tree.as_ref())
            .flag("original", self.original)
            .with_operand(self.run.as_ref())
    }
}

/// The arguments of a command of this program. A value is joined with its option, so that none is taken for an option.
struct CommandLine(Vec<String>);

impl CommandLine {
    fn new(command: &str) -> Self {
        Self(vec![command.to_owned()])
    }

    fn option(mut self, name: &str, value: Option<impl Display>) -> Self {
        self.0
            .extend(value.map(|value| format!("--{name}={value}")));
        self
    }

    fn options(mut self, name: &str, values: &[String]) -> Self {
        let values = values.iter().map(|value| format!("--{name}={value}"));
        self.0.extend(values);
        self
    }

    /// The options that `run` and `submit` share.
    fn work_options(
        self,
        agent: Option<&String>,
        checks: &[String],
        retries: Option<u32>,
        tier: Option<u8>,
    ) -> Self {
        self.option("agent", agent)
            .options("check", checks)
            .option("retries", retries)
            .option("tier", tier)
    }

    fn flag(mut self, name: &str, is_set: bool) -> Self {
        self.0.extend(is_set.then(|| format!("--{name}")));
        self
    }

    fn with_operand(mut self, operand: Option<&String>) -> Vec<String> {
        let operand = operand.map(|operand| ["--".to_owned(), operand.clone()]);
        self.0.extend(operand.into_iter().flatten());
        self.0
    }
}

fn last() -> String {
    "last".to_owned()
}

/// Parses the arguments of a call.
pub(super) fn parse_arguments<T: DeserializeOwned>(
    arguments: Map<String, Value>,
) -> Result<T, ErrorData> {
    serde_json::from_value(Value::Object(arguments))
        .map_err(|error| ErrorData::invalid_params(error.to_string(), None))
}

/// The tools: name, description and JSON schema of the arguments.
pub(super) fn tool_definitions() -> Vec<(&'static str, &'static str, Map<String, Value>)> {
    vec![
        (
            "verify",
            "Run this project's own checks (selvedge.toml) once on the current files, and report \
             failures with a digest. Call it before you report that you are done.",
            object_schema(&json!({}), &[]),
        ),
        (
            "digest",
            "Shorten the output of a build, test or lint tool to the failures and their locations.",
            object_schema(
                &json!({
                    "output": { "type": "string", "description": "The output of the tool." },
                    "command": { "type": "string", "description": "The command line that printed it." },
                    "exit_code": { "type": "integer", "description": "The exit code of the command. Without it, the digest never reports success." },
                    "tokens": { "type": "integer", "minimum": 1, "description": "Token limit of the digest; default: 500." },
                }),
                &["output"],
            ),
        ),
        (
            "show",
            "Show a Selvedge run: its attempts, the results of its checks, and its cost.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it; default: `last`." },
                    "attempt": { "type": "integer", "minimum": 1, "description": "Show only this attempt." },
                }),
                &[],
            ),
        ),
        (
            "explain",
            "Explain why a Selvedge run ended as it did: its outcome, and what failed in each attempt.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it; default: `last`." },
                }),
                &[],
            ),
        ),
        (
            "run",
            "Have another agent do a task in this project: it works, independent checks judge it, and it \
             gets more attempts while they fail. Takes minutes; reports its progress.",
            object_schema(
                &json!({
                    "task": { "type": "string", "description": "The task, passed to the agent unchanged." },
                    "dir": { "type": "string", "description": "Directory to work in, within the server's; default: the server's." },
                    "agent": { "type": "string", "description": "Agent that does the work; default: the settings'." },
                    "checks": { "type": "array", "items": { "type": "string" }, "description": "Commands that must exit with 0; default: those of selvedge.toml." },
                    "retries": { "type": "integer", "minimum": 0, "maximum": 5, "description": "Retries after the first attempt." },
                    "tier": { "type": "integer", "minimum": 1, "maximum": 3, "description": "1: checks; 2: a judge as well; 3: a vote of judges." },
                    "isolated": { "type": "boolean", "description": "Work in a clone; the result is a branch." },
                    "max_cost": { "type": "number", "exclusiveMinimum": 0, "description": "Maximum cost in US dollars." },
                    "max_duration": { "type": "string", "description": "Maximum time, such as `30m`." },
                }),
                &["task"],
            ),
        ),
        (
            "submit",
            "Submit a task to the hub of the settings; a worker does it. Answers with the task's id.",
            object_schema(
                &json!({
                    "task": { "type": "string", "description": "The task, passed to the agent unchanged." },
                    "repo": { "type": "string", "description": "Git repository that a worker clones." },
                    "rev": { "type": "string", "description": "Revision from which the work begins." },
                    "workspace": { "type": "string", "description": "Directory in the clone; without `repo`, of the worker's machine." },
                    "agent": { "type": "string", "description": "Agent that does the work, as the worker names it." },
                    "checks": { "type": "array", "items": { "type": "string" }, "description": "Commands that must exit with 0; default: the repository's." },
                    "retries": { "type": "integer", "minimum": 0, "maximum": 5, "description": "Retries after the first attempt." },
                    "tier": { "type": "integer", "minimum": 1, "maximum": 3, "description": "1: checks; 2: a judge as well; 3: a vote of judges." },
                    "idempotency_key": { "type": "string", "description": "Submitting again with the same key creates no new task." },
                }),
                &["task"],
            ),
        ),
        (
            "watch",
            "Follow a task of the hub until it ends or awaits review.",
            object_schema(
                &json!({
                    "task": { "type": "string", "description": "The task's id, or the beginning or end of it; default: `last`." },
                }),
                &[],
            ),
        ),
        (
            "review",
            "Record a person's decision on work that awaits review. Call it only when the user has decided.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it." },
                    "decision": { "type": "string", "enum": ["accept", "reject", "retry"], "description": "`retry` rejects the work and starts another attempt." },
                    "attempt": { "type": "integer", "minimum": 1, "description": "The inspected attempt; the decision applies only to it." },
                    "tree": { "type": "string", "description": "The inspected tree; the decision applies only to it." },
                    "reason": { "type": "string", "description": "The reason; required unless the work is accepted." },
                }),
                &["run", "decision", "attempt"],
            ),
        ),
        (
            "restore",
            "Revert the files of a run's directory to those of one of its snapshots. The current files are \
             stored first; the answer says how to restore them.",
            object_schema(
                &json!({
                    "run": { "type": "string", "description": "The run's id, or the beginning or end of it; default: the newest one of the directory." },
                    "attempt": { "type": "integer", "minimum": 1, "description": "The files after this attempt." },
                    "original": { "type": "boolean", "description": "The files from which the run began." },
                    "tree": { "type": "string", "description": "The files of this snapshot." },
                }),
                &[],
            ),
        ),
    ]
}

fn object_schema(properties: &Value, required: &[&str]) -> Map<String, Value> {
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}
