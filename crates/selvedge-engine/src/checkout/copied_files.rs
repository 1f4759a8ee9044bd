//! Ignored files that were copied into a clone: they belong to the person and are not delivered on
//! any branch.

use std::fs;
use std::path::PathBuf;

use super::{Checkout, CheckoutError};
use crate::workspace::{Workspace, WorkspaceError};

impl Checkout {
    /// Copies ignored files of the original that match one of the patterns
    /// ([`Workspace::copy_ignored`]).
    ///
    /// # Errors
    ///
    /// Files cannot be listed, read or written.
    pub fn copy_ignored_files(
        &self,
        original: &Workspace,
        patterns: &[String],
    ) -> Result<Vec<PathBuf>, CheckoutError> {
        let taken = original.copy_ignored(&self.tree(), patterns)?;
        let names: Vec<String> = taken
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        let path = self.copied_files_list();
        let list = serde_json::to_vec(&names).unwrap_or_default();
        fs::write(&path, list).map_err(|error| WorkspaceError::io("write", &path, error))?;
        Ok(taken)
    }

    /// The files that were copied.
    pub(super) fn copied_files(&self) -> Vec<String> {
        let list = fs::read(self.copied_files_list()).ok();
        list.and_then(|list| serde_json::from_slice(&list).ok())
            .unwrap_or_default()
    }

    fn copied_files_list(&self) -> PathBuf {
        self.root.join("taken.json")
    }
}
