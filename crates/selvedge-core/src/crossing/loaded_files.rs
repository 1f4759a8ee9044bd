//! Files that are loaded although no name marks them: configuration that a command line names, what configuration
//! includes, code that it loads, and scripts that a check runs through a wrapper.
//!
//! The settings of single tools are not modelled. A word of a configuration that is a path or a module of the base is a
//! reference; its key decides whether it is loaded or only listed. References are followed as long as they lead to
//! files that only configuration refers to. A file that tests or sources refer to may be the subject of the task.

use std::collections::{BTreeMap, BTreeSet};

use super::config_files::side_of_config;
use super::manifest::text_for_checks;
use super::references::{ReferenceTarget, References, TargetIndex, folder_of, join, stem_of};
use super::sides::{BaseProject, ProjectSide, script_globs};
use super::test_names::is_named_test;
use super::wrappers::WrappedCommand;
use crate::guard::{Pattern, SourceLanguage, command_words, commands_of, program_of};
use crate::model::Step;

/// Number of enclosing keys that are considered: `transform: { pattern: [file, options] }` needs
/// two.
const MAX_KEYS: usize = 3;
/// Maximum length of a chain of files that load each other.
const MAX_ROUNDS: usize = 5;

/// Data that may be configuration, by its name; not texts, tables and images, which many tasks are about.
static CONFIG_DATA: Pattern = Pattern::new(
    r"(?i)(?:^|/)[^/.]+$|\.(?:jsonc?|json5|toml|ini|cfg|conf|config|ya?ml|xml|neon|inc|opts|options|args|properties|env|rc|rules|list|dist|preset)$|(?:^|/)\.[\w-]+$",
);
/// Data whose content is not configuration, despite its extension.
static OTHER_DATA: Pattern = Pattern::new(
    r"(?i)(?:^|[/.-])lock(?:file)?(?:[./-]|$)|(?:^|/)(?:licen[cs]e|copying|authors|readme|changelog|version)[^/]*$|(?:^|/)(?:i18n|locales?|translations|docs?|data)/",
);

/// Keys whose value is loaded as code or configuration.
static LOADING_KEY: Pattern = Pattern::new(
    r"(?i)require|import|setup-?files|global-?setup|transform|plugin|preset|preload|bootstrap|^extends?$|^load|runner|environment|resolver|reporter|teardown|hooks?$|^-p$|^-r$|serializ|processor|sequencer",
);
/// Keys whose value is a file of configuration.
static CONFIG_KEY: Pattern = Pattern::new(r"(?i)^include$|^config(?:-?files?)?$|env-?file|^-c$");
/// Keys of code that prepares both tests and sources.
static SETUP_KEY: Pattern =
    Pattern::new(r"(?i)require|import|setup|preload|bootstrap|environment|teardown|^-r$");
/// Keys of code in files that are themselves part of the tests.
static PLUGIN_KEY: Pattern = Pattern::new(r"(?i)plugin|^-p$");
/// Set-up code of tests, which imports the code under test.
static TEST_CODE: Pattern = Pattern::new(
    r"(?i)(?:^|/)(?:conftest\.py|(?:spec|rails|test)_helper\.\w+|setup-?tests\.\w+|pest\.php)$",
);
/// Definitions that a runner calls in a module that configuration loads.
static HOOKS: Pattern = Pattern::new(
    r"(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+pytest_\w+|^[ \t]*@(?:pytest\.)?(?:fixture|hookimpl)\b|RSpec\.configure\b",
);
/// Options of programs whose value is configuration.
static CONFIG_OPTION: Pattern = Pattern::new(
    r"(?i)^(?:-c|-s|-gs|-O|--?[\w-]*(?:conf|config|options|settings|rcfile|env-?file|preset|ruleset|rules|baseline|ignore-?(?:file|path)|plugin)[\w-]*)$",
);
/// Options whose value is loaded, or is one of the program's inputs.
static INPUT_OPTION: Pattern = Pattern::new(
    r"(?i)^(?:-p|-r|-f|--?[\w-]*(?:require|import|preload|bootstrap|setup|loader|project|file|manifest)[\w-]*)$",
);
/// Programs whose options name their input (files, requirements, compilation units) rather than configuration.
static READS_ARGUMENTS: Pattern = Pattern::new(concat!(
    r"^(?:test|\[{1,2}|grep|egrep|fgrep|rg|cat|ls|wc|head|tail|jq|yq|sed|g?awk|mawk|cp|mv|rm|touch|mkdir|chmod|tar|zip|unzip|stat|find|xargs|diff|cmp|comm|git|curl|wget",
    r"|pip[\d.]*|uv|pip-compile|poetry|conda|gcc|g\+\+|cc|c\+\+|clang(?:\+\+)?|[\w.-]+-gcc|rustc|javac|kotlinc|ld|sh|bash|dash|zsh|perl|black|prettier|psql|mysql|sqlite3",
    r"|docker|podman|nginx|caddy|haproxy|promtool|envoy|httpd|apachectl|kubectl|helm|terraform|traefik|vector|logstash|ajv|xmllint|yamllint|jsonlint|taplo|make|gmake|just|cmake|cargo|go)$",
));

impl<'a> BaseProject<'a> {
    /// Whether following references needs the content of a file that is not source code.
    pub(super) fn may_be_loaded(path: &str) -> bool {
        CONFIG_DATA.is_match(path) && !OTHER_DATA.is_match(path) && !is_named_test(path)
    }

    /// Finds the scripts that the checks run through wrappers. Those that only prepare the checks are shared, and so
    /// are programs of the project, unless tests show that they are the code under test.
    pub(super) fn find_wrapped_scripts(&mut self, wrapped: &[WrappedCommand]) {
        let mut goals: BTreeMap<&'a str, bool> = BTreeMap::new();
        for command in wrapped {
            let Some(globs) = script_globs(std::slice::from_ref(&command.step)) else {
                continue;
            };
            let subjects = self.find_filtered_subjects(std::slice::from_ref(&command.step));
            let named = self.base.keys().filter(|path| globs.is_match(path));
            let named = named.filter(|path| !subjects.contains(path.as_str()));
            for path in named.filter(|path| !self.scripts.contains(path.as_str())) {
                *goals.entry(path).or_default() |= command.is_goal;
            }
        }
        if goals.is_empty() {
            return;
        }
        let users = self.find_users(goals.keys().copied());
        let has_tests = self
            .tests
            .iter()
            .any(|path| SourceLanguage::from_path(path).is_some());
        let mut scripts = Vec::new();
        for (path, is_goal) in goals {
            let users = users.get(path).copied().unwrap_or_default();
            match () {
                () if users.tests || (self.is_program(path) && has_tests) => {}
                () if users.work || self.is_program(path) || !is_goal => {
                    self.setup_files.insert(path);
                }
                () => scripts.push(path),
            }
        }
        let before = self.scripts.clone();
        self.follow_scripts(scripts);
        let added: Vec<&'a str> = self.scripts.difference(&before).copied().collect();
        self.tests.extend(added);
    }

    /// Whether a file is what the project publishes, or is named like a program's entry.
    pub(super) fn is_program(&self, path: &str) -> bool {
        static ENTRY: Pattern = Pattern::new(
            r"(?i)(?:^|/)(?:main|cli|app|application|__main__|index|server|manage|setup|bin)\.\w+$",
        );
        ENTRY.is_match(path) || self.product.publishes(path)
    }

    /// Finds configuration that command lines name, and what configuration loads.
    pub(super) fn find_loaded_files(&mut self, steps: &[&Step]) {
        let mut configs: Vec<(&'a str, ProjectSide)> = self
            .base
            .keys()
            .filter_map(|path| Some((path.as_str(), side_of_config(path)?)))
            .collect();
        let manifests = self
            .base
            .keys()
            .filter(|path| text_for_checks(path, "").is_some());
        configs.extend(manifests.map(|path| (path.as_str(), ProjectSide::Test)));
        configs.retain(|(path, _)| !path.contains("node_modules/") && !self.is_vendored(path));
        let mut seen: BTreeSet<&'a str> = configs.iter().map(|(path, _)| *path).collect();
        let named = self.find_option_files(steps);
        let users = self.find_users(named.iter().map(|(path, _)| *path));
        for (path, side) in named {
            let users = users.get(path).copied().unwrap_or_default();
            let is_loaded = !self.is_used_source(path, users);
            if is_loaded && seen.insert(path) && !self.tests.contains(path) {
                self.load(path, side);
                configs.push((path, side));
            }
        }
        let mut names: BTreeMap<&'a str, Vec<&'a str>> = BTreeMap::new();
        for path in self.base.keys() {
            let needle = ReferenceTarget::new(path).needle();
            names.entry(needle).or_default().push(path);
        }
        for _ in 0..MAX_ROUNDS {
            let mut found: BTreeMap<&'a str, (ProjectSide, bool)> = BTreeMap::new();
            for (config, side) in &configs {
                for (path, loaded_as, is_optional) in self.files_loaded_by(config, *side, &names) {
                    let entry = found.entry(path).or_insert((loaded_as, is_optional));
                    entry.0 = entry.0.max(loaded_as);
                    entry.1 &= is_optional;
                }
            }
            found.retain(|path, _| !seen.contains(path) && !self.tests.contains(path));
            if found.is_empty() {
                return;
            }
            seen.extend(found.keys());
            let users = self.find_users(found.keys().copied());
            configs.clear();
            for (path, (side, is_optional)) in found {
                let users = users.get(path).copied().unwrap_or_default();
                let is_source = SourceLanguage::from_path(path).is_some();
                let side = match () {
                    () if self.is_used_source(path, users) => continue,
                    () if is_source && is_optional && !self.has_hooks(path) => continue,
                    () if self.is_used(path, users) => ProjectSide::Shared,
                    () => side,
                };
                self.load(path, side);
                configs.push((path, side));
            }
        }
    }

    /// Whether tests or other sources use a file, or the project publishes it.
    fn is_used(&self, path: &str, users: FileUsers) -> bool {
        users.tests || users.work || self.product.publishes(path)
    }

    /// Whether a file is code of the product: it is used, and defines nothing that only a runner calls.
    fn is_used_source(&self, path: &str, users: FileUsers) -> bool {
        SourceLanguage::from_path(path).is_some()
            && self.is_used(path, users)
            && !self.has_hooks(path)
    }

    fn has_hooks(&self, path: &str) -> bool {
        HOOKS.is_match(self.text(path).unwrap_or_default())
    }

    fn load(&mut self, path: &'a str, side: ProjectSide) {
        match side {
            ProjectSide::Test => self.tests.insert(path),
            _ => self.setup_files.insert(path),
        };
    }

    /// Files of the base that options of the checks' command lines name.
    fn find_option_files(&self, steps: &[&Step]) -> Vec<(&'a str, ProjectSide)> {
        let mut found = Vec::new();
        for step in steps.iter().filter(|step| step.kind.executes()) {
            let directory = step.directory.as_deref().unwrap_or_default();
            let words = command_words(&step.target);
            for command in commands_of(&words) {
                let Some((program, arguments)) = program_of(command) else {
                    continue;
                };
                let is_read = READS_ARGUMENTS.is_match(program);
                let mut option = "";
                for word in arguments {
                    let (name, value) = match word.split_once('=') {
                        Some((name, value)) if name.starts_with('-') => (name, value),
                        _ if word.starts_with('-') => {
                            option = word.as_str();
                            continue;
                        }
                        _ if word.starts_with('@') => ("--config", word.trim_start_matches('@')),
                        _ => (option, word.as_str()),
                    };
                    option = "";
                    let side = match () {
                        () if is_read || name.is_empty() => continue,
                        () if CONFIG_OPTION.is_match(name) => ProjectSide::Test,
                        () if INPUT_OPTION.is_match(name) => ProjectSide::Shared,
                        () => continue,
                    };
                    let path = self.resolve(directory, value);
                    found.extend(path.filter(|path| !self.is_test_by_name(path)).map(|path| {
                        let is_source = SourceLanguage::from_path(path).is_some();
                        let is_build = side_of_config(path) == Some(ProjectSide::Shared);
                        let is_shared = is_source || is_build;
                        (path, if is_shared { ProjectSide::Shared } else { side })
                    }));
                }
            }
        }
        // Data that is not configuration is the program's input.
        found.retain(|(path, _)| {
            SourceLanguage::from_path(path).is_some() || CONFIG_DATA.is_match(path)
        });
        found
    }

    /// The file of the base that a path or a module's name refers to, from `folder` or the root.
    fn resolve(&self, folder: &str, word: &str) -> Option<&'a str> {
        const ENDINGS: [&str; 12] = [
            "",
            ".js",
            ".cjs",
            ".mjs",
            ".ts",
            ".json",
            ".py",
            ".rb",
            ".php",
            "/index.js",
            "/index.ts",
            "/__init__.py",
        ];
        // `.` and `conf/` are folders, in which a tool looks for its own configuration.
        if matches!(word, "." | "..") || word.ends_with('/') {
            return None;
        }
        let word = word.trim_start_matches("<rootDir>/");
        let word = word
            .trim_start_matches("{toxinidir}/")
            .trim_end_matches('/');
        let is_module = !word.contains('/') && !word.starts_with('.') && word.contains('.');
        let module = is_module.then(|| word.replace('.', "/"));
        for name in [Some(word), module.as_deref()].into_iter().flatten() {
            for folder in [folder, "", "src"] {
                let Some(path) = join(folder, name).filter(|path| !path.is_empty()) else {
                    continue;
                };
                for ending in ENDINGS {
                    if let Some((path, _)) = self.base.get_key_value(&format!("{path}{ending}")) {
                        return Some(path);
                    }
                }
            }
        }
        None
    }

    /// The files that a configuration loads, with their side and whether they count only if they have hooks.
    fn files_loaded_by(
        &self,
        config: &'a str,
        side: ProjectSide,
        names: &BTreeMap<&'a str, Vec<&'a str>>,
    ) -> Vec<(&'a str, ProjectSide, bool)> {
        let Some(text) = self.text(config) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        let is_test_code = TEST_CODE.is_match(config);
        let language = SourceLanguage::from_path(config);
        if language.is_some() {
            let imports = References::imported_by(config, text);
            let named = imports.needles().filter_map(|needle| names.get(needle));
            let targets = named.flatten().copied().map(ReferenceTarget::new);
            for target in targets.filter(|target| imports.contains(config, target)) {
                let takes_all = is_test_code && imports_all_of(text, stem_of(target.path));
                let has_hooks = self.has_hooks(target.path);
                let side = if takes_all && !has_hooks {
                    ProjectSide::Shared
                } else {
                    side
                };
                found.push((target.path, side, is_test_code && !takes_all));
            }
        }
        if language == Some(SourceLanguage::Shell) {
            found.retain(|(path, ..)| SourceLanguage::from_path(path).is_none());
            return found;
        }
        let own = text_for_checks(config, text);
        for word in words_with_keys(own.as_deref().unwrap_or(text)) {
            let is_loaded = |keys: &Pattern| {
                let mut near = word.keys.iter().rev().take(MAX_KEYS);
                near.any(|key| keys.is_match(key))
            };
            if !is_loaded(&LOADING_KEY) && !is_loaded(&CONFIG_KEY) {
                continue;
            }
            let is_import = matches!(word.keys.last(), Some(&("require" | "import")));
            let Some(path) = self.resolve(folder_of(config), word.text) else {
                continue;
            };
            let is_source = SourceLanguage::from_path(path).is_some();
            let is_relevant = match () {
                () if is_test_code => is_loaded(&PLUGIN_KEY),
                // Imports were read above.
                () if is_source && is_import && language.is_some() => false,
                () if is_source => is_loaded(&LOADING_KEY),
                () => {
                    CONFIG_DATA.is_match(path)
                        && (is_loaded(&LOADING_KEY) || is_loaded(&CONFIG_KEY))
                }
            };
            if !is_relevant || path == config || self.is_test_by_name(path) {
                continue;
            }
            let is_setup = is_source && !is_loaded(&PLUGIN_KEY) && is_loaded(&SETUP_KEY);
            let side = if is_setup { ProjectSide::Shared } else { side };
            found.push((path, side, false));
        }
        found
    }

    /// Finds whether tests, and whether other sources, refer to each of these files. References in configuration and
    /// scripts of checks do not count.
    fn find_users(&self, paths: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, FileUsers> {
        let targets: Vec<ReferenceTarget<'a>> = paths.map(ReferenceTarget::new).collect();
        let references = self.read_references(&targets);
        let without_users = targets.iter().map(|it| (it.path, FileUsers::default()));
        let mut users: BTreeMap<&'a str, FileUsers> = without_users.collect();
        let index = TargetIndex::new(targets, |_| false);
        let counts = |path: &str| {
            side_of_config(path).is_none()
                && !self.scripts.contains(path)
                && !self.setup_files.contains(path)
        };
        for (path, references) in references.iter().filter(|(path, _)| counts(path)) {
            for at in index.find_named(path, references) {
                let target = index.target(at).path;
                if target != *path {
                    let found = users.entry(target).or_default();
                    found.tests |= self.tests.contains(path);
                    found.work |= !self.tests.contains(path);
                }
            }
        }
        users
    }
}

#[derive(Debug, Clone, Copy, Default)]
struct FileUsers {
    tests: bool,
    work: bool,
}

/// `from tools.hooks import *`
fn imports_all_of(text: &str, module: &str) -> bool {
    text.lines().any(|line| {
        let line = line.split('#').next().unwrap_or(line);
        let names = line
            .trim()
            .strip_prefix("from ")
            .and_then(|rest| rest.split_once(" import "));
        names.is_some_and(|(from, names)| {
            names.trim() == "*" && from.rsplit('.').next().map(str::trim) == Some(module)
        })
    })
}

/// A word of a configuration with the keys that enclose it.
struct KeyedWord<'t> {
    text: &'t str,
    keys: Vec<&'t str>,
}

/// Reads the words of a configuration in any of the usual formats. A key is a word before `:` or `=`, a word before an
/// opening parenthesis, and an option (`-p`).
fn words_with_keys(text: &str) -> Vec<KeyedWord<'_>> {
    static TOKEN: Pattern = Pattern::new(
        r#"(?m)^[ \t]*(?:#|//)[^\n]*|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)'|([\w./@<>$*\\+-]+)|([{}\[\]()=:])|(\n)"#,
    );
    /// Maximum nesting of brackets.
    const MAX_DEPTH: usize = 64;
    let Some(regex) = TOKEN.regex() else {
        return Vec::new();
    };
    let mut words = Vec::new();
    let mut stack: Vec<&str> = Vec::new();
    let (mut key, mut last) = ("", "");
    for found in regex.captures_iter(text) {
        let word = [1, 2, 3].into_iter().find_map(|group| found.get(group));
        if let Some(word) = word {
            for part in word.as_str().split_whitespace() {
                if part.starts_with('-') && part.len() > 1 {
                    key = part;
                    last = part;
                    continue;
                }
                let mut keys = stack.clone();
                keys.push(key);
                words.push(KeyedWord { text: part, keys });
                last = part;
            }
            continue;
        }
        match found.get(4).map(|mark| mark.as_str()) {
            Some(":" | "=") => key = last,
            Some("(") if stack.len() < MAX_DEPTH => {
                stack.push(key);
                key = last;
            }
            Some("{" | "[") if stack.len() < MAX_DEPTH => stack.push(key),
            Some(")" | "}" | "]") => key = stack.pop().unwrap_or_default(),
            _ => {
                let end = found.get(0).map_or(text.len(), |it| it.end());
                let next = text.get(end..).unwrap_or_default();
                if stack.is_empty() && !next.starts_with([' ', '\t', '-']) {
                    key = "";
                }
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_keys_of_usual_formats() {
        for (text, word, key) in [
            (
                r#"{"jest":{"transform":{"\\.js$":"./tr.js"}}}"#,
                "./tr.js",
                "transform",
            ),
            (
                "module.exports = { setupFiles: ['./a.js', './b.js'] };",
                "./b.js",
                "setupFiles",
            ),
            (
                "[pytest]\naddopts = -q -p devtools.order\n",
                "devtools.order",
                "-p",
            ),
            ("--require ./conf/boot.rb\n", "./conf/boot.rb", "--require"),
            ("extend = \"conf/base.toml\"\n", "conf/base.toml", "extend"),
            ("require:\n  - ./a.js\n  - ./b.js\n", "./b.js", "require"),
            (
                "<phpunit bootstrap=\"../src/boot.php\">",
                "../src/boot.php",
                "bootstrap",
            ),
        ] {
            let words = words_with_keys(text);
            let found = words.iter().find(|it| it.text == word).unwrap();
            assert!(found.keys.contains(&key), "{text}: {:?}", found.keys);
        }
        let listed = "extend = 'a.toml'\n[lint.per-file-ignores]\n'app/x.py' = ['E501']\n";
        let words = words_with_keys(listed);
        let listed = words.iter().find(|it| it.text == "app/x.py").unwrap();
        assert!(!listed.keys.iter().any(|key| LOADING_KEY.is_match(key)));
    }
}
