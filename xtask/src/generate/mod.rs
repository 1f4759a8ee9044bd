//! Files that are generated from the code and committed, so that they can be read and linked to: JSON
//! Schemas of the wire format, manual page, completions, and the command-line reference.

mod command_line;
mod schemas;

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use crate::{XtaskResult, workspace};

/// Folders that contain only generated files.
const FOLDERS: [&str; 3] = ["docs/schemas", "docs/generated", "docs/generated/man"];

/// File contents, by path from the root.
type GeneratedFiles = BTreeMap<String, String>;

/// Writes all files and removes files that are no longer generated.
pub(crate) fn write() -> XtaskResult {
    let files = generate_files()?;
    for path in read_committed()?
        .keys()
        .filter(|path| !files.contains_key(*path))
    {
        std::fs::remove_file(workspace::root().join(path))?;
        println!("removed {path}");
    }
    for (path, text) in &files {
        let target = workspace::root().join(path);
        if std::fs::read_to_string(&target).is_ok_and(|now| now == *text) {
            continue;
        }
        if let Some(folder) = target.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(target, text)?;
        println!("wrote {path}");
    }
    Ok(())
}

/// Fails unless the committed files equal the generated ones.
pub(crate) fn check() -> XtaskResult {
    let (generated, committed) = (generate_files()?, read_committed()?);
    let outdated = stale_files(&generated, &committed);
    if outdated.is_empty() {
        Ok(())
    } else {
        Err(format!(
            "stale files; run `cargo xtask generate`: {}",
            outdated.join(", ")
        )
        .into())
    }
}

fn generate_files() -> XtaskResult<GeneratedFiles> {
    let mut files = schemas::generate_schemas()?;
    files.extend(command_line::generate_command_line()?);
    let document = serde_json::to_string_pretty(&selvedge_hub::openapi())?;
    files.insert("docs/generated/openapi.json".to_owned(), document + "\n");
    Ok(files)
}

fn read_committed() -> XtaskResult<GeneratedFiles> {
    let mut files = GeneratedFiles::new();
    for folder in FOLDERS {
        let path = workspace::root().join(folder);
        if !path.exists() {
            continue;
        }
        for entry in std::fs::read_dir(path)? {
            let path = entry?.path();
            if path.is_dir() {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            files.insert(format!("{folder}/{}", file_name(&path)), text);
        }
    }
    Ok(files)
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .into_owned()
}

/// Returns the files that differ, are missing, or are not generated.
fn stale_files<'a>(generated: &'a GeneratedFiles, committed: &'a GeneratedFiles) -> Vec<&'a str> {
    let differ = generated
        .iter()
        .filter(|(path, text)| committed.get(*path) != Some(*text));
    let extra = committed
        .iter()
        .filter(|(path, _)| !generated.contains_key(*path));
    differ.chain(extra).map(|(path, _)| path.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(files: &[(&str, &str)]) -> GeneratedFiles {
        files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()))
            .collect()
    }

    #[test]
    fn stale_files_are_different_missing_or_extra() {
        let generated = files(&[("a", "1"), ("b", "2"), ("c", "3")]);
        let committed = files(&[("a", "1"), ("b", "old"), ("d", "4")]);
        assert_eq!(stale_files(&generated, &committed), ["b", "c", "d"]);
        assert!(stale_files(&generated, &generated).is_empty());
    }

    #[test]
    fn schemas_are_up_to_date() {
        let committed = read_committed().unwrap();
        for (path, text) in schemas::generate_schemas().unwrap() {
            let advice = "run `cargo xtask generate`";
            assert_eq!(
                committed.get(&path),
                Some(&text),
                "{path} is stale: {advice}"
            );
        }
    }
}
