//! Resolves the judges of the tiers above the checks, before any money is spent.

use std::path::Path;

use selvedge_core::config::ResolvedConfig;
use selvedge_core::gate::choose;
use selvedge_core::model::{AgentSpec, JudgingSpec};
use selvedge_engine::agents::check_program;

use crate::error::CliError;

/// Resolves the judges of a tier above the checks. Fails before any money is spent if no judge is available.
pub(crate) fn resolve_judging(
    tier: u8,
    settings: &ResolvedConfig,
    worker: &AgentSpec,
    dir: &Path,
    snapshots: bool,
) -> Result<Option<JudgingSpec>, CliError> {
    let tiers = tiers_above_checks(tier, settings)?;
    if tiers.is_empty() {
        return Ok(None);
    }
    if !snapshots {
        return Err(CliError::usage(format!(
            "tier {tier} needs snapshots to show the changes to a judge"
        ))
        .hint("run `git init` to make the directory a repository, or omit --tier"));
    }
    let judges =
        choose(&settings.judges, &settings.agents, worker).map_err(CliError::of_this_machine)?;
    for judge in judges
        .iter()
        .filter(|_| !settings.sandbox.agents_in_image())
    {
        if let Err(missing) = check_program(judge, dir) {
            return Err(CliError::of_this_machine(missing)
                .hint("or select another judge from [agents]: --judge NAME"));
        }
    }
    Ok(Some(JudgingSpec {
        tiers,
        judges,
        votes: settings.votes,
        confidence_floor: settings.confidence_floor,
    }))
}

/// The tiers above the checks that this one includes. A tier that cannot be used is an error, never skipped silently:
/// the verdict would be worth less than requested.
fn tiers_above_checks(tier: u8, settings: &ResolvedConfig) -> Result<Vec<u8>, CliError> {
    let switched_off = |tier: u8| {
        CliError::of_this_machine(format!("tier {tier} is disabled")).hint(format!(
            "set `judging.tier{tier}_enabled`, or use a lower --tier"
        ))
    };
    match tier {
        0 | 1 => Ok(Vec::new()),
        2 if !settings.tier2_enabled => Err(switched_off(2)),
        2 => Ok(vec![2]),
        3 if !settings.tier3_enabled => Err(switched_off(3)),
        3 if !settings.tier2_enabled => Ok(vec![3]),
        3 => Ok(vec![2, 3]),
        other => Err(CliError::usage(format!("invalid tier {other}"))
            .hint("1: checks; 2: checks and a judge; 3: a vote of judges as well")),
    }
}

/// Describes what judging an attempt involves; shown before the run begins.
pub(crate) fn describe_judging(judging: &JudgingSpec) -> String {
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
        "attempts that pass their checks are judged by {}, in up to {sessions} session{} per attempt; \
         their cost counts toward the budget",
        named.collect::<Vec<_>>().join(", "),
        if sessions == 1 { "" } else { "s" }
    )
}
