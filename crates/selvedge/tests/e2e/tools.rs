//! Settings of compilers and test runners in a hermetic environment: their homes and output folders.

use std::path::{Path, PathBuf};

use selvedge_testkit::{CommandOutput, Invocation, TestEnv};

/// The homes of toolchains, and Go's cache.
pub(crate) fn with_homes(run: Invocation) -> Invocation {
    let homes = [("CARGO_HOME", ".cargo"), ("RUSTUP_HOME", ".rustup")];
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let run = homes.into_iter().fold(run, |run, (name, folder)| {
        let default = home.join(folder).into_os_string();
        run.env(name, std::env::var_os(name).unwrap_or(default))
    });
    // Shared, because compiling Go's standard library takes longer than the tests. The sandbox makes the folder writable
    // for checks if it exists.
    let go_cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
    std::fs::create_dir_all(&go_cache).unwrap();
    run.env_inherit("RUSTUP_TOOLCHAIN")
        .env("GOCACHE", go_cache)
        .env("CARGO_TERM_COLOR", "never")
}

pub(crate) fn with_tools(run: Invocation, env: &TestEnv) -> Invocation {
    // The sandbox makes the folder writable for checks if it exists.
    let target = env.root().join("target");
    std::fs::create_dir_all(&target).unwrap();
    with_homes(run).env("CARGO_TARGET_DIR", target)
}

/// How tools reach their registries: settings in the home, and prefixes of environment variables.
const SETTINGS: [&str; 4] = [
    ".npmrc",
    ".config/pip/pip.conf",
    ".pip/pip.conf",
    ".cargo/config.toml",
];
const VARIABLES: [&str; 12] = [
    "SSL_CERT",
    "NODE_EXTRA_CA",
    "REQUESTS_CA",
    "CURL_CA",
    "PIP_",
    "NPM_CONFIG",
    "npm_config",
    "HTTP",
    "http",
    "NO_PROXY",
    "no_proxy",
    "CARGO_HTTP",
];

/// Copies settings into the environment's home, so that tools reach their registries.
pub(crate) fn with_registries(run: Invocation, env: &TestEnv) -> Invocation {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap();
    for file in SETTINGS {
        if let Ok(text) = std::fs::read(home.join(file)) {
            let copy = env.home().join(file);
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::write(copy, text).unwrap();
        }
    }
    let variables = std::env::vars_os().filter(|(name, _)| {
        name.to_str()
            .is_some_and(|name| VARIABLES.iter().any(|it| name.starts_with(it)))
    });
    variables.fold(run, |run, (name, value)| run.env(name, value))
}

/// Runs a command line outside of Selvedge.
pub(crate) fn shell(env: &TestEnv, command: &str) -> CommandOutput {
    let run = env.command("sh").args(["-c", command]);
    with_tools(run, env).run()
}
