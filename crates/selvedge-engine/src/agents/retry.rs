//! When and after which wait a model's API is called again. This is separate from verification
//! retries: a request is retried here, not the work.
//!
//! Pure except for [`random_fraction`], the only source of randomness, and [`wait`]: both are
//! called at the edge.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

use tokio_util::sync::CancellationToken;

/// Exponential backoff with full jitter: a random wait between zero and the step's ceiling, so that
/// clients that failed together do not retry together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Ceiling of the first wait; doubles with every retry.
    pub base: Duration,
    /// Ceiling of any wait that the server did not request.
    pub cap: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: Duration::from_secs(1),
            cap: Duration::from_secs(30),
        }
    }
}

/// How often a request is sent again that a busy server refused (429, 503, 529), in addition to the
/// agent's own number of retries.
pub(super) const BUSY_RETRIES: u32 = 6;

impl Backoff {
    /// Waits for a busy server that does not announce when it will accept requests: one to a few minutes in total,
    /// because a limit per minute does not pass within seconds.
    pub const BUSY: Self = Self {
        base: Duration::from_secs(10),
        cap: Duration::from_mins(1),
    };

    /// No waits except those that the server requests.
    pub const NONE: Self = Self {
        base: Duration::ZERO,
        cap: Duration::ZERO,
    };

    /// The wait before this retry (1, 2, …). `asked` is what the server requested (`Retry-After`):
    /// it is honoured, with the jitter on top. `random` is in `0..1`.
    pub fn delay(&self, retry: u32, requested: Option<Duration>, random: f64) -> Duration {
        let doubled = 2_u32.saturating_pow(retry.saturating_sub(1));
        let ceiling = self.base.saturating_mul(doubled).min(self.cap);
        requested
            .unwrap_or_default()
            .saturating_add(ceiling.mul_f64(random.clamp(0.0, 1.0)))
    }

    /// The wait before this retry for a busy server: at least half of the step's ceiling, because a
    /// wait near zero would waste the retry.
    pub(super) fn busy_delay(&self, retry: u32, random: f64) -> Duration {
        self.delay(retry, None, f64::midpoint(1.0, random.clamp(0.0, 1.0)))
    }
}

/// How a wait between two attempts ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(super) enum WaitOutcome {
    /// It is time to try again.
    Elapsed,
    /// The wait would exceed the remaining time: it was skipped.
    TooLong,
    /// The caller cancelled during the wait.
    Cancelled,
}

/// Waits, unless that would take longer than `wall_left`.
pub(super) async fn wait(
    delay: Duration,
    wall_left: Duration,
    cancel: &CancellationToken,
) -> WaitOutcome {
    if delay >= wall_left {
        return WaitOutcome::TooLong;
    }
    tokio::select! {
        biased;
        () = cancel.cancelled() => WaitOutcome::Cancelled,
        () = tokio::time::sleep(delay) => WaitOutcome::Elapsed,
    }
}

/// Whether a server that answered with this status may answer differently the next time.
pub(super) fn is_transient(status: u16) -> bool {
    // Timeout, too early, too many requests; and all server errors except the permanent ones: not
    // implemented, version not supported, network authentication required.
    let is_fault = (500..600).contains(&status) && !matches!(status, 501 | 505 | 511);
    is_fault || matches!(status, 408 | 425 | 429)
}

/// Whether this status means that the server is busy or that a rate limit is reached: it will
/// answer later, but usually not within seconds.
pub(super) fn is_busy(status: u16) -> bool {
    matches!(status, 429 | 503 | 529)
}

/// Words of transient API failures, for error texts without a status.
const TRANSIENT_ERROR_WORDS: &[&str] = &[
    "overloaded",
    "529",
    "at capacity",
    "high demand",
    "rate limit",
    "timed out",
    "timeout",
    "connection error",
    "connection reset",
    "stream disconnected",
    "econnreset",
    "econnrefused",
    "epipe",
    "enotfound",
    "eai_again",
    "socket hang up",
    "fetch failed",
    "network error",
    "internal server error",
];

/// Whether a failure reported by an agent is transient: by the status in its text, otherwise by its
/// words.
pub(super) fn is_transient_message(message: &str) -> bool {
    let message = message.to_lowercase();
    let named = message.split("status").skip(1).find_map(|rest| {
        let digits = rest
            .trim_start_matches(|c: char| !c.is_ascii_digit())
            .get(..3)?;
        digits.parse().ok()
    });
    match named {
        Some(status) => is_transient(status),
        None => TRANSIENT_ERROR_WORDS
            .iter()
            .any(|words| message.contains(words)),
    }
}

/// The wait requested by a `Retry-After` header: a number of seconds, or a date. A date in the past
/// requests no wait.
pub(super) fn parse_retry_after(header: &str, now: SystemTime) -> Option<Duration> {
    let header = header.trim();
    if let Ok(seconds) = header.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(header).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

/// An unpredictable number in `0..1`.
pub(super) fn random_fraction() -> f64 {
    // Every `RandomState` has new random keys, so that its hash of an empty value is random.
    let [.., a, b, c, d] = RandomState::new().hash_one(()).to_le_bytes();
    f64::from(u32::from_le_bytes([a, b, c, d])) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff {
        base: Duration::from_secs(1),
        cap: Duration::from_secs(10),
    };

    #[test]
    fn retry_delay_doubles_up_to_cap() {
        let ceilings = (1..=6).map(|retry| BACKOFF.delay(retry, None, 1.0).as_secs());
        assert_eq!(ceilings.collect::<Vec<_>>(), [1, 2, 4, 8, 10, 10]);
        assert_eq!(BACKOFF.delay(u32::MAX, None, 1.0), BACKOFF.cap);
        assert_eq!(BACKOFF.delay(3, None, 0.0), Duration::ZERO);
        assert_eq!(BACKOFF.delay(3, None, 0.25), Duration::from_secs(1));
        assert_eq!(
            BACKOFF.delay(1, None, f64::INFINITY),
            Duration::from_secs(1)
        );
    }

    #[test]
    fn retry_waits_as_long_as_the_server_requests() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_717);
        let requested = parse_retry_after(" 60 ", now);
        assert_eq!(
            BACKOFF.delay(1, requested, 0.5),
            Duration::from_millis(60_500)
        );
        assert_eq!(
            Backoff::NONE.delay(9, requested, 1.0),
            Duration::from_mins(1)
        );
        for date in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            let requested = parse_retry_after(date, now);
            assert_eq!(requested, Some(Duration::from_mins(1)), "{date}");
        }
        let past = parse_retry_after("Fri, 31 Dec 1993 23:59:59 GMT", now);
        assert_eq!(past, Some(Duration::ZERO));
        assert_eq!(parse_retry_after("soon", now), None);
    }

    #[test]
    fn retry_waits_minutes_for_a_busy_server() {
        let total = |random| -> Duration {
            let retries = 1..=BUSY_RETRIES + 2;
            retries
                .map(|retry| Backoff::BUSY.busy_delay(retry, random))
                .sum()
        };
        assert_eq!(total(0.0), Duration::from_secs(185));
        assert_eq!(total(1.0), Duration::from_secs(370));
        assert!([429, 503, 529].into_iter().all(is_busy));
        assert!(![408, 500, 502].into_iter().any(is_busy));
    }

    #[test]
    fn retry_excludes_client_errors() {
        assert!(
            [408, 429, 500, 502, 503, 504, 529]
                .into_iter()
                .all(is_transient)
        );
        assert!(
            ![200, 400, 401, 403, 404, 413, 422, 501]
                .into_iter()
                .any(is_transient)
        );
    }

    #[test]
    fn retry_recognises_transient_messages() {
        for passing in [
            "unexpected status 503 Service Unavailable: overloaded, url: http://127.0.0.1:401",
            "exceeded retry limit, last status: 429 Too Many Requests",
            "API Error: Overloaded",
            "stream disconnected before completion",
        ] {
            assert!(is_transient_message(passing), "{passing}");
        }
        for lasting in [
            "unexpected status 401 Unauthorized: timeout of your key, url: http://x",
            "Invalid API key",
            "",
        ] {
            assert!(!is_transient_message(lasting), "{lasting}");
        }
    }

    #[test]
    fn retry_random_is_in_range() {
        let drawn: Vec<f64> = (0..64).map(|_| random_fraction()).collect();
        assert!(drawn.iter().all(|number| (0.0..1.0).contains(number)));
        assert!(
            drawn
                .windows(2)
                .any(|pair| pair[0].total_cmp(&pair[1]).is_ne())
        );
    }
}
