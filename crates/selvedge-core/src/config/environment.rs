//! The layer of environment variables: one variable for each setting that is a single value.

use std::sync::Arc;

use super::diagnostic::Diagnostic;
use super::key::SettingKey;
use super::layer::ConfigLayer;
use super::source::{ConfigSource, SourceSpan};
use super::suggest::nearest;
use super::tree::{ConfigNode, ConfigValue};

/// Prefix of all our variables.
pub const VARIABLE_PREFIX: &str = "SELVEDGE_";

/// Prefixes of the variables that set options of a hub and of a worker.
const SERVER_PREFIXES: [&str; 2] = ["SELVEDGE_HUB_", "SELVEDGE_WORKER_"];

/// Variables that are not settings.
const OTHER_VARIABLES: [&str; 7] = [
    "SELVEDGE_HUB",
    "SELVEDGE_TOKEN",
    "SELVEDGE_LOG",
    "SELVEDGE_RUN_ID",
    "SELVEDGE_RUN_NUMBER",
    "SELVEDGE_SESSION",
    "SELVEDGE_REPORTS",
];

/// Number of wrong letters in the name of a setting without its table at which it is still recognized.
const MAX_TYPOS: usize = 1;

/// Variables and the settings that they set.
pub(super) const VARIABLES: &[(&str, &str)] = &[
    ("SELVEDGE_AGENT", "agent"),
    (
        "SELVEDGE_VERIFICATION_MAX_RETRIES",
        "verification.max_retries",
    ),
    ("SELVEDGE_VERIFICATION_TIMEOUT", "verification.timeout"),
    ("SELVEDGE_VERIFICATION_BASELINE", "verification.baseline"),
    (
        "SELVEDGE_VERIFICATION_KNOWN_FAILURES_FILE",
        "verification.known_failures_file",
    ),
    ("SELVEDGE_VERIFICATION_TIER", "verification.tier"),
    ("SELVEDGE_JUDGING_VOTES", "judging.votes"),
    (
        "SELVEDGE_JUDGING_CONFIDENCE_FLOOR",
        "judging.confidence_floor",
    ),
    ("SELVEDGE_JUDGING_STRATEGY", "judging.strategy"),
    ("SELVEDGE_JUDGING_TIER2_ENABLED", "judging.tier2_enabled"),
    ("SELVEDGE_JUDGING_TIER3_ENABLED", "judging.tier3_enabled"),
    ("SELVEDGE_LIMITS_TIMEOUT", "limits.timeout"),
    ("SELVEDGE_LIMITS_IDLE_TIMEOUT", "limits.idle_timeout"),
    ("SELVEDGE_LIMITS_MAX_TURNS", "limits.max_turns"),
    ("SELVEDGE_LIMITS_USAGE_LIMIT", "limits.usage_limit"),
    (
        "SELVEDGE_LIMITS_USAGE_LIMIT_MAX_WAIT",
        "limits.usage_limit_max_wait",
    ),
    ("SELVEDGE_BUDGET_COST_USD", "budget.cost_usd"),
    ("SELVEDGE_BUDGET_TOKENS", "budget.tokens"),
    ("SELVEDGE_BUDGET_DURATION", "budget.duration"),
    (
        "SELVEDGE_BUDGET_ATTEMPT_COST_USD",
        "budget.attempt_cost_usd",
    ),
    ("SELVEDGE_BUDGET_ATTEMPT_TOKENS", "budget.attempt_tokens"),
    (
        "SELVEDGE_BUDGET_REQUIRE_COST_REPORTING",
        "budget.require_cost_reporting",
    ),
    ("SELVEDGE_WORKSPACE_SNAPSHOTS", "workspace.snapshots"),
    (
        "SELVEDGE_WORKSPACE_BETWEEN_ATTEMPTS",
        "workspace.between_attempts",
    ),
    ("SELVEDGE_WORKSPACE_ON_EXHAUSTED", "workspace.on_exhausted"),
    ("SELVEDGE_SETUP_TIMEOUT", "setup.timeout"),
    ("SELVEDGE_GUARD_POLICY", "guard.policy"),
    ("SELVEDGE_SANDBOX_BACKEND", "sandbox.backend"),
    ("SELVEDGE_SANDBOX_REQUIRED", "sandbox.required"),
    ("SELVEDGE_SANDBOX_AGENTS", "sandbox.agents"),
    ("SELVEDGE_SANDBOX_CHECKS", "sandbox.checks"),
    ("SELVEDGE_SANDBOX_IMAGE", "sandbox.image"),
    (
        "SELVEDGE_VERIFICATION_RERUN_FAILED",
        "verification.rerun_failed",
    ),
    ("SELVEDGE_VERIFICATION_SYNTAX", "verification.syntax"),
    (
        "SELVEDGE_VERIFICATION_FAIL_ON_UNRESOLVED_WRITE_ERRORS",
        "verification.fail_on_unresolved_write_errors",
    ),
    (
        "SELVEDGE_VERIFICATION_MACHINE_CHECKS",
        "verification.machine_checks",
    ),
];

impl ConfigLayer {
    /// Creates a layer from environment variables; an empty variable counts as not set. Warns about a name that is
    /// similar to one of ours; other names are ignored.
    pub fn environment(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut layer = Self::from(ConfigNode::empty(&Arc::new(ConfigSource::Environment(
            VARIABLE_PREFIX.to_owned(),
        ))));
        for (name, text) in variables {
            let is_other = OTHER_VARIABLES.contains(&&*name)
                || SERVER_PREFIXES.iter().any(|it| name.starts_with(it));
            if text.is_empty() || is_other || !name.starts_with(VARIABLE_PREFIX) {
                continue;
            }
            let source = Arc::new(ConfigSource::Environment(name.clone()));
            if let Some((_, key)) = VARIABLES.iter().find(|(variable, _)| *variable == name) {
                let value = ConfigValue::Scalar(parse_scalar(&text));
                layer
                    .tree
                    .set(&SettingKey::dotted(key), ConfigNode::new(&source, value));
            } else if let Some(hint) = suggest_variables(&name) {
                let warning =
                    Diagnostic::new(SourceSpan::whole(&source), "unknown setting, ignored");
                layer.warnings.push(warning.hint(hint));
            }
        }
        layer
    }
}

/// Variables contain only text: text that looks like a number or a boolean is parsed as one.
fn parse_scalar(text: &str) -> toml::Value {
    let integer = text.parse().map(toml::Value::Integer).ok();
    integer
        .or_else(|| text.parse().map(toml::Value::Float).ok())
        .or_else(|| text.parse().map(toml::Value::Boolean).ok())
        .unwrap_or_else(|| toml::Value::String(text.to_owned()))
}

/// Names the variables that may be meant: the one with the most similar name, or those of the settings whose table is
/// missing in the name. Only the part after the common prefix is compared, as the prefix makes any two of our names
/// similar.
fn suggest_variables(name: &str) -> Option<String> {
    let word = name.strip_prefix(VARIABLE_PREFIX)?;
    let words = || {
        let names = VARIABLES.iter();
        names.filter_map(|(name, _)| name.strip_prefix(VARIABLE_PREFIX))
    };
    let is_of_setting = |candidate: &&str| {
        let without_table = candidate.split_once('_').map(|(_, setting)| setting);
        without_table.is_some_and(|setting| strsim::levenshtein(word, setting) <= MAX_TYPOS)
    };
    let meant: Vec<&str> = match nearest(word, words()) {
        Some(near) => vec![near],
        None => words().filter(is_of_setting).collect(),
    };
    let meant: Vec<String> = meant
        .iter()
        .map(|word| format!("`{VARIABLE_PREFIX}{word}`"))
        .collect();
    (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")))
}
