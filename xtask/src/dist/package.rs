//! The content of all packages of one target: the program, and files that describe it.

use std::path::Path;

use super::target::PackageTarget;
use super::{licences, sbom, source_time};
use crate::XtaskResult;
use crate::workspace::{self, CargoMetadata};

/// The package of the workspace whose program is distributed.
pub(super) const PACKAGE: &str = "selvedge";

/// Committed files that go into packages.
const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];
const GENERATED: &str = "docs/generated";
const COMPLETIONS: [&str; 3] = ["selvedge.bash", "selvedge.fish", "_selvedge"];

#[derive(Debug)]
pub(super) struct ReleasePackage {
    pub(super) target: &'static PackageTarget,
    pub(super) version: String,
    pub(super) description: String,
    pub(super) licence: String,
    pub(super) repository: String,
    pub(super) program: Vec<u8>,
    pub(super) readme: String,
    /// CycloneDX, in JSON.
    pub(super) sbom: String,
    /// Seconds since 1970, for the files in packages.
    pub(super) time: u64,
    /// 1 is fast, 9 is small.
    pub(super) compression: u32,
    documents: Vec<PackageFile>,
}

/// A file in a package.
#[derive(Debug, Clone)]
pub(super) struct PackageFile {
    /// With `/` as separator.
    pub(super) path: String,
    pub(super) contents: Vec<u8>,
    pub(super) is_executable: bool,
}

impl PackageFile {
    pub(super) fn new(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            contents: contents.into(),
            is_executable: false,
        }
    }

    pub(super) fn executable(path: impl Into<String>, contents: impl Into<Vec<u8>>) -> Self {
        Self {
            is_executable: true,
            ..Self::new(path, contents)
        }
    }
}

impl ReleasePackage {
    pub(super) fn new(
        target: &'static PackageTarget,
        program: &Path,
        compression: u32,
    ) -> XtaskResult<Self> {
        let metadata = CargoMetadata::for_target(target.triple)?;
        let package = metadata.package(PACKAGE)?;
        let time = source_time()?;
        let mut documents = Vec::new();
        for name in DOCUMENTS {
            documents.push(PackageFile::new(name, read(name)?));
        }
        for name in COMPLETIONS {
            let contents = read(&format!("{GENERATED}/{name}"))?;
            documents.push(PackageFile::new(format!("completions/{name}"), contents));
        }
        for entry in std::fs::read_dir(workspace::root().join(GENERATED).join("man"))? {
            let entry = entry?;
            let name = format!("man/{}", entry.file_name().to_string_lossy());
            documents.push(PackageFile::new(name, std::fs::read(entry.path())?));
        }
        let third_party = licences::third_party_licences(&metadata)?;
        documents.push(PackageFile::new("THIRD-PARTY-LICENSES.txt", third_party));
        let required = |value: &Option<String>, name: &str| {
            let missing = format!("{PACKAGE} has no {name} in its Cargo.toml");
            value.clone().ok_or(missing)
        };
        Ok(Self {
            target,
            version: package.version.clone(),
            description: required(&package.description, "description")?,
            licence: required(&package.license, "license")?,
            repository: required(&package.repository, "repository")?,
            program: std::fs::read(program)
                .map_err(|error| format!("{}: {error}", program.display()))?,
            readme: String::from_utf8(read("README.md")?)?,
            sbom: sbom::document(&metadata, target, time)?,
            time,
            compression,
            documents,
        })
    }

    /// All files, in a folder named after the package.
    pub(super) fn archive_files(&self) -> Vec<PackageFile> {
        let mut files = vec![
            PackageFile::executable(PACKAGE, self.program.clone()),
            PackageFile::new("selvedge.cdx.json", self.sbom.clone()),
        ];
        files.extend(self.documents.iter().cloned());
        files.sort_by(|one, other| one.path.cmp(&other.path));
        let folder = self.archive_name();
        for file in &mut files {
            file.path = format!("{folder}/{}", file.path);
        }
        files
    }

    /// Name of the archive without `.tar.gz`, and of the folder in it.
    pub(super) fn archive_name(&self) -> String {
        format!("{PACKAGE}-{}-{}", self.version, self.target.triple)
    }

    /// The licences, for packages that contain nothing but the program.
    pub(super) fn licence_files(&self) -> impl Iterator<Item = &PackageFile> {
        let is_licence = |file: &&PackageFile| file.path.contains("LICENSE");
        self.documents.iter().filter(is_licence)
    }

    /// The README for other sites than the code host: relative links point into the repository.
    pub(super) fn readme_with_absolute_links(&self) -> XtaskResult<String> {
        let link = regex::Regex::new(r"\]\(([^)\s]+)\)")?;
        let base = format!("{}/blob/v{}", self.repository, self.version);
        let replaced = link.replace_all(&self.readme, |found: &regex::Captures<'_>| {
            let address = &found[1];
            if address.contains("://") || address.starts_with('#') {
                found[0].to_owned()
            } else {
                format!("]({base}/{address})")
            }
        });
        Ok(replaced.into_owned())
    }
}

/// Reads a file of the repository.
fn read(name: &str) -> XtaskResult<Vec<u8>> {
    let path = workspace::root().join(name);
    Ok(std::fs::read(path).map_err(|error| format!("{name}: {error}"))?)
}
