//! Changes of installed tools and dependencies, which are not in snapshots.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::counted;

/// Files in tool folders (`node_modules`, `.venv`, `vendor` …) that changed since the agent began. Snapshots exclude
/// these folders, so the checks run with the changed files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ToolFolderChanges {
    /// Number of files that were added, removed or changed.
    pub files: u64,
    /// The first of them, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<String>,
    /// The folders that contain them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub folders: Vec<String>,
    /// Whether the setup changed them when it ran for the attempt: its scripts are the attempt's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub by_setup: bool,
    /// Why the setup could not reinstall them, or why they could not be compared, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_error: Option<String>,
}

impl ToolFolderChanges {
    /// Maximum number of listed files; all are counted.
    pub const MAX_LISTED: usize = 20;
    /// Maximum number of files and folders that a sentence names.
    const MAX_NAMED: usize = 3;

    /// Reduces it to some of the folders; `None` if nothing is left. Files that are not listed are counted in any case.
    #[must_use]
    pub fn within(mut self, folders: &[String]) -> Option<Self> {
        let is_within = |path: &String| {
            folders.iter().any(|folder| {
                path.strip_prefix(folder.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
            })
        };
        self.listed.retain(is_within);
        self.folders.retain(|folder| folders.contains(folder));
        (!self.folders.is_empty()).then_some(self)
    }

    /// "the attempt changed 4 files of installed tools in node_modules: a.js, b.js, c.js and 1 more".
    pub fn describe(&self) -> String {
        if self.by_setup {
            return match &self.setup_error {
                None => format!(
                    "for the attempt, the setup installs {} differently, which its dependencies do not explain: {}",
                    counted(self.files, "file"),
                    Self::name_first(&self.listed, self.files)
                ),
                Some(error) => format!(
                    "what the setup installs for the attempt could not be compared with what it installs without the attempt's code: {error}"
                ),
            };
        }
        let changed = self.describe_files();
        match &self.setup_error {
            None => changed,
            Some(error) if self.files == 0 => {
                format!(
                    "the dependencies that the attempt specifies could not be installed: {error}"
                )
            }
            Some(error) => format!("{changed}; they could not be reinstalled: {error}"),
        }
    }

    fn describe_files(&self) -> String {
        let (files, folders) = (self.files, self.folders.len() as u64);
        format!(
            "the attempt changed {} of installed tools in {}: {}",
            counted(files, "file"),
            Self::name_first(&self.folders, folders),
            Self::name_first(&self.listed, files)
        )
    }

    fn name_first(names: &[String], all: u64) -> String {
        let named = names.len().min(Self::MAX_NAMED);
        let more = match all.saturating_sub(named as u64) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        names[..named].join(", ") + &more
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
            by_setup: false,
            setup_error: None,
        };
        assert_eq!(
            changes.describe(),
            "the attempt changed 7 files of installed tools in node_modules: node_modules/a.js, node_modules/b.js, \
             node_modules/c.js and 4 more"
        );
        let by_setup = ToolFolderChanges {
            files: 1,
            listed: vec!["node_modules/mocha/lib/runner.js".to_owned()],
            by_setup: true,
            ..changes
        };
        assert_eq!(
            by_setup.describe(),
            "for the attempt, the setup installs 1 file differently, which its dependencies do not explain: \
             node_modules/mocha/lib/runner.js"
        );
    }
}
