//! The address of the database (`postgres://…`), and whether the connection is encrypted.
//!
//! Invariant: no displayed text contains a password.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use crate::hub::error::HubStoreError;

/// Connection timeout for one address.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A database and how to connect to it.
#[derive(Clone)]
pub(super) struct DatabaseAddress {
    pub(super) config: Config,
    /// Root certificates that replace the system's.
    pub(super) roots: Option<PathBuf>,
}

impl DatabaseAddress {
    pub(super) fn parse(url: &str, password: Option<&str>) -> Result<Self, HubStoreError> {
        let (rest, query) = url.split_once('?').unwrap_or((url, ""));
        let mut kept = Vec::new();
        let (mut mode, mut roots) = (None, None);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("sslmode", word)) => mode = Some(word),
                Some(("sslrootcert", path)) => {
                    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
                    roots = Some(PathBuf::from(path));
                }
                _ => kept.push(pair),
            }
        }
        let url = format!("{rest}?{}", kept.join("&"));
        let parsed = url.parse::<Config>();
        let mut config = parsed.map_err(|error| HubStoreError::Address(error_chain(&error)))?;
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(HubStoreError::Address("the host is missing".to_owned()));
        }
        if config.get_user().is_none() {
            return Err(HubStoreError::Address("the user is missing".to_owned()));
        }
        if let (None, Some(password)) = (config.get_password(), password) {
            config.password(password);
        }
        config.ssl_mode(ssl_mode(mode, &config)?);
        config.application_name("selvedge hub");
        if config.get_connect_timeout().is_none() {
            config.connect_timeout(CONNECT_TIMEOUT);
        }
        Ok(Self { config, roots })
    }

    /// User, host and database name, for messages.
    pub(super) fn describe(&self) -> String {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => self
                .config
                .get_hostaddrs()
                .first()
                .map_or_else(String::new, ToString::to_string),
        };
        let port = self.config.get_ports().first().copied().unwrap_or(5432);
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        format!("{user}@{host}:{port}/{database}")
    }
}

/// By default, connections within this machine are unencrypted and all others are encrypted.
fn ssl_mode(word: Option<&str>, config: &Config) -> Result<SslMode, HubStoreError> {
    match word {
        None if config.get_hosts().iter().all(is_local) => Ok(SslMode::Disable),
        Some("disable") => Ok(SslMode::Disable),
        Some("prefer") => Ok(SslMode::Prefer),
        // An encrypted connection always verifies the certificate's roots and the host name.
        None | Some("require" | "verify-ca" | "verify-full") => Ok(SslMode::Require),
        Some(other) => Err(HubStoreError::Address(format!(
            "sslmode must be `disable`, `prefer`, `require` or `verify-full`, not `{other}`"
        ))),
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|at: IpAddr| at.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// An error with its causes, without repetitions.
pub(super) fn error_chain(error: &dyn std::error::Error) -> String {
    let mut chain = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        if !chain.contains(&cause_text) {
            chain = format!("{chain}: {cause_text}");
        }
        next = cause.source();
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_display_hides_password() {
        let url = "postgres://me:s3cret@db.example:5433/hub?sslrootcert=%2Fetc%2Froots.pem";
        let address = DatabaseAddress::parse(url, None).unwrap();
        assert_eq!(address.describe(), "me@db.example:5433/hub");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(address.roots, Some(PathBuf::from("/etc/roots.pem")));
        let broken = "postgres://me:s3cret@db.example:port/hub";
        let Err(error) = DatabaseAddress::parse(broken, None) else {
            panic!("a port that is no number")
        };
        assert!(!error.to_string().contains("s3cret"), "{error}");
    }

    #[test]
    fn address_local_needs_no_encryption() {
        for (url, mode) in [
            ("postgres://me@%2Frun%2Fpostgresql/hub", SslMode::Disable),
            ("postgres://me@127.0.0.1/hub", SslMode::Disable),
            (
                "postgres://me@localhost/hub?sslmode=verify-full",
                SslMode::Require,
            ),
            (
                "postgres://me@db.example/hub?sslmode=disable",
                SslMode::Disable,
            ),
        ] {
            let address = DatabaseAddress::parse(url, None).unwrap();
            assert_eq!(address.config.get_ssl_mode(), mode, "{url}");
        }
        for url in [
            "postgres:///hub",
            "postgres://db.example/hub",
            "postgres://me@h/hub?sslmode=some",
        ] {
            assert!(DatabaseAddress::parse(url, None).is_err(), "{url}");
        }
    }
}
