//! Tests in Rust sources whose code moved to another file: moves the original tests to the new file of their
//! code.
//!
//! Only locations are taken from the attempt, by the names of test functions and of the items they use; the
//! texts are the original ones. A test moves only if everything that it uses from its old file was removed
//! there and is now defined in its new file, and in no other changed file.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use super::{RustItem, SourceTests, decode_source};

/// The two versions of a source file.
#[derive(Debug, Clone, Copy)]
pub struct SourceVersions<'a> {
    /// Relative to the workspace.
    pub path: &'a str,
    /// Before the attempt.
    pub before: Option<&'a [u8]>,
    /// After the attempt.
    pub after: Option<&'a [u8]>,
}

/// Original tests in other files than before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MovedTests {
    /// By path: the file's original text with the tests that belong there now, and no others.
    pub originals: BTreeMap<String, Vec<u8>>,
    /// Old and new names of the modules that hold the tests.
    pub names: Vec<(String, String)>,
}

/// Documentation examples of moved items, by item.
#[derive(Debug, Default)]
pub struct MovedExamples(BTreeMap<String, Option<String>>);

impl MovedExamples {
    /// Finds the examples of items that were removed from their files.
    pub fn find<'a>(files: impl IntoIterator<Item = SourceVersions<'a>>) -> Self {
        let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
        for file in files.into_iter().filter(|file| is_rust(file.path)) {
            let Some(old) = file.before.and_then(parse_source) else {
                continue;
            };
            let new = match file.after {
                Some(after) => parse_source(after),
                None => Some(SourceTests::default()),
            };
            let Some(new) = new else { continue };
            for (item, example) in old.examples {
                if new.items.contains(&item) {
                    continue;
                }
                // With two items of the same name, it is unknown which one moved.
                found
                    .entry(item)
                    .and_modify(|text| *text = None)
                    .or_insert(Some(example.text));
            }
        }
        proc_macro2::extra::invalidate_current_thread_spans();
        Self(found)
    }

    /// The example of an item in a file that did not contain it before.
    pub(super) fn for_item(&self, item: &str) -> Option<&str> {
        self.0.get(item)?.as_deref()
    }
}

/// Finds tests whose code moved, among the changed files of a project.
pub fn find_moved_tests(files: &[SourceVersions<'_>]) -> MovedTests {
    let versions: Vec<ChangedSource<'_>> = files
        .iter()
        .filter(|file| is_rust(file.path))
        .filter_map(ChangedSource::parse)
        .collect();
    let mut moved = MovedTests::default();
    for from in &versions {
        for to in versions.iter().filter(|to| to.is_added) {
            if let Some(module) = from.module_moved_to(to, &versions) {
                moved.names.push((
                    module.name.clone(),
                    format!("{}::{}", stem(to.path), module.name),
                ));
                let kept = remove_range(from.before, &module.range);
                moved
                    .originals
                    .insert(from.path.to_owned(), kept.into_bytes());
                let taken = from.before[module.range.clone()].as_bytes().to_vec();
                moved.originals.insert(to.path.to_owned(), taken);
            }
        }
    }
    proc_macro2::extra::invalidate_current_thread_spans();
    moved
}

/// The parts of a file that decide where tests belong.
struct ChangedSource<'a> {
    path: &'a str,
    is_added: bool,
    before: &'a str,
    /// Names that the original code defined.
    defined: BTreeSet<String>,
    /// Names that the code defines now.
    defines: BTreeSet<String>,
    /// Top-level test modules of the original.
    modules: Vec<TestModule>,
    /// Names of test functions in the attempt's version.
    tests: BTreeSet<String>,
}

struct TestModule {
    name: String,
    range: Range<usize>,
    /// Names of the module's test functions.
    tests: BTreeSet<String>,
    /// All words in the module.
    words: BTreeSet<String>,
}

impl<'a> ChangedSource<'a> {
    fn parse(file: &SourceVersions<'a>) -> Option<Self> {
        let before = decode_source(file.before.unwrap_or_default())?;
        let after = decode_source(file.after.unwrap_or_default())?;
        let (old, new): (TokenStream, TokenStream) = (before.parse().ok()?, after.parse().ok()?);
        let (mut modules, mut tests) = (Vec::new(), BTreeSet::new());
        let (mut defined, mut defines) = (BTreeSet::new(), BTreeSet::new());
        for (item, tokens) in items(before, old)? {
            if item.is_test {
                modules.extend(TestModule::parse(&item, tokens));
            } else {
                add_definitions(tokens, &mut defined);
            }
        }
        for (item, tokens) in items(after, new)? {
            if item.is_test {
                tests.extend(
                    TestModule::parse(&item, tokens)
                        .into_iter()
                        .flat_map(|it| it.tests),
                );
            } else {
                add_definitions(tokens, &mut defines);
            }
        }
        Some(Self {
            path: file.path,
            is_added: file.before.is_none(),
            before,
            defined,
            defines,
            modules,
            tests,
        })
    }

    /// The test module whose code is now in `to` and in no other file.
    fn module_moved_to(&self, to: &Self, all: &[ChangedSource<'_>]) -> Option<&TestModule> {
        let [module] = self.modules.as_slice() else {
            return None;
        };
        let used: BTreeSet<&String> = module.words.intersection(&self.defined).collect();
        let is_only_there = |name: &&String| {
            let mut others = all.iter().filter(|file| file.path != to.path);
            to.defines.contains(*name) && !others.any(|file| file.defines.contains(*name))
        };
        let has_moved = !used.is_empty() && used.iter().all(is_only_there);
        let is_in_place = module.tests.iter().any(|test| self.tests.contains(test));
        let is_taken = module.tests.iter().any(|test| to.tests.contains(test));
        (has_moved && is_taken && !is_in_place).then_some(module)
    }
}

impl TestModule {
    fn parse(item: &RustItem, tokens: Vec<TokenTree>) -> Option<Self> {
        let name = item.name.split_whitespace().last()?.to_owned();
        item.body.as_ref()?;
        let mut module = Self {
            name,
            range: item.range.clone(),
            tests: BTreeSet::new(),
            words: BTreeSet::new(),
        };
        let body = item.body.as_ref()?.stream();
        add_words(tokens.into_iter().collect(), &mut module.words, 0);
        add_tests(body, &mut module.tests, 0);
        Some(module)
    }
}

pub(super) fn is_rust(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "rs")
}

fn stem(path: &str) -> &str {
    let path = path.strip_suffix("/mod.rs").unwrap_or(path);
    let name = path.rsplit('/').next().unwrap_or(path);
    name.strip_suffix(".rs").unwrap_or(name)
}

fn parse_source(bytes: &[u8]) -> Option<SourceTests> {
    SourceTests::parse(decode_source(bytes)?)
}

fn remove_range(text: &str, range: &Range<usize>) -> String {
    text[..range.start].to_owned() + &text[range.end..]
}

/// The items of a source, each with its tokens.
fn items(text: &str, stream: TokenStream) -> Option<Vec<(RustItem, Vec<TokenTree>)>> {
    let mut tokens = stream.clone().into_iter().peekable();
    let mut found = Vec::new();
    while tokens.peek().is_some() {
        let item = RustItem::parse(text, &mut tokens)?;
        found.push((item, Vec::new()));
    }
    for token in stream {
        let at = token.span().byte_range().start;
        let item = found.iter_mut().find(|(item, _)| item.range.contains(&at));
        if let Some((_, tokens)) = item {
            tokens.push(token);
        }
    }
    Some(found)
}

fn add_words(stream: TokenStream, words: &mut BTreeSet<String>, depth: usize) {
    for token in stream {
        match token {
            TokenTree::Ident(word) => {
                words.insert(word.to_string());
            }
            TokenTree::Group(group) if depth < super::MAX_DEPTH => {
                add_words(group.stream(), words, depth + 1);
            }
            _ => {}
        }
    }
}

/// Adds the names of functions with a test attribute.
fn add_tests(stream: TokenStream, tests: &mut BTreeSet<String>, depth: usize) {
    let (mut is_test, mut is_function) = (false, false);
    for token in stream {
        match token {
            TokenTree::Group(group) if depth < super::MAX_DEPTH => {
                let first = group.stream().into_iter().next();
                is_test |= matches!(first, Some(TokenTree::Ident(name)) if name == "test");
                add_tests(group.stream(), tests, depth + 1);
            }
            TokenTree::Ident(name) if is_function => {
                if is_test {
                    tests.insert(name.to_string());
                }
                (is_test, is_function) = (false, false);
            }
            TokenTree::Ident(word) => is_function = word == "fn",
            _ => {}
        }
    }
}

/// Adds the names that follow a defining keyword.
fn add_definitions(tokens: Vec<TokenTree>, names: &mut BTreeSet<String>) {
    add_definitions_of(tokens.into_iter().collect(), names, 0);
}

fn add_definitions_of(stream: TokenStream, names: &mut BTreeSet<String>, depth: usize) {
    let mut defines = false;
    for token in stream {
        match token {
            TokenTree::Ident(name) if defines => {
                names.insert(name.to_string());
                defines = false;
            }
            TokenTree::Ident(word) => {
                defines = [
                    "fn", "struct", "enum", "union", "trait", "const", "static", "type",
                ]
                .iter()
                .any(|it| word == it);
            }
            TokenTree::Group(group) => {
                defines = false;
                if depth < super::MAX_DEPTH {
                    add_definitions_of(group.stream(), names, depth + 1);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split::{SplitTests, split_tests};

    const TYPE: &str = "pub struct Amount(i64);\nimpl Amount {\n    /// ```\n    /// one();\n    /// ```\n    pub fn cents(&self) -> i64 { self.0 }\n}\n";
    const TESTS: &str = "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn counts() { assert_eq!(Amount(1).cents(), 1); }\n}\n";

    fn moved(files: &[(&str, &str, &str)]) -> MovedTests {
        let files: Vec<SourceVersions<'_>> = files
            .iter()
            .map(|(path, before, after)| SourceVersions {
                path,
                before: Some(before.as_bytes()).filter(|text| !text.is_empty()),
                after: Some(after.as_bytes()),
            })
            .collect();
        find_moved_tests(&files)
    }

    #[test]
    fn moved_tests_follow_their_code() {
        let before = format!("{TYPE}{TESTS}");
        let weak = TESTS.replace(", 1)", ", 0)");
        let after = format!("{TYPE}{weak}");
        let library = "mod amount;\npub use amount::Amount;\n";
        let found = moved(&[
            ("src/lib.rs", &before, library),
            ("src/amount.rs", "", &after),
        ]);
        assert_eq!(
            found.originals["src/amount.rs"],
            TESTS.trim_end().as_bytes()
        );
        assert_eq!(
            found.originals["src/lib.rs"],
            format!("{TYPE}\n").as_bytes()
        );
        assert_eq!(
            found.names,
            [("tests".to_owned(), "amount::tests".to_owned())]
        );
    }

    #[test]
    fn moved_tests_stay_with_unmoved_code() {
        let before = format!("{TYPE}{TESTS}");
        let after = format!("{TYPE}{TESTS}");
        // A copy next to the used code.
        let beside = format!("mod amount;\n{TYPE}");
        for library in [beside.as_str(), before.as_str()] {
            let files = [
                ("src/lib.rs", before.as_str(), library),
                ("src/amount.rs", "", &after),
            ];
            assert_eq!(moved(&files), MovedTests::default(), "{library}");
        }
        // A copy that is compiled only for tests.
        let library = "mod real;\npub use real::Amount;\n";
        let files = [
            ("src/lib.rs", before.as_str(), library),
            ("src/real.rs", "", TYPE),
            ("src/amount.rs", "", after.as_str()),
        ];
        assert_eq!(moved(&files), MovedTests::default());
        // Tests without their code.
        let files = [
            ("src/lib.rs", before.as_str(), TYPE),
            ("src/tests.rs", "", TESTS),
        ];
        assert_eq!(moved(&files), MovedTests::default());
    }

    #[test]
    fn moved_examples_follow_their_items() {
        let library = "mod amount;\n";
        let after = TYPE.replace("one();", "two();");
        let files = [
            SourceVersions {
                path: "src/lib.rs",
                before: Some(TYPE.as_bytes()),
                after: Some(library.as_bytes()),
            },
            SourceVersions {
                path: "src/amount.rs",
                before: None,
                after: Some(after.as_bytes()),
            },
        ];
        let examples = MovedExamples::find(files);
        let merged = split_tests("src/amount.rs", None, Some(after.as_bytes()), &examples);
        assert_eq!(merged, SplitTests::Merged(TYPE.as_bytes().to_vec()));
    }
}
