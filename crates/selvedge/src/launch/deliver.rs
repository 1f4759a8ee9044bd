//! The end of a run that worked in a clone: its work becomes a branch, given back or pushed, whatever the
//! outcome, which the commit tells. The clone goes only where that was asked for and nothing is lost by it.

use std::fs;
use std::path::Path;

use selvedge_core::machine::State;
use selvedge_core::model::{Outcome, RunId, exit_code};
use selvedge_engine::checkout::{Address, Checkout, CheckoutError, Identity, Made};

use crate::error::CliError;
use crate::local::{Home, Own};
use crate::output::{plain, style};

/// Gives the work of a run back that is over and whose work was not given back then; the exit code, or none
/// where there is nothing to be done.
pub(super) fn once_more(home: &Home, state: &State) -> Result<Option<u8>, CliError> {
    let Some((outcome, _)) = ended(state) else {
        return Ok(None);
    };
    let plan = state.plan.as_ref().map(|plan| plan.run_id);
    let Some(run_id) = plan.or(state.run.as_ref().map(|run| run.run_id)) else {
        return Ok(None);
    };
    match Own::of(home, run_id)? {
        Some(own) if !own.is_given() => when_over(home, run_id, outcome.exit_code()).map(Some),
        _ => Ok(None),
    }
}

/// Gives the work back, if the run worked in a clone and is over; the exit code is the run's own.
pub(super) fn when_over(home: &Home, run_id: RunId, code: u8) -> Result<u8, CliError> {
    let Some(own) = Own::of(home, run_id)? else {
        return Ok(code);
    };
    let state = home.replay(&home.journal_to_read()?, run_id)?;
    let Some((outcome, task)) = ended(&state) else {
        return Ok(code);
    };
    let place = Own::root(home, run_id).join("tree");
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
fn ended(state: &State) -> Option<(Outcome, &str)> {
    if let Some(plan) = &state.plan {
        return Some((plan.finished?, plan.spec.description.as_str()));
    }
    let run = state.run.as_ref().filter(|run| run.finished)?;
    Some((run.outcome(), run.spec.description.as_str()))
}

fn deliver(
    home: &Home,
    run_id: RunId,
    mut own: Own,
    outcome: Outcome,
    task: &str,
) -> Result<(), CliError> {
    let checkout = own.checkout(home, run_id).map_err(CliError::usage)?;
    let made = give(&checkout, &own, run_id, outcome, task).map_err(CliError::infrastructure)?;
    let tree = checkout.tree();
    match &made {
        None => say("nothing was changed: there is no branch"),
        Some(made) => {
            let commit = made.commit.get(..12).unwrap_or_default();
            let place = if own.gives_back || own.push {
                own.address.clone()
            } else {
                tree.display().to_string()
            };
            say(&format!("branch {} ({commit}) in {place}", made.branch));
        }
    }
    let ignored = checkout.ignored().map_err(CliError::infrastructure)?;
    if !ignored.is_empty() {
        say(&format!(
            "on no branch, for git ignores it: {}",
            named(&ignored)
        ));
    }
    own.unchanged = made.is_none();
    own.left_behind = !ignored.is_empty();
    own.delivered = made.map(|made| made.commit);
    own.save(home, run_id)?;
    if own.clean && own.is_spare() && outcome.exit_code() == exit_code::VERIFIED {
        let root = Own::root(home, run_id);
        fs::remove_dir_all(&root).map_err(|error| {
            CliError::infrastructure(format!("cannot remove {}: {error}", root.display()))
        })?;
    } else {
        say(&format!("the clone is kept: {}", tree.display()));
    }
    Ok(())
}

fn give(
    checkout: &Checkout,
    own: &Own,
    run_id: RunId,
    outcome: Outcome,
    task: &str,
) -> Result<Option<Made>, CheckoutError> {
    let here = Path::new(&own.address);
    let local = own.gives_back.then_some(here);
    let by = Identity::of_the_person(local.unwrap_or(&checkout.tree()));
    let message = message(task, run_id, outcome);
    let Some(made) = checkout.commit(&Own::branch(run_id), &message, &by)? else {
        return Ok(None);
    };
    if let Some(dir) = local {
        checkout.give_to(dir, &made)?;
    } else if own.push {
        let address = Address::parse(&own.address, here).map_err(|_| CheckoutError::Gone {
            root: here.to_owned(),
        })?;
        checkout.push(&address, &made)?;
    } else {
        checkout.give_to(&checkout.tree(), &made)?;
    }
    Ok(Some(made))
}

/// The task's first line, the whole of it below, and how the run ended, as trailers.
fn message(task: &str, run_id: RunId, outcome: Outcome) -> String {
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
fn named(paths: &[String]) -> String {
    const SOME: usize = 5;
    let some: Vec<String> = paths.iter().take(SOME).map(|path| plain(path)).collect();
    let more = paths.len().saturating_sub(SOME);
    let more = (more > 0).then(|| format!(" and {more} more"));
    some.join(", ") + &more.unwrap_or_default()
}

fn say(text: &str) {
    errln!("{} {text}", style::strong("work:"));
}
