//! `selvedge hub`: opens the store, creates the first token, and serves until it is stopped.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use selvedge_core::config::nearest;
use selvedge_core::model::{Budget, MicroUsd, StepKind, exit_code};
use selvedge_core::protocol::{LeaseTiming, Scope};
use selvedge_hub::{Hub, HubSettings, TaskDefaults, acceptor, app, dashboard, generate_token, run};
use selvedge_store::fault;
use selvedge_store::hub::{HubStore, HubStoreError, PostgresHub, SqliteHub, StoreSettings};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use super::run_checks::build_runtime;
use super::{environment, print_notice};
use crate::cli::ServeArgs;
use crate::error::CliError;
use crate::local::StateDir;
use crate::secrets::{self, RedactingWriter};
use crate::streams::print_output;

/// The tenant that owns everything as long as there are no others.
const DEFAULT_TENANT: &str = "default";
/// The variable that may hold the password of the database server, as for other PostgreSQL clients.
const PASSWORD_VARIABLE: &str = "PGPASSWORD";
/// Log level of the hub on standard error.
const LOG_LEVEL: tracing::Level = tracing::Level::INFO;

pub(super) fn run_hub(args: &ServeArgs) -> Result<u8, CliError> {
    let settings = hub_settings(args)?;
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(chain), Some(key)) => Some(acceptor(chain, key).map_err(CliError::usage)?),
        _ => None,
    };
    if tls.is_none() && !args.listen.ip().is_loopback() && !args.behind_proxy {
        return Err(CliError::usage(format!(
            "tokens would travel in the clear to {}",
            args.listen
        ))
        .hint("give --tls-cert and --tls-key, or --behind-proxy where a proxy in front does TLS"));
    }
    let redactor = secrets::host_redactor();
    tracing_subscriber::fmt()
        .with_writer(move || RedactingWriter::new(std::io::stderr(), redactor.clone()))
        .with_max_level(LOG_LEVEL)
        .with_target(false)
        // Lines that cannot be written are lost; there is nowhere to report that.
        .log_internal_errors(false)
        .init();
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
        CliError::infrastructure(format!("cannot listen at {}: {error}", args.listen))
            .hint("--listen says where")
    })?;
    let at = listener.local_addr().map_err(CliError::infrastructure)?;
    settings.hosts = allowed_hosts(&args.hosts, at);
    let hub = Hub::new(store, settings);
    let scheme = if tls.is_some() { "https" } else { "http" };
    let running = run(&hub, app(&hub).merge(dashboard(&hub)), listener, tls);
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
    let kept = StoreSettings {
        rules: settings.rules(),
    };
    let scheme = args.database.as_deref().and_then(|it| it.split_once("://"));
    match (scheme, &args.database) {
        (Some(("postgres" | "postgresql", _)), Some(url)) => {
            let environment = environment();
            let password = environment
                .iter()
                .find(|(name, _)| name == PASSWORD_VARIABLE);
            let password = password.map(|(_, value)| value.as_str());
            let store = PostgresHub::open(url, password, kept).await;
            Ok(Arc::new(store.map_err(|error| database_error(&error))?))
        }
        // The rest of it may contain a password.
        (Some((scheme, _)), _) => Err(CliError::usage(format!(
            "--database: no database is known by `{scheme}://`"
        ))
        .hint("give a file for SQLite, or postgres://USER@HOST/DATABASE")),
        (None, Some(path)) => open_sqlite(&PathBuf::from(path), kept),
        (None, None) => open_sqlite(
            &StateDir::from_environment(&environment())?
                .root()
                .join("hub/hub.db"),
            kept,
        ),
    }
}

fn open_sqlite(path: &Path, kept: StoreSettings) -> Result<Arc<dyn HubStore>, CliError> {
    let store = SqliteHub::open(path, kept).map_err(|error| {
        let told = CliError::infrastructure(format!("cannot use {}: {error}", path.display()));
        match error {
            HubStoreError::InUse(_) => told.hint("one hub at a time uses an SQLite file"),
            _ => told.hint("--database says which file to use"),
        }
    })?;
    Ok(Arc::new(store))
}

/// The error for an unusable database server, with a hint.
fn database_error(error: &HubStoreError) -> CliError {
    let told = format!("--database: {error}");
    match error {
        HubStoreError::Address(_) => CliError::usage(told).hint(
            "an address is postgres://USER@HOST:PORT/DATABASE; the password may be in PGPASSWORD",
        ),
        HubStoreError::Refused(_) => CliError::infrastructure(told).hint(
            "the hub needs a database that belongs to its user: \
             CREATE ROLE selvedge LOGIN PASSWORD '…'; CREATE DATABASE selvedge OWNER selvedge",
        ),
        HubStoreError::Newer { .. } => CliError::infrastructure(told),
        _ => CliError::infrastructure(told)
            .hint("see that the server runs there, and lets this machine in"),
    }
}

/// The first start creates an administrator token, and shows it once.
async fn create_first_token(args: &ServeArgs, store: &dyn HubStore) -> Result<(), CliError> {
    let scopes = [Scope::Admin];
    let minted = generate_token("first administrator", DEFAULT_TENANT, &scopes, None)
        .map_err(|error| CliError::infrastructure(format!("no random numbers: {error}")))?;
    // Opened before the token is created: otherwise nobody could read the token.
    let place = args.admin_token_file.as_deref().map(TokenFile::open);
    let place = place.transpose()?;
    let first = store.insert_first_token(minted.identity).await;
    if first.map_err(CliError::infrastructure)?.is_none() {
        return Ok(());
    }
    if let Some(place) = place {
        let path = place.path;
        match place.write(&minted.secret) {
            Ok(()) => {
                let told = format!("the administrator's token is in {}", path.display());
                print_notice(&told);
                return Ok(());
            }
            Err(error) => print_notice(&format!("cannot write {}: {error}", path.display())),
        }
    }
    print_notice("the administrator's token, shown this once:");
    if !print_output(format_args!("{}\n", minted.secret)) {
        return Err(CliError::infrastructure(
            "the administrator's token could not be shown, so nobody has it",
        )
        .hint("remove the new database, then start with --admin-token-file FILE"));
    }
    Ok(())
}

/// The file for the administrator's token; removed again if it was created but not used.
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
            .ok_or_else(|| CliError::usage(format!("--default-max-cost: {usd} is no amount")))?;
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
            .map(|word| parse_check_kind(word, &TaskDefaults::default().checks));
        defaults.checks = kinds.collect::<Result<_, _>>()?;
    }
    Ok(HubSettings {
        name: args.name.clone(),
        timing: LeaseTiming::of_ttl(Duration::from_millis(args.lease_ttl)),
        defaults,
        https: args.tls_cert.is_some() || args.behind_proxy,
        retention: Duration::from_secs(args.keep_days.saturating_mul(24 * 3_600)),
        ..HubSettings::default()
    })
}

fn parse_check_kind(word: &str, known: &[StepKind]) -> Result<StepKind, CliError> {
    let found = known.iter().find(|kind| kind.as_str() == word).copied();
    found.ok_or_else(|| {
        let error = CliError::usage(format!("--checks: no check is called `{word}`"));
        match nearest(word, known.iter().map(|kind| kind.as_str())) {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// The exact host names that the hub accepts: the given ones, with and without its port, and on this machine its
/// address.
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
    fn a_hub_answers_to_exact_names_only() {
        let here = allowed_hosts(&[], "127.0.0.1:7700".parse().unwrap());
        assert!(here.contains(&"127.0.0.1:7700".to_owned()));
        assert!(here.contains(&"localhost:7700".to_owned()));
        let there = allowed_hosts(
            &["hub.example".to_owned()],
            "10.0.0.5:7700".parse().unwrap(),
        );
        assert_eq!(there, ["hub.example", "hub.example:7700", "10.0.0.5:7700"]);
    }
}
