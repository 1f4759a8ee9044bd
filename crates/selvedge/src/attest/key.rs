//! Ed25519 keys in PEM files that other programs can read: PKCS #8 for the private key, SubjectPublicKeyInfo for the
//! public key.

use ed25519_dalek::pkcs8::spki::der::pem::LineEnding;
use ed25519_dalek::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey, EncodePublicKey};
use ed25519_dalek::{Signature, Signer, SigningKey, VerifyingKey};
use selvedge_core::format::hex;
use sha2::{Digest, Sha256};

/// Why a key cannot be used. Never contains key material.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum KeyError {
    /// No source of randomness.
    #[error("cannot get random bytes from the system")]
    NoRandomness,
    /// Cannot be written as PEM.
    #[error("cannot encode the key as PEM")]
    Unwritable,
    /// Not a private key.
    #[error(
        "not an Ed25519 private key in PEM (PKCS #8); create one with `selvedge attest keygen`"
    )]
    NotPrivate,
    /// Not a public key.
    #[error(
        "not an Ed25519 public key in PEM; `selvedge attest keygen` writes it next to the private key, as `.pub`"
    )]
    NotPublic,
}

/// Signs statements.
pub(crate) struct PrivateKey(SigningKey);

/// Checks signatures.
pub(crate) struct PublicKey(VerifyingKey);

impl PrivateKey {
    /// Generates a new key.
    pub(crate) fn generate() -> Result<Self, KeyError> {
        let mut secret = [0; 32];
        getrandom::fill(&mut secret).map_err(|_| KeyError::NoRandomness)?;
        Ok(Self(SigningKey::from_bytes(&secret)))
    }

    /// Parses the PEM text of a key file.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let key = SigningKey::from_pkcs8_pem(pem);
        key.map(Self).map_err(|_| KeyError::NotPrivate)
    }

    /// The key as PEM text.
    pub(crate) fn to_pem(&self) -> Result<String, KeyError> {
        let pem = self.0.to_pkcs8_pem(LineEnding::LF);
        pem.map(|pem| pem.to_string())
            .map_err(|_| KeyError::Unwritable)
    }

    /// The public half of the key.
    pub(crate) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key())
    }

    pub(super) fn sign(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl PublicKey {
    /// Parses the PEM text of a key file.
    pub(crate) fn from_pem(pem: &str) -> Result<Self, KeyError> {
        let key = VerifyingKey::from_public_key_pem(pem);
        key.map(Self).map_err(|_| KeyError::NotPublic)
    }

    /// The key as PEM text.
    pub(crate) fn to_pem(&self) -> Result<String, KeyError> {
        let pem = self.0.to_public_key_pem(LineEnding::LF);
        pem.map_err(|_| KeyError::Unwritable)
    }

    /// The key's id: the hash of its bytes.
    pub(crate) fn id(&self) -> String {
        format!("sha256:{}", hex(&Sha256::digest(self.0.as_bytes())))
    }

    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let signature = Signature::from_slice(signature);
        signature.is_ok_and(|it| self.0.verify_strict(message, &it).is_ok())
    }
}
