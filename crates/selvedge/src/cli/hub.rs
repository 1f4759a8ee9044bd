//! Arguments of the hub.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::hub_objects::ObjectStoreArgs;
use super::hub_oidc::OidcArgs;
use super::run::RETRIES;
use super::server_settings::ServerConfigArgs;
use super::values::{ANY_NUMBER, AT_LEAST_ONE, usd_amount, whole_number};
use crate::logging::LogFormat;

/// `selvedge hub`
#[derive(Debug, Args)]
#[command(after_help = "\
The first start prints an administrator token once. Use it to create other tokens: see \
`docs/reference/hub.md`.

Every option can also be a key of the --config file (`retention_days = 7`, `host = [\"hub.example\"]`) \
or a variable (SELVEDGE_HUB_RETENTION_DAYS=7, SELVEDGE_HUB_HOST=a.example,b.example). Flags replace \
variables, and variables replace the file; --print-config shows the result.

Examples:
  selvedge hub                                              SQLite, on this machine only
  selvedge hub --listen 0.0.0.0:7700 --host hub.example --tls-cert chain.pem --tls-key key.pem
  selvedge hub --listen 10.0.0.5:7700 --host hub.example --behind-proxy
  PGPASSWORD=… selvedge hub --database postgres://selvedge@db.example/selvedge
  selvedge hub --config /etc/selvedge/hub.toml --database-url-file /run/secrets/database-url
  selvedge hub --s3-bucket agents --s3-endpoint https://s3.example --s3-credentials-file s3.keys
  selvedge hub recover-admin --out admin.token              access without an administrator's token

SIGHUP reads the certificate and its key again.")]
pub(crate) struct ServeArgs {
    /// A maintenance command instead of serving.
    #[command(subcommand)]
    pub(crate) command: Option<HubCommand>,
    /// Address to listen on; port 0 selects any free port, which is printed.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7700")]
    pub(crate) listen: std::net::SocketAddr,
    /// SQLite file, or postgres://USER@HOST/DATABASE for several hubs [default: `hub/hub.db` in the state
    /// directory].
    #[arg(long, value_name = "DATABASE", global = true)]
    pub(crate) database: Option<String>,
    /// File with the database URL, which may contain the password. It is read at the start.
    #[arg(long, value_name = "FILE", conflicts_with = "database", value_hint = clap::ValueHint::FilePath)]
    pub(crate) database_url_file: Option<PathBuf>,
    /// Host name that clients may use, in addition to the address. Repeatable.
    #[arg(long = "host", value_name = "NAME")]
    pub(crate) hosts: Vec<String>,
    /// URL by which users reach the hub, for links in webhook messages and the sign-in with --oidc-issuer [default: the
    /// first --host, or the address].
    #[arg(long, value_name = "URL", value_hint = clap::ValueHint::Url)]
    pub(crate) public_url: Option<String>,
    /// Certificate chain, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert", value_hint = clap::ValueHint::FilePath)]
    pub(crate) tls_key: Option<PathBuf>,
    /// Serve plain HTTP to other machines, behind a proxy that terminates TLS.
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) behind_proxy: bool,
    /// Write the first administrator token to this file instead of printing it. An existing file is not overwritten.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) admin_token_file: Option<PathBuf>,
    /// Name of the hub, shown to workers.
    #[arg(long, value_name = "NAME", default_value = "hub")]
    pub(crate) name: String,
    /// Retries of tasks that do not set a number, 0 to 5.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole_number::<u32>(RETRIES, 2))]
    pub(crate) default_max_verification_retries: u32,
    /// Verification tier of tasks that do not set one, 1 to 3.
    #[arg(long, value_name = "TIER", value_parser = whole_number::<u8>(1..=3, 2))]
    pub(crate) default_tier: Option<u8>,
    /// Maximum cost of a task; tasks may only set a lower one.
    #[arg(long, value_name = "USD", value_parser = usd_amount)]
    pub(crate) default_max_cost: Option<f64>,
    /// Agents that tasks may request [default: all built-in agents].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) agents: Vec<String>,
    /// Types of checks that tasks may contain [default: all].
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) checks: Vec<String>,
    /// How long journals, files and blobs of ended tasks are kept.
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = whole_number::<u64>(ANY_NUMBER, 30))]
    pub(crate) retention_days: u64,
    /// How long entries of the audit log are kept; at least 30 days.
    #[arg(long, value_name = "DAYS", default_value_t = 730, value_parser = whole_number::<u64>(30..=u64::MAX, 730))]
    pub(crate) audit_retention_days: u64,
    /// How long a session of the dashboard lasts without use.
    #[arg(long, value_name = "HOURS", default_value_t = 12, value_parser = whole_number::<u64>(AT_LEAST_ONE, 12))]
    pub(crate) session_idle_hours: u64,
    /// How long a session of the dashboard lasts at most.
    #[arg(long, value_name = "HOURS", default_value_t = 168, value_parser = whole_number::<u64>(AT_LEAST_ONE, 168))]
    pub(crate) session_hours: u64,
    /// Sign-in of people.
    #[command(flatten)]
    pub(crate) oidc: OidcArgs,
    /// Files in an object store.
    #[command(flatten)]
    pub(crate) objects: ObjectStoreArgs,
    /// Refuse reviews of a task by its own submitter.
    #[arg(long)]
    pub(crate) forbid_self_review: bool,
    /// Let webhooks send requests to private addresses, and without encryption.
    #[arg(long)]
    pub(crate) webhooks_allow_private: bool,
    /// Pause after the first failed try of a webhook, in milliseconds; the next ones are longer.
    #[arg(long, value_name = "MS", default_value_t = 5_000, hide = true, value_parser = whole_number::<u64>(AT_LEAST_ONE, 5_000))]
    pub(crate) webhook_retry: u64,
    /// Delay after the first infrastructure failure of a task, and first quarantine of a worker that fails again and
    /// again, in seconds; doubled with each further one.
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = whole_number::<u64>(0..=86_400, 60))]
    pub(crate) infra_backoff: u64,
    /// How often a task is assigned again after infrastructure failures and lost leases, 0 to 20.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole_number::<u32>(0..=20, 4))]
    pub(crate) infra_retries: u32,
    /// Duration of leases, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 30_000, hide = true, value_parser = whole_number::<u64>(100..=u64::MAX, 30_000))]
    pub(crate) lease_ttl: u64,
    /// Format of the log on standard error. SELVEDGE_LOG sets its levels: `debug`, or `info,selvedge_hub=debug`.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) log_format: LogFormat,
    /// The option that selects the file of options, and the one that shows the origins.
    #[command(flatten)]
    pub(crate) config: ServerConfigArgs,
}

/// Commands of `selvedge hub`.
#[derive(Debug, Subcommand)]
pub(crate) enum HubCommand {
    /// Create an administrator's token directly in the database.
    ///
    /// For a hub whose administrators have all lost their tokens. Access to the database is required. The new
    /// token is valid for 24 hours, and its creation is in the audit log. Stop a hub with an SQLite file first.
    RecoverAdmin {
        /// Write the token to this new file, readable only by you, instead of printing it.
        #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
        out: Option<PathBuf>,
    },
}
