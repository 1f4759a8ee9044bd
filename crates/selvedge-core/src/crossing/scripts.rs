//! Files that the command lines of the checks refer to: scripts, their inclusions, and recorded outputs.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use super::config_files::side_of_config;
use super::references::{ReferenceTarget, References, folder_of, join, name_of, stem_of};
use super::shell_flow::{Receivers, ShellNames, find_judges, pipelines_of};
use super::sides::{BaseProject, ProjectSide, script_globs};
use crate::guard::{ChangedFile, HELPER_NAME, Pattern, SourceLanguage, words_of};
use crate::model::Step;

impl<'a> BaseProject<'a> {
    /// Finds the scripts of the checks, and the files that they source or include.
    pub(super) fn find_scripts(&mut self, steps: &[Step]) {
        let Some(globs) = script_globs(steps) else {
            return;
        };
        let subjects = self.find_filtered_subjects(steps);
        let named = self.base.keys().map(String::as_str);
        let named = named.filter(|path| globs.is_match(path) && !subjects.contains(path));
        self.follow_scripts(named.collect());
    }

    /// Programs whose output the command line of a check filters and compares (`sh total.sh 1 2 | grep -qx 3`), and
    /// that use nothing else of the project.
    pub(super) fn find_filtered_subjects(&self, steps: &[Step]) -> BTreeSet<&'a str> {
        static COMPARES: Pattern =
            Pattern::new(r"^(?:[ef]?grep|rg|diff|cmp|comm|jq|[gm]?awk|test|\[)$");
        let mut subjects = BTreeSet::new();
        for step in steps.iter().filter(|step| step.kind.executes()) {
            let directory = step.directory.as_deref().unwrap_or_default();
            for pipeline in pipelines_of(&step.target) {
                let Some((last, before)) = pipeline.commands.split_last() else {
                    continue;
                };
                let program = last.invocation().first();
                if !program.is_some_and(|program| COMPARES.is_match(&program.text)) {
                    continue;
                }
                let words = before.iter().flat_map(|command| &command.words);
                let paths = words.filter_map(|word| join(directory, &word.text));
                let files = paths.filter_map(|path| self.base.get_key_value(&path));
                subjects.extend(files.map(|(path, _)| path.as_str()).filter(|path| {
                    let text = self.text(path).unwrap_or_default();
                    let uses = References::of_script(text);
                    let mut others = self.base.keys().filter(|other| other != path);
                    !HELPER_NAME.is_match(name_of(path))
                        && !others.any(|other| uses.contains(path, &ReferenceTarget::new(other)))
                }));
            }
        }
        subjects
    }

    /// Finds libraries and programs that judge the output of other code of the project, according to shell scripts of
    /// the tests and the command lines of the checks. The base's version of them is tried first.
    /// Only scripts that contain the name of a changed file are read.
    pub(super) fn find_judging_files(&mut self, changes: &[ChangedFile<'_>], lines: &[&Step]) {
        let changed = changes
            .iter()
            .filter(|change| self.base.contains_key(change.path));
        let mut names: BTreeSet<&str> = changed.map(|change| stem_of(change.path)).collect();
        names.remove("");
        let Some(search) = AhoCorasick::new(&names).ok().filter(|_| !names.is_empty()) else {
            return;
        };
        let scripts = self.tests.iter().chain(&self.scripts).copied();
        let scripts: BTreeSet<&'a str> = scripts
            .filter(|path| self.text(path).is_some_and(|text| is_shell(path, text)))
            .filter(|path| side_of_config(path).is_none())
            .collect();
        let mut judges: BTreeSet<String> = BTreeSet::new();
        let mut subjects: BTreeSet<String> = BTreeSet::new();
        let mut libraries: BTreeMap<&'a str, BTreeSet<&'a str>> = BTreeMap::new();
        let texts = scripts
            .iter()
            .map(|path| ((*path).to_owned(), self.text(path).unwrap_or_default()));
        let lines = lines
            .iter()
            .filter(|step| step.kind.executes())
            .map(|step| {
                let directory = step.directory.as_deref().unwrap_or_default();
                let path = join(directory, "command").unwrap_or_default();
                (path, step.target.as_str())
            });
        let texts: Vec<(String, &str)> = texts.chain(lines).collect();
        // Scripts that mention a changed file, and those that may call functions of such a script.
        let is_mentioned = |(_, text): &&(String, &str)| search.is_match(*text);
        let mentioning = texts.iter().filter(is_mentioned);
        let callees: BTreeSet<&str> = mentioning.map(|(path, _)| stem_of(path)).collect();
        let callers = AhoCorasick::new(&callees).ok();
        let calls = |text: &str| callers.as_ref().is_some_and(|it| it.is_match(text));
        let read: Vec<&(String, &str)> = texts
            .iter()
            .filter(|(_, text)| search.is_match(*text) || (!callees.is_empty() && calls(text)))
            .collect();
        let mut receivers = Receivers::default();
        for (path, text) in read.iter().chain(&read) {
            let names = ScriptNames::read(self, path, text);
            for library in names.libraries.iter().filter(|it| !self.is_of_checks(it)) {
                if let Some(script) = scripts.get(path.as_str()) {
                    libraries.entry(library).or_default().insert(script);
                }
            }
            let found = find_judges(text, &names, &mut receivers);
            judges.extend(found.files);
            subjects.extend(found.subjects);
        }
        self.sourced_libraries = libraries;
        let found = judges.difference(&subjects).filter_map(|path| {
            let (path, _) = self.base.get_key_value(path)?;
            let is_subject =
                self.is_program(path) || self.has_own_test(path) || self.is_of_checks(path);
            (!is_subject).then_some(path.as_str())
        });
        let found: Vec<&'a str> = found.collect();
        self.setup_files.extend(found);
    }

    fn is_of_checks(&self, path: &str) -> bool {
        self.tests.contains(path) || self.scripts.contains(path)
    }

    /// Adds scripts, and the files that they source or include.
    pub(super) fn follow_scripts(&mut self, mut unread: Vec<&'a str>) {
        while let Some(path) = unread.pop() {
            if !self.scripts.insert(path) {
                continue;
            }
            let Some(text) = self.text(path).filter(|text| is_shell(path, text)) else {
                continue;
            };
            let (sourced, named) = (References::sourced_by(text), References::of_script(text));
            let judges = self.find_comparators(path, text);
            let subject = self.find_sourced_subject(path, &sourced, &named);
            if let Some(subject) = subject {
                self.sourced_subjects.insert(subject, path);
            }
            let others = self
                .base
                .keys()
                .filter(|other| subject != Some(other.as_str()));
            let sourced = others.filter(|other| {
                let target = ReferenceTarget::new(other);
                // The task may be about a program that a script only runs.
                let is_check = SourceLanguage::from_path(other).is_some()
                    && HELPER_NAME.is_match(stem_of(other));
                sourced.contains(path, &target)
                    || sourced.contains_folder_of(path, &target)
                    || (is_check && named.contains(path, &target))
                    || judges.contains(other.as_str())
            });
            unread.extend(sourced.map(String::as_str));
        }
    }

    /// The only library that a script sources, if the script uses nothing else of the project: it is the code under
    /// test. A library whose functions contain assertions, or run a program of the project, belongs to the check.
    fn find_sourced_subject(
        &self,
        script: &str,
        sourced: &References,
        named: &References,
    ) -> Option<&'a str> {
        let files = self.base.keys().map(String::as_str);
        let used = files.filter(|other| *other != script).filter(|other| {
            let target = ReferenceTarget::new(other);
            named.contains(script, &target) || sourced.contains(script, &target)
        });
        let mut used = used.filter(|other| !self.scripts.contains(other));
        let subject = used.next().filter(|_| used.next().is_none())?;
        let text = self.text(subject)?;
        let is_sourced = sourced.contains(script, &ReferenceTarget::new(subject));
        let uses = References::of_script(text);
        let uses_project = || {
            let mut files = self.base.keys().filter(|other| *other != subject);
            files.any(|other| uses.contains(subject, &ReferenceTarget::new(other)))
        };
        let is_subject = is_sourced
            && is_shell(subject, text)
            && !HELPER_NAME.is_match(stem_of(subject))
            && functions_of_library(text).is_some_and(|functions| !functions.is_empty())
            && !uses_project();
        is_subject.then_some(subject)
    }

    /// Whether a change of the library that a script tests would affect the script itself: end it, or replace one of
    /// its commands.
    pub(super) fn affects_script(&self, change: &ChangedFile<'_>) -> bool {
        let Some(script) = self.sourced_subjects.get(change.path) else {
            return self.takes_over_script(change);
        };
        if self.replaces_trap(script, change) {
            return true;
        }
        let functions = |bytes: Option<&[u8]>| {
            let text = std::str::from_utf8(bytes?).ok()?;
            let functions = functions_of_library(text)?;
            Some(
                functions
                    .into_iter()
                    .map(str::to_owned)
                    .collect::<BTreeSet<_>>(),
            )
        };
        let (Some(before), Some(after)) = (functions(change.before), functions(change.after))
        else {
            return true;
        };
        let text = self.text(script).unwrap_or_default();
        let words: BTreeSet<&str> = text
            .split(|it: char| it.is_whitespace() || "\"'`$(){}|&;".contains(it))
            .collect();
        after
            .difference(&before)
            .any(|name| words.contains(name.as_str()))
    }

    /// Whether a change of a library adds a trap although the script that sources it has one, which ends then.
    fn replaces_trap(&self, script: &str, change: &ChangedFile<'_>) -> bool {
        let traps = |bytes: Option<&[u8]>| {
            let text = String::from_utf8_lossy(bytes.unwrap_or_default());
            CLEANUP_TRAP.regex().map(|it| it.find_iter(&text).count())
        };
        let has_trap = self.text(script).unwrap_or_default().contains("trap");
        has_trap && traps(change.after) > traps(change.before)
    }

    /// Whether a change of a library that scripts of the tests source defines a function that these scripts have from
    /// elsewhere, or ends the script.
    fn takes_over_script(&self, change: &ChangedFile<'_>) -> bool {
        static DEFINED: Pattern = Pattern::new(
            r"(?m)(?:^|;)[ \t]*(?:function[ \t]+)?([\w:.-]+)[ \t]*\([ \t]*\)|(?:^|;)[ \t]*(?:function|alias)[ \t]+([\w:.-]+)",
        );
        static ENDS: Pattern = Pattern::new(
            r"(?m)(?:^|[;&|{]|\bthen|\bdo)[ \t]*(?:trap\b|exec\b|exit(?:[ \t]+0)?[ \t]*(?:$|[;}&|#]))",
        );
        let (Some(scripts), Some(defined), Some(ends)) = (
            self.sourced_libraries.get(change.path),
            DEFINED.regex(),
            ENDS.regex(),
        ) else {
            return false;
        };
        if scripts.iter().any(|it| self.replaces_trap(it, change)) {
            return true;
        }
        let text = |bytes: Option<&[u8]>| {
            without_cleanup(&String::from_utf8_lossy(bytes.unwrap_or_default())).into_owned()
        };
        let (before, after) = (text(change.before), text(change.after));
        let names = |text: &str| -> BTreeSet<String> {
            let found = defined.captures_iter(text);
            let names = found.filter_map(|it| {
                it.iter()
                    .skip(1)
                    .flatten()
                    .next()
                    .map(|it| it.as_str().to_owned())
            });
            names.collect()
        };
        let added = &names(&after) - &names(&before);
        let is_used = |script: &&str| {
            let text = self.text(script).unwrap_or_default();
            let mut words =
                text.split(|it: char| it.is_whitespace() || "\"'`$(){}|&;".contains(it));
            words.any(|word| added.contains(word))
        };
        ends.find_iter(&after).count() > ends.find_iter(&before).count()
            || scripts.iter().any(is_used)
    }

    /// Programs at the end of a script's pipes that receive the output of another program of the project and a file to
    /// compare it with.
    fn find_comparators(&self, script: &str, text: &str) -> BTreeSet<&'a str> {
        let mut judges = BTreeSet::new();
        let base = self.base;
        let named_in = |part: &str| {
            let mut words = References::default();
            words.add_words(part);
            let named = base.keys().map(String::as_str);
            let named =
                named.filter(move |path| words.contains(script, &ReferenceTarget::new(path)));
            named.partition::<Vec<&str>, _>(|path| SourceLanguage::from_path(path).is_some())
        };
        for line in text.lines().filter(|line| line.contains('|')) {
            let line = line.replace("||", "\n");
            for pipe in line.lines() {
                let Some((before, last)) = pipe.rsplit_once('|') else {
                    continue;
                };
                let ((judged, _), (programs, data)) = (named_in(before), named_in(last));
                if !judged.is_empty() && !data.is_empty() {
                    judges.extend(programs.into_iter().filter(|it| !judged.contains(it)));
                }
            }
        }
        judges
    }

    /// Finds data that the command lines of the checks refer to: the expected output of a comparison, and files named
    /// like tests.
    pub(super) fn find_named_data(&mut self, steps: &[Step]) {
        for word in words_of(steps) {
            let named = self.base.keys().filter(|path| {
                let rest = path.strip_prefix(word.text.as_str());
                let is_named = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
                is_named
                    && SourceLanguage::from_path(path).is_none()
                    && (word.is_compared || HELPER_NAME.is_match(path))
            });
            self.tests.extend(named.map(String::as_str));
        }
    }

    /// Finds code that runners load first, according to their configuration.
    pub(super) fn find_setup_files(&mut self) {
        static NAMED: Pattern = Pattern::new(
            r#"\bbootstrap=["']([^"'\n]+)|\b(?:setupFiles(?:AfterEnv)?|global(?:Setup|Teardown)|testEnvironment|testRunner)["']?[ \t]*:[ \t\n]*\[?[ \t\n]*["']([^"'\n]+)"#,
        );
        let Some(regex) = NAMED.regex() else { return };
        let configs = self.base.keys();
        let configs = configs.filter(|path| side_of_config(path) == Some(ProjectSide::Test));
        for config in configs {
            let Some(text) = self.text(config) else {
                continue;
            };
            let mut words = References::default();
            for found in regex.captures_iter(text) {
                let path = found.iter().skip(1).flatten().next();
                let path = path.map_or("", |path| path.as_str());
                words.add_words(path.trim_start_matches("<rootDir>/"));
            }
            let named = self.base.keys();
            let named = named.filter(|path| words.contains(config, &ReferenceTarget::new(path)));
            self.setup_files.extend(named.map(String::as_str));
        }
    }

    /// Whether a check's script tests for this file and works without it.
    pub(super) fn is_optional_in_script(&self, path: &str) -> bool {
        static OPTIONAL_SOURCE: Pattern =
            Pattern::new(r"(?:\[|\btest)[ \t]+-[efrsx][ \t]|^[ \t]*-s?include\b|2>[ \t]*/dev/null");
        let target = ReferenceTarget::new(path);
        let mut scripts = self.scripts.iter();
        scripts.any(|script| {
            let lines = self.text(script).unwrap_or_default().lines();
            let mut optional = lines.filter(|line| OPTIONAL_SOURCE.is_match(line));
            optional.any(|line| {
                let mut words = References::default();
                words.add_words(line);
                words.contains(script, &target)
            })
        })
    }
}

/// What the words of a shell script of the tests stand for.
struct ScriptNames<'p, 'a> {
    project: &'p BaseProject<'a>,
    folder: String,
    /// The files that the script sources.
    libraries: Vec<&'a str>,
    functions: BTreeMap<&'a str, &'a str>,
    /// The folders that the script adds to the search path, as text.
    search_path: String,
}

impl<'p, 'a> ScriptNames<'p, 'a> {
    fn read(project: &'p BaseProject<'a>, path: &str, text: &str) -> Self {
        static FUNCTION: Pattern =
            Pattern::new(r"(?m)^[ \t]*(?:function[ \t]+([\w:.-]+)|([\w:.-]+)[ \t]*\([ \t]*\))");
        let sourced = References::sourced_by(text);
        let files = project.base.keys().map(String::as_str);
        let libraries: Vec<&'a str> = files
            .filter(|other| *other != path && sourced.contains(path, &ReferenceTarget::new(other)))
            .filter(|other| side_of_config(other).is_none())
            .collect();
        let mut functions = BTreeMap::new();
        for library in &libraries {
            let text = project.text(library).unwrap_or_default();
            let found = FUNCTION.regex().map(|regex| regex.captures_iter(text));
            for found in found.into_iter().flatten() {
                if let Some(name) = found.iter().skip(1).flatten().next() {
                    functions.insert(name.as_str(), *library);
                }
            }
        }
        let paths = text.lines().filter(|line| line.contains("PATH="));
        Self {
            project,
            folder: folder_of(path).to_owned(),
            libraries,
            functions,
            search_path: paths.collect(),
        }
    }
}

impl ShellNames for ScriptNames<'_, '_> {
    fn is_code(&self, word: &str) -> bool {
        let files = self.files(word);
        files.iter().any(|path| {
            let is_script = || {
                self.project
                    .text(path)
                    .is_some_and(|text| text.starts_with("#!"))
            };
            !self.project.is_of_checks(path)
                && (SourceLanguage::from_path(path).is_some() || is_script())
        })
    }

    fn files(&self, word: &str) -> Vec<String> {
        if let Some(library) = self.functions.get(word) {
            return vec![(*library).to_owned()];
        }
        let is_name = |it: char| it.is_alphanumeric() || "._-".contains(it);
        if !word.contains('/') && !self.search_path.is_empty() && word.chars().all(is_name) {
            let files = self.project.base.keys();
            let found = files.filter(|path| {
                let folder = name_of(folder_of(path));
                name_of(path) == word && !folder.is_empty() && self.search_path.contains(folder)
            });
            let found: Vec<String> = found.cloned().collect();
            if !found.is_empty() {
                return found;
            }
        }
        // `$ROOT/lib/compare.awk`
        let (is_below_variable, word) = match word.rsplit_once('$') {
            Some((_, rest)) => (true, rest.split_once('/').map_or("", |(_, rest)| rest)),
            None => (word.starts_with('/'), word),
        };
        let word = word.trim_start_matches('/');
        if word.is_empty() || word.starts_with('-') {
            return Vec::new();
        }
        let places = [self.folder.as_str(), ""]
            .into_iter()
            .filter_map(|folder| join(folder, word));
        let mut files: Vec<String> = places
            .filter(|path| self.project.base.contains_key(path))
            .collect();
        if files.is_empty() && is_below_variable && word.contains('.') {
            let ending = format!("/{word}");
            let found = self
                .project
                .base
                .keys()
                .filter(|path| path.ends_with(&ending));
            files = found.cloned().collect();
        }
        files.dedup();
        files
    }
}

/// A trap that removes files when the script ends, which does not change how it ends. In double quotes a variable could
/// contain other commands.
static CLEANUP_TRAP: Pattern = Pattern::new(
    r"\btrap[ \t]+(?:--[ \t]+)?(?:'rm(?:dir)?\b[^'\n;&|`()]*'|\x22rm(?:dir)?\b[^\x22\n;&|`()$]*\x22)(?:[ \t]+(?:EXIT|HUP|INT|TERM)\b)+",
);

/// The text without traps that only remove files, unless it defines the command that would do so.
fn without_cleanup(text: &str) -> Cow<'_, str> {
    static DEFINES_COMMAND: Pattern =
        Pattern::new(r"\brm(?:dir)?[ \t]*\(|\b(?:function|alias)[ \t]+rm(?:dir)?\b");
    match CLEANUP_TRAP
        .regex()
        .filter(|_| !DEFINES_COMMAND.is_match(text))
    {
        Some(regex) => regex.replace_all(text, ":"),
        None => text.into(),
    }
}

/// The functions of a shell library; `None` if it does more than define functions and variables, ends the
/// shell, or checks.
fn functions_of_library(text: &str) -> Option<Vec<&str>> {
    static FUNCTION: Pattern =
        Pattern::new(r"^(?:function[ \t]+)?([\w-]+)[ \t]*(?:\([ \t]*\))?[ \t]*\{");
    static PLAIN: Pattern =
        Pattern::new(r"^(?:#.*|(?:readonly[ \t]+)?[A-Za-z_]\w*=[^$`;&|]*|[ \t]*)$");
    static CHECKS: Pattern = Pattern::new(
        r"\b(?:exit|trap|exec|eval|alias|kill|diff|cmp|expect\w*|assert\w*)\b|(?i)\bfail|\bnot ok\b|\bwrong\b",
    );
    if CHECKS.is_match(&without_cleanup(text)) {
        return None;
    }
    let mut functions = Vec::new();
    let mut in_function = false;
    for line in text.lines() {
        if in_function {
            in_function = line != "}";
            continue;
        }
        let found = FUNCTION.regex().and_then(|regex| regex.captures(line));
        match found.and_then(|found| found.get(1)) {
            Some(name) => {
                functions.push(name.as_str());
                in_function = !line.trim_end().ends_with('}');
                // Nothing may follow the function in its line.
                if !in_function && line.matches('}').count() > line.matches('{').count() {
                    return None;
                }
            }
            None if PLAIN.is_match(line) => {}
            None => return None,
        }
    }
    (!in_function).then_some(functions)
}

/// Whether a file is a shell script, by its extension or its first line.
fn is_shell(path: &str, text: &str) -> bool {
    static FIRST_LINE: Pattern = Pattern::new(r"^#![^\n]*\b(?:ba|da|k|z)?sh\b");
    match SourceLanguage::from_path(path) {
        None => FIRST_LINE.is_match(text),
        language => language == Some(SourceLanguage::Shell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_source_libraries() {
        for (text, functions) in [
            ("up() { echo \"$1\"; }\n", Some(vec!["up"])),
            (
                "# Words\nSEP=-\nup() {\n    tr a-z A-Z\n}\nfunction down {\n    return 1\n}\n",
                Some(vec!["up", "down"]),
            ),
            ("same() {\n    [ \"$1\" = \"$2\" ] || exit 1\n}\n", None),
            ("up() { echo; }; exec true\n", None),
            ("up() { echo \"$1\"; }\nset -- a\n", None),
            ("up() {\n    echo\n", None),
        ] {
            assert_eq!(functions_of_library(text), functions, "{text}");
        }
    }
}
