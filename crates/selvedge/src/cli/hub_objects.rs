//! Options of the hub for files in an S3-compatible object store.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of the object store. In the file they are the table `[s3]`.
#[expect(clippy::struct_field_names, reason = "these are the options' names")]
#[derive(Debug, Default, Args)]
pub(crate) struct ObjectStoreArgs {
    /// Store files of tasks in this bucket of an S3-compatible object store instead of the database.
    #[arg(long, value_name = "BUCKET")]
    pub(crate) s3_bucket: Option<String>,
    /// URL of the object store, without the bucket [default: Amazon S3].
    #[arg(long, value_name = "URL", requires = "s3_bucket", value_hint = clap::ValueHint::Url)]
    pub(crate) s3_endpoint: Option<String>,
    /// Region of the bucket [default: AWS_REGION, or else us-east-1].
    #[arg(long, value_name = "REGION", requires = "s3_bucket")]
    pub(crate) s3_region: Option<String>,
    /// Prefix of the keys of all objects: several hubs can share a bucket.
    #[arg(long, value_name = "PREFIX", requires = "s3_bucket")]
    pub(crate) s3_prefix: Option<String>,
    /// Whether requests name the bucket in the path or in the host name [default: the path with --s3-endpoint, or else
    /// the host name].
    #[arg(long, value_enum, value_name = "STYLE", requires = "s3_bucket")]
    pub(crate) s3_addressing: Option<S3Addressing>,
    /// File with the credentials, as of the AWS command line: `aws_access_key_id` and `aws_secret_access_key` in the
    /// section `[default]`. It is read again while the hub runs [default: the AWS variables, or on Amazon the role of
    /// the machine].
    #[arg(long, value_name = "FILE", requires = "s3_bucket", value_hint = clap::ValueHint::FilePath)]
    pub(crate) s3_credentials_file: Option<PathBuf>,
}

/// Where requests name the bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum S3Addressing {
    /// `https://s3.example/BUCKET/KEY`
    Path,
    /// `https://BUCKET.s3.example/KEY`
    Virtual,
}
