//! `selvedge attest`: generates keys, and checks attestations against a tree.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use selvedge_core::model::exit_code;

use super::{canonical_directory, environment};
use crate::attest::{
    MAX_ATTESTATION_BYTES, OpenError, OpenedAttestation, PrivateKey, PublicKey, Statement, Subject,
    compute_subject, open_attestation,
};
use crate::cli::AttestCommand;
use crate::error::CliError;
use crate::local::StateDir;
use crate::output::file;
use crate::terminal::{one_line, style};

/// The attestation is not valid. Same code as for checks that ran and failed.
const EXIT_NOT_VALID: u8 = exit_code::CHECKS_FAILED;

pub(super) fn run(command: &AttestCommand) -> Result<u8, CliError> {
    match command {
        AttestCommand::Keygen { file } => keygen(file),
        AttestCommand::Verify { file, dir, key } => verify(file, dir.as_deref(), key.as_deref()),
    }
}

fn keygen(path: &Path) -> Result<u8, CliError> {
    let key = PrivateKey::generate().map_err(CliError::infrastructure)?;
    let public = key.public();
    let (private_pem, public_pem) = (key.to_pem(), public.to_pem());
    let mut public_path = path.as_os_str().to_owned();
    public_path.push(".pub");
    let public_path = PathBuf::from(public_path);
    for (path, pem) in [(path, private_pem), (&public_path, public_pem)] {
        let pem = pem.map_err(CliError::infrastructure)?;
        file::create_private(path, pem.as_bytes()).map_err(|error| {
            CliError::usage(format!("cannot write {}: {error}", path.display()))
                .hint("existing files are never overwritten by a key")
        })?;
    }
    outln!("{}  private key: keep it secret", path.display());
    outln!(
        "{}  public key: verifies attestations",
        public_path.display()
    );
    outln!("{}", public.id());
    Ok(exit_code::VERIFIED)
}

fn verify(path: &Path, dir: Option<&Path>, key: Option<&Path>) -> Result<u8, CliError> {
    let key = key.map(load_public_key).transpose()?;
    let shown = path.display();
    let bytes = read_file(path)?;
    let document = match open_attestation(&bytes, key.as_ref()) {
        Ok(document) => document,
        Err(error @ OpenError::NoKey(_)) => {
            return Err(CliError::usage(format!("{shown}: {error}"))
                .hint("pass the public key of a signer that you trust: --key PUB"));
        }
        Err(error) => return Ok(report_invalid(&format!("{shown}: {error}"))),
    };
    let OpenedAttestation {
        statement,
        is_signed,
    } = document;
    if !statement.is_known() {
        return Err(CliError::usage(format!(
            "{shown}: unsupported statement type"
        )));
    }
    let [attested] = &statement.subject;
    let current = current_subject(dir, attested, &statement)?;
    if current != *attested {
        let (attested, current) = (&attested.digest.git_tree, &current.digest.git_tree);
        return Ok(report_invalid(&format!(
            "the files differ: tree {attested} was attested, the current tree is {current}"
        )));
    }
    Ok(print_statement(&statement, is_signed))
}

/// Prints what was verified; the exit code depends on whether the statement asserts a verified tree.
fn print_statement(statement: &Statement, is_signed: bool) -> u8 {
    let [attested] = &statement.subject;
    let predicate = &statement.predicate;
    let reason = one_line(&predicate.reason, 300);
    let is_verified = predicate.is_verified();
    let outcome = one_line(&predicate.outcome, 40).replace('_', " ");
    let outcome = if is_verified {
        style::good(style::strong(outcome))
    } else {
        style::bad(style::strong(outcome))
    };
    outln!("{outcome}: {reason}");
    outln!(
        "  tree     {} ({})",
        attested.digest.git_tree,
        one_line(&attested.name, 200)
    );
    outln!("  at       {}", predicate.verified_at);
    outln!("  checks   {}", predicate.checks.len());
    if let Some(run) = &predicate.run {
        let model = run.agent.model.as_deref().unwrap_or("unknown model");
        let (agent, model) = (one_line(&run.agent.name, 60), one_line(model, 60));
        outln!("  agent    {agent} ({model}), run {}", run.run_id.short());
    }
    for path in &predicate.not_covered {
        outln!(
            "  {} {}",
            style::warning("not covered:"),
            one_line(path, 200)
        );
    }
    if is_signed {
        outln!("  signed   by the given key");
    } else {
        outln!("  {}", style::warning("not signed: its origin is unknown"));
    }
    if is_verified {
        exit_code::VERIFIED
    } else {
        EXIT_NOT_VALID
    }
}

fn report_invalid(why: &str) -> u8 {
    errln!("{} {}", style::error("invalid:"), one_line(why, 400));
    EXIT_NOT_VALID
}

/// Computes the current subject of the directory that the attestation names.
fn current_subject(
    dir: Option<&Path>,
    attested: &Subject,
    statement: &Statement,
) -> Result<Subject, CliError> {
    let home = StateDir::from_environment(&environment())?;
    let dir = canonical_directory(dir)?;
    let root = home.open_workspace(&dir).map_err(CliError::usage)?;
    let root = root.repository_root().unwrap_or(&dir);
    let subdirectory = Path::new(&attested.name);
    let is_plain = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !subdirectory.components().all(is_plain) {
        return Err(CliError::usage(
            "the attestation does not name a directory of a repository",
        ));
    }
    let subject_dir = canonical_directory(Some(&root.join(subdirectory)))?;
    let workspace = home.open_workspace(&subject_dir).map_err(CliError::usage)?;
    compute_subject(&workspace, &statement.predicate.not_covered).map_err(CliError::infrastructure)
}

fn load_public_key(path: &Path) -> Result<PublicKey, CliError> {
    let failed =
        |why: &dyn std::fmt::Display| CliError::usage(format!("--key {}: {why}", path.display()));
    let pem = fs::read_to_string(path).map_err(|error| failed(&error))?;
    PublicKey::from_pem(&pem).map_err(|error| failed(&error))
}

fn read_file(path: &Path) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(MAX_ATTESTATION_BYTES).read_to_end(&mut bytes));
    read.map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(bytes)
}
