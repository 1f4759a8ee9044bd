//! Delivers the work of a run in an isolated clone: a branch, returned to the local repository or pushed, whatever the
//! outcome; the commit message names the outcome. The clone is removed only if that was requested and loses nothing.

use std::path::Path;

use selvedge_core::machine::JournalState;
use selvedge_core::model::{Outcome, RunId, exit_code};
use selvedge_core::sanitize::sanitize_text;
use selvedge_engine::checkout::{
    BranchCommit, Checkout, CheckoutError, CommitAuthor, RepositoryAddress,
};
use selvedge_engine::remove_all;

use crate::error::CliError;
use crate::local::{IsolatedClone, StateDir};
use crate::terminal::style;

/// Delivers the work of a finished run if that failed before. Returns the exit code, or `None` if there is nothing to
/// deliver.
pub(super) fn retry_delivery(
    home: &StateDir,
    state: &JournalState,
) -> Result<Option<u8>, CliError> {
    let Some((outcome, _)) = outcome_and_description(state) else {
        return Ok(None);
    };
    let plan = state.plan.as_ref().map(|plan| plan.run_id);
    let Some(run_id) = plan.or(state.run.as_ref().map(|run| run.run_id)) else {
        return Ok(None);
    };
    match IsolatedClone::load(home, run_id)? {
        Some(clone) if !clone.is_delivered() => {
            deliver_if_finished(home, run_id, outcome.exit_code()).map(Some)
        }
        _ => Ok(None),
    }
}

/// Delivers the work if the run has ended and used a clone. Returns the run's exit code.
pub(super) fn deliver_if_finished(
    home: &StateDir,
    run_id: RunId,
    code: u8,
) -> Result<u8, CliError> {
    let Some(clone) = IsolatedClone::load(home, run_id)? else {
        return Ok(code);
    };
    let state = home.replay(&home.open_journal_read_only()?, run_id)?;
    let Some((outcome, task)) = outcome_and_description(&state) else {
        return Ok(code);
    };
    let location = IsolatedClone::clone_root(home, run_id).join("tree");
    let delivered = deliver(home, run_id, clone, outcome, task);
    delivered.map_err(|error| {
        CliError::infrastructure(format!("cannot deliver the work: {error}")).hint(format!(
            "the work is in {}; retry with `selvedge resume {}`",
            location.display(),
            run_id.short()
        ))
    })?;
    Ok(code)
}

/// The outcome and the description of a finished run or plan; `None` before its end.
fn outcome_and_description(state: &JournalState) -> Option<(Outcome, &str)> {
    if let Some(plan) = &state.plan {
        return Some((plan.finished?, plan.spec.description.as_str()));
    }
    let run = state.run.as_ref().filter(|run| run.finished)?;
    Some((run.outcome(), run.spec.description.as_str()))
}

fn deliver(
    home: &StateDir,
    run_id: RunId,
    mut clone: IsolatedClone,
    outcome: Outcome,
    task: &str,
) -> Result<(), CliError> {
    let checkout = clone.open_checkout(home, run_id).map_err(CliError::usage)?;
    let branch_commit = commit_and_hand_over(&checkout, &clone, run_id, outcome, task)
        .map_err(CliError::infrastructure)?;
    let tree = checkout.tree();
    match &branch_commit {
        None => print_delivery("no changes, no branch created"),
        Some(branch_commit) => {
            let commit = branch_commit.commit.get(..12).unwrap_or_default();
            let location = if clone.returns_branch || clone.push {
                clone.address.clone()
            } else {
                tree.display().to_string()
            };
            print_delivery(&format!(
                "branch {} ({commit}) in {location}",
                branch_commit.branch
            ));
        }
    }
    let ignored = checkout.ignored_files().map_err(CliError::infrastructure)?;
    if !ignored.is_empty() {
        print_delivery(&format!(
            "not on the branch, ignored by git: {}",
            summarize_paths(&ignored)
        ));
    }
    clone.unchanged = branch_commit.is_none();
    clone.has_ignored_files = !ignored.is_empty();
    clone.delivered = branch_commit.map(|branch_commit| branch_commit.commit);
    clone.save(home, run_id)?;
    let reason = match clone.reason_to_keep() {
        _ if !clone.remove_when_verified => None,
        _ if outcome.exit_code() != exit_code::VERIFIED => Some("the work is not verified"),
        None => {
            let root = IsolatedClone::clone_root(home, run_id);
            return remove_all(&root).map_err(|error| {
                CliError::infrastructure(format!("cannot remove {}: {error}", root.display()))
            });
        }
        reason => reason,
    };
    let reason = reason.map_or_else(String::new, |reason| format!(" (kept: {reason})"));
    print_delivery(&format!("clone: {}{reason}", tree.display()));
    Ok(())
}

fn commit_and_hand_over(
    checkout: &Checkout,
    clone: &IsolatedClone,
    run_id: RunId,
    outcome: Outcome,
    task: &str,
) -> Result<Option<BranchCommit>, CheckoutError> {
    let repository = Path::new(&clone.address);
    let local = clone.returns_branch.then_some(repository);
    let author = CommitAuthor::from_git_config(local.unwrap_or(&checkout.tree()));
    let message = commit_message(task, run_id, outcome);
    let Some(branch_commit) =
        checkout.commit(&IsolatedClone::branch_name(run_id), &message, &author)?
    else {
        return Ok(None);
    };
    if let Some(dir) = local {
        checkout.deliver_to(dir, &branch_commit)?;
    } else if clone.push {
        let address = RepositoryAddress::parse(&clone.address, repository).map_err(|_| {
            CheckoutError::CloneMissing {
                root: repository.to_owned(),
            }
        })?;
        checkout.push(&address, &branch_commit)?;
    } else {
        checkout.deliver_to(&checkout.tree(), &branch_commit)?;
    }
    Ok(Some(branch_commit))
}

/// A commit message: the task's first line, the whole task if it is longer, and trailers with the run's id and outcome.
fn commit_message(task: &str, run_id: RunId, outcome: Outcome) -> String {
    const LINE: usize = 72;
    let plain: String = task
        .chars()
        .filter(|c| !c.is_control() || *c == '\n')
        .collect();
    let first = plain.lines().find(|line| !line.trim().is_empty());
    let first = first.map_or("Work of an agent", str::trim);
    let title: String = if first.chars().count() > LINE {
        first.chars().take(LINE - 1).chain(['…']).collect()
    } else {
        first.to_owned()
    };
    let body = if plain.trim() == title {
        String::new()
    } else {
        format!("{}\n\n", plain.trim())
    };
    format!(
        "{title}\n\n{body}Selvedge-Run: {run_id}\nSelvedge-Outcome: {}\n",
        outcome.as_str()
    )
}

/// Lists the first paths, and counts the others.
fn summarize_paths(paths: &[String]) -> String {
    const SOME: usize = 5;
    let some: Vec<String> = paths
        .iter()
        .take(SOME)
        .map(|path| sanitize_text(path))
        .collect();
    let more = paths.len().saturating_sub(SOME);
    let more = (more > 0).then(|| format!(" and {more} more"));
    some.join(", ") + &more.unwrap_or_default()
}

fn print_delivery(text: &str) {
    errln!("{} {text}", style::strong("work:"));
}
