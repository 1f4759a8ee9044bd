//! Addresses of git repositories.

use std::borrow::Cow;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::guard::GlobError;
use crate::redact::Redactor;

/// Patterns of addresses: `*` matches a part between slashes, `**` any number of parts. The ending `.git` is optional.
#[derive(Debug, Clone)]
pub struct RepositoryPatterns(GlobSet);

impl RepositoryPatterns {
    /// Fails at the first pattern that does not parse.
    pub fn new(patterns: &[String]) -> Result<Self, GlobError> {
        let mut set = GlobSetBuilder::new();
        for pattern in patterns {
            let invalid = |error: globset::Error| GlobError {
                glob: pattern.clone(),
                why: error.kind().to_string(),
            };
            let mut builder = GlobBuilder::new(without_ending(pattern));
            set.add(builder.literal_separator(true).build().map_err(invalid)?);
        }
        let set = set.build().map_err(|error| GlobError {
            glob: patterns.join(", "),
            why: error.kind().to_string(),
        })?;
        Ok(Self(set))
    }

    /// Whether one of them matches an address. Addresses that git or a server might read differently never match:
    /// `https://git.example/ours/../theirs`.
    pub fn allow(&self, address: &str) -> bool {
        let is_plain = |char: char| !char.is_control() && !"%\\?#".contains(char);
        let is_step = |part: &str| matches!(part, "." | "..");
        address.chars().all(is_plain)
            && !address.split(['/', ':']).any(is_step)
            && self.0.is_match(without_ending(address))
    }
}

fn without_ending(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    address.strip_suffix(".git").unwrap_or(address)
}

/// Whether the address of a repository contains a password or an access token. A user name alone is not
/// secret: addresses of SSH need one, and some servers have one in every address.
pub fn has_credentials(address: &str) -> bool {
    let Some((_, rest)) = address.split_once("://") else {
        return false;
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let Some((user, _)) = authority.rsplit_once('@') else {
        return false;
    };
    user.contains(':') || matches!(Redactor::new(&[]).redact_text(user), Cow::Owned(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_patterns_allow_only_plain_addresses_that_match() {
        let patterns = [
            "https://git.example/ours/*",
            "git@git.example:ours/*.git",
            "/srv/**",
        ];
        let patterns = RepositoryPatterns::new(&patterns.map(str::to_owned)).unwrap();
        for address in [
            "https://git.example/ours/shop",
            "https://git.example/ours/shop.git/",
            "git@git.example:ours/shop",
            "/srv/a/b",
        ] {
            assert!(patterns.allow(address), "{address}");
        }
        for address in [
            "",
            "https://git.example/theirs/shop",
            "https://git.example/ours/a/b",
            "https://git.example/ours/..",
            "https://git.example/ours/../theirs",
            "https://git.example/ours/%2e%2e",
            "https://evil.example/https://git.example/ours/shop",
            "git@git.example:ours/../theirs",
            "/srv/../etc",
            "/srv/a\n/b",
        ] {
            assert!(!patterns.allow(address), "{address}");
        }
        assert!(RepositoryPatterns::new(&["a{b".to_owned()]).is_err());
    }

    #[test]
    fn repository_address_with_a_password_or_token_has_credentials() {
        for address in [
            "https://ada:secret@git.example/shop",
            "https://ada:@git.example/shop",
            "ssh://git:secret@git.example/shop",
            "https://a:b@c@git.example",
            "https://ghp_0123456789abcdefghijABCDEFGHIJ012345@github.com/a/b",
        ] {
            assert!(has_credentials(address), "{address}");
        }
        for address in [
            "https://git.example/shop",
            "https://org@dev.example/org/shop",
            "https://git.example:8443/a@b:c",
            "ssh://git@git.example:22/shop",
            "git@git.example:shop.git",
            "/srv/a:b@c",
            "file:///srv/shop",
        ] {
            assert!(!has_credentials(address), "{address}");
        }
    }
}
