//! The files of a release in addition to the packages of each target: the checksums, and the files of Homebrew and the AUR,
//! which name archives with their checksums.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::package::PACKAGE;
use crate::XtaskResult;
use crate::workspace::CargoMetadata;

const CHECKSUMS: &str = "SHA256SUMS";
const TEMPLATES: [(&str, &str); 2] = [
    (
        "selvedge.rb",
        include_str!("../../../packaging/templates/selvedge.rb"),
    ),
    (
        "PKGBUILD",
        include_str!("../../../packaging/templates/PKGBUILD"),
    ),
];

/// Writes the files for all packages in the folder. A template whose archives are not all there is
/// skipped with a message.
pub(super) fn write(folder: &Path) -> XtaskResult {
    let metadata = CargoMetadata::workspace_only()?;
    let package = metadata.package(PACKAGE)?;
    let repository = package.repository.as_deref().ok_or("no repository")?;
    for (name, _) in TEMPLATES {
        remove_if_exists(&folder.join(name))?;
    }
    let checksums = checksums(folder)?;
    for (name, template) in TEMPLATES {
        match fill(template, &package.version, repository, &checksums) {
            Ok(text) => std::fs::write(folder.join(name), text)?,
            Err(archive) => println!("{name}: not written, because {archive} is missing"),
        }
    }
    let mut list = String::new();
    for (file, checksum) in self::checksums(folder)? {
        writeln!(list, "{checksum}  {file}")?;
    }
    std::fs::write(folder.join(CHECKSUMS), list)?;
    println!("{}", folder.join(CHECKSUMS).display());
    Ok(())
}

fn remove_if_exists(path: &Path) -> XtaskResult {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// SHA-256 of every file, by name.
fn checksums(folder: &Path) -> XtaskResult<BTreeMap<String, String>> {
    let mut checksums = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_file() && name != CHECKSUMS {
            let mut checksum = String::new();
            for byte in Sha256::digest(std::fs::read(entry.path())?) {
                write!(checksum, "{byte:02x}")?;
            }
            checksums.insert(name, checksum);
        }
    }
    Ok(checksums)
}

/// Replaces `@VERSION@`, `@REPOSITORY@` and, by the checksum of an archive, `@SHA256:TRIPLE@`. The error
/// is the name of a missing archive.
fn fill(
    template: &str,
    version: &str,
    repository: &str,
    checksums: &BTreeMap<String, String>,
) -> Result<String, String> {
    let text = template
        .replace("@VERSION@", version)
        .replace("@REPOSITORY@", repository);
    let mut pieces = text.split("@SHA256:");
    let mut filled = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (triple, rest) = piece.split_once('@').unwrap_or((piece, ""));
        let archive = format!("{PACKAGE}-{version}-{triple}.tar.gz");
        filled.push_str(checksums.get(&archive).ok_or(archive)?);
        filled.push_str(rest);
    }
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_names_the_missing_archive() {
        let template = "v@VERSION@ @REPOSITORY@ @SHA256:a-b@ @SHA256:c@.";
        let mut checksums =
            BTreeMap::from([("selvedge-1.0.0-a-b.tar.gz".to_owned(), "12".to_owned())]);
        let fill =
            |checksums: &BTreeMap<String, String>| fill(template, "1.0.0", "https://x", checksums);
        assert_eq!(fill(&checksums), Err("selvedge-1.0.0-c.tar.gz".to_owned()));
        checksums.insert("selvedge-1.0.0-c.tar.gz".to_owned(), "34".to_owned());
        assert_eq!(fill(&checksums).unwrap(), "v1.0.0 https://x 12 34.");
    }
}
