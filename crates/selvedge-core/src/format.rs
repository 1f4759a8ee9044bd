//! Durations, money, counts, hashes and marks in human-readable form, for the terminal and for reports.

use crate::model::{CheckReport, CheckStatus, Cost, CostSource, GateReport, Report, Usage};

/// "350 ms", "4.2 s", "1 min 12 s", "2 h 5 min".
pub fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{seconds}.{} s", millis % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

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

/// "1,234 tokens in, 56 out".
pub fn tokens(usage: &Usage) -> String {
    format!(
        "{} tokens in, {} out",
        grouped(usage.tokens_in()),
        grouped(usage.tokens_out())
    )
}

/// A count and its noun: "1 check", "3 checks".
pub fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", grouped(count))
    }
}

/// "512 bytes", "2.0 MiB".
pub fn bytes(count: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, unit)| count >= *unit) {
        Some((name, unit)) => {
            let tenths = u128::from(count) * 10 / u128::from(unit);
            format!("{}.{} {name}", tenths / 10, tenths % 10)
        }
        None => counted(count, "byte"),
    }
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
    let fixed = check.fixed_tests.len() as u64;
    let parts = [
        (fixed > 0).then(|| format!("{} fixed", counted(fixed, "failing test"))),
        (marks.fixed && fixed == 0).then(|| "failed before, passes now".to_owned()),
        regression(check),
        match (marks.preexisting, check.preexisting_tests.as_slice()) {
            (true, _) => Some("failed in the same way before the work began".to_owned()),
            (false, []) => None,
            (false, tests) => {
                let tests = first_names(tests);
                Some(format!(
                    "failed in the same way before the work began: {tests}"
                ))
            }
        },
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
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

/// The first few names, and the number of further ones.
pub fn first_names(names: &[String]) -> String {
    const MAX_NAMED: usize = 5;
    let first: Vec<&str> = names.iter().take(MAX_NAMED).map(String::as_str).collect();
    match names.len().saturating_sub(MAX_NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
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

/// Bytes as lower-case hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
    let digits = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    digits.collect()
}

fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && index % 3 == first {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::model::MicroUsd;

    use super::*;

    #[test]
    fn amounts_read_well() {
        let shown: Vec<_> = [7, 4_250, 41_000, 72_000, 7_500_000].map(duration).into();
        assert_eq!(shown, ["7 ms", "4.2 s", "41 s", "1 min 12 s", "2 h 5 min"]);
        assert_eq!(
            [1, 999, 1000, 1_234_567].map(grouped),
            ["1", "999", "1,000", "1,234,567"]
        );
        assert_eq!(hex(&[0, 7, 0xab]), "0007ab");
        assert_eq!(cost(Cost::UNKNOWN), "cost unknown");
        let lower_bound = Cost::reported(MicroUsd(20_000)) + Cost::UNKNOWN;
        assert_eq!(cost(lower_bound), "at least $0.0200");
    }
}
