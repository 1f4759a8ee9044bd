//! Creates and removes the isolated clone of a run (`run --isolated` and `run --repo`).

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_engine::checkout::{Checkout, CheckoutError, RepositoryAddress};
use selvedge_store::Journal;

use super::canonical_directory;
use crate::cli::RunArgs;
use crate::error::CliError;
use crate::local::{IsolatedClone, StateDir};
use crate::output::print_notice;

/// Creates the clone if requested; returns the directory in it that corresponds to the working directory.
pub(super) fn prepare_clone(
    args: &RunArgs,
    workspace: Option<&str>,
    home: &StateDir,
    run_id: RunId,
) -> Result<Option<PathBuf>, CliError> {
    // clap cannot express this: it does not require arguments that conflict with a given option.
    if args.push && args.repo.is_none() {
        let error = CliError::usage("--push needs --repo URL");
        return Err(error.hint("--isolated creates its branch in the local repository anyway"));
    }
    let (address, subdirectory) = if let Some(repo) = &args.repo {
        let current_dir = canonical_directory(None)?;
        let address = RepositoryAddress::parse(repo, &current_dir).map_err(CliError::usage)?;
        (address, PathBuf::new())
    } else if args.isolated {
        let named = args.dir.as_deref().or(workspace.map(Path::new));
        let dir = canonical_directory(named)?;
        enclosing_repository(home, &dir)?
    } else {
        return Ok(None);
    };
    let branch = IsolatedClone::branch_name(run_id);
    let root = IsolatedClone::clone_root(home, run_id);
    let checkout = Checkout::clone(&address, args.rev.as_deref(), &branch, &root);
    let checkout = checkout.map_err(|error| match error {
        CheckoutError::Workspace(error) if error.is_disk_or_permission() => {
            CliError::infrastructure(error)
        }
        error => CliError::usage(error),
    })?;
    if args.isolated || args.push {
        // Otherwise an agent would be paid for work that cannot be delivered.
        checkout
            .ensure_deliverable(&address, &branch)
            .map_err(|error| {
                remove_clone(home, run_id);
                CliError::usage(error)
            })?;
    }
    let clone = IsolatedClone {
        address: address.to_string(),
        returns_branch: args.isolated,
        push: args.push,
        remove_when_verified: args.clean,
        base: checkout.base().to_owned(),
        delivered: None,
        unchanged: false,
        has_ignored_files: false,
    };
    clone.save(home, run_id)?;
    let dir = checkout.tree().join(subdirectory);
    if !dir.is_dir() {
        remove_clone(home, run_id);
        let missing = "the directory is not committed";
        return Err(CliError::usage(missing).hint("commit it first, or run without --isolated"));
    }
    let base = checkout.base().get(..12).unwrap_or_default();
    print_notice(&format!(
        "using a clone of {address} at {base}: {}",
        checkout.tree().display()
    ));
    if checkout.has_submodules() {
        print_notice("submodules are not cloned");
    }
    Ok(Some(dir))
}

/// Copies ignored files that the repository's `.worktreeinclude` or the settings list into a clone of a repository on
/// this machine.
pub(super) fn copy_ignored_files(
    args: &RunArgs,
    workspace: Option<&str>,
    home: &StateDir,
    run_id: RunId,
    files: &[String],
) -> Result<(), CliError> {
    let Some(clone) = IsolatedClone::load(home, run_id)?.filter(|clone| clone.returns_branch)
    else {
        return Ok(());
    };
    let dir = canonical_directory(args.dir.as_deref().or(workspace.map(Path::new)))?;
    let current_workspace = home.open_workspace(&dir).map_err(CliError::usage)?;
    let Some(root) = current_workspace.repository_root() else {
        return Ok(());
    };
    let include_file = fs::read_to_string(root.join(".worktreeinclude")).unwrap_or_default();
    let patterns: Vec<String> = include_file
        .lines()
        .map(str::to_owned)
        .chain(files.iter().cloned())
        .collect();
    if patterns.is_empty() {
        return Ok(());
    }
    let original = home.open_workspace(root).map_err(CliError::usage)?;
    let checkout = clone.open_checkout(home, run_id).map_err(CliError::usage)?;
    let copied = checkout.copy_ignored_files(&original, &patterns);
    let copied = copied.map_err(CliError::infrastructure)?;
    if let Some(first) = copied.first() {
        let more = match copied.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        print_notice(&format!("copied into the clone: {}{more}", first.display()));
    }
    Ok(())
}

/// The repository that contains a directory, and the directory's path in it.
fn enclosing_repository(
    home: &StateDir,
    dir: &Path,
) -> Result<(RepositoryAddress, PathBuf), CliError> {
    let workspace = home.open_workspace(dir).map_err(CliError::usage)?;
    let root = workspace.repository_root().ok_or_else(|| {
        CliError::usage(format!("{} is not in a git repository", dir.display()))
            .hint("--isolated clones the committed files; to use another repository: --repo URL")
    })?;
    if workspace.status().is_ok_and(|status| !status.is_clean()) {
        print_notice("uncommitted changes are not part of the clone");
    }
    let address =
        RepositoryAddress::parse(&root.to_string_lossy(), dir).map_err(CliError::usage)?;
    let subdirectory = dir.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    Ok((address, subdirectory))
}

/// Removes the clone of a run that was rejected before it began.
pub(super) fn remove_clone_unless_started(home: &StateDir, run_id: RunId) {
    let journal = home.open_journal_read_only();
    let began = journal.is_ok_and(|journal| journal.events(run_id, 0).next().is_some());
    if !began {
        remove_clone(home, run_id);
    }
}

fn remove_clone(home: &StateDir, run_id: RunId) {
    // `selvedge gc` removes what cannot be removed now.
    let _ = selvedge_engine::remove_all(&IsolatedClone::clone_root(home, run_id));
}
