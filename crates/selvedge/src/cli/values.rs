//! Parsers of option values. Their errors describe what is expected, with an example.

use std::fmt::Display;
use std::ops::RangeInclusive;

use clap::Command;
use selvedge_core::config::HumanDuration;

/// Range of numbers without a meaningful maximum.
pub(super) const AT_LEAST_ONE: RangeInclusive<u64> = 1..=u64::MAX;
/// The same, including 0.
pub(super) const ANY_NUMBER: RangeInclusive<u64> = 0..=u64::MAX;

/// A parser of whole numbers in a range.
pub(super) fn whole_number<N: TryFrom<u64> + 'static>(
    range: RangeInclusive<u64>,
    example: u64,
) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse::<u64>().ok();
        let number = number.filter(|number| range.contains(number));
        let number = number.and_then(|number| N::try_from(number).ok());
        number.ok_or_else(|| {
            let (min, max) = (range.start(), range.end());
            let numbers = match (*min, *max) {
                (min, u64::MAX) => format!(", {min} or more"),
                (min, max) => format!(" from {min} to {max}"),
            };
            expected(format_args!("a whole number{numbers}"), example)
        })
    }
}

/// Parses an amount of US dollars.
pub(super) fn usd_amount(text: &str) -> Result<f64, String> {
    let amount = text.parse::<f64>().ok();
    let amount = amount.filter(|amount| amount.is_finite() && *amount > 0.0);
    amount.ok_or_else(|| expected("a positive number of US dollars", "2.50"))
}

/// Parses a time with units.
pub(super) fn time(text: &str) -> Result<HumanDuration, String> {
    text.parse()
        .map_err(|_| expected("a time with units", "90s, 5m or 1h30m"))
}

/// Parses the name of an environment variable.
pub(super) fn variable_name(text: &str) -> Result<String, String> {
    match text.split_once('=') {
        None if !text.is_empty() => Ok(text.to_owned()),
        None => Err(expected("the name of a variable", "LANG")),
        // The value may be a secret.
        Some((name, _)) => Err(format!(
            "expected only the name; checks see the value that the variable has in the environment of this command: \
             {name}=… selvedge … --check-env {name}"
        )),
    }
}

fn expected(what: impl Display, example: impl Display) -> String {
    format!("expected {what}, such as {example}")
}

/// Makes negative numbers values of options: the parser of the option then names its range, instead of an error about
/// an unknown option.
pub(super) fn allow_negative_numbers(command: Command) -> Command {
    command
        .mut_args(|arg| {
            let takes_number = arg.get_long().is_some() && arg.get_action().takes_values();
            if takes_number {
                arg.allow_negative_numbers(true)
            } else {
                arg
            }
        })
        .mut_subcommands(allow_negative_numbers)
}
