//! The record of a run's isolated clone: where it came from, and where its work goes. It is stored next to the clone,
//! where the agent cannot change it.

use std::fs;
use std::path::PathBuf;

use selvedge_core::model::RunId;
use selvedge_engine::checkout::{Checkout, CheckoutError};
use serde::{Deserialize, Serialize};

use super::StateDir;
use crate::error::CliError;

/// An isolated clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IsolatedClone {
    /// The repository that it was cloned from.
    pub(crate) address: String,
    /// Whether that repository is local and receives the branch.
    pub(crate) returns_branch: bool,
    /// Whether the branch is pushed to that repository.
    pub(crate) push: bool,
    /// Whether the clone is removed after verified work was delivered.
    pub(crate) remove_when_verified: bool,
    /// The commit that the run began from.
    pub(crate) base: String,
    /// The commit that was delivered.
    #[serde(default)]
    pub(crate) delivered: Option<String>,
    /// Whether the run ended without changes.
    #[serde(default)]
    pub(crate) unchanged: bool,
    /// Whether the clone contains files that git ignores and that no branch will contain.
    #[serde(default)]
    pub(crate) has_ignored_files: bool,
}

impl IsolatedClone {
    /// Whether the work was delivered, or there was none.
    pub(crate) fn is_delivered(&self) -> bool {
        self.unchanged || self.delivered.is_some()
    }

    /// Why removing the clone would lose something; `None` if it would not.
    pub(crate) fn reason_to_keep(&self) -> Option<&'static str> {
        let is_elsewhere = self.returns_branch || self.push;
        if self.has_ignored_files {
            Some("it contains files that git ignores and that are on no branch")
        } else if self.unchanged {
            None
        } else if self.delivered.is_none() {
            Some("its work was not delivered (`selvedge resume RUN` tries again)")
        } else if is_elsewhere {
            None
        } else {
            Some("its branch is in no other repository (`--push` would push it)")
        }
    }

    /// The branch that receives the work.
    pub(crate) fn branch_name(run_id: RunId) -> String {
        format!("selvedge/{}", run_id.short())
    }

    /// The directory of a run's clone and its record.
    pub(crate) fn clone_root(home: &StateDir, run_id: RunId) -> PathBuf {
        home.checkouts_dir().join(run_id.to_string())
    }

    /// Loads the record of a run's clone; `None` if the run has no clone.
    pub(crate) fn load(home: &StateDir, run_id: RunId) -> Result<Option<Self>, CliError> {
        let path = Self::record_path(home, run_id);
        match fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map(Some).map_err(|error| {
                CliError::infrastructure(format!("{} is damaged: {error}", path.display()))
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CliError::infrastructure(format!(
                "cannot read {}: {error}",
                path.display()
            ))),
        }
    }

    pub(crate) fn save(&self, home: &StateDir, run_id: RunId) -> Result<(), CliError> {
        let path = Self::record_path(home, run_id);
        let bytes = serde_json::to_vec_pretty(self).map_err(CliError::infrastructure)?;
        let new = path.with_extension("new");
        fs::write(&new, bytes)
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| {
                CliError::infrastructure(format!("cannot write {}: {error}", path.display()))
            })
    }

    pub(crate) fn open_checkout(
        &self,
        home: &StateDir,
        run_id: RunId,
    ) -> Result<Checkout, CheckoutError> {
        Checkout::open(&Self::clone_root(home, run_id), &self.base)
    }

    fn record_path(home: &StateDir, run_id: RunId) -> PathBuf {
        Self::clone_root(home, run_id).join("own.json")
    }
}
