//! The licence texts of everything that is linked into the program, as most of these licences require.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use super::package::PACKAGE;
use crate::XtaskResult;
use crate::workspace::CargoMetadata;

const RULE: &str = "\
--------------------------------------------------------------------------------";

/// Beginnings of the names of licence files.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Lists the packages with their licences, then each distinct text with the packages that it is from.
pub(super) fn third_party_licences(metadata: &CargoMetadata) -> XtaskResult<String> {
    let mut list = String::new();
    let mut packages_by_text: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in metadata.runtime_dependencies(PACKAGE) {
        // Our own crates have no source.
        if package.source.is_none() {
            continue;
        }
        let name = format!("{} {}", package.name, package.version);
        let licence = package.license.as_deref().unwrap_or("see its text below");
        writeln!(list, "{name}: {licence}")?;
        let folder = package.manifest_path.parent().unwrap_or(Path::new("."));
        for text in licence_texts(folder)? {
            packages_by_text
                .entry(text)
                .or_default()
                .insert(name.clone());
        }
    }
    let mut document =
        format!("Selvedge contains the following libraries, under these licences.\n\n{list}");
    for (text, packages) in packages_by_text {
        let packages = packages.into_iter().collect::<Vec<_>>().join(", ");
        write!(
            document,
            "\n{RULE}\n{packages}\n{RULE}\n\n{}\n",
            text.trim_end()
        )?;
    }
    Ok(document)
}

fn licence_texts(folder: &Path) -> XtaskResult<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        if entry.file_type()?.is_file() && NAMES.iter().any(|it| name.starts_with(it)) {
            let text = std::fs::read(entry.path())?;
            texts.insert(String::from_utf8_lossy(&text).replace("\r\n", "\n"));
        }
    }
    Ok(texts)
}
