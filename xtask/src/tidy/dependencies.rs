//! Rules for dependencies between the crates, and for those of the pure crates. Cargo only rejects
//! cycles; these rules also reject a wrong direction.

use crate::workspace::CargoMetadata;

/// Each crate of the workspace, and the ones that it may depend on. Tests may also use the testkit.
const ALLOWED_DEPENDENCIES: [(&str, &[&str]); 12] = [
    ("selvedge-digest", &[]),
    ("selvedge-syntax", &[]),
    ("selvedge-core", &["selvedge-digest"]),
    ("selvedge-protocol", &["selvedge-core"]),
    ("selvedge-store", &["selvedge-core", "selvedge-protocol"]),
    (
        "selvedge-dashboard",
        &["selvedge-core", "selvedge-protocol"],
    ),
    (
        "selvedge-hub",
        &[
            "selvedge-core",
            "selvedge-dashboard",
            "selvedge-protocol",
            "selvedge-store",
        ],
    ),
    (
        "selvedge-engine",
        &["selvedge-core", "selvedge-digest", "selvedge-syntax"],
    ),
    (
        "selvedge",
        &[
            "selvedge-core",
            "selvedge-digest",
            "selvedge-engine",
            "selvedge-dashboard",
            "selvedge-hub",
            "selvedge-protocol",
            "selvedge-store",
        ],
    ),
    ("selvedge-testkit", &[]),
    (
        "selvedge-chaos",
        &[
            "selvedge-core",
            "selvedge-hub",
            "selvedge-protocol",
            "selvedge-store",
            "selvedge-testkit",
        ],
    ),
    (
        "xtask",
        &["selvedge-core", "selvedge-hub", "selvedge-protocol"],
    ),
];
const TEST_SUPPORT_CRATE: &str = "selvedge-testkit";

/// The crates that must not use files, clock, network or threads, and dependencies that would provide
/// them.
const PURE: [&str; 4] = [
    "selvedge-digest",
    "selvedge-core",
    "selvedge-protocol",
    "selvedge-syntax",
];
const IMPURE: [&str; 9] = [
    "tokio",
    "async-std",
    "smol",
    "mio",
    "rustix",
    "nix",
    "reqwest",
    "rusqlite",
    "tempfile",
];

/// Checks the direct dependencies in the manifests of the workspace.
pub(super) fn check(metadata: &CargoMetadata) -> Vec<String> {
    let is_ours = |name: &str| metadata.packages.iter().any(|package| package.name == name);
    let mut offences = Vec::new();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let Some((_, allowed)) = ALLOWED_DEPENDENCIES
            .iter()
            .find(|(crate_name, _)| *crate_name == name)
        else {
            offences.push(format!(
                "{name}: list its allowed dependencies in {}",
                file!()
            ));
            continue;
        };
        for dependency in package.dependencies.iter().filter(|it| is_ours(&it.name)) {
            let other = dependency.name.as_str();
            let tests = dependency.kind.as_deref() == Some("dev");
            if !(allowed.contains(&other)
                || tests && (other == TEST_SUPPORT_CRATE || other == name))
            {
                offences.push(format!("{name}: must not depend on {other}"));
            }
        }
    }
    offences
}

/// Checks the transitive dependencies of the pure crates.
pub(super) fn check_purity(metadata: &CargoMetadata) -> Vec<String> {
    let impure_dependencies = |pure: &'static str| {
        let needed = metadata.runtime_dependencies(pure).into_iter();
        needed
            .filter(|package| IMPURE.contains(&package.name.as_str()))
            .map(move |package| format!("{pure}: is pure and must not depend on {}", package.name))
    };
    PURE.into_iter().flat_map(impure_dependencies).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata(packages: &serde_json::Value, nodes: &serde_json::Value) -> CargoMetadata {
        let metadata_json = serde_json::json!({
            "packages": packages, "resolve": {"nodes": nodes}, "target_directory": "target",
        });
        serde_json::from_value(metadata_json).unwrap()
    }

    fn package(name: &str, dependencies: &[(&str, Option<&str>)]) -> serde_json::Value {
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|(name, kind)| serde_json::json!({"name": name, "kind": kind}))
            .collect();
        let about = serde_json::json!({"id": name, "name": name, "version": "1.0.0"});
        let mut about = about.as_object().unwrap().clone();
        about.insert("dependencies".to_owned(), dependencies.into());
        about.into()
    }

    #[test]
    fn dependencies_upward_are_rejected() {
        let packages = serde_json::json!([
            package(
                "selvedge-core",
                &[("selvedge-digest", None), ("serde", None)]
            ),
            package("selvedge-digest", &[("selvedge-core", None)]),
            package("selvedge-store", &[("selvedge-testkit", Some("dev"))]),
            package("selvedge-testkit", &[]),
            package("selvedge-engine", &[("selvedge-testkit", None)]),
        ]);
        assert_eq!(
            check(&metadata(&packages, &serde_json::json!([]))),
            [
                "selvedge-digest: must not depend on selvedge-core",
                "selvedge-engine: must not depend on selvedge-testkit",
            ]
        );
    }

    #[test]
    fn dependencies_of_pure_crates_are_pure() {
        let packages = serde_json::json!([
            package("selvedge-core", &[]),
            package("serde", &[]),
            package("tokio", &[]),
        ]);
        let edge = |to: &str, kind: Option<&str>| serde_json::json!({"pkg": to, "dep_kinds": [{"kind": kind}]});
        let graph = |kind| {
            serde_json::json!([
                {"id": "selvedge-core", "deps": [edge("serde", None)]},
                {"id": "serde", "deps": [edge("tokio", kind)]},
                {"id": "tokio", "deps": []},
            ])
        };
        assert_eq!(
            check_purity(&metadata(&packages, &graph(None))),
            ["selvedge-core: is pure and must not depend on tokio"]
        );
        assert!(check_purity(&metadata(&packages, &graph(Some("dev")))).is_empty());
    }
}
