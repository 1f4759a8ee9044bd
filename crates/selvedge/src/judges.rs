//! Who judges a run's work in the tiers above its checks, settled before any money is spent.

use std::path::Path;

use selvedge_core::config::Resolved;
use selvedge_core::gate::choose;
use selvedge_core::model::{AgentSpec, Judging};
use selvedge_engine::agents::preflight;

use crate::error::CliError;

/// Who judges, for a tier above the checks. Refused before any money is spent if nobody could.
pub(crate) fn judging(
    tier: u8,
    settings: &Resolved,
    worker: &AgentSpec,
    dir: &Path,
    snapshots: bool,
) -> Result<Option<Judging>, CliError> {
    let tiers = match tier {
        0 | 1 => return Ok(None),
        2 => vec![2],
        3 => vec![2, 3],
        other => {
            return Err(CliError::usage(format!("there is no tier {other}"))
                .hint("1: the checks; 2: a model judges as well; 3: a vote on top"));
        }
    };
    if !snapshots {
        return Err(CliError::usage(format!(
            "tier {tier} needs snapshots: without them no judge can be shown what was changed"
        ))
        .hint("`git init` makes the directory a repository; or leave out --tier"));
    }
    let judges = choose(&settings.judges, &settings.agents, worker).map_err(CliError::usage)?;
    for judge in &judges {
        if let Err(missing) = preflight(judge, dir) {
            return Err(CliError::usage(missing)
                .hint("or name another judge of your [agents]: --judge NAME"));
        }
    }
    Ok(Some(Judging {
        tiers,
        judges,
        votes: settings.votes,
        confidence_floor: settings.confidence_floor,
    }))
}

/// What judging an attempt takes, said before it begins.
pub(crate) fn who_judges(judging: &Judging) -> String {
    let named = judging.judges.iter().map(|judge| match &judge.model {
        None => format!("`{}`", judge.name),
        Some(model) => format!("`{}` ({model})", judge.name),
    });
    let sessions: u32 = judging
        .tiers
        .iter()
        .map(|&tier| judging.votes_in(tier))
        .sum();
    format!(
        "work that passes its checks is judged by {}, in up to {sessions} session{} an attempt; what \
         they cost counts towards the run's caps",
        named.collect::<Vec<_>>().join(", "),
        if sessions == 1 { "" } else { "s" }
    )
}
