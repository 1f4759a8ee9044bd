//! Decides which side of the project a changed file is on.
//!
//! The files **before** the attempt decide, so that nothing that the attempt writes can move a file to another side.
//! Names decide for files that runners find by name; imports decide for the rest.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};

use aho_corasick::AhoCorasick;

use super::build_sources::merge_build_sources;
use super::config_files::side_of_config;
use super::manifest::{self, ManifestParts, MergeResult};
use super::namesakes::index_modules;
use super::packages::{TestPackages, is_package_manifest};
use super::product::{Product, is_product_manifest};
use super::project_files::is_project_manifest;
use super::recipes::find_made_files;
use super::references::{
    ReferenceTarget, References, TargetIndex, folder_of, join, name_of, stem_of,
};
use super::test_names::find_test_folders;
use super::workspaces::module_name;
use super::wrappers::find_wrapped_commands;
use crate::guard::{
    ChangedFile, Globs, HELPER_NAME, Pattern, SourceLanguage, is_test_path, scripts_of, words_of,
};
use crate::model::Step;

/// The side of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProjectSide {
    /// Tests, the files that they depend on, and the configuration of the checks.
    Test,
    /// Tests and sources both depend on it.
    Shared,
    /// The rest: the subject of the task.
    Work,
}

/// The replacement for a changed file of the test side, or a shared one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Replacement {
    /// The file as it was before the attempt; absent if it was not there.
    Base,
    /// The attempt's file, with the parts that control how the checks run as they were before.
    Merged(Vec<u8>),
    /// The file is removed: it was added before this run, and is treated as if the attempt had added it.
    Removed,
}

/// A changed file that is not only on the work side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrossedFile {
    /// Relative to the workspace.
    pub path: String,
    /// [`ProjectSide::Test`] or [`ProjectSide::Shared`].
    pub side: ProjectSide,
    /// Its replacement.
    pub replacement: Replacement,
}

impl CrossedFile {
    /// A file of the test side that must not exist.
    pub fn removed(path: String) -> Self {
        Self {
            path,
            side: ProjectSide::Test,
            replacement: Replacement::Removed,
        }
    }
}

/// The files that are scripts of the checks and may not be changed.
pub fn scripts_among(
    files: impl Iterator<Item = String>,
    steps: &[Step],
    allow: &[String],
) -> Vec<String> {
    // Globs that do not parse were rejected before the run was created.
    let (Some(scripts), Ok(allow)) = (script_globs(steps), Globs::new(allow)) else {
        return Vec::new();
    };
    files
        .filter(|path| scripts.is_match(path) && !allow.is_match(path))
        .collect()
}

/// The project before the attempt: all its paths, with the content of those files that may refer to others.
pub type BaseFiles = BTreeMap<String, Option<Vec<u8>>>;

/// Returns a filter for the files whose content is needed to find references.
pub fn content_filter(steps: &[Step]) -> impl Fn(&str) -> bool {
    let scripts = script_globs(steps);
    move |path| {
        SourceLanguage::from_path(path).is_some()
            || is_package_manifest(path)
            || is_project_manifest(path)
            || is_product_manifest(path)
            || side_of_config(path).is_some()
            || BaseProject::may_be_loaded(path)
            || scripts
                .as_ref()
                .is_some_and(|scripts| scripts.is_match(path))
    }
}

/// Globs that match the scripts of the checks.
pub(super) fn script_globs(steps: &[Step]) -> Option<Globs> {
    let rules = scripts_of(steps).into_iter();
    let globs: Vec<String> = rules.map(|rule| rule.glob).collect();
    Globs::new(&globs).ok()
}

/// Knowledge about the environment of a project, and about the structure of its sources.
pub struct CrossingContext<'a> {
    /// Whether the module that an added file defines exists already, as an installed one or in the standard library.
    pub is_installed: &'a dyn Fn(&str) -> bool,
    /// The attempt's source with the original tests in it, for languages that have tests inside sources.
    pub split: &'a dyn Fn(&ChangedFile<'_>) -> MergeResult,
}

impl std::fmt::Debug for CrossingContext<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("CrossingContext")
            .finish_non_exhaustive()
    }
}

/// Finds the changed files that are not only on the work side, ordered by path.
pub fn find_crossed_files(
    base: &BaseFiles,
    changes: &[ChangedFile<'_>],
    steps: &[Step],
    context: &CrossingContext<'_>,
) -> Vec<CrossedFile> {
    let project = BaseProject::read(base, changes, steps);
    let mut crossed: Vec<CrossedFile> = changes
        .iter()
        .filter(|change| change.before != change.after)
        .filter_map(|change| project.classify(change, context))
        .collect();
    crossed.sort_by(|one, other| one.path.cmp(&other.path));
    crossed
}

/// Selects the files of the test side among those that were written while checks ran. Tests write into their own
/// folders, so new files count only if they are snapshots or if runners load them by name.
pub fn find_written_tests(base: &BaseFiles, paths: &[String], steps: &[Step]) -> Vec<String> {
    let changes: Vec<ChangedFile<'_>> = paths
        .iter()
        .map(|path| ChangedFile {
            path,
            before: base.contains_key(path).then_some(&[][..]),
            after: None,
        })
        .collect();
    let project = BaseProject::read(base, &changes, steps);
    let is_test = |change: &&ChangedFile<'_>| {
        if change.before.is_some() {
            let side = project.side(change, &|_| false);
            let is_of_tests =
                || project.tests.contains(change.path) || project.is_data_of_tests(change.path);
            return side == ProjectSide::Test || (side == ProjectSide::Shared && is_of_tests());
        }
        let is_config = side_of_config(change.path) == Some(ProjectSide::Test);
        is_config || LOADED_WHEN_NEW.is_match(change.path)
    };
    let written = changes.iter().filter(is_test);
    written.map(|change| change.path.to_owned()).collect()
}

/// Snapshots, and modules that Python loads automatically.
static LOADED_WHEN_NEW: Pattern = Pattern::new(
    r"(?:^|/)__snapshots__/|\.(?:snap|ambr)$|(?:^|/)(?:sitecustomize|usercustomize)\.py$",
);

/// Files that an interpreter, a build tool or a runner loads automatically.
static AUTOLOADED: Pattern = Pattern::new(concat!(
    r"(?:^|/)(?:sitecustomize|usercustomize)(?:\.py|/)|\.(?:pth|pyc|egg-link)$|\.(?:egg|dist)-info(?:/|$)",
    r"|(?:^|/)(?:node_modules|site-packages|dist-packages|__pycache__)/|(?:^|/)\.envrc$",
    r"|(?:^|/)minitest/[^/]*_plugin\.rb$|(?:^|/)rakelib/[^/]*\.rake$|(?:^|/)\.(?:irb|pry)rc$|(?:^|/)\.bundle/config$",
    r"|(?:^|/)META-INF/services/org\.(?:junit|testng|mockito|assertj|hamcrest|spockframework)[^/]*$",
    r"|(?:^|/)config/environments/test\.rb$|\.tsbuildinfo$|(?:^|/)(?:org/junit|org/hamcrest|org/mockito|PHPUnit/Framework)/",
));

/// Files that list paths for the tools of the next pattern to skip.
static IGNORE_FILE: Pattern = Pattern::new(r"(?:^|/)\.(?:git|rg|)ignore$");
/// Tools that skip the files that git ignores, and wrappers that run such tools.
static OBEYS_IGNORE_FILES: Pattern = Pattern::new(
    r"(?:^|/)(?:ruff|black|eslint|prettier|biome|oxlint|knip|rg|ag|git|pre-commit|npm|pnpm|yarn|npx|make|just|tox|nox)$",
);

/// The maximum number of unchanged helpers between a test and a changed file.
const MAX_INDIRECTIONS: usize = 3;

/// Copies of other projects, including test tools.
static VENDORED: Pattern =
    Pattern::new(r"(?:^|/)(?:third_party|third-party|\.yarn|\.mvn|gradle/wrapper)/");
/// Files that tools write into the folder of the copies.
const VENDOR_LISTS: [&str; 4] = [
    "modules.txt",
    "autoload.php",
    "installed.json",
    "vendor.json",
];
/// Names that products rarely have; [`HELPER_NAME`] contains more.
static ONLY_FOR_TESTS: Pattern = Pattern::new(
    r"(?i)(?:^|[/_.-])(?:tests?|testing|mocks?|fakes?|stubs?|harness|golden|oracles?|asserts?|assertions?|expectations?)(?:[/_.-]|$)",
);
/// Folders whose sources tests use as data.
static FIXTURES: Pattern = Pattern::new(r"(?:^|/)fixtures?/");

/// The facts that decide the sides of files that names do not decide.
pub(super) struct BaseProject<'a> {
    pub(super) base: &'a BaseFiles,
    /// Files on the test side, by name or kind.
    pub(super) tests: BTreeSet<&'a str>,
    /// The referrers of each changed file.
    referrers: BTreeMap<&'a str, Referrers>,
    pub(super) scripts: BTreeSet<&'a str>,
    /// Libraries that a script sources and tests, with the script.
    pub(super) sourced_subjects: BTreeMap<&'a str, &'a str>,
    /// Libraries of the work side that scripts of the tests source, with these scripts.
    pub(super) sourced_libraries: BTreeMap<&'a str, BTreeSet<&'a str>>,
    /// Set-up code that the configuration of a runner names.
    pub(super) setup_files: BTreeSet<&'a str>,
    /// Documents whose examples are tests.
    examples: BTreeSet<&'a str>,
    /// Packages that only tests use.
    packages: TestPackages,
    pub(super) product: Product,
    /// Go modules that the attempt added: their names, by folder.
    pub(super) added_modules: BTreeMap<String, String>,
    /// Folders that contain tests, among those whose name alone does not decide.
    pub(super) test_folders: BTreeSet<String>,
    /// Sources of the product that look like helpers of tests.
    doubtful: BTreeSet<&'a str>,
    /// Files that makefiles have rules for, if the attempt added files.
    made: BTreeSet<String>,
    /// Changed settings of tools that have no known name.
    tool_settings: BTreeSet<&'a str>,
    /// Whether a check reads all files except ignored ones.
    obeys_ignore_files: bool,
    /// Files, keyed by the last part of the name that imports use.
    pub(super) modules: BTreeMap<&'a str, Vec<&'a str>>,
    /// Files that the attempt removed.
    pub(super) removed: BTreeSet<&'a str>,
    /// Files that the attempt added.
    pub(super) added: BTreeSet<&'a str>,
}

/// The files that one refers to, by their positions.
struct ReferrerTargets<'a> {
    path: &'a str,
    named: BTreeSet<usize>,
    /// Those that it may read by listing a folder.
    listed: BTreeSet<usize>,
    /// All code that it names.
    code: BTreeSet<usize>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Referrers {
    tests: bool,
    /// Tests that also refer to code of the work side.
    tests_of_code: bool,
    work: bool,
}

impl<'a> BaseProject<'a> {
    fn read(base: &'a BaseFiles, changes: &'a [ChangedFile<'_>], steps: &[Step]) -> Self {
        let mut project = Self {
            base,
            tests: BTreeSet::new(),
            referrers: BTreeMap::new(),
            scripts: BTreeSet::new(),
            sourced_subjects: BTreeMap::new(),
            sourced_libraries: BTreeMap::new(),
            setup_files: BTreeSet::new(),
            examples: BTreeSet::new(),
            packages: TestPackages::find(base),
            product: Product::read(base),
            added_modules: changes.iter().filter_map(module_name).collect(),
            test_folders: find_test_folders(base),
            doubtful: BTreeSet::new(),
            made: if changes.iter().any(|change| change.before.is_none()) {
                find_made_files(base)
            } else {
                BTreeSet::new()
            },
            tool_settings: BTreeSet::new(),
            obeys_ignore_files: words_of(steps)
                .iter()
                .any(|word| OBEYS_IGNORE_FILES.is_match(&word.text)),
            modules: index_modules(base),
            removed: changes
                .iter()
                .filter(|change| change.after.is_none())
                .map(|change| change.path)
                .collect(),
            added: changes
                .iter()
                .filter(|change| change.before.is_none())
                .map(|change| change.path)
                .collect(),
        };
        let wrapped = find_wrapped_commands(base, steps);
        let inner: Vec<Step> = wrapped.iter().map(|command| command.step.clone()).collect();
        project.find_scripts(steps);
        project.find_named_data(steps);
        project.find_named_data(&inner);
        project.find_setup_files();
        project.find_tests();
        project.find_wrapped_scripts(&wrapped);
        project.find_test_programs(&wrapped);
        let all: Vec<&Step> = steps.iter().chain(&inner).collect();
        project.examples = project.find_examples(&all);
        project.find_loaded_files(&all);
        project.find_judging_files(changes, &all);
        let commands: Vec<Step> = all.into_iter().cloned().collect();
        project.tool_settings = project.find_tool_settings(changes, &commands);
        project.find_referrers(changes);
        project
    }

    pub(super) fn text(&self, path: &str) -> Option<&'a str> {
        let bytes = self.base.get(path)?.as_deref()?;
        std::str::from_utf8(bytes).ok()
    }

    fn find_tests(&mut self) {
        for (path, bytes) in self.base {
            let text = bytes
                .as_deref()
                .and_then(|bytes| std::str::from_utf8(bytes).ok());
            let uses_framework = || {
                let language = SourceLanguage::from_path(path);
                let uses_framework = language
                    .zip(text)
                    .is_some_and(|(language, text)| language.uses_test_framework(text));
                // In the project of a runner's plug-in, the plug-in is the product.
                uses_framework && !self.product.names(path)
            };
            let is_test = self.is_test_by_name(path) || self.packages.contains(path);
            if is_test || self.scripts.contains(path.as_str()) || uses_framework() {
                self.tests.insert(path);
            }
        }
        self.find_test_modules();
    }

    /// Finds Rust modules that are compiled only for tests.
    fn find_test_modules(&mut self) {
        static TEST_MODULE: Pattern = Pattern::new(
            r"#\[cfg\((?:test|all\(test[^)]*\)|any\(test[^)]*\))\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;",
        );
        let mut modules = BTreeSet::new();
        for path in self
            .base
            .keys()
            .filter(|path| SourceLanguage::from_path(path) == Some(SourceLanguage::Rust))
        {
            let Some((regex, text)) = TEST_MODULE.regex().zip(self.text(path)) else {
                continue;
            };
            let own = match stem_of(path) {
                "lib" | "main" | "mod" => folder_of(path).to_owned(),
                stem => format!("{}/{stem}", folder_of(path)),
            };
            for found in regex.captures_iter(text) {
                let name = found.get(1).map_or("", |name| name.as_str());
                let module = format!("{own}/{name}");
                modules.insert(module.trim_start_matches('/').to_owned());
            }
        }
        let below = |path: &str| {
            modules.iter().any(|module| {
                let rest = path.strip_prefix(module.as_str());
                rest.is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
            })
        };
        self.tests.extend(
            self.base
                .keys()
                .map(String::as_str)
                .filter(|path| below(path)),
        );
    }

    /// Finds the files that refer to the changed files, and thus which changed files are test helpers. References of a
    /// helper, changed or not, then count as references of a test.
    fn find_referrers(&mut self, changes: &'a [ChangedFile<'_>]) {
        let there = changes
            .iter()
            .filter_map(|change| self.base.get_key_value(change.path));
        let mut targets: Vec<ReferenceTarget<'a>> =
            there.map(|(path, _)| ReferenceTarget::new(path)).collect();
        targets.extend(self.find_namesakes(changes));
        let mut references = self.read_references(&targets);
        for _ in 0..MAX_INDIRECTIONS {
            let between: Vec<ReferenceTarget<'a>> = references
                .iter()
                .map(|(path, _)| *path)
                .filter(|path| !self.tests.contains(path) && self.looks_like_helper(path))
                .filter(|path| targets.iter().all(|target| target.path != *path))
                .map(ReferenceTarget::new)
                .collect();
            if between.is_empty() {
                break;
            }
            targets.extend(between);
            references = self.read_references(&targets);
        }
        let is_data = |path: &str| SourceLanguage::from_path(path).is_none();
        let index = TargetIndex::new(targets.iter().copied(), |target| {
            is_data(target.path) || FIXTURES.is_match(target.path)
        });
        let code = self.base.keys().filter(|path| !is_data(path));
        let code = TargetIndex::new(code.map(|path| ReferenceTarget::new(path)), |_| false);
        let references: Vec<ReferrerTargets<'a>> = references
            .iter()
            .map(|(path, references)| ReferrerTargets {
                path,
                named: index.find_named(path, references),
                listed: index.find_listed(path, references),
                code: code.find_named(path, references),
            })
            .collect();
        loop {
            let without_users = targets.iter().map(|it| (it.path, Referrers::default()));
            let mut users: BTreeMap<&'a str, Referrers> = without_users.collect();
            for referrer in &references {
                let path = referrer.path;
                let is_test = self.tests.contains(path);
                let refers_to_code = LazyCell::new(|| {
                    let mut named = referrer.code.iter().map(|at| code.target(*at).path);
                    let is_work = |other: &str| !self.tests.contains(other);
                    named.any(is_work) || self.has_package_code(path)
                });
                for at in referrer.named.union(&referrer.listed) {
                    let target = index.target(*at).path;
                    let is_data = is_data(target);
                    let refers = referrer.named.contains(at) || is_data || is_test;
                    if !refers || path == target {
                        continue;
                    }
                    let found = users.entry(target).or_default();
                    if is_test {
                        found.tests |= !is_go(path) || self.is_go_helper(target, path);
                        found.tests_of_code |= is_data && *refers_to_code;
                    } else if !(self.is_test_by_name(target) && is_build_config(path)) {
                        found.work = true;
                    }
                }
            }
            self.referrers = users;
            let helpers = targets.iter().map(|target| target.path);
            let helpers = helpers.filter(|path| !self.tests.contains(path) && self.is_helper(path));
            let helpers: Vec<&'a str> = helpers.collect();
            if helpers.is_empty() {
                return;
            }
            let doubtful = helpers.iter().copied().filter(|path| {
                let is_certain =
                    self.has_content_of_helper(path) && HELPER_NAME.is_match(name_of(path));
                self.is_in_product(path) && !is_certain
            });
            let doubtful: Vec<&'a str> = doubtful.collect();
            self.doubtful.extend(doubtful);
            self.tests.extend(helpers);
        }
    }

    /// Whether a Go package may help this test: it has no tests of its own, and the test is in another package.
    fn is_go_helper(&self, path: &str, test: &str) -> bool {
        let has = |folder: &str, tests: bool| {
            let mut files = self.base.keys().filter(|other| folder_of(other) == folder);
            files.any(|other| is_go(other) && is_test_path(name_of(other)) == tests)
        };
        !is_go(path) || (!has(folder_of(path), true) && has(folder_of(test), false))
    }

    /// Whether tests name this data, and no source does.
    fn is_data_of_tests(&self, path: &str) -> bool {
        let users = self.referrers.get(path).copied().unwrap_or_default();
        SourceLanguage::from_path(path).is_none() && users.tests && !users.work
    }

    /// Whether there is code of the work side in the same package.
    fn has_package_code(&self, path: &str) -> bool {
        let mut others = self
            .base
            .keys()
            .filter(|other| is_same_package(path, other));
        others.any(|other| {
            SourceLanguage::from_path(other).is_some() && !self.tests.contains(other.as_str())
        })
    }

    /// Reads the references of those sources of the base that contain the name of a changed file.
    pub(super) fn read_references(
        &self,
        changed: &[ReferenceTarget<'a>],
    ) -> Vec<(&'a str, References)> {
        let mut needles: BTreeSet<&str> = changed.iter().map(ReferenceTarget::needle).collect();
        // Data may be found by listing its folder.
        let data = changed
            .iter()
            .filter(|target| SourceLanguage::from_path(target.path).is_none());
        needles.extend(data.map(|target| name_of(folder_of(target.path))));
        needles.remove("");
        let Ok(search) = AhoCorasick::new(needles) else {
            return Vec::new();
        };
        let sources = self
            .base
            .iter()
            .filter(|(path, _)| {
                SourceLanguage::from_path(path).is_some() || self.scripts.contains(path.as_str())
            })
            .filter_map(|(path, bytes)| Some((path, bytes.as_ref()?)));
        let naming = sources.filter(|(_, bytes)| search.is_match(bytes.as_slice()));
        naming
            .map(|(path, bytes)| {
                let text = String::from_utf8_lossy(bytes);
                (path.as_str(), References::of(path, &text))
            })
            .collect()
    }

    /// Whether a file without signs of a test framework is a test helper: only tests use it, it is not the code under
    /// test, and its content or name is that of a helper. In the product's folders only few names count.
    fn is_helper(&self, path: &str) -> bool {
        let users = self.referrers.get(path).copied().unwrap_or_default();
        let is_used = users.tests || (FIXTURES.is_match(path) && !self.product.has_in_folder(path));
        let shows = || {
            (self.has_content_of_helper(path)
                && (HELPER_NAME.is_match(path) || self.has_other_code(path)))
                || (HELPER_NAME.is_match(path)
                    && (!self.is_in_product(path) || ONLY_FOR_TESTS.is_match(path))
                    && self.has_code_besides(path))
        };
        is_used
            && !users.work
            && !self.product.publishes(path)
            && shows()
            && !self.has_own_test(path)
    }

    /// Whether the file is in a folder of the product, or in a Python package with other code of the work side.
    fn is_in_product(&self, path: &str) -> bool {
        let package = self.python_package(path);
        let is_packaged = || {
            let files = self
                .base
                .keys()
                .filter(|other| other.as_str() != path && !self.tests.contains(other.as_str()));
            let mut code = files.filter(|other| {
                SourceLanguage::from_path(other) == SourceLanguage::from_path(path)
                    && self.text(other).is_some_and(|text| !text.trim().is_empty())
                    && !self.looks_like_helper(other)
            });
            !package.is_empty() && code.any(|other| self.python_package(other) == package)
        };
        self.product.has_in_folder(path) || is_packaged()
    }

    /// By its name or content.
    pub(super) fn looks_like_helper(&self, path: &str) -> bool {
        HELPER_NAME.is_match(path) || self.has_content_of_helper(path)
    }

    /// Whether a file contains assertions, or only data.
    fn has_content_of_helper(&self, path: &str) -> bool {
        let text = || self.text(path).unwrap_or_default();
        let is_helper = |language: SourceLanguage| {
            language.has_assertions(text()) || language.is_only_data(text())
        };
        SourceLanguage::from_path(path).is_some_and(is_helper)
    }

    /// Whether the file is part of a copy of another project. A folder `vendor` in the root of a project contains
    /// copies if a tool lists them or each has its own folder; otherwise only its files that tests of other code use
    /// are copies.
    pub(super) fn is_vendored(&self, path: &str) -> bool {
        let in_vendor = |at: usize| {
            let folder = path.get(..at).unwrap_or_default();
            let Some(above) = folder.strip_suffix("vendor/") else {
                return false;
            };
            let has_list = || {
                let mut lists = VENDOR_LISTS.iter();
                lists.any(|list| self.base.contains_key(&format!("{folder}{list}")))
            };
            let has_sources = || {
                let mut files = self.base.range(folder.to_owned()..);
                let mut files = files
                    .by_ref()
                    .take_while(|(other, _)| other.starts_with(folder));
                files.any(|(other, _)| {
                    !other[folder.len()..].contains('/')
                        && SourceLanguage::from_path(other).is_some()
                })
            };
            let is_product = || {
                let users = self.referrers.get(path).copied().unwrap_or_default();
                users.work || self.has_own_test(path)
            };
            (above.is_empty() || above.ends_with('/'))
                && self.product.is_root(above.trim_end_matches('/'))
                && (has_list() || !has_sources() || !is_product())
        };
        VENDORED.is_match(path) || path.match_indices('/').any(|(at, _)| in_vendor(at + 1))
    }

    fn classify(
        &self,
        change: &ChangedFile<'_>,
        context: &CrossingContext<'_>,
    ) -> Option<CrossedFile> {
        let crossed = |side, replacement| {
            Some(CrossedFile {
                path: change.path.to_owned(),
                side,
                replacement,
            })
        };
        if self.packages.contains(change.path) {
            return crossed(ProjectSide::Test, Replacement::Base);
        }
        // Manifests in folders where packages are looked up decide which code an import loads.
        if AUTOLOADED.is_match(change.path) {
            return crossed(ProjectSide::Test, Replacement::Base);
        }
        let is_package = |folder: &str| self.has_package(change.path, folder);
        let parts = ManifestParts {
            helper: &|wanted| self.packages.contains_dependency(change.path, wanted),
            imported: &|name| self.imports_name(name),
            package: &is_package,
            new_folder: &|folder| !folder.is_empty() && !self.has_folder(folder),
        };
        let merged = self
            .merge_workspace(change)
            .or_else(|| manifest::merge(change, &parts));
        if let Some(merged) = merged {
            return match merged {
                _ if change.before.is_none()
                    && (self.is_test_by_name(change.path)
                        || manifest::claims_packages(change, &is_package)) =>
                {
                    crossed(ProjectSide::Test, Replacement::Base)
                }
                // A new manifest in a new folder cannot affect files that existed before.
                _ if change.before.is_none() && !self.has_folder_of(change.path) => None,
                _ if change.before.is_none() => crossed(ProjectSide::Shared, Replacement::Base),
                MergeResult::Same => None,
                MergeResult::Unreadable => crossed(ProjectSide::Shared, Replacement::Base),
                MergeResult::Merged(bytes) => {
                    crossed(ProjectSide::Shared, Replacement::Merged(bytes))
                }
            };
        }
        if let Some(merged) =
            merge_build_sources(change, &|path| self.is_source_of_work(path), &|word| {
                self.is_option_of_work(change.path, word)
            })
        {
            return match merged {
                MergeResult::Same => None,
                MergeResult::Merged(bytes) => {
                    crossed(ProjectSide::Shared, Replacement::Merged(bytes))
                }
                MergeResult::Unreadable => crossed(ProjectSide::Shared, Replacement::Base),
            };
        }
        match self.side(change, context.is_installed) {
            ProjectSide::Work => match (context.split)(change) {
                MergeResult::Same => None,
                MergeResult::Merged(bytes) => {
                    crossed(ProjectSide::Test, Replacement::Merged(bytes))
                }
                MergeResult::Unreadable => crossed(ProjectSide::Shared, Replacement::Base),
            },
            side => crossed(side, Replacement::Base),
        }
    }

    /// Whether a JavaScript or TypeScript source imports a name with this prefix.
    fn imports_name(&self, name: &str) -> bool {
        let quoted = ['"', '\'', '`'].map(|quote| format!("{quote}{name}"));
        let sources = self
            .base
            .keys()
            .filter(|path| SourceLanguage::from_path(path) == Some(SourceLanguage::JavaScript));
        let mut texts = sources.filter_map(|path| self.text(path));
        texts.any(|text| quoted.iter().any(|quoted| text.contains(quoted)))
    }

    /// Whether a folder, named relative to the manifest, has a package that the attempt kept.
    fn has_package(&self, manifest: &str, folder: &str) -> bool {
        let package = join(folder_of(manifest), folder).and_then(|it| join(&it, name_of(manifest)));
        package.is_some_and(|package| {
            package != manifest
                && self.base.contains_key(&package)
                && !self.removed.contains(package.as_str())
        })
    }

    fn has_folder_of(&self, path: &str) -> bool {
        self.has_folder(folder_of(path))
    }

    pub(super) fn has_folder(&self, folder: &str) -> bool {
        let inside = |other: &String| {
            let rest = other.strip_prefix(folder);
            folder.is_empty() || rest.is_some_and(|rest| rest.starts_with('/'))
        };
        self.base.keys().any(inside)
    }

    fn side(&self, change: &ChangedFile<'_>, is_installed: &dyn Fn(&str) -> bool) -> ProjectSide {
        let path = change.path;
        if AUTOLOADED.is_match(path) || self.is_runner_module(path) {
            return ProjectSide::Test;
        }
        if let Some(side) = side_of_config(path) {
            return side;
        }
        if let Some(side) = self.side_of_environment(change) {
            return side;
        }
        if self.tool_settings.contains(path) {
            return ProjectSide::Test;
        }
        if self.examples.contains(path) {
            return ProjectSide::Test;
        }
        if self.is_vendored(path) {
            return self.side_of_vendored(change);
        }
        if self.affects_script(change) {
            return ProjectSide::Test;
        }
        if self.obeys_ignore_files && IGNORE_FILE.is_match(path) {
            return ProjectSide::Test;
        }
        let users = self.referrers.get(path).copied().unwrap_or_default();
        if change.before.is_none() {
            return self.side_of_added(change, is_installed);
        }
        let is_test = self.tests.contains(path);
        match () {
            () if is_test && users.work && !self.scripts.contains(path) => ProjectSide::Shared,
            () if self.doubtful.contains(path) => ProjectSide::Shared,
            () if is_test => ProjectSide::Test,
            () if self.setup_files.contains(path) => ProjectSide::Shared,
            // Data may contain the tests' expected results or, if the tests use no code at all, be what they test.
            () if SourceLanguage::from_path(path).is_none()
                && users.tests
                && (users.work || users.tests_of_code) =>
            {
                ProjectSide::Shared
            }
            () => ProjectSide::Work,
        }
    }

    /// Existing files cannot refer to an added file, unless it has the name of another module.
    fn side_of_added(
        &self,
        change: &ChangedFile<'_>,
        is_installed: &dyn Fn(&str) -> bool,
    ) -> ProjectSide {
        let path = change.path;
        let text = change
            .after
            .and_then(|bytes| std::str::from_utf8(bytes).ok());
        if self.is_test_with(path, text)
            || self.declares_other_module(path, text)
            || self.shadows_source(path)
            || is_installed(path)
            || self.made.contains(path)
        {
            return ProjectSide::Test;
        }
        let language = SourceLanguage::from_path(path);
        let is_test = language
            .zip(text)
            .is_some_and(|(language, text)| language.uses_test_framework(text));
        if is_test || self.shadows_test_module(path) || self.is_optional_in_script(path) {
            return ProjectSide::Test;
        }
        ProjectSide::Work
    }
}

impl BaseProject<'_> {
    /// Whether an option of a compiler names a library of the system, or a folder to or from which headers moved.
    fn is_option_of_work(&self, build_file: &str, word: &str) -> bool {
        if let Some(name) = word.strip_prefix("-l") {
            let file = format!("lib{name}.");
            let base = self.base.keys().map(String::as_str);
            let mut paths = base.chain(self.added.iter().copied());
            return !name.is_empty() && !paths.any(|path| name_of(path).starts_with(&file));
        }
        let folder = word.strip_prefix("-I").filter(|folder| !folder.is_empty());
        let Some(folder) = folder.and_then(|folder| join(folder_of(build_file), folder)) else {
            return false;
        };
        let is_header = |path: &&str| self.is_source_of_work(path) && path.contains(".h");
        let base = self.base.keys().map(String::as_str);
        let mut old = base.filter(|path| folder_of(path) == folder).peekable();
        if old.peek().is_some() {
            // No header is left.
            let mut headers = old.filter(|path| path.contains(".h")).peekable();
            return headers.peek().is_some()
                && headers.all(|path| is_header(&path) && self.removed.contains(path));
        }
        let mut new = self
            .added
            .iter()
            .filter(|path| folder_of(path) == folder)
            .peekable();
        let is_moved = |path: &str| {
            let mut removed = self.removed.iter();
            removed.any(|other| name_of(other) == name_of(path) && is_header(other))
        };
        new.peek().is_some() && new.all(|path| is_moved(path))
    }

    /// Whether a path that a build file names is a source, and not a test's.
    fn is_source_of_work(&self, path: &str) -> bool {
        SourceLanguage::from_path(path) == Some(SourceLanguage::C)
            && !self.tests.contains(path)
            && !self.is_test_by_name(path)
    }
}

/// Whether two sources see each other without imports, in languages with packages of several files.
fn is_same_package(path: &str, other: &str) -> bool {
    let language = SourceLanguage::from_path(path);
    language == SourceLanguage::from_path(other)
        && match language {
            Some(SourceLanguage::Go) => folder_of(path) == folder_of(other),
            // `src/test/java/shop` and `src/main/java/shop`
            Some(SourceLanguage::Curly) => name_of(folder_of(path)) == name_of(folder_of(other)),
            _ => false,
        }
}

fn is_go(path: &str) -> bool {
    SourceLanguage::from_path(path) == Some(SourceLanguage::Go)
}

/// Whether the file is a makefile, which names tests in order to build and run them.
fn is_build_config(path: &str) -> bool {
    side_of_config(path) == Some(ProjectSide::Shared)
}
