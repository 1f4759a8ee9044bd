//! What is remembered of a clone that a run works in: where it came from, and where its work goes. The
//! record lies beside the clone, out of the reach of whoever works in it.

use std::fs;
use std::path::PathBuf;

use selvedge_core::model::RunId;
use selvedge_engine::checkout::{Checkout, CheckoutError};
use serde::{Deserialize, Serialize};

use super::StateDir;
use crate::error::CliError;

/// A run's own clone.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct IsolatedClone {
    /// The repository it was cloned from.
    pub(crate) address: String,
    /// Whether that is of this machine and gets the branch.
    pub(crate) returns_branch: bool,
    /// Whether the branch is pushed there.
    pub(crate) push: bool,
    /// Whether the clone goes once verified work was given back.
    pub(crate) remove_when_verified: bool,
    /// The commit that it began from.
    pub(crate) base: String,
    /// The commit that was given back, when it was.
    #[serde(default)]
    pub(crate) delivered: Option<String>,
    /// Whether it ended with nothing to give back.
    #[serde(default)]
    pub(crate) unchanged: bool,
    /// Whether the clone holds what no branch does, for git ignores it.
    #[serde(default)]
    pub(crate) has_ignored_files: bool,
}

impl IsolatedClone {
    /// Whether its work went where it was to go, or there was none.
    pub(crate) fn is_delivered(&self) -> bool {
        self.unchanged || self.delivered.is_some()
    }

    /// Whether nothing is lost with the clone.
    pub(crate) fn can_be_removed(&self) -> bool {
        let is_elsewhere = self.returns_branch || self.push;
        !self.has_ignored_files && (self.unchanged || (self.delivered.is_some() && is_elsewhere))
    }

    /// The branch that a run's work ends as.
    pub(crate) fn branch_name(run_id: RunId) -> String {
        format!("selvedge/{}", run_id.short())
    }

    /// Where a run's clone and its record are.
    pub(crate) fn clone_root(home: &StateDir, run_id: RunId) -> PathBuf {
        home.checkouts_dir().join(run_id.to_string())
    }

    /// The record of a run's clone; none where it works in a directory of the person's.
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

    /// Writes the record.
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

    /// The clone.
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
