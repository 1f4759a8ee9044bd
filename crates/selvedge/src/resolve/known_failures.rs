//! Resolves the known failures of a run: from the task, or else from the settings and the file that they name.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::model::{KnownFailures, Task};

use crate::error::CliError;

const MAX_LIST_BYTES: u64 = 4 << 20;

/// The known failures of a run.
#[derive(Debug)]
pub(crate) struct ResolvedKnownFailures {
    /// The tests that may fail, without those that the task names.
    pub(crate) known: KnownFailures,
    /// Reports the tests that were removed because the task names them.
    pub(crate) notice: Option<String>,
}

/// Resolves the known failures. A relative path in the settings is relative to `dir`.
pub(crate) fn resolve_known_failures(
    task: &Task,
    settings: &ResolvedConfig,
    dir: &Path,
) -> Result<ResolvedKnownFailures, CliError> {
    let listed = match (&task.known_failures, &settings.known_failures_file) {
        (Some(of_task), _) => of_task.clone(),
        (None, None) => settings.known_failures.clone(),
        (None, Some(file)) => {
            let of_file = read_list(&dir.join(file))?;
            let ids = [settings.known_failures.ids(), of_file.ids()].concat();
            KnownFailures::new(ids)
        }
    };
    let criteria = task.acceptance_criteria.as_deref().unwrap_or_default();
    let task_text = format!("{}\n{criteria}", task.description);
    let (known, named) = listed.without_named_in(&task_text);
    let notice = (!named.is_empty()).then(|| {
        let named = named.join(", ");
        format!("not excused as known failures because the task names them: {named}")
    });
    Ok(ResolvedKnownFailures { known, notice })
}

fn read_list(path: &Path) -> Result<KnownFailures, CliError> {
    let failed = |error: &dyn std::fmt::Display| {
        CliError::usage(format!(
            "cannot read the known failures in {}: {error}",
            path.display()
        ))
        .hint(format!(
            "create it: selvedge known-failures --output {}",
            path.display()
        ))
    };
    let metadata = std::fs::metadata(path).map_err(|error| failed(&error))?;
    if !metadata.is_file() {
        return Err(failed(&"it is not a regular file"));
    }
    if metadata.len() > MAX_LIST_BYTES {
        return Err(failed(&"it is larger than 4 MiB"));
    }
    let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
    Ok(KnownFailures::parse(&text))
}
