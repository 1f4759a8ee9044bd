//! The hub's object store, from its options.

use std::path::PathBuf;

use selvedge_hub::{ObjectStorage, ObjectStoreCredentials, ObjectStoreError, ObjectStoreSettings};
use selvedge_store::hub::HubStore;

use crate::cli::{ObjectStoreArgs, S3Addressing};
use crate::error::CliError;

/// Variables of which any is a source of credentials.
const CREDENTIAL_VARIABLES: [&str; 4] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
];

/// Prepares the object store, if there is one.
pub(super) fn object_storage(
    args: &ObjectStoreArgs,
    environment: Vec<(String, String)>,
) -> Result<Option<ObjectStorage>, CliError> {
    let Some(bucket) = &args.s3_bucket else {
        return Ok(None);
    };
    check_bucket(bucket)?;
    let default_addressing = match args.s3_endpoint {
        Some(_) => S3Addressing::Path,
        None => S3Addressing::Virtual,
    };
    let settings = ObjectStoreSettings {
        bucket: bucket.clone(),
        endpoint: args.s3_endpoint.clone(),
        region: args.s3_region.clone(),
        prefix: args.s3_prefix.clone().unwrap_or_default(),
        is_virtual_hosted: args.s3_addressing.unwrap_or(default_addressing)
            == S3Addressing::Virtual,
        credentials: credentials(args, environment)?,
    };
    let storage = ObjectStorage::new(&settings).map_err(|error| {
        CliError::usage(match error {
            ObjectStoreError::CredentialsFile(error) => format!("--s3-credentials-file: {error}"),
            ObjectStoreError::Settings(reason) if args.s3_endpoint.is_some() => {
                format!("--s3-endpoint: {reason}")
            }
            error => format!("--s3-bucket: {error}"),
        })
    })?;
    Ok(Some(storage))
}

/// Checks the name of a bucket: it becomes a part of a URL.
fn check_bucket(bucket: &str) -> Result<(), CliError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if (3..=63).contains(&bucket.len()) && bucket.bytes().all(is_allowed) {
        return Ok(());
    }
    Err(
        CliError::usage(format!("--s3-bucket: invalid name `{bucket}`"))
            .hint("use 3 to 63 letters, digits, dots and hyphens, without a path or a URL"),
    )
}

fn credentials(
    args: &ObjectStoreArgs,
    environment: Vec<(String, String)>,
) -> Result<ObjectStoreCredentials, CliError> {
    if let Some(path) = &args.s3_credentials_file {
        return Ok(ObjectStoreCredentials::File(PathBuf::from(path)));
    }
    let has = |wanted: &str| {
        environment
            .iter()
            .any(|(name, value)| name == wanted && !value.is_empty())
    };
    if has("AWS_ACCESS_KEY_ID") && !has("AWS_SECRET_ACCESS_KEY") {
        return Err(CliError::usage(
            "--s3-bucket: AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not",
        ));
    }
    // Only on Amazon's machines there is a service with credentials.
    if args.s3_endpoint.is_some() && !CREDENTIAL_VARIABLES.into_iter().any(has) {
        return Err(
            CliError::usage("--s3-endpoint: no credentials found").hint(
                "name a file with --s3-credentials-file, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
            ),
        );
    }
    Ok(ObjectStoreCredentials::Environment(environment))
}

/// Checks the object store before the hub serves. Only a store that does not answer is no error: the hub works without
/// it, except for files.
pub(super) async fn check_object_storage(
    storage: Option<&ObjectStorage>,
    store: &dyn HubStore,
) -> Result<(), CliError> {
    let Some(storage) = storage else {
        if store
            .has_objects()
            .await
            .map_err(CliError::infrastructure)?
        {
            tracing::warn!(
                "the database refers to files in an object store, but the hub has none: set --s3-bucket, or these files \
                 cannot be read"
            );
        }
        return Ok(());
    };
    match storage.check().await {
        // An unreachable one is in the log.
        Ok(()) | Err(ObjectStoreError::Unreachable { .. }) => Ok(()),
        Err(ObjectStoreError::Missing { store, .. }) => Err(CliError::infrastructure(format!(
            "--s3-bucket: {store}: the bucket does not exist"
        ))
        .hint("create the bucket, or correct --s3-bucket, --s3-endpoint and --s3-region")),
        Err(error) => Err(CliError::infrastructure(format!("--s3-bucket: {error}")).hint(
            "the hub must be able to write, read and delete objects: check the credentials, their policy \
             (s3:PutObject, s3:GetObject, s3:DeleteObject) and --s3-region",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_store_needs_credentials_and_a_valid_bucket() {
        let args = |bucket: &str, endpoint: Option<&str>| ObjectStoreArgs {
            s3_bucket: Some(bucket.to_owned()),
            s3_endpoint: endpoint.map(str::to_owned),
            ..ObjectStoreArgs::default()
        };
        let keys = |names: &[&str]| {
            let pair = |name: &&str| ((*name).to_owned(), "value".to_owned());
            names.iter().map(pair).collect::<Vec<_>>()
        };
        let both = ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"];
        let local = Some("http://127.0.0.1:9000");
        let found = object_storage(&args("files", local), keys(&both)).unwrap();
        let shown = format!("{:?}", found.unwrap());
        assert_eq!(
            shown,
            "ObjectStorage(\"http://127.0.0.1:9000, bucket files\")"
        );
        for (bucket, endpoint, variables, expected) in [
            ("a/b", local, &both[..], "invalid name"),
            ("files", local, &[], "no credentials"),
            ("files", None, &both[..1], "AWS_SECRET_ACCESS_KEY is not"),
            (
                "files",
                Some("s3.example"),
                &both[..],
                "--s3-endpoint: invalid URL",
            ),
            (
                "files",
                Some("https://a:secret@s3.example"),
                &both[..],
                "invalid URL `s3.example`",
            ),
        ] {
            let error = object_storage(&args(bucket, endpoint), keys(variables)).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
