//! Options of the hub for the sign-in of people at an OpenID Connect provider.

use std::path::PathBuf;

use clap::{Args, builder::PossibleValuesParser};
use selvedge_hub::Role;

use super::values::whole_number;

/// Options of the sign-in. In the file they are the tables `[oidc]` and `[oidc.roles]`.
#[expect(clippy::struct_field_names, reason = "these are the options' names")]
#[derive(Debug, Default, Args)]
pub(crate) struct OidcArgs {
    /// Let people sign in to the dashboard at this OpenID Connect provider. Needs --public-url.
    #[arg(long, value_name = "URL", requires_all = ["oidc_client_id", "oidc_client_secret_file"])]
    pub(crate) oidc_issuer: Option<String>,
    /// Client id that the provider gave the hub.
    #[arg(long, value_name = "ID", requires = "oidc_issuer")]
    pub(crate) oidc_client_id: Option<String>,
    /// File with the client secret. Several hubs on a database need the same one.
    #[arg(long, value_name = "FILE", requires = "oidc_issuer", value_hint = clap::ValueHint::FilePath)]
    pub(crate) oidc_client_secret_file: Option<PathBuf>,
    /// Scope to request in addition to `openid`. Repeatable [default: profile and email].
    #[arg(long, value_name = "SCOPE", requires = "oidc_issuer")]
    pub(crate) oidc_scopes: Vec<String>,
    /// Claim of the ID token with the groups of a person; dots lead into objects.
    #[arg(long, value_name = "CLAIM", default_value = "groups")]
    pub(crate) oidc_groups_claim: String,
    /// Group that may read everything. Repeatable, as are those of the other roles.
    #[arg(long, value_name = "GROUP", requires = "oidc_issuer")]
    pub(crate) oidc_roles_viewer: Vec<String>,
    /// Group that may submit, cancel, retry and review tasks.
    #[arg(long, value_name = "GROUP", requires = "oidc_issuer")]
    pub(crate) oidc_roles_submitter: Vec<String>,
    /// Group that may review tasks; includes the rights of submitters.
    #[arg(long, value_name = "GROUP", requires = "oidc_issuer")]
    pub(crate) oidc_roles_reviewer: Vec<String>,
    /// Group of administrators.
    #[arg(long, value_name = "GROUP", requires = "oidc_issuer")]
    pub(crate) oidc_roles_admin: Vec<String>,
    /// Role of people whose groups have none [default: they may not sign in].
    #[arg(long, value_name = "ROLE", requires = "oidc_issuer",
          value_parser = PossibleValuesParser::new(Role::ALL.map(Role::as_str)))]
    pub(crate) oidc_default_role: Option<String>,
    /// How long a session of a person lasts at most.
    #[arg(long, value_name = "HOURS", default_value_t = 12, value_parser = whole_number::<u64>(1..=168, 12))]
    pub(crate) oidc_session_hours: u64,
}
