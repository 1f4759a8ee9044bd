//! Attestations: an in-toto statement of which tree was verified, by which checks, on what evidence and with what
//! outcome; signed in a DSSE envelope if there is a key.
//!
//! Statements have exactly one form, byte for byte, and only that form is accepted: a change that a signature does not
//! cover (white space, an unknown field, another encoding of the same bytes) is detected like any other. Nothing here
//! judges the work: a statement reports what was found.

mod envelope;
mod key;
mod statement;
mod subject;
mod tree;

#[cfg(test)]
mod tests;

pub(crate) use envelope::{
    MAX_ATTESTATION_BYTES, OpenError, OpenedAttestation, encode_attestation, open_attestation,
};
pub(crate) use key::{PrivateKey, PublicKey};
pub(crate) use statement::{Statement, run_statement, verification_statement};
pub(crate) use subject::{Subject, compute_subject};
