//! API tokens: creation, and hashes of secrets. A secret is shown once and stored as a hash; it is random
//! enough that a plain SHA-256 is safe.

use selvedge_protocol::Scope;
use selvedge_store::hub::{ApiToken, AuditActor, NewApiToken};
use sha2::{Digest, Sha256};
use uuid::Uuid;

/// Prefix of every secret, by which scanners detect one that was committed by mistake.
const SECRET_PREFIX: &str = "slv_";
/// Number of characters of a secret that are stored so that people can recognize it.
const VISIBLE_PREFIX_CHARS: usize = 10;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// A new token.
#[derive(Debug, Clone)]
pub struct GeneratedToken {
    /// The secret, shown once.
    pub secret: String,
    /// The record to store.
    pub identity: NewApiToken,
}

/// Generates a token that is valid for so many milliseconds, or until it is revoked. The caller sets its
/// creator, unless that is a program on the database.
pub fn generate_token(
    name: &str,
    project: &str,
    scopes: &[Scope],
    lasts_ms: Option<i64>,
) -> Result<GeneratedToken, getrandom::Error> {
    let secret = format!("{SECRET_PREFIX}{}", generate_secret()?);
    Ok(GeneratedToken {
        identity: NewApiToken {
            token_id: Uuid::now_v7(),
            name: name.to_owned(),
            project: project.to_owned(),
            scopes: scopes
                .iter()
                .map(|scope| scope.as_str().to_owned())
                .collect(),
            prefix: secret.chars().take(VISIBLE_PREFIX_CHARS).collect(),
            hash: hash_secret(&secret),
            lasts_ms,
            created_by: AuditActor::on_database(name),
        },
        secret,
    })
}

/// A random text of 240 bits.
pub(crate) fn generate_secret() -> Result<String, getrandom::Error> {
    let mut random = [0u8; 40];
    getrandom::fill(&mut random)?;
    let letters = random.map(|byte| char::from(ALPHABET[usize::from(byte % 64)]));
    Ok(letters.iter().collect())
}

/// The stored hash of a secret.
pub(crate) fn hash_secret(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// Whether a token has a scope. `admin` includes every scope except `worker`: access of machines is kept
/// separate from decisions of people.
pub(crate) fn has_scope(identity: &ApiToken, scope: Scope) -> bool {
    includes_scope(&identity.scopes, scope)
}

/// Whether these scopes include one.
pub(crate) fn includes_scope(scopes: &[String], scope: Scope) -> bool {
    let has = |scope: Scope| scopes.iter().any(|word| word == scope.as_str());
    match scope {
        Scope::Worker => has(Scope::Worker),
        Scope::Read => has(Scope::Read) || has(Scope::Submit) || has(Scope::Admin),
        Scope::Submit => has(Scope::Submit) || has(Scope::Admin),
        Scope::Admin => has(Scope::Admin),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_secret_is_random_and_only_hash_is_stored() {
        let one = generate_token("ci", "default", &[Scope::Submit], None).unwrap();
        let two = generate_token("ci", "default", &[Scope::Submit], None).unwrap();
        assert_ne!(one.secret, two.secret);
        assert_eq!(one.secret.len(), SECRET_PREFIX.len() + 40);
        assert_eq!(one.identity.hash, hash_secret(&one.secret));
        assert!(one.secret.starts_with(&one.identity.prefix));
        assert_eq!(one.identity.prefix.len(), VISIBLE_PREFIX_CHARS);
    }
}
