//! Time measurement: medians of interleaved runs, so that a noisy minute affects all of them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::XtaskResult;

/// A run that returns its duration.
pub(super) type TimedRun<'a> = &'a mut dyn FnMut() -> XtaskResult<Duration>;

/// Returns the median duration of each run. The runs take turns for `rounds` rounds, after one round
/// that does not count.
pub(super) fn medians<const N: usize>(
    rounds: usize,
    mut timed: [TimedRun<'_>; N],
) -> XtaskResult<[Duration; N]> {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::with_capacity(rounds));
    for round in 0..=rounds {
        for (times, timed) in times.iter_mut().zip(&mut timed) {
            let time = timed()?;
            if round > 0 {
                times.push(time);
            }
        }
    }
    Ok(times.map(median))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Measures from before the command is started until it has ended; fails unless it exits with `code`.
pub(super) fn time_command(mut command: Command, code: i32) -> XtaskResult<Duration> {
    let start = Instant::now();
    let status = command.status()?;
    let time = start.elapsed();
    if status.code() == Some(code) {
        Ok(time)
    } else {
        Err(format!("{command:?}: {status} instead of {code}").into())
    }
}
