//! Conditions on the statistics of a task's run. Backends that hold the statistics in memory compare them with
//! [`StatsFilter::matches`]; stores query the saved JSON of [`RunStats`], in which [`StatsFilter::fields`] and
//! [`CheckNumber::field`] name the fields.

use std::collections::BTreeMap;

use selvedge_core::model::FindingSeverity;
use serde_json::{Value, json};

use crate::stats::{CheckStats, RunCategory, RunStats, kind_name};

/// Conditions that all have to hold. A task that has not started has no statistics, and never matches.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatsFilter {
    /// Result of the retries.
    pub result: Option<ResultFilter>,
    /// The model that answered last.
    pub model: Option<ModelFilter>,
    /// A check of the task.
    pub check: Option<CheckFilter>,
    /// A finding of the guard.
    pub finding: Option<FindingFilter>,
}

/// Result of a task's retries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFilter {
    /// The run ended in this way.
    Category(RunCategory),
    /// An attempt passed its own tests but not the original ones.
    CaughtByOriginalTests,
    /// Every run.
    Started,
}

/// The model that answered last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelFilter {
    /// This one.
    Named(String),
    /// The agent reported none.
    NotReported,
}

/// A check of which a number has at least this value; 0 for any value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckFilter {
    /// The label of the check.
    pub name: String,
    /// The number, and its minimum.
    pub number: (CheckNumber, u64),
}

/// A number of a check over all attempts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckNumber {
    /// Number of failures.
    Failures,
    /// Number of times that it both passed and failed on the same files.
    Flaky,
    /// 1 if it failed in one attempt and passed in a later one.
    Fixed,
    /// Longest duration in milliseconds.
    SlowestMs,
}

/// A kind of finding of the guard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingFilter {
    /// Its name in JSON.
    pub kind: String,
    /// Only violations, or only findings that a person decides on; `None` for both.
    pub is_violation: Option<bool>,
}

impl StatsFilter {
    /// Whether the statistics of a run match.
    pub fn matches(&self, stats: &RunStats) -> bool {
        let has_result = self.result.is_none_or(|result| match result {
            ResultFilter::Category(category) => stats.ending == category,
            ResultFilter::CaughtByOriginalTests => stats.caught_by_original_tests,
            ResultFilter::Started => true,
        });
        let has_model = self.model.as_ref().is_none_or(|model| match model {
            ModelFilter::Named(name) => stats.model.as_ref() == Some(name),
            ModelFilter::NotReported => stats.model.is_none(),
        });
        let has_check = self.check.as_ref().is_none_or(|wanted| {
            let (number, minimum) = wanted.number;
            let check = stats.checks.get(&wanted.name);
            check.is_some_and(|check| number.of(check) >= minimum)
        });
        let has_finding = self.finding.as_ref().is_none_or(|wanted| {
            stats.guard.iter().any(|(kind, severity)| {
                kind_name(*kind) == wanted.kind && wanted.severities().contains(severity)
            })
        });
        has_result && has_model && has_check && has_finding
    }

    /// Fields of the JSON of the statistics, with the values that they must have.
    pub fn fields(&self) -> BTreeMap<String, Value> {
        let model = self.model.as_ref().map(|model| match model {
            ModelFilter::Named(name) => ("model", json!(name)),
            ModelFilter::NotReported => ("model", Value::Null),
        });
        let result = self.result.and_then(|result| match result {
            ResultFilter::Category(category) => Some(("ending", json!(category))),
            ResultFilter::CaughtByOriginalTests => Some(("caught_by_original_tests", json!(true))),
            ResultFilter::Started => None,
        });
        let fields = model.into_iter().chain(result);
        fields
            .map(|(name, value)| (name.to_owned(), value))
            .collect()
    }
}

impl CheckNumber {
    fn of(self, check: &CheckStats) -> u64 {
        match self {
            Self::Failures => check.failures.into(),
            Self::Flaky => check.flaky.into(),
            Self::Fixed => check.mended.into(),
            Self::SlowestMs => check.slowest_ms,
        }
    }

    /// Its field in the JSON of a check: a number, or a truth value that counts as 1 or 0.
    pub const fn field(self) -> &'static str {
        match self {
            Self::Failures => "failures",
            Self::Flaky => "flaky",
            Self::Fixed => "mended",
            Self::SlowestMs => "slowest_ms",
        }
    }
}

impl FindingFilter {
    /// The severities that match.
    pub fn severities(&self) -> Vec<FindingSeverity> {
        let all = [
            FindingSeverity::Violation,
            FindingSeverity::Strong,
            FindingSeverity::Weak,
        ];
        let matches = |severity: &FindingSeverity| {
            let is_violation = *severity == FindingSeverity::Violation;
            self.is_violation
                .is_none_or(|wanted| wanted == is_violation)
        };
        all.into_iter().filter(matches).collect()
    }
}

#[cfg(test)]
mod tests {
    use selvedge_core::model::FindingKind;

    use super::*;

    #[test]
    fn stats_filter_matches_statistics_and_names_their_fields() {
        let check = CheckStats {
            failures: 2,
            mended: true,
            slowest_ms: 400,
            ..CheckStats::default()
        };
        let run = RunStats {
            model: Some("opus".to_owned()),
            ending: RunCategory::Recovered,
            checks: [("make test".to_owned(), check)].into(),
            guard: vec![(FindingKind::EarlyExit, FindingSeverity::Strong)],
            ..RunStats::sample()
        };
        let saved = serde_json::to_value(&run).unwrap();
        let check = |number, minimum| StatsFilter {
            check: Some(CheckFilter {
                name: "make test".to_owned(),
                number: (number, minimum),
            }),
            ..StatsFilter::default()
        };
        for number in [
            CheckNumber::Failures,
            CheckNumber::Flaky,
            CheckNumber::Fixed,
            CheckNumber::SlowestMs,
        ] {
            let field = &saved["checks"]["make test"][number.field()];
            assert!(field.is_number() || field.is_boolean(), "{number:?}");
        }
        assert!(check(CheckNumber::Failures, 2).matches(&run));
        assert!(!check(CheckNumber::Failures, 3).matches(&run));
        assert!(check(CheckNumber::Fixed, 1).matches(&run));
        assert!(!check(CheckNumber::Flaky, 1).matches(&run));
        assert!(!check(CheckNumber::SlowestMs, 0).matches(&RunStats::sample()));

        let finding = |is_violation| StatsFilter {
            finding: Some(FindingFilter {
                kind: "early_exit".to_owned(),
                is_violation,
            }),
            ..StatsFilter::default()
        };
        assert!(finding(None).matches(&run) && finding(Some(false)).matches(&run));
        assert!(!finding(Some(true)).matches(&run));

        let wanted = StatsFilter {
            result: Some(ResultFilter::Category(RunCategory::Recovered)),
            model: Some(ModelFilter::Named("opus".to_owned())),
            ..StatsFilter::default()
        };
        assert!(wanted.matches(&run) && !wanted.matches(&RunStats::sample()));
        assert_eq!(wanted.fields().len(), 2);
        for (name, value) in wanted.fields() {
            assert_eq!(saved[&name], value, "{name}");
        }
        let unnamed = StatsFilter {
            result: Some(ResultFilter::CaughtByOriginalTests),
            model: Some(ModelFilter::NotReported),
            ..StatsFilter::default()
        };
        let caught = RunStats {
            caught_by_original_tests: true,
            ..RunStats::sample()
        };
        let saved = serde_json::to_value(&caught).unwrap();
        assert!(unnamed.matches(&caught) && !unnamed.matches(&run));
        for (name, value) in unnamed.fields() {
            assert_eq!(saved.get(&name), Some(&value), "{name}");
        }
    }
}
