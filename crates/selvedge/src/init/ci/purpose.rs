//! Determines the purpose of a CI command from its words.

use super::script::split_outside_quotes;
use crate::init::proposal::CheckRole;

/// Words of commands by the role of the check; the first role that has a word of a command applies.
const ROLES: [(CheckRole, &[&str]); 3] = [
    (
        CheckRole::Types,
        &[
            "mypy",
            "pyright",
            "basedpyright",
            "tsc",
            "vue-tsc",
            "typecheck",
            "type-check",
            "check-types",
            "dialyzer",
            "phpstan",
            "psalm",
            "tsd",
        ],
    ),
    (
        CheckRole::Lint,
        &[
            "lint",
            "clippy",
            "eslint",
            "biome",
            "ruff",
            "flake8",
            "pycodestyle",
            "pydocstyle",
            "pyflakes",
            "pylint",
            "oxlint",
            "standard",
            "stylelint",
            "xo",
            "golangci-lint",
            "vet",
            "staticcheck",
            "rubocop",
            "standardrb",
            "credo",
            "phpcs",
            "shellcheck",
        ],
    ),
    (
        CheckRole::Test,
        &[
            "test", "tests", "spec", "specs", "nextest", "pytest", "unittest", "jest", "vitest",
            "tox", "nox", "rspec", "phpunit", "pest", "ctest",
        ],
    ),
];

/// Names of tasks: what they do depends on the program that runs them.
const TASK_WORDS: [&str; 10] = [
    "test",
    "tests",
    "spec",
    "specs",
    "lint",
    "typecheck",
    "type-check",
    "check-types",
    "fmt",
    "format",
];

/// Names of tasks that usually run several checks, the tests among them.
const CHECK_TASKS: [&str; 7] = [
    "check",
    "checks",
    "ci",
    "precommit",
    "qa",
    "validate",
    "verify",
];

const FORMATTERS: [&str; 6] = ["fmt", "format", "black", "prettier", "rustfmt", "isort"];

/// Programs that run the tool that an argument names. With other programs, such as `./deploy.sh test`, the word can
/// mean anything, and `init` runs the commands that it adopts.
const RUNNERS: [&str; 45] = [
    "ant", "artisan", "bazel", "bun", "bundle", "bunx", "cabal", "cargo", "cmake", "composer",
    "coverage", "deno", "dotnet", "dune", "flutter", "go", "gradle", "gradlew", "hatch", "just",
    "lerna", "make", "meson", "mix", "mvn", "mvnw", "npm", "npx", "nx", "pdm", "pipenv", "pnpm",
    "poetry", "rails", "rake", "rebar3", "sbt", "stack", "swift", "task", "turbo", "uv", "uvx",
    "yarn", "zig",
];

/// Programs that run the same scripts of a `package.json`.
pub(in crate::init) const PACKAGE_MANAGERS: [&str; 4] = ["npm", "pnpm", "yarn", "bun"];

/// Programs whose arguments are names of tasks.
const TASK_RUNNERS: [&str; 5] = ["invoke", "just", "make", "rake", "task"];

/// Beginnings of commands that prepare a machine, or that publish.
const NOT_CHECKS: [&str; 71] = [
    "test ",
    "[ ",
    "[[ ",
    "command -v ",
    "which ",
    "read ",
    "cat ",
    "exit",
    "true",
    "touch ",
    "unset ",
    "shopt ",
    "sudo ",
    "apt",
    "brew ",
    "curl ",
    "wget ",
    "cd ",
    "echo ",
    "printf ",
    "mapfile ",
    "readarray ",
    "local ",
    "declare ",
    "tzutil ",
    "choco ",
    "winget ",
    "ln ",
    "export ",
    "mkdir ",
    "rm ",
    "sed -i",
    "cp ",
    "mv ",
    "git ",
    "gh ",
    "set ",
    "source ",
    ". ",
    "chmod ",
    "tar ",
    "docker ",
    "pip ",
    "pipx ",
    "python -m pip ",
    "rustup ",
    "corepack ",
    "npm i ",
    "pnpm i ",
    "npm ci",
    "pnpm ci",
    "bun ci",
    "npx --yes ",
    "aws ",
    "gcloud ",
    "kubectl ",
    "sleep ",
    "cargo fetch",
    "cargo generate-lockfile",
    "cargo update",
    "go mod download",
    "mix deps.get",
    "mix deps.compile",
    "jq ",
    "codecov",
    "coveralls",
    "coverage combine",
    "coverage lcov",
    "coverage report",
    "coverage xml",
    "bash <(curl",
];

/// Package managers, and their commands that configure something or change what is installed.
const MANAGERS: [&str; 8] = [
    "bundle", "composer", "npm", "pdm", "pnpm", "poetry", "uv", "yarn",
];
const MANAGEMENT: [&str; 11] = [
    "cache", "config", "dedupe", "env", "lock", "pkg", "remove", "self", "set", "update", "version",
];

/// Words of commands that install, change or publish something, or do not end.
const NOT_CHECK_WORDS: [&str; 13] = [
    "install", "sync", "add", "publish", "deploy", "release", "upload", "login", "restore",
    "--fix", "--write", "--watch", "serve",
];

/// Parts of script names, as in `lint:fix`, of scripts that change files or do not end.
const NOT_CHECK_PARTS: [&str; 10] = [
    "fix", "write", "watch", "update", "dev", "debug", "db", "prepare", "setup", "start",
];

/// Files by which a step passes values to those after it.
const STEP_OUTPUTS: [&str; 3] = ["GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH"];

/// The purpose of a command, and the tool or task that it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Purpose {
    pub(super) role: CheckRole,
    pub(super) tool: String,
}

/// The purpose of a command, if it is known.
pub(super) fn command_purpose(command: &str) -> Option<Purpose> {
    let words: Vec<&str> = command.split_whitespace().collect();
    let words = program_words(&words);
    let program = file_name(words.first()?);
    let purpose = |role, tool: &str| {
        let tool = tool.to_owned();
        Some(Purpose { role, tool })
    };
    if program == "node" {
        let runs_tests = words.contains(&"--test");
        return purpose(CheckRole::Test, "node --test").filter(|_| runs_tests);
    }
    let is_tool =
        FORMATTERS.contains(&program) || ROLES.iter().any(|(_, tools)| tools.contains(&program));
    let is_runner = RUNNERS.contains(&program);
    if !is_tool && !is_runner {
        return None;
    }
    if let Some((program, environment)) = named_environment(words) {
        return match environment_role(environment)? {
            CheckRole::Test => purpose(CheckRole::Test, program),
            role => purpose(role, environment),
        };
    }
    let find = |tools: &[&str]| {
        let mut names = words.iter().map(|word| file_name(word));
        names.find(|name| tools.contains(name))
    };
    if let Some(formatter) = find(&FORMATTERS) {
        let checks = words
            .iter()
            .any(|word| word.contains("check") || matches!(*word, "--diff" | "-c"));
        return purpose(CheckRole::Format, formatter).filter(|_| checks);
    }
    if let Some((role, tool)) = ROLES
        .iter()
        .find_map(|(role, tools)| Some((*role, find(tools)?)))
    {
        return purpose(role, tool);
    }
    if let [
        manager,
        "run" | "run-script",
        script @ ("type" | "types"),
        ..,
    ] = words
        && PACKAGE_MANAGERS.contains(manager)
    {
        return purpose(CheckRole::Types, script);
    }
    let mut arguments = words[1..].iter().copied();
    if let Some((role, script)) = arguments
        .find_map(|word| Some((script_role(word)?, word)))
        .filter(|_| is_runner)
    {
        return purpose(role, script);
    }
    purpose(CheckRole::Test, check_task(program, &words[1..])?)
}

/// tox or nox, also behind `uv run`, and the environments or sessions that a command names: `docs` of `tox -e docs`.
fn named_environment<'a>(words: &[&'a str]) -> Option<(&'a str, &'a str)> {
    let mut names = words.iter().map(|word| file_name(word));
    let program = names.position(|name| matches!(name, "tox" | "nox"))?;
    let is_option = |word: &str| matches!(word, "-e" | "-f" | "-s" | "--session");
    let mut options = words[program..].windows(2);
    let named = options.find(|pair| is_option(pair[0])).map(|pair| pair[1]);
    // `-edocs`
    let attached = || {
        let mut words = words[program + 1..].iter();
        words.find_map(|word| {
            let (option, name) = word.split_at_checked(2)?;
            (is_option(option) && !name.is_empty()).then_some(name)
        })
    };
    Some((file_name(words[program]), named.or_else(attached)?))
}

/// The role of environments with this name; `None` if it does not show that they check something.
fn environment_role(name: &str) -> Option<CheckRole> {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    // The value of a matrix, or a version of Python.
    let is_version = |rest: &str| {
        let mut rest = rest.chars();
        rest.next()
            .is_none_or(|first| first.is_ascii_digit() || first == '-' || first == ',')
    };
    let is_python = || {
        let mut starts = ["py", "pypy", "python"].into_iter();
        starts.any(|start| name.strip_prefix(start).is_some_and(is_version))
    };
    if has(&["typ", "mypy", "pyright"]) {
        Some(CheckRole::Types)
    } else if has(&[
        "lint",
        "ruff",
        "flake8",
        "style",
        "pre-commit",
        "format",
        "black",
    ]) {
        Some(CheckRole::Lint)
    } else if has(&["test", "unit", "cov", "$", "spec"]) || is_python() {
        Some(CheckRole::Test)
    } else {
        None
    }
}

/// The role of a script with a name of several parts, as in `test:unit` and `check:format`.
fn script_role(name: &str) -> Option<CheckRole> {
    if !is_script_name(name) {
        return None;
    }
    let parts: Vec<&str> = name.split(':').collect();
    let has = |words: &[&str]| parts.iter().any(|part| words.contains(part));
    if has(&NOT_CHECK_PARTS) || has(&NOT_CHECK_WORDS) {
        return None;
    }
    if has(&FORMATTERS) {
        return has(&["check"]).then_some(CheckRole::Format);
    }
    if has(&["types", "type"]) {
        return Some(CheckRole::Types);
    }
    let mut roles = ROLES.iter();
    roles.find_map(|(role, words)| has(words).then_some(*role))
}

/// Whether a word can be the name of a script that has several parts.
fn is_script_name(word: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ':' | '-' | '_');
    word.contains(':')
        && !word.contains("::")
        && word.starts_with(char::is_alphanumeric)
        && word.chars().all(is_plain)
}

/// The task of a task runner that runs several checks, as in `make ci`.
fn check_task(runner: &str, arguments: &[&str]) -> Option<&'static str> {
    let arguments = arguments.iter().filter(|word| !word.starts_with('-'));
    let mut arguments = arguments.copied();
    let task = match (runner, arguments.next()?) {
        // A command of Composer itself, which checks its manifest.
        ("composer", "validate") => return None,
        ("make" | "just" | "task" | "rake", task) => task,
        ("cargo", "xtask")
        | ("deno", "task")
        | ("npm" | "pnpm" | "yarn" | "bun" | "composer", "run" | "run-script") => {
            arguments.next()?
        }
        ("pnpm" | "yarn" | "composer", script) => script,
        _ => return None,
    };
    CHECK_TASKS.into_iter().find(|name| *name == task)
}

/// Whether all commands of a line prepare something: of `npm ci || true`, but not of `npm ci && npm test | tee log`.
pub(super) fn only_prepares(run: &str) -> bool {
    let lists = split_outside_quotes(run, "&&").into_iter();
    let mut pipelines = lists.flat_map(|list| split_outside_quotes(list, "||"));
    pipelines.all(|pipeline| {
        let mut commands = split_outside_quotes(pipeline, "|").into_iter();
        // Of `curl … | sh` only the first command shows what it is for, unless a check reads its output.
        let is_check = |command: &str| {
            let command = command.strip_prefix("xargs ").unwrap_or(command);
            let is_option = |word: &&str| word.starts_with('-');
            let words: Vec<&str> = command.split_whitespace().skip_while(is_option).collect();
            command_purpose(&words.join(" ")).is_some()
        };
        commands.next().is_none_or(is_preparation) && !commands.any(is_check)
    })
}

/// Whether a command prepares a machine, publishes, changes files, or passes values to other steps.
fn is_preparation(run: &str) -> bool {
    let run = run.strip_prefix("! ").unwrap_or(run);
    let words: Vec<&str> = run.split_whitespace().collect();
    let is_assignment = |word: &str| {
        let name = word.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let assigns_output = || {
        let value = words.first().filter(|word| is_assignment(word));
        value.is_some_and(|word| {
            let computed = ["=$(", "=\"$(", "=`", "=\"${{", "=${{"];
            computed.iter().any(|start| word.contains(start))
        })
    };
    let changes_files = || {
        let mut words = words.iter().filter(|word| is_script_name(word));
        let changes =
            |part: &str| NOT_CHECK_PARTS.contains(&part) || NOT_CHECK_WORDS.contains(&part);
        words.any(|word| word.split(':').any(changes))
    };
    // A command of the matrix is usually an installation.
    let is_value_of_ci = || run.starts_with("${{") && run.ends_with("}}");
    let is_powershell_assignment = || {
        let target = run.strip_prefix('$').and_then(|it| it.split_once('='));
        target.is_some_and(|(name, _)| {
            let name = name.trim_end();
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == ':')
        })
    };
    let manages_packages = || {
        let program = words.first().filter(|word| MANAGERS.contains(word));
        let mut arguments = words.iter().skip(1).filter(|word| !word.starts_with('-'));
        // Without a command, Yarn installs.
        program.is_some_and(|program| {
            let command = arguments.next();
            command.map_or(*program == "yarn", |word| MANAGEMENT.contains(word))
        })
    };
    // One value in quotes may contain spaces.
    let assigns_text = || {
        let value = run
            .split_once('=')
            .filter(|(name, _)| is_assignment(&format!("{name}=")));
        value.is_some_and(|(_, value)| {
            let mut quotes = ['"', '\''].into_iter();
            let quoted = quotes.find_map(|it| value.strip_prefix(it)?.strip_suffix(it));
            quoted.is_some_and(|text| !text.contains(['"', '\'']))
        })
    };
    NOT_CHECKS
        .iter()
        .any(|start| run.starts_with(start) || run == start.trim_end())
        || assigns_text()
        || manages_packages()
        || is_value_of_ci()
        || is_powershell_assignment()
        || words.iter().any(|word| NOT_CHECK_WORDS.contains(word))
        || words.contains(&"--version")
        || matches!(words.as_slice(), [_, "-v" | "-V" | "version"])
        || STEP_OUTPUTS.iter().any(|file| run.contains(file))
        || words.iter().all(|word| is_assignment(word))
        || assigns_output()
        || changes_files()
}

/// The command of CI with the program that the proposed command for the same tool uses, which is installed here: with
/// `.venv/bin/pytest`, of `pytest -x`, `.venv/bin/pytest -x`. `None` if the two cannot be compared.
pub(super) fn with_program_of(proposed: &str, command: &str, tool: &str) -> Option<String> {
    let (own, other): (Vec<&str>, Vec<&str>) = (
        proposed.split_whitespace().collect(),
        command.split_whitespace().collect(),
    );
    let (own_program, other_program) = (program_words(&own), program_words(&other));
    let (first, other_first) = (own_program.first()?, other_program.first()?);
    // A task may have the name of the tool that it runs.
    if first == other_first || TASK_RUNNERS.contains(other_first) {
        return Some(command.to_owned());
    }
    let script = |words: &[&str]| {
        let words = words[1..].iter().filter(|word| **word != "run");
        words.map(|word| (*word).to_owned()).collect::<Vec<_>>()
    };
    if [first, other_first]
        .iter()
        .all(|program| PACKAGE_MANAGERS.contains(program))
    {
        let is_same = script(own_program) == script(other_program);
        return is_same.then(|| proposed.to_owned());
    }
    if TASK_WORDS.contains(&tool) || CHECK_TASKS.contains(&tool) || tool.contains([':', ' ']) {
        return None;
    }
    let position = |words: &[&str]| words.iter().position(|word| file_name(word) == tool);
    let words = own[..=position(&own)?]
        .iter()
        .chain(&other[position(&other)? + 1..]);
    Some(words.copied().collect::<Vec<_>>().join(" "))
}

/// The words of a command from its program on: without variables before it, and without an interpreter.
pub(in crate::init) fn program_words<'w, 'a>(words: &'w [&'a str]) -> &'w [&'a str] {
    let variables = words.iter().take_while(|word| word.contains('=')).count();
    let words = &words[variables..];
    match words {
        [python, "-m" | "manage.py", rest @ ..] if file_name(python).starts_with("python") => rest,
        [php, rest @ ..] if file_name(php) == "php" => rest,
        _ => words,
    }
}

pub(super) fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}
