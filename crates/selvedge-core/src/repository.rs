//! Addresses of git repositories.

use std::borrow::Cow;

use crate::redact::Redactor;

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
