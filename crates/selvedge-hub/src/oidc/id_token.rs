//! Validation of ID tokens. `jsonwebtoken` checks the claims; signatures are verified by `ring`, which TLS uses as well.

use jsonwebtoken::crypto::{CryptoProvider, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use jsonwebtoken::signature::{self, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, Validation};
use ring::signature as ring_signature;
use serde_json::{Map, Value};

use super::settings::OidcSettings;

/// The claims of an ID token.
pub(super) type Claims = Map<String, Value>;

/// Longest ID token, in bytes.
const MAX_TOKEN_BYTES: usize = 256 * 1024;

/// Why an ID token is not valid.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IdTokenError {
    /// None of the provider's keys verifies its signature.
    #[error("no key of the provider verifies its signature")]
    Signature,
    /// It is signed in a way that is not accepted.
    #[error("its algorithm is not accepted")]
    Algorithm,
    /// It belongs to another sign-in.
    #[error("its nonce is not that of this sign-in")]
    Nonce,
    /// It was issued for another client.
    #[error("it is for another client")]
    Audience,
    /// It is not valid any longer.
    #[error("it has expired; check the clocks of the hub and of the provider")]
    Expired,
    /// Anything else.
    #[error("{0}")]
    Invalid(String),
}

impl From<Error> for IdTokenError {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::ExpiredSignature => Self::Expired,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::InvalidIssuer => Self::Invalid("it is from another issuer".to_owned()),
            ErrorKind::ImmatureSignature => Self::Invalid("it is not valid yet".to_owned()),
            ErrorKind::MissingRequiredClaim(claim) => Self::Invalid(format!("it has no `{claim}`")),
            _ => Self::Invalid("it cannot be read".to_owned()),
        }
    }
}

/// The claims of an ID token, if one of the keys signed it and it was issued for this sign-in.
pub(super) fn verify(
    token: &str,
    keys: &[Jwk],
    settings: &OidcSettings,
    nonce: &str,
) -> Result<Claims, IdTokenError> {
    // Only the first call has an effect.
    let _ = RING_PROVIDER.install_default();
    if token.len() > MAX_TOKEN_BYTES {
        return Err(IdTokenError::Invalid("it is too long".to_owned()));
    }
    let header = jsonwebtoken::decode_header(token)?;
    let family = family_of(header.alg).ok_or(IdTokenError::Algorithm)?;
    let mut validation = Validation::new(header.alg);
    validation.set_issuer(&[&settings.issuer]);
    validation.set_audience(&[&settings.client_id]);
    validation.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
    validation.validate_nbf = true;
    for key in keys {
        let is_named = header.kid.is_none() || header.kid == key.common.key_id;
        let signs = !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
        let Ok(key) = DecodingKey::from_jwk(key) else {
            continue;
        };
        if !is_named || !signs || key.family() != family {
            continue;
        }
        match jsonwebtoken::decode::<Claims>(token, &key, &validation) {
            Err(error) if matches!(error.kind(), ErrorKind::InvalidSignature) => {}
            decoded => return check_claims(decoded?.claims, settings, nonce),
        }
    }
    Err(IdTokenError::Signature)
}

fn check_claims(
    claims: Claims,
    settings: &OidcSettings,
    nonce: &str,
) -> Result<Claims, IdTokenError> {
    let text = |name: &str| claims.get(name).and_then(Value::as_str);
    if text("nonce") != Some(nonce) {
        return Err(IdTokenError::Nonce);
    }
    // A token for several audiences names the one that it was issued to.
    let audiences = claims.get("aud").and_then(Value::as_array);
    let audiences = audiences.map_or(1, Vec::len);
    match text("azp") {
        Some(party) if party != settings.client_id => Err(IdTokenError::Audience),
        None if audiences > 1 => Err(IdTokenError::Audience),
        _ => Ok(claims),
    }
}

/// The kind of key of an accepted algorithm. Codes with a shared secret are not accepted.
fn family_of(algorithm: Algorithm) -> Option<AlgorithmFamily> {
    [
        AlgorithmFamily::Rsa,
        AlgorithmFamily::Ec,
        AlgorithmFamily::Ed,
    ]
    .into_iter()
    .find(|family| family.algorithms().contains(&algorithm))
}

static RING_PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    verifier_factory: |algorithm, key| {
        Ok(Box::new(RingVerifier {
            algorithm: *algorithm,
            key: key.clone(),
        }))
    },
    // Only thumbprints and conversions of private keys need them.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Verifies signatures with one key.
struct RingVerifier {
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
        let verified = match self.key.kind() {
            DecodingKeyKind::RsaModulusExponent { n, e } => {
                rsa_parameters(self.algorithm).map(|parameters| {
                    let key = ring_signature::RsaPublicKeyComponents { n, e };
                    key.verify(parameters, message, signature)
                })
            }
            DecodingKeyKind::SecretOrDer(key) => {
                curve_parameters(self.algorithm).map(|parameters| {
                    let key = ring_signature::UnparsedPublicKey::new(parameters, key);
                    key.verify(message, signature)
                })
            }
        };
        match verified {
            Some(Ok(())) => Ok(()),
            _ => Err(signature::Error::new()),
        }
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

fn rsa_parameters(algorithm: Algorithm) -> Option<&'static ring_signature::RsaParameters> {
    Some(match algorithm {
        Algorithm::RS256 => &ring_signature::RSA_PKCS1_2048_8192_SHA256,
        Algorithm::RS384 => &ring_signature::RSA_PKCS1_2048_8192_SHA384,
        Algorithm::RS512 => &ring_signature::RSA_PKCS1_2048_8192_SHA512,
        Algorithm::PS256 => &ring_signature::RSA_PSS_2048_8192_SHA256,
        Algorithm::PS384 => &ring_signature::RSA_PSS_2048_8192_SHA384,
        Algorithm::PS512 => &ring_signature::RSA_PSS_2048_8192_SHA512,
        _ => return None,
    })
}

fn curve_parameters(
    algorithm: Algorithm,
) -> Option<&'static dyn ring_signature::VerificationAlgorithm> {
    Some(match algorithm {
        Algorithm::ES256 => &ring_signature::ECDSA_P256_SHA256_FIXED,
        Algorithm::ES384 => &ring_signature::ECDSA_P384_SHA384_FIXED,
        Algorithm::EdDSA => &ring_signature::ED25519,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made with `openssl dgst -sha256 -sign` and a new key.
    #[test]
    fn rsa_signature_is_verified() {
        let _ = RING_PROVIDER.install_default();
        let n = "kyAFzewfz2Me6xuc7CIpT-ohsD-RVZaiWPqDM17Yz58zNkcwpIdILy0MtyvB5HWrqjDZ9lxlH6LilTTe6OkjdS_FV5F86wwB8iKEHaqrLeyShP-FpX4Nd5knEyCe9cflyVCG-n_FJZMosb2-J_hIF8D55kyza_K-2K82mR1YJJbK1V8dATjBKg-pq1aAun5d14rWGzidcirC665OdKBk_c25oWdOYX8qkEoUvFIJgbRfF89sKnwlQb5MhXoWnVuHrO6Q3CroS6NoI_b_2nLeNBtAZt_M63TIL1dAy_DsZyN_SInMujl3Hk9jTD-9m5OYf38V26O-mwSPGTu7HIAE7Q";
        let key = DecodingKey::from_rsa_components(n, "AQAB").unwrap();
        let message = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let signature = "j6F6xsvaSK9NwS7Txv1LsQXrK8a_H-XU8qlpi9irXIE5nd3MYSxc6D0oTtK1UYLlPXC7ZDDPotCO3Xm6MnJymtu2mazwvNJzqj4oYQXOphBI1HT-3k2rL4uC_CGywAuB3A2WK71FfCX-STEzOzPIk7KEzVUI8BlQwfk9hJTPJ-9Ope2p-OfVOMsb2dPkGu7Va9fD9l7YrfNlsQXMuyt5EHy7IhLBujbpptDHniLwi0cyQnVZlbPyTu3KzILA6FfIu3uri8LLJIJbQXjLZ-DDrnFB7CSJyKvM_S11aNBcF8ZYATBDXdvdjYaYg-MeNZG9mwaxBd93dRKMSv9FRR6Qtg";
        let verified = |message: &str, algorithm| {
            let message = message.as_bytes();
            jsonwebtoken::crypto::verify(signature, message, &key, algorithm).unwrap()
        };
        assert!(verified(message, Algorithm::RS256));
        assert!(!verified("x.y", Algorithm::RS256));
        for other in [Algorithm::RS512, Algorithm::ES256, Algorithm::HS256] {
            assert!(!verified(message, other), "{other:?}");
        }
    }

    #[test]
    fn shared_secret_is_not_an_accepted_signature() {
        assert_eq!(family_of(Algorithm::HS256), None);
        assert_eq!(family_of(Algorithm::ES256), Some(AlgorithmFamily::Ec));
    }
}
