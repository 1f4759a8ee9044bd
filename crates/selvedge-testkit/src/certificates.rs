//! Certificates of the tests' own: an authority that nobody knows, and what it certifies.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};

/// An authority in a folder: its certificate, and a server's with its key, all in PEM.
#[derive(Debug)]
pub struct TestCa {
    directory: PathBuf,
}

impl TestCa {
    /// A fresh one, and a certificate from it for a server of these names (or addresses).
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

    /// The authority's own certificate: what whoever trusts it is given.
    pub fn ca_certificate_path(&self) -> PathBuf {
        self.directory.join("authority.pem")
    }

    /// The server's certificate.
    pub fn server_certificate_path(&self) -> PathBuf {
        self.directory.join("server.pem")
    }

    /// The server's key.
    pub fn server_key_path(&self) -> PathBuf {
        self.directory.join("server.key")
    }
}
