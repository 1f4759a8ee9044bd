//! `selvedge attest`: keys, and checking what somebody attested.

use std::path::PathBuf;

use clap::Subcommand;

/// `selvedge attest`
#[derive(Debug, Subcommand)]
pub(crate) enum AttestCommand {
    /// Make a key to sign attestations with: FILE, and its public half beside it as FILE.pub.
    Keygen {
        /// The private key's file, which must not exist yet.
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Check an attestation: its signature, that it is about the files that are here, and that it says
    /// that they are verified.
    ///
    /// Exits with 0 when all of that holds, with 1 when any of it does not, with 2 when it cannot be
    /// read or there is no key for a signature.
    Verify {
        /// The attestation.
        #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        file: PathBuf,
        /// The repository, or any directory in it [default: here].
        #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
        dir: Option<PathBuf>,
        /// The public key of whoever is trusted to attest. Without one only an attestation that nobody
        /// signed can be checked, which anybody can have written.
        #[arg(long, value_name = "PUB", value_hint = clap::ValueHint::FilePath)]
        key: Option<PathBuf>,
    },
}

/// What both are about, for `attest --help`.
pub(crate) const ABOUT: &str = "\
Attestations are written by --attest FILE of run, resume, verify and show; with --attest-key they are signed.

Examples:
  selvedge attest keygen ~/.config/selvedge/attest.key
  selvedge verify --attest verified.json --attest-key ~/.config/selvedge/attest.key
  selvedge attest verify verified.json --key attest.key.pub";
