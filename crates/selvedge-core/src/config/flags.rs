//! The layer of command-line flags.

use std::sync::Arc;

use super::key::SettingKey;
use super::layer::ConfigLayer;
use super::source::ConfigSource;
use super::tree::{ConfigNode, ConfigValue};

/// The name of the agent that `--agent-cmd` defines.
pub const FLAG_AGENT_NAME: &str = "command";

/// The command-line flags as typed. Their values are validated together with all others, so that `--timeout 5` and
/// `timeout = 5` cause the same error.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--agent NAME`
    pub agent: Option<String>,
    /// `--escalate NAME`, in order; any at all replace the configured ones.
    pub escalate: Vec<String>,
    /// `--agent-cmd 'CMD'` as an argument vector: defines an agent `command` that runs it, and selects it.
    pub agent_cmd: Option<Vec<String>>,
    /// `--check 'CMD'`, in order; any at all replace the configured checks.
    pub checks: Vec<String>,
    /// `--retries N`
    pub retries: Option<u32>,
    /// `--tier N`
    pub tier: Option<u8>,
    /// `--judge NAME`, in order; any at all replace the configured judges.
    pub judges: Vec<String>,
    /// `--best-of N`: the number of parallel executions.
    pub best_of: Option<u32>,
    /// `--timeout 30m`, for a session.
    pub timeout: Option<String>,
    /// `--verification-timeout 120s`
    pub verification_timeout: Option<String>,
    /// `--baseline auto|on|off`
    pub baseline: Option<String>,
    /// `--known-failure ID`, in order; any at all replace the configured ones.
    pub known_failures: Vec<String>,
    /// `--known-failures FILE`, an absolute path.
    pub known_failures_file: Option<String>,
    /// `--max-cost USD`
    pub max_cost: Option<f64>,
    /// `--max-tokens N`, for the whole run.
    pub max_tokens: Option<u32>,
    /// `--max-duration 2h`, for the whole run.
    pub max_duration: Option<String>,
    /// `--require-cost-reporting`
    pub require_cost_reporting: bool,
    /// `--max-turns N`
    pub max_turns: Option<u32>,
    /// `--on-usage-limit wait|stop`
    pub on_usage_limit: Option<String>,
    /// `--sandbox auto|bubblewrap|landlock|podman|docker|none`
    pub sandbox: Option<String>,
    /// `--check-env NAME`, in order; any at all replace the configured ones.
    pub check_env: Vec<String>,
}

impl ConfigLayer {
    /// Creates a layer from command-line flags.
    pub fn flags(flags: &Flags) -> Self {
        let mut layer = Self::from(ConfigNode::empty(&Arc::new(ConfigSource::Flag(
            "the command line",
        ))));
        let mut set = |flag, key: &str, value: Option<toml::Value>| {
            if let Some(value) = value {
                let node = ConfigNode::new(
                    &Arc::new(ConfigSource::Flag(flag)),
                    ConfigValue::Scalar(value),
                );
                layer.tree.set(&SettingKey::dotted(key), node);
            }
        };
        let text = |text: &Option<String>| text.clone().map(toml::Value::String);
        let number = |number: Option<u32>| number.map(|number| toml::Value::Integer(number.into()));

        set("--agent", "agent", text(&flags.agent));
        if flags.agent_cmd.is_some() {
            let agent = |key: &str| format!("agents.{FLAG_AGENT_NAME}.{key}");
            let word = |word: &str| Some(toml::Value::String(word.to_owned()));
            set("--agent-cmd", "agent", word(FLAG_AGENT_NAME));
            set("--agent-cmd", &agent("kind"), word("command"));
        }
        set(
            "--retries",
            "verification.max_retries",
            number(flags.retries),
        );
        if flags.best_of.is_some() {
            let strategy = toml::Value::String("best_of_n".to_owned());
            set("--best-of", "judging.strategy", Some(strategy));
            set("--best-of", "judging.votes", number(flags.best_of));
        }
        set(
            "--tier",
            "verification.tier",
            number(flags.tier.map(u32::from)),
        );
        set("--timeout", "limits.timeout", text(&flags.timeout));
        set(
            "--verification-timeout",
            "verification.timeout",
            text(&flags.verification_timeout),
        );
        set("--baseline", "verification.baseline", text(&flags.baseline));
        set(
            "--on-usage-limit",
            "limits.usage_limit",
            text(&flags.on_usage_limit),
        );
        set(
            "--known-failures",
            "verification.known_failures_file",
            text(&flags.known_failures_file),
        );
        set(
            "--max-cost",
            "budget.cost_usd",
            flags.max_cost.map(toml::Value::Float),
        );
        set("--max-tokens", "budget.tokens", number(flags.max_tokens));
        set(
            "--max-duration",
            "budget.duration",
            text(&flags.max_duration),
        );
        set(
            "--require-cost-reporting",
            "budget.require_cost_reporting",
            flags
                .require_cost_reporting
                .then_some(toml::Value::Boolean(true)),
        );
        set("--max-turns", "limits.max_turns", number(flags.max_turns));
        set("--sandbox", "sandbox.backend", text(&flags.sandbox));
        if let Some(argv) = &flags.agent_cmd {
            let key = SettingKey::dotted(&format!("agents.{FLAG_AGENT_NAME}.program"));
            layer.tree.set(&key, names("--agent-cmd", argv));
        }
        if !flags.known_failures.is_empty() {
            let known = names("--known-failure", &flags.known_failures);
            let key = SettingKey::dotted("verification.known_failures");
            layer.tree.set(&key, known);
        }
        if !flags.judges.is_empty() {
            let judges = names("--judge", &flags.judges);
            layer
                .tree
                .set(&SettingKey::dotted("judging.judges"), judges);
        }
        if !flags.check_env.is_empty() {
            let seen = names("--check-env", &flags.check_env);
            layer
                .tree
                .set(&SettingKey::dotted("environment.checks"), seen);
        }
        if !flags.escalate.is_empty() {
            let agents = names("--escalate", &flags.escalate);
            layer.tree.set(&SettingKey::dotted("escalate"), agents);
        }
        if !flags.checks.is_empty() {
            layer
                .tree
                .set(&SettingKey::dotted("checks"), checks(&flags.checks));
        }
        layer
    }
}

fn names(flag: &'static str, values: &[String]) -> ConfigNode {
    let source = Arc::new(ConfigSource::Flag(flag));
    let value = |value: &String| {
        let value = ConfigValue::Scalar(toml::Value::String(value.clone()));
        ConfigNode::new(&source, value)
    };
    ConfigNode::new(
        &source,
        ConfigValue::List(values.iter().map(value).collect()),
    )
}

fn checks(commands: &[String]) -> ConfigNode {
    let source = Arc::new(ConfigSource::Flag("--check"));
    let check = |command: &String| {
        let run = ConfigValue::Scalar(toml::Value::String(command.clone()));
        let mut check = ConfigNode::empty(&source);
        check.set(&SettingKey::dotted("run"), ConfigNode::new(&source, run));
        check
    };
    ConfigNode::new(
        &source,
        ConfigValue::List(commands.iter().map(check).collect()),
    )
}
