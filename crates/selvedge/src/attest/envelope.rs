//! The attestation file: the bare statement, or a DSSE envelope around it with one signature.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use super::key::{PrivateKey, PublicKey};
use super::statement::Statement;

const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// The largest file that is read, in bytes.
pub(crate) const MAX_ATTESTATION_BYTES: u64 = 16 << 20;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DsseEnvelope {
    payload_type: String,
    payload: String,
    signatures: [DsseSignature; 1],
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DsseSignature {
    keyid: String,
    sig: String,
}

/// A statement that was read, and whether it is signed.
#[derive(Debug)]
pub(crate) struct OpenedAttestation {
    pub(crate) statement: Statement,
    /// Whether it has a signature; the signature was checked.
    pub(crate) is_signed: bool,
}

/// Why an attestation cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum OpenError {
    /// Not a statement or an envelope, or not in canonical form.
    #[error("not an attestation in the exact format that Selvedge writes")]
    Malformed,
    /// Signed, but no key was given to check the signature.
    #[error("signed by {0}, but no key was given to verify the signature")]
    NoKey(String),
    /// Not signed, although a key was given.
    #[error("not signed")]
    NotSigned,
    /// Signed with another key.
    #[error("signed by {0}, which is not the given key")]
    OtherKey(String),
    /// The signature is wrong.
    #[error("invalid signature: the attestation was changed after signing")]
    Signature,
}

/// Encodes a statement as a file.
pub(crate) fn encode_attestation(
    statement: &Statement,
    key: Option<&PrivateKey>,
) -> Result<Vec<u8>, serde_json::Error> {
    let payload = to_canonical_json(statement)?;
    let Some(key) = key else {
        return Ok(payload);
    };
    let envelope = DsseEnvelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        signatures: [DsseSignature {
            keyid: key.public().id(),
            sig: STANDARD.encode(key.sign(&signing_input(&payload))),
        }],
        payload: STANDARD.encode(payload),
    };
    to_canonical_json(&envelope)
}

/// Reads a file and checks its signature.
pub(crate) fn open_attestation(
    file: &[u8],
    key: Option<&PublicKey>,
) -> Result<OpenedAttestation, OpenError> {
    if let Ok(statement) = parse_canonical::<Statement>(file) {
        let document = OpenedAttestation {
            statement,
            is_signed: false,
        };
        return key.map_or(Ok(document), |_| Err(OpenError::NotSigned));
    }
    let envelope: DsseEnvelope = parse_canonical(file)?;
    let [signature] = envelope.signatures;
    let Some(key) = key else {
        return Err(OpenError::NoKey(signature.keyid));
    };
    if signature.keyid != key.id() {
        return Err(OpenError::OtherKey(signature.keyid));
    }
    // Strict: no other encoding of the same bytes is accepted.
    let bytes = |text: &str| STANDARD.decode(text).map_err(|_| OpenError::Malformed);
    let payload = bytes(&envelope.payload)?;
    let is_ours = envelope.payload_type == PAYLOAD_TYPE;
    if !is_ours || !key.verifies(&signing_input(&payload), &bytes(&signature.sig)?) {
        return Err(OpenError::Signature);
    }
    Ok(OpenedAttestation {
        statement: parse_canonical(&payload)?,
        is_signed: true,
    })
}

/// The bytes to sign: the payload with its type and length (DSSE's pre-authentication encoding).
fn signing_input(payload: &[u8]) -> Vec<u8> {
    let (of_type, length) = (PAYLOAD_TYPE.len(), payload.len());
    let head = format!("DSSEv1 {of_type} {PAYLOAD_TYPE} {length} ");
    [head.as_bytes(), payload].concat()
}

/// Serializes a value in its canonical form.
fn to_canonical_json(value: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut text = serde_json::to_vec_pretty(value)?;
    text.push(b'\n');
    Ok(text)
}

/// Parses a value and rejects any form but the canonical one.
fn parse_canonical<T: Serialize + for<'de> Deserialize<'de>>(bytes: &[u8]) -> Result<T, OpenError> {
    let value: T = serde_json::from_slice(bytes).map_err(|_| OpenError::Malformed)?;
    let is_exact = to_canonical_json(&value).is_ok_and(|text| text == bytes);
    if is_exact {
        Ok(value)
    } else {
        Err(OpenError::Malformed)
    }
}
