//! Settings of the object store.

use std::fmt;
use std::path::PathBuf;

/// The store for files of tasks instead of the database: a bucket of an S3-compatible store.
#[derive(Debug, Clone)]
pub struct ObjectStoreSettings {
    /// The bucket.
    pub bucket: String,
    /// The URL of the store, without the bucket; `None`: Amazon S3.
    pub endpoint: Option<String>,
    /// The region; `None`: that of the environment, or else `us-east-1`.
    pub region: Option<String>,
    /// What all keys begin with, without slashes at its ends; may be empty.
    pub prefix: String,
    /// Whether the bucket is in the host name instead of the path of requests.
    pub is_virtual_hosted: bool,
    /// What requests are signed with.
    pub credentials: ObjectStoreCredentials,
}

/// The source of the credentials.
#[derive(Clone)]
pub enum ObjectStoreCredentials {
    /// A shared credentials file as of the AWS command line, which is read again after a while.
    File(PathBuf),
    /// The `AWS_…` variables of the environment: static credentials, or those of the machine, pod or service account
    /// that the program runs in.
    Environment(Vec<(String, String)>),
}

impl fmt::Debug for ObjectStoreCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => f.debug_tuple("File").field(path).finish(),
            // The values may be secrets.
            Self::Environment(_) => f.write_str("Environment(…)"),
        }
    }
}
