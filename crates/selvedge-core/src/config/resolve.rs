//! Resolves layers to effective values.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::agent;
use super::check::CheckTable;
use super::diagnostic::{ConfigError, Diagnostic};
use super::key::SettingKey;
use super::layer::ConfigLayer;
use super::sandbox_keys::check_sandbox_keys;
use super::schema::Config;
use super::source::Origin;
use super::suggest;
use super::tree::{ConfigNode, ConfigValue};
use crate::guard::{Globs, Protection};
use crate::model::{
    AgentSpec, BaselineMode, BetweenAttempts, Budget, ContainerSpec, EnvironmentSpec,
    KnownFailures, OnExhausted, ProtectionRule, SandboxSpec, SessionLimits, SetupSpec, Step,
    SyntaxRules, UsageLimitPolicy, VoteStrategy,
};
use crate::price::is_same;

/// The effective values. Whether the agent named in `agent` exists is checked separately
/// ([`ResolvedConfig::find_agent`]), because a task can name a different one.
#[derive(Debug, Clone)]
pub struct ResolvedConfig {
    /// The agent's name.
    pub agent: String,
    /// Agents for successive attempts, unless a task names an agent.
    pub escalate: Vec<String>,
    /// Every agent by name, complete.
    pub agents: BTreeMap<String, AgentSpec>,
    /// The checks.
    pub checks: Vec<Step>,
    /// Attempts beyond the first, 0 to 5.
    pub max_verification_retries: u32,
    /// Time limit of each verification, in milliseconds; every verification starts with the full time.
    pub verification_timeout_ms: u64,
    /// Verification tier, 1 to 3.
    pub verification_tier: u8,
    /// Names of the agents that judge in tiers 2 and 3; empty for the default.
    pub judges: Vec<String>,
    /// Number of votes in tier 3.
    pub votes: u32,
    /// Minimum confidence, 0 to 1, with which work counts as passed.
    pub confidence_floor: f64,
    /// Who votes in tier 3.
    pub vote_strategy: VoteStrategy,
    /// Whether tier 2 (one judge) is enabled.
    pub tier2_enabled: bool,
    /// Whether tier 3 (several judges) is enabled.
    pub tier3_enabled: bool,
    /// Whether the checks are run once before the agent begins.
    pub baseline: BaselineMode,
    /// Tests that may fail.
    pub known_failures: KnownFailures,
    /// A file that lists more known failures.
    pub known_failures_file: Option<PathBuf>,
    /// Whether a failed check is run again, to distinguish flaky checks from failures.
    pub rerun_failed: bool,
    /// Syntax rules for files that an attempt changed; `None` disables the check.
    pub syntax: Option<SyntaxRules>,
    /// Whether an unresolved write error of the agent fails the attempt.
    pub fail_on_unresolved_write_errors: bool,
    /// Limits for each session.
    pub limits: SessionLimits,
    /// Reaction when the usage limit of an agent's subscription is reached.
    pub usage_limit: UsageLimitPolicy,
    /// Caps for the whole run.
    pub budget: Budget,
    /// Whether an agent that does not report what a budget needs is an error instead of a warning.
    pub require_cost_reporting: bool,
    /// Whether snapshots are taken, if there is a git repository.
    pub snapshots: bool,
    /// Whether changes are kept or rolled back between attempts.
    pub between_attempts: BetweenAttempts,
    /// Which tree remains in the workspace when the retries are exhausted.
    pub on_exhausted: OnExhausted,
    /// Protected files in addition to the built-in defaults.
    pub protect: Vec<ProtectionRule>,
    /// Globs of protected files that may be changed.
    pub allow: Vec<String>,
    /// Sandbox of sessions and checks.
    pub sandbox: SandboxSpec,
    /// Which variables of our own environment checks see, and which of them are secret, in addition to the defaults.
    pub environment: EnvironmentSpec,
    /// Commands that install dependencies and reset state for checks.
    pub setup: SetupSpec,
    /// Ignored keys, with suggestions.
    pub warnings: Vec<Diagnostic>,
    pub(super) tree: ConfigNode,
}

/// Merges the layers over the built-in defaults, lowest first. Each layer is validated separately, so that an error in
/// a lower layer is reported even if a higher layer overrides the value.
pub fn resolve(
    layers: impl IntoIterator<Item = ConfigLayer>,
) -> Result<ResolvedConfig, ConfigError> {
    let ConfigLayer {
        mut tree,
        mut warnings,
    } = ConfigLayer::built_in()?;
    let mut config = parse_config(&mut tree, &mut warnings)?;
    for layer in layers {
        check_repository_rights(&layer.tree).map_err(|error| error.with_warnings(&warnings))?;
        warnings.extend(layer.warnings);
        tree = tree.overlay(layer.tree);
        config = parse_config(&mut tree, &mut warnings)?;
    }
    let earlier = warnings.clone();
    ResolvedConfig::new(config, tree, warnings).map_err(|error| error.with_warnings(&earlier))
}

/// Reads the tree as a [`Config`]. Warns about each unknown key once and removes it.
fn parse_config(
    tree: &mut ConfigNode,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Config, ConfigError> {
    let mut unknown = Vec::new();
    let mut track = serde_path_to_error::Track::new();
    let read = {
        let value = tree.to_toml();
        let tracked = serde_path_to_error::Deserializer::new(value, &mut track);
        let mut note = |path: serde_ignored::Path<'_>| unknown.push(SettingKey::from(&path));
        Config::deserialize(serde_ignored::Deserializer::new(tracked, &mut note))
    };
    let place = |key: &SettingKey| tree.nearest(key).key_span.clone();
    let mut unknown: Vec<_> = unknown.into_iter().map(|key| (place(&key), key)).collect();
    unknown.sort_by_key(|(place, _)| place.span.start);
    for (place, key) in unknown {
        let warning = Diagnostic::new(place, &format!("unknown key `{key}`, ignored"));
        warnings.push(Diagnostic {
            hint: suggest::suggest_key(&key),
            ..warning
        });
        tree.remove(&key);
    }
    read.map_err(|error: toml::de::Error| {
        let key = SettingKey::from(&track.path());
        let place = tree.nearest(&key).span.clone();
        let error = Diagnostic::new(place, &to_toml_terms(error.message()));
        ConfigError::from(error).with_warnings(warnings)
    })
}

/// Translates serde's messages, which use Rust's types, to the terms of TOML.
fn to_toml_terms(message: &str) -> String {
    const TOML_TERMS: [(&str, &str); 8] = [
        ("unknown variant", "unknown value"),
        ("invalid type: map", "invalid type: a table"),
        ("invalid type: sequence", "invalid type: a list"),
        ("invalid type: string", "invalid type: text"),
        ("expected a string", "expected text"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected a table"),
        ("expected f64", "expected a number"),
    ];
    TOML_TERMS
        .iter()
        .fold(message.to_owned(), |message, (rust, toml)| {
            message.replace(rust, toml)
        })
}

/// Whether a repository's file sets the server that an agent connects to, directly or through the agent that completes
/// it.
fn has_repository_server(tree: &ConfigNode, agent: &AgentSpec) -> bool {
    [agent.name.as_str(), agent.kind.name()].iter().any(|name| {
        let key = SettingKey::dotted("agents").name(name).name("base_url");
        let setting = tree.at(&key);
        setting.is_some_and(|node| node.span.source.is_repository())
    })
}

/// Restricts the files of repositories: their authors are not trusted. They may define agents (which are shown before
/// they run), but only the user decides which part of the user's environment these see.
fn check_repository_rights(layer: &ConfigNode) -> Result<(), ConfigError> {
    check_sandbox_keys(layer)?;
    check_environment_keys(layer)?;
    check_machine_keys(layer)?;
    let Some(ConfigValue::Table(agents)) = layer
        .at(&SettingKey::dotted("agents"))
        .map(|node| &node.value)
    else {
        return Ok(());
    };
    for (name, agent) in agents {
        let Some(ConfigValue::Table(env)) =
            agent.at(&SettingKey::dotted("env")).map(|node| &node.value)
        else {
            continue;
        };
        let from = env
            .values()
            .find_map(|value| value.at(&SettingKey::dotted("from")));
        if let Some(from) = from.filter(|from| from.span.source.is_repository()) {
            let message = "a repository's configuration must not read your environment";
            let hint =
                format!("set [agents.{name}.env] in your own ~/.config/selvedge/config.toml");
            return Err(Diagnostic::new(from.key_span.clone(), message)
                .hint(hint)
                .into());
        }
    }
    Ok(())
}

/// Rejects environment settings in a repository's file: only the user decides who sees the user's environment.
fn check_environment_keys(layer: &ConfigNode) -> Result<(), ConfigError> {
    let node = layer.at(&SettingKey::dotted("environment"));
    let Some(ConfigValue::Table(keys)) = node.map(|node| &node.value) else {
        return Ok(());
    };
    let foreign = keys.iter().find(|(name, node)| {
        node.span.source.is_repository() && ["checks", "secrets"].contains(&name.as_str())
    });
    let Some((name, node)) = foreign else {
        return Ok(());
    };
    let message = format!("a repository's configuration must not set `environment.{name}`");
    let hint = "set it in your own ~/.config/selvedge/config.toml, or use --check-env";
    Err(Diagnostic::new(node.key_span.clone(), &message)
        .hint(hint)
        .into())
}

/// Rejects limits of the machine in a repository's file: they concern the runs of other repositories, too.
fn check_machine_keys(layer: &ConfigNode) -> Result<(), ConfigError> {
    let key = SettingKey::dotted("verification.machine_checks");
    let set = layer.at(&key);
    let Some(node) = set.filter(|node| node.span.source.is_repository()) else {
        return Ok(());
    };
    let message = format!("a repository's configuration must not set `{key}`");
    let hint = "set it in your own ~/.config/selvedge/config.toml";
    Err(Diagnostic::new(node.key_span.clone(), &message)
        .hint(hint)
        .into())
}

/// Rejects two checks with the same name: reports could not distinguish them.
fn reject_duplicate_names(checks: &[CheckTable], tree: &ConfigNode) -> Result<(), ConfigError> {
    let mut first_by_name: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, check) in checks.iter().enumerate() {
        let Some(name) = check.name.as_deref() else {
            continue;
        };
        if let Some(first) = first_by_name.insert(name, index) {
            let place = |index| {
                let table = SettingKey::dotted("checks").index(index);
                &tree.nearest(&table.name("name")).span
            };
            let message = format!("two checks have the name {name:?}");
            let hint = format!(
                "the other one is at {}; give each check its own name",
                place(first)
            );
            let error = Diagnostic::new(place(index).clone(), &message);
            return Err(error.hint(hint).into());
        }
    }
    Ok(())
}

impl ResolvedConfig {
    fn new(
        config: Config,
        tree: ConfigNode,
        warnings: Vec<Diagnostic>,
    ) -> Result<Self, ConfigError> {
        let complain = |table: &SettingKey, key: &str, message: &str| {
            let key = if key.is_empty() {
                table.clone()
            } else {
                table.name(key)
            };
            ConfigError::from(Diagnostic::new(tree.nearest(&key).span.clone(), message))
        };
        let mut agents =
            agent::resolve_agents(&config.agents).map_err(|(name, (key, message))| {
                complain(&SettingKey::dotted("agents").name(&name), key, &message)
            })?;
        let prices = &config.prices;
        for agent in agents.values_mut() {
            agent.server_by_repository = has_repository_server(&tree, agent);
            let model = agent.model.as_deref().unwrap_or_default();
            let own = prices.iter().find(|(name, _)| is_same(name, model));
            agent.price = own.map(|(_, price)| price.into());
        }
        reject_duplicate_names(&config.checks, &tree)?;
        let mut checks = Vec::new();
        for (index, check) in config.checks.into_iter().enumerate() {
            let step = check.into_step().map_err(|(key, message)| {
                complain(&SettingKey::dotted("checks").index(index), key, &message)
            })?;
            checks.push(step);
        }
        let policy = config.guard.policy;
        let protect: Vec<ProtectionRule> = config
            .guard
            .protect
            .into_iter()
            .map(|glob| ProtectionRule { glob, policy })
            .collect();
        if let Err(bad) = Protection::new(&protect, &config.guard.allow) {
            let table = SettingKey::dotted("guard");
            let in_allow = config.guard.allow.contains(&bad.glob);
            let key = if in_allow { "allow" } else { "protect" };
            return Err(complain(&table, key, &bad.to_string()));
        }
        let except = config.verification.syntax_except;
        if let Err(bad) = Globs::new(&except) {
            let table = SettingKey::dotted("verification");
            return Err(complain(&table, "syntax_except", &bad.to_string()));
        }
        let syntax = config.verification.syntax.then_some(SyntaxRules { except });
        let max_turns = config
            .limits
            .max_turns
            .and_then(|turns| u32::try_from(turns.0).ok());
        Ok(Self {
            agent: config.agent,
            escalate: config.escalate,
            agents,
            checks,
            max_verification_retries: config.verification.max_retries.0,
            verification_timeout_ms: config.verification.timeout.0,
            verification_tier: u8::try_from(config.verification.tier.0).unwrap_or(1),
            judges: config.judging.judges,
            votes: u32::try_from(config.judging.votes.0).unwrap_or(3),
            confidence_floor: config.judging.confidence_floor.0,
            vote_strategy: config.judging.strategy,
            tier2_enabled: config.judging.tier2_enabled,
            tier3_enabled: config.judging.tier3_enabled,
            baseline: config.verification.baseline,
            known_failures: KnownFailures::new(config.verification.known_failures),
            known_failures_file: Some(config.verification.known_failures_file)
                .filter(|file| !file.is_empty())
                .map(PathBuf::from),
            rerun_failed: config.verification.rerun_failed,
            syntax,
            fail_on_unresolved_write_errors: config.verification.fail_on_unresolved_write_errors,
            limits: SessionLimits {
                wall_ms: config.limits.timeout.0,
                idle_timeout_ms: config.limits.idle_timeout.0,
                max_turns,
            },
            usage_limit: UsageLimitPolicy {
                action: config.limits.usage_limit,
                max_wait_ms: config.limits.usage_limit_max_wait.0,
            },
            budget: Budget {
                cost_micro_usd: config.budget.cost_usd.map(|dollars| dollars.0),
                tokens: config.budget.tokens.map(|tokens| tokens.0),
                duration_ms: config.budget.duration.map(|duration| duration.0),
                attempt_cost_micro_usd: config.budget.attempt_cost_usd.map(|dollars| dollars.0),
                attempt_tokens: config.budget.attempt_tokens.map(|tokens| tokens.0),
            },
            require_cost_reporting: config.budget.require_cost_reporting,
            snapshots: config.workspace.snapshots,
            between_attempts: config.workspace.between_attempts,
            on_exhausted: config.workspace.on_exhausted,
            protect,
            allow: config.guard.allow,
            sandbox: SandboxSpec {
                backend: config.sandbox.backend,
                required: config.sandbox.required,
                agents: config.sandbox.agents,
                checks: config.sandbox.checks,
                writable: config.sandbox.writable,
                grants: config.sandbox.grants,
                container: ContainerSpec {
                    image: config.sandbox.image,
                    engine_args: config.sandbox.engine_args,
                    container_args: config.sandbox.container_args,
                },
            },
            environment: EnvironmentSpec {
                checks: config.environment.checks,
                secrets: config.environment.secrets,
                machine_checks: u32::try_from(config.verification.machine_checks.0).unwrap_or(0),
            },
            setup: SetupSpec {
                run: config.setup.run.0,
                reset: config.setup.reset.0,
                files: config.setup.files,
                timeout_ms: config.setup.timeout.0,
                in_clone: false,
            },
            warnings,
            tree,
        })
    }

    /// Finds an agent by name.
    pub fn find_agent(&self, name: &str) -> Option<&AgentSpec> {
        self.agents.get(name)
    }

    /// Returns the origin of a setting, by its dotted path; `None` if it is not set.
    pub fn origin(&self, key: &str) -> Option<Origin> {
        self.tree
            .at(&SettingKey::dotted(key))
            .map(|node| node.key_span.origin())
    }

    /// Everything that a repository's file sets about an agent's program, arguments, environment and server, directly
    /// or through the agent that completes it. It is shown before the agent runs, so that none of it takes effect
    /// unnoticed.
    pub fn set_by_repository(&self, agent: &str) -> Vec<Diagnostic> {
        const SHOWN: [&str; 5] = ["kind", "program", "args", "base_url", "env"];
        let completes_it = self.agents.get(agent).map(|spec| spec.kind.name());
        let agents = [Some(agent), completes_it.filter(|name| *name != agent)];
        let mut shown = Vec::new();
        for (agent, name) in agents
            .into_iter()
            .flatten()
            .flat_map(|agent| SHOWN.map(|key| (agent, key)))
        {
            let key = SettingKey::dotted("agents").name(agent).name(name);
            for (key, node) in self
                .tree
                .at(&key)
                .map(|node| node.leaves(&key))
                .unwrap_or_default()
            {
                if node.span.source.is_repository() {
                    let message = format!("this repository sets {key} = {}", node.to_toml());
                    shown.push(Diagnostic::new(node.key_span.clone(), &message));
                }
            }
        }
        shown
    }
}
