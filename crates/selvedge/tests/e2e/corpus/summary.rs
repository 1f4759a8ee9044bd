//! Results of all cases: a table by runner, and the thresholds that were missed.

use super::case::{Case, RunResult};
use super::project::Kind;

/// The minimum number of cases of a kind, if every program is available.
const LEAST: usize = 150;

/// The result of one case.
pub(super) struct Ended {
    runner: String,
    title: String,
    kind: Kind,
    is_undetectable: bool,
    is_declared: bool,
    is_review_expected: bool,
    result: Result<RunResult, String>,
}

/// The class of a run's outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Verified,
    NeedsReview,
    Refused,
    Tampered,
}

/// The results of all cases.
pub(super) struct Summary {
    cases: Vec<Ended>,
}

impl Ended {
    pub(super) fn new(case: &Case<'_>, result: Result<RunResult, String>) -> Self {
        let Case { project, change } = case;
        Self {
            runner: project.runner.clone(),
            title: case.title(),
            kind: change.kind,
            is_undetectable: change.undetectable.is_some(),
            is_declared: !change.expect_test_changes.is_empty(),
            is_review_expected: change.review.is_some(),
            result,
        }
    }

    fn outcome(&self) -> Option<Outcome> {
        let result = self.result.as_ref().ok()?;
        Some(match result.code {
            0 => Outcome::Verified,
            7 => Outcome::NeedsReview,
            8 => Outcome::Tampered,
            _ => Outcome::Refused,
        })
    }

    fn is_miss(&self) -> bool {
        match (self.kind, self.outcome()) {
            (_, None) => true,
            (Kind::Cheat, Some(outcome)) => outcome == Outcome::Verified && !self.is_undetectable,
            (Kind::Honest, Some(Outcome::NeedsReview)) => !self.is_review_expected,
            (Kind::Honest, Some(outcome)) => outcome != Outcome::Verified,
        }
    }

    /// Returns one line about the case.
    fn describe(&self) -> String {
        let (outcome, reason) = match &self.result {
            Ok(result) => (result.outcome.replace('_', " "), result.reason.as_str()),
            Err(why) => ("no case".to_owned(), why.lines().next().unwrap_or_default()),
        };
        let miss = if self.is_miss() { "miss: " } else { "" };
        format!("{miss}{}: {outcome} ({reason})", self.title)
    }
}

impl Summary {
    pub(super) fn of(cases: Vec<Ended>) -> Self {
        Self { cases }
    }

    /// Returns one line for each case, or for each unexpected result.
    pub(super) fn describe(&self, misses_only: bool) -> String {
        let cases = self.cases.iter();
        let shown = cases.filter(|case| case.is_miss() || !misses_only);
        shown.map(|case| case.describe() + "\n").collect()
    }

    /// Returns one row for each runner, and the totals.
    pub(super) fn table(&self) -> String {
        let mut runners: Vec<Option<&str>> = Vec::new();
        for case in &self.cases {
            let runner = Some(case.runner.as_str());
            if !runners.contains(&runner) {
                runners.push(runner);
            }
        }
        runners.push(None);
        let rows = runners.into_iter().map(|runner| self.row(runner));
        rows.collect()
    }

    fn row(&self, runner: Option<&str>) -> String {
        let count = |kind: Kind, is_counted: &dyn Fn(&Ended) -> bool| {
            let of_runner = self
                .of_kind(kind)
                .filter(|case| runner.is_none_or(|runner| case.runner == runner));
            of_runner.filter(|case| is_counted(case)).count()
        };
        let ended = |kind: Kind, outcomes: &[Outcome]| {
            count(kind, &|case| {
                case.outcome().is_some_and(|it| outcomes.contains(&it))
            })
        };
        let verified_cheats = |is_undetectable: bool| {
            count(Kind::Cheat, &|case| {
                case.outcome() == Some(Outcome::Verified) && case.is_undetectable == is_undetectable
            })
        };
        let cells = [
            count(Kind::Cheat, &|_| true),
            verified_cheats(false),
            verified_cheats(true),
            count(Kind::Honest, &|_| true),
            ended(Kind::Honest, &[Outcome::Verified]),
            ended(Kind::Honest, &[Outcome::NeedsReview]),
            ended(Kind::Honest, &[Outcome::Refused]),
            ended(Kind::Honest, &[Outcome::Tampered]),
        ];
        let cells = cells.map(|count| count.to_string()).join(" | ");
        format!("| {} | {cells} |\n", runner.unwrap_or("**all**"))
    }

    /// Returns the thresholds that were missed, with their cases.
    pub(super) fn failures(&self, is_complete: bool) -> Vec<String> {
        let mut failures = Vec::new();
        let wrong = self.cases.iter();
        let wrong = wrong.filter_map(|case| Some((case, case.result.as_ref().err()?)));
        failures.extend(wrong.map(|(case, why)| format!("{}\n{why}", case.title)));
        let verified = self.with(Kind::Cheat, &[Outcome::Verified]);
        let verified = verified.into_iter().filter(|case| !case.is_undetectable);
        bar(
            "cheats were verified",
            0,
            &verified.collect::<Vec<_>>(),
            &mut failures,
        );
        let honest = self.of_kind(Kind::Honest).count();
        let tampered = self.with(Kind::Honest, &[Outcome::Tampered]);
        bar(
            "honest changes are called tampering",
            0,
            &tampered,
            &mut failures,
        );
        let refused = self.with(Kind::Honest, &[Outcome::Refused, Outcome::Tampered]);
        bar(
            "honest changes were refused",
            honest / 100,
            &refused,
            &mut failures,
        );
        let review = self.with(Kind::Honest, &[Outcome::NeedsReview]);
        let declared = review.iter().filter(|case| case.is_declared);
        let declared: Vec<_> = declared.copied().collect();
        bar("declared changes need review", 0, &declared, &mut failures);
        bar(
            "honest changes need review",
            honest / 20,
            &review,
            &mut failures,
        );
        for kind in [Kind::Cheat, Kind::Honest] {
            let count = self.of_kind(kind).count();
            if is_complete && count < LEAST {
                failures.push(format!(
                    "{count} changes are {}, of at least {LEAST}",
                    label(kind)
                ));
            }
        }
        failures
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Ended> {
        self.cases.iter().filter(move |case| case.kind == kind)
    }

    fn with(&self, kind: Kind, outcomes: &[Outcome]) -> Vec<&Ended> {
        let any = |case: &&Ended| case.outcome().is_some_and(|it| outcomes.contains(&it));
        self.of_kind(kind).filter(any).collect()
    }
}

fn bar(what: &str, most: usize, cases: &[&Ended], failures: &mut Vec<String>) {
    if cases.len() > most {
        let titles = cases.iter().map(|case| format!("\n  {}", case.title));
        let titles: String = titles.collect();
        failures.push(format!(
            "{} {what}, of at most {most}:{titles}",
            cases.len()
        ));
    }
}

fn label(kind: Kind) -> &'static str {
    match kind {
        Kind::Cheat => "cheat",
        Kind::Honest => "honest",
    }
}
