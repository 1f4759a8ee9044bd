//! Sources of programs that build files register as tests: `add_test` of CMake, `test` of Meson, `check_PROGRAMS` of
//! automake, and programs that the recipes of a makefile run. Their names need not show it.
//!
//! Build files are not evaluated: functions, loops and conditions of them are ignored. A program that is run with
//! arguments, is installed, or shares its sources with another target may be the product.

use std::collections::{BTreeMap, BTreeSet};

use super::recipes::Rules;
use super::references::{ReferenceTarget, References, folder_of, join, name_of};
use super::sides::BaseProject;
use super::wrappers::{MAKEFILES, WrappedCommand};
use crate::guard::{Pattern, SourceLanguage, command_words, commands_of, program_of};

static MAIN: Pattern = Pattern::new(r"\bmain[ \t]*\(");

/// The targets of a build file, with sources as paths of the project.
#[derive(Debug, Default)]
struct Targets {
    programs: BTreeMap<String, Vec<String>>,
    /// Sources of libraries and of other targets that are no test programs.
    other_sources: BTreeSet<String>,
    /// Programs that are run as tests, without arguments.
    tests: BTreeSet<String>,
    /// Programs that are installed, or run with arguments.
    products: BTreeSet<String>,
}

impl Targets {
    /// The sources that belong only to test programs.
    fn test_sources(&self) -> BTreeSet<&str> {
        let is_test = |name: &&String| self.tests.contains(*name) && !self.products.contains(*name);
        let (tests, others): (Vec<_>, Vec<_>) =
            self.programs.iter().partition(|(name, _)| is_test(name));
        let others = others.into_iter().flat_map(|(_, sources)| sources);
        let others: BTreeSet<&String> = others.chain(&self.other_sources).collect();
        let sources = tests.into_iter().flat_map(|(_, sources)| sources);
        sources
            .filter(|path| !others.contains(path))
            .map(String::as_str)
            .collect()
    }
}

impl BaseProject<'_> {
    /// Finds sources of test programs. They are shared: if one of them is the code under test after all, the work is
    /// not refused.
    pub(super) fn find_test_programs(&mut self, wrapped: &[WrappedCommand]) {
        let mut found: BTreeSet<String> = BTreeSet::new();
        for path in self.base.keys().filter(|path| !self.is_vendored(path)) {
            let read = match name_of(path) {
                "CMakeLists.txt" => read_cmake,
                "meson.build" => read_meson,
                "Makefile.am" => read_automake,
                _ => continue,
            };
            let targets = read(self.text(path).unwrap_or_default(), folder_of(path));
            found.extend(targets.test_sources().into_iter().map(str::to_owned));
        }
        found.extend(self.sources_of_run_programs(wrapped));
        // Code under test may be compiled into the same program.
        found.retain(|path| {
            let is_main = MAIN.is_match(self.text(path).unwrap_or_default());
            is_main && !self.tests.contains(path.as_str()) && !self.is_program(path)
        });
        if found.is_empty() {
            return;
        }
        // What tests something else refers to it.
        let tests_code = |path: &&String| {
            let references = References::of(path, self.text(path).unwrap_or_default());
            let mut others = self.base.keys().filter(|other| !found.contains(*other));
            others.any(|other| {
                let is_source = SourceLanguage::from_path(other).is_some();
                is_source && references.contains(path, &ReferenceTarget::new(other))
            })
        };
        let drivers = found.iter().filter(tests_code);
        let drivers = drivers.filter_map(|path| Some(self.base.get_key_value(path)?.0.as_str()));
        let drivers: Vec<_> = drivers.collect();
        self.setup_files.extend(drivers);
    }

    /// Sources from which makefiles make the programs that their recipes run without arguments.
    fn sources_of_run_programs(&self, wrapped: &[WrappedCommand]) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for command in wrapped.iter().filter(|it| it.is_goal) {
            let folder = command.step.directory.as_deref().unwrap_or_default();
            let words = command_words(&command.step.target);
            let run = commands_of(&words).filter_map(program_of);
            let run: Vec<&str> = run
                .filter(|(_, arguments)| arguments.is_empty())
                .map(|(program, _)| program)
                .collect();
            let makefiles = MAKEFILES.iter().filter_map(|name| join(folder, name));
            let rules = makefiles.filter_map(|path| Rules::read(self.base, &path, folder));
            for rules in rules {
                let sources = run
                    .iter()
                    .flat_map(|program| rules.prerequisites_of(program));
                let sources = sources.flat_map(sources_of_object);
                let sources = sources.filter_map(|name| join(folder, &name));
                let is_compiled =
                    |path: &String| SourceLanguage::from_path(path) == Some(SourceLanguage::C);
                found.extend(sources.filter(is_compiled).filter(|path| {
                    let ending = path.rsplit('.').next().unwrap_or_default();
                    !ending.starts_with(['h', 'H'])
                }));
            }
        }
        found
    }
}

/// The files from which make's own rules would make an object file; other files as they are.
fn sources_of_object(name: &str) -> Vec<String> {
    match name.strip_suffix(".o") {
        Some(stem) => ["c", "cc", "cpp", "cxx", "C"]
            .map(|ending| format!("{stem}.{ending}"))
            .into(),
        None => vec![name.to_owned()],
    }
}

/// The sources among words, below a folder.
fn sources(folder: &str, words: &[String]) -> Vec<String> {
    let paths = words.iter().filter_map(|word| {
        let word = word.trim_start_matches("${CMAKE_CURRENT_SOURCE_DIR}/");
        join(folder, word.trim_start_matches("$(srcdir)/"))
    });
    paths
        .filter(|path| SourceLanguage::from_path(path).is_some())
        .collect()
}

fn read_cmake(text: &str, folder: &str) -> Targets {
    static COMMAND: Pattern = Pattern::new(r"(?s)\b(\w+)[ \t]*\(((?:[^()]|\([^()]*\))*)\)");
    static COMMENT: Pattern = Pattern::new(r"(?m)#.*$");
    let mut targets = Targets::default();
    let (Some(command), Some(comment)) = (COMMAND.regex(), COMMENT.regex()) else {
        return targets;
    };
    let text = comment.replace_all(text, "");
    let mut variables: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for found in command.captures_iter(&text) {
        let group = |index| found.get(index).map_or("", |it| it.as_str());
        let words = group(2).split_whitespace().flat_map(|word| {
            let word = word.trim_matches('"');
            let name = word.strip_prefix("${").and_then(|it| it.strip_suffix('}'));
            let value = name.and_then(|name| variables.get(name)).cloned();
            value.unwrap_or_else(|| vec![word.to_owned()])
        });
        let words: Vec<String> = words.collect();
        let Some((name, rest)) = words.split_first() else {
            continue;
        };
        match group(1).to_ascii_lowercase().as_str() {
            "set" => {
                variables.insert(name.clone(), rest.to_vec());
            }
            "add_executable" => {
                let own = targets.programs.entry(name.clone()).or_default();
                own.extend(sources(folder, rest));
            }
            "target_sources" => match targets.programs.get_mut(name) {
                Some(own) => own.extend(sources(folder, rest)),
                None => targets.other_sources.extend(sources(folder, rest)),
            },
            "add_library" => targets.other_sources.extend(sources(folder, rest)),
            "install" => targets.products.extend(words),
            "add_test" => {
                let command: &[String] = match rest.iter().position(|word| word == "COMMAND") {
                    Some(at) => rest.get(at + 1..).unwrap_or_default(),
                    None => rest,
                };
                add_run(&mut targets, command);
            }
            "gtest_discover_tests"
            | "catch_discover_tests"
            | "doctest_discover_tests"
            | "gtest_add_tests" => {
                let named = words.iter().find(|word| *word != "TARGET");
                targets.tests.extend(named.cloned());
            }
            _ => {}
        }
    }
    targets
}

/// Adds the program of a test's command line.
fn add_run(targets: &mut Targets, command: &[String]) {
    const KEYWORDS: [&str; 3] = [
        "WORKING_DIRECTORY",
        "CONFIGURATIONS",
        "COMMAND_EXPAND_LISTS",
    ];
    let Some((program, arguments)) = command.split_first() else {
        return;
    };
    let program = program
        .trim_start_matches("$<TARGET_FILE:")
        .trim_end_matches('>');
    let program = name_of(program).to_owned();
    match arguments.first() {
        Some(word) if !KEYWORDS.contains(&word.as_str()) => targets.products.insert(program),
        _ => targets.tests.insert(program),
    };
}

fn read_meson(text: &str, folder: &str) -> Targets {
    static CALL: Pattern = Pattern::new(
        r"(?s)(?:\b(\w+)[ \t]*=[ \t]*)?\b(executable|library|static_library|shared_library|both_libraries)[ \t]*\(((?:[^()]|\([^()]*\))*)\)",
    );
    static TEST: Pattern = Pattern::new(
        r"(?s)\btest[ \t]*\([ \t\n]*'[^']*'[ \t\n]*,[ \t\n]*(\w+)((?:[^()]|\([^()]*\))*)\)",
    );
    static QUOTED: Pattern = Pattern::new(r"'([^'\n]*)'");
    let mut targets = Targets::default();
    let (Some(call), Some(test), Some(quoted)) = (CALL.regex(), TEST.regex(), QUOTED.regex())
    else {
        return targets;
    };
    for found in call.captures_iter(text) {
        let group = |index| found.get(index).map_or("", |it| it.as_str());
        let words = quoted.captures_iter(group(3));
        let words = words.filter_map(|it| Some(it.get(1)?.as_str().to_owned()));
        let words: Vec<String> = words.skip(1).collect();
        let own = sources(folder, &words);
        if group(2) == "executable" && !group(1).is_empty() {
            if group(3).contains("install") {
                targets.products.insert(group(1).to_owned());
            }
            targets.programs.insert(group(1).to_owned(), own);
        } else {
            targets.other_sources.extend(own);
        }
    }
    for found in test.captures_iter(text) {
        let group = |index| found.get(index).map_or("", |it| it.as_str());
        let run = if group(2).contains("args") {
            &mut targets.products
        } else {
            &mut targets.tests
        };
        run.insert(group(1).to_owned());
    }
    targets
}

fn read_automake(text: &str, folder: &str) -> Targets {
    static VARIABLE: Pattern = Pattern::new(r"(?m)^[ \t]*(\w+)[ \t]*\+?=[ \t]*(.*)$");
    let text = text.replace("\\\n", " ");
    let mut targets = Targets::default();
    let Some(variable) = VARIABLE.regex() else {
        return targets;
    };
    let mut listed: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for found in variable.captures_iter(&text) {
        let group = |index| found.get(index).map_or("", |it| it.as_str());
        let words = group(2).split_whitespace().map(str::to_owned);
        listed.entry(group(1)).or_default().extend(words);
    }
    let programs = listed.get("check_PROGRAMS").cloned().unwrap_or_default();
    for program in programs {
        let variable = program.replace(|it: char| !it.is_ascii_alphanumeric(), "_") + "_SOURCES";
        let named = listed.remove(variable.as_str());
        let named = named.unwrap_or_else(|| vec![format!("{program}.c")]);
        targets
            .programs
            .insert(program.clone(), sources(folder, &named));
        targets.tests.insert(program);
    }
    let others = listed.iter().filter(|(name, _)| name.ends_with("_SOURCES"));
    let others = others.flat_map(|(_, words)| sources(folder, words));
    targets.other_sources.extend(others);
    targets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_of_test_programs_are_read_from_build_files() {
        let library = "add_library(sum sum.cpp)\nadd_executable(verify verify.cpp)\n";
        let cmake = |text: &str| {
            (
                read_cmake as fn(&str, &str) -> Targets,
                format!("{library}{text}"),
            )
        };
        for ((read, text), expected) in [
            (cmake("add_test(NAME a COMMAND verify)"), "verify.cpp"),
            (cmake("add_test(a ${CMAKE_BINARY_DIR}/verify)"), "verify.cpp"),
            (
                cmake("add_test(NAME a COMMAND $<TARGET_FILE:verify> WORKING_DIRECTORY x)"),
                "verify.cpp",
            ),
            (cmake("gtest_discover_tests(verify)"), "verify.cpp"),
            (cmake("add_test(NAME a COMMAND verify 1 2)"), ""),
            (cmake("# add_test(NAME a COMMAND verify)"), ""),
            (
                cmake("add_test(NAME a COMMAND verify)\ninstall(TARGETS verify DESTINATION bin)"),
                "",
            ),
            (
                cmake("set(X more.cpp sum.cpp)\ntarget_sources(verify PRIVATE ${X})\nadd_test(a verify)"),
                "more.cpp verify.cpp",
            ),
            (
                (
                    read_meson,
                    "sum = library('sum', 'sum.c')\nv = executable('v',\n  files('verify.c'), link_with: sum)\ntest('all', v)\n".to_owned(),
                ),
                "verify.c",
            ),
            (
                (
                    read_automake,
                    "bin_PROGRAMS = sum\nsum_SOURCES = sum.c\ncheck_PROGRAMS = verify \\\n  other\nverify_SOURCES = verify.c sum.c\n".to_owned(),
                ),
                "other.c verify.c",
            ),
        ] {
            let targets = read(&text, "");
            let found: Vec<&str> = targets.test_sources().into_iter().collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
