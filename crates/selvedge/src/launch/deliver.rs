//! The end of a run that worked in a clone: its work becomes a branch, given back or pushed, whatever the
//! outcome, which the commit tells. The clone goes only where that was asked for and nothing is lost by it.

use std::fs;
use std::path::Path;

use selvedge_core::machine::JournalState;
use selvedge_core::model::{Outcome, RunId, exit_code};
use selvedge_engine::checkout::{
    BranchCommit, Checkout, CheckoutError, CommitAuthor, RepositoryAddress,
};

use crate::error::CliError;
use crate::local::{IsolatedClone, StateDir};
use crate::output::{sanitize_text, style};

/// Gives the work of a run back that is over and whose work was not given back then; the exit code, or none
/// where there is nothing to be done.
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
        Some(own) if !own.is_delivered() => {
            deliver_if_finished(home, run_id, outcome.exit_code()).map(Some)
        }
        _ => Ok(None),
    }
}

/// Gives the work back, if the run worked in a clone and is over; the exit code is the run's own.
pub(super) fn deliver_if_finished(
    home: &StateDir,
    run_id: RunId,
    code: u8,
) -> Result<u8, CliError> {
    let Some(own) = IsolatedClone::load(home, run_id)? else {
        return Ok(code);
    };
    let state = home.replay(&home.open_journal_read_only()?, run_id)?;
    let Some((outcome, task)) = outcome_and_description(&state) else {
        return Ok(code);
    };
    let place = IsolatedClone::clone_root(home, run_id).join("tree");
    let delivered = deliver(home, run_id, own, outcome, task);
    delivered.map_err(|error| {
        CliError::infrastructure(format!("the work was not given back: {error}")).hint(format!(
            "it stands in {}; `selvedge resume {}` tries again",
            place.display(),
            run_id.short()
        ))
    })?;
    Ok(code)
}

/// How it ended, and what was to be done.
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
    mut own: IsolatedClone,
    outcome: Outcome,
    task: &str,
) -> Result<(), CliError> {
    let checkout = own.open_checkout(home, run_id).map_err(CliError::usage)?;
    let made = commit_and_hand_over(&checkout, &own, run_id, outcome, task)
        .map_err(CliError::infrastructure)?;
    let tree = checkout.tree();
    match &made {
        None => print_delivery("nothing was changed: there is no branch"),
        Some(made) => {
            let commit = made.commit.get(..12).unwrap_or_default();
            let place = if own.returns_branch || own.push {
                own.address.clone()
            } else {
                tree.display().to_string()
            };
            print_delivery(&format!("branch {} ({commit}) in {place}", made.branch));
        }
    }
    let ignored = checkout.ignored_files().map_err(CliError::infrastructure)?;
    if !ignored.is_empty() {
        print_delivery(&format!(
            "on no branch, for git ignores it: {}",
            summarize_paths(&ignored)
        ));
    }
    own.unchanged = made.is_none();
    own.has_ignored_files = !ignored.is_empty();
    own.delivered = made.map(|made| made.commit);
    own.save(home, run_id)?;
    if own.remove_when_verified
        && own.can_be_removed()
        && outcome.exit_code() == exit_code::VERIFIED
    {
        let root = IsolatedClone::clone_root(home, run_id);
        fs::remove_dir_all(&root).map_err(|error| {
            CliError::infrastructure(format!("cannot remove {}: {error}", root.display()))
        })?;
    } else {
        print_delivery(&format!("the clone is kept: {}", tree.display()));
    }
    Ok(())
}

fn commit_and_hand_over(
    checkout: &Checkout,
    own: &IsolatedClone,
    run_id: RunId,
    outcome: Outcome,
    task: &str,
) -> Result<Option<BranchCommit>, CheckoutError> {
    let here = Path::new(&own.address);
    let local = own.returns_branch.then_some(here);
    let by = CommitAuthor::from_git_config(local.unwrap_or(&checkout.tree()));
    let message = commit_message(task, run_id, outcome);
    let Some(made) = checkout.commit(&IsolatedClone::branch_name(run_id), &message, &by)? else {
        return Ok(None);
    };
    if let Some(dir) = local {
        checkout.deliver_to(dir, &made)?;
    } else if own.push {
        let address = RepositoryAddress::parse(&own.address, here).map_err(|_| {
            CheckoutError::CloneMissing {
                root: here.to_owned(),
            }
        })?;
        checkout.push(&address, &made)?;
    } else {
        checkout.deliver_to(&checkout.tree(), &made)?;
    }
    Ok(Some(made))
}

/// The task's first line, the whole of it below, and how the run ended, as trailers.
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

/// Some of these paths, and how many more there are.
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
