//! Recognizes checks that read sources and execute none: the same files always have the same result.

/// Programs that report findings in files.
const LINTERS: [&str; 21] = [
    "ruff",
    "flake8",
    "pylint",
    "black",
    "isort",
    "autopep8",
    "yapf",
    "pycodestyle",
    "pydocstyle",
    "eslint",
    "prettier",
    "biome",
    "stylelint",
    "standard",
    "xo",
    "rubocop",
    "standardrb",
    "golangci-lint",
    "gofmt",
    "php-cs-fixer",
    "phpcs",
];
/// Programs that report findings in files, and depend on how files fit together.
const TYPE_CHECKERS: [&str; 8] = [
    "mypy",
    "pyright",
    "tsc",
    "vue-tsc",
    "phpstan",
    "psalm",
    "sorbet",
    "shellcheck",
];
/// Words that start a program: `npx eslint`, `uv run ruff`, `python -m black`.
const STARTERS: [&str; 16] = [
    "npx", "pnpm", "yarn", "bunx", "exec", "dlx", "uv", "uvx", "poetry", "pdm", "pipx", "run",
    "bundle", "python", "python3", "-m",
];

/// Whether this is the name of a linter, a formatter or a type checker.
pub fn is_analysis_program(name: &str) -> bool {
    LINTERS.contains(&name) || TYPE_CHECKERS.contains(&name)
}

/// Whether a command line only runs linters and formatters.
pub(crate) fn runs_only_linters(target: &str) -> bool {
    consists_of(target, |program| LINTERS.contains(&program))
}

/// Whether a command line only runs linters, formatters and type checkers.
pub(crate) fn is_static_analysis(target: &str) -> bool {
    consists_of(target, is_analysis_program)
}

fn consists_of(target: &str, is_known: impl Fn(&str) -> bool) -> bool {
    let is_plain = !target.contains(['|', ';', '`', '\n', '>', '<']) && !target.contains("$(");
    let is_plain = is_plain && !target.replace("&&", "").contains('&');
    is_plain
        && target.split("&&").all(|command| {
            let words = command.split_whitespace();
            let mut words = words.skip_while(|word| STARTERS.contains(word));
            let program = words.next().unwrap_or_default();
            let name = program.rsplit('/').next().unwrap_or(program);
            let is_cargo = name == "cargo" && matches!(words.next(), Some("fmt" | "clippy"));
            is_cargo || is_known(name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_analysis_by_all_commands_of_a_line() {
        for target in [
            "ruff check .",
            "ruff format --check . && ruff check .",
            "npx eslint src",
            "python -m black --check .",
            "uv run ruff check",
            "node_modules/.bin/prettier --check .",
            "cargo fmt --check",
        ] {
            assert!(runs_only_linters(target), "{target}");
        }
        for target in ["mypy src", "npx tsc --noEmit && eslint ."] {
            assert!(is_static_analysis(target) && !runs_only_linters(target));
        }
        for target in [
            "pytest",
            "ruff check . && pytest",
            "ruff check . ; pytest",
            "cargo test",
            "sh lint.sh",
            "",
        ] {
            assert!(!is_static_analysis(target), "{target}");
        }
    }
}
