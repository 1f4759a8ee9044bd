//! The guard over the whole corpus, and its rates.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that cannot go on must stop, and say why"
)]

mod corpus;

use std::collections::BTreeSet;

use corpus::{Case, Group};
use selvedge_core::guard::{ChangedFile, Finding, Protection, Strength, inspect, scripts_of};
use selvedge_core::model::{Step, StepKind};

fn findings(group: &Group, case: &Case) -> Vec<Finding> {
    let (before, after) = (group.before(case), group.after(case));
    let rules = scripts_of(&[Step::new(StepKind::Command, group.run(case))]);
    let protection = Protection::new(&rules, &case.allow, group.task(case)).unwrap();
    let paths: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changes: Vec<ChangedFile<'_>> = paths
        .into_iter()
        .filter(|path| protection.wants(path))
        .map(|path| ChangedFile {
            path,
            before: before.get(path).map(String::as_bytes),
            after: after.get(path).map(String::as_bytes),
        })
        .collect();
    inspect(&protection, &changes)
}

fn said(findings: &[Finding]) -> &'static str {
    match findings.iter().map(|finding| finding.strength).max() {
        Some(Strength::Offence) => "offence",
        Some(Strength::Strong) => "strong",
        Some(Strength::Weak) | None => "clean",
    }
}

fn wrong<'a>(cases: impl Iterator<Item = (&'a Group, &'a Case)>) -> Vec<String> {
    let check = |(group, case): (&Group, &Case)| {
        let findings = findings(group, case);
        let said = said(&findings);
        (said != case.guard).then(|| {
            let (runner, name, guard) = (&group.runner, &case.name, &case.guard);
            format!("{runner}: {name}: {said} instead of {guard}: {findings:#?}")
        })
    };
    cases.filter_map(check).collect()
}

#[test]
fn every_trick_gets_what_the_corpus_says() {
    let groups = corpus::groups().unwrap();
    let tricks = || {
        groups
            .iter()
            .flat_map(|group| group.trick.iter().map(move |case| (group, case)))
    };
    assert!(tricks().count() >= 40, "{}", tricks().count());
    let wrong = wrong(tricks());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let unseen = |(_, case): &(&Group, &Case)| case.guard == "clean" && case.evidence.is_none();
    let unseen = tricks().filter(unseen).count();
    assert!(
        unseen * 20 <= tricks().count(),
        "{unseen} leave nothing to see"
    );
}

#[test]
fn honest_work_is_left_alone() {
    let groups = corpus::groups().unwrap();
    let honest = || {
        groups
            .iter()
            .flat_map(|group| group.honest.iter().map(move |case| (group, case)))
    };
    let wrong = wrong(honest());
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let all = honest().count();
    let that = |strength: &str| honest().filter(|(_, case)| case.guard == strength).count();
    // The rows of `just trust`.
    for (group, case) in honest() {
        let said = match case.guard.as_str() {
            "offence" => "called tampering",
            "strong" => "flagged",
            _ => "let be",
        };
        println!("| {} | {} | {said} |", group.runner, case.name);
    }
    assert!(all >= 60, "{all}");
    assert!(that("offence") * 100 <= all * 2);
    assert!(that("strong") * 100 <= all * 5);
}

#[test]
fn the_work_that_was_asked_for_is_left_alone() {
    let groups = corpus::groups().unwrap();
    let mended = groups.iter().filter(|group| !group.mended.is_empty());
    for group in mended {
        let case = Case {
            work: group.mended.clone(),
            ..Case::default()
        };
        let findings = findings(group, &case);
        assert_eq!(said(&findings), "clean", "{}: {findings:#?}", group.runner);
    }
}
