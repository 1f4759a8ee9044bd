//! Recognizes tests by the names of files and folders. If products use a name as well, the folder must contain tests.

use std::collections::BTreeSet;

use super::references::{folder_of, name_of, stem_of};
use super::sides::{BaseFiles, BaseProject};
use crate::guard::{Pattern, SourceLanguage, is_test_path};

/// Folders that contain only tests and their data.
static TEST_FOLDER: Pattern = Pattern::new(concat!(
    r"(?:^|/)(?:tests?|__tests__|src/test|cypress|__fixtures__|testdata|test[-_]data|__snapshots__|__mocks__|cassettes|goldens?",
    r"|test[-_]?(?:utils?|helpers?|support|lib|fixtures?|resources)|spec[-_](?:helpers?|support))/",
));
/// Files with the recorded outputs of tests.
static TEST_RECORD: Pattern = Pattern::new(r"\.(?:snap|golden|approved|verified|ambr)(?:\.\w+)?$");
/// Folders in which data belongs to tests, but sources may belong to the product.
static DATA_FOLDER: Pattern = Pattern::new(r"(?:^|/)(?:fixtures?|testing)/");
/// Folders that contain tests in some projects, and the product in others.
const POSSIBLE_TEST_FOLDERS: [&str; 4] = ["spec", "specs", "e2e", "features"];
/// Test classes in languages in which runners find tests by the content of files, or only in the folders of tests.
static CLASS_NAME: Pattern =
    Pattern::new(r"(?:Tests?|Spec)\.(?:java|kt|php|cs|swift|scala|groovy)$");
/// Sources of the product in the layout of Maven and Gradle.
const MAIN_SOURCES: &str = "src/main/";

/// Finds the folders that contain tests, among those whose name alone does not decide.
pub(super) fn find_test_folders(base: &BaseFiles) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, bytes) in base {
        let text = bytes.as_deref().and_then(|it| std::str::from_utf8(it).ok());
        for folder in possible_folders(path) {
            let is_test = if name_of(folder) == "features" {
                path.strip_suffix(".feature").is_some()
            } else {
                is_test_path(name_of(path))
                    || SourceLanguage::from_path(path).is_some_and(|language| {
                        language == SourceLanguage::Shell || shows_tests(language, text)
                    })
            };
            if is_test {
                found.insert(folder.to_owned());
            }
        }
    }
    found
}

/// The enclosing folders with a name that some projects use for tests.
fn possible_folders(path: &str) -> impl Iterator<Item = &str> {
    let above = std::iter::successors(Some(folder_of(path)), |folder| {
        (!folder.is_empty()).then(|| folder_of(folder))
    });
    above.filter(|folder| POSSIBLE_TEST_FOLDERS.contains(&name_of(folder)))
}

fn shows_tests(language: SourceLanguage, text: Option<&str>) -> bool {
    text.is_some_and(|text| language.uses_test_framework(text) || language.has_assertions(text))
}

/// Whether the path alone shows that the file is a test, or that tests use it.
pub(super) fn is_named_test(path: &str) -> bool {
    // Names below a product's sources do not mark tests.
    let named = match path.rsplit_once(MAIN_SOURCES) {
        Some((above, _)) if above.is_empty() || above.ends_with('/') => above,
        _ => path,
    };
    let is_data = || SourceLanguage::from_path(path).is_none();
    is_test_path(name_of(named))
        || TEST_FOLDER.is_match(named)
        || TEST_RECORD.is_match(named)
        || (is_data() && DATA_FOLDER.is_match(named))
}

/// The name of the code under test, according to the test's name: `slug` for `test_slug.py` and `slug.test.ts`.
pub(super) fn tested_name(path: &str) -> Option<&str> {
    let stem = stem_of(path);
    let before = ["test_", "test-", "Test"].iter();
    let after = [
        ".test", ".spec", "_test", "-test", "_spec", "-spec", "Test", "Tests", "_tests",
    ];
    before
        .filter_map(|prefix| stem.strip_prefix(prefix))
        .chain(after.iter().filter_map(|suffix| stem.strip_suffix(suffix)))
        .find(|name| !name.is_empty())
}

impl BaseProject<'_> {
    /// Whether a file is a test by its name or folder.
    pub(super) fn is_test_by_name(&self, path: &str) -> bool {
        self.is_test_with(path, self.text(path))
    }

    /// The same for a file with this content.
    pub(super) fn is_test_with(&self, path: &str, text: Option<&str>) -> bool {
        if possible_folders(path).any(|folder| self.test_folders.contains(folder)) {
            return true;
        }
        let needs_content = CLASS_NAME.is_match(path) && !TEST_FOLDER.is_match(path);
        let language = SourceLanguage::from_path(path);
        is_named_test(path)
            && (!needs_content
                || language.is_some_and(|language| text.is_none() || shows_tests(language, text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn test_names_of_files_and_folders() {
        for path in [
            "test_a.py",
            "src/a.test.ts",
            "spec/a_spec.rb",
            "tests/helpers.py",
            "src/test/java/a/Cases.java",
            "a/testdata/one.go",
            "fixtures/one.json",
            "testing/table.csv",
            "tests/projects/src/main/java/A.java",
            "src/ATest.php",
        ] {
            assert!(is_named_test(path), "{path}");
        }
        for path in [
            "fixtures/plan.go",
            "pkg/testing/near.py",
            "api/spec/loader.py",
            "src/features/cart/total.ts",
            "src/main/java/lab/BloodTest.java",
            "src/main/java/lab/test/Sample.java",
            "src/e2e/crypto.ts",
        ] {
            assert!(!is_named_test(path), "{path}");
        }
    }

    #[test]
    fn test_names_name_their_subject() {
        for (test, subject) in [
            ("tests/test_slug.py", Some("slug")),
            ("src/slug.test.ts", Some("slug")),
            ("SlugTest.php", Some("Slug")),
            ("spec/slug_spec.rb", Some("slug")),
            ("slug.py", None),
            ("tests/test_.py", None),
        ] {
            assert_eq!(tested_name(test), subject, "{test}");
        }
    }

    #[test]
    fn test_folders_contain_tests() {
        let base: BaseFiles = [
            ("api/spec/loader.py", "def load(d): return d\n"),
            ("spec/support/cases.rb", "CASES = [1]\n"),
            ("spec/cart_spec.rb", "RSpec.describe Cart\n"),
            ("e2e/run.sh", "exit 1\n"),
            ("src/features/cart.js", "export const cart = 1;\n"),
            ("features/cart.feature", "Feature: cart\n"),
        ]
        .map(|(path, text)| (path.to_owned(), Some(text.as_bytes().to_vec())))
        .into();
        let found: Vec<String> = find_test_folders(&base).into_iter().collect();
        assert_eq!(found, ["e2e", "features", "spec"]);
    }
}
