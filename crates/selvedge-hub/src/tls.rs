//! TLS certificates, read once at the start.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// Why the certificates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read, or contains no certificate or key.
    #[error("{file}: {reason}")]
    File {
        /// The file.
        file: String,
        /// The cause.
        reason: String,
    },
    /// The certificate and the key do not match.
    #[error("invalid certificate or key: {0}")]
    Pair(#[from] rustls::Error),
}

/// Creates a TLS acceptor from this certificate chain and key, both in PEM.
pub fn acceptor(chain: &Path, key: &Path) -> Result<TlsAcceptor, TlsError> {
    let file_error = |file: &Path, reason: String| TlsError::File {
        file: file.display().to_string(),
        reason,
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| file_error(chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(file_error(chain, "no PEM certificate found".to_owned()));
    }
    let key =
        PrivateKeyDer::from_pem_file(key).map_err(|error| file_error(key, error.to_string()))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(certificates, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}
