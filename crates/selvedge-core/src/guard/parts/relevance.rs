//! What a setting means for the checks, for each family of configuration files. The rule for what
//! is not listed: in a manifest (`Cargo.toml`, `package.json`, `pyproject.toml`) it is free, in a
//! file that only configures checks it is watched.

use super::super::pattern::Pattern;
use super::settings::Weight;

/// Options of pytest that run fewer tests, load code, or none at all.
static PYTEST_SWITCHES: Pattern = Pattern::new(concat!(
    r"--co\b|--collect-?only|--setup-(?:only|plan)|--ignore|--deselect|--last-failed|--lf\b",
    r"|--noconftest|--stepwise|--confcutdir|--pyargs|--runxfail|--fixtures|--version|--help",
    r"|--exitfirst-ok|--suppress|--continue-on-collection-errors|--pdbcls|--assert=plain",
    r"|(?:^|[\s\x22'\[,])-(?:k|m|p|c|h|V)(?:[\s\x22'=]|\w)",
));
static LINT_SWITCHES: Pattern = Pattern::new(concat!(
    r"(?i)^(?:.*[.\[])?(?:(?:extend-)?(?:ignore|exclude|per-file-ignores|unfixable|disable|omit)",
    r"|(?:extend-)?per-file-ignores\..*|ignore_?errors|ignore_?missing_?imports|exit-zero",
    r"|exclude_(?:lines|also)|follow_imports|skip|ignorePatterns|ignores|exit_zero)$",
));
static OFF: Pattern = Pattern::new(r#"(?i)^(?:off|0|false|"?allow"?|\[\s*(?:"off"|0)\b.*)$"#);

/// Sections and keys of `pytest`, by their last part.
fn pytest(key: &str, value: &str) -> Weight {
    let option = key.rsplit('.').next().unwrap_or(key);
    match option {
        "markers"
        | "minversion"
        | "console_output_style"
        | "cache_dir"
        | "required_plugins"
        | "pythonpath"
        | "junit_family"
        | "junit_suite_name" => Weight::Free,
        _ if option.starts_with("log_") => Weight::Free,
        "xfail_strict" | "strict" | "strict_markers" | "strict_config" if value == "true" => {
            Weight::Stricter
        }
        "addopts" if PYTEST_SWITCHES.is_match(value) => Weight::Switch,
        "collect_ignore" | "usefixtures" | "python_files" | "python_functions"
        | "python_classes" => Weight::Switch,
        _ => Weight::Watched,
    }
}

/// pytest, tox, coverage and the linters in `setup.cfg`, `tox.ini` and their own files.
pub(super) fn python_ini(key: &str, value: &str) -> Weight {
    let (section, option) = key.split_once('.').unwrap_or((key, ""));
    match section {
        "pytest" | "tool:pytest" => pytest(key, value),
        "metadata" | "options" | "egg_info" | "bdist_wheel" | "aliases" | "build_ext"
        | "bumpversion" => Weight::Free,
        _ if section.starts_with("options.") => Weight::Free,
        _ if section == "tox" || section.starts_with("testenv") => match option {
            "deps"
            | "envlist"
            | "env_list"
            | "basepython"
            | "base_python"
            | "description"
            | "extras"
            | "skip_missing_interpreters"
            | "isolated_build"
            | "requires"
            | "minversion"
            | "passenv" => Weight::Free,
            "ignore_outcome" | "ignore_errors" => Weight::Switch,
            _ => Weight::Watched,
        },
        _ => tool(key, value),
    }
}

/// `pytest.toml`: its one table.
pub(super) fn pytest_toml(key: &str, value: &str) -> Weight {
    if key.starts_with("pytest.") {
        pytest(key, value)
    } else {
        Weight::Free
    }
}

/// `pyproject.toml`: only what its tools say of tests, coverage, lints and types.
pub(super) fn pyproject(key: &str, value: &str) -> Weight {
    let Some(rest) = key.strip_prefix("tool.") else {
        return Weight::Free;
    };
    let name = rest.split('.').next().unwrap_or(rest);
    match name {
        "pytest" => pytest(key, value),
        "coverage" | "ruff" | "mypy" | "pyright" | "pylint" | "flake8" | "black" | "isort"
        | "bandit" | "tox" | "nox" | "hatch" | "pdm" | "poe" | "taskipy"
            if !is_packaging(name, rest) =>
        {
            tool(key, value)
        }
        _ => Weight::Free,
    }
}

/// Parts of a packaging tool's table that say nothing of checks.
fn is_packaging(name: &str, rest: &str) -> bool {
    matches!(name, "hatch" | "pdm") && !rest.contains("scripts")
}

/// A file that only configures a check.
pub(super) fn tool(key: &str, value: &str) -> Weight {
    let option = key.rsplit('.').next().unwrap_or(key);
    match option {
        "$schema" | "description" => Weight::Free,
        "module" if key.starts_with("tool.mypy.") => Weight::Free,
        "fail_under" | "strict" | "branch" | "warn_unused_ignores" | "checkJs"
            if value != "false" && value != "0" && option != "fail_under" =>
        {
            Weight::Stricter
        }
        "default-filter"
        | "retries"
        | "no-tests"
        | "run-wrapper"
        | "passWithNoTests"
        | "testPathIgnorePatterns"
        | "testMatch"
        | "testRegex"
        | "runner"
        | "testRunner"
        | "forbidOnly"
        | "reporters" => Weight::Switch,
        _ if LINT_SWITCHES.is_match(key) => Weight::Switch,
        _ if key.contains("rules") && OFF.is_match(value) => Weight::Switch,
        _ => Weight::Watched,
    }
}

/// `Cargo.toml`: lints, and which targets are tests.
pub(super) fn cargo_manifest(key: &str, value: &str) -> Weight {
    let is_test_target = key.starts_with("test.[") || key.starts_with("lib.");
    let option = key.rsplit('.').next().unwrap_or(key);
    match key {
        "package.autotests" | "package.autolib" | "package.autodoctests" if value == "false" => {
            Weight::Switch
        }
        "lints.workspace" => Weight::Stricter,
        _ if is_test_target => match (option, value) {
            ("test" | "harness" | "doctest", "false") => Weight::Switch,
            ("path" | "required-features", _) if key.starts_with("test.[") => Weight::Watched,
            _ => Weight::Free,
        },
        _ if key.starts_with("lints.") || key.starts_with("workspace.lints.") => {
            let level = if option == "level" || option == "priority" {
                option
            } else {
                "level"
            };
            match (level, value) {
                ("level", "allow") => Weight::Switch,
                ("level", "deny" | "forbid") => Weight::Stricter,
                _ => Weight::Watched,
            }
        }
        _ if key.starts_with("profile.") => match option {
            "debug-assertions" | "overflow-checks" if value == "false" => Weight::Switch,
            "debug-assertions" | "overflow-checks" => Weight::Stricter,
            _ => Weight::Free,
        },
        _ if key.starts_with("patch.") || key.starts_with("replace.") => Weight::Watched,
        _ => Weight::Free,
    }
}

/// Cargo's configuration: what stands between cargo and the tests.
pub(super) fn cargo_config(key: &str, value: &str) -> Weight {
    static WEAKENS: Pattern =
        Pattern::new(r"--cap-lints|-A\b|--allow|--cfg|overflow-checks|debug-assertions");
    /// Names that a check may well call.
    const CALLED: [&str; 9] = [
        "b", "c", "t", "r", "clippy", "fmt", "nextest", "hack", "llvm-cov",
    ];
    let option = key.rsplit('.').next().unwrap_or(key);
    match option {
        "runner"
        | "rustc"
        | "rustc-wrapper"
        | "rustc-workspace-wrapper"
        | "rustdoc"
        | "include"
        | "debug-assertions"
        | "overflow-checks" => Weight::Switch,
        "rustflags" | "rustdocflags" if WEAKENS.is_match(value) => Weight::Switch,
        "rustflags" | "rustdocflags" => Weight::Watched,
        _ if key.starts_with("alias.") && CALLED.contains(&option) => Weight::Switch,
        _ if key.starts_with("alias.") => Weight::Fixed,
        _ if ["env.", "patch.", "source."]
            .iter()
            .any(|table| key.starts_with(table)) =>
        {
            Weight::Switch
        }
        _ if key == "build.target" => Weight::Watched,
        _ => Weight::Free,
    }
}

/// Programs that are themselves the checks: a copy from elsewhere is another check.
const NODE_RUNNERS: [&str; 14] = [
    "jest",
    "vitest",
    "mocha",
    "ava",
    "tap",
    "karma",
    "playwright",
    "@playwright/test",
    "cypress",
    "eslint",
    "typescript",
    "prettier",
    "@biomejs/biome",
    "c8",
];

/// `package.json`: its scripts and its runners' tables.
pub(super) fn package_json(key: &str, value: &str) -> Weight {
    let (table, rest) = key.split_once('.').unwrap_or((key, ""));
    match table {
        "scripts" => script(rest, value),
        "jest" | "vitest" | "mocha" | "ava" | "c8" | "nyc" | "tap" | "eslintConfig"
        | "prettier" | "eslintIgnore" | "stylelint" | "lint-staged" => node_tool(key, value),
        "dependencies" | "devDependencies" | "overrides" | "resolutions" | "pnpm" => {
            let elsewhere = [
                "file:", "link:", "portal:", "npm:", "git", "http", "./", "../",
            ];
            let name = rest.trim_start_matches("overrides.");
            if NODE_RUNNERS.contains(&name) && elsewhere.iter().any(|from| value.starts_with(from))
            {
                Weight::Switch
            } else {
                Weight::Free
            }
        }
        _ => Weight::Free,
    }
}

fn node_tool(key: &str, value: &str) -> Weight {
    match key.rsplit('.').next().unwrap_or(key) {
        "testTimeout" | "verbose" | "displayName" | "preset" | "testEnvironment" => Weight::Watched,
        "setupFiles"
        | "setupFilesAfterEnv"
        | "require"
        | "globalSetup"
        | "globalTeardown"
        | "modulePathIgnorePatterns"
        | "collectCoverageFrom" => Weight::Switch,
        _ => tool(key, value),
    }
}

/// A new script is fine, unless npm would run it around one that checks.
fn script(name: &str, value: &str) -> Weight {
    const CHECKS: [&str; 6] = ["test", "check", "lint", "verify", "ci", "typecheck"];
    let around = name
        .strip_prefix("pre")
        .or_else(|| name.strip_prefix("post"));
    if around.is_some_and(|name| CHECKS.contains(&name)) {
        return Weight::Switch;
    }
    if super::steps::IGNORES_FAILURE.is_match(value) && CHECKS.contains(&name) {
        return Weight::Switch;
    }
    Weight::Fixed
}

/// `tsconfig.json`: how strictly, and what at all, is compiled.
pub(super) fn tsconfig(key: &str, value: &str) -> Weight {
    let option = key.rsplit('.').next().unwrap_or(key);
    let strict = option.starts_with("strict")
        || option.starts_with("no")
        || option == "checkJs"
        || option.starts_with("exact")
        || option == "useUnknownInCatchVariables"
        || option == "forceConsistentCasingInFileNames"
        || option == "isolatedModules";
    match option {
        "noEmit" | "noLib" | "noResolve" => Weight::Free,
        "skipLibCheck" | "skipDefaultLibCheck" | "allowUnreachableCode" if value == "true" => {
            Weight::Watched
        }
        _ if strict && value == "true" => Weight::Stricter,
        _ if strict => Weight::Switch,
        "exclude" | "include" | "files" | "extends" => Weight::Watched,
        _ => Weight::Free,
    }
}

/// npm's settings: what runs the scripts.
pub(super) fn npmrc(key: &str, _: &str) -> Weight {
    match key.trim_start_matches('.') {
        "script-shell" | "shell" | "node-options" | "node_options" | "ignore-scripts"
        | "enablescripts" | "yarnpath" => Weight::Switch,
        _ => Weight::Free,
    }
}
