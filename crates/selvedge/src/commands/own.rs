//! `run --worktree` and `--repo`: the clone that the run is to work in.

use std::fs;
use std::path::{Path, PathBuf};

use selvedge_core::model::RunId;
use selvedge_engine::checkout::{Address, Checkout, CheckoutError};
use selvedge_store::Journal;

use super::{directory, notice};
use crate::cli::RunArgs;
use crate::error::CliError;
use crate::local::{Home, Own};

/// Makes the clone, where one is asked for; gives the directory in it that stands for the one that was meant.
pub(super) fn prepare(
    args: &RunArgs,
    workspace: Option<&str>,
    home: &Home,
    run_id: RunId,
) -> Result<Option<PathBuf>, CliError> {
    // The command line cannot say it: what conflicts with an option is not asked for on its behalf.
    if args.push && args.repo.is_none() {
        let error = CliError::usage("--push is for the repository of --repo URL");
        return Err(error.hint("--worktree gives the branch back to the repository here by itself"));
    }
    let (address, within) = if let Some(repo) = &args.repo {
        let here = directory(None)?;
        let address = Address::parse(repo, &here).map_err(CliError::usage)?;
        (address, PathBuf::new())
    } else if args.worktree {
        let named = args.dir.as_deref().or(workspace.map(Path::new));
        let dir = directory(named)?;
        of_this_machine(home, &dir)?
    } else {
        return Ok(None);
    };
    let branch = Own::branch(run_id);
    let root = Own::root(home, run_id);
    let checkout = Checkout::clone(&address, args.rev.as_deref(), &branch, &root);
    let checkout = checkout.map_err(|error| match error {
        CheckoutError::Workspace(error) if error.is_disk_or_permission() => {
            CliError::infrastructure(error)
        }
        error => CliError::usage(error),
    })?;
    let own = Own {
        address: address.to_string(),
        gives_back: args.worktree,
        push: args.push,
        clean: args.clean,
        base: checkout.base().to_owned(),
        delivered: None,
        unchanged: false,
        left_behind: false,
    };
    own.save(home, run_id)?;
    let dir = checkout.tree().join(within);
    if !dir.is_dir() {
        forget(home, run_id);
        let missing = "the directory is not part of what is committed";
        return Err(CliError::usage(missing).hint("commit it first, or run without --worktree"));
    }
    let begins = checkout.base().get(..12).unwrap_or_default();
    notice(&format!(
        "working in a clone of {address} at {begins}: {}",
        checkout.tree().display()
    ));
    if checkout.has_submodules() {
        notice("submodules are not cloned");
    }
    Ok(Some(dir))
}

/// Takes ignored files along that the repository's `.worktreeinclude` or the settings name, into a clone of a
/// repository of this machine.
pub(super) fn take_along(
    args: &RunArgs,
    workspace: Option<&str>,
    home: &Home,
    run_id: RunId,
    files: &[String],
) -> Result<(), CliError> {
    let Some(own) = Own::of(home, run_id)?.filter(|own| own.gives_back) else {
        return Ok(());
    };
    let dir = directory(args.dir.as_deref().or(workspace.map(Path::new)))?;
    let here = home.workspace(&dir).map_err(CliError::usage)?;
    let Some(root) = here.repository_root() else {
        return Ok(());
    };
    let listed = fs::read_to_string(root.join(".worktreeinclude")).unwrap_or_default();
    let patterns: Vec<String> = listed
        .lines()
        .map(str::to_owned)
        .chain(files.iter().cloned())
        .collect();
    if patterns.is_empty() {
        return Ok(());
    }
    let original = home.workspace(root).map_err(CliError::usage)?;
    let checkout = own.checkout(home, run_id).map_err(CliError::usage)?;
    let taken = checkout.take_along(&original, &patterns);
    let taken = taken.map_err(CliError::infrastructure)?;
    if let Some(first) = taken.first() {
        let more = match taken.len() {
            1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        notice(&format!(
            "taken along into the clone: {}{more}",
            first.display()
        ));
    }
    Ok(())
}

/// The repository that holds a directory, and where in it the directory is.
fn of_this_machine(home: &Home, dir: &Path) -> Result<(Address, PathBuf), CliError> {
    let workspace = home.workspace(dir).map_err(CliError::usage)?;
    let root = workspace.repository_root().ok_or_else(|| {
        CliError::usage(format!("{} is in no git repository", dir.display())).hint(
            "--worktree works in a clone of what is committed; --repo URL names another repository",
        )
    })?;
    if workspace.status().is_ok_and(|status| !status.is_clean()) {
        notice("what is not committed here is not part of the clone");
    }
    let address = Address::parse(&root.to_string_lossy(), dir).map_err(CliError::usage)?;
    let within = dir.strip_prefix(root).unwrap_or(Path::new("")).to_owned();
    Ok((address, within))
}

/// Removes the clone of a run that never began: it was refused on the way.
pub(super) fn forget_unless_begun(home: &Home, run_id: RunId) {
    let journal = home.journal_to_read();
    let began = journal.is_ok_and(|journal| journal.events(run_id, 0).next().is_some());
    if !began {
        forget(home, run_id);
    }
}

fn forget(home: &Home, run_id: RunId) {
    // What cannot be removed now is found by `selvedge gc`.
    let _ = fs::remove_dir_all(Own::root(home, run_id));
}
