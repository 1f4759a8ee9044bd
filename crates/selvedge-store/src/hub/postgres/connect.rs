//! Creates and sets up connections to the database, and classifies their errors.

use std::sync::Arc;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Pool, RecyclingMethod};
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{DatabaseAddress, error_chain};
use crate::hub::error::HubStoreError;

/// Setup of every connection. Commits are answered only when they are on disk, whatever the server's
/// configuration; and every wait has a timeout.
const SESSION_SETUP: &str = "
    SELECT set_config('synchronous_commit', 'on', false)
        WHERE current_setting('synchronous_commit') IN ('off', 'local');
    SET jit = off;
    SET lock_timeout = '10s';
    SET statement_timeout = '60s';
    SET idle_in_transaction_session_timeout = '60s'";

/// How the statements of a connection are planned.
#[derive(Clone, Copy)]
pub(super) enum PlanMode {
    /// Each time, for rare statements: a plan that was made while a table was empty would scan all of it later.
    Custom,
    /// Once, for frequent statements that find all rows by keys: planning takes longer than executing them.
    ByKey,
}

impl PlanMode {
    pub(super) const fn setup(self) -> &'static str {
        match self {
            Self::Custom => "SET plan_cache_mode = force_custom_plan",
            Self::ByKey => {
                "SET plan_cache_mode = force_generic_plan;
                 SET enable_seqscan = off;
                 SET enable_bitmapscan = off;
                 SET enable_hashjoin = off;
                 SET enable_mergejoin = off"
            }
        }
    }
}

/// Creates connections.
#[derive(Clone)]
pub(super) struct Connector {
    address: DatabaseAddress,
    tls: Option<MakeRustlsConnect>,
}

impl Connector {
    pub(super) fn new(address: DatabaseAddress) -> Result<Self, HubStoreError> {
        let tls = match address.config.get_ssl_mode() {
            SslMode::Disable => None,
            _ => Some(MakeRustlsConnect::new(client_config(&address)?)),
        };
        Ok(Self { address, tls })
    }

    pub(super) fn describe(&self) -> String {
        self.address.describe()
    }

    /// Opens a new connection and sets it up.
    pub(super) async fn client(&self) -> Result<Client, Error> {
        self.listening_client(|_| {}).await
    }

    /// Opens a connection that calls `heard` with the process id of each notification's sender.
    pub(super) async fn listening_client(
        &self,
        on_notification: impl Fn(i32) + Send + 'static,
    ) -> Result<Client, Error> {
        let config = &self.address.config;
        let client = match &self.tls {
            None => {
                let (client, connection) = config.connect(NoTls).await?;
                tokio::spawn(drive(connection, on_notification));
                client
            }
            Some(tls) => {
                let (client, connection) = config.connect(tls.clone()).await?;
                tokio::spawn(drive(connection, on_notification));
                client
            }
        };
        client.batch_execute(SESSION_SETUP).await?;
        Ok(client)
    }

    /// A pool of at most `size` connections.
    pub(super) fn pool(&self, size: usize, plans: PlanMode) -> Result<Pool, HubStoreError> {
        let method = ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        };
        let config = self.address.config.clone();
        let manager = match &self.tls {
            None => Manager::from_config(config, NoTls, method),
            Some(tls) => Manager::from_config(config, tls.clone(), method),
        };
        let set_up = Hook::async_fn(move |client, _| {
            Box::pin(async move {
                let done = client
                    .batch_execute(&format!("{SESSION_SETUP};{}", plans.setup()))
                    .await;
                done.map_err(HookError::Backend)
            })
        });
        Pool::builder(manager)
            .max_size(size)
            .post_create(set_up)
            .build()
            .map_err(|error| HubStoreError::Unavailable(error_chain(&error)))
    }
}

/// Drives a connection until it ends.
async fn drive<S, T>(mut connection: Connection<S, T>, on_notification: impl Fn(i32) + Send)
where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    // A user of the connection notices its end by the failure of its own request.
    while let Some(Ok(message)) =
        std::future::poll_fn(|context| connection.poll_message(context)).await
    {
        if let AsyncMessage::Notification(notification) = message {
            on_notification(notification.process_id());
        }
    }
}

fn client_config(address: &DatabaseAddress) -> Result<ClientConfig, HubStoreError> {
    let mut roots = RootCertStore::empty();
    if let Some(path) = &address.roots {
        let invalid = |reason: String| {
            HubStoreError::Address(format!("sslrootcert {}: {reason}", path.display()))
        };
        let found =
            CertificateDer::pem_file_iter(path).map_err(|error| invalid(error.to_string()))?;
        for certificate in found {
            let certificate = certificate.map_err(|error| invalid(error.to_string()))?;
            roots
                .add(certificate)
                .map_err(|error| invalid(error.to_string()))?;
        }
    } else {
        // Unreadable certificates are skipped and therefore not trusted.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| HubStoreError::Unavailable(error.to_string()))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// Whether the connection is lost, and perhaps the server: a new connection may show the result.
pub(super) fn is_lost(error: &Error) -> bool {
    match error.code() {
        Some(code) => [
            SqlState::ADMIN_SHUTDOWN,
            SqlState::CRASH_SHUTDOWN,
            SqlState::CANNOT_CONNECT_NOW,
            SqlState::TOO_MANY_CONNECTIONS,
        ]
        .contains(code),
        None => error.is_closed() || has_io_error(error),
    }
}

fn has_io_error(error: &Error) -> bool {
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        if cause.is::<std::io::Error>() {
            return true;
        }
        next = cause.source();
    }
    false
}

/// Whether the same transaction may succeed when it is retried.
pub(super) fn is_transient(error: &Error) -> bool {
    error.code().is_some_and(|code| {
        [
            SqlState::T_R_SERIALIZATION_FAILURE,
            SqlState::T_R_DEADLOCK_DETECTED,
        ]
        .contains(code)
    })
}

impl From<Error> for HubStoreError {
    fn from(error: Error) -> Self {
        let message = error_chain(&error);
        let Some(code) = error.code() else {
            return Self::Unavailable(message);
        };
        if *code == SqlState::DISK_FULL {
            return Self::DiskFull;
        }
        let refused = [
            SqlState::INSUFFICIENT_PRIVILEGE,
            SqlState::INVALID_PASSWORD,
            SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            SqlState::INVALID_CATALOG_NAME,
            SqlState::READ_ONLY_SQL_TRANSACTION,
        ];
        if refused.contains(code) {
            Self::Refused(message)
        } else {
            Self::Unavailable(message)
        }
    }
}

impl From<deadpool_postgres::PoolError> for HubStoreError {
    fn from(error: deadpool_postgres::PoolError) -> Self {
        match error {
            deadpool_postgres::PoolError::Backend(error) => error.into(),
            other => Self::Unavailable(error_chain(&other)),
        }
    }
}
