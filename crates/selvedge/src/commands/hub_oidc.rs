//! The hub's settings of the sign-in of people, from its options.

use std::time::Duration;

use selvedge_hub::{CALLBACK_PATH, ClientSecret, OidcSettings, Role, parse_issuer};

use crate::cli::OidcArgs;
use crate::error::CliError;

/// Scopes that are requested if none are set: with them, providers send the name of a person.
const DEFAULT_SCOPES: [&str; 2] = ["profile", "email"];
/// The scope of every request of OpenID Connect.
const OPENID_SCOPE: &str = "openid";

/// Checks that providers can send browsers back to a public URL.
fn check_public_url(public_url: &str, https: bool) -> Result<(), CliError> {
    let invalid = |why: &str| CliError::usage(format!("--public-url: `{public_url}` {why}"));
    let (scheme, host) = public_url
        .split_once("://")
        .ok_or_else(|| invalid("is not a URL"))?;
    if host.contains('/') {
        return Err(invalid("must not have a path with --oidc-issuer")
            .hint("serve the hub at the root of a host name"));
    }
    match (scheme, https) {
        ("https", true) | ("http", false) => Ok(()),
        ("https", false) => Err(invalid("needs TLS, but the hub serves plain HTTP")
            .hint("use --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS")),
        _ => Err(invalid(
            "must begin with `https://`, because browsers use TLS",
        )),
    }
}

/// The settings of the sign-in, if there is a provider, without the client secret: see [`read_client_secret`].
pub(super) fn sign_in_settings(
    args: &OidcArgs,
    public_url: Option<&str>,
    https: bool,
) -> Result<Option<OidcSettings>, CliError> {
    let Some(issuer) = &args.oidc_issuer else {
        return Ok(None);
    };
    parse_issuer(issuer)
        .map_err(|error| CliError::usage(format!("--oidc-issuer: `{issuer}` {error}")))?;
    let public_url = public_url.ok_or_else(|| {
        CliError::usage("--oidc-issuer: --public-url is missing").hint(format!(
            "set the URL at which people open the hub, and register it with `{CALLBACK_PATH}` as redirect URL at the \
             provider: https://hub.example{CALLBACK_PATH}"
        ))
    })?;
    check_public_url(public_url, https)?;
    let client_id = args.oidc_client_id.clone().filter(|id| !id.is_empty());
    let client_id =
        client_id.ok_or_else(|| CliError::usage("--oidc-issuer: --oidc-client-id is missing"))?;
    let roles = vec![
        (Role::Viewer, args.oidc_roles_viewer.clone()),
        (Role::Submitter, args.oidc_roles_submitter.clone()),
        (Role::Reviewer, args.oidc_roles_reviewer.clone()),
        (Role::Admin, args.oidc_roles_admin.clone()),
    ];
    let default_role = args.oidc_default_role.as_deref().and_then(Role::parse);
    if default_role.is_none() && roles.iter().all(|(_, groups)| groups.is_empty()) {
        return Err(CliError::usage("--oidc-issuer: no role has a group").hint(
            "name the groups of at least one role, such as --oidc-roles-viewer GROUP, or set --oidc-default-role",
        ));
    }
    let others: Vec<&str> = if args.oidc_scopes.is_empty() {
        DEFAULT_SCOPES.to_vec()
    } else {
        args.oidc_scopes.iter().map(String::as_str).collect()
    };
    let others = others.into_iter().filter(|scope| *scope != OPENID_SCOPE);
    let scopes = [OPENID_SCOPE].into_iter().chain(others).map(str::to_owned);
    Ok(Some(OidcSettings {
        issuer: issuer.clone(),
        client_id,
        client_secret: ClientSecret::new(String::new()),
        scopes: scopes.collect(),
        groups_claim: args.oidc_groups_claim.clone(),
        roles,
        default_role,
        session_lifetime: Duration::from_secs(args.oidc_session_hours.saturating_mul(3_600)),
    }))
}

/// Reads the client secret from its file, such as a mounted secret.
pub(super) fn read_client_secret(args: &OidcArgs) -> Result<ClientSecret, CliError> {
    let path = args
        .oidc_client_secret_file
        .as_ref()
        .ok_or_else(|| CliError::usage("--oidc-issuer: --oidc-client-secret-file is missing"))?;
    let invalid = |why: String| CliError::usage(format!("--oidc-client-secret-file: {why}"));
    let text = std::fs::read_to_string(path)
        .map_err(|error| invalid(format!("cannot read {}: {error}", path.display())))?;
    let secret = text.trim();
    if secret.is_empty() {
        return Err(invalid(format!("{} is empty", path.display())));
    }
    Ok(ClientSecret::new(secret.to_owned()))
}
