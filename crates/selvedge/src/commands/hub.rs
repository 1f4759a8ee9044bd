//! `selvedge hub`: opens the store, creates the first token, and serves until it receives a signal.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use selvedge_core::config::nearest;
use selvedge_core::model::{Budget, MicroUsd, StepKind, exit_code};
use selvedge_hub::{
    Hub, HubSettings, QuarantineRules, ReloadableTls, TaskDefaults, generate_token, run,
    site_router,
};
use selvedge_protocol::{DEFAULT_PROJECT, LeaseTiming, Scope};
use selvedge_store::fault;
use selvedge_store::hub::{
    AuditActor, HubStore, HubStoreError, PostgresHub, SqliteHub, StoreSettings,
};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::environment;
use super::hub_objects::{check_object_storage, object_storage};
use super::hub_oidc::{read_client_secret, sign_in_settings};
use super::hub_recovery::recover_admin;
use super::run_checks::build_runtime;
use super::token_file::NewTokenFile;
use crate::cli::{HubCommand, ServeArgs};
use crate::error::CliError;
use crate::local::StateDir;
use crate::logging::{self, LogFormat};
use crate::output::print_notice;
use crate::streams::print_output;

/// The variable that may contain the password of the database server, as for other PostgreSQL clients.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

pub(super) fn run_hub(args: &ServeArgs) -> Result<u8, CliError> {
    if args.command.is_none() {
        // First, so that errors are in the log's format.
        logging::start(args.log_format)?;
    }
    let mut settings = hub_settings(args).map_err(|error| args.config.with_origins(error))?;
    if args.command.is_none() {
        require_encryption(args).map_err(|error| args.config.with_origins(error))?;
    }
    if let Some(listing) = args.config.requested_listing() {
        out!("{listing}");
        return Ok(exit_code::VERIFIED);
    }
    if let Some(HubCommand::RecoverAdmin { out }) = &args.command {
        return build_runtime()?.block_on(async {
            let store = open_store(args, &settings).await?;
            recover_admin(store.as_ref(), out.as_deref()).await
        });
    }
    if let Some(oidc) = &mut settings.oidc {
        oidc.client_secret = read_client_secret(&args.oidc)?;
    }
    settings.objects = object_storage(&args.objects, environment())
        .map_err(|error| args.config.with_origins(error))?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(ReloadableTls::load(chain, key).map_err(CliError::usage)?),
        _ => None,
    };
    build_runtime()?.block_on(serve(args, settings, tls))
}

/// Refuses to send tokens unencrypted to other machines.
fn require_encryption(args: &ServeArgs) -> Result<(), CliError> {
    if args.tls_cert.is_some() || args.listen.ip().is_loopback() || args.behind_proxy {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--listen: tokens would be sent unencrypted to {}",
        args.listen
    ))
    .hint("use --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS"))
}

async fn serve(
    args: &ServeArgs,
    mut settings: HubSettings,
    tls: Option<ReloadableTls>,
) -> Result<u8, CliError> {
    let store = open_store(args, &settings).await?;
    fault::failpoint("hub.start.opened");
    check_object_storage(settings.objects.as_ref(), store.as_ref()).await?;
    create_first_token(args, store.as_ref()).await?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        CliError::infrastructure(format!("cannot listen on {}: {error}", args.listen))
            .hint("choose another address with --listen")
    })?;
    let at = listener.local_addr().map_err(CliError::infrastructure)?;
    let hosts = allowed_hosts(&args.hosts, at);
    settings.hosts.extend(hosts);
    let default_url = || default_public_url(&settings, args.hosts.first(), args.behind_proxy, at);
    settings.public_url = Some(settings.public_url.clone().unwrap_or_else(default_url));
    let hub = Hub::new(store, settings);
    let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
    let mut hangup = signal(SignalKind::hangup()).map_err(CliError::infrastructure)?;
    let acceptor = tls.as_ref().map(ReloadableTls::acceptor);
    let running = run(&hub, site_router(&hub), listener, acceptor);
    let scheme = if tls.is_some() { "https" } else { "http" };
    match args.log_format {
        LogFormat::Text => {
            outln!("listening on {scheme}://{at}");
        }
        LogFormat::Json => tracing::info!("listening on {scheme}://{at}"),
    }
    if let Some(tls) = &tls {
        warn_of_certificate_problem(tls, &hub.settings().hosts);
    }
    loop {
        tokio::select! {
            _ = terminate.recv() => break,
            _ = interrupt.recv() => break,
            _ = hangup.recv() => reload_certificate(tls.as_ref(), &hub.settings().hosts),
        }
    }
    running.stop().await;
    Ok(exit_code::VERIFIED)
}

/// Reads the certificate again. A hub must not end because its new certificate is unusable.
fn reload_certificate(tls: Option<&ReloadableTls>, hosts: &[String]) {
    let Some(tls) = tls else {
        tracing::info!("SIGHUP ignored: this hub has no certificate to read again");
        return;
    };
    match tls.reload() {
        Ok(()) => {
            tracing::info!("the certificate was read again");
            warn_of_certificate_problem(tls, hosts);
        }
        Err(error) => {
            tracing::error!(%error, "cannot use the new certificate; the previous one stays in use");
        }
    }
}

fn warn_of_certificate_problem(tls: &ReloadableTls, hosts: &[String]) {
    if let Some(problem) = tls.find_problem(hosts) {
        tracing::warn!("{problem}");
    }
}

async fn open_store(
    args: &ServeArgs,
    settings: &HubSettings,
) -> Result<Arc<dyn HubStore>, CliError> {
    let store_settings = StoreSettings {
        rules: settings.rules(),
    };
    let from_file = args.database_url_file.as_deref().map(read_database_url);
    let database = from_file.transpose()?.or_else(|| args.database.clone());
    let scheme = database.as_deref().and_then(|it| it.split_once("://"));
    match (scheme, &database) {
        (Some((scheme, _)), Some(url)) if is_postgres(scheme) => {
            let environment = environment();
            let password = environment
                .iter()
                .find(|(name, _)| name == PASSWORD_VARIABLE);
            let password = password.map(|(_, value)| value.as_str());
            let store = PostgresHub::open(url, password, store_settings).await;
            Ok(Arc::new(store.map_err(|error| database_error(&error))?))
        }
        // Only for a URL from a file: the one of --database is checked with the other options.
        (Some((scheme, _)), _) => Err(unsupported_database(scheme)),
        (None, Some(path)) => open_sqlite(&PathBuf::from(path), store_settings),
        (None, None) => open_sqlite(
            &StateDir::from_environment(&environment())?
                .root()
                .join("hub/hub.db"),
            store_settings,
        ),
    }
}

/// Reads the database URL from a file, such as a mounted secret.
fn read_database_url(path: &Path) -> Result<String, CliError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| CliError::usage(format!("cannot read {}: {error}", path.display())))?;
    let url = text.trim();
    if url.is_empty() || url.contains(char::is_whitespace) {
        return Err(CliError::usage(format!(
            "{}: must contain the database URL and nothing else",
            path.display()
        )));
    }
    Ok(url.to_owned())
}

fn open_sqlite(path: &Path, store_settings: StoreSettings) -> Result<Arc<dyn HubStore>, CliError> {
    let store = SqliteHub::open(path, store_settings).map_err(|error| {
        let cli_error = CliError::infrastructure(format!("cannot use {}: {error}", path.display()));
        match error {
            HubStoreError::InUse(_) => cli_error
                .hint("only one hub at a time can use an SQLite file; stop the other one first"),
            _ => cli_error.hint("choose another file with --database"),
        }
    })?;
    Ok(Arc::new(store))
}

/// Describes why a database server cannot be used, with a hint.
fn database_error(error: &HubStoreError) -> CliError {
    let message = format!("--database: {error}");
    match error {
        HubStoreError::Address(_) => CliError::usage(message)
            .hint("use postgres://USER@HOST:PORT/DATABASE; the password may be in PGPASSWORD"),
        HubStoreError::Refused(_) => CliError::infrastructure(message).hint(
            "the hub's user must own the database: \
             CREATE ROLE selvedge LOGIN PASSWORD '…'; CREATE DATABASE selvedge OWNER selvedge",
        ),
        HubStoreError::Newer { .. } => CliError::infrastructure(message),
        _ => CliError::infrastructure(message)
            .hint("check that the server is running and accepts connections from this machine"),
    }
}

/// Creates an administrator token on the first start, and shows it once.
async fn create_first_token(args: &ServeArgs, store: &dyn HubStore) -> Result<(), CliError> {
    let existing = store
        .list_tokens()
        .await
        .map_err(CliError::infrastructure)?;
    if !existing.is_empty() {
        warn_of_lost_token(args.admin_token_file.as_deref());
        return Ok(());
    }
    let scopes = [Scope::Admin];
    let mut new_token = generate_token("first administrator", DEFAULT_PROJECT, &scopes, None)
        .map_err(CliError::no_random_numbers)?;
    new_token.identity.created_by = AuditActor::on_database("first start of the hub");
    // Created first: a token that cannot be written must not be created.
    let token_file = args.admin_token_file.as_deref().map(NewTokenFile::create);
    let token_file = token_file.transpose()?;
    // Another hub on the database may have been faster.
    let first = store.insert_first_token(new_token.identity).await;
    if first.map_err(CliError::infrastructure)?.is_none() {
        return Ok(());
    }
    print_secret(&new_token.secret, token_file)
}

/// Warns of an empty token file: the hub was killed after it had created the token, and before it had written it.
fn warn_of_lost_token(token_file: Option<&Path>) {
    let Some(path) = token_file else { return };
    let is_empty = |metadata: std::fs::Metadata| metadata.is_file() && metadata.len() == 0;
    if path.symlink_metadata().is_ok_and(is_empty) {
        tracing::warn!(
            "{} is empty: the first start of the hub was interrupted. If no administrator has a token, stop the \
             hub and create one: selvedge hub recover-admin --out {} (before `recover-admin`, the hub's --config or --database)",
            path.display(),
            path.display()
        );
    }
}

/// Writes the secret of an administrator's token to a file, or prints it.
pub(super) fn print_secret(
    secret: &str,
    token_file: Option<NewTokenFile<'_>>,
) -> Result<(), CliError> {
    if let Some(token_file) = token_file {
        let path = token_file.path();
        match token_file.write(secret) {
            Ok(()) => {
                let message = format!("wrote the administrator token to {}", path.display());
                print_notice(&message);
                return Ok(());
            }
            Err(error) => print_notice(&format!("cannot write {}: {error}", path.display())),
        }
    }
    print_notice("administrator token, shown only once:");
    if !print_output(format_args!("{secret}\n")) {
        return Err(CliError::infrastructure(
            "the administrator token could not be printed and is lost",
        )
        .hint("create another one: selvedge hub recover-admin --out FILE (before `recover-admin`, the hub's --config or --database)"));
    }
    Ok(())
}

fn hub_settings(args: &ServeArgs) -> Result<HubSettings, CliError> {
    let mut defaults = TaskDefaults {
        max_verification_retries: args.default_max_verification_retries,
        verification_tier: args.default_tier,
        ..TaskDefaults::default()
    };
    if let Some(usd) = args.default_max_cost {
        let cost = MicroUsd::from_usd(usd)
            .ok_or_else(|| CliError::usage(format!("--default-max-cost: invalid amount {usd}")))?;
        defaults.budget = Some(Budget {
            cost_micro_usd: Some(cost),
            ..Budget::default()
        });
    }
    if !args.agents.is_empty() {
        defaults.agents.clone_from(&args.agents);
    }
    if !args.checks.is_empty() {
        let kinds = args
            .checks
            .iter()
            .map(|name| parse_check_kind(name, &TaskDefaults::default().checks));
        defaults.checks = kinds.collect::<Result<_, _>>()?;
    }
    let scheme = args.database.as_deref().and_then(|it| it.split_once("://"));
    if let Some((scheme, _)) = scheme.filter(|(scheme, _)| !is_postgres(scheme)) {
        return Err(unsupported_database(scheme));
    }
    let public_url = args
        .public_url
        .as_deref()
        .map(parse_public_url)
        .transpose()?;
    let https = args.tls_cert.is_some() || args.behind_proxy;
    let hours = |count: u64| Duration::from_secs(count.saturating_mul(3_600));
    let days = |count: u64| hours(count.saturating_mul(24));
    Ok(HubSettings {
        name: args.name.clone(),
        timing: LeaseTiming::of_ttl(Duration::from_millis(args.lease_ttl)),
        defaults,
        https,
        hosts: public_url
            .iter()
            .filter_map(|url| host_of(url))
            .map(str::to_owned)
            .collect(),
        oidc: sign_in_settings(&args.oidc, public_url.as_deref(), https)?,
        public_url,
        webhooks_allow_private: args.webhooks_allow_private,
        webhook_retry: Duration::from_millis(args.webhook_retry),
        retention: days(args.retention_days),
        audit_retention: days(args.audit_retention_days),
        session_idle_timeout: hours(args.session_idle_hours),
        session_lifetime: hours(args.session_hours),
        forbid_self_review: args.forbid_self_review,
        infra_backoff: Duration::from_secs(args.infra_backoff),
        infra_retries: args.infra_retries,
        quarantine: QuarantineRules {
            pause: Duration::from_secs(args.infra_backoff),
            ..QuarantineRules::default()
        },
        ..HubSettings::default()
    })
}

fn is_postgres(scheme: &str) -> bool {
    matches!(scheme, "postgres" | "postgresql")
}

/// The error names only the scheme: the rest of the URL may contain a password.
fn unsupported_database(scheme: &str) -> CliError {
    CliError::usage(format!("--database: unsupported scheme `{scheme}://`"))
        .hint("use a file for SQLite, or postgres://USER@HOST/DATABASE")
}

/// The URL without a slash at its end.
fn parse_public_url(text: &str) -> Result<String, CliError> {
    let url = Url::parse(text).ok().filter(|url| {
        matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    let url = url.ok_or_else(|| {
        CliError::usage(format!("--public-url: invalid URL `{text}`"))
            .hint("use the URL by which users reach the hub, such as https://hub.example")
    })?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

/// The host name of a URL, with the port unless it is the scheme's.
fn host_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split('/').next()
}

/// The URL by which users probably reach the hub: by its first host name, or else its address.
fn default_public_url(
    settings: &HubSettings,
    host: Option<&String>,
    is_behind_proxy: bool,
    at: SocketAddr,
) -> String {
    let scheme = if settings.https { "https" } else { "http" };
    match host {
        Some(host) if is_behind_proxy => format!("{scheme}://{host}"),
        Some(host) => format!("{scheme}://{host}:{}", at.port()),
        None if at.ip().is_unspecified() => format!("{scheme}://localhost:{}", at.port()),
        None => format!("{scheme}://{at}"),
    }
}

fn parse_check_kind(name: &str, kinds: &[StepKind]) -> Result<StepKind, CliError> {
    let found = kinds.iter().find(|kind| kind.as_str() == name).copied();
    found.ok_or_else(|| {
        let error = CliError::usage(format!("--checks: unknown check type `{name}`"));
        match nearest(name, kinds.iter().map(|kind| kind.as_str())) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// The host names that the hub accepts: the given ones with and without the port, its address unless that is
/// unspecified, and the loopback names unless it listens on another address.
fn allowed_hosts(given: &[String], at: SocketAddr) -> Vec<String> {
    let port = at.port();
    let mut hosts: Vec<String> = given
        .iter()
        .flat_map(|name| [name.clone(), format!("{name}:{port}")])
        .collect();
    if !at.ip().is_unspecified() {
        hosts.push(at.to_string());
    }
    if at.ip().is_loopback() || at.ip().is_unspecified() {
        hosts.extend(["localhost", "127.0.0.1", "[::1]"].map(|name| format!("{name}:{port}")));
    }
    hosts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn public_url_follows_from_host_and_address() {
        let url = |https, host: Option<&str>, is_behind_proxy, at: &str| {
            let settings = HubSettings {
                https,
                ..HubSettings::default()
            };
            let host = host.map(str::to_owned);
            default_public_url(
                &settings,
                host.as_ref(),
                is_behind_proxy,
                at.parse().unwrap(),
            )
        };
        for (found, expected) in [
            (
                url(false, None, false, "127.0.0.1:7700"),
                "http://127.0.0.1:7700",
            ),
            (
                url(true, None, false, "[::]:7700"),
                "https://localhost:7700",
            ),
            (
                url(true, None, true, "0.0.0.0:7700"),
                "https://localhost:7700",
            ),
            (
                url(true, Some("hub.example"), true, "0.0.0.0:7700"),
                "https://hub.example",
            ),
            (
                url(true, Some("hub.example"), false, "0.0.0.0:1"),
                "https://hub.example:1",
            ),
        ] {
            assert_eq!(found, expected);
        }
        for (given, expected) in [
            ("https://hub.example/", Some("https://hub.example")),
            ("http://hub.example:8080", Some("http://hub.example:8080")),
            ("hub.example", None),
            ("ftp://hub.example", None),
            ("https://user@hub.example", None),
            ("https://hub.example/?a=b", None),
        ] {
            assert_eq!(parse_public_url(given).ok().as_deref(), expected, "{given}");
        }
        assert_eq!(host_of("https://hub.example"), Some("hub.example"));
        assert_eq!(host_of("http://[::1]:80/hub"), Some("[::1]:80"));
    }

    #[test]
    fn hub_host_names_must_match_exactly() {
        let local = allowed_hosts(&[], "127.0.0.1:7700".parse().unwrap());
        assert!(local.contains(&"127.0.0.1:7700".to_owned()));
        assert!(local.contains(&"localhost:7700".to_owned()));
        let remote = allowed_hosts(
            &["hub.example".to_owned()],
            "10.0.0.5:7700".parse().unwrap(),
        );
        assert_eq!(remote, ["hub.example", "hub.example:7700", "10.0.0.5:7700"]);
    }
}
