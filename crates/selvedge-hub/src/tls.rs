//! TLS certificates: read at the start, and again on request, without ending connections.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{ClientHello, ParsedCertificate, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{CertificateError, RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

/// HTTP/2, as clients and the hub name it in the TLS handshake.
pub(crate) const ALPN_HTTP2: &[u8] = b"h2";

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

impl TlsError {
    fn file(file: &Path, reason: impl Into<String>) -> Self {
        Self::File {
            file: file.display().to_string(),
            reason: reason.into(),
        }
    }
}

/// Why clients would reject a certificate.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CertificateProblem {
    /// It is marked as a certificate authority, as `openssl req -x509` does by default.
    #[error(
        "the certificate is marked as a certificate authority (CA:TRUE), so workers and `selvedge` reject it; \
         create it with: {}", openssl_command(.name)
    )]
    Authority {
        /// A name of this hub.
        name: String,
    },
    /// It has none of the hub's names.
    #[error(
        "the certificate is for none of this hub's names ({}); clients read names only from its \
         subjectAltName; create it with: {}", .names.join(", "), openssl_command(.names.first().map_or("", String::as_str))
    )]
    Names {
        /// The names of this hub, without ports.
        names: Vec<String>,
    },
    /// It has expired.
    #[error("the certificate has expired")]
    Expired,
    /// It is not valid yet.
    #[error("the certificate is not valid yet")]
    NotValidYet,
    /// It is invalid in another way.
    #[error("clients will reject the certificate: {0}")]
    Other(String),
}

/// How to create a certificate that clients accept.
fn openssl_command(name: &str) -> String {
    let kind = match ServerName::try_from(name) {
        Ok(ServerName::IpAddress(_)) => "IP",
        _ => "DNS",
    };
    format!(
        "openssl req -x509 -newkey rsa:2048 -noenc -days 365 -keyout key.pem -out chain.pem -subj '/CN={name}' \
         -addext 'subjectAltName={kind}:{name}' -addext 'basicConstraints=critical,CA:FALSE'"
    )
}

/// The certificate of a hub.
#[derive(Debug)]
pub struct ReloadableTls {
    chain: PathBuf,
    key: PathBuf,
    certificate: Arc<CurrentCertificate>,
    config: Arc<ServerConfig>,
}

/// The certificate for new connections.
#[derive(Debug)]
struct CurrentCertificate(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for CurrentCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.read()))
    }
}

impl ReloadableTls {
    /// Reads a certificate chain and its key, both in PEM.
    pub fn load(chain: &Path, key: &Path) -> Result<Self, TlsError> {
        let provider = Arc::new(ring::default_provider());
        let certified_key = read_certified_key(chain, key, &provider)?;
        let certificate = Arc::new(CurrentCertificate(RwLock::new(Arc::new(certified_key))));
        let resolver: Arc<dyn ResolvesServerCert> = Arc::<CurrentCertificate>::clone(&certificate);
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        config.alpn_protocols = vec![ALPN_HTTP2.to_vec(), b"http/1.1".to_vec()];
        Ok(Self {
            chain: chain.to_owned(),
            key: key.to_owned(),
            certificate,
            config: Arc::new(config),
        })
    }

    /// The acceptor for new connections.
    pub fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }

    /// Reads both files again. After an error the previous certificate stays in use.
    pub fn reload(&self) -> Result<(), TlsError> {
        let provider = self.config.crypto_provider();
        let certified_key = read_certified_key(&self.chain, &self.key, provider)?;
        *self.certificate.0.write() = Arc::new(certified_key);
        Ok(())
    }

    /// Why clients would reject the certificate, as far as the hub can know: whether they trust its issuer is
    /// up to them. The names are those of the hub, with or without ports.
    pub fn find_problem(&self, hosts: &[String]) -> Option<CertificateProblem> {
        let certified_key = Arc::clone(&self.certificate.0.read());
        let (leaf, issuers) = certified_key.cert.split_first()?;
        let mut names: Vec<String> = hosts.iter().map(|host| without_port(host)).collect();
        names.sort();
        names.dedup();
        let name = preferred_name(&names);
        names.sort_by_key(|other| *other != name);
        let parsed = match ParsedCertificate::try_from(leaf) {
            Ok(parsed) => parsed,
            Err(error) => return Some(CertificateProblem::Other(error.to_string())),
        };
        let server_names = names
            .iter()
            .filter_map(|name| ServerName::try_from(name.as_str()).ok());
        let is_valid_for = |name: &ServerName<'_>| verify_server_name(&parsed, name).is_ok();
        let valid_name = server_names.clone().find(is_valid_for);
        // Trusts the chain itself, so that only the certificate's own content is judged.
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(certified_key.cert.iter().cloned());
        let provider = Arc::clone(self.config.crypto_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        let verifier = verifier.build().ok()?;
        let any_name = valid_name.clone().or_else(|| server_names.clone().next())?;
        let now = UnixTime::now();
        let error = verifier.verify_server_cert(leaf, issuers, &any_name, &[], now);
        let problem = error.err().and_then(|error| match error {
            rustls::Error::InvalidCertificate(error) => problem_of(&error, &name),
            other => Some(CertificateProblem::Other(other.to_string())),
        });
        if problem.is_none() && valid_name.is_none() {
            return Some(CertificateProblem::Names { names });
        }
        problem
    }
}

/// The problem behind an error. An unknown issuer is not reported, because the hub cannot judge it; names are compared
/// separately.
fn problem_of(error: &CertificateError, name: &str) -> Option<CertificateProblem> {
    match error {
        CertificateError::UnknownIssuer
        | CertificateError::NotValidForName
        | CertificateError::NotValidForNameContext { .. } => None,
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            Some(CertificateProblem::Expired)
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            Some(CertificateProblem::NotValidYet)
        }
        // The verifier has no variant of its own for this error.
        other if format!("{other:?}").contains("CaUsedAsEndEntity") => {
            let name = name.to_owned();
            Some(CertificateProblem::Authority { name })
        }
        other => Some(CertificateProblem::Other(other.to_string())),
    }
}

/// The name to use in an example: a host name rather than an address or a loopback name.
fn preferred_name(names: &[String]) -> String {
    let is_loopback = |name: &str| matches!(name, "localhost" | "127.0.0.1" | "::1");
    let is_address = |name: &str| name.parse::<std::net::IpAddr>().is_ok();
    let best = names
        .iter()
        .min_by_key(|name| (is_loopback(name), is_address(name)));
    best.cloned().unwrap_or_default()
}

/// A host name or address without its port.
fn without_port(host: &str) -> String {
    if let Some((address, _)) = host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        return address.to_owned();
    }
    match host.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') && port.bytes().all(|it| it.is_ascii_digit()) => {
            name.to_owned()
        }
        _ => host.to_owned(),
    }
}

fn read_certified_key(
    chain: &Path,
    key: &Path,
    provider: &CryptoProvider,
) -> Result<CertifiedKey, TlsError> {
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| TlsError::file(chain, error.to_string()))?;
    if certificates.is_empty() {
        return Err(TlsError::file(chain, "no PEM certificate found"));
    }
    let private_key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        if is_encrypted_key(key) {
            let reason =
                "the key is encrypted; decrypt it with: openssl pkey -in key.pem -out plain.pem";
            return TlsError::file(key, reason);
        }
        TlsError::file(key, error.to_string())
    })?;
    Ok(CertifiedKey::from_der(certificates, private_key, provider)?)
}

/// Whether a file contains a key that needs a passphrase.
fn is_encrypted_key(key: &Path) -> bool {
    std::fs::read_to_string(key).is_ok_and(|text| {
        text.contains("BEGIN ENCRYPTED PRIVATE KEY") || text.contains("Proc-Type: 4,ENCRYPTED")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_without_its_port_is_a_server_name() {
        for (host, name) in [
            ("hub.example", "hub.example"),
            ("hub.example:7700", "hub.example"),
            ("127.0.0.1:7700", "127.0.0.1"),
            ("[::1]:7700", "::1"),
            ("::1", "::1"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
