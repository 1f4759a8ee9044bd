//! Files that are excluded from snapshots and thus cannot be restored.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::format::{bytes, counted};

/// Files that are too large for snapshots, and ignored folders that tools fill, which are excluded as a whole. All are
/// counted, the first of them listed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedContent {
    /// Number of files, excluding those inside the folders.
    pub files: u64,
    /// Total size of the files, in bytes.
    pub bytes: u64,
    /// The first of the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed: Vec<ExcludedFile>,
    /// How many folders.
    #[serde(default)]
    pub folders: u64,
    /// The first of the folders, relative to the workspace.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listed_folders: Vec<String>,
}

/// An excluded file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExcludedFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its size, in bytes.
    pub bytes: u64,
}

impl ExcludedContent {
    /// Maximum number of listed files and folders; further ones are counted.
    pub const MAX_LISTED: usize = 20;
    /// Maximum number of files and folders that a sentence names.
    const MAX_NAMED: usize = 3;

    /// Adds a file.
    pub fn add_file(&mut self, path: String, bytes: u64) {
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
        if self.listed.len() < Self::MAX_LISTED {
            self.listed.push(ExcludedFile { path, bytes });
        }
    }

    /// Adds a folder.
    pub fn add_folder(&mut self, path: String) {
        self.folders += 1;
        if self.listed_folders.len() < Self::MAX_LISTED {
            self.listed_folders.push(path);
        }
    }

    /// Whether it is empty.
    pub const fn is_empty(&self) -> bool {
        self.files == 0 && self.folders == 0
    }

    /// "2 files (2.1 GiB): a.bin (2.0 GiB), b.db (100.0 MiB); 1 folder: build".
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.files > 0 {
            let named = self.listed.iter().take(Self::MAX_NAMED);
            let named = named.map(|file| format!("{} ({})", file.path, bytes(file.bytes)));
            let count = format!("{} ({})", counted(self.files, "file"), bytes(self.bytes));
            parts.push(list(&count, &named.collect::<Vec<_>>(), self.files));
        }
        if self.folders > 0 {
            let named = self.listed_folders.iter().take(Self::MAX_NAMED).cloned();
            let count = counted(self.folders, "folder");
            parts.push(list(&count, &named.collect::<Vec<_>>(), self.folders));
        }
        parts.join("; ")
    }
}

fn list(count: &str, named: &[String], all: u64) -> String {
    let more = all.saturating_sub(named.len() as u64);
    let named = named.join(", ");
    match more {
        0 => format!("{count}: {named}"),
        more => format!("{count}: {named} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describe_names_the_first_and_counts_the_others() {
        let mut unkept = ExcludedContent::default();
        for name in ["a", "b", "c", "d"] {
            unkept.add_file(format!("{name}.bin"), 2 << 20);
        }
        unkept.add_folder("build".to_owned());
        assert_eq!(
            unkept.describe(),
            "4 files (8.0 MiB): a.bin (2.0 MiB), b.bin (2.0 MiB), c.bin (2.0 MiB) and 1 more; \
             1 folder: build"
        );
    }
}
