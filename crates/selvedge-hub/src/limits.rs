//! Rate limits: token buckets that refill with time. Requests with an unknown token count against the
//! client's address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

use parking_lot::Mutex;
use uuid::Uuid;

/// Allowed wrong tokens per minute from one address; the burst is as large.
const WRONG_TOKENS_PER_MINUTE: f64 = 30.0;
/// Number of buckets above which the full ones (unused for a minute) are removed.
const MAX_BUCKETS: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum RateLimitKey {
    Token(Uuid),
    Address(IpAddr),
}

#[derive(Debug)]
struct TokenBucket {
    tokens: f64,
    at: Instant,
}

/// The buckets of all tokens and addresses.
#[derive(Debug)]
pub(crate) struct RateLimiter {
    requests_per_second: f64,
    buckets: Mutex<HashMap<RateLimitKey, TokenBucket>>,
}

impl RateLimiter {
    pub(crate) fn new(requests_per_second: u32) -> Self {
        Self {
            requests_per_second: f64::from(requests_per_second),
            buckets: Mutex::default(),
        }
    }

    /// Whether this token may make another request now.
    pub(crate) fn allow_request(&self, token: Uuid) -> bool {
        let rate = self.requests_per_second;
        self.take(RateLimitKey::Token(token), rate, rate * 2.0, 1.0)
    }

    /// Whether an address may still try a token.
    pub(crate) fn allow_guess(&self, from: IpAddr) -> bool {
        self.take(
            RateLimitKey::Address(from),
            WRONG_TOKENS_PER_MINUTE / 60.0,
            WRONG_TOKENS_PER_MINUTE,
            0.0,
        )
    }

    /// Records a wrong token.
    pub(crate) fn record_wrong_guess(&self, from: IpAddr) {
        self.take(
            RateLimitKey::Address(from),
            WRONG_TOKENS_PER_MINUTE / 60.0,
            WRONG_TOKENS_PER_MINUTE,
            1.0,
        );
    }

    fn take(&self, client: RateLimitKey, rate: f64, most: f64, amount: f64) -> bool {
        let now = Instant::now();
        let mut buckets = self.buckets.lock();
        if buckets.len() > MAX_BUCKETS {
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs() < 60);
        }
        let bucket = buckets.entry(client).or_insert(TokenBucket {
            tokens: most,
            at: now,
        });
        let filled = now.duration_since(bucket.at).as_secs_f64() * rate;
        bucket.tokens = (bucket.tokens + filled).min(most);
        bucket.at = now;
        let enough = bucket.tokens >= amount.max(1.0);
        if enough {
            bucket.tokens -= amount;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limiter_has_one_bucket_per_client() {
        let limits = RateLimiter::new(1);
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        assert!(limits.allow_request(one) && limits.allow_request(one));
        assert!(!limits.allow_request(one));
        assert!(limits.allow_request(two));
        let from = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..30 {
            assert!(limits.allow_guess(from));
            limits.record_wrong_guess(from);
        }
        assert!(!limits.allow_guess(from));
    }
}
