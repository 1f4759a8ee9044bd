//! Rules of makefiles and justfiles: targets, their prerequisites, and the command lines of their recipes.

use std::collections::{BTreeMap, BTreeSet};

use super::references::{ReferenceTarget, References, folder_of, join, name_of};
use super::sides::BaseFiles;
use crate::guard::{Pattern, SourceLanguage};

/// Maximum depth of variables in variables, and of files that include files.
const MAX_NESTING: usize = 6;
/// Longer lines are not expanded further.
const MAX_LINE_BYTES: usize = 8 << 10;

#[derive(Debug, Default)]
struct Rule {
    prerequisites: Vec<String>,
    recipe: Vec<String>,
}

impl Rule {
    /// Replaces make's automatic variables in a line of the recipe.
    fn with_own_names(&self, line: &str, target: &str) -> String {
        static AUTOMATIC: Pattern = Pattern::new(r"\$(?:\$|\(([@<^+?])\)|\{([@<^+?])\}|([@<^+?]))");
        let Some(regex) = AUTOMATIC.regex() else {
            return line.to_owned();
        };
        let value = |found: &regex::Captures<'_>| match found.iter().skip(1).flatten().next() {
            Some(name) if name.as_str() == "@" => target.to_owned(),
            Some(name) if name.as_str() == "<" => {
                self.prerequisites.first().cloned().unwrap_or_default()
            }
            Some(_) => self.prerequisites.join(" "),
            None => found[0].to_owned(),
        };
        regex.replace_all(line, value).into_owned()
    }
}

/// The rules of a makefile or justfile and the files that it includes.
#[derive(Debug, Default)]
pub(super) struct Rules {
    by_target: BTreeMap<String, Rule>,
    variables: BTreeMap<String, String>,
    /// The first target.
    first: Option<String>,
}

impl Rules {
    /// Reads the rules at `path`, as run in `directory`; `None` if that text file does not exist.
    pub(super) fn read(base: &BaseFiles, path: &str, directory: &str) -> Option<Self> {
        let mut rules = Self::default();
        rules.variables.insert("MAKE".to_owned(), "make".to_owned());
        rules.variables.insert("CURDIR".to_owned(), ".".to_owned());
        let mut unread = vec![path.to_owned()];
        let mut seen = BTreeSet::new();
        while let Some(path) = unread.pop() {
            if seen.len() > MAX_NESTING * MAX_NESTING || !seen.insert(path.clone()) {
                continue;
            }
            let bytes = base.get(&path).and_then(Option::as_deref);
            let Some(text) = bytes.and_then(|bytes| std::str::from_utf8(bytes).ok()) else {
                continue;
            };
            rules.parse(text, name_of(&path).to_lowercase().contains("just"));
            let included = References::sourced_by(text);
            let at = join(directory, "Makefile").unwrap_or_default();
            let included = base.keys().filter(|other| {
                let target = ReferenceTarget::new(other);
                included.contains(&at, &target) || included.contains_folder_of(&at, &target)
            });
            unread.extend(included.cloned());
        }
        (!rules.by_target.is_empty()).then_some(rules)
    }

    fn parse(&mut self, text: &str, is_just: bool) {
        static VARIABLE: Pattern = Pattern::new(
            r"^(?:export[ \t]+|override[ \t]+|set[ \t]+)?([\w.-]+)[ \t]*[:?+!]{0,3}=[ \t]*(.*)$",
        );
        static RULE: Pattern = Pattern::new(r"^([^:=#\t][^:=#]*?)[ \t]*::?[ \t]*([^=]*)$");
        let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
        let mut current: Vec<String> = Vec::new();
        for line in text.lines() {
            let is_recipe = line.starts_with('\t') || (is_just && line.starts_with(' '));
            if is_recipe && !current.is_empty() {
                for target in &current {
                    let rule = self.by_target.entry(target.clone()).or_default();
                    let line = line.trim();
                    // In a justfile, `$@` are the arguments of the recipe.
                    rule.recipe.push(if is_just {
                        line.to_owned()
                    } else {
                        rule.with_own_names(line, target)
                    });
                }
                continue;
            }
            let line = line.trim_end();
            // Both branches of a conditional belong to the rule around it.
            let first = line.split_whitespace().next().unwrap_or_default();
            if matches!(
                first,
                "ifdef" | "ifndef" | "ifeq" | "ifneq" | "else" | "endif"
            ) {
                continue;
            }
            if let Some(found) = VARIABLE.regex().and_then(|regex| regex.captures(line)) {
                let group = |index| found.get(index).map_or("", |it| it.as_str());
                let (name, value) = (group(1), group(2).trim_matches(['"', '\'']));
                let old = self.variables.entry(name.to_owned()).or_default();
                if line.contains("+=") {
                    old.push(' ');
                    old.push_str(value);
                } else {
                    value.clone_into(old);
                }
                continue;
            }
            let (line, inline) = match line.split_once(';') {
                Some((line, inline)) if !is_just => (line, Some(inline)),
                _ => (line, None),
            };
            let Some(found) = RULE
                .regex()
                .and_then(|regex| regex.captures(line.trim_end()))
            else {
                if !line.trim().is_empty() && !line.starts_with('#') {
                    current.clear();
                }
                continue;
            };
            let targets = self.expand(found.get(1).map_or("", |it| it.as_str()));
            let prerequisites = self.expand(found.get(2).map_or("", |it| it.as_str()));
            let prerequisites = prerequisites.split('#').next().unwrap_or_default();
            let names = |text: &str| -> Vec<String> {
                let words = text
                    .split_whitespace()
                    .filter(|word| !matches!(*word, "|" | "&&"));
                words
                    .map(|word| word.trim_matches(['@', '(', ')', '&']).to_owned())
                    .collect()
            };
            current = names(&targets);
            if is_just {
                current.truncate(1);
            }
            if self.first.is_none() {
                self.first = current.iter().find(|name| !name.starts_with('.')).cloned();
            }
            for target in &current {
                let rule = self.by_target.entry(target.clone()).or_default();
                rule.prerequisites.extend(names(prerequisites));
                let inline = inline.map(|line| rule.with_own_names(line.trim(), target));
                rule.recipe.extend(inline);
            }
        }
    }

    /// Replaces variables; those without a value are removed.
    fn expand(&self, line: &str) -> String {
        static NAMED: Pattern =
            Pattern::new(r"\$\(([\w.-]+)\)|\$\{([\w.-]+)\}|\{\{[ \t]*([\w-]+)[ \t]*\}\}");
        let mut line = line.to_owned();
        let Some(regex) = NAMED.regex() else {
            return line;
        };
        for _ in 0..MAX_NESTING {
            if !regex.is_match(&line) || line.len() > MAX_LINE_BYTES {
                break;
            }
            let replaced = regex.replace_all(&line, |found: &regex::Captures<'_>| {
                let name = found.iter().skip(1).flatten().next();
                let value = name.and_then(|name| self.variables.get(name.as_str()));
                value.cloned().unwrap_or_default()
            });
            line = replaced.into_owned();
        }
        line.replace("$$", "$")
    }

    /// The command lines that these goals run (the first target if there are none), and whether each belongs to a goal
    /// itself rather than to a prerequisite. A target without a recipe is replaced by its prerequisites.
    pub(super) fn recipes_of(&self, goals: &[&str]) -> Vec<(Vec<String>, bool)> {
        let default = || {
            let named = self.variables.get(".DEFAULT_GOAL");
            named.or(self.first.as_ref()).map(String::as_str)
        };
        let mut unread: Vec<(&str, bool)> = match goals {
            [] => default().into_iter().map(|goal| (goal, true)).collect(),
            goals => goals.iter().map(|goal| (*goal, true)).collect(),
        };
        if unread
            .iter()
            .any(|(goal, _)| !self.by_target.contains_key(*goal))
        {
            // A rule that was not understood: any recipe may be run.
            unread.extend(self.by_target.keys().map(|target| (target.as_str(), false)));
        }
        let mut seen = BTreeSet::new();
        let mut lines = Vec::new();
        while let Some((target, is_goal)) = unread.pop() {
            let Some(rule) = self.by_target.get(target).filter(|_| seen.insert(target)) else {
                continue;
            };
            let is_own = is_goal && rule.recipe.is_empty();
            let prerequisites = rule.prerequisites.iter();
            unread.extend(prerequisites.map(|name| (name.as_str(), is_own)));
            let commands = rule.recipe.iter().map(|line| self.expand(line));
            let commands =
                commands.map(|line| line.trim_start_matches(['@', '-', '+', ' ']).to_owned());
            let commands: Vec<String> = commands
                .filter(|line| !line.is_empty() && !line.starts_with('#'))
                .filter(|line| shell_words::split(line).is_ok())
                .collect();
            if !commands.is_empty() {
                lines.push((commands, is_goal));
            }
        }
        lines
    }

    /// What a program is made from.
    pub(super) fn prerequisites_of(&self, program: &str) -> impl Iterator<Item = &str> {
        let program = program.trim_start_matches("./");
        let rule = self.by_target.get(program).into_iter();
        rule.flat_map(|rule| rule.prerequisites.iter().map(String::as_str))
    }

    /// The files that the rules make.
    fn targets(&self) -> impl Iterator<Item = &str> {
        let made = self
            .by_target
            .iter()
            .filter(|(_, rule)| !rule.recipe.is_empty());
        made.map(|(target, _)| target.as_str())
    }
}

/// Files that makefiles of the base have rules for: build output.
pub(super) fn find_made_files(base: &BaseFiles) -> BTreeSet<String> {
    let makefiles = base.iter().filter(|(path, _)| {
        SourceLanguage::from_path(path) == Some(SourceLanguage::Shell)
            && name_of(path).to_lowercase().contains("makefile")
    });
    let mut made = BTreeSet::new();
    for (path, bytes) in makefiles {
        let text = bytes
            .as_deref()
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        let mut rules = Rules::default();
        rules.parse(text.unwrap_or_default(), false);
        let targets = rules.targets().filter(|target| target.contains(['/', '.']));
        made.extend(targets.filter_map(|target| join(folder_of(path), target)));
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn automatic_variables_are_those_of_make() {
        let recipe = |file: &str, text: &str| {
            let base: BaseFiles = [(file.to_owned(), Some(text.as_bytes().to_vec()))].into();
            let rules = Rules::read(&base, file, "").unwrap();
            let (commands, _) = rules.recipes_of(&["all"]).remove(0);
            commands.join("; ")
        };
        let makefile = "all: a.c b.c\n\tcc -o $@ $^ $(<)\n\t./$@ $$@\n";
        let expected = "cc -o all a.c b.c a.c; ./all $@";
        assert_eq!(recipe("Makefile", makefile), expected);
        assert_eq!(recipe("justfile", "all *args:\n  pytest $@\n"), "pytest $@");
    }
}
