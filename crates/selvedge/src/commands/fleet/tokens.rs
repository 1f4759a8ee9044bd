//! `selvedge tokens`: creates, lists and revokes a hub's tokens.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use selvedge_core::model::exit_code;
use selvedge_protocol::{IssuedToken, Scope, TokenPage, TokenRequest, TokenRow};

use crate::cli::{ScopeArg, TokensArgs, TokensCommand};
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json};
use crate::streams::output_failed;
use crate::terminal::{one_line, style};

pub(super) async fn tokens(hub: &HubClient, args: &TokensArgs) -> Result<u8, CliError> {
    match &args.command {
        None => list(hub, args.format).await,
        Some(TokensCommand::Add {
            name,
            scopes,
            days,
            out,
        }) => {
            let lifetime = days.map(|days| SignedDuration::from_hours(24 * i64::from(days)));
            let request = TokenRequest {
                name: name.clone(),
                scopes: scopes.iter().map(|scope| to_scope(*scope)).collect(),
                expires_at: lifetime.map(|lifetime| Timestamp::now() + lifetime),
            };
            let issued: IssuedToken = hub.post("/tokens", &request, &[]).await?;
            print_token(&issued, out.as_deref(), args.format)
        }
        Some(TokensCommand::Revoke { id }) => {
            if !id
                .bytes()
                .all(|it| it.is_ascii_alphanumeric() || it == b'-')
            {
                return Err(CliError::usage(format!("invalid token id `{id}`"))
                    .hint("list tokens with `selvedge tokens`"));
            }
            hub.delete(&format!("/tokens/{id}")).await?;
            if args.format == OutputFormat::Human {
                outln!("revoked: {id}");
            }
            Ok(exit_code::VERIFIED)
        }
    }
}

async fn list(hub: &HubClient, format: OutputFormat) -> Result<u8, CliError> {
    let page: TokenPage = hub.get("/tokens", &[]).await?;
    match format {
        OutputFormat::Json => json::print_json(&page.tokens),
        OutputFormat::Jsonl => page.tokens.iter().for_each(json::print_json),
        OutputFormat::Human => page
            .tokens
            .iter()
            .for_each(|row| outln!("{}", token_line(row))),
    }
    Ok(exit_code::VERIFIED)
}

fn token_line(row: &TokenRow) -> String {
    let scopes: Vec<&str> = row.scopes.iter().map(|scope| scope.as_str()).collect();
    let status = match (row.revoked_at, row.expires_at) {
        (Some(_), _) => style::bad("revoked"),
        (None, Some(at)) if at <= Timestamp::now() => style::bad("expired"),
        (None, Some(at)) => style::good(format!("valid until {}", at.strftime("%Y-%m-%d"))),
        (None, None) => style::good("valid"),
    };
    let used = row.last_used_at.map_or_else(
        || "never used".to_owned(),
        |at| format!("used {}", at.strftime("%Y-%m-%d %H:%M")),
    );
    format!(
        "{}  {:<24}  {:<20}  {status}  {}",
        style::strong(&row.id),
        one_line(&row.name, 24),
        scopes.join(","),
        style::dim(used),
    )
}

fn print_token(
    issued: &IssuedToken,
    out: Option<&Path>,
    format: OutputFormat,
) -> Result<u8, CliError> {
    if let Some(path) = out {
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(0o600).open(path);
        let written = opened.and_then(|mut file| {
            writeln!(file, "{}", issued.token)?;
            file.sync_all()
        });
        written.map_err(|error| {
            CliError::infrastructure(format!("cannot write {}: {error}", path.display())).hint(
                format!(
                    "the token was created anyway; revoke it: selvedge tokens revoke {}",
                    issued.row.id
                ),
            )
        })?;
    }
    match (format, out) {
        (OutputFormat::Human, None) => outln!("{}", issued.token),
        (OutputFormat::Human, Some(path)) => {
            outln!("{}: written to {}", issued.row.id, path.display());
        }
        (_, None) => json::print_json(issued),
        (_, Some(_)) => json::print_json(&issued.row),
    }
    if out.is_none() && output_failed() {
        let id = &issued.row.id;
        return Err(
            CliError::infrastructure("the token was created but could not be printed").hint(
                format!(
                    "revoke it (selvedge tokens revoke {id}), then create another with --out FILE"
                ),
            ),
        );
    }
    Ok(exit_code::VERIFIED)
}

const fn to_scope(scope: ScopeArg) -> Scope {
    match scope {
        ScopeArg::Read => Scope::Read,
        ScopeArg::Submit => Scope::Submit,
        ScopeArg::Worker => Scope::Worker,
        ScopeArg::Admin => Scope::Admin,
    }
}
