//! Credentials in a file: those of the section `[default]` of a shared credentials file. The file is read again after
//! a while, so that they can be replaced while the hub runs.

use std::fmt;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::CredentialProvider;
use object_store::aws::AwsCredential;
use parking_lot::Mutex;

/// How long credentials are used before the file is read again.
const REREAD_INTERVAL: Duration = Duration::from_secs(30);

/// Why a credentials file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CredentialsFileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// It lacks a key.
    #[error("{}: `{key}` is missing in the section `[default]`", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// The key.
        key: &'static str,
    },
}

/// Reads the credentials from their file when they are used.
pub(super) struct FileCredentials {
    path: PathBuf,
    latest: Mutex<(Instant, Arc<AwsCredential>)>,
}

impl fmt::Debug for FileCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FileCredentials").field(&self.path).finish()
    }
}

impl FileCredentials {
    pub(super) fn open(path: &Path) -> Result<Self, CredentialsFileError> {
        let credential = Arc::new(read(path)?);
        Ok(Self {
            path: path.to_owned(),
            latest: Mutex::new((Instant::now(), credential)),
        })
    }

    fn current(&self) -> Arc<AwsCredential> {
        let mut latest = self.latest.lock();
        if latest.0.elapsed() >= REREAD_INTERVAL {
            latest.0 = Instant::now();
            // It is small, and usually in memory.
            match read(&self.path) {
                Ok(credential) => latest.1 = Arc::new(credential),
                Err(error) => {
                    tracing::error!(%error, "cannot read the credentials of the object store; the previous ones stay in use");
                }
            }
        }
        Arc::clone(&latest.1)
    }
}

impl CredentialProvider for FileCredentials {
    type Credential = AwsCredential;

    fn get_credential<'a, 'b>(
        &'a self,
    ) -> Pin<Box<dyn Future<Output = object_store::Result<Arc<AwsCredential>>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        Box::pin(std::future::ready(Ok(self.current())))
    }
}

fn read(path: &Path) -> Result<AwsCredential, CredentialsFileError> {
    let text = std::fs::read_to_string(path).map_err(|source| CredentialsFileError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&text).map_err(|key| CredentialsFileError::Missing {
        path: path.to_owned(),
        key,
    })
}

/// Parses the section `[default]`, or the keys before any section; the error is the missing key.
fn parse(text: &str) -> Result<AwsCredential, &'static str> {
    let mut is_default = true;
    let (mut key_id, mut secret_key, mut token) = (None, None, None);
    for line in text.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            is_default = section.trim_end_matches(']').trim() == "default";
        } else if let Some((key, value)) = line.split_once('=').filter(|_| is_default) {
            let value = Some(value.trim().to_owned()).filter(|value| !value.is_empty());
            match key.trim().to_ascii_lowercase().as_str() {
                "aws_access_key_id" => key_id = value,
                "aws_secret_access_key" => secret_key = value,
                "aws_session_token" => token = value,
                _ => {}
            }
        }
    }
    Ok(AwsCredential {
        key_id: key_id.ok_or("aws_access_key_id")?,
        secret_key: secret_key.ok_or("aws_secret_access_key")?,
        token,
    })
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn credentials_file_is_parsed() {
        let text = "# keys\n[other]\naws_access_key_id = no\n[default]\nregion = x\n\
            aws_access_key_id = AKIA\r\naws_secret_access_key=a=b/c\n[third]\naws_session_token = no\n";
        let credential = parse(text).unwrap();
        assert_eq!(
            (credential.key_id.as_str(), credential.secret_key.as_str()),
            ("AKIA", "a=b/c")
        );
        assert_eq!(credential.token, None);
        let bare = parse("aws_access_key_id=A\naws_secret_access_key=B\naws_session_token=C");
        assert_eq!(bare.unwrap().token.as_deref(), Some("C"));
        assert_eq!(
            parse("[default]\naws_access_key_id = A\naws_secret_access_key =\n").unwrap_err(),
            "aws_secret_access_key"
        );
        assert_eq!(parse("").unwrap_err(), "aws_access_key_id");
    }
}
