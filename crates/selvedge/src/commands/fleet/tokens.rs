//! `selvedge tokens`: creates, lists and revokes a hub's tokens, and lists and ends sessions.

use std::path::Path;

use jiff::{SignedDuration, Timestamp};
use selvedge_core::model::exit_code;
use selvedge_protocol::{
    IssuedToken, Scope, SessionPage, SessionRow, TokenPage, TokenRequest, TokenRow,
};

use super::{check_id, print_rows};
use crate::cli::{ScopeArg, TokensArgs, TokensCommand};
use crate::commands::token_file::NewTokenFile;
use crate::error::CliError;
use crate::hub_client::HubClient;
use crate::output::{OutputFormat, json};
use crate::streams::output_failed;
use crate::terminal::{one_line, style};

pub(super) async fn tokens(hub: &HubClient, args: &TokensArgs) -> Result<u8, CliError> {
    if args.of_project.is_some() && args.command.is_some() {
        return Err(
            CliError::usage("--project before a subcommand has no effect")
                .hint("name it after the subcommand: selvedge tokens add NAME --project NAME"),
        );
    }
    match &args.command {
        None => list(hub, args.of_project.as_deref(), args.format).await,
        Some(TokensCommand::Add {
            name,
            scopes,
            project,
            days,
            out,
        }) => {
            // A token that cannot be written must not be created.
            let token_file = out.as_deref().map(NewTokenFile::create).transpose()?;
            let lifetime = days.map(|days| SignedDuration::from_hours(24 * i64::from(days)));
            let request = TokenRequest {
                name: name.clone(),
                scopes: scopes.iter().map(|scope| to_scope(*scope)).collect(),
                expires_at: lifetime.map(|lifetime| Timestamp::now() + lifetime),
                project: project.clone(),
            };
            let issued: IssuedToken = hub.post("/tokens", &request, &[]).await?;
            let token_file = token_file.zip(out.as_deref());
            print_token(&issued, token_file, args.format)
        }
        Some(TokensCommand::Revoke { id }) => {
            check_id("token", id, "selvedge tokens")?;
            hub.delete(&format!("/tokens/{id}")).await?;
            if args.format == OutputFormat::Human {
                outln!("revoked: {id}");
            }
            Ok(exit_code::VERIFIED)
        }
        Some(TokensCommand::Sessions) => list_sessions(hub, args.format).await,
        Some(TokensCommand::EndSession { id }) => {
            check_id("session", id, "selvedge tokens sessions")?;
            hub.delete(&format!("/sessions/{id}")).await?;
            if args.format == OutputFormat::Human {
                outln!("ended: {id}");
            }
            Ok(exit_code::VERIFIED)
        }
    }
}

async fn list_sessions(hub: &HubClient, format: OutputFormat) -> Result<u8, CliError> {
    let page: SessionPage = hub.get("/sessions", &[]).await?;
    if format == OutputFormat::Human && page.sessions.is_empty() {
        errln!("no sessions");
    }
    print_rows(&page.sessions, format, session_line);
    Ok(exit_code::VERIFIED)
}

fn session_line(row: &SessionRow) -> String {
    let person = row.person.as_ref().map(|person| &person.name);
    let name = row.token.as_ref().or(person).map_or("", String::as_str);
    format!(
        "{}  {:<24}  {}",
        style::strong(&row.id),
        one_line(name, 24),
        style::dim(format!(
            "since {}, used {}, until {}",
            row.created_at.strftime("%Y-%m-%d %H:%M"),
            row.last_used_at.strftime("%Y-%m-%d %H:%M"),
            row.expires_at.strftime("%Y-%m-%d %H:%M")
        )),
    )
}

async fn list(
    hub: &HubClient,
    project: Option<&str>,
    format: OutputFormat,
) -> Result<u8, CliError> {
    let project = project.map(|name| ("project", name.to_owned()));
    let page: TokenPage = hub.get("/tokens", project.as_slice()).await?;
    print_rows(&page.tokens, format, token_line);
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
    token_file: Option<(NewTokenFile<'_>, &Path)>,
    format: OutputFormat,
) -> Result<u8, CliError> {
    let out = token_file.as_ref().map(|(_, path)| *path);
    if let Some((file, path)) = token_file {
        file.write(&issued.token).map_err(|error| {
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
