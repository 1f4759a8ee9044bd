//! Cargo packages that only tests use. A package may consist of test helpers: all of its files are then on the test
//! side.

use std::collections::{BTreeMap, BTreeSet};

use toml::{Table, Value};

use super::references::{folder_of, join, name_of, stem_of};
use super::sides::BaseFiles;
use super::test_names::is_named_test;
use crate::guard::{Pattern, SourceLanguage};

/// Typical names of helper packages.
static HELPER_PACKAGE: Pattern = Pattern::new(concat!(
    r"(?i)(?:^|[_-])(?:tests?|testing|support|fixtures?|mocks?|fakes?|stubs?|helpers?|harness|goldens?|assert(?:ions?)?)(?:[_-]|$)",
    r"|test[_-]?(?:utils?|kit|support|lib|helpers?)",
));

/// Whether the file describes a package.
pub(super) fn is_package_manifest(path: &str) -> bool {
    name_of(path) == "Cargo.toml"
}

/// Assertions in code. `expect` is not included, because code also unwraps with it.
static ASSERTIONS: Pattern = Pattern::new(r"\bassert(?:_\w+)?!");

/// The folders of packages that are on the test side as a whole.
#[derive(Debug, Default)]
pub(super) struct TestPackages(BTreeSet<String>);

/// A package of the base.
struct CargoPackage {
    is_named_helper: bool,
    /// Whether its code contains assertions.
    asserts: bool,
    /// Folders of the packages that its code depends on.
    dependencies: BTreeSet<String>,
    /// Folders of packages that only its tests depend on.
    dev_dependencies: BTreeSet<String>,
}

impl TestPackages {
    /// Finds the helper packages: other packages depend on them only for tests, and they are named like a helper or
    /// contain assertions. The package that an otherwise empty test package tests is not a helper.
    pub(super) fn find(base: &BaseFiles) -> Self {
        let packages = read_packages(base);
        let mut found = Self::default();
        loop {
            let next = packages
                .iter()
                .filter(|(folder, _)| !found.0.contains(*folder))
                .find(|(folder, package)| found.is_test_package(folder, package, &packages));
            let Some((folder, _)) = next else {
                return found;
            };
            found.0.insert(folder.clone());
        }
    }

    fn is_test_package(
        &self,
        folder: &str,
        package: &CargoPackage,
        packages: &BTreeMap<String, CargoPackage>,
    ) -> bool {
        let depends = |on: &BTreeSet<String>| on.contains(folder);
        let others = || packages.iter().filter(|(other, _)| *other != folder);
        let is_used_by_work =
            others().any(|(other, user)| depends(&user.dependencies) && !self.0.contains(other));
        let testers: Vec<_> = others()
            .filter(|(other, user)| depends(&user.dev_dependencies) || self.0.contains(*other))
            .filter(|(_, user)| depends(&user.dev_dependencies) || depends(&user.dependencies))
            .collect();
        let has_helpers = package
            .dev_dependencies
            .iter()
            .any(|folder| self.0.contains(folder));
        let helps = || {
            let tests_itself = |(other, user): &(&String, &CargoPackage)| {
                user.is_named_helper || package.dependencies.contains(*other)
            };
            package.is_named_helper
                || (package.asserts && !has_helpers && !testers.iter().any(tests_itself))
        };
        !is_used_by_work && !testers.is_empty() && helps()
    }

    /// Whether the file belongs to a helper package.
    pub(super) fn contains(&self, path: &str) -> bool {
        std::iter::successors(Some(folder_of(path)), |folder| {
            (!folder.is_empty()).then(|| folder_of(folder))
        })
        .any(|folder| self.0.contains(folder))
    }

    /// Whether a dependency in the manifest at `path` is a helper package.
    pub(super) fn contains_dependency(&self, path: &str, wanted: &serde_json::Value) -> bool {
        let target = wanted.get("path").and_then(serde_json::Value::as_str);
        let target = target.and_then(|target| join(folder_of(path), target));
        target.is_some_and(|folder| self.0.contains(&folder))
    }
}

fn read_packages(base: &BaseFiles) -> BTreeMap<String, CargoPackage> {
    let manifests: BTreeMap<&str, Table> = base
        .iter()
        .filter(|(path, _)| is_package_manifest(path))
        .filter_map(|(path, bytes)| {
            let text = std::str::from_utf8(bytes.as_deref()?).ok()?;
            Some((folder_of(path), text.parse().ok()?))
        })
        .collect();
    let packages = manifests.iter().filter_map(|(folder, manifest)| {
        let name = manifest.get("package")?.get("name")?.as_str()?;
        // A program is part of the product, and so is the root package.
        let is_product = folder.is_empty() || base.contains_key(&format!("{folder}/src/main.rs"));
        let package = CargoPackage {
            is_named_helper: !is_product && HELPER_PACKAGE.is_match(name),
            asserts: !is_product && has_assertions(base, folder),
            dependencies: dependency_folders(
                &manifests,
                folder,
                &["dependencies", "build-dependencies"],
            ),
            dev_dependencies: dependency_folders(&manifests, folder, &["dev-dependencies"]),
        };
        Some(((*folder).to_owned(), package))
    });
    packages.collect()
}

/// Folders of the packages that these tables of a manifest refer to.
fn dependency_folders(
    manifests: &BTreeMap<&str, Table>,
    folder: &str,
    tables: &[&str],
) -> BTreeSet<String> {
    let Some(manifest) = manifests.get(folder) else {
        return BTreeSet::new();
    };
    let for_targets = manifest.get("target").and_then(Value::as_table);
    let for_targets = for_targets.into_iter().flat_map(Table::values);
    let places = std::iter::once(manifest).chain(for_targets.filter_map(Value::as_table));
    let wanted = places.flat_map(|place| {
        let tables = tables
            .iter()
            .filter_map(|name| place.get(*name)?.as_table());
        tables.flatten().collect::<Vec<_>>()
    });
    wanted
        .filter_map(|(name, wanted)| {
            if let Some(path) = wanted.get("path") {
                return join(folder, path.as_str()?);
            }
            wanted.get("workspace")?;
            let mut above = std::iter::successors(Some(folder), |folder| {
                (!folder.is_empty()).then(|| folder_of(folder))
            });
            let (root, workspace) = above
                .find_map(|folder| Some((folder, manifests.get(folder)?.get("workspace")?)))?;
            let path = workspace.get("dependencies")?.get(name)?.get("path")?;
            join(root, path.as_str()?)
        })
        .collect()
}

/// Whether the sources of a package contain assertions outside of their own tests.
fn has_assertions(base: &BaseFiles, folder: &str) -> bool {
    let sources = format!("{folder}/src/");
    let sources = base
        .range(sources.clone()..)
        .take_while(|(path, _)| path.starts_with(&sources))
        .filter(|(path, _)| {
            SourceLanguage::from_path(path) == Some(SourceLanguage::Rust)
                && !is_named_test(path)
                && stem_of(path) != "tests"
        });
    sources
        .filter_map(|(_, bytes)| std::str::from_utf8(bytes.as_deref()?).ok())
        .any(|text| {
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            ASSERTIONS.is_match(code)
        })
}
