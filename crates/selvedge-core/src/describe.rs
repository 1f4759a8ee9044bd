//! Descriptions of costs, usage, checks and reports in words, for the terminal, the dashboard and exported reports.

use crate::format::{counted, first_names, grouped};
use crate::model::{
    CheckReport, CheckStatus, Cost, CostSource, CrossedResult, GateReport, Report, Usage,
};

/// "$0.0423", with its origin unless the agent reported it.
pub fn cost(cost: Cost) -> String {
    let usd = cost
        .micro_usd
        .map(|amount| format!("${:.4}", amount.as_usd()));
    match (usd, cost.source) {
        (None, _) => "cost unknown".to_owned(),
        (Some(usd), CostSource::Reported) => usd,
        (Some(usd), CostSource::Estimated) => format!("{usd} (estimated)"),
        (Some(usd), CostSource::Unknown) => format!("at least {usd}"),
    }
}

/// "1,234 tokens in, 56 out"; `None` if no tokens were reported.
pub fn tokens(usage: &Usage) -> Option<String> {
    (usage.total() > 0).then(|| {
        format!(
            "{} tokens in, {} out",
            grouped(usage.tokens_in()),
            grouped(usage.tokens_out())
        )
    })
}

/// "3 failing tests fixed", or "at least" so many if a report names only the first of them.
pub(crate) fn fixed_tests(checks: &[CheckReport]) -> Option<String> {
    let named = checks.iter().map(|check| check.fixed_tests.len());
    let is_partial = |named: usize| named >= CheckReport::MAX_NAMED_TESTS;
    let bound = if named.clone().any(is_partial) {
        "at least "
    } else {
        ""
    };
    let fixed = named.sum::<usize>() as u64;
    (fixed > 0).then(|| format!("{bound}{} fixed", counted(fixed, "failing test")))
}

/// The digests of failed checks, each with the name of its check: first those of the work as delivered, then those with
/// the original tests, which a reviewer needs as well.
pub fn failure_digests(report: &Report) -> Vec<(String, &str)> {
    let crossed = report
        .crossed
        .iter()
        .filter(|it| it.result != CrossedResult::Passed);
    let with_originals = crossed.flat_map(|it| &it.checks).map(|check| {
        let name = format!("{} with the original tests", check.label());
        (name, check)
    });
    let delivered = report
        .checks
        .iter()
        .map(|check| (check.label().to_owned(), check));
    delivered
        .chain(with_originals)
        .filter(|(_, check)| check.status.is_failure())
        .filter_map(|(name, check)| Some((name, check.digest.as_deref()?)))
        .collect()
}

/// Describes a check compared with the baseline, reruns and earlier attempts.
pub fn marks(check: &CheckReport) -> Option<String> {
    let marks = check.marks;
    let reason = || check.reason.clone().unwrap_or_default();
    if marks.missing && !check.missing_tests.is_empty() {
        return Some(format!("{}: {}", reason(), check.missing_tests.join(", ")));
    }
    if marks.weakened || marks.missing || marks.flaky {
        return Some(reason());
    }
    if marks.preexisting && check.status == CheckStatus::Pass {
        return Some(reason());
    }
    let parts = [
        fixed_tests(std::slice::from_ref(check)),
        (marks.fixed && check.fixed_tests.is_empty())
            .then(|| "failed before, passes now".to_owned()),
        regression(check),
        match (marks.preexisting, check.preexisting_tests.as_slice()) {
            (true, _) => Some("failed before the work began as well".to_owned()),
            (false, []) => None,
            (false, tests) => {
                let tests = first_names(tests);
                Some(format!("failed before the work began as well: {tests}"))
            }
        },
        unnamed_failures(check),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// Names the failed tests if neither the digest nor a comparison does.
fn unnamed_failures(check: &CheckReport) -> Option<String> {
    let failed = check.unnamed_failures();
    (!failed.is_empty()).then(|| format!("failed: {}", first_names(failed)))
}

/// Describes that a check passed before, or which of its tests did.
fn regression(check: &CheckReport) -> Option<String> {
    match check.regressed_tests.as_slice() {
        [] => {
            let is_one = check.marks.regression;
            is_one.then(|| "a regression: it passed before".to_owned())
        }
        [test] => Some(format!("a regression: this test passed before: {test}")),
        tests => {
            let tests = first_names(tests);
            Some(format!("a regression: these tests passed before: {tests}"))
        }
    }
}

/// Result of a report: how many checks pass, and the results of the higher tiers.
pub fn report_result(report: &Report) -> String {
    let (passed, total) = (report.summary.passed, report.summary.total);
    let checks = format!("{passed} of {total} checks passed");
    let Some(gate) = report.blocking_gate() else {
        return checks;
    };
    format!("{checks}, but tier {} {}", gate.tier, gate_result(gate))
}

/// The result of a tier above the checks, as a verb.
pub fn gate_result(gate: &GateReport) -> &'static str {
    match (gate.passed, &gate.error) {
        (Some(true), _) => "agrees",
        (Some(false), _) => "rejects the work",
        (None, None) => "could not decide",
        (None, Some(_)) => "gave no verdict",
    }
}

#[cfg(test)]
mod tests {
    use crate::model::MicroUsd;

    use super::*;

    #[test]
    fn costs_name_what_is_unknown() {
        assert_eq!(cost(Cost::UNKNOWN), "cost unknown");
        let lower_bound = Cost::reported(MicroUsd(20_000)) + Cost::UNKNOWN;
        assert_eq!(cost(lower_bound), "at least $0.0200");
    }
}
