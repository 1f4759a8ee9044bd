//! `selvedge attest`: generates keys and verifies attestations.

use std::path::PathBuf;

use clap::Subcommand;

/// `selvedge attest`
#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Generate a key pair to sign attestations: the private key in FILE, the public key in FILE.pub.
    Keygen {
        /// File for the private key; must not exist.
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Verify an attestation: its signature, and that it states that the files of this directory are
    /// verified.
    ///
    /// Exits with 0 if it is valid, with 1 if it is not, and with 2 if it cannot be read or the key for
    /// its signature is missing.
    Verify {
        /// File of the attestation.
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        /// The repository, or a directory in it [default: current directory].
        #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// Public key of a trusted signer. Without a key, only unsigned attestations can be verified, which
        /// anyone can create.
        #[arg(long, value_name = "PUB", value_hint = clap::ValueHint::FilePath)]
        key: Option<PathBuf>,
    },
}

/// Examples for `attest --help`.
pub(crate) const ABOUT: &str = "\
`run`, `resume`, `verify` and `show` write attestations with --attest FILE, and sign them with \
--attest-key KEY.

Examples:
  selvedge attest keygen ~/.config/selvedge/attest.key
  selvedge verify --attest verified.json --attest-key ~/.config/selvedge/attest.key
  selvedge attest verify verified.json --key attest.key.pub";
