//! Command lines that a check runs through a wrapper: recipes of makefiles and justfiles, scripts of `package.json` and
//! `composer.json`, commands of tox, and what other build files run with an interpreter.
//!
//! They are read from the project before the attempt. Wrappers are not emulated: variables that only the wrapper knows
//! are empty, and of several rules for a target all count.

use std::collections::BTreeSet;

use serde_json::Value;

use super::config_files::side_of_config;
use super::project_files::is_project_manifest;
use super::recipes::Rules;
use super::references::{folder_of, join, name_of};
use super::sides::BaseFiles;
use crate::guard::{Pattern, command_words, commands_of, program_of};
use crate::model::{Step, StepKind};

/// Maximum depth of wrappers that run wrappers.
const MAX_DEPTH: usize = 8;
/// Maximum number of command lines that are read: the project can be hostile.
const MAX_LINES: usize = 400;

pub(super) const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
const JUSTFILES: [&str; 3] = ["justfile", ".justfile", "Justfile"];
/// Programs that run scripts of `package.json`, and those that run several of them.
const PACKAGE_RUNNERS: [&str; 12] = [
    "npm",
    "pnpm",
    "yarn",
    "bun",
    "npm-run-all",
    "run-s",
    "run-p",
    "concurrently",
    "wireit",
    "lerna",
    "turbo",
    "nx",
];
/// Wrappers whose files are only searched for interpreters.
const OTHER_WRAPPERS: [&str; 24] = [
    "rake",
    "task",
    "go-task",
    "nox",
    "invoke",
    "inv",
    "poe",
    "hatch",
    "pdm",
    "doit",
    "mage",
    "gradle",
    "gradlew",
    "ant",
    "meson",
    "ninja",
    "scons",
    "grunt",
    "gulp",
    "mise",
    "moon",
    "pre-commit",
    "lefthook",
    "deno",
];

/// A command line that a wrapper runs.
#[derive(Debug, Clone)]
pub(super) struct WrappedCommand {
    pub(super) step: Step,
    /// Whether the check requests it, rather than running it as a preparation (a prerequisite, or a script before
    /// another).
    pub(super) is_goal: bool,
}

/// Finds the command lines that the checks run through wrappers.
pub(super) fn find_wrapped_commands(base: &BaseFiles, steps: &[Step]) -> Vec<WrappedCommand> {
    let mut search = WrapperSearch {
        base,
        found: Vec::new(),
        seen: BTreeSet::new(),
        has_read_interpreters: false,
    };
    for step in steps.iter().filter(|step| step.kind.executes()) {
        let directory = step.directory.as_deref().unwrap_or_default();
        if let Some(directory) = join("", directory) {
            search.read_line(&directory, &step.target, true, 0);
        }
    }
    search.found
}

struct WrapperSearch<'a> {
    base: &'a BaseFiles,
    found: Vec<WrappedCommand>,
    /// Command lines that were read, with their directories and whether they are goals.
    seen: BTreeSet<(String, String, bool)>,
    /// Whether the files that may name scripts after interpreters were read.
    has_read_interpreters: bool,
}

impl<'a> WrapperSearch<'a> {
    fn text(&self, path: &str) -> Option<&'a str> {
        std::str::from_utf8(self.base.get(path)?.as_deref()?).ok()
    }

    /// Adds a command line that a wrapper runs, and reads it.
    fn add_line(&mut self, directory: &str, line: &str, is_goal: bool, depth: usize) {
        self.add(directory, line, is_goal);
        self.read_line(directory, line, is_goal, depth + 1);
    }

    fn add(&mut self, directory: &str, line: &str, is_goal: bool) {
        if self.found.len() >= MAX_LINES {
            return;
        }
        self.found.push(WrappedCommand {
            step: Step {
                directory: Some(directory.to_owned()),
                ..Step::new(StepKind::Command, line)
            },
            is_goal,
        });
    }

    fn read_line(&mut self, directory: &str, line: &str, is_goal: bool, depth: usize) {
        let entry = (directory.to_owned(), line.to_owned(), is_goal);
        let is_new = self.seen.insert(entry);
        if !is_new || depth > MAX_DEPTH || self.seen.len() > MAX_LINES {
            return;
        }
        let words = command_words(line);
        let commands: Vec<&[String]> = commands_of(&words).collect();
        for (index, command) in commands.iter().enumerate() {
            let Some((program, arguments)) = program_of(command) else {
                continue;
            };
            match program {
                "cd" | "pushd" => {
                    let rest = commands.get(index + 1..).unwrap_or_default().concat();
                    let below = arguments.first().and_then(|to| join(directory, to));
                    if let Some(below) = below.filter(|_| !rest.is_empty()) {
                        self.add_line(&below, &shell_words::join(&rest), is_goal, depth);
                        return;
                    }
                }
                "sh" | "bash" | "dash" | "zsh" => {
                    let mut words = arguments.iter();
                    let is_command = |word: &&String| word.starts_with('-') && word.ends_with('c');
                    if let Some(inner) = words.find(is_command).and_then(|_| words.next()) {
                        self.add_line(directory, inner, is_goal, depth);
                    }
                }
                "make" | "gmake" => {
                    self.read_recipes(&MAKEFILES, directory, arguments, is_goal, depth);
                }
                "just" => self.read_recipes(&JUSTFILES, directory, arguments, is_goal, depth),
                "composer" => self.read_composer(directory, arguments, is_goal, depth),
                "tox" => self.read_tox(directory, is_goal, depth),
                "cargo" if arguments.first().is_some_and(|it| it == "make") => {
                    self.read_interpreters(depth);
                }
                _ if PACKAGE_RUNNERS.contains(&program) => {
                    self.read_package_scripts(program, directory, arguments, is_goal, depth);
                }
                _ if OTHER_WRAPPERS.contains(&program) => self.read_interpreters(depth),
                _ => {}
            }
        }
    }

    fn read_recipes(
        &mut self,
        names: &[&str],
        directory: &str,
        arguments: &[String],
        is_goal: bool,
        depth: usize,
    ) {
        let (mut directory, mut file) = (directory.to_owned(), None);
        let mut goals = Vec::new();
        let mut words = arguments.iter().map(String::as_str);
        while let Some(word) = words.next() {
            let joined = |option: &str| word.strip_prefix(option).map(str::to_owned);
            match word {
                "-C" | "--directory" | "--working-directory" => {
                    directory = words
                        .next()
                        .and_then(|to| join(&directory, to))
                        .unwrap_or(directory);
                }
                "-d" if names == JUSTFILES => {
                    directory = words
                        .next()
                        .and_then(|to| join(&directory, to))
                        .unwrap_or(directory);
                }
                "-f" | "--file" | "--makefile" | "--justfile" => {
                    file = words.next().map(str::to_owned);
                }
                _ if word.starts_with("-C") || word.starts_with("--directory=") => {
                    let to = joined("-C").or_else(|| joined("--directory="));
                    directory = to.and_then(|to| join(&directory, &to)).unwrap_or(directory);
                }
                _ if word.starts_with("--working-directory=") => {
                    let to = joined("--working-directory=");
                    directory = to.and_then(|to| join(&directory, &to)).unwrap_or(directory);
                }
                _ if ["--file=", "--makefile=", "--justfile="]
                    .iter()
                    .any(|option| word.starts_with(option)) =>
                {
                    file = word.split_once('=').map(|(_, file)| file.to_owned());
                }
                _ if word.starts_with("-f") && word.len() > 2 => file = joined("-f"),
                _ if word.starts_with(['-', '$', '>', '<', '2', '&']) || word.contains('=') => {}
                _ if word.bytes().all(|byte| byte.is_ascii_digit()) => {}
                _ => goals.push(word),
            }
        }
        let named = file.iter().map(String::as_str);
        let mut candidates = named.chain(names.iter().copied().filter(|_| file.is_none()));
        let path = candidates.find_map(|name| {
            let path = join(&directory, name)?;
            self.base.contains_key(&path).then_some(path)
        });
        let Some(rules) = path.and_then(|path| Rules::read(self.base, &path, &directory)) else {
            return;
        };
        for (lines, is_goals_own) in rules.recipes_of(&goals) {
            let is_goal = is_goal && is_goals_own;
            // A later line may compare what an earlier one writes.
            self.add(&directory, &lines.join(" && "), is_goal);
            // Each line runs in a shell of its own.
            for line in &lines {
                self.read_line(&directory, line, is_goal, depth + 1);
            }
        }
    }

    /// Scripts that a package manager runs: every word that is the name of a script.
    fn read_package_scripts(
        &mut self,
        program: &str,
        directory: &str,
        arguments: &[String],
        is_goal: bool,
        depth: usize,
    ) {
        const ALL_PACKAGES: [&str; 9] = [
            "-w",
            "--workspace",
            "--workspaces",
            "-ws",
            "-r",
            "--recursive",
            "--filter",
            "workspace",
            "workspaces",
        ];
        let is_everywhere = matches!(program, "lerna" | "turbo" | "nx")
            || arguments
                .iter()
                .any(|word| ALL_PACKAGES.contains(&word.split('=').next().unwrap_or(word)));
        let mut folders = vec![directory.to_owned()];
        for pair in arguments.windows(2) {
            if let [option, folder] = pair
                && matches!(option.as_str(), "--prefix" | "-C" | "--dir" | "--cwd")
            {
                folders.extend(join(directory, folder));
            }
        }
        if is_everywhere {
            let manifests = self
                .base
                .keys()
                .filter(|path| name_of(path) == "package.json" && !path.contains("node_modules/"));
            folders.extend(manifests.map(|path| folder_of(path).to_owned()));
        }
        for folder in folders {
            let Some(scripts) = self.scripts_of(&folder, "package.json") else {
                continue;
            };
            for word in arguments {
                let word = word.strip_prefix("npm:").unwrap_or(word);
                let word = if word == "t" { "test" } else { word };
                let prefix = word.strip_suffix('*');
                for (name, script) in &scripts {
                    let is_named =
                        name == word || prefix.is_some_and(|prefix| name.starts_with(prefix));
                    let Some(script) = script.as_str().filter(|_| is_named) else {
                        continue;
                    };
                    self.add_line(&folder, script, is_goal, depth);
                    for around in ["pre", "post"] {
                        let around = scripts.get(&format!("{around}{name}"));
                        if let Some(script) = around.and_then(Value::as_str) {
                            self.add_line(&folder, script, false, depth);
                        }
                    }
                }
            }
        }
    }

    fn scripts_of(&self, folder: &str, manifest: &str) -> Option<serde_json::Map<String, Value>> {
        let text = self.text(&join(folder, manifest)?)?;
        let mut manifest: Value = serde_json::from_str(text).ok()?;
        match manifest.get_mut("scripts")?.take() {
            Value::Object(scripts) => Some(scripts),
            _ => None,
        }
    }

    fn read_composer(
        &mut self,
        directory: &str,
        arguments: &[String],
        is_goal: bool,
        depth: usize,
    ) {
        let Some(scripts) = self.scripts_of(directory, "composer.json") else {
            return;
        };
        let mut unread: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let mut read = BTreeSet::new();
        while let Some(name) = unread.pop() {
            let Some(script) = scripts.get(name).filter(|_| read.insert(name)) else {
                continue;
            };
            let lines = match script {
                Value::Array(lines) => lines.as_slice(),
                line => std::slice::from_ref(line),
            };
            for line in lines.iter().filter_map(Value::as_str) {
                match line.strip_prefix('@') {
                    Some(inner) if inner.starts_with("php ") => {
                        self.add_line(directory, inner, is_goal, depth);
                    }
                    Some(other) => unread.push(other.split_whitespace().next().unwrap_or(other)),
                    None => self.add_line(directory, line, is_goal, depth),
                }
            }
        }
    }

    fn read_tox(&mut self, directory: &str, is_goal: bool, depth: usize) {
        static SUBSTITUTION: Pattern = Pattern::new(r"\{[^{}\n]*\}");
        for name in ["tox.ini", "setup.cfg"] {
            let text = join(directory, name).and_then(|path| self.text(&path));
            let mut is_command = false;
            for line in text.unwrap_or_default().lines() {
                let first = match line.split_once('=') {
                    Some((key, value)) if !line.starts_with([' ', '\t']) => {
                        is_command = key.trim().starts_with("commands");
                        value
                    }
                    _ => {
                        is_command &= line.starts_with([' ', '\t']);
                        line
                    }
                };
                let command = first.trim().trim_start_matches('-');
                if is_command && !command.is_empty() {
                    let plain = SUBSTITUTION.regex().map(|it| it.replace_all(command, ""));
                    let plain = plain.map_or_else(String::new, std::borrow::Cow::into_owned);
                    self.add_line(directory, plain.trim(), is_goal, depth);
                }
            }
        }
        self.read_interpreters(depth);
    }

    /// Files that build files run with an interpreter.
    fn read_interpreters(&mut self, depth: usize) {
        static INTERPRETED: Pattern = Pattern::new(
            r#"\b(?:python[\d.]*|node|ruby|perl|php|bash|sh|deno|bun|tsx)(?:\.exe)?["']?(?:[ \t,]+["']?-{1,2}[\w-]+["']?)*[ \t,]+["']?(?:\./)?([\w./-]+)"#,
        );
        if std::mem::replace(&mut self.has_read_interpreters, true) {
            return;
        }
        let configs: Vec<&'a String> = self
            .base
            .keys()
            .filter(|path| {
                side_of_config(path).is_some()
                    || is_project_manifest(path)
                    || path.ends_with("tasks.py")
            })
            .collect();
        for config in configs {
            let Some((regex, text)) = INTERPRETED.regex().zip(self.text(config)) else {
                continue;
            };
            // One interpreter may run another: `sh 'python3 all.py'`.
            let mut at = 0;
            while let Some(script) = regex.captures_at(text, at).and_then(|found| found.get(1)) {
                at = script.start();
                let script = script.as_str();
                for folder in [folder_of(config), ""] {
                    let is_file =
                        join(folder, script).is_some_and(|it| self.base.contains_key(&it));
                    if is_file && self.found.len() < MAX_LINES {
                        self.add_line(folder, &format!("sh {script}"), false, depth);
                    }
                }
            }
        }
    }
}
