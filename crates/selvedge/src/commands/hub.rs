//! `selvedge hub`: opens the store, creates the first token, and serves until it receives a signal.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::config::nearest;
use selvedge_core::model::{Budget, MicroUsd, StepKind, exit_code};
use selvedge_hub::{Hub, HubSettings, TaskDefaults, acceptor, generate_token, run, site};
use selvedge_protocol::{LeaseTiming, Scope};
use selvedge_store::fault;
use selvedge_store::hub::{HubStore, HubStoreError, PostgresHub, SqliteHub, StoreSettings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::environment;
use super::run_checks::build_runtime;
use crate::cli::ServeArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::logging;
use crate::output::print_notice;
use crate::streams::print_output;

/// The only tenant for now.
const DEFAULT_TENANT: &str = "default";
/// The variable that may contain the password of the database server, as for other PostgreSQL clients.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";

pub(super) fn run_hub(args: &ServeArgs) -> Result<u8, CliError> {
    if let Some(listing) = args.config.requested_listing() {
        out!("{listing}");
        return Ok(exit_code::VERIFIED);
    }
    let settings = hub_settings(args)?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(acceptor(chain, key).map_err(CliError::usage)?),
        _ => None,
    };
    if tls.is_none() && !args.listen.ip().is_loopback() && !args.behind_proxy {
        return Err(CliError::usage(format!(
            "tokens would be sent unencrypted to {}",
            args.listen
        ))
        .hint("use --tls-cert and --tls-key, or --behind-proxy if a proxy terminates TLS"));
    }
    logging::start(args.log_format)?;
    build_runtime()?.block_on(serve(args, settings, tls))
}

async fn serve(
    args: &ServeArgs,
    mut settings: HubSettings,
    tls: Option<tokio_rustls::TlsAcceptor>,
) -> Result<u8, CliError> {
    let store = open_store(args, &settings).await?;
    fault::failpoint("hub.start.opened");
    create_first_token(args, store.as_ref()).await?;
    let listener = TcpListener::bind(args.listen).await.map_err(|error| {
        CliError::infrastructure(format!("cannot listen on {}: {error}", args.listen))
            .hint("choose another address with --listen")
    })?;
    let at = listener.local_addr().map_err(CliError::infrastructure)?;
    settings.hosts = allowed_hosts(&args.hosts, at);
    let hub = Hub::new(store, settings);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let running = run(&hub, site(&hub), listener, tls);
    outln!("listening on {scheme}://{at}");
    let mut terminate = signal(SignalKind::terminate()).map_err(CliError::infrastructure)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(CliError::infrastructure)?;
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    running.stop().await;
    Ok(exit_code::VERIFIED)
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
        (Some(("postgres" | "postgresql", _)), Some(url)) => {
            let environment = environment();
            let password = environment
                .iter()
                .find(|(name, _)| name == PASSWORD_VARIABLE);
            let password = password.map(|(_, value)| value.as_str());
            let store = PostgresHub::open(url, password, store_settings).await;
            Ok(Arc::new(store.map_err(|error| database_error(&error))?))
        }
        // The rest of the URL may contain a password.
        (Some((scheme, _)), _) => Err(CliError::usage(format!(
            "--database: unsupported scheme `{scheme}://`"
        ))
        .hint("use a file for SQLite, or postgres://USER@HOST/DATABASE")),
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
            HubStoreError::InUse(_) => {
                cli_error.hint("only one hub at a time can use an SQLite file")
            }
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
    let scopes = [Scope::Admin];
    let new_token =
        generate_token("first administrator", DEFAULT_TENANT, &scopes, None).map_err(|error| {
            CliError::infrastructure(format!(
                "cannot get random numbers from the system: {error}"
            ))
        })?;
    // Opened first: a token that cannot be written must not be created.
    let token_file = args.admin_token_file.as_deref().map(TokenFile::open);
    let token_file = token_file.transpose()?;
    let first = store.insert_first_token(new_token.identity).await;
    if first.map_err(CliError::infrastructure)?.is_none() {
        return Ok(());
    }
    if let Some(token_file) = token_file {
        let path = token_file.path;
        match token_file.write(&new_token.secret) {
            Ok(()) => {
                let message = format!("wrote the administrator token to {}", path.display());
                print_notice(&message);
                return Ok(());
            }
            Err(error) => print_notice(&format!("cannot write {}: {error}", path.display())),
        }
    }
    print_notice("administrator token, shown only once:");
    if !print_output(format_args!("{}\n", new_token.secret)) {
        return Err(CliError::infrastructure(
            "the administrator token could not be printed and is lost",
        )
        .hint("delete the new database, then start the hub with --admin-token-file FILE"));
    }
    Ok(())
}

/// The file for the administrator's token; removed on drop if it was created but not written.
struct TokenFile<'a> {
    path: &'a Path,
    file: File,
    is_new: bool,
}

impl<'a> TokenFile<'a> {
    fn open(path: &'a Path) -> Result<Self, CliError> {
        let is_new = !path.exists();
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).map_err(|error| {
            CliError::infrastructure(format!("cannot write {}: {error}", path.display()))
        })?;
        Ok(Self { path, file, is_new })
    }

    fn write(mut self, secret: &str) -> std::io::Result<()> {
        self.file.set_len(0)?;
        writeln!(self.file, "{secret}")?;
        self.file.sync_all()?;
        self.is_new = false;
        Ok(())
    }
}

impl Drop for TokenFile<'_> {
    fn drop(&mut self) {
        if self.is_new {
            let _ = std::fs::remove_file(self.path);
        }
    }
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
    Ok(HubSettings {
        name: args.name.clone(),
        timing: LeaseTiming::of_ttl(Duration::from_millis(args.lease_ttl)),
        defaults,
        https: args.tls_cert.is_some() || args.behind_proxy,
        retention: Duration::from_secs(args.retention_days.saturating_mul(24 * 3_600)),
        ..HubSettings::default()
    })
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
