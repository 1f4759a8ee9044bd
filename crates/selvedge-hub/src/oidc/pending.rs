//! A sign-in between its start and the provider's answer. Its whole state is in a cookie: a random secret, the time,
//! the path to continue at, and a code that only hubs with the client secret can make. State, nonce and code verifier
//! are derived from the secret, so the cookie contains none of them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::settings::OidcSettings;

/// How long a person may take at the provider, in milliseconds.
pub(super) const PENDING_FOR_MS: i64 = 10 * 60 * 1_000;
/// Difference between the clocks of two hubs, in milliseconds.
const CLOCK_TOLERANCE_MS: i64 = 60_000;
/// Longest path that is kept: with it the cookie is below the limit of browsers.
const MAX_NEXT_BYTES: usize = 1_024;

/// The key, which all hubs with the same client secret derive.
#[derive(Clone)]
pub(super) struct SigningKey([u8; 32]);

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(…)")
    }
}

impl SigningKey {
    pub(super) fn of(settings: &OidcSettings) -> Self {
        let secret = Self(Sha256::digest(settings.client_secret.expose()).into());
        let client = format!("{}\n{}", settings.issuer, settings.client_id);
        Self(secret.code("key of pending sign-ins", &client))
    }

    /// An authentication code of a text under the key; different for each purpose.
    fn code(&self, purpose: &str, text: &str) -> [u8; 32] {
        // A key of the block's length is always accepted; HMAC itself pads shorter keys with zeros.
        let mut block = [0; 64];
        block[..self.0.len()].copy_from_slice(&self.0);
        let mut mac = Hmac::<Sha256>::new(&block.into());
        mac.update(format!("{purpose}\n{text}").as_bytes());
        mac.finalize().into_bytes().into()
    }
}

/// A sign-in that was started.
#[derive(Debug)]
pub(super) struct PendingSignIn<'a> {
    key: &'a SigningKey,
    /// The random secret and the time, from which all values are derived.
    seed: String,
    next: String,
}

impl<'a> PendingSignIn<'a> {
    pub(super) fn new(key: &'a SigningKey, secret: &str, now: i64, next: &str) -> Self {
        let next = if next.len() > MAX_NEXT_BYTES {
            "/"
        } else {
            next
        };
        Self {
            key,
            seed: format!("{secret}.{now}"),
            next: next.to_owned(),
        }
    }

    /// Reads the value of a cookie; `None` if it was not written by a hub, or is too old.
    pub(super) fn from_cookie(key: &'a SigningKey, cookie: &str, now: i64) -> Option<Self> {
        let (content, code) = cookie.rsplit_once('.')?;
        let code = URL_SAFE_NO_PAD.decode(code).ok()?;
        // Compares hashes, so that the duration reveals nothing about the code.
        let expected = key.code("cookie", content);
        if Sha256::digest(code) != Sha256::digest(expected) {
            return None;
        }
        let (seed, next) = content.rsplit_once('.')?;
        let begun: i64 = seed.rsplit_once('.')?.1.parse().ok()?;
        if !(-CLOCK_TOLERANCE_MS..PENDING_FOR_MS).contains(&(now - begun)) {
            return None;
        }
        let next = String::from_utf8(URL_SAFE_NO_PAD.decode(next).ok()?).ok()?;
        Some(Self {
            key,
            seed: seed.to_owned(),
            next,
        })
    }

    /// The value of the cookie.
    pub(super) fn into_cookie(self) -> String {
        let content = format!("{}.{}", self.seed, URL_SAFE_NO_PAD.encode(&self.next));
        let code = self.key.code("cookie", &content);
        format!("{content}.{}", URL_SAFE_NO_PAD.encode(code))
    }

    fn derive(&self, purpose: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.key.code(purpose, &self.seed))
    }

    pub(super) fn state(&self) -> String {
        self.derive("state")
    }

    pub(super) fn nonce(&self) -> String {
        self.derive("nonce")
    }

    /// The secret of PKCE: 43 characters.
    pub(super) fn code_verifier(&self) -> String {
        self.derive("code verifier")
    }

    pub(super) fn code_challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.code_verifier()))
    }

    /// The path to continue at.
    pub(super) fn next(&self) -> &str {
        &self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookie_of_pending_sign_in_expires_and_cannot_be_changed() {
        let key = SigningKey([1; 32]);
        let pending = PendingSignIn::new(&key, "secret", 1_000, "/tasks/1?a=b.c");
        let (state, nonce, verifier) = (pending.state(), pending.nonce(), pending.code_verifier());
        assert!(state != nonce && nonce != verifier && verifier.len() == 43);
        let cookie = pending.into_cookie();
        let read = PendingSignIn::from_cookie(&key, &cookie, 1_000 + PENDING_FOR_MS - 1);
        let read = read.expect("a valid cookie");
        assert_eq!(read.state(), state);
        assert_eq!(read.next(), "/tasks/1?a=b.c");
        for now in [1_000 + PENDING_FOR_MS, -CLOCK_TOLERANCE_MS] {
            assert!(PendingSignIn::from_cookie(&key, &cookie, now).is_none());
        }
        let other = SigningKey([2; 32]);
        assert!(PendingSignIn::from_cookie(&other, &cookie, 1_000).is_none());
        let later = cookie.replacen(".1000.", ".2000.", 1);
        for changed in [&later, &cookie[1..], "", "a.b.c.d"] {
            assert!(PendingSignIn::from_cookie(&key, changed, 1_000).is_none());
        }
    }
}
