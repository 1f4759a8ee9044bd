//! Finds proposals that repeat the work of others: scripts that run the command of another proposal.

use regex::Regex;
use serde_json::Value;

use super::ci::{PACKAGE_MANAGERS, UncoveredCi, is_ci_file, program_words};
use super::files::{RepositoryDirectory, RepositoryFiles};
use super::proposal::Proposal;

/// How deep scripts that run other scripts are followed.
const MAX_NESTED_SCRIPTS: u8 = 4;

/// Linters and type checkers: if a script of the project runs one, a second call with other arguments adds little.
const WHOLE_PROJECT_TOOLS: [&[&str]; 20] = [
    &["basedpyright"],
    &["biome"],
    &["cargo", "clippy"],
    &["eslint"],
    &["flake8"],
    &["go", "vet"],
    &["golangci-lint"],
    &["mypy"],
    &["oxlint"],
    &["phpcs"],
    &["phpstan"],
    &["psalm"],
    &["pyright"],
    &["rubocop"],
    &["ruff", "check"],
    &["standardrb"],
    &["staticcheck"],
    &["stylelint"],
    &["tsc"],
    &["vue-tsc"],
];

/// Programs that run a command and measure which code it executes.
const COVERAGE_PROGRAMS: [&str; 2] = ["c8", "nyc"];

/// Options of test runners that decide what is printed, not what is tested.
const REPORTING: [&str; 8] = [
    "--ci",
    "--color",
    "--colors",
    "--cov",
    "--coverage",
    "--no-coverage",
    "--run",
    "--verbose",
];

const QUOTES: [char; 2] = ['"', '\''];

const MAKEFILES: [&str; 3] = ["Makefile", "makefile", "GNUmakefile"];

const JUSTFILES: [&str; 3] = ["justfile", "Justfile", ".justfile"];

/// Notes in each proposal, and in each command of CI that is none, the commands of proposals that run it, too.
pub(super) fn note_containing_commands(
    files: &RepositoryFiles,
    proposals: &mut [Proposal],
    uncovered: &mut UncoveredCi,
) {
    for container in 0..proposals.len() {
        let step = &proposals[container].step;
        let (command, directory) = (step.target.clone(), step.directory.clone());
        let scripts = Scripts::read(files.directory(directory.as_deref().unwrap_or_default()));
        let mut parts = Vec::new();
        scripts.expand(&command, MAX_NESTED_SCRIPTS, &mut parts);
        for (index, proposal) in proposals.iter_mut().enumerate() {
            let is_other = index != container && proposal.step.directory == directory;
            let is_contained = || {
                parts.iter().any(|part| runs(part, proposal, &scripts))
                    || contains_all(&parts, proposal, &scripts)
            };
            if is_other && is_contained() {
                proposal.contained_in.push(command.clone());
            }
        }
        for other in &mut uncovered.commands {
            let is_run = || parts.contains(&scripts.normalise(&other.run));
            if other.directory == directory && is_run() {
                other.contained_in.push(command.clone());
            }
        }
    }
}

/// Whether scripts run all commands of a proposal that is a script itself, such as `test:ci` besides `test`. Scripts in
/// between do not matter.
fn contains_all(parts: &[Vec<String>], proposal: &Proposal, scripts: &Scripts<'_>) -> bool {
    let mut own = Vec::new();
    scripts.expand(&proposal.step.target, MAX_NESTED_SCRIPTS, &mut own);
    let runs_scripts = |part: &&Vec<String>| !scripts.scripts_of(&part.join(" ")).is_empty();
    let mut commands = own.iter().filter(|part| !runs_scripts(part)).peekable();
    commands.peek().is_some() && commands.all(|command| parts.contains(command))
}

/// Whether a part of a script runs a proposal's command.
fn runs(part: &[String], proposal: &Proposal, scripts: &Scripts<'_>) -> bool {
    let own = scripts.normalise(&proposal.step.target);
    let is_tool = || {
        let is_call = |words: &[String], tool: &[&str]| {
            words.len() >= tool.len() && words.iter().zip(tool).all(|(word, name)| word == name)
        };
        let mut tools = WHOLE_PROJECT_TOOLS.into_iter();
        // The arguments of CI's commands are chosen.
        tools.any(|tool| is_call(&own, tool) && is_call(part, tool))
            && !is_ci_file(&proposal.found_in)
    };
    !own.is_empty() && (part == own || is_tool())
}

/// The scripts of a directory.
struct Scripts<'a> {
    at: RepositoryDirectory<'a>,
    package: Value,
    composer: Value,
}

impl<'a> Scripts<'a> {
    fn read(at: RepositoryDirectory<'a>) -> Self {
        let scripts = |manifest: &str| {
            let text = at.text_or_empty(manifest);
            let mut manifest: Value = serde_json::from_str(text).unwrap_or_default();
            let scripts = manifest.get_mut("scripts").map(Value::take);
            scripts.unwrap_or_default()
        };
        Self {
            at,
            package: scripts("package.json"),
            composer: scripts("composer.json"),
        }
    }

    /// Adds the commands that a command runs through scripts, without the command itself.
    fn expand(&self, command: &str, depth: u8, parts: &mut Vec<Vec<String>>) {
        if depth == 0 {
            return;
        }
        for script in self.scripts_of(command) {
            // The failure of other parts may be ignored.
            let lines = script.lines().flat_map(|line| line.split("&&"));
            for line in lines.filter(|line| !line.contains(['|', ';', '&'])) {
                let part = self.normalise(line);
                if !part.is_empty() && !parts.contains(&part) {
                    parts.push(part);
                    self.expand(line, depth - 1, parts);
                }
            }
        }
    }

    /// The texts of the scripts and recipes that a command runs.
    fn scripts_of(&self, command: &str) -> Vec<String> {
        let words = self.normalise(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        match words.as_slice() {
            ["run-script", script] => self.package_script(script),
            ["run-s" | "run-p" | "npm-run-all", scripts @ ..] => {
                let scripts = scripts.iter().filter(|script| !script.starts_with('-'));
                let names = scripts.flat_map(|script| self.package_scripts(script));
                names.map(|name| format!("npm run {name}")).collect()
            }
            ["composer", "run" | "run-script", script] | ["composer", script] => {
                self.composer_script(script)
            }
            ["make", targets @ ..] => self.recipes(&MAKEFILES, "make", targets),
            ["just", targets @ ..] => self.recipes(&JUSTFILES, "just", targets),
            _ => Vec::new(),
        }
    }

    /// The names of scripts for an argument of `run-s` or pnpm: a name, a pattern such as `test:*`, or an expression
    /// such as `/^test:/`.
    fn package_scripts(&self, argument: &str) -> Vec<String> {
        let expression = script_expression(argument);
        let argument = argument.trim_matches(QUOTES);
        let expression = match expression {
            Some(expression) => expression.to_owned(),
            None if argument.contains('*') => {
                let parts = argument.split("**").map(|part| {
                    let names: Vec<String> = part.split('*').map(regex::escape).collect();
                    names.join("[^:]*")
                });
                format!("^{}$", parts.collect::<Vec<_>>().join(".*"))
            }
            None => return vec![argument.to_owned()],
        };
        let Ok(expression) = Regex::new(&expression) else {
            return Vec::new();
        };
        let names = self
            .package
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys());
        names
            .filter(|name| expression.is_match(name))
            .cloned()
            .collect()
    }

    fn package_script(&self, name: &str) -> Vec<String> {
        let names = [format!("pre{name}"), name.to_owned(), format!("post{name}")];
        let scripts = names.iter().filter_map(|name| self.package[name].as_str());
        scripts.map(str::to_owned).collect()
    }

    /// A script of Composer is a command or several; `@name` runs another one.
    fn composer_script(&self, name: &str) -> Vec<String> {
        let commands = match &self.composer[name] {
            Value::Array(commands) => commands.iter().filter_map(Value::as_str).collect(),
            command => command.as_str().into_iter().collect::<Vec<_>>(),
        };
        let command = |command: &str| match command.strip_prefix('@') {
            Some(script) => format!("composer {script}"),
            None => command.to_owned(),
        };
        commands.into_iter().map(command).collect()
    }

    /// The recipes of these targets, and calls of the targets that they depend on.
    fn recipes(&self, files: &[&str], runner: &str, targets: &[&str]) -> Vec<String> {
        let text = self.at.first(files).and_then(|file| self.at.text(file));
        let text = text.unwrap_or_default();
        let targets = targets.iter().filter(|target| !target.starts_with('-'));
        let recipes = targets.flat_map(|target| {
            let mut lines = text.lines().skip_while(|line| !declares(line, target));
            let head = lines.next().unwrap_or_default();
            let (_, dependencies) = head.split_once(':').unwrap_or_default();
            let dependencies = dependencies.split(['#', '|']).next().unwrap_or_default();
            let dependencies = dependencies.split_whitespace();
            let calls: Vec<_> = dependencies.map(|it| format!("{runner} {it}")).collect();
            let recipe = lines
                .take_while(|line| line.trim().is_empty() || line.starts_with(char::is_whitespace));
            let recipe = recipe.map(|line| line.trim().trim_start_matches(['@', '+']));
            // make ignores the failures of these lines.
            let recipe = recipe.filter(|line| !line.starts_with('-'));
            let recipe = recipe.map(|line| line.trim_start_matches(['@', '+']).to_owned());
            calls.into_iter().chain(recipe).collect::<Vec<_>>()
        });
        recipes.collect()
    }

    /// The words of a command, such that different ways to run the same are equal: the name of its program without a
    /// path or launcher, and `run-script` for a script of `package.json`.
    fn normalise(&self, command: &str) -> Vec<String> {
        let command = command.replace("$(MAKE)", "make");
        let words: Vec<&str> = command.split_whitespace().collect();
        let words = match program_words(&words) {
            ["cross-env", rest @ ..] => program_words(rest),
            words => words,
        };
        let script = match words {
            [manager, "run" | "run-script", script, ..] | [manager, script, ..]
                if PACKAGE_MANAGERS.contains(manager) =>
            {
                Some(*script)
            }
            _ => None,
        };
        if let Some(script) = script.filter(|script| self.package[*script].is_string()) {
            return vec!["run-script".to_owned(), script.to_owned()];
        }
        if let Some(expression) = script.filter(|script| script_expression(script).is_some()) {
            return vec!["run-s".to_owned(), expression.to_owned()];
        }
        let words = match words {
            ["npx" | "bunx", rest @ ..] => without_options(rest),
            [program, rest @ ..] if COVERAGE_PROGRAMS.contains(program) => {
                let measured = without_options(rest);
                if !measured.is_empty() {
                    return self.normalise(&measured.join(" "));
                }
                words
            }
            ["pnpm" | "yarn" | "bun" | "npm", "exec" | "run", rest @ ..]
            | ["uv" | "poetry" | "pdm" | "pipenv", "run", rest @ ..]
            | ["bundle", "exec", rest @ ..] => rest,
            words => words,
        };
        let words = program_words(words);
        let mut words = words.iter().map(|word| (*word).to_owned());
        let program = words.next();
        let program = program.map(|program| {
            let name = program.rsplit('/').next().unwrap_or_default();
            name.to_owned()
        });
        let is_vitest = program.as_deref() == Some("vitest");
        let words = words
            .filter(|word| !(REPORTING.contains(&word.as_str()) || is_vitest && word == "run"));
        program.into_iter().chain(words).collect()
    }
}

/// The expression that pnpm takes for the names of scripts: `^test:` of `"/^test:/"`.
fn script_expression(argument: &str) -> Option<&str> {
    let argument = argument.trim_matches(QUOTES);
    argument.strip_prefix('/')?.strip_suffix('/')
}

/// The words from the first one that is no option.
fn without_options<'w, 'a>(words: &'w [&'a str]) -> &'w [&'a str] {
    let options = words.iter().take_while(|word| word.starts_with('-'));
    &words[options.count()..]
}

/// Whether a line of a task file declares the target.
fn declares(line: &str, target: &str) -> bool {
    let rest = line.strip_prefix(target);
    let rest = rest.map(str::trim_start);
    rest.is_some_and(|rest| rest.starts_with(':') && !rest.starts_with(":="))
}
