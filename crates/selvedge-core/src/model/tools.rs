//! Changes of installed tools and dependencies, which are in no snapshot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::counted;

/// Files in folders of installed tools (`node_modules`, `.venv`, `vendor` …) that are not as they were before the
/// agent began. Snapshots leave these folders out, so the checks run with the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFolderChanges {
    /// How many files were added, removed or changed.
    pub files: u64,
    /// The first of them, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
    /// The folders that they are in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
}

impl ToolFolderChanges {
    /// Files and folders that are listed; the files are all counted.
    pub const LISTED: usize = 20;
    /// Files that a sentence names.
    const NAMED: usize = 3;

    /// "the attempt changed 4 files of installed tools in node_modules: a.js, b.js, c.js and 1 more".
    pub fn describe(&self) -> String {
        let named = self.listed.len().min(Self::NAMED);
        let more = match self.files.saturating_sub(named as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        format!(
            "the attempt changed {} of installed tools in {}: {}{more}",
            counted(self.files, "file"),
            self.folders.join(", "),
            self.listed[..named].join(", ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describe_names_folders_and_the_first_files() {
        let names = ["a", "b", "c", "d"].map(|name| format!("node_modules/{name}.js"));
        let changes = ToolFolderChanges {
            files: 7,
            listed: names.to_vec(),
            folders: vec!["node_modules".to_owned()],
        };
        assert_eq!(
            changes.describe(),
            "the attempt changed 7 files of installed tools in node_modules: node_modules/a.js, node_modules/b.js, \
             node_modules/c.js and 4 more"
        );
    }
}
