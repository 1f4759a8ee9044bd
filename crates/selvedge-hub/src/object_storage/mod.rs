//! Files of tasks in an S3-compatible object store. The database records which chunk of which blob is in which object
//! ([`BlobStore`](selvedge_store::hub::BlobStore)); every object that is read is compared with the digest recorded
//! there. A store that is unavailable fails uploads and downloads, which clients repeat, and nothing else.

mod blobs;
mod credentials;
mod settings;

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::client::HttpError;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStoreExt, RetryConfig};
use parking_lot::Mutex;
use reqwest::Url;
use selvedge_store::hub::BlobObject;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

pub(crate) use self::blobs::{BlobStorageError, append, delete_unused_objects, read, to_hex};
pub use self::credentials::CredentialsFileError;
use self::credentials::FileCredentials;
pub use self::settings::{ObjectStoreCredentials, ObjectStoreSettings};

/// How long a request may take, and how long until the connection is established.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(3);
/// A failed request is sent again a few times, for this long; afterwards clients of the hub repeat theirs.
const RETRY_TIMEOUT: Duration = Duration::from_secs(8);
const MAX_RETRIES: usize = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// Maximum number of requests at the same time, which limits the memory for their bodies.
const MAX_REQUESTS: usize = 64;
/// How long the result of the last request counts as the state of the store.
const HEALTH_TTL: Duration = Duration::from_secs(10);
/// How long a check of the state may take: less than probes wait.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The object that checks write and read.
const PROBE_KEY: &str = "selvedge-probe";
const PROBE: &[u8] = b"Selvedge reads this object to check the object store.\n";
/// Longest description of a failure, in characters: the store's answer may be a whole page.
const MAX_DETAIL_CHARS: usize = 400;
/// Variables that may select credentials and the region. Others, such as a changed endpoint, are options of the hub.
const VARIABLES: [&str; 11] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
];

/// A failure of the object store.
#[derive(Debug, thiserror::Error)]
pub enum ObjectStoreError {
    /// A setting is not valid.
    #[error("{0}")]
    Settings(String),
    /// The credentials file cannot be used.
    #[error(transparent)]
    CredentialsFile(#[from] CredentialsFileError),
    /// It does not answer.
    #[error("{store} does not answer: {detail}")]
    Unreachable {
        /// Its URL and bucket.
        store: String,
        /// The cause.
        detail: String,
    },
    /// It answers with an error.
    #[error("{store} answers with an error: {detail}")]
    Failed {
        /// Its URL and bucket.
        store: String,
        /// The cause.
        detail: String,
    },
    /// An object, or the bucket, does not exist.
    #[error("{store} has no object {key}")]
    Missing {
        /// Its URL and bucket.
        store: String,
        /// The object's key.
        key: String,
    },
    /// The bytes of an object are not those that were stored.
    #[error("{store}: the object {key} was changed or damaged")]
    Damaged {
        /// Its URL and bucket.
        store: String,
        /// The object's key.
        key: String,
    },
}

impl ObjectStoreError {
    /// Whether the store itself works.
    const fn is_about_object(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::Damaged { .. })
    }
}

/// A bucket of an object store. Clones share the connection and what is known of its state.
#[derive(Clone)]
pub struct ObjectStorage(Arc<Inner>);

struct Inner {
    client: AmazonS3,
    prefix: Path,
    /// The store and the bucket, for messages.
    store: String,
    requests: Semaphore,
    health: Mutex<Health>,
    /// Held by a check, so that concurrent ones wait for its result.
    probing: tokio::sync::Mutex<()>,
}

/// What the last requests showed.
#[derive(Debug, Default)]
struct Health {
    checked_at: Option<Instant>,
    read_fails: bool,
    write_fails: bool,
}

impl Health {
    const fn is_available(&self) -> bool {
        !self.read_fails && !self.write_fails
    }
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ObjectStorage").field(&self.0.store).finish()
    }
}

impl ObjectStorage {
    /// Prepares requests; sends none.
    pub fn new(settings: &ObjectStoreSettings) -> Result<Self, ObjectStoreError> {
        // Fails only if a provider is already installed.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let invalid = |error: object_store::Error| ObjectStoreError::Settings(describe(&error));
        let mut builder = AmazonS3Builder::new();
        match &settings.credentials {
            ObjectStoreCredentials::Environment(variables) => {
                for (name, value) in variables {
                    let key = VARIABLES.contains(&name.as_str()).then(|| {
                        let key = name.to_ascii_lowercase();
                        key.parse::<AmazonS3ConfigKey>().ok()
                    });
                    if let Some(key) = key.flatten().filter(|_| !value.is_empty()) {
                        builder = builder.with_config(key, value);
                    }
                }
            }
            ObjectStoreCredentials::File(path) => {
                builder = builder.with_credentials(Arc::new(FileCredentials::open(path)?));
            }
        }
        if let Some(region) = &settings.region {
            builder = builder.with_region(region);
        }
        let store = match &settings.endpoint {
            Some(endpoint) => {
                let url = endpoint_url(endpoint, settings)?;
                builder = builder
                    .with_endpoint(url.as_str().trim_end_matches('/'))
                    .with_allow_http(url.scheme() == "http");
                endpoint.trim_end_matches('/')
            }
            None => "Amazon S3",
        };
        let options = ClientOptions::new()
            .with_timeout(REQUEST_TIMEOUT)
            .with_connect_timeout(CONNECT_TIMEOUT)
            .with_allow_http(settings.endpoint.as_deref().is_some_and(is_plain_http));
        let client = builder
            .with_bucket_name(&settings.bucket)
            .with_virtual_hosted_style_request(settings.is_virtual_hosted)
            .with_client_options(options)
            // Not every store has it, and the objects to delete are few.
            .with_disable_bulk_delete(true)
            .with_retry(RetryConfig {
                backoff: BackoffConfig {
                    init_backoff: FIRST_PAUSE,
                    max_backoff: LONGEST_PAUSE,
                    base: 2.0,
                },
                max_retries: MAX_RETRIES,
                retry_timeout: RETRY_TIMEOUT,
            })
            .build()
            .map_err(invalid)?;
        Ok(Self(Arc::new(Inner {
            client,
            prefix: Path::parse(&settings.prefix)
                .map_err(|error| ObjectStoreError::Settings(error.to_string()))?,
            store: format!("{store}, bucket {}", settings.bucket),
            requests: Semaphore::new(MAX_REQUESTS),
            health: Mutex::default(),
            probing: tokio::sync::Mutex::default(),
        })))
    }

    /// Writes an object and reads it again.
    pub async fn check(&self) -> Result<(), ObjectStoreError> {
        self.put(PROBE_KEY, PROBE.to_vec()).await?;
        self.get(&probe_object()).await.map(drop)
    }

    /// Whether requests succeed, as far as the last ones or a new one show.
    pub(crate) async fn is_available(&self) -> bool {
        let _guard = self.0.probing.lock().await;
        let write_fails = {
            let health = self.0.health.lock();
            if health
                .checked_at
                .is_some_and(|at| at.elapsed() < HEALTH_TTL)
            {
                return health.is_available();
            }
            health.write_fails
        };
        let probed = timeout(PROBE_TIMEOUT, self.probe(write_fails)).await;
        if probed.is_err() {
            let error = ObjectStoreError::Unreachable {
                store: self.0.store.clone(),
                detail: format!("no answer within {} s", PROBE_TIMEOUT.as_secs()),
            };
            self.record(|health| &mut health.read_fails, Some(&error));
        }
        self.0.health.lock().is_available()
    }

    /// Sends a request whose result shows the state of the store.
    async fn probe(&self, write_fails: bool) {
        // A write only if it is in doubt: a bucket may keep every version of an object.
        let is_missing = || async {
            let read = self.get(&probe_object()).await;
            read.is_err_and(|error| error.is_about_object())
        };
        if write_fails || is_missing().await {
            // The health has the result.
            let _ = self.check().await;
        }
    }

    /// A key that was never used before, for a chunk of a blob.
    fn new_key(hash: &str, offset: u64) -> String {
        let folder = hash.get(..2).unwrap_or_default();
        format!("{folder}/{hash}/{offset}-{}", Uuid::new_v4().simple())
    }

    async fn put(&self, key: &str, bytes: Vec<u8>) -> Result<(), ObjectStoreError> {
        let _permit = self.0.requests.acquire().await;
        let path = self.path(key);
        let written = self.0.client.put(&path, bytes.into()).await;
        let written = written.map(drop).map_err(|error| self.failure(key, &error));
        // Nothing that is written can be missing, except for the bucket.
        self.record(|health| &mut health.write_fails, written.as_ref().err());
        written
    }

    /// Reads an object and verifies its bytes.
    async fn get(&self, object: &BlobObject) -> Result<Vec<u8>, ObjectStoreError> {
        let _permit = self.0.requests.acquire().await;
        let key = object.key.as_str();
        let path = self.path(key);
        let read = async {
            let response = self.0.client.get(&path).await?;
            // More than was stored is not read into memory.
            if response.meta.size != object.size {
                return Ok(None);
            }
            response.bytes().await.map(Some)
        };
        let read = read.await.map_err(|error| self.failure(key, &error));
        let failed = read.as_ref().err().filter(|error| !error.is_about_object());
        self.record(|health| &mut health.read_fails, failed);
        match read? {
            Some(bytes) if to_hex(&Sha256::digest(&bytes)) == object.digest => Ok(bytes.into()),
            _ => Err(ObjectStoreError::Damaged {
                store: self.0.store.clone(),
                key: key.to_owned(),
            }),
        }
    }

    async fn delete(&self, key: &str) -> Result<(), ObjectStoreError> {
        let _permit = self.0.requests.acquire().await;
        let deleted = self.0.client.delete(&self.path(key)).await;
        let deleted = deleted.map_err(|error| self.failure(key, &error));
        match deleted {
            Err(error) if error.is_about_object() => Ok(()),
            deleted => {
                self.record(|health| &mut health.write_fails, deleted.as_ref().err());
                deleted
            }
        }
    }

    fn path(&self, key: &str) -> Path {
        let key = Path::from(key);
        self.0.prefix.parts().chain(key.parts()).collect()
    }

    fn failure(&self, key: &str, error: &object_store::Error) -> ObjectStoreError {
        let store = self.0.store.clone();
        let detail = describe(error);
        match error {
            object_store::Error::NotFound { .. } => ObjectStoreError::Missing {
                store,
                key: self.path(key).to_string(),
            },
            error if is_transport_error(error) => ObjectStoreError::Unreachable { store, detail },
            _ => ObjectStoreError::Failed { store, detail },
        }
    }

    /// Records the result of a request. Changes are logged.
    fn record(
        &self,
        fails: impl FnOnce(&mut Health) -> &mut bool,
        error: Option<&ObjectStoreError>,
    ) {
        let mut health = self.0.health.lock();
        let was_available = health.is_available();
        health.checked_at = Some(Instant::now());
        *fails(&mut health) = error.is_some();
        let is_available = health.is_available();
        drop(health);
        match error {
            Some(error) if was_available => {
                tracing::error!(%error, "the object store is unavailable: files of tasks can be neither stored nor read");
            }
            None if is_available && !was_available => {
                tracing::info!("the object store is available again");
            }
            _ => {}
        }
    }
}

fn probe_object() -> BlobObject {
    BlobObject {
        key: PROBE_KEY.to_owned(),
        size: u64::try_from(PROBE.len()).unwrap_or(0),
        digest: to_hex(&Sha256::digest(PROBE)),
    }
}

fn is_plain_http(endpoint: &str) -> bool {
    endpoint.starts_with("http://")
}

/// The URL that requests are sent to: with the bucket in its host name, if that is wanted.
fn endpoint_url(endpoint: &str, settings: &ObjectStoreSettings) -> Result<Url, ObjectStoreError> {
    let invalid = || {
        ObjectStoreError::Settings(format!(
            "invalid URL `{}`: use one like https://s3.example, without credentials, `?` and `#`",
            endpoint.split_once('@').map_or(endpoint, |(_, rest)| rest)
        ))
    };
    let mut url = Url::parse(endpoint).map_err(|_| invalid())?;
    let is_valid = matches!(url.scheme(), "http" | "https")
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    let host = url
        .host_str()
        .filter(|_| is_valid)
        .ok_or_else(invalid)?
        .to_owned();
    if settings.is_virtual_hosted {
        let host = format!("{}.{host}", settings.bucket);
        url.set_host(Some(&host)).map_err(|_| invalid())?;
    }
    Ok(url)
}

/// Whether there was no answer.
fn is_transport_error(error: &object_store::Error) -> bool {
    let mut source = Some(error as &dyn Error);
    while let Some(error) = source {
        if error.downcast_ref::<HttpError>().is_some() {
            return true;
        }
        source = error.source();
    }
    false
}

/// The description of a failure, in one line of limited length.
fn describe(error: &object_store::Error) -> String {
    let text = error.to_string();
    let line: String = text
        .chars()
        .map(|char| if char.is_control() { ' ' } else { char })
        .take(MAX_DETAIL_CHARS)
        .collect();
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}
