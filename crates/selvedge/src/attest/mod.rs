//! Attestations: an in-toto statement that says which tree was verified, by which checks, on what
//! evidence and with what outcome; signed, when there is a key, in a DSSE envelope.
//!
//! What is written has exactly one form, byte for byte, and only that form is read again: a change that
//! a signature does not cover (white space, an unknown field, another spelling of the same bytes) is
//! noticed like any other. Nothing here decides what the work is worth: it states what was found.

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
