//! Addresses of repositories, as given by a person or a task. An address is shown, journalled and
//! passed to git, so one that contains a password is rejected, and so is one that git would
//! interpret as an option or as the name of a program to run.

use std::fmt;
use std::path::{Path, PathBuf};

/// Protocols that git implements itself.
const SCHEMES: [&str; 5] = ["https", "http", "ssh", "git", "file"];

/// The address of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryAddress {
    text: String,
    local: Option<PathBuf>,
}

/// Why an address cannot be cloned from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RepositoryAddressError {
    /// Empty, an option, or unprintable characters.
    #[error(
        "invalid repository address {0:?}; use a URL (https, ssh, git, file), user@host:path, or a folder"
    )]
    Invalid(String),
    /// A protocol for which git would start another program.
    #[error("unsupported protocol {0:?}; use https, ssh, git, file, or a folder")]
    UnsupportedProtocol(String),
    /// The address contains a password or token.
    #[error(
        "the address for {0} contains a password or token, which would be stored and shown; remove it and configure a credential helper (git config credential.helper)"
    )]
    ContainsCredentials(String),
    /// The folder does not exist.
    #[error("{} is neither a URL nor an existing folder", .0.display())]
    FolderNotFound(PathBuf),
}

impl RepositoryAddress {
    /// Parses an address; a relative folder is resolved against `from`.
    ///
    /// # Errors
    ///
    /// The address is invalid, contains a secret, or names a program or a folder that does not
    /// exist.
    pub fn parse(text: &str, from: &Path) -> Result<Self, RepositoryAddressError> {
        let unusable = || RepositoryAddressError::Invalid(text.chars().take(200).collect());
        if text.is_empty() || text.starts_with('-') || text.chars().any(char::is_control) {
            return Err(unusable());
        }
        let remote = Ok(Self {
            text: text.to_owned(),
            local: None,
        });
        if let Some((scheme, rest)) = text.split_once("://") {
            let scheme = scheme.to_ascii_lowercase();
            if !SCHEMES.contains(&scheme.as_str()) {
                return Err(RepositoryAddressError::UnsupportedProtocol(scheme));
            }
            let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
            let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
            if host.starts_with('-') || user.starts_with('-') {
                return Err(unusable());
            }
            // For ssh the user name is part of the address; for the other protocols tokens are
            // passed in its place.
            let bears_secret = user.contains(':') || (scheme != "ssh" && !user.is_empty());
            return if bears_secret {
                Err(RepositoryAddressError::ContainsCredentials(host.to_owned()))
            } else {
                remote
            };
        }
        let (before, _) = text.split_once('/').unwrap_or((text, ""));
        if before.contains("::") {
            let helper = before.split("::").next().unwrap_or_default();
            return Err(RepositoryAddressError::UnsupportedProtocol(
                helper.to_owned(),
            ));
        }
        let folder = from.join(text);
        if folder.is_dir() {
            let folder = folder
                .canonicalize()
                .map_err(|_| RepositoryAddressError::FolderNotFound(folder))?;
            return Ok(Self {
                text: folder.to_str().ok_or_else(unusable)?.to_owned(),
                local: Some(folder),
            });
        }
        match before.split_once(':') {
            Some((host, _)) if !host.is_empty() => remote,
            _ => Err(RepositoryAddressError::FolderNotFound(folder)),
        }
    }

    /// The folder, if the repository is on this machine.
    pub fn local(&self) -> Option<&Path> {
        self.local.as_deref()
    }

    /// The address as text, for git and for display.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Display for RepositoryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_rejects_commands_and_credentials() {
        let here = Path::new("/nowhere");
        let refused = |text| RepositoryAddress::parse(text, here).unwrap_err();
        for text in [
            "",
            "-u./evil",
            "--upload-pack=x",
            "a\nb",
            "https://-x/y",
            "ssh://-oProxyCommand=x/y",
        ] {
            assert!(
                matches!(refused(text), RepositoryAddressError::Invalid(_)),
                "{text}"
            );
        }
        for text in ["ext::sh -c true", "fd::3", "ftp://host/x", "EXT://x"] {
            assert!(
                matches!(
                    refused(text),
                    RepositoryAddressError::UnsupportedProtocol(_)
                ),
                "{text}"
            );
        }
        for text in [
            "https://token@host/x",
            "https://user:password@host/x",
            "ssh://git:password@host/x",
            "http://a@b@host/x",
        ] {
            assert_eq!(
                refused(text),
                RepositoryAddressError::ContainsCredentials("host".into()),
                "{text}"
            );
        }
        assert!(matches!(
            refused("not/there"),
            RepositoryAddressError::FolderNotFound(_)
        ));
    }

    #[test]
    fn address_differs_from_folder() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().canonicalize().unwrap();
        std::fs::create_dir(folder.join("a")).unwrap();
        let local = |text| {
            RepositoryAddress::parse(text, &folder)
                .unwrap()
                .local()
                .map(Path::to_owned)
        };
        assert_eq!(local("a"), Some(folder.join("a")));
        assert_eq!(local("."), Some(folder.clone()));
        for text in [
            "https://host/x.git",
            "ssh://git@host:22/x",
            "git@host:x/y",
            "host:x",
            "file:///x",
        ] {
            assert_eq!(local(text), None, "{text}");
        }
    }
}
