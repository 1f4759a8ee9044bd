//! What an agent's processes see of our own environment: an allow-list, and nothing else.
//!
//! An agent runs the project's builds and tests, so it needs what they need: where programs and
//! toolchains are, the locale, proxies and certificates. It must not see what belongs to other
//! programs: cloud and registry credentials, agent sockets, database passwords. Of credentials it
//! gets its own; `env_from` names what else the user wants it to have.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};

use selvedge_core::model::{AgentKind, AgentSpec};

use super::SessionRequest;

/// Environment variables by name.
pub type Environment = BTreeMap<OsString, OsString>;

/// What every process gets. A `*` at the end stands for the rest of a name.
const EVERYONE: &[&str] = &[
    // Who and where.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    // How text is read and shown.
    "LANG",
    "LANGUAGE",
    "LC_*",
    "TZ",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "CI",
    // The way to the network.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
    "CARGO_HTTP_CAINFO",
    "PIP_CERT",
    // Who commits.
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    // Where toolchains are and keep their caches.
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "PKG_CONFIG_PATH",
    "CC",
    "CXX",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_JOBS",
    "RUSTUP_*",
    "RUSTFLAGS",
    "GOPATH",
    "GOROOT",
    "GOBIN",
    "GOCACHE",
    "GOMODCACHE",
    "GOPROXY",
    "GOFLAGS",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "JDK_HOME",
    "M2_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "GRADLE_USER_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "NODE_PATH",
    "NPM_CONFIG_PREFIX",
    "NPM_CONFIG_CACHE",
    "PNPM_HOME",
    "VOLTA_HOME",
    "FNM_*",
    "BUN_INSTALL",
    "DENO_DIR",
    "COREPACK_HOME",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "CONDA_DEFAULT_ENV",
    "PYENV_ROOT",
    "PYENV_VERSION",
    "PYTHONPATH",
    "POETRY_HOME",
    "UV_CACHE_DIR",
    "UV_PYTHON",
    "PIP_CACHE_DIR",
    "RBENV_ROOT",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_PATH",
    "COMPOSER_HOME",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "DOTNET_ROOT",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "MISE_*",
    "HOMEBREW_PREFIX",
    "NIX_PATH",
    "NIX_PROFILES",
    "NIX_SSL_CERT_FILE",
];

/// Claude Code's credentials and settings.
const CLAUDE: &[&str] = &[
    "ANTHROPIC_*",
    "CLAUDE_*",
    "DISABLE_*",
    "OTEL_*",
    "MCP_*",
    "BASH_*_TIMEOUT_MS",
    "BASH_DEFAULT_TIMEOUT_MS",
    "BASH_MAX_TIMEOUT_MS",
    "BASH_MAX_OUTPUT_LENGTH",
    "MAX_THINKING_TOKENS",
    "MAX_MCP_OUTPUT_TOKENS",
    "API_TIMEOUT_MS",
    "USE_BUILTIN_RIPGREP",
    "IS_SANDBOX",
];

/// With these set, Claude Code speaks to a cloud's models with that cloud's credentials.
const CLAUDE_ON_BEDROCK: &str = "CLAUDE_CODE_USE_BEDROCK";
const BEDROCK: &[&str] = &["AWS_*"];
const CLAUDE_ON_VERTEX: &str = "CLAUDE_CODE_USE_VERTEX";
const VERTEX: &[&str] = &["GOOGLE_*", "GCLOUD_PROJECT", "CLOUD_ML_REGION", "VERTEX_*"];

/// What a Claude Code that started us left behind for its own children: in a session of ours it
/// would make the agent believe that it runs inside another.
const NOT_FOR_CLAUDE: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_PROJECT_DIR",
    "CLAUDE_ENV_FILE",
];

/// Credentials and settings of the agents that are usually run as a plain command. Which of them a
/// program needs cannot be known from here.
const COMMAND: &[&str] = &[
    "ANTHROPIC_*",
    "OPENAI_*",
    "AZURE_OPENAI_*",
    "GEMINI_*",
    "GOOGLE_API_KEY",
    "GOOGLE_CLOUD_*",
    "GOOGLE_GENAI_*",
    "MISTRAL_*",
    "OPENROUTER_*",
    "GROQ_*",
    "DEEPSEEK_*",
    "XAI_*",
    "MOONSHOT_*",
    "DASHSCOPE_*",
    "TOGETHER_*",
    "FIREWORKS_*",
    "CEREBRAS_*",
    "COHERE_*",
    "OLLAMA_*",
    "LM_STUDIO_*",
    "LITELLM_*",
    "LLM_*",
    "AIDER_*",
    "CODEX_*",
    "QWEN_*",
    "OPENCODE_*",
    "GOOSE_*",
    "CURSOR_*",
    "AMP_*",
    "FACTORY_*",
    "COPILOT_*",
    "MSWEA_*",
];

/// The environment of an agent's program, but for the session's mark, which the supervisor sets.
///
/// `ours` is our own environment. In rising order of precedence: what the allow-list lets through,
/// the agent's `env`, its `env_from`.
pub fn for_agent(agent: &AgentSpec, ours: &Environment) -> Environment {
    let passes = |name: &OsStr| is_allowed(agent.kind, ours, name);
    let mut environment: Environment = ours
        .iter()
        .filter(|(name, _)| passes(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    environment.extend(
        agent
            .env
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    for (seen, source) in &agent.env_from {
        if let Some(value) = ours.get(OsStr::new(source)) {
            environment.insert(seen.into(), value.clone());
        }
    }
    environment
}

/// Adds what tells a program which attempt of which run it works on.
pub(super) fn with_run(mut environment: Environment, request: &SessionRequest) -> Environment {
    // A session's mark is `<run>.<run_number>`.
    let run = request
        .tag
        .rsplit_once('.')
        .map_or(request.tag.as_str(), |(run, _)| run);
    environment.insert("SELVEDGE_RUN_ID".into(), run.into());
    environment.insert(
        "SELVEDGE_RUN_NUMBER".into(),
        request.run_number.to_string().into(),
    );
    environment
}

/// Our own environment as it is now.
pub fn ours() -> Environment {
    std::env::vars_os().collect()
}

fn is_allowed(kind: AgentKind, ours: &Environment, name: &OsStr) -> bool {
    // A name that is not UTF-8 is on no list.
    let Some(name) = name.to_str() else {
        return false;
    };
    let is_set = |switch: &str| {
        ours.get(OsStr::new(switch))
            .is_some_and(|value| !value.is_empty())
    };
    let among = |patterns: &[&str]| patterns.iter().any(|pattern| matches(pattern, name));
    if among(EVERYONE) {
        return true;
    }
    match kind {
        AgentKind::Claude => {
            !among(NOT_FOR_CLAUDE)
                && (among(CLAUDE)
                    || (is_set(CLAUDE_ON_BEDROCK) && among(BEDROCK))
                    || (is_set(CLAUDE_ON_VERTEX) && among(VERTEX)))
        }
        AgentKind::Command => {
            among(COMMAND) || (!among(NOT_FOR_CLAUDE) && matches("CLAUDE_*", name))
        }
        // The model's commands and the task's own: they speak to no model.
        AgentKind::Ollama | AgentKind::Shell => false,
    }
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => name.starts_with(head),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(names: &[&str]) -> Environment {
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
        }
    }

    #[track_caller]
    fn check(kind: AgentKind, ours: &[&str], expect: &[&str]) {
        let seen = for_agent(&agent(kind), &environment(ours));
        assert_eq!(seen, environment(expect));
    }

    #[test]
    fn everyone_gets_the_toolchain_and_nobody_gets_other_programs_secrets() {
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
    fn an_agent_gets_its_own_credential_only() {
        let ours = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OLLAMA_HOST"];
        check(AgentKind::Claude, &ours, &["ANTHROPIC_API_KEY"]);
        check(AgentKind::Command, &ours, &ours);
        check(AgentKind::Ollama, &ours, &[]);
        check(AgentKind::Shell, &ours, &[]);
    }

    #[test]
    fn claude_on_a_cloud_gets_that_clouds_credentials() {
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
    fn an_agent_does_not_learn_that_it_was_started_from_inside_another() {
        let ours = ["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CONFIG_DIR"];
        check(AgentKind::Claude, &ours, &["CLAUDE_CONFIG_DIR"]);
        check(AgentKind::Command, &ours, &["CLAUDE_CONFIG_DIR"]);
    }

    #[test]
    fn what_the_user_names_outranks_the_list() {
        let mut agent = agent(AgentKind::Shell);
        agent.env.insert("PATH".into(), "/opt/bin".into());
        agent.env.insert("KEY".into(), "from env".into());
        agent.env_from.insert("KEY".into(), "MY_KEY".into());
        agent.env_from.insert("GONE".into(), "NOT_SET".into());
        let seen = for_agent(&agent, &environment(&["PATH", "MY_KEY"]));
        let expect = [("PATH", "/opt/bin"), ("KEY", "1")];
        assert_eq!(
            seen,
            expect
                .map(|(name, value)| (name.into(), value.into()))
                .into()
        );
    }
}
