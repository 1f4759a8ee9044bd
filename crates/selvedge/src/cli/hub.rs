//! What a hub can be told at its start.

use std::path::PathBuf;

use clap::Args;

/// `selvedge hub`
#[derive(Debug, Args)]
#[command(after_help = "\
The first start prints a token for an administrator, once. It can make others: see `docs/hub.md`.

Examples:
  selvedge hub                                              SQLite, on this machine only
  selvedge hub --listen 0.0.0.0:7700 --host hub.example --tls-cert chain.pem --tls-key key.pem
  selvedge hub --listen 10.0.0.5:7700 --host hub.example --behind-proxy
  PGPASSWORD=… selvedge hub --database postgres://selvedge@db.example/selvedge")]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free, and says which.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7700")]
    pub(crate) listen: std::net::SocketAddr,
    /// An SQLite file, or postgres://USER@HOST/DATABASE for several hubs [default: `hub/hub.db` in the
    /// state directory].
    #[arg(long, value_name = "DATABASE")]
    pub(crate) database: Option<String>,
    /// A name that clients may ask for it by, besides the address; may be given several times.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// The chain of certificates, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Their private key, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Speak plain HTTP beyond this machine: a proxy in front does TLS.
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) behind_proxy: bool,
    /// Write the first administrator's token to this file instead of printing it.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// What the hub calls itself to workers.
    #[arg(long, value_name = "NAME", default_value = "hub")]
    pub(crate) name: String,
    /// Attempts beyond the first of a task that says nothing of them.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=5))]
    pub(crate) default_max_verification_retries: u32,
    /// The tier of verification of a task that says nothing of it.
    #[arg(long, value_name = "TIER", value_parser = clap::value_parser!(u8).range(1..=3))]
    pub(crate) default_tier: Option<u8>,
    /// What a task that says nothing of it may cost.
    #[arg(long, value_name = "USD")]
    pub(crate) default_max_cost: Option<f64>,
    /// Agents that a task may name [default: all that are built in].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Kinds of checks that a task may bring [default: all].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) checks: Vec<String>,
    /// How long journals, files and blobs of tasks stay that are over.
    #[arg(long, value_name = "DAYS", default_value_t = 30)]
    pub(crate) keep_days: u64,
    /// How long leases last, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000, hide = true, value_parser = clap::value_parser!(u64).range(100..))]
    pub(crate) lease_ttl: u64,
}
