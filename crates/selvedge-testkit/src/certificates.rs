//! Certificates for tests: a certificate authority that no system trusts, and a server certificate that
//! it signed.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// A certificate authority in a folder: its certificate, and a server certificate with its key, all as
/// PEM files.
#[derive(Debug)]
pub struct TestCa {
    directory: PathBuf,
}

impl TestCa {
    /// Creates an authority and a server certificate for these host names or IP addresses.
    pub fn with_server_certificate(directory: &Path, names: &[&str]) -> Self {
        let mut own = CertificateParams::default();
        own.distinguished_name
            .push(DnType::CommonName, "an authority of a test");
        own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let authority = CertifiedIssuer::self_signed(own, key).expect("an authority");
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let server = CertificateParams::new(names).expect("names of a server");
        let server_key = KeyPair::generate().expect("a key");
        let server = server
            .signed_by(&server_key, &authority)
            .expect("a certificate");
        let made = Self {
            directory: directory.to_owned(),
        };
        fs::create_dir_all(directory).expect("a folder for certificates");
        for (path, text) in [
            (made.ca_certificate_path(), authority.pem()),
            (made.server_certificate_path(), server.pem()),
            (made.server_key_path(), server_key.serialize_pem()),
        ] {
            fs::write(path, text).expect("a certificate is written");
        }
        made
    }

    /// Creates a certificate as `openssl req -x509` does: self-signed, and marked as an authority.
    pub fn with_self_signed_certificate(directory: &Path, names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names of a server");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = params.self_signed(&key).expect("a certificate");
        let made = Self {
            directory: directory.to_owned(),
        };
        fs::create_dir_all(directory).expect("a folder for certificates");
        fs::write(made.server_certificate_path(), certificate.pem()).expect("a certificate");
        fs::write(made.server_key_path(), key.serialize_pem()).expect("a key");
        made
    }

    /// Path of the authority's own certificate; clients that are to trust the server need it.
    pub fn ca_certificate_path(&self) -> PathBuf {
        self.directory.join("authority.pem")
    }

    /// Path of the server certificate.
    pub fn server_certificate_path(&self) -> PathBuf {
        self.directory.join("server.pem")
    }

    /// Path of the server's private key.
    pub fn server_key_path(&self) -> PathBuf {
        self.directory.join("server.key")
    }
}
