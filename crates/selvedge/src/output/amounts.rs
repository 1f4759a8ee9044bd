//! Durations, money and counts as people read them.

use selvedge_core::model::{Cost, CostSource, Usage};

/// "350 ms", "4.2 s", "1 min 12 s", "2 h 5 min".
pub(crate) fn duration(millis: u64) -> String {
    let seconds = millis / 1000;
    match seconds {
        0 => format!("{millis} ms"),
        1..10 => format!("{seconds}.{} s", millis % 1000 / 100),
        10..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// "$0.0423", with where it comes from when that is not the agent itself.
pub(crate) fn cost(cost: Cost) -> String {
    let usd = cost
        .micro_usd
        .map(|amount| format!("${:.4}", amount.as_usd()));
    match (usd, cost.source) {
        (None, _) => "cost unknown".to_owned(),
        (Some(usd), CostSource::Reported) => usd,
        (Some(usd), CostSource::Estimated) => format!("{usd} (estimated)"),
        (Some(usd), CostSource::Unknown) => format!("at least {usd} (not known in full)"),
    }
}

/// "1,234 tokens in, 56 out".
pub(crate) fn tokens(usage: &Usage) -> String {
    format!(
        "{} tokens in, {} out",
        grouped(usage.tokens_in()),
        grouped(usage.tokens_out())
    )
}

/// A count and its noun: "1 check", "3 checks".
pub(crate) fn counted(count: u64, noun: &str) -> String {
    if count == 1 {
        format!("1 {noun}")
    } else {
        format!("{} {noun}s", grouped(count))
    }
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
    use selvedge_core::model::MicroUsd;

    use super::*;

    #[test]
    fn amounts_read_well() {
        let shown: Vec<_> = [7, 4_250, 41_000, 72_000, 7_500_000].map(duration).into();
        assert_eq!(shown, ["7 ms", "4.2 s", "41 s", "1 min 12 s", "2 h 5 min"]);
        assert_eq!(
            [1, 999, 1000, 1_234_567].map(grouped),
            ["1", "999", "1,000", "1,234,567"]
        );
        assert_eq!(cost(Cost::UNKNOWN), "cost unknown");
        let lower_bound = Cost::reported(MicroUsd(20_000)) + Cost::UNKNOWN;
        assert_eq!(cost(lower_bound), "at least $0.0200 (not known in full)");
    }
}
