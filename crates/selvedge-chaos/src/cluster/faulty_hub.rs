//! A hub whose store has a mutant. It runs in place of `selvedge hub`, so that the program itself contains
//! no mutant.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use selvedge_hub::{Hub, HubSettings, app, generate_token, run};
use selvedge_protocol::{LeaseTiming, Scope};
use selvedge_store::hub::TokenStore;
use tokio::net::TcpListener;

use super::ChaosError;
use super::faulty_store::FaultyStore;
use crate::mutant::Mutant;

/// Runs a hub on SQLite until it is killed. The options are some of those of `selvedge hub`, and
/// `--mutant NAME`; each has a value.
pub async fn run_faulty_hub(args: &[String]) -> Result<(), ChaosError> {
    let values = |name: &str| -> Vec<String> {
        let pairs = args.chunks_exact(2).filter(|pair| pair[0] == name);
        pairs.map(|pair| pair[1].clone()).collect()
    };
    let value = |name: &str| {
        let last = values(name).pop();
        last.ok_or_else(|| format!("{name} is missing"))
    };
    let mutant = Mutant::find(&value("--mutant")?).ok_or("unknown mutant")?;
    let ttl = Duration::from_millis(value("--lease-ttl")?.parse()?);
    let listener = TcpListener::bind(value("--listen")?).await?;
    let at = listener.local_addr()?.to_string();
    let mut settings = HubSettings {
        timing: LeaseTiming::of_ttl(ttl),
        hosts: values("--host"),
        infra_backoff: Duration::from_secs(value("--infra-backoff")?.parse()?),
        ..HubSettings::default()
    };
    settings.hosts.push(at.clone());
    let file = PathBuf::from(value("--database")?);
    let store = FaultyStore::open(file, settings.rules(), mutant)?;
    create_admin_token(&store, Path::new(&value("--admin-token-file")?)).await?;
    let hub = Hub::new(Arc::new(store), settings);
    let _running = run(&hub, app(&hub), listener, None);
    writeln!(std::io::stdout(), "listening on http://{at}")?;
    std::future::pending().await
}

/// Creates an administrator token on the first start.
async fn create_admin_token(store: &FaultyStore, file: &Path) -> Result<(), ChaosError> {
    let token = generate_token("first administrator", "default", &[Scope::Admin], None)
        .map_err(|error| error.to_string())?;
    if store.insert_first_token(token.identity).await?.is_some() {
        std::fs::write(file, token.secret)?;
    }
    Ok(())
}
