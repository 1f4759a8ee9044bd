//! The workspace as cargo sees it: its packages, their dependencies and licences.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::XtaskResult;
use crate::program::{self, cargo};

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}

/// The target that the compiler of this machine compiles for.
pub(crate) fn host_triple() -> XtaskResult<String> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = program::capture_output(std::process::Command::new(rustc).arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("`rustc -vV` prints no host")?.to_owned())
}

/// The parts of `cargo metadata` that are used here.
#[derive(Debug, Deserialize)]
pub(crate) struct CargoMetadata {
    pub(crate) packages: Vec<MetadataPackage>,
    /// The dependency graph for this platform; absent if it was read without dependencies.
    resolve: Option<ResolveGraph>,
    pub(crate) target_directory: PathBuf,
}

#[derive(Debug, Deserialize)]
pub(crate) struct MetadataPackage {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) version: String,
    /// An SPDX expression.
    pub(crate) license: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) repository: Option<String>,
    /// None for the packages of the workspace.
    pub(crate) source: Option<String>,
    #[serde(default)]
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
}

/// A dependency in a manifest.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
    /// `dev` or `build`; none for a normal dependency.
    pub(crate) kind: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResolveGraph {
    nodes: Vec<ResolveNode>,
}

#[derive(Debug, Deserialize)]
struct ResolveNode {
    id: String,
    deps: Vec<ResolveEdge>,
}

#[derive(Debug, Deserialize)]
struct ResolveEdge {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Debug, Deserialize)]
struct DependencyKind {
    kind: Option<String>,
}

impl CargoMetadata {
    /// Reads the packages of the workspace, without their dependencies.
    pub(crate) fn workspace_only() -> XtaskResult<Self> {
        Self::read(&["--no-deps"])
    }

    /// Reads all packages that are built on this platform. Downloads missing ones.
    pub(crate) fn with_dependencies() -> XtaskResult<Self> {
        Self::read(&[
            "--locked",
            "--all-features",
            "--filter-platform",
            &host_triple()?,
        ])
    }

    /// Reads the packages that are built for a target, with the default features. Downloads missing ones.
    pub(crate) fn for_target(triple: &str) -> XtaskResult<Self> {
        Self::read(&["--locked", "--filter-platform", triple])
    }

    /// Returns a package of the workspace.
    pub(crate) fn package(&self, name: &str) -> XtaskResult<&MetadataPackage> {
        let is_it = |package: &&MetadataPackage| package.name == name && package.source.is_none();
        let missing = || format!("the workspace has no package `{name}`");
        Ok(self.packages.iter().find(is_it).ok_or_else(missing)?)
    }

    fn read(args: &[&str]) -> XtaskResult<Self> {
        let mut metadata = cargo(["metadata", "--format-version", "1", "--quiet"]);
        Ok(serde_json::from_str(&program::capture_output(
            metadata.args(args),
        )?)?)
    }

    /// Returns a package and its transitive dependencies at runtime: without dev-dependencies and build
    /// dependencies.
    pub(crate) fn runtime_dependencies(&self, name: &str) -> Vec<&MetadataPackage> {
        let packages: BTreeMap<&str, &MetadataPackage> = self
            .packages
            .iter()
            .map(|it| (it.id.as_str(), it))
            .collect();
        let nodes: BTreeMap<&str, &ResolveNode> = self
            .resolve
            .iter()
            .flat_map(|resolve| &resolve.nodes)
            .map(|node| (node.id.as_str(), node))
            .collect();
        let mut found: BTreeMap<&str, &MetadataPackage> = BTreeMap::new();
        let mut open: Vec<&str> = packages
            .values()
            .filter(|it| it.name == name)
            .map(|it| it.id.as_str())
            .collect();
        while let Some(id) = open.pop() {
            let (Some(package), Some(node)) = (packages.get(id), nodes.get(id)) else {
                continue;
            };
            if found.insert(id, package).is_none() {
                open.extend(
                    node.deps
                        .iter()
                        .filter(|it| it.is_runtime())
                        .map(|it| it.pkg.as_str()),
                );
            }
        }
        found.into_values().collect()
    }

    /// Returns the packages that a package depends on at runtime, without those that they depend on.
    pub(crate) fn runtime_edges(&self, id: &str) -> Vec<&MetadataPackage> {
        let nodes = self.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let edges = nodes
            .filter(|node| node.id == id)
            .flat_map(|node| &node.deps);
        let below = edges.filter(|edge| edge.is_runtime()).map(|edge| &edge.pkg);
        below
            .filter_map(|id| self.packages.iter().find(|package| package.id == *id))
            .collect()
    }
}

impl ResolveEdge {
    fn is_runtime(&self) -> bool {
        self.dep_kinds.iter().any(|it| it.kind.is_none())
    }
}
