//! The environment variables that an agent's processes get from our own environment: only those on
//! an allow-list.
//!
//! An agent runs the project's builds and tests, so it needs what they need: the paths of programs
//! and toolchains, the locale, proxies and certificates. It must not see other programs' secrets:
//! cloud and registry credentials, agent sockets, database passwords. It gets its own credential;
//! `env_from` names further variables that the user passes on.

use std::ffi::OsStr;

use selvedge_core::model::{AgentKind, AgentSpec, RunId};
use selvedge_core::redact::is_secret_name;
use selvedge_core::trace_context::{RunSpan, TRACEPARENT, TraceContext};

use super::api::is_api_key;
use super::{SessionRequest, SessionRole};
use crate::environment::EnvironmentMap;
pub use crate::environment::host_env;

/// Prefix of variables that only Selvedge itself reads.
const OWN_PREFIX: &str = "SELVEDGE_";

/// The allow-list, with a section for each group of agents.
const ALLOW_LIST: &str = include_str!("env/allowed.txt");

/// The environment of an agent's program, except the session's tag, which the supervisor sets.
///
/// `ours` is our own environment. In increasing order of precedence: allowed variables, the agent's
/// `env`, its `env_from`.
pub fn agent_env(agent: &AgentSpec, ours: &EnvironmentMap) -> EnvironmentMap {
    let allowed = EnvironmentAllowList::for_agent(agent.kind, ours);
    let mut environment: EnvironmentMap = ours
        .iter()
        .filter(|(name, _)| allowed.allows(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.extend(agent_settings(agent, ours));
    if agent.kind == AgentKind::Api {
        // Selvedge itself calls the API; the model's commands do not need the key.
        environment.retain(|name, _| !name.to_str().is_some_and(is_api_key));
    }
    environment
}

/// The environment of a check: the variables that builds and tests usually need, except those named
/// like a secret; and the variables in `shown`, whatever their names. `CI` is set, so that runners
/// do not wait for a person.
pub fn check_env(shown: &[String], ours: &EnvironmentMap) -> EnvironmentMap {
    let allowed = EnvironmentAllowList::for_checks();
    let named = |name: &str| shown.iter().any(|pattern| matches(pattern, name));
    let passes = |name: &OsStr| {
        let text = name.to_str().filter(|name| !name.starts_with(OWN_PREFIX));
        let is_allowed = |name: &str| allowed.allows(OsStr::new(name)) && !is_secret_name(name);
        text.is_some_and(|name| named(name) || is_allowed(name))
    };
    let mut environment: EnvironmentMap = ours
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.entry("CI".into()).or_insert("true".into());
    environment
}

/// The names of our own variables that checks do not get.
pub fn withheld_variables(shown: &[String], ours: &EnvironmentMap) -> Vec<String> {
    let seen = check_env(shown, ours);
    let names = ours.keys().filter(|name| !seen.contains_key(*name));
    let names = names.filter_map(|name| name.to_str());
    let foreign = names.filter(|name| !name.starts_with(OWN_PREFIX));
    foreign.map(str::to_owned).collect()
}

/// The agent's own settings: its `env`, its `env_from`.
pub(super) fn agent_settings(agent: &AgentSpec, ours: &EnvironmentMap) -> EnvironmentMap {
    let configured = agent.env.iter();
    let mut environment: EnvironmentMap = configured
        .map(|(name, value)| (name.into(), value.into()))
        .collect();
    for (seen, source) in &agent.env_from {
        if let Some(value) = ours.get(OsStr::new(source)) {
            environment.insert(seen.into(), value.clone());
        }
    }
    environment
}

/// Adds the variables that identify the run and the attempt.
pub(super) fn with_run_vars(
    mut environment: EnvironmentMap,
    request: &SessionRequest,
) -> EnvironmentMap {
    // The tag of a session is `<run>.<attempt_number>`.
    let run = request
        .tag
        .rsplit_once('.')
        .map_or(request.tag.as_str(), |(run, _)| run);
    environment.insert("SELVEDGE_RUN_ID".into(), run.into());
    environment.insert(
        "SELVEDGE_RUN_NUMBER".into(),
        request.attempt_number.to_string().into(),
    );
    with_trace_context(environment, request)
}

/// Adds the trace context of the session, for programs that export traces of their own.
pub(super) fn with_trace_context(
    mut environment: EnvironmentMap,
    request: &SessionRequest,
) -> EnvironmentMap {
    let run = request.tag.split('.').next().unwrap_or_default();
    if let Ok(run) = run.parse::<RunId>() {
        let ours = host_env();
        let parent = ours.get(OsStr::new(TRACEPARENT)).and_then(|it| it.to_str());
        let span = match request.role {
            SessionRole::Implementer => RunSpan::Session(request.attempt_number),
            SessionRole::Judge => RunSpan::Attempt(request.attempt_number),
        };
        let context = TraceContext::of_run(run, parent).traceparent(span);
        environment.insert(TRACEPARENT.into(), context.into());
    }
    environment
}

/// The names of variables that are passed to an agent of this kind.
struct EnvironmentAllowList {
    allowed: Vec<&'static str>,
    denied: Vec<&'static str>,
}

impl EnvironmentAllowList {
    fn for_agent(kind: AgentKind, ours: &EnvironmentMap) -> Self {
        Self::parse(|section| applies_to(section, kind, ours))
    }

    fn for_checks() -> Self {
        Self::parse(|section| matches!(section, "everyone" | "checks"))
    }

    fn parse(is_meant: impl Fn(&str) -> bool) -> Self {
        let mut allowed = Self {
            allowed: Vec::new(),
            denied: Vec::new(),
        };
        let mut section = "";
        for line in ALLOW_LIST.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line.strip_prefix('[') {
                section = name.trim_end_matches(']');
            } else if section == "nobody" {
                allowed.denied.extend(line.split_whitespace());
            } else if is_meant(section) {
                allowed.allowed.extend(line.split_whitespace());
            }
        }
        allowed
    }

    fn allows(&self, name: &OsStr) -> bool {
        // The list contains only UTF-8 names.
        let Some(name) = name.to_str() else {
            return false;
        };
        let among = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, name));
        among(&self.allowed) && !among(&self.denied)
    }
}

fn applies_to(section: &str, kind: AgentKind, ours: &EnvironmentMap) -> bool {
    let (whom, switch) = match section.split_once(" if ") {
        Some((whom, switch)) => (whom, Some(switch)),
        None => (section, None),
    };
    let is_meant = match kind {
        // The model's commands and the task's own command do not call a model themselves.
        AgentKind::Api | AgentKind::Ollama | AgentKind::Shell => whom == "everyone",
        kind => whom == "everyone" || whom.split_whitespace().any(|name| name == kind.name()),
    };
    let is_set = |name: &str| {
        ours.get(OsStr::new(name))
            .is_some_and(|value| !value.is_empty())
    };
    is_meant && switch.is_none_or(is_set)
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn environment(names: &[&str]) -> EnvironmentMap {
        names.iter().map(|name| (name.into(), "1".into())).collect()
    }

    fn agent(kind: AgentKind) -> AgentSpec {
        AgentSpec {
            name: "x".to_owned(),
            kind,
            program: Vec::new(),
            model: None,
            base_url: None,
            env: BTreeMap::new(),
            env_from: BTreeMap::new(),
            api_retries: 0,
            deterministic: false,
            prompt_as_argument: false,
            server_by_repository: false,
            effort: None,
            max_turns: None,
            price: None,
        }
    }

    #[track_caller]
    fn check(kind: AgentKind, ours: &[&str], expect: &[&str]) {
        let seen = agent_env(&agent(kind), &environment(ours));
        assert_eq!(seen, environment(expect));
    }

    #[test]
    fn env_passes_toolchain_without_secrets() {
        let ours = [
            "PATH",
            "LC_ALL",
            "CARGO_HOME",
            "SSH_AUTH_SOCK",
            "AWS_SECRET_ACCESS_KEY",
            "DATABASE_URL",
            "GITHUB_TOKEN",
            "NPM_TOKEN",
            "STRIPE_API_KEY",
        ];
        for kind in [
            AgentKind::Claude,
            AgentKind::Ollama,
            AgentKind::Command,
            AgentKind::Shell,
        ] {
            check(kind, &ours, &["PATH", "LC_ALL", "CARGO_HOME"]);
        }
    }

    #[test]
    fn env_of_checks_has_only_named_secrets() {
        let ours = [
            "PATH",
            "CARGO_NET_OFFLINE",
            "CARGO_REGISTRY_TOKEN",
            "DATABASE_URL",
            "EDITOR",
            "NODE_ENV",
            "NODE_AUTH_TOKEN",
            "SELVEDGE_TOKEN",
            "npm_config_registry",
            "npm_config__authToken",
        ];
        let shown = ["DATABASE_*".to_owned()];
        let ours = environment(&ours);
        let seen = check_env(&shown, &ours);
        let expect = [
            "PATH",
            "CARGO_NET_OFFLINE",
            "DATABASE_URL",
            "NODE_ENV",
            "npm_config_registry",
        ];
        let mut expect = environment(&expect);
        expect.insert("CI".into(), "true".into());
        assert_eq!(seen, expect);
        assert_eq!(
            withheld_variables(&shown, &ours),
            [
                "CARGO_REGISTRY_TOKEN",
                "EDITOR",
                "NODE_AUTH_TOKEN",
                "npm_config__authToken"
            ]
        );
    }

    #[test]
    fn env_of_agent_has_its_own_credential_only() {
        let ours = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_HOST"];
        check(AgentKind::Claude, &ours, &["ANTHROPIC_API_KEY"]);
        check(AgentKind::Command, &ours, &ours);
        check(AgentKind::Ollama, &ours, &[]);
        check(AgentKind::Shell, &ours, &[]);
    }

    #[test]
    fn env_of_claude_has_cloud_credentials() {
        let aws = [
            "AWS_PROFILE",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CLAUDE_CODE_USE_BEDROCK",
        ];
        check(
            AgentKind::Claude,
            &aws,
            &["AWS_PROFILE", "CLAUDE_CODE_USE_BEDROCK"],
        );
    }

    #[test]
    fn env_of_acp_agent_has_gateways_of_all_programs() {
        let ours = [
            "ANTHROPIC_BASE_URL",
            "API_TIMEOUT_MS",
            "AWS_PROFILE",
            "GOOGLE_GEMINI_BASE_URL",
            "INITIAL_AGENT_MODE",
            "MODEL_PROVIDER",
            "OPENAI_BASE_URL",
        ];
        let expect: Vec<_> = ours
            .into_iter()
            .filter(|name| *name != "AWS_PROFILE")
            .collect();
        check(AgentKind::Acp, &ours, &expect);
    }

    #[test]
    fn env_hides_outer_agent() {
        let ours = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CONFIG_DIR"];
        check(AgentKind::Claude, &ours, &["CLAUDE_CONFIG_DIR"]);
        check(AgentKind::Command, &ours, &["CLAUDE_CONFIG_DIR"]);
    }

    #[test]
    fn env_hides_credentials_of_the_collector() {
        let ours = [
            "OTEL_EXPORTER_OTLP_ENDPOINT",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
        ];
        check(AgentKind::Claude, &ours, &ours[..1]);
        check(AgentKind::Acp, &ours, &ours[..1]);
    }

    #[test]
    fn env_prefers_named_variables() {
        let mut agent = agent(AgentKind::Shell);
        agent.env.insert("PATH".into(), "/opt/bin".into());
        agent.env.insert("KEY".into(), "from env".into());
        agent.env_from.insert("KEY".into(), "MY_KEY".into());
        agent.env_from.insert("GONE".into(), "NOT_SET".into());
        let seen = agent_env(&agent, &environment(&["PATH", "MY_KEY"]));
        let expect = [("PATH", "/opt/bin"), ("KEY", "1")];
        assert_eq!(
            seen,
            expect
                .map(|(name, value)| (name.into(), value.into()))
                .into()
        );
    }
}
