//! `selvedge hub recover-admin`: creates an administrator's token directly in the database.

use std::path::Path;
use std::time::Duration;

use selvedge_core::model::exit_code;
use selvedge_hub::generate_token;
use selvedge_protocol::{DEFAULT_PROJECT, Scope};
use selvedge_store::hub::{AuditActor, HubStore};

use super::hub::print_secret;
use super::token_file::NewTokenFile;
use crate::error::CliError;
use crate::output::print_notice;

/// How long the token is valid: long enough to create a permanent one.
const VALIDITY: Duration = Duration::from_hours(24);

/// Creates the token, and writes or prints its secret.
pub(super) async fn recover_admin(
    store: &dyn HubStore,
    out: Option<&Path>,
) -> Result<u8, CliError> {
    let token_file = out.map(NewTokenFile::create).transpose()?;
    let lasts_ms = i64::try_from(VALIDITY.as_millis()).unwrap_or(i64::MAX);
    let scopes = [Scope::Admin];
    let name = "recovered administrator";
    let mut new_token = generate_token(name, DEFAULT_PROJECT, &scopes, Some(lasts_ms))
        .map_err(CliError::no_random_numbers)?;
    let user = rustix::process::getuid().as_raw();
    new_token.identity.created_by =
        AuditActor::on_database(&format!("selvedge hub recover-admin (uid {user})"));
    let inserted = store.insert_token(new_token.identity).await;
    inserted.map_err(CliError::infrastructure)?;
    print_notice(
        "the token is valid for 24 hours: create a permanent one with `selvedge tokens add`",
    );
    print_secret(&new_token.secret, token_file)?;
    Ok(exit_code::VERIFIED)
}
