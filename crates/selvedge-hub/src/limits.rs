//! How many requests a client may make: buckets that fill with time. A token that is not known is
//! held against the address that it came from.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Instant;

use uuid::Uuid;

use crate::hub::lock;

/// Wrong tokens a minute from one address, over a burst of as many.
const WRONG_TOKENS: f64 = 30.0;
/// Buckets that are kept before full ones are thrown away.
const KEPT: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Client {
    Token(Uuid),
    Stranger(IpAddr),
}

#[derive(Debug)]
struct Bucket {
    left: f64,
    at: Instant,
}

/// The buckets.
#[derive(Debug)]
pub(crate) struct Limits {
    requests_per_second: f64,
    buckets: Mutex<HashMap<Client, Bucket>>,
}

impl Limits {
    pub(crate) fn new(requests_per_second: u32) -> Self {
        Self {
            requests_per_second: f64::from(requests_per_second),
            buckets: Mutex::default(),
        }
    }

    /// Whether this token may make another request now.
    pub(crate) fn request(&self, token: Uuid) -> bool {
        let rate = self.requests_per_second;
        self.take(Client::Token(token), rate, rate * 2.0, 1.0)
    }

    /// Whether an address may still guess.
    pub(crate) fn may_guess(&self, from: IpAddr) -> bool {
        self.take(
            Client::Stranger(from),
            WRONG_TOKENS / 60.0,
            WRONG_TOKENS,
            0.0,
        )
    }

    /// Notes a wrong guess.
    pub(crate) fn guessed(&self, from: IpAddr) {
        self.take(
            Client::Stranger(from),
            WRONG_TOKENS / 60.0,
            WRONG_TOKENS,
            1.0,
        );
    }

    fn take(&self, client: Client, rate: f64, most: f64, amount: f64) -> bool {
        let now = Instant::now();
        let mut buckets = lock(&self.buckets);
        if buckets.len() > KEPT {
            buckets.retain(|_, bucket| now.duration_since(bucket.at).as_secs() < 60);
        }
        let bucket = buckets.entry(client).or_insert(Bucket {
            left: most,
            at: now,
        });
        let filled = now.duration_since(bucket.at).as_secs_f64() * rate;
        bucket.left = (bucket.left + filled).min(most);
        bucket.at = now;
        let enough = bucket.left >= amount.max(1.0);
        if enough {
            bucket.left -= amount;
        }
        enough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_empty_after_its_burst_and_others_are_not() {
        let limits = Limits::new(1);
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        assert!(limits.request(one) && limits.request(one));
        assert!(!limits.request(one));
        assert!(limits.request(two));
        let from = IpAddr::from([127, 0, 0, 1]);
        for _ in 0..30 {
            assert!(limits.may_guess(from));
            limits.guessed(from);
        }
        assert!(!limits.may_guess(from));
    }
}
